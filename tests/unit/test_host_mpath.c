/* SPDX-License-Identifier: BSD-3-Clause */
/* A subsystem by two paths: which one an I/O takes, and what happens when one is lost, or all. */
#include "mpath_sides.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void no_more(struct nvof_connect_opts *o)
{
	o->fast_io_fail_tmo_ms = 500;
}

static void short_removal(struct nvof_connect_opts *o)
{
	o->remove_timeout_ms = 10;
}

/* ---- the same namespace ---- */

static void namespaces_with_the_same_identifiers_are_one(void **state)
{
	struct nvof_path path;

	begin(0, NVOF_IOPOLICY_NUMA);
	assert_true(nvof_ns_path(ns, 0, &path) && path.ctrl == sides[0].f->ctrl && path.usable);
	assert_true(nvof_ns_path(ns, 1, &path) && path.ctrl == sides[1].f->ctrl && path.usable);
	assert_false(nvof_ns_path(ns, 2, &path));
	assert_null(nvof_subsystem_ns_next(subsys, 1));
	assert_int_equal(nr_told[NVOF_EVENT_NS_ADDED], 1);
	assert_int_equal(nvof_ns_nr_blocks(ns), sides[0].f->disk_len / 512);
	assert_int_equal(nvof_ns_block_size(ns), 512);
	finish();
}

static void check_apart(void)
{
	struct nvof_path path;

	connect_both(0, NVOF_IOPOLICY_NUMA);
	assert_int_equal(nr_told[NVOF_EVENT_NS_ADDED], 2);
	assert_true(nvof_ns_path(ns, 0, &path));
	assert_false(nvof_ns_path(ns, 1, &path));
	finish();
}

static void others_are_kept_apart(void **state)
{
	prepare();
	sides[1].f->id_ns.nguid[3] ^= 1;
	check_apart();
	prepare(); /* not shared */
	sides[1].f->id_ns.nmic = 0;
	check_apart();
	prepare(); /* no identifier at all: nothing says that it is the same */
	memset(sides[0].f->id_ns.nguid, 0, 16);
	memset(sides[1].f->id_ns.nguid, 0, 16);
	check_apart();
}

static void another_subsystem_with_the_name_is_no_path(void **state)
{
	struct nvof_path path;

	prepare();
	sides[1].f->id.sn[0] = 'S';
	assert_int_equal(side_connect(&sides[0], 0, NULL), 0);
	subsys = nvof_ctrl_subsystem(sides[0].f->ctrl);
	assert_int_equal(side_connect(&sides[1], 0, NULL), 0);
	assert_null(nvof_ctrl_subsystem(sides[1].f->ctrl));
	assert_contains(nvof_ctx_errmsg(sides[0].f->ctx), "another subsystem has this name");
	assert_false(nvof_subsystem_path(subsys, 1, &path));
	finish();
}

/* C147: exact names. */
static void a_name_that_begins_alike_is_another_subsystem(void **state)
{
	struct nvof_connect_opts o;

	prepare();
	assert_int_equal(side_connect(&sides[0], 0, NULL), 0);
	subsys = nvof_ctrl_subsystem(sides[0].f->ctrl);
	fake_opts(sides[1].f, &o);
	o.subsysnqn = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555556";
	assert_int_equal(nvof_ctrl_connect(sides[0].f->ctx, &o, fake_connect_cb, sides[1].f, &sides[1].f->ctrl), 0);
	while (!sides[1].f->nr_connect_cbs)
		nvof_ctx_poll(sides[0].f->ctx, 1000);
	assert_ptr_not_equal(nvof_ctrl_subsystem(sides[1].f->ctrl), subsys);
	finish();
}

static void what_does_not_belong_together_is_refused(void **state)
{
	struct nvof_ns *there;
	struct nvof_hctx *direct;
	struct nvof_cmd cmd = { .opcode = nvme_cmd_flush, .nsid = 1 };

	begin(0, NVOF_IOPOLICY_NUMA);
	there = nvof_ns_get(sides[0].f->ctrl, 1);
	direct = nvof_ctrl_hctx(sides[0].f->ctrl, 0);
	assert_non_null(there);
	assert_int_equal(nvof_read(hctx, there, 0, 1, bufs[0], 0, io_cb, &ends[0]), -EINVAL);
	assert_int_equal(nvof_read(direct, ns, 0, 1, bufs[0], 0, io_cb, &ends[0]), -EINVAL);
	assert_int_equal(nvof_flush(direct, ns, io_cb, &ends[0]), -EINVAL);
	assert_int_equal(nvof_read(hctx, ns, 0, 0, bufs[0], 0, io_cb, &ends[0]), -EINVAL);
	assert_int_equal(nvof_read(hctx, ns, nvof_ns_nr_blocks(ns), 1, bufs[0], 0, io_cb, &ends[0]), -ERANGE);
	assert_int_equal(nvof_io_passthru(hctx, &cmd, NVOF_DIR_NONE, NULL, 0, io_cb, &ends[0]), -EINVAL);
	assert_int_equal(nvof_ns_remove(ns, NULL, NULL), -EINVAL);
	assert_int_equal(nvof_subsystem_set_iopolicy(subsys, (enum nvof_iopolicy)3), -EINVAL);
	assert_int_equal(nvof_subsystem_free(subsys), -EBUSY);
	nvof_ns_close(there);
	finish();
}

/* ---- policies ---- */

static void numa_stays_on_the_first_path(void **state)
{
	begin(0, NVOF_IOPOLICY_NUMA);
	read_n(0, 100);
	poll_ms(2);
	check_ended(0, 100, 0);
	assert_int_equal(sides[0].nr_reads, 100);
	assert_int_equal(sides[1].nr_reads, 0);
	finish();
}

static void round_robin_takes_turns(void **state)
{
	begin(0, NVOF_IOPOLICY_ROUND_ROBIN);
	read_n(0, 100);
	poll_ms(2);
	check_ended(0, 100, 0);
	assert_int_equal(sides[0].nr_reads, 50);
	assert_int_equal(sides[1].nr_reads, 50);
	finish();
}

static void queue_depth_takes_the_one_with_fewer_under_way(void **state)
{
	int i;

	begin(0, NVOF_IOPOLICY_QUEUE_DEPTH);
	sides[0].hold_io = true;
	for (i = 0; i < 100; i++) {
		read_n(i, i + 1);
		nvof_ctx_poll(sides[0].f->ctx, 0);
		nvof_ctx_poll(sides[0].f->ctx, 0);
	}
	poll_ms(2);
	assert_in_range(sides[0].nr_reads, 1, 3); /* stuck: the others avoid it */
	assert_int_equal(sides[0].nr_reads + sides[1].nr_reads, 100);
	finish();
}

static void a_full_path_leaves_the_rest_to_the_other(void **state)
{
	int i, ret;

	begin(0, NVOF_IOPOLICY_ROUND_ROBIN);
	sides[0].hold_io = true;
	for (i = 0; i < 250; i++) {
		ret = nvof_read(hctx, ns, 0, 1, bufs[i], 0, io_cb, &ends[i]);
		assert_int_equal(ret, 0);
		if (i % 8 == 7)
			poll_ms(0);
	}
	poll_ms(2);
	assert_int_equal(sides[0].nr_reads, 125);
	sides[0].hold_io = sides[1].hold_io = true;
	while (!nvof_read(hctx, ns, 0, 1, bufs[0], 0, io_cb, &ends[255]))
		;
	assert_int_equal(nvof_read(hctx, ns, 0, 1, bufs[0], 0, io_cb, &ends[255]), -EAGAIN);
	assert_int_equal(nvof_hctx_nr_free(hctx), 0);
	finish();
}

/* ---- paths that are lost ---- */

/* C148: the admin queue is silent, an I/O queue is closed. */
static void reads_leave_a_lost_path_at_once_writes_when_it_is_settled(void **state)
{
	static const int tmos[] = { 0, 60000 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tmos); i++) {
		begin(tmos[i], NVOF_IOPOLICY_NUMA);
		memset(bufs[1], 0x5a, 512);
		sides[0].hold_io = true;
		sides[0].f->unsettled = true;
		read_n(0, 1);
		assert_int_equal(nvof_write(hctx, ns, 7, 1, bufs[1], 0, io_cb, &ends[1]), 0);
		assert_int_equal(nvof_write_zeroes(hctx, ns, 9, 1, 0, io_cb, &ends[2]), 0);
		assert_int_equal(nvof_flush(hctx, ns, io_cb, &ends[3]), 0);
		poll_ms(1);
		sides[0].f->on_state = refuse_state;
		break_off(&sides[0], 1);
		poll_ms(10);
		check_ended(0, 1, 0);
		check_ended(3, 4, 0);
		assert_int_equal(ends[1].nr + ends[2].nr, 0);
		assert_int_equal(sides[1].nr_writes, 0);
		/* New ones have nothing to do with it. */
		assert_int_equal(nvof_write(hctx, ns, 8, 1, bufs[1], 0, io_cb, &ends[4]), 0);
		poll_ms(1);
		check_ended(4, 5, 0);
		sides[0].f->unsettled = false;
		poll_ms(10);
		check_ended(1, 3, 0);
		assert_memory_equal(sides[0].f->disk + 7 * 512, bufs[1], 512);
		finish();
	}
}

static void one_path_that_comes_back_gets_what_it_lost(void **state)
{
	int i;

	begin(60000, NVOF_IOPOLICY_NUMA);
	set_state(&sides[1], NVME_ANA_STATE_INACCESSIBLE);
	sides[0].hold_io = true;
	for (i = 0; i < 50; i++)
		assert_int_equal(nvof_write(hctx, ns, (uint64_t)i, 1, bufs[i], 0, io_cb, &ends[i]), 0);
	poll_ms(1);
	sides[0].hold_io = false;
	break_off(&sides[0], 1);
	for (; i < 60; i++) {
		poll_ms(0);
		assert_int_equal(nvof_write(hctx, ns, (uint64_t)i, 1, bufs[i], 0, io_cb, &ends[i]), 0);
	}
	wait_end(&ends[49]);
	poll_ms(5);
	check_ended(0, 60, 0);
	finish();
}

static void without_a_path_io_waits_until_fast_io_fail_tmo(void **state)
{
	prepare();
	assert_int_equal(side_connect(&sides[0], 60000, no_more), 0);
	subsys = nvof_ctrl_subsystem(sides[0].f->ctrl);
	assert_int_equal(side_connect(&sides[1], 60000, no_more), 0);
	assert_int_equal(nvof_subsystem_scan_sync(subsys), 0);
	ns = nvof_subsystem_ns(subsys, 1);
	hctx = nvof_subsystem_hctx(subsys, 0);
	sides[0].f->on_state = sides[1].f->on_state = refuse_state;
	sides[0].hold_io = true;
	read_n(0, 1);
	poll_ms(1);
	break_off(&sides[0], 0);
	break_off(&sides[1], 0);
	nvof_ctx_poll(sides[0].f->ctx, 0);
	read_n(1, 2);
	assert_int_equal(ends[0].nr + ends[1].nr, 0);
	wait_end(&ends[0]);
	wait_end(&ends[1]);
	check_ended(0, 1, -ECONNRESET);
	check_ended(1, 2, -ENOTCONN);
	assert_contains(nvof_subsystem_errmsg(subsys), "is connecting");
	assert_int_equal(nvof_read(hctx, ns, 0, 1, bufs[2], 0, io_cb, &ends[2]), -ENOTCONN);
	/* They come back, and so does I/O. */
	sides[0].hold_io = false;
	sides[0].f->on_state = NULL;
	while (nvof_ctrl_state(sides[0].f->ctrl) != NVOF_CTRL_LIVE || !nvof_ctrl_hctx(sides[0].f->ctrl, 0)->live)
		nvof_ctx_poll(sides[0].f->ctx, 1000);
	poll_ms(2);
	read_n(3, 4);
	poll_ms(2);
	check_ended(3, 4, 0);
	finish();
}

static void the_last_path_takes_the_namespace_with_it_once(void **state)
{
	begin(0, NVOF_IOPOLICY_NUMA);
	sides[0].hold_io = sides[1].hold_io = true;
	read_n(0, 1);
	break_off(&sides[0], 1);
	poll_ms(5);
	assert_int_equal(nvof_ctrl_state(sides[0].f->ctrl), NVOF_CTRL_DEAD);
	assert_int_equal(nr_told[NVOF_EVENT_NS_REMOVED], 0);
	assert_int_equal(nvof_ns_status(ns), 0);
	break_off(&sides[1], 1);
	poll_ms(5);
	assert_int_equal(nr_told[NVOF_EVENT_NS_REMOVED], 1);
	assert_int_equal(nvof_ns_status(ns), -ENODEV);
	assert_int_equal(ends[0].nr, 1);
	assert_true(ends[0].status < 0);
	assert_int_equal(nvof_read(hctx, ns, 0, 1, bufs[1], 0, io_cb, &ends[1]), -ENODEV);
	finish();
}

static void disconnected(void *arg, struct nvof_ctrl *ctrl, int status)
{
	*(int *)arg = status;
}

static void paths_come_and_go_while_io_runs(void **state)
{
	int i, k, status, nr = 0;
	struct nvof_path path;

	begin(0, NVOF_IOPOLICY_ROUND_ROBIN);
	for (k = 0; k < 10; k++) {
		struct side *s = &sides[k % 2];

		memset(ends, 0, sizeof(ends));
		read_n(0, 20);
		status = 1;
		assert_int_equal(nvof_ctrl_disconnect(s->f->ctrl, disconnected, &status), 0);
		for (i = 20; status == 1; i++) {
			if (i < 200)
				read_n(i, i + 1);
			nvof_ctx_poll(sides[0].f->ctx, 1000);
		}
		i = i < 200 ? i : 200;
		nvof_ctrl_free(s->f->ctrl);
		assert_false(nvof_subsystem_path(subsys, 1, &path));
		read_n(i, i + 10);
		s->f->enabled = s->f->shutdown = false;
		assert_int_equal(side_connect(s, 0, NULL), 0);
		assert_int_equal(nvof_subsystem_scan_sync(subsys), 0);
		poll_ms(1);
		check_ended(0, i + 10, 0);
		nr += i;
	}
	assert_true(nr > 200);
	assert_int_equal(nr_told[NVOF_EVENT_NS_REMOVED], 0);
	assert_int_equal(nr_told[NVOF_EVENT_NS_ADDED], 1);
	finish();
}

static void a_disconnect_waits_until_its_writes_may_go_elsewhere(void **state)
{
	int status = 1;

	prepare();
	assert_int_equal(side_connect(&sides[0], 0, short_removal), 0);
	subsys = nvof_ctrl_subsystem(sides[0].f->ctrl);
	assert_int_equal(side_connect(&sides[1], 0, NULL), 0);
	assert_int_equal(nvof_subsystem_scan_sync(subsys), 0);
	ns = nvof_subsystem_ns(subsys, 1);
	hctx = nvof_subsystem_hctx(subsys, 0);
	sides[0].hold_io = sides[0].f->unsettled = true;
	assert_int_equal(nvof_write(hctx, ns, 7, 1, bufs[0], 0, io_cb, &ends[0]), 0);
	poll_ms(1);
	assert_int_equal(nvof_ctrl_disconnect(sides[0].f->ctrl, disconnected, &status), 0);
	while (nvof_ctrl_state(sides[0].f->ctrl) != NVOF_CTRL_DEAD)
		nvof_ctx_poll(sides[0].f->ctx, 1000);
	poll_ms(20);
	assert_int_equal(status, 1);
	assert_int_equal(ends[0].nr, 0);
	sides[0].f->unsettled = false;
	wait_end(&ends[0]);
	check_ended(0, 1, 0);
	assert_int_equal(status, 0);
	assert_int_equal(sides[1].nr_writes, 1);
	finish();
}

/* Without that, it is told. */
static void a_path_that_is_freed_takes_its_unsettled_writes_along(void **state)
{
	begin(0, NVOF_IOPOLICY_NUMA);
	sides[0].hold_io = sides[0].f->unsettled = true;
	assert_int_equal(nvof_write(hctx, ns, 7, 1, bufs[0], 0, io_cb, &ends[0]), 0);
	read_n(1, 2);
	poll_ms(1);
	nvof_ctrl_free(sides[0].f->ctrl);
	sides[0].f->ctrl = NULL;
	check_ended(0, 1, -ECANCELED);
	check_ended(1, 2, 0);
	finish();
}

static void all_kinds_of_io_go_by_another_path(void **state)
{
	struct nvof_range range = { .slba = 100, .nlb = 4 };
	struct iovec iov[2] = { { bufs[10], 512 }, { bufs[11], 512 } };
	size_t len = 1u << 20;
	uint8_t *big = calloc(1, len);
	int i;

	for (i = 0; i < (int)len; i++)
		big[i] = (uint8_t)(i * 7 + i / 4096);
	begin(0, NVOF_IOPOLICY_NUMA);
	sides[0].io_status = ST(INACCESSIBLE);
	sides[0].state = NVME_ANA_STATE_INACCESSIBLE;
	assert_int_equal(nvof_write(hctx, ns, 0, (uint32_t)(len / 512), big, 0, io_cb, &ends[0]), 0);
	assert_int_equal(nvof_flush(hctx, ns, io_cb, &ends[1]), 0);
	assert_int_equal(nvof_write_zeroes(hctx, ns, 9000, 10, 0, io_cb, &ends[2]), 0);
	assert_int_equal(nvof_verify(hctx, ns, 0, 10, 0, io_cb, &ends[3]), 0);
	assert_int_equal(nvof_discard(hctx, ns, &range, 1, io_cb, &ends[4]), 0);
	assert_int_equal(nvof_compare(hctx, ns, 0, 1, big, 0, io_cb, &ends[5]), 0);
	assert_int_equal(nvof_readv(hctx, ns, 4, 2, iov, 2, 0, io_cb, &ends[6]), 0);
	assert_int_equal(nvof_readv(hctx, ns, 4, 1, iov, 2, 0, io_cb, &ends[7]), -EINVAL);
	poll_ms(5);
	check_ended(0, 7, 0);
	assert_memory_equal(sides[0].f->disk, big, len);
	assert_true(sides[1].nr_others >= 5);
	assert_int_equal(nvof_read_sync(hctx, ns, 0, (uint32_t)(len / 512), big, 0), 0);
	free(big);
	finish();
}

static void what_waits_ends_with_the_ctx(void **state)
{
	begin(0, NVOF_IOPOLICY_NUMA);
	sides[1].hold_io = true;
	read_n(0, 1);
	poll_ms(1);
	set_state(&sides[0], NVME_ANA_STATE_INACCESSIBLE);
	read_n(1, 2);
	poll_ms(1);
	set_state(&sides[1], NVME_ANA_STATE_INACCESSIBLE);
	read_n(2, 3);
	nvof_ns_close(ns);
	ns = NULL;
	sides[0].f->ctrl = sides[1].f->ctrl = NULL;
	nvof_ctx_free(sides[0].f->ctx);
	check_ended(0, 1, 0);
	check_ended(1, 3, -ECANCELED);
	assert_int_equal(nvof_ctx_new(NULL, &sides[0].f->ctx), 0);
	finish();
}

static void a_subsystem_without_paths_can_be_freed(void **state)
{
	begin(0, NVOF_IOPOLICY_NUMA);
	nvof_ns_close(ns);
	ns = NULL;
	nvof_ctrl_free(sides[0].f->ctrl);
	nvof_ctrl_free(sides[1].f->ctrl);
	sides[0].f->ctrl = sides[1].f->ctrl = NULL;
	assert_int_equal(nvof_subsystem_free(subsys), 0);
	assert_int_equal(nvof_subsystem_free(NULL), 0);
	finish();
}

/* ---- by chance ---- */

static uint32_t rnd(uint32_t n)
{
	static uint64_t x = 88172645463325252u;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (uint32_t)(x >> 33) % n;
}

static void mischief(void)
{
	static const uint8_t states[] = { NVME_ANA_STATE_OPTIMIZED, NVME_ANA_STATE_NONOPTIMIZED, NVME_ANA_STATE_INACCESSIBLE,
					  NVME_ANA_STATE_CHANGE };
	struct side *s = &sides[rnd(2)];

	s->f->unsettled = !rnd(3);
	if (!rnd(8) && s->f->queues[1] && nvof_ctrl_state(s->f->ctrl) == NVOF_CTRL_LIVE)
		break_off(s, (uint16_t)rnd(2));
	if (!rnd(4) && s->f->aer && nvof_ctrl_state(s->f->ctrl) == NVOF_CTRL_LIVE) {
		s->state = states[rnd(4)];
		s->io_status = s->state == NVME_ANA_STATE_INACCESSIBLE ? ST(INACCESSIBLE)
			       : s->state == NVME_ANA_STATE_CHANGE     ? ST(TRANSITION)
								       : 0;
		ana_event(s);
	}
}

static void every_io_ends_once_whatever_happens_to_the_paths(void **state)
{
	uint64_t nr = 0;
	int i, round;

	begin(-1, NVOF_IOPOLICY_QUEUE_DEPTH);
	for (i = 0; i < NR_IOS; i++)
		ends[i].nr = 1;
	for (round = 0; round < 4000; round++) {
		for (i = 0; i < NR_IOS; i++) {
			int ret;

			assert_in_range(ends[i].nr, 0, 1);
			if (!ends[i].nr || rnd(4))
				continue;
			ends[i].nr = 0;
			if (rnd(2))
				ret = nvof_read(hctx, ns, (uint64_t)i, 1, bufs[i], 0, io_cb, &ends[i]);
			else
				ret = nvof_write(hctx, ns, (uint64_t)i, 1, bufs[i], 0, io_cb, &ends[i]);
			nr += !ret;
			if (ret)
				ends[i].nr = 1;
			assert_true(!ret || ret == -EAGAIN || ret == -ENOTCONN);
		}
		mischief();
		nvof_ctx_poll(sides[0].f->ctx, 0);
	}
	for (i = 0; i < NR_PATHS; i++) {
		sides[i].f->unsettled = false;
		sides[i].io_status = 0;
		sides[i].state = NVME_ANA_STATE_OPTIMIZED;
	}
	for (i = 0; i < NR_IOS; i++)
		wait_end(&ends[i]);
	assert_true(nr > NR_IOS);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(namespaces_with_the_same_identifiers_are_one),
		cmocka_unit_test(others_are_kept_apart),
		cmocka_unit_test(another_subsystem_with_the_name_is_no_path),
		cmocka_unit_test(a_name_that_begins_alike_is_another_subsystem),
		cmocka_unit_test(what_does_not_belong_together_is_refused),
		cmocka_unit_test(numa_stays_on_the_first_path),
		cmocka_unit_test(round_robin_takes_turns),
		cmocka_unit_test(queue_depth_takes_the_one_with_fewer_under_way),
		cmocka_unit_test(a_full_path_leaves_the_rest_to_the_other),
		cmocka_unit_test(reads_leave_a_lost_path_at_once_writes_when_it_is_settled),
		cmocka_unit_test(one_path_that_comes_back_gets_what_it_lost),
		cmocka_unit_test(without_a_path_io_waits_until_fast_io_fail_tmo),
		cmocka_unit_test(the_last_path_takes_the_namespace_with_it_once),
		cmocka_unit_test(paths_come_and_go_while_io_runs),
		cmocka_unit_test(a_disconnect_waits_until_its_writes_may_go_elsewhere),
		cmocka_unit_test(a_path_that_is_freed_takes_its_unsettled_writes_along),
		cmocka_unit_test(all_kinds_of_io_go_by_another_path),
		cmocka_unit_test(what_waits_ends_with_the_ctx),
		cmocka_unit_test(a_subsystem_without_paths_can_be_freed),
		cmocka_unit_test(every_io_ends_once_whatever_happens_to_the_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
