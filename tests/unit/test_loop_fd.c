/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "loop_util.h"

static void a_readable_descriptor_is_called(void **state)
{
	struct loop *loop = *state;
	struct watched w;

	watch(loop, &w);
	assert_int_equal(loop_turn(loop, 0), 0);
	assert_int_equal(w.calls, 0);
	feed(&w);
	assert_int_equal(loop_turn(loop, -1), 1);
	assert_int_equal(w.calls, 1);
	assert_int_equal(w.last_events, EPOLLIN);
	unwatch(&w);
}

static void adding_a_bad_descriptor_says_so(void **state)
{
	struct loop_fd lf = { 0 };

	assert_int_equal(loop_fd_add(*state, &lf, -1, EPOLLIN, watched_cb), -EBADF);
	assert_null(lf.loop);
	loop_fd_del(&lf);
}

static void delete_other(struct watched *w)
{
	unwatch(w->other);
}

static void a_descriptor_deleted_inside_a_batch_is_not_called(void **state)
{
	struct watched a, b;

	watch(*state, &a);
	watch(*state, &b);
	a.then = b.then = delete_other;
	a.other = &b;
	b.other = &a;
	feed(&a);
	feed(&b);
	assert_int_equal(loop_turn(*state, 0), 1);
	assert_int_equal(a.calls + b.calls, 1);
	unwatch(a.calls ? &a : &b);
}

/* Closes the other and puts a new pipe in the same memory; its read end gets the number that became free. */
static void replace_other(struct watched *w)
{
	int fd = w->other->fds[0];

	w->then = NULL;
	unwatch(w->other);
	watch(w->lf.loop, w->other);
	assert_true(w->other->fds[0] == fd || w->other->fds[1] == fd);
}

static void a_reused_descriptor_gets_no_event_of_its_predecessor(void **state)
{
	struct watched a, b, *first, *second;

	watch(*state, &a);
	watch(*state, &b);
	a.then = b.then = replace_other;
	a.other = &b;
	b.other = &a;
	feed(&a);
	feed(&b);
	assert_int_equal(loop_turn(*state, 0), 1);
	first = a.calls ? &a : &b;
	second = first->other;
	assert_int_equal(first->calls, 1);
	assert_int_equal(second->calls, 0);
	feed(second);
	assert_int_equal(loop_turn(*state, -1), 1);
	assert_int_equal(second->calls, 1);
	unwatch(&a);
	unwatch(&b);
}

static void free_self(struct watched *w)
{
	unwatch(w);
	free(w);
}

static void a_callback_may_free_its_own_descriptor(void **state)
{
	struct watched *w = calloc(1, sizeof(*w));
	int round;

	for (round = 0; round < 2; round++) { /* by epoll, then as a hot one */
		watch(*state, w);
		if (round) {
			feed(w);
			loop_turn(*state, 0);
			assert_true(w->lf.hot);
		}
		w->then = free_self;
		feed(w);
		assert_int_equal(loop_turn(*state, 0), 1);
		w = calloc(1, sizeof(*w));
	}
	free(w);
}

static void readd_self(struct watched *w)
{
	struct loop *loop = w->lf.loop;

	w->then = NULL;
	loop_fd_del(&w->lf);
	assert_int_equal(loop_fd_add(loop, &w->lf, w->fds[0], EPOLLIN, watched_cb), 0);
}

static void a_descriptor_added_again_inside_its_callback_works_on(void **state)
{
	struct watched w;

	watch(*state, &w);
	w.then = readd_self;
	feed(&w);
	assert_int_equal(loop_turn(*state, 0), 1);
	assert_false(w.lf.hot);
	feed(&w);
	assert_int_equal(loop_turn(*state, 0), 1);
	assert_int_equal(w.bytes, 2);
	unwatch(&w);
}

static void deleting_twice_or_never_added_is_fine(void **state)
{
	struct watched w;

	watch(*state, &w);
	unwatch(&w);
	loop_fd_del(&w.lf);
	loop_fd_heat(&w.lf);
}

static void events_can_be_changed(void **state)
{
	struct loop *loop = *state;
	struct watched w;
	int sv[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sv), 0);
	w = (struct watched){ .fds = { sv[0], sv[1] } };
	assert_int_equal(loop_fd_add(loop, &w.lf, sv[0], 0, watched_cb), 0);
	feed(&w);
	assert_int_equal(loop_turn(loop, 0), 0);
	loop_fd_mod(&w.lf, EPOLLIN);
	loop_fd_mod(&w.lf, EPOLLIN);
	assert_int_equal(loop_turn(loop, 0), 1);
	assert_true(w.lf.hot);
	loop_fd_mod(&w.lf, EPOLLOUT);
	assert_false(w.lf.hot);
	assert_int_equal(loop->nr_want_out, 1);
	w.calls = 0;
	loop_turn(loop, 0);
	assert_int_equal(w.calls, 1);
	assert_int_equal(w.last_events, EPOLLOUT);
	loop_fd_mod(&w.lf, 0);
	loop_turn(loop, 0);
	assert_int_equal(w.calls, 1);
	loop_fd_heat(&w.lf); /* it does not want to read: stays cold */
	assert_false(w.lf.hot);
	assert_int_equal(loop->nr_want_out, 0);
	unwatch(&w);
}

static void many_descriptors_are_all_served(void **state)
{
	enum { NR = 300 };
	static struct watched w[NR];
	int i, n = 0, turns = 0;

	for (i = 0; i < NR; i++)
		watch(*state, &w[i]);
	for (i = 0; i < NR; i++)
		feed(&w[i]);
	while (n < NR && turns++ < 100)
		n += loop_turn(*state, 0);
	for (i = 0; i < NR; i++) {
		assert_int_equal(w[i].bytes, 1);
		unwatch(&w[i]);
	}
}

static void a_hot_descriptor_is_tried_without_asking_epoll(void **state)
{
	struct watched w;
	uint32_t calls;

	watch(*state, &w);
	feed(&w);
	assert_int_equal(loop_turn(*state, 0), 1);
	calls = w.calls;
	keep_hot(&w);
	assert_int_equal(loop_turn(*state, 0), 0);
	assert_int_equal(w.calls, calls + 1);
	assert_int_equal(w.last_events, EPOLLIN | LOOP_TRY);
	unwatch(&w);
}

static void a_descriptor_is_hot_when_somebody_knows_an_answer_is_near(void **state)
{
	struct watched w;

	watch(*state, &w);
	loop_fd_heat(&w.lf);
	keep_hot(&w);
	loop_turn(*state, 0);
	assert_int_equal(w.calls, 1);
	unwatch(&w);
}

static void a_descriptor_that_does_nothing_cools_down(void **state)
{
	struct loop *loop = *state;
	struct watched w;
	uint32_t calls;
	uint64_t until;

	watch(loop, &w);
	feed(&w);
	loop_turn(loop, 0);
	assert_true(w.lf.hot);
	for (until = clock_ns() + LOOP_HOT_NS; clock_ns() <= until;)
		;
	loop_turn(loop, 0);
	assert_false(w.lf.hot);
	calls = w.calls;
	loop_turn(loop, 0);
	assert_int_equal(w.calls, calls);
	feed(&w);
	assert_int_equal(loop_turn(loop, 0), 1);
	assert_true(w.lf.hot);
	unwatch(&w);
	assert_int_equal(loop->nr_hot, 0);
}

static void cold_descriptors_are_served_while_hot_ones_are_busy(void **state)
{
	struct watched hot, cold;
	int turns;

	watch(*state, &hot);
	watch(*state, &cold);
	feed(&hot);
	loop_turn(*state, 0);
	feed(&cold);
	for (turns = 0; !cold.bytes && turns < 2 * LOOP_EPOLL_EVERY; turns++) {
		feed(&hot);
		loop_turn(*state, 0);
	}
	assert_int_equal(cold.bytes, 1);
	unwatch(&hot);
	unwatch(&cold);
}

static void delete_both(struct watched *w)
{
	struct watched *other = w->other;

	unwatch(w);
	unwatch(other);
}

static void hot_descriptors_may_delete_one_another(void **state)
{
	struct watched a, b;

	watch(*state, &a);
	watch(*state, &b);
	feed(&a);
	feed(&b);
	loop_turn(*state, 0);
	assert_true(a.lf.hot && b.lf.hot);
	a.then = b.then = delete_both;
	a.other = &b;
	b.other = &a;
	feed(&a);
	feed(&b);
	assert_int_equal(loop_turn(*state, 0), 1);
	assert_int_equal(a.bytes + b.bytes, 3);
	assert_int_equal(((struct loop *)*state)->nr_hot, 0);
}

/* Descriptors come and go at random, inside callbacks as well; each byte fed is read by the descriptor it was fed to. */
static void at_random(struct watched *w)
{
	struct watched *o = w->other;

	if (rand() % 4 == 0 && o->lf.loop)
		unwatch(o);
}

static void bytes_reach_the_right_descriptor_whatever_comes_and_goes(void **state)
{
	enum { NR = 24 };
	static struct watched w[NR];
	static uint32_t fed[NR];
	int i, round, k;

	for (round = 0; round < 3000; round++) {
		i = rand() % NR;
		if (!w[i].lf.loop) {
			watch(*state, &w[i]);
			w[i].then = at_random;
			w[i].other = &w[(i + 1 + rand() % (NR - 1)) % NR];
			fed[i] = 0;
		}
		feed(&w[i]);
		fed[i]++;
		if (rand() % 3 == 0)
			loop_turn(*state, 0);
		for (k = 0; k < NR; k++)
			assert_true(!w[k].lf.loop || w[k].bytes <= fed[k]);
	}
	for (i = 0; i < 2 * LOOP_EPOLL_EVERY; i++)
		loop_turn(*state, 0);
	for (i = 0; i < NR; i++) {
		if (w[i].lf.loop) {
			assert_int_equal(w[i].bytes, fed[i]);
			unwatch(&w[i]);
		}
	}
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, new_loop, free_loop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_readable_descriptor_is_called),
		TEST(adding_a_bad_descriptor_says_so),
		TEST(a_descriptor_deleted_inside_a_batch_is_not_called),
		TEST(a_reused_descriptor_gets_no_event_of_its_predecessor),
		TEST(a_callback_may_free_its_own_descriptor),
		TEST(a_descriptor_added_again_inside_its_callback_works_on),
		TEST(deleting_twice_or_never_added_is_fine),
		TEST(events_can_be_changed),
		TEST(many_descriptors_are_all_served),
		TEST(a_hot_descriptor_is_tried_without_asking_epoll),
		TEST(a_descriptor_is_hot_when_somebody_knows_an_answer_is_near),
		TEST(a_descriptor_that_does_nothing_cools_down),
		TEST(cold_descriptors_are_served_while_hot_ones_are_busy),
		TEST(hot_descriptors_may_delete_one_another),
		TEST(bytes_reach_the_right_descriptor_whatever_comes_and_goes),
	};

	return cmocka_run_group_tests_name("loop_fd", tests, NULL, NULL);
}
