/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "loop_util.h"

struct tick {
	struct timer timer;
	struct loop *loop;
	uint32_t fired;
	uint64_t at;		       /* the loop's time when it fired */
	uint64_t again_in, again_left; /* arms itself so many times more */
	struct timer *cancels;
};

static uint32_t order[64], nr_order;

static void tick_cb(struct timer *t)
{
	struct tick *k = container_of(t, struct tick, timer);

	assert_false(timer_armed(t));
	k->fired++;
	k->at = loop_now(k->loop);
	if (nr_order < ARRAY_SIZE(order))
		order[nr_order++] = (uint32_t)k->again_in;
	if (k->again_left) {
		k->again_left--;
		timer_set(k->loop, t, k->at + k->again_in);
	}
	if (k->cancels)
		timer_cancel(k->loop, k->cancels);
}

static void tick_init(struct tick *k, struct loop *loop)
{
	*k = (struct tick){ .loop = loop };
	timer_init(&k->timer, tick_cb);
}

static void a_timer_fires_once_at_its_time(void **state)
{
	struct loop *loop = *state;
	uint64_t deadline = clock_ns() + 2 * NSEC_PER_MSEC;
	struct tick k;

	tick_init(&k, loop);
	timer_set(loop, &k.timer, deadline);
	assert_true(timer_armed(&k.timer));
	assert_int_equal(loop_turn(loop, -1), 1); /* one turn, one sleep: no looping on a rest of time */
	assert_int_equal(k.fired, 1);
	assert_true(k.at >= deadline);
	assert_false(timer_armed(&k.timer));
	assert_int_equal(loop_turn(loop, 0), 0);
}

static void a_time_limit_ends_a_turn_not_before_it_is_over(void **state)
{
	static const int64_t limits[] = { 1, 1000, 300 * 1000, 1700 * 1000 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		uint64_t start = clock_ns();

		assert_int_equal(loop_turn(*state, limits[i]), 0);
		assert_true(clock_ns() - start >= (uint64_t)limits[i]);
	}
}

static void sleeping_works_without_epoll_pwait2(void **state)
{
	((struct loop *)*state)->no_pwait2 = true;
	a_timer_fires_once_at_its_time(state);
	a_time_limit_ends_a_turn_not_before_it_is_over(state);
	a_timer_fires_once_at_its_time(state);
}

static void a_past_deadline_fires_in_the_next_turn(void **state)
{
	struct tick k;

	tick_init(&k, *state);
	timer_set(*state, &k.timer, 0);
	assert_int_equal(k.fired, 0);
	assert_int_equal(loop_turn(*state, -1), 1);
	assert_int_equal(k.fired, 1);
}

static void a_timer_that_rearms_itself_for_now_fires_once_a_turn(void **state)
{
	struct tick k;
	uint32_t turns;

	tick_init(&k, *state);
	k.again_left = 100;
	timer_set(*state, &k.timer, 0);
	for (turns = 1; turns <= 100; turns++) {
		loop_turn(*state, -1);
		assert_int_equal(k.fired, turns);
	}
	timer_cancel(*state, &k.timer);
	assert_false(timer_armed(&k.timer));
}

static void timers_fire_in_order_of_their_deadlines(void **state)
{
	static const uint32_t in[] = { 50, 10, 40, 20, 30, 60, 15 };
	struct tick k[ARRAY_SIZE(in)];
	uint64_t base = clock_ns();
	size_t i;

	nr_order = 0;
	for (i = 0; i < ARRAY_SIZE(in); i++) {
		tick_init(&k[i], *state);
		k[i].again_in = in[i];
		timer_set(*state, &k[i].timer, base + in[i] * NSEC_PER_USEC);
	}
	while (nr_order < ARRAY_SIZE(in))
		loop_turn(*state, -1);
	for (i = 1; i < ARRAY_SIZE(in); i++)
		assert_true(order[i - 1] < order[i]);
}

static void timers_of_one_deadline_fire_in_order_of_arming(void **state)
{
	struct loop *loop = *state;
	uint64_t deadline = loop_now(loop) + NSEC_PER_MSEC;
	struct tick k[32], others[5];
	uint32_t i;

	nr_order = 0;
	for (i = 0; i < ARRAY_SIZE(k); i++) {
		tick_init(&k[i], loop);
		k[i].again_in = i;
		timer_set(loop, &k[i].timer, deadline);
		if (i % 7 == 3 && i / 7 < ARRAY_SIZE(others)) {
			tick_init(&others[i / 7], loop);
			others[i / 7].again_in = 100;
			timer_set(loop, &others[i / 7].timer, deadline - 1 - i);
		}
	}
	while (nr_order < ARRAY_SIZE(k) + ARRAY_SIZE(others))
		loop_turn(loop, -1);
	for (i = 0; i < ARRAY_SIZE(k); i++)
		assert_int_equal(order[ARRAY_SIZE(others) + i], i);
}

static void a_cancelled_timer_does_not_fire(void **state)
{
	struct tick a, b;

	tick_init(&a, *state);
	tick_init(&b, *state);
	timer_cancel(*state, &a.timer);
	timer_set(*state, &a.timer, 1);
	timer_cancel(*state, &a.timer);
	assert_int_equal(loop_turn(*state, 0), 0);
	/* Both are due: the first to fire cancels the other. */
	a.cancels = &b.timer;
	b.cancels = &a.timer;
	timer_set(*state, &a.timer, 1);
	timer_set(*state, &b.timer, 1);
	loop_turn(*state, -1);
	loop_turn(*state, 0);
	assert_int_equal(a.fired + b.fired, 1);
}

static void a_deadline_can_move_either_way(void **state)
{
	struct loop *loop = *state;
	uint64_t now = clock_ns();
	struct tick early, late;

	tick_init(&early, loop);
	tick_init(&late, loop);
	timer_set(loop, &late.timer, now + 3600 * NSEC_PER_SEC);
	timer_set(loop, &early.timer, now + NSEC_PER_MSEC);
	timer_set(loop, &early.timer, now + 7200 * NSEC_PER_SEC);
	assert_int_equal(loop_timer_next(loop), now + 3600 * NSEC_PER_SEC);
	timer_set(loop, &late.timer, now + NSEC_PER_MSEC);
	assert_int_equal(loop_turn(loop, -1), 1);
	assert_int_equal(late.fired, 1);
	assert_int_equal(early.fired, 0);
	timer_cancel(loop, &early.timer);
}

static uint64_t next_of(const struct tick *k, size_t nr)
{
	uint64_t next = UINT64_MAX;
	size_t i;

	for (i = 0; i < nr; i++)
		if (timer_armed(&k[i].timer))
			next = min_u64(next, k[i].timer.deadline);
	return next;
}

/* Against a model that merely looks at all of them. */
static void any_mix_of_set_and_cancel_keeps_the_next_deadline_right(void **state)
{
	enum { NR = 200 };
	static struct tick k[NR];
	struct loop *loop = *state;
	uint64_t base = clock_ns() + 3600 * NSEC_PER_SEC;
	int i, round;

	for (i = 0; i < NR; i++)
		tick_init(&k[i], loop);
	for (round = 0; round < 20000; round++) {
		i = rand() % NR;
		if (rand() % 4)
			timer_set(loop, &k[i].timer, base + (uint64_t)(rand() % 1000));
		else
			timer_cancel(loop, &k[i].timer);
		if (rand() % 8 == 0)
			assert_true(loop_timer_next(loop) == next_of(k, NR));
	}
	for (i = 0; i < NR; i++) {
		assert_int_equal(k[i].fired, 0);
		timer_cancel(loop, &k[i].timer);
	}
	assert_true(loop_timer_next(loop) == UINT64_MAX);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, new_loop, free_loop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_timer_fires_once_at_its_time),
		TEST(a_time_limit_ends_a_turn_not_before_it_is_over),
		TEST(sleeping_works_without_epoll_pwait2),
		TEST(a_past_deadline_fires_in_the_next_turn),
		TEST(a_timer_that_rearms_itself_for_now_fires_once_a_turn),
		TEST(timers_fire_in_order_of_their_deadlines),
		TEST(timers_of_one_deadline_fire_in_order_of_arming),
		TEST(a_cancelled_timer_does_not_fire),
		TEST(a_deadline_can_move_either_way),
		TEST(any_mix_of_set_and_cancel_keeps_the_next_deadline_right),
	};

	return cmocka_run_group_tests_name("loop_timer", tests, NULL, NULL);
}
