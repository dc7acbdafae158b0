/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#include "loop_util.h"

#define NR_THREADS 4
#define NR_POSTS   2000

struct job {
	struct loop_work work;
	struct loop *loop;
	uint32_t nr, again;
	bool stops;
};

static uint32_t nr_ran, last_nr[NR_THREADS];

static void job_cb(struct loop_work *w)
{
	struct job *j = container_of(w, struct job, work);

	nr_ran++;
	if (j->again) {
		j->again--;
		loop_post(j->loop, w);
	}
	if (j->stops)
		loop_stop(j->loop);
}

static int setup(void **state)
{
	nr_ran = 0;
	return new_loop(state);
}

static void job_init(struct job *j, struct loop *loop)
{
	*j = (struct job){ .loop = loop };
	loop_work_init(&j->work, job_cb);
}

static void posted_work_runs_once(void **state)
{
	struct job j;

	job_init(&j, *state);
	loop_post(*state, &j.work);
	assert_int_equal(nr_ran, 0);
	assert_int_equal(loop_turn(*state, -1), 1);
	assert_int_equal(nr_ran, 1);
	assert_int_equal(loop_turn(*state, 0), 0);
}

static void work_may_post_itself_again(void **state)
{
	struct job j;

	job_init(&j, *state);
	j.again = 3;
	loop_post(*state, &j.work);
	while (loop_turn(*state, 0))
		;
	assert_int_equal(nr_ran, 4);
}

static void work_can_be_cancelled(void **state)
{
	struct job a, b, c;

	job_init(&a, *state);
	job_init(&b, *state);
	job_init(&c, *state);
	loop_post(*state, &a.work);
	loop_post(*state, &b.work);
	loop_post(*state, &c.work);
	assert_true(loop_work_cancel(*state, &b.work));
	assert_false(loop_work_cancel(*state, &b.work));
	loop_turn(*state, -1);
	assert_int_equal(nr_ran, 2);
}

static void a_loop_that_is_awake_is_not_woken(void **state)
{
	struct loop *loop = *state;
	uint64_t count;
	struct job j;

	job_init(&j, loop);
	loop_post(loop, &j.work);
	assert_int_equal(read(loop->evfd, &count, sizeof(count)), -1);
	loop_turn(loop, 0);
	assert_int_equal(nr_ran, 1);
}

static void a_stop_is_kept_for_the_run_that_comes(void **state)
{
	struct job j;

	loop_stop(*state);
	loop_run(*state);
	job_init(&j, *state);
	j.stops = true;
	loop_post(*state, &j.work);
	loop_run(*state);
	assert_int_equal(nr_ran, 1);
}

struct poster {
	pthread_t thread;
	struct loop *loop;
	uint32_t id;
	struct job_of {
		struct loop_work work;
		uint32_t id, nr; /* written before the post, read by the loop */
	} jobs[NR_POSTS];
};

static uint32_t nr_expected;
static struct loop *stop_when_all;

static void check_order(struct loop_work *w)
{
	struct job_of *j = container_of(w, struct job_of, work);

	if (j->nr != last_nr[j->id] + 1)
		abort();
	last_nr[j->id] = j->nr;
	if (++nr_ran == nr_expected && stop_when_all)
		loop_stop(stop_when_all);
}

static void *post_all(void *arg)
{
	struct poster *p = arg;
	uint32_t i;

	for (i = 0; i < NR_POSTS; i++) {
		loop_work_init(&p->jobs[i].work, check_order);
		p->jobs[i].id = p->id;
		p->jobs[i].nr = i + 1;
		loop_post(p->loop, &p->jobs[i].work);
		if (i % 64 == 0)
			usleep(20); /* lets the loop fall asleep now and then */
	}
	return NULL;
}

static struct poster posters[NR_THREADS];

static void start_posters(struct loop *loop)
{
	uint32_t i;

	nr_expected = NR_THREADS * NR_POSTS;
	for (i = 0; i < NR_THREADS; i++) {
		last_nr[i] = 0;
		posters[i].loop = loop;
		posters[i].id = i;
		assert_int_equal(pthread_create(&posters[i].thread, NULL, post_all, &posters[i]), 0);
	}
}

static void join_posters(void)
{
	uint32_t i;

	for (i = 0; i < NR_THREADS; i++)
		pthread_join(posters[i].thread, NULL);
}

static void work_of_many_threads_all_runs_in_order_and_wakes_a_sleeper(void **state)
{
	stop_when_all = *state;
	start_posters(*state);
	loop_run(*state);
	join_posters();
	assert_int_equal(nr_ran, nr_expected);
}

static void nothing_is_lost_while_the_loop_spins(void **state)
{
	loop_set_spin(*state, 50 * NSEC_PER_USEC);
	work_of_many_threads_all_runs_in_order_and_wakes_a_sleeper(state);
}

static void somebody_elses_poll_is_woken_by_posts(void **state)
{
	struct loop *loop = *state;
	struct pollfd pfd = { .fd = loop_pollfd(loop), .events = POLLIN };

	stop_when_all = NULL;
	start_posters(loop);
	while (nr_ran < nr_expected) {
		if (loop_prepare_wait(loop))
			assert_int_equal(poll(&pfd, 1, -1), 1);
		loop_turn(loop, 0);
	}
	join_posters();
}

static void *stop_soon(void *loop)
{
	usleep(1000);
	loop_stop(loop);
	return NULL;
}

static void another_thread_can_stop_a_loop(void **state)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, stop_soon, *state), 0);
	loop_run(*state);
	pthread_join(thread, NULL);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, free_loop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(posted_work_runs_once),
		TEST(work_may_post_itself_again),
		TEST(work_can_be_cancelled),
		TEST(a_loop_that_is_awake_is_not_woken),
		TEST(a_stop_is_kept_for_the_run_that_comes),
		TEST(work_of_many_threads_all_runs_in_order_and_wakes_a_sleeper),
		TEST(nothing_is_lost_while_the_loop_spins),
		TEST(somebody_elses_poll_is_woken_by_posts),
		TEST(another_thread_can_stop_a_loop),
	};

	return cmocka_run_group_tests_name("loop_post", tests, NULL, NULL);
}
