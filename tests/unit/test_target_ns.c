// SPDX-License-Identifier: BSD-3-Clause
/* Namespaces that come, go and change their size while hosts use them. */
#include "target_host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct nvof_target *t;
static struct th_queue *admin;
static uint16_t cntlid;
static _Alignas(8) uint8_t page[4096];

static int setup(void **state)
{
	t = th_target(2);
	th_add_subsys(t, SUBNQN);
	admin = th_admin(t, &cntlid);
	return 0;
}

static int teardown(void **state)
{
	th_close(admin);
	nvof_target_free(t);
	return 0;
}

static int add(const char *nqn, uint32_t nsid, const char *backend, const uint8_t *uuid, const uint8_t *nguid)
{
	struct nvof_target_ns_opts opts;

	nvof_target_ns_opts_init(&opts);
	opts.nsid = nsid;
	opts.backend = backend;
	if (uuid)
		memcpy(opts.uuid, uuid, 16);
	if (nguid)
		memcpy(opts.nguid, nguid, 16);
	return nvof_target_add_ns(t, nqn, &opts, NULL);
}

/* Walks the active list as hosts do; returns how many there are. */
static uint32_t walk_list(uint32_t *nsids, uint32_t max)
{
	const uint32_t *list = (const uint32_t *)page;
	uint32_t nr = 0, after = 0;

	for (;;) {
		memset(page, 0xa5, sizeof(page));
		assert_status(th_identify(admin, NVME_IDENTIFY_CNS_NS_ACTIVE_LIST, after, page), 0);
		for (uint32_t i = 0; i < 1024; i++) {
			if (!list[i])
				return nr;
			assert_true(le32toh(list[i]) > after);
			after = le32toh(list[i]);
			if (nr < max)
				nsids[nr] = after;
			nr++;
		}
	}
}

/* C071 */
static void active_lists_of_any_length_are_exact(void **state)
{
	static const uint32_t counts[] = { 0, 1, 1023, 1024, 1025, 2048, 4096 };
	uint32_t nr = 0;

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		for (; nr < counts[i]; nr++)
			assert_int_equal(th_add_ns(t, SUBNQN, "null:1M"), nr + 1);
		assert_int_equal(walk_list(NULL, 0), nr);
	}
	assert_int_equal(nvof_target_remove_ns(t, SUBNQN, 1024), 0);
	assert_int_equal(walk_list(NULL, 0), nr - 1);
	/* The lowest free id is the one that went. */
	assert_int_equal(th_add_ns(t, SUBNQN, "null:1M"), 1024);
}

/* C071 */
static void ids_may_have_gaps_and_come_in_any_order(void **state)
{
	static const uint32_t ids[] = { 100000, 7, 0xfffffffe, 1, 1024, 65537, 2 };
	static const uint32_t sorted[] = { 1, 2, 7, 1024, 65537, 100000, 0xfffffffe };
	struct th_queue *io = th_io(t, 1, cntlid);
	const struct nvme_id_ctrl *id = (const void *)page;
	uint32_t nsids[7];

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		assert_int_equal(add(SUBNQN, ids[i], "null:1M", NULL, NULL), 0);
	assert_int_equal(walk_list(nsids, 7), 7);
	assert_memory_equal(nsids, sorted, sizeof(sorted));
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		assert_status(th_cmd(io, th_rw(nvme_cmd_read, ids[i], 0, 1), page, 512), 0);
		assert_status(th_cmd(io, th_rw(nvme_cmd_read, ids[i] ^ 0x40000000, 0, 1), page, 512), ST(INVALID_NS));
	}
	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_CTRL, 0, page), 0);
	assert_int_equal(le32toh(id->nn), 0xfffffffe);
	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_NS_ACTIVE_LIST, 0xfffffffe, page), ST(INVALID_NS));
	assert_int_equal(add(SUBNQN, 0xffffffff, "null:1M", NULL, NULL), -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		assert_int_equal(nvof_target_remove_ns(t, SUBNQN, ids[i]), 0);
	assert_int_equal(walk_list(NULL, 0), 0);
	th_close(io);
}

/* C167 */
static void identifiers_are_stable_and_unique(void **state)
{
	static const uint8_t mine[16] = { 0xaa, 1 }, other[16] = { 0xbb };
	uint8_t u1[16], n1[16], u2[16], n2[16];

	target_ids_default(SUBNQN, 1, "", u1, n1);
	target_ids_default(SUBNQN, 2, "", u2, n2);
	assert_memory_not_equal(u1, u2, 16);
	assert_memory_not_equal(n1, n2, 16);
	assert_memory_not_equal(u1, n1, 16);
	assert_int_equal(u1[6] >> 4, 5); /* a version 5 UUID: the same after each start */
	assert_int_equal(add(SUBNQN, 1, "null:1M", NULL, NULL), 0);
	assert_memory_equal(th_ns(t, SUBNQN, 1)->uuid, u1, 16);
	assert_int_equal(add(SUBNQN, 3, "null:1M", mine, NULL), 0);
	assert_int_equal(add(SUBNQN, 4, "null:1M", mine, NULL), -EEXIST);
	th_assert_errmsg(t, "namespace 3");
	assert_int_equal(add(SUBNQN, 4, "null:1M", u1, NULL), -EEXIST);
	assert_int_equal(add(SUBNQN, 4, "null:1M", other, n1), -EEXIST);
	th_assert_errmsg(t, "NGUID");
	/* In another subsystem, too: a host may see both. */
	th_add_subsys(t, SUBNQN "2");
	assert_int_equal(add(SUBNQN "2", 1, "null:1M", mine, NULL), -EEXIST);
	assert_int_equal(add(SUBNQN, 3, "null:1M", NULL, NULL), -EEXIST);
	assert_int_equal(nvof_target_remove_ns(t, SUBNQN, 3), 0);
	assert_int_equal(add(SUBNQN "2", 1, "null:1M", mine, NULL), 0);
}

static void bad_namespaces_are_refused_by_a_sentence(void **state)
{
	struct nvof_target_ns_opts opts;

	nvof_target_ns_opts_init(&opts);
	assert_int_equal(nvof_target_add_ns(t, SUBNQN, &opts, NULL), -EINVAL);
	th_assert_errmsg(t, "no backend");
	opts.backend = "tape:1T";
	assert_int_equal(nvof_target_add_ns(t, SUBNQN, &opts, NULL), -EINVAL);
	th_assert_errmsg(t, "tape");
	opts.backend = "null:1M";
	opts.block_size = 520;
	assert_int_equal(nvof_target_add_ns(t, SUBNQN, &opts, NULL), -EINVAL);
	th_assert_errmsg(t, "520");
	opts.block_size = 4096;
	opts.backend = "file:/nonexistent/file";
	assert_int_equal(nvof_target_add_ns(t, SUBNQN, &opts, NULL), -ENOENT);
	th_assert_errmsg(t, "/nonexistent/file");
	opts.backend = "null:1M";
	assert_int_equal(nvof_target_add_ns(t, "nqn.2024-01.org.example:nobody", &opts, NULL), -ENOENT);
	th_assert_errmsg(t, "nqn.2024-01.org.example:nobody");
	assert_int_equal(nvof_target_add_ns(t, NVMF_DISC_NQN, &opts, NULL), -ENOENT);
	assert_int_equal(nvof_target_remove_ns(t, SUBNQN, 77), -ENOENT);
	assert_int_equal(nvof_target_resize_ns(t, SUBNQN, 77, 1 << 20), -ENOENT);
}

/* C077 */
static void a_namespace_that_grows_and_shrinks_is_told_and_checked(void **state)
{
	const struct nvme_id_ns *id = (const void *)page;
	struct th_queue *io;
	struct th_cmd *aer;
	uint8_t data[512] = { 1 };

	th_add_ns(t, SUBNQN, "mem:1M");
	io = th_io(t, 1, cntlid);
	th_set_feature(admin, NVME_FEAT_FID_ASYNC_EVENT, 1 << 8);
	th_get_log(admin, NVME_LOG_LID_CHANGED_NS, false, 0, page, 4096);
	aer = th_send(admin, th_sqe(nvme_admin_async_event, 0, 0, 0, 0), NULL, 0);
	th_wait(aer); /* of the addition */
	th_get_log(admin, NVME_LOG_LID_CHANGED_NS, false, 0, page, 4096);
	aer = th_send(admin, th_sqe(nvme_admin_async_event, 0, 0, 0, 0), NULL, 0);
	assert_status(th_cmd(io, th_rw(nvme_cmd_write, 1, 4095, 1), data, 512), ST(LBA_RANGE));
	assert_int_equal(nvof_target_resize_ns(t, SUBNQN, 1, 2 << 20), 0);
	assert_status(th_wait(aer), 0);
	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_NS, 1, page), 0);
	assert_int_equal(le64toh(id->nsze), 4096);
	assert_status(th_cmd(io, th_rw(nvme_cmd_write, 1, 4095, 1), data, 512), 0);
	assert_int_equal(nvof_target_resize_ns(t, SUBNQN, 1, 1 << 20), 0);
	assert_status(th_cmd(io, th_rw(nvme_cmd_read, 1, 4095, 1), data, 512), ST(LBA_RANGE));
	assert_int_equal(nvof_target_resize_ns(t, SUBNQN, 1, 100), -EINVAL);
	assert_int_equal(target_ns_nsze(th_ns(t, SUBNQN, 1)), 2048);
	th_close(io);
}

/* C085 */
static void a_removed_namespace_is_invalid_for_good(void **state)
{
	struct th_queue *io;
	struct th_cmd *write;
	uint8_t data[512] = { 1 };

	th_add_ns(t, SUBNQN, "mem:1M");
	io = th_io(t, 1, cntlid);
	/* A write whose data is still to come must not reach the backend after the removal. */
	write = th_send_slow(io, th_rw(nvme_cmd_write, 1, 0, 1), data, 512);
	th_sync(io);
	assert_int_equal(nvof_target_remove_ns(t, SUBNQN, 1), 0);
	assert_status(th_cmd(io, th_rw(nvme_cmd_write, 1, 0, 1), data, 512), ST(INVALID_NS));
	th_release(write);
	assert_status(th_wait(write), ST(INVALID_NS));
	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_NS_DESC_LIST, 1, page), ST(INVALID_FIELD));
	th_close(io);
}

/* Removes namespace 1 and adds one with these identifiers under the same id. */
static void swap(uint8_t id)
{
	uint8_t uuid[16] = { id }, nguid[16] = { id, 1 };

	nvof_target_remove_ns(t, SUBNQN, 1);
	assert_int_equal(add(SUBNQN, 1, "mem:1M", uuid, nguid), 0);
}

static uint16_t read_1(struct th_queue *io)
{
	return th_cmd(io, th_rw(nvme_cmd_read, 1, 0, 1), page, 512).status;
}

static void another_namespace_under_an_id_is_closed_until_it_was_identified(void **state)
{
	struct th_queue *io = th_io(t, 1, cntlid), *late_admin, *late;
	uint8_t data[512] = { 1 };
	uint16_t late_cntlid;

	swap(1);
	assert_int_equal(read_1(io), 0);
	swap(2);
	assert_int_equal(read_1(io), ST(INVALID_NS));
	assert_status(th_cmd(io, th_rw(nvme_cmd_write, 1, 0, 1), data, 512), ST(INVALID_NS));
	assert_status(th_cmd(io, th_sqe(nvme_cmd_flush, 1, 0, 0, 0), NULL, 0), ST(INVALID_NS));
	assert_status(th_cmd(io, th_rw(nvme_cmd_write_zeroes, 1, 0, 1), NULL, 0), ST(INVALID_NS));
	/* Others are not concerned, nor is who comes now. */
	assert_int_equal(th_add_ns(t, SUBNQN, "mem:1M"), 2);
	assert_status(th_cmd(io, th_rw(nvme_cmd_read, 2, 0, 1), page, 512), 0);
	late_admin = th_admin(t, &late_cntlid);
	late = th_io(t, 1, late_cntlid);
	assert_int_equal(read_1(late), 0);
	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_NS_DESC_LIST, 1, page), 0);
	assert_int_equal(read_1(io), ST(INVALID_NS));
	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_NS, 1, page), 0);
	assert_int_equal(read_1(io), 0);
	/* What was never identified leaves no trace: this host knows 2, the late one too. */
	swap(3);
	assert_int_equal(read_1(late), ST(INVALID_NS));
	swap(4);
	assert_int_equal(nvof_target_remove_ns(t, SUBNQN, 1), 0);
	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_NS, 1, page), 0);
	assert_int_equal(read_1(io), ST(INVALID_NS));
	swap(2);
	assert_int_equal(read_1(io), 0);
	assert_int_equal(read_1(late), 0);
	/* The same one again is what hosts wait for. */
	swap(2);
	assert_int_equal(read_1(io), 0);
	assert_int_equal(th_core(io)->ctrl->nr_others, 0);
	th_close(late);
	th_close(late_admin);
	th_close(io);
}

static void removal_does_not_wait_for_a_host_that_does_not_read(void **state)
{
	struct th_queue *io;
	struct th_cmd *read;

	th_add_ns(t, SUBNQN, "mem:1M");
	io = th_io(t, 1, cntlid);
	read = th_send_hold(io, th_rw(nvme_cmd_read, 1, 0, 8), page, 4096);
	th_sync(io);
	assert_int_equal(nvof_target_remove_ns(t, SUBNQN, 1), 0);
	/* The memory that is being sent from lives on until it was sent ... */
	assert_false(cds_list_empty(&t->zombies));
	assert_int_equal(th_add_ns(t, SUBNQN, "mem:1M"), 1);
	assert_false(cds_list_empty(&t->zombies));
	th_release(read);
	assert_status(th_wait(read), 0);
	/* ... and goes with the next call. */
	assert_int_equal(nvof_target_resize_ns(t, SUBNQN, 1, 0), 0);
	assert_true(cds_list_empty(&t->zombies));
	th_close(io);
}

/* A backend whose I/O ends when the test says so. */
struct slow {
	struct backend b;
	struct backend *real;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct backend_io *io;
	bool closed;
};

static struct slow slow;

static void slow_submit(struct backend *b, struct backend_io *io)
{
	pthread_mutex_lock(&slow.lock);
	slow.io = io;
	pthread_cond_broadcast(&slow.changed);
	pthread_mutex_unlock(&slow.lock);
}

static void slow_close(struct backend *b)
{
	slow.closed = true;
	backend_close(slow.real);
}

static uint64_t slow_size(struct backend *b)
{
	return 1 << 20;
}

static const struct backend_ops slow_ops = { .name = "slow", .close = slow_close, .size = slow_size, .submit = slow_submit };

static void slow_io_end(struct loop_work *work)
{
	struct backend_io *io = container_of(work, struct backend_io, work);

	io->done(io, 0);
}

static void *remove_ns_1(void *arg)
{
	assert_int_equal(nvof_target_remove_ns(t, SUBNQN, 1), 0);
	__atomic_store_n((bool *)arg, true, __ATOMIC_RELEASE);
	return NULL;
}

/* C029, C085 */
static void removal_waits_for_the_backend_and_nobody_else_does(void **state)
{
	struct th_queue *io;
	struct th_cmd *read;
	pthread_t remover;
	bool removed = false;

	th_add_ns(t, SUBNQN, "null:1M");
	th_add_ns(t, SUBNQN, "null:1M");
	io = th_io(t, 1, cntlid);
	memset(&slow, 0, sizeof(slow));
	pthread_mutex_init(&slow.lock, NULL);
	pthread_cond_init(&slow.changed, NULL);
	slow.b.ops = &slow_ops;
	slow.real = th_ns(t, SUBNQN, 1)->backend;
	th_ns(t, SUBNQN, 1)->backend = &slow.b;
	read = th_send(io, th_rw(nvme_cmd_read, 1, 0, 1), page, 512);
	pthread_mutex_lock(&slow.lock);
	while (!slow.io)
		pthread_cond_wait(&slow.changed, &slow.lock);
	pthread_mutex_unlock(&slow.lock);
	pthread_create(&remover, NULL, remove_ns_1, &removed);
	while (!th_identify(admin, NVME_IDENTIFY_CNS_NS_DESC_LIST, 1, page).status)
		; /* until the removal has begun */
	assert_status(th_cmd(io, th_rw(nvme_cmd_read, 1, 0, 1), page, 512), ST(INVALID_NS));
	assert_status(th_cmd(io, th_rw(nvme_cmd_read, 2, 0, 1), page, 512), 0);
	assert_status(th_cmd(admin, th_sqe(nvme_admin_keep_alive, 0, 0, 0, 0), NULL, 0), 0);
	assert_false(__atomic_load_n(&removed, __ATOMIC_ACQUIRE));
	assert_false(slow.closed);
	loop_work_init(&slow.io->work, slow_io_end);
	loop_post(slow.io->loop, &slow.io->work);
	assert_status(th_wait(read), 0);
	pthread_join(remover, NULL);
	assert_true(removed);
	assert_true(slow.closed);
	th_close(io);
}

#define STRESS_QUEUES 4
#define STRESS_ROUNDS 60

struct stress {
	struct th_queue *q;
	pthread_t thread;
	const bool *stop;
	uint32_t slba; /* of the thread's own blocks */
	uint64_t nr_fine, nr_gone;
};

static void *stress_io(void *arg)
{
	struct stress *s = arg;
	uint8_t data[8][4096] = { 0 };

	for (uint32_t i = 0; !__atomic_load_n(s->stop, __ATOMIC_RELAXED); i++) {
		struct th_cmd *cmd[8];

		for (uint32_t j = 0; j < 8; j++)
			cmd[j] = th_send(s->q, th_rw(j & 1 ? nvme_cmd_write : nvme_cmd_read, 1 + (i + j) % 8, s->slba + j * 8, 8), data[j],
					 4096);
		for (uint32_t j = 0; j < 8; j++) {
			uint16_t status = th_wait(cmd[j]).status;

			if (!status)
				__atomic_add_fetch(&s->nr_fine, 1, __ATOMIC_RELAXED);
			else if (status == ST(INVALID_NS))
				s->nr_gone++;
			else
				abort();
		}
	}
	return NULL;
}

static bool each_had_its_turn(const struct stress *s)
{
	for (int i = 0; i < STRESS_QUEUES; i++)
		if (!__atomic_load_n(&s[i].nr_fine, __ATOMIC_RELAXED))
			return false;
	return true;
}

/* I/O from several threads while namespaces go and come: each command ends once, with success or 0Bh. */
static void namespaces_come_and_go_under_io(void **state)
{
	struct stress s[STRESS_QUEUES] = { 0 };
	uint64_t nr_fine = 0;
	bool stop = false;

	for (int i = 0; i < 8; i++)
		th_add_ns(t, SUBNQN, i % 2 ? "null:1M" : "mem:1M");
	for (int i = 0; i < STRESS_QUEUES; i++) {
		s[i].q = th_io(t, (uint16_t)(i + 1), cntlid);
		s[i].stop = &stop;
		s[i].slba = (uint32_t)i * 100;
		pthread_create(&s[i].thread, NULL, stress_io, &s[i]);
	}
	/* On a busy machine the threads may begin late. */
	for (int i = 0; i < STRESS_ROUNDS || !each_had_its_turn(s); i++) {
		uint32_t nsid = 1 + (uint32_t)i % 8;

		assert_int_equal(nvof_target_resize_ns(t, SUBNQN, 1, i % 2 ? 1 << 20 : 2 << 20), 0);
		assert_int_equal(nvof_target_remove_ns(t, SUBNQN, nsid), 0);
		assert_int_equal(add(SUBNQN, nsid, nsid % 2 ? "mem:1M" : "null:1M", NULL, NULL), 0);
		/* Until then the new one is closed to this ctrl. */
		assert_status(th_identify(admin, NVME_IDENTIFY_CNS_NS, nsid, page), 0);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < STRESS_QUEUES; i++) {
		pthread_join(s[i].thread, NULL);
		nr_fine += s[i].nr_fine;
		th_close(s[i].q);
	}
	assert_true(nr_fine > 0);
	assert_int_equal(walk_list(NULL, 0), 8);
}

static void removing_a_subsystem_ends_its_ctrls_and_namespaces(void **state)
{
	struct th_queue *io;

	for (int i = 0; i < 100; i++)
		th_add_ns(t, SUBNQN, "null:1M");
	io = th_io(t, 1, cntlid);
	assert_int_equal(nvof_target_remove_subsys(t, SUBNQN), 0);
	th_wait_closed(io);
	th_wait_closed(admin);
	th_close(io);
	assert_int_equal(nvof_target_remove_subsys(t, SUBNQN), -ENOENT);
	th_add_subsys(t, SUBNQN); /* the name is free again */
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(active_lists_of_any_length_are_exact),
		TEST(ids_may_have_gaps_and_come_in_any_order),
		TEST(identifiers_are_stable_and_unique),
		TEST(bad_namespaces_are_refused_by_a_sentence),
		TEST(a_namespace_that_grows_and_shrinks_is_told_and_checked),
		TEST(a_removed_namespace_is_invalid_for_good),
		TEST(another_namespace_under_an_id_is_closed_until_it_was_identified),
		TEST(removal_does_not_wait_for_a_host_that_does_not_read),
		TEST(removal_waits_for_the_backend_and_nobody_else_does),
		TEST(namespaces_come_and_go_under_io),
		TEST(removing_a_subsystem_ends_its_ctrls_and_namespaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
