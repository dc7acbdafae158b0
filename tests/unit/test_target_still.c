// SPDX-License-Identifier: BSD-3-Clause
/* A thread that stood still: whose association ends, whose goes on, and what of theirs is carried out. */
#include "target_host.h"

#include <semaphore.h>
#include <string.h>
#include <unistd.h>

static struct nvof_target *t;

static int setup(void **state)
{
	t = th_target_with(1, "mem:1M");
	return 0;
}

static int teardown(void **state)
{
	nvof_target_free(t);
	return 0;
}

/* A ctrl with this keep-alive time-out; its id is in *cntlid. */
static struct th_queue *admin_with(uint32_t kato_ms, uint16_t *cntlid)
{
	struct th_connect c = th_connect_admin();
	struct th_queue *q = th_open(t);
	struct th_cpl cpl;

	c.kato = kato_ms;
	cpl = th_connect(q, &c);
	assert_status(cpl, 0);
	*cntlid = (uint16_t)cpl.dw0;
	assert_status(th_property_set(q, NVME_REG_CC, TH_CC_EN), 0);
	return q;
}

struct gap {
	struct loop_work work;
	struct target_queue *q;
	uint64_t ns;
	bool goes_on;
	uint64_t kato_moved;
	sem_t over;
};

static void gap_run(struct loop_work *work)
{
	struct gap *g = container_of(work, struct gap, work);
	struct target_ctrl *c = g->q->ctrl;
	uint64_t now = clock_boot_ns(), due = c->kato_due;

	g->q->thread->seen_ns = now - g->ns;
	g->goes_on = target_receives(g->q, now);
	g->kato_moved = c->kato_due - due; /* a queue that closes is freed in a later turn */
	sem_post(&g->over);
}

/* Something is received on q after its thread was not seen for so long. */
static struct gap received_after(struct th_queue *q, uint64_t ns)
{
	struct gap g = { .q = th_core(q), .ns = ns };

	sem_init(&g.over, 0, 0);
	loop_work_init(&g.work, gap_run);
	loop_post(g.q->loop, &g.work);
	sem_wait(&g.over);
	sem_destroy(&g.over);
	return g;
}

/* A write whose data is still to come ends with it. */
static void a_gap_longer_than_the_time_out_ends_the_ctrl(void **state)
{
	uint8_t data[512], got[512];
	struct th_queue *admin, *io;
	struct th_cmd *write;
	uint16_t cntlid;

	admin = admin_with(4000, &cntlid);
	io = th_io(t, 1, cntlid);
	memset(data, 1, sizeof(data));
	assert_status(th_cmd(io, th_rw(nvme_cmd_write, 1, 0, 1), data, 512), 0);
	memset(data, 2, sizeof(data));
	write = th_send_slow(io, th_rw(nvme_cmd_write, 1, 0, 1), data, 512);
	th_sync(io);
	assert_false(received_after(io, 4800 * NSEC_PER_MSEC).goes_on);
	th_wait_closed(io);
	th_wait_closed(admin);
	assert_status(th_wait(write), 0xffff);
	th_close(io);
	th_close(admin);
	assert_int_equal(target_subsys_find(t, SUBNQN)->nr_ctrls, 0);
	admin = admin_with(0, &cntlid);
	io = th_io(t, 1, cntlid);
	assert_status(th_cmd(io, th_rw(nvme_cmd_read, 1, 0, 1), got, 512), 0);
	memset(data, 1, sizeof(data));
	assert_memory_equal(got, data, 512);
	th_close(io);
	th_close(admin);
}

/* It does not count for the host's keep alive either. */
static void a_shorter_gap_ends_nobody(void **state)
{
	struct th_queue *admin, *io;
	uint16_t cntlid;
	struct gap g;

	admin = admin_with(4000, &cntlid);
	io = th_io(t, 1, cntlid);
	g = received_after(io, 4000 * NSEC_PER_MSEC);
	assert_true(g.goes_on);
	assert_int_equal(g.kato_moved, 3500 * NSEC_PER_MSEC);
	g = received_after(io, 400 * NSEC_PER_MSEC);
	assert_true(g.goes_on);
	assert_int_equal(g.kato_moved, 0);
	assert_status(th_cmd(io, th_sqe(nvme_cmd_flush, 1, 0, 0, 0), NULL, 0), 0);
	assert_status(th_cmd(admin, th_sqe(nvme_admin_keep_alive, 0, 0, 0, 0), NULL, 0), 0);
	th_close(io);
	th_close(admin);
}

static void each_ctrl_has_its_own_time_out(void **state)
{
	struct th_queue *brief, *patient, *never;
	uint16_t cntlid;

	patient = admin_with(10000, &cntlid);
	brief = admin_with(1000, &cntlid);
	never = admin_with(0, &cntlid);
	assert_true(received_after(never, 2 * NSEC_PER_SEC).goes_on);
	th_wait_closed(brief);
	assert_false(th_closed(patient));
	assert_false(received_after(patient, 20 * NSEC_PER_SEC).goes_on);
	assert_true(received_after(never, 3600 * NSEC_PER_SEC).goes_on);
	assert_status(th_cmd(never, th_sqe(nvme_admin_keep_alive, 0, 0, 0, 0), NULL, 0), 0);
	th_close(brief);
	th_close(patient);
	th_close(never);
}

/* The tick follows the time-out that Set Features sets. */
static void a_time_out_that_is_set_later_counts(void **state)
{
	struct th_queue *admin;
	uint16_t cntlid;

	admin = admin_with(0, &cntlid);
	assert_int_equal(th_set_feature(admin, NVME_FEAT_FID_KATO, 4000).dw0, 4000);
	assert_false(received_after(admin, 4800 * NSEC_PER_MSEC).goes_on);
	th_close(admin);
}

static void sleep_here(struct loop_work *work)
{
	usleep(1300 * 1000);
}

/* Nothing needs to be received: the thread finds by itself that it did not run. */
static void a_thread_that_was_held_up_ends_its_ctrls(void **state)
{
	struct th_queue *admin, *io;
	struct loop_work work;
	uint16_t cntlid;

	admin = admin_with(1000, &cntlid);
	io = th_io(t, 1, cntlid);
	assert_status(th_cmd(io, th_sqe(nvme_cmd_flush, 1, 0, 0, 0), NULL, 0), 0);
	loop_work_init(&work, sleep_here);
	loop_post(th_core(io)->loop, &work);
	th_wait_closed(io);
	th_wait_closed(admin);
	th_close(io);
	th_close(admin);
}

/* Its queue's thread has nothing to do for longer than KATO, which is no gap; a real one there ends the ctrl as a whole. */
static void an_idle_thread_does_not_stand_still(void **state)
{
	struct nvof_target *one = t;
	struct th_queue *admin, *io;
	uint16_t cntlid;

	t = th_target(2);
	th_add_subsys(t, SUBNQN);
	admin = admin_with(3000, &cntlid);
	io = th_io(t, 1, cntlid);
	assert_ptr_not_equal(th_thread(io), th_thread(admin));
	for (int i = 0; i < 11; i++) {
		usleep(300 * 1000);
		assert_status(th_cmd(admin, th_sqe(nvme_admin_keep_alive, 0, 0, 0, 0), NULL, 0), 0);
	}
	assert_status(th_cmd(io, th_sqe(nvme_cmd_flush, 1, 0, 0, 0), NULL, 0),
		      NVME_STATUS(NVME_SCT_GENERIC, NVME_SC_INVALID_NS) | NVME_STATUS_DNR);
	assert_false(received_after(io, 3600 * NSEC_PER_MSEC).goes_on);
	th_wait_closed(admin);
	th_close(io);
	th_close(admin);
	nvof_target_free(t);
	t = one;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_gap_longer_than_the_time_out_ends_the_ctrl),
		TEST(a_shorter_gap_ends_nobody),
		TEST(each_ctrl_has_its_own_time_out),
		TEST(a_time_out_that_is_set_later_counts),
		TEST(a_thread_that_was_held_up_ends_its_ctrls),
		TEST(an_idle_thread_does_not_stand_still),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
