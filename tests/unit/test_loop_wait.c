/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdlib.h>

#include "loop_util.h"

struct put_off {
	struct loop_defer defer;
	struct loop *loop;
	uint32_t ran, again;
	struct watched *w;
	uint32_t bytes_seen;
};

static void put_off_cb(struct loop_defer *d)
{
	struct put_off *p = container_of(d, struct put_off, defer);

	p->ran++;
	if (p->w)
		p->bytes_seen = p->w->bytes;
	if (p->again) {
		p->again--;
		loop_defer(p->loop, d);
	}
}

static void put_off_init(struct put_off *p, struct loop *loop)
{
	*p = (struct put_off){ .loop = loop };
	loop_defer_init(&p->defer, put_off_cb);
}

static void deferred_work_runs_once_at_the_end_of_the_turn(void **state)
{
	struct watched w;
	struct put_off p;

	put_off_init(&p, *state);
	watch(*state, &w);
	p.w = &w;
	loop_defer(*state, &p.defer);
	loop_defer(*state, &p.defer);
	feed(&w);
	assert_int_equal(loop_turn(*state, 0), 2);
	assert_int_equal(p.ran, 1);
	assert_int_equal(p.bytes_seen, 1); /* after the descriptors */
	assert_int_equal(loop_turn(*state, 0), 0);
	unwatch(&w);
}

static void deferred_work_keeps_a_turn_from_sleeping(void **state)
{
	struct put_off p;

	put_off_init(&p, *state);
	loop_defer(*state, &p.defer);
	assert_int_equal(loop_turn(*state, -1), 1);
	assert_int_equal(p.ran, 1);
}

static void deferred_work_can_be_cancelled(void **state)
{
	struct put_off p;

	put_off_init(&p, *state);
	loop_defer_cancel(&p.defer);
	loop_defer(*state, &p.defer);
	loop_defer_cancel(&p.defer);
	assert_int_equal(loop_turn(*state, 0), 0);
	assert_int_equal(p.ran, 0);
}

static void work_that_defers_itself_does_not_hold_the_turn(void **state)
{
	struct put_off p;

	put_off_init(&p, *state);
	p.again = 1000;
	loop_defer(*state, &p.defer);
	loop_turn(*state, 0);
	assert_true(p.ran < 1000);
	while (loop_turn(*state, 0))
		;
	assert_int_equal(p.ran, 1001);
}

/* For somebody else's loop. */

static bool is_readable(struct loop *loop, int timeout_ms)
{
	struct pollfd pfd = { .fd = loop_pollfd(loop), .events = POLLIN };

	return poll(&pfd, 1, timeout_ms) == 1;
}

static void prepare_wait_runs_deferred_work_and_asks_for_a_turn(void **state)
{
	struct put_off p;

	put_off_init(&p, *state);
	loop_defer(*state, &p.defer);
	assert_false(loop_prepare_wait(*state));
	assert_int_equal(p.ran, 1);
	assert_true(loop_prepare_wait(*state));
	assert_false(is_readable(*state, 0));
}

static void nothing(struct timer *t) {}

static void a_due_timer_makes_the_pollfd_readable(void **state)
{
	struct loop *loop = *state;
	struct timer t;

	timer_init(&t, nothing);
	timer_set(loop, &t, 1);
	assert_false(loop_prepare_wait(loop));
	timer_set(loop, &t, clock_ns() + NSEC_PER_MSEC);
	loop_turn(loop, 0);
	while (timer_armed(&t)) {
		if (loop_prepare_wait(loop))
			assert_true(is_readable(loop, -1));
		loop_turn(loop, 0);
	}
	/* What is left of it is drained by one turn: the descriptor falls silent. */
	loop_prepare_wait(loop);
	loop_turn(loop, 0);
	assert_true(loop_prepare_wait(loop));
	assert_false(is_readable(loop, 5));
}

static void a_posted_work_makes_the_pollfd_readable(void **state)
{
	struct loop *loop = *state;
	struct loop_work w;

	loop_work_init(&w, (void (*)(struct loop_work *))nothing);
	assert_true(loop_prepare_wait(loop));
	loop_post(loop, &w);
	assert_true(is_readable(loop, 0));
	assert_false(loop_prepare_wait(loop));
	assert_true(loop_work_cancel(loop, &w));
	loop_turn(loop, 0);
	assert_true(loop_prepare_wait(loop));
	assert_false(is_readable(loop, 0));
}

static void the_turn_after_a_wait_serves_cold_descriptors_too(void **state)
{
	struct watched hot, cold;

	watch(*state, &hot);
	watch(*state, &cold);
	feed(&hot);
	loop_turn(*state, 0);
	assert_true(loop_prepare_wait(*state));
	feed(&cold);
	assert_true(is_readable(*state, 0));
	assert_int_equal(loop_turn(*state, 0), 1);
	assert_int_equal(cold.bytes, 1);
	unwatch(&hot);
	unwatch(&cold);
}

/* Spinning. */

static void a_waiting_turn_spins_over_hot_descriptors_first(void **state)
{
	struct loop *loop = *state;
	struct watched w;
	uint32_t calls;

	loop_set_spin(loop, 3600 * NSEC_PER_SEC);
	watch(loop, &w);
	feed(&w);
	loop_turn(loop, 0);
	calls = w.calls;
	keep_hot(&w);
	assert_int_equal(loop_turn(loop, 50 * NSEC_PER_MSEC), 0);
	assert_true(w.calls > calls + 1); /* the look of every turn, and at least one of the spin */
	unwatch(&w);
}

static void without_recent_work_nothing_spins(void **state)
{
	struct loop *loop = *state;
	struct watched w;
	uint32_t calls;

	watch(loop, &w);
	feed(&w);
	loop_turn(loop, 0);
	loop_turn(loop, NSEC_PER_MSEC); /* longer than any descriptor stays hot */
	loop_set_spin(loop, 10 * NSEC_PER_USEC);
	calls = w.calls;
	loop_turn(loop, NSEC_PER_MSEC);
	assert_int_equal(w.calls, calls);
	unwatch(&w);
}

static void spins_that_never_pay_are_given_up_until_they_would(void **state)
{
	struct loop *loop = *state;
	struct watched w;
	uint32_t calls, i;

	watch(loop, &w);
	loop_set_spin(loop, 20 * NSEC_PER_USEC);
	for (i = 0; i < 20; i++) {
		feed(&w);
		loop_turn(loop, 0);
		loop_turn(loop, NSEC_PER_MSEC);
	}
	calls = w.calls;
	feed(&w);
	loop_turn(loop, 0);
	assert_int_equal(w.calls, calls + 1);
	keep_hot(&w);
	loop_turn(loop, NSEC_PER_MSEC);
	assert_int_equal(w.calls, calls + 1); /* it sleeps at once */
	/* An answer that comes before a spin would have ended brings spinning back. */
	loop_set_spin(loop, 3600 * NSEC_PER_SEC);
	loop->spin_fails = 100;
	feed(&w);
	loop_turn(loop, 0);
	assert_int_equal(loop->spin_fails, 100);
	loop_turn(loop, NSEC_PER_MSEC);
	assert_int_equal(loop->spin_fails, 0);
	unwatch(&w);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, new_loop, free_loop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(deferred_work_runs_once_at_the_end_of_the_turn),
		TEST(deferred_work_keeps_a_turn_from_sleeping),
		TEST(deferred_work_can_be_cancelled),
		TEST(work_that_defers_itself_does_not_hold_the_turn),
		TEST(prepare_wait_runs_deferred_work_and_asks_for_a_turn),
		TEST(a_due_timer_makes_the_pollfd_readable),
		TEST(a_posted_work_makes_the_pollfd_readable),
		TEST(the_turn_after_a_wait_serves_cold_descriptors_too),
		TEST(a_waiting_turn_spins_over_hot_descriptors_first),
		TEST(without_recent_work_nothing_spins),
		TEST(spins_that_never_pay_are_given_up_until_they_would),
	};

	return cmocka_run_group_tests_name("loop_wait", tests, NULL, NULL);
}
