// SPDX-License-Identifier: BSD-3-Clause
/* C180: when the buffers of a thread are all in use, I/O waits in line; it is answered in turn, once each. */
#include "target_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/backend/common.h"

#define LEN  (64 << 10)
#define NLB  (LEN / 512)
#define ROOM 4 /* buffers of LEN that may be in use */
#define NR   24

static struct nvof_target *t;
static struct th_queue *admin, *io[2];
static uint8_t *data[NR];
static char file[64];
enum { MEM = 1, FILE_ };

static int setup(void **state)
{
	uint16_t cntlid;
	char backend[80];
	int fd;

	snprintf(file, sizeof(file), "/tmp/nvof-test-XXXXXX");
	fd = mkstemp(file);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4 << 20), 0);
	close(fd);
	t = th_target_with(1, "mem:4M");
	snprintf(backend, sizeof(backend), "file:%s", file);
	th_add_ns(t, SUBNQN, backend);
	t->threads[0].bufs.use_max = ROOM * LEN;
	admin = th_admin(t, &cntlid);
	io[0] = th_io(t, 1, cntlid);
	io[1] = th_io(t, 2, cntlid);
	for (int i = 0; i < NR; i++) {
		data[i] = malloc(LEN);
		memset(data[i], i + 1, LEN);
	}
	return 0;
}

static int teardown(void **state)
{
	th_close(io[0]);
	th_close(io[1]);
	th_close(admin);
	assert_int_equal(t->threads[0].bufs.in_use, 0);
	assert_true(cds_list_empty(&t->threads[0].waiting));
	nvof_target_free(t);
	unlink(file);
	for (int i = 0; i < NR; i++)
		free(data[i]);
	return 0;
}

static void writes_that_wait_are_all_done_in_turn(void **state)
{
	struct th_cmd *slow[ROOM], *cmd[NR];

	for (int i = 0; i < ROOM; i++) /* hosts that hold their buffers */
		slow[i] = th_send_slow(io[0], th_rw(nvme_cmd_write, MEM, 0, NLB), data[0], LEN);
	for (int i = ROOM; i < NR; i++)
		cmd[i] = th_send(io[i % 2], th_rw(nvme_cmd_write, MEM, (uint64_t)i * NLB, NLB), data[i], LEN);
	for (int i = ROOM; i < NR; i++)
		assert_true(th_held(cmd[i]));
	assert_int_equal(t->threads[0].bufs.in_use, ROOM * LEN);
	/* What needs no buffer, and admin commands, go on. */
	assert_status(th_cmd(io[0], th_sqe(nvme_cmd_flush, MEM, 0, 0, 0), NULL, 0), 0);
	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_CTRL, 0, data[0]), 0);
	for (int i = 0; i < ROOM; i++) {
		th_release(slow[i]);
		assert_status(th_wait(slow[i]), 0);
	}
	for (int i = ROOM; i < NR; i++)
		assert_status(th_wait(cmd[i]), 0);
	for (int i = ROOM; i < NR; i++)
		assert_status(th_cmd(io[0], th_rw(nvme_cmd_compare, MEM, (uint64_t)i * NLB, NLB), data[i], LEN), 0);
}

static void reads_that_wait_are_all_done_in_turn(void **state)
{
	struct th_cmd *held[ROOM], *cmd[NR];
	uint8_t *back = calloc(NR, LEN);

	for (int i = 0; i < NR; i++)
		assert_status(th_cmd(io[0], th_rw(nvme_cmd_write, FILE_, (uint64_t)i * NLB, NLB), data[i], LEN), 0);
	for (int i = 0; i < ROOM; i++) { /* a host that does not take its data */
		held[i] = th_send_hold(io[0], th_rw(nvme_cmd_read, FILE_, 0, NLB), back, LEN);
		while (!th_done(held[i]))
			th_sync(io[0]);
	}
	for (int i = ROOM; i < NR; i++)
		cmd[i] = th_send(io[i % 2], th_rw(nvme_cmd_read, FILE_, (uint64_t)i * NLB, NLB), back + i * LEN, LEN);
	for (int i = ROOM; i < NR; i++)
		assert_true(th_held(cmd[i]));
	for (int i = 0; i < ROOM; i++) {
		th_release(held[i]);
		assert_status(th_wait(held[i]), 0);
	}
	for (int i = ROOM; i < NR; i++) {
		assert_status(th_wait(cmd[i]), 0);
		assert_memory_equal(back + i * LEN, data[i], LEN);
	}
	free(back);
}

static void a_connection_that_ends_leaves_the_line(void **state)
{
	struct th_cmd *slow[ROOM], *gone[4], *stays;

	for (int i = 0; i < ROOM; i++)
		slow[i] = th_send_slow(io[0], th_rw(nvme_cmd_write, MEM, 0, NLB), data[0], LEN);
	for (int i = 0; i < 4; i++)
		gone[i] = th_send(io[1], th_rw(nvme_cmd_write, MEM, 0, NLB), data[1], LEN);
	stays = th_send(io[0], th_rw(nvme_cmd_write, MEM, NLB, NLB), data[2], LEN);
	assert_true(th_held(stays));
	th_close_nowait(io[1]);
	for (int i = 0; i < 4; i++)
		assert_status(th_wait(gone[i]), 0xffff);
	assert_true(th_held(stays));
	for (int i = 0; i < ROOM; i++) {
		th_release(slow[i]);
		assert_status(th_wait(slow[i]), 0);
	}
	assert_status(th_wait(stays), 0);
	th_wait_closed(io[1]);
}

static void a_request_larger_than_all_gets_its_turn_alone(void **state)
{
	struct th_cmd *slow = th_send_slow(io[0], th_rw(nvme_cmd_write, MEM, 0, NLB), data[0], LEN), *large;
	uint8_t *big = calloc(2 * ROOM, LEN);

	th_sync(io[0]);
	large = th_send(io[0], th_rw(nvme_cmd_write, MEM, 0, 2 * ROOM * NLB), big, 2 * ROOM * LEN);
	assert_true(th_held(large));
	th_release(slow);
	assert_status(th_wait(slow), 0);
	assert_status(th_wait(large), 0);
	free(big);
}

/* A backend that keeps what it is asked until the test ends it. */
static struct backend_io *kept[2];
static int nr_kept;

static void keep(struct backend *b, struct backend_io *bio)
{
	kept[nr_kept++] = bio;
}

static void end_kept(struct loop_work *work)
{
	struct backend_io *bio = container_of(work, struct backend_io, work);

	bio->done(bio, 0);
}

/* Verify and Compare have buffers of their own, of whose return those who wait must hear as well. */
static void the_buffers_of_verify_feed_those_who_wait(void **state)
{
	struct backend_ops keeps = mem_backend_ops;
	struct th_cmd *verify[2], *cmd[NR];

	keeps.submit = keep;
	keeps.map = NULL;
	th_ns(t, SUBNQN, MEM)->backend->ops = &keeps;
	nr_kept = 0;
	for (int i = 0; i < 2; i++) /* 128 KiB each: all there is */
		verify[i] = th_send(io[0], th_rw(nvme_cmd_verify, MEM, 0, 256), NULL, 0);
	for (int i = 0; i < NR; i++)
		cmd[i] = th_send(io[0], th_rw(nvme_cmd_write, FILE_, (uint64_t)i * NLB, NLB), data[i], LEN);
	th_sync(io[0]);
	assert_int_equal(nr_kept, 2);
	assert_false(th_done(cmd[0]));
	for (int i = 0; i < 2; i++) {
		loop_work_init(&kept[i]->work, end_kept);
		loop_post(kept[i]->loop, &kept[i]->work);
		assert_status(th_wait(verify[i]), 0);
	}
	for (int i = 0; i < NR; i++)
		assert_status(th_wait(cmd[i]), 0);
	th_ns(t, SUBNQN, MEM)->backend->ops = &mem_backend_ops;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(writes_that_wait_are_all_done_in_turn),	 TEST(reads_that_wait_are_all_done_in_turn),
		TEST(a_connection_that_ends_leaves_the_line),	 TEST(a_request_larger_than_all_gets_its_turn_alone),
		TEST(the_buffers_of_verify_feed_those_who_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
