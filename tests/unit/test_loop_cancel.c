/* SPDX-License-Identifier: BSD-3-Clause */
/* Posted work that is taken back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/loop.h"
#include "base/util.h"

static struct {
	struct loop *loop;
	struct loop_work a, b, c;
	int ran_a, ran_b, ran_c;
} t;

static void run_a(struct loop_work *w)
{
	t.ran_a++;
	loop_work_cancel(t.loop, &t.b);
}

static void run_b(struct loop_work *w)
{
	t.ran_b++;
}
static void run_c(struct loop_work *w)
{
	t.ran_c++;
}

static int setup(void **state)
{
	t.ran_a = t.ran_b = t.ran_c = 0;
	loop_work_init(&t.a, run_a);
	loop_work_init(&t.b, run_b);
	loop_work_init(&t.c, run_c);
	return loop_new(&t.loop);
}

static int teardown(void **state)
{
	loop_free(t.loop);
	return 0;
}

static void cancelled_work_does_not_run(void **state)
{
	loop_post(t.loop, &t.b);
	loop_post(t.loop, &t.c);
	assert_true(loop_work_cancel(t.loop, &t.b));
	assert_false(loop_work_cancel(t.loop, &t.b));
	assert_int_equal(loop_turn(t.loop, -1), 1); /* does not sleep: c is due */
	assert_int_equal(t.ran_b, 0);
	assert_int_equal(t.ran_c, 1);
}

static void work_of_the_same_turn_can_be_cancelled(void **state)
{
	loop_post(t.loop, &t.a);
	loop_post(t.loop, &t.b);
	loop_post(t.loop, &t.c);
	loop_turn(t.loop, 0);
	assert_int_equal(t.ran_a, 1);
	assert_int_equal(t.ran_b, 0);
	assert_int_equal(t.ran_c, 1);
}

static void cancelled_work_can_be_posted_again(void **state)
{
	loop_post(t.loop, &t.b);
	loop_work_cancel(t.loop, &t.b);
	loop_post(t.loop, &t.b);
	loop_turn(t.loop, 0);
	assert_int_equal(t.ran_b, 1);
}

static void a_loop_whose_work_was_cancelled_can_be_freed(void **state)
{
	loop_post(t.loop, &t.b);
	assert_true(loop_work_cancel(t.loop, &t.b));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(cancelled_work_does_not_run),
		T(work_of_the_same_turn_can_be_cancelled),
		T(cancelled_work_can_be_posted_again),
		T(a_loop_whose_work_was_cancelled_can_be_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
