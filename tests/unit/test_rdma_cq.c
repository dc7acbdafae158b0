/* SPDX-License-Identifier: BSD-3-Clause */
/* When a completion queue asks for events and takes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "fake_verbs.h"
#include "loop_util.h"
#include "transport/rdma/rdma_cq.h"

/* Who uses it. */
struct user {
	struct rdma_cq cq;
	uint32_t got;
	uint32_t asked, armed; /* of fake_verbs, when it was opened */
};

static void batch(struct rdma_cq *q, const struct ibv_wc *wcs, int nr)
{
	assert_true(nr > 0);
	container_of(q, struct user, cq)->got += (uint32_t)nr;
}

static void user_open(struct user *u, struct loop *loop)
{
	*u = (struct user){ 0 };
	assert_int_equal(rdma_cq_open(&u->cq, loop, &fake_verbs.context, 64, batch), 0);
	u->asked = fake_verbs.nr_asked;
	u->armed = fake_verbs.nr_armed;
}

static uint32_t nr_asked(const struct user *u)
{
	return fake_verbs.nr_asked - u->asked;
}

static uint32_t nr_armed(const struct user *u)
{
	return fake_verbs.nr_armed - u->armed;
}

static void complete(struct user *u, int nr)
{
	while (nr--)
		fake_verbs_complete(u->cq.cq);
}

static void heat(struct user *u)
{
	loop_fd_heat(&u->cq.lf);
	u->cq.lf.hot_ns = clock_ns() + 3600 * NSEC_PER_SEC;
}

static void an_event_wakes_a_loop_that_sleeps_and_the_next_one_does_too(void **state)
{
	struct user u;
	uint32_t round;

	user_open(&u, *state);
	for (round = 1; round <= 3; round++) {
		complete(&u, 20);
		assert_int_equal(loop_turn(*state, -1), 1);
		assert_int_equal(u.got, 20 * round);
		assert_int_equal(nr_armed(&u), round);
	}
	rdma_cq_close(&u.cq);
}

/* Others have their turn before a queue that never gets empty. */
static void a_turn_takes_some_and_the_next_one_goes_on(void **state)
{
	struct user busy, other;

	user_open(&busy, *state);
	user_open(&other, *state);
	complete(&busy, 2 * RDMA_CQ_BATCH + 3);
	complete(&other, 1);
	assert_int_equal(loop_turn(*state, -1), 2);
	assert_int_equal(busy.got, RDMA_CQ_BATCH);
	assert_int_equal(other.got, 1);
	assert_int_equal(loop_turn(*state, -1), 1);
	assert_int_equal(busy.got, 2 * RDMA_CQ_BATCH);
	assert_int_equal(loop_turn(*state, -1), 1);
	assert_int_equal(busy.got, 2 * RDMA_CQ_BATCH + 3);
	assert_int_equal(nr_armed(&other), 2); /* each when it was empty */
	rdma_cq_close(&busy.cq);
	rdma_cq_close(&other.cq);
}

/* A system call for each look, and an interrupt for each completion, is what polling is to save. */
static void a_loop_that_tries_finds_completions_without_events(void **state)
{
	struct user u;
	uint32_t round;

	user_open(&u, *state);
	for (round = 1; round <= 8; round++) {
		heat(&u);
		complete(&u, 1);
		assert_int_equal(loop_turn(*state, 0), 1);
		assert_int_equal(loop_turn(*state, 0), 0);
		assert_int_equal(u.got, round);
	}
	assert_int_equal(nr_asked(&u), 0);
	assert_int_equal(nr_armed(&u), 0);
	rdma_cq_close(&u.cq);
}

/* The event that nobody took makes the loop look once more, and the queue is armed when it sleeps. */
static void a_loop_that_tried_may_sleep(void **state)
{
	struct user u;
	int tries;

	user_open(&u, *state);
	heat(&u);
	complete(&u, 1);
	assert_int_equal(loop_turn(*state, 0), 1);
	u.cq.lf.hot_ns = 0; /* it cools down */
	for (tries = 0; !nr_armed(&u) && tries < 3; tries++)
		assert_int_equal(loop_turn(*state, NSEC_PER_SEC), 0);
	assert_int_equal(nr_armed(&u), 1);
	complete(&u, 1);
	assert_int_equal(loop_turn(*state, -1), 1);
	assert_int_equal(u.got, 2);
	rdma_cq_close(&u.cq);
}

static int (*arm)(struct ibv_cq *cq, int solicited_only);

/* Between the last look and the arming. */
static int complete_and_arm(struct ibv_cq *cq, int solicited_only)
{
	fake_verbs_complete(cq);
	return arm(cq, solicited_only);
}

static void what_completes_before_it_is_armed_is_not_missed(void **state)
{
	struct user u;

	user_open(&u, *state);
	arm = fake_verbs.context.ops.req_notify_cq;
	fake_verbs.context.ops.req_notify_cq = complete_and_arm;
	complete(&u, 1);
	assert_int_equal(loop_turn(*state, -1), 1);
	assert_int_equal(u.got, 2);
	fake_verbs.context.ops.req_notify_cq = arm;
	rdma_cq_close(&u.cq);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, new_loop, free_loop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_event_wakes_a_loop_that_sleeps_and_the_next_one_does_too),
		TEST(a_turn_takes_some_and_the_next_one_goes_on),
		TEST(a_loop_that_tries_finds_completions_without_events),
		TEST(a_loop_that_tried_may_sleep),
		TEST(what_completes_before_it_is_armed_is_not_missed),
	};

	return cmocka_run_group_tests_name("rdma_cq", tests, NULL, NULL);
}
