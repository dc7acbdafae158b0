/* SPDX-License-Identifier: BSD-3-Clause */
/* ANA states as the host obeys them: the log, its event, statuses of I/O. */
#include "mpath_sides.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* C143 */
static void io_follows_the_optimized_path(void **state)
{
	int i;

	begin(0, NVOF_IOPOLICY_ROUND_ROBIN);
	for (i = 0; i < 20; i++) {
		struct side *good = &sides[i % 2], *other = &sides[1 - i % 2];
		uint32_t before = other->nr_reads;

		set_state(good, NVME_ANA_STATE_OPTIMIZED);
		set_state(other, NVME_ANA_STATE_NONOPTIMIZED);
		memset(ends, 0, sizeof(ends));
		read_n(0, 20);
		poll_ms(1);
		check_ended(0, 20, 0);
		assert_int_equal(other->nr_reads, before);
	}
	/* Without an optimized one the other kind does. */
	set_state(&sides[0], NVME_ANA_STATE_NONOPTIMIZED);
	set_state(&sides[1], NVME_ANA_STATE_NONOPTIMIZED);
	read_n(20, 40);
	poll_ms(1);
	check_ended(20, 40, 0);
	finish();
}

static void scanned(void *arg, int status)
{
	*(int *)arg = status;
}

static void who_asks_for_namespaces_hears_when_their_states_are_known(void **state)
{
	struct nvof_path path = { 0 };
	int told = 1;

	prepare();
	sides[0].state = NVME_ANA_STATE_NONOPTIMIZED;
	sides[0].hold_log = true;
	assert_int_equal(side_connect(&sides[0], 0, NULL), 0);
	subsys = nvof_ctrl_subsystem(sides[0].f->ctrl);
	assert_int_equal(nvof_subsystem_scan(subsys, scanned, &told), 0);
	poll_ms(5);
	ns = nvof_subsystem_ns(subsys, 1);
	assert_non_null(ns);
	assert_int_equal(told, 1);
	answer_log(&sides[0]);
	poll_ms(2);
	assert_int_equal(told, 0);
	assert_true(nvof_ns_path(ns, 0, &path));
	assert_int_equal(path.ana_state, NVME_ANA_STATE_NONOPTIMIZED);
	assert_int_equal(side_connect(&sides[1], 0, NULL), 0);
	finish();
}

/* C142 */
static void a_burst_of_ana_errors_reads_the_log_once_and_goes_elsewhere(void **state)
{
	int i;

	begin(0, NVOF_IOPOLICY_NUMA);
	sides[0].io_status = ST(INACCESSIBLE);
	sides[0].state = NVME_ANA_STATE_INACCESSIBLE;
	sides[0].hold_log = true;
	sides[0].nr_logs = 0;
	read_n(0, 120);
	poll_ms(5);
	check_ended(0, 120, 0);
	assert_int_equal(sides[0].nr_reads, 120);
	assert_int_equal(sides[1].nr_reads, 120);
	assert_int_equal(sides[0].nr_logs, 1);
	/* Not used while it is not known; nor after. */
	read_n(120, 130);
	poll_ms(1);
	for (i = 0; i < 3 && sides[0].log_req; i++) { /* one that errors came during is read again */
		answer_log(&sides[0]);
		poll_ms(1);
	}
	assert_null(sides[0].log_req);
	read_n(130, 140);
	poll_ms(1);
	check_ended(120, 140, 0);
	assert_int_equal(sides[0].nr_reads, 120);
	finish();
}

/* An event during each reading of the log: every second one counts all the same. */
static void changes_that_never_end_are_no_reason_not_to_know(void **state)
{
	struct nvof_path path = { 0 };
	int i;

	begin(0, NVOF_IOPOLICY_NUMA);
	sides[0].hold_log = true;
	set_state(&sides[0], NVME_ANA_STATE_NONOPTIMIZED);
	for (i = 0; i < 4; i++) {
		ana_event(&sides[0]);
		poll_ms(2);
		answer_log(&sides[0]);
		poll_ms(2);
	}
	assert_true(nvof_ns_path(ns, 0, &path));
	assert_int_equal(path.ana_state, NVME_ANA_STATE_NONOPTIMIZED);
	answer_log(&sides[0]); /* the last event's */
	poll_ms(2);
	assert_null(sides[0].log_req);
	finish();
}

/* C141 */
static void an_ana_status_without_ana_is_a_path_error(void **state)
{
	prepare();
	sides[0].f->id.cmic = sides[1].f->id.cmic = 3;
	connect_both(0, NVOF_IOPOLICY_NUMA);
	sides[0].io_status = ST(INACCESSIBLE);
	read_n(0, 10);
	poll_ms(2);
	check_ended(0, 10, 0);
	assert_int_equal(sides[0].nr_logs + sides[1].nr_logs, 0);
	assert_int_equal(sides[1].nr_reads, 10);
	/* With no other one it is tried again, not too often and not too fast. */
	sides[1].io_status = ST(INACCESSIBLE);
	sides[0].nr_reads = sides[1].nr_reads = 0;
	read_n(10, 11);
	wait_end(&ends[10]);
	assert_int_equal(ends[10].status, ST(INACCESSIBLE));
	assert_in_range(sides[0].nr_reads + sides[1].nr_reads, 2, MPATH_MAX_RETRIES + 1);
	finish();
}

/* C141 */
static void a_log_that_can_t_be_read_is_none(void **state)
{
	prepare();
	sides[0].log_status = sides[1].log_status = 0x4109;
	connect_both(0, NVOF_IOPOLICY_NUMA);
	sides[0].io_status = ST(TRANSITION);
	read_n(0, 10);
	poll_ms(2);
	check_ended(0, 10, 0);
	assert_int_equal(sides[1].nr_reads, 10);
	finish();
}

/* C138 */
static void nonsense_in_the_log_is_ignored(void **state)
{
	static const uint8_t odd_states[] = { 0x0e, 0 };
	struct {
		struct nvme_ana_log head;
		uint8_t rest[256];
	} __attribute__((packed)) page = { .head.ngrps = htole16(5) };
	const struct nvme_ana_group_desc groups[] = {
		{ .grpid = htole32(99), .state = NVME_ANA_STATE_INACCESSIBLE }, /* beyond ANAGRPMAX */
		{ .grpid = htole32(2), .state = odd_states[0] },
		{ .grpid = 0, .state = NVME_ANA_STATE_INACCESSIBLE },
		{ .grpid = htole32(1), .state = NVME_ANA_STATE_NONOPTIMIZED },
		{ .grpid = htole32(3), .nnsids = htole32(1u << 30), .state = NVME_ANA_STATE_INACCESSIBLE }, /* cut off */
	};
	struct nvof_path path;

	begin(0, NVOF_IOPOLICY_NUMA);
	memcpy(page.rest, groups, sizeof(groups));
	sides[0].page = (uint8_t *)&page;
	sides[0].page_len = sizeof(struct nvme_ana_log) + 4 * sizeof(groups[0]);
	set_state(&sides[0], 0);
	assert_true(nvof_ns_path(ns, 0, &path));
	assert_int_equal(path.ana_state, NVME_ANA_STATE_NONOPTIMIZED);
	page.head.ngrps = 0; /* none at all: nothing against the path */
	set_state(&sides[0], 0);
	read_n(0, 1);
	poll_ms(1);
	check_ended(0, 1, 0);
	finish();
}

/* C139 */
static void a_state_that_changes_during_a_reconnect_is_read_again(void **state)
{
	begin(5000, NVOF_IOPOLICY_NUMA);
	set_state(&sides[1], NVME_ANA_STATE_PERSISTENT_LOSS);
	sides[0].io_status = ST(TRANSITION);
	sides[0].hold_log = true;
	read_n(0, 1);
	poll_ms(2);
	assert_non_null(sides[0].log_req);
	sides[0].log_req = NULL;
	sides[0].hold_log = false;
	sides[0].io_status = 0;
	break_off(&sides[0], 0);
	wait_end(&ends[0]);
	check_ended(0, 1, 0);
	finish();
}

static void inaccessible_everywhere_is_waited_for(void **state)
{
	begin(0, NVOF_IOPOLICY_NUMA);
	set_state(&sides[0], NVME_ANA_STATE_INACCESSIBLE);
	set_state(&sides[1], NVME_ANA_STATE_CHANGE);
	read_n(0, 50);
	poll_ms(5);
	assert_int_equal(ends[0].nr, 0);
	assert_int_equal(sides[0].nr_reads + sides[1].nr_reads, 0);
	set_state(&sides[1], NVME_ANA_STATE_OPTIMIZED);
	poll_ms(2);
	check_ended(0, 50, 0);
	finish();
}

static void inaccessible_for_longer_than_anatt_fails_by_name(void **state)
{
	begin(0, NVOF_IOPOLICY_NUMA);
	set_state(&sides[0], NVME_ANA_STATE_INACCESSIBLE);
	set_state(&sides[1], NVME_ANA_STATE_INACCESSIBLE);
	read_n(0, 1);
	wait_end(&ends[0]);
	assert_int_equal(ends[0].status, ST(INACCESSIBLE));
	assert_contains(nvof_subsystem_errmsg(subsys), "is inaccessible");
	finish();
}

/* An event that got lost costs a second. */
static void a_change_that_was_not_told_is_found(void **state)
{
	begin(0, NVOF_IOPOLICY_NUMA);
	sides[0].f->id.anatt = sides[1].f->id.anatt = 20;
	sides[0].f->ctrl->init.id->anatt = sides[1].f->ctrl->init.id->anatt = 20;
	set_state(&sides[0], NVME_ANA_STATE_INACCESSIBLE);
	set_state(&sides[1], NVME_ANA_STATE_INACCESSIBLE);
	sides[1].state = NVME_ANA_STATE_OPTIMIZED;
	read_n(0, 1);
	wait_end(&ends[0]);
	check_ended(0, 1, 0);
	finish();
}

static void persistent_loss_everywhere_fails_at_once(void **state)
{
	begin(0, NVOF_IOPOLICY_NUMA);
	set_state(&sides[0], NVME_ANA_STATE_PERSISTENT_LOSS);
	set_state(&sides[1], NVME_ANA_STATE_PERSISTENT_LOSS);
	read_n(0, 1);
	poll_ms(1);
	check_ended(0, 1, ST(PERSISTENT_LOSS));
	assert_contains(nvof_subsystem_errmsg(subsys), "persistent-loss");
	finish();
}

static void a_status_with_dnr_is_the_users(void **state)
{
	begin(0, NVOF_IOPOLICY_NUMA);
	sides[0].io_status = ST(INACCESSIBLE) | NVME_STATUS_DNR;
	read_n(0, 1);
	poll_ms(1);
	check_ended(0, 1, ST(INACCESSIBLE) | NVME_STATUS_DNR);
	sides[0].io_status = 0x0281; /* unrecovered read error: not the path's fault */
	read_n(1, 2);
	poll_ms(1);
	check_ended(1, 2, 0x0281);
	assert_int_equal(sides[1].nr_reads, 0);
	finish();
}

static void a_ctrl_that_wants_a_command_again_gets_it(void **state)
{
	begin(0, NVOF_IOPOLICY_NUMA);
	sides[0].io_status = NVME_SC_CMD_INTERRUPTED;
	read_n(0, 1);
	nvof_ctx_poll(sides[0].f->ctx, 0);
	nvof_ctx_poll(sides[0].f->ctx, 0);
	sides[0].io_status = 0;
	wait_end(&ends[0]);
	check_ended(0, 1, 0);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(io_follows_the_optimized_path),
		cmocka_unit_test(who_asks_for_namespaces_hears_when_their_states_are_known),
		cmocka_unit_test(a_burst_of_ana_errors_reads_the_log_once_and_goes_elsewhere),
		cmocka_unit_test(changes_that_never_end_are_no_reason_not_to_know),
		cmocka_unit_test(an_ana_status_without_ana_is_a_path_error),
		cmocka_unit_test(a_log_that_can_t_be_read_is_none),
		cmocka_unit_test(nonsense_in_the_log_is_ignored),
		cmocka_unit_test(a_state_that_changes_during_a_reconnect_is_read_again),
		cmocka_unit_test(inaccessible_everywhere_is_waited_for),
		cmocka_unit_test(inaccessible_for_longer_than_anatt_fails_by_name),
		cmocka_unit_test(a_change_that_was_not_told_is_found),
		cmocka_unit_test(persistent_loss_everywhere_fails_at_once),
		cmocka_unit_test(a_status_with_dnr_is_the_users),
		cmocka_unit_test(a_ctrl_that_wants_a_command_again_gets_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
