/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/async_domain.h"
#include "base/util.h"

/* An operation that a test ends by hand, or that ends inside its own start or cancel. */
struct op {
	struct async_op op;
	int code; /* what it ends with */
	bool ends_in_start, ends_in_cancel, cancels_in_start;
	uint32_t starts, cancels;
};

static struct async_domain dom, inner_dom;
static struct op ops[10000];
static uint32_t nr_done, nr_running, most_running, last_started;
static uintptr_t stack_low, stack_high;

static void end(struct op *o, int code)
{
	struct error err = { 0 };

	nr_running--;
	error_set(&err, code, "op %d", (int)(o - ops));
	async_op_end(&o->op, &err);
	assert_int_equal(err.code, 0); /* its contents were taken */
}

static void op_start(struct async_op *op)
{
	struct op *o = container_of(op, struct op, op);
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	if (here < stack_low)
		stack_low = here;
	if (here > stack_high)
		stack_high = here;
	o->starts++;
	last_started = (uint32_t)(o - ops);
	if (++nr_running > most_running)
		most_running = nr_running;
	if (o->cancels_in_start)
		async_domain_cancel(op->domain, -ECANCELED);
	if (o->ends_in_start)
		end(o, o->code);
}

static void op_cancel(struct async_op *op)
{
	struct op *o = container_of(op, struct op, op);

	o->cancels++;
	if (o->ends_in_cancel)
		end(o, -ECANCELED);
}

static void done(struct async_domain *d)
{
	nr_done++;
	memset(d, 0xaa, sizeof(*d)); /* whoever touches it after this shall notice */
}

static void done_keeps(struct async_domain *d)
{
	nr_done++;
}

static int clean(void **state)
{
	size_t i;

	nr_done = nr_running = most_running = last_started = 0;
	stack_low = UINTPTR_MAX;
	stack_high = 0;
	memset(ops, 0, sizeof(ops));
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		ops[i].op.start = op_start;
		ops[i].op.cancel = op_cancel;
	}
	return 0;
}

static int reset(void **state)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		if (ops[i].op.state == ASYNC_ENDED)
			async_op_reset(&ops[i].op);
	return 0;
}

static void add(uint32_t from, uint32_t to)
{
	for (; from < to; from++)
		async_domain_add(&dom, &ops[from].op);
}

static void a_domain_without_operations_is_done_when_closed(void **state)
{
	async_domain_init(&dom, 0, done);
	assert_int_equal(nr_done, 0);
	async_domain_close(&dom);
	assert_int_equal(nr_done, 1);
}

static void without_a_limit_all_run_at_once(void **state)
{
	uint32_t i;

	async_domain_init(&dom, 0, done);
	add(0, 100);
	assert_int_equal(nr_running, 100);
	async_domain_close(&dom);
	for (i = 100; i-- > 0;) {
		assert_int_equal(nr_done, 0);
		end(&ops[i], 0);
	}
	assert_int_equal(nr_done, 1);
}

static void no_more_than_the_limit_run_and_in_the_order_added(void **state)
{
	uint32_t i;

	async_domain_init(&dom, 3, done);
	add(0, 10);
	async_domain_close(&dom);
	for (i = 0; i < 10; i++) {
		assert_int_equal(last_started, i + 2 < 10 ? i + 2 : 9);
		end(&ops[i], 0);
	}
	assert_int_equal(most_running, 3);
	assert_int_equal(nr_done, 1);
}

static void done_waits_for_close(void **state)
{
	async_domain_init(&dom, 0, done);
	add(0, 1);
	end(&ops[0], 0);
	assert_int_equal(nr_done, 0);
	add(1, 2);
	async_domain_close(&dom);
	assert_int_equal(nr_done, 0);
	end(&ops[1], 0);
	assert_int_equal(nr_done, 1);
}

static void ten_thousand_operations_that_end_at_once_do_not_grow_the_stack(void **state)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i].ends_in_start = i != 0;
	async_domain_init(&dom, 1, done);
	add(0, ARRAY_SIZE(ops));
	async_domain_close(&dom);
	stack_low = UINTPTR_MAX;
	stack_high = 0;
	end(&ops[0], 0); /* lets the 9999 that wait go */
	assert_int_equal(nr_done, 1);
	assert_int_equal(most_running, 1);
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		assert_int_equal(ops[i].starts, 1);
	assert_true(stack_high - stack_low < 1024);
}

static void every_error_is_kept_and_the_first_is_known(void **state)
{
	async_domain_init(&dom, 0, done_keeps);
	add(0, 3);
	async_domain_close(&dom);
	end(&ops[2], -ECONNREFUSED);
	end(&ops[0], -EIO);
	end(&ops[1], 0);
	assert_int_equal(nr_done, 1);
	assert_int_equal(dom.nr_failed, 2);
	assert_int_equal(async_domain_first_error(&dom)->code, -ECONNREFUSED);
	assert_string_equal(error_msg(async_domain_first_error(&dom)), "op 2");
	assert_int_equal(ops[0].op.err.code, -EIO);
	assert_int_equal(ops[1].op.err.code, 0);
}

static void success_has_no_first_error(void **state)
{
	async_domain_init(&dom, 0, done_keeps);
	add(0, 1);
	async_domain_close(&dom);
	async_op_end((nr_running--, &ops[0].op), NULL);
	assert_null(async_domain_first_error(&dom));
	assert_int_equal(nr_done, 1);
}

static void a_cancel_ends_those_that_wait_and_asks_those_that_run_once(void **state)
{
	uint32_t i;

	ops[1].ends_in_cancel = true;
	async_domain_init(&dom, 3, done_keeps);
	add(0, 6);
	async_domain_close(&dom);
	async_domain_cancel(&dom, -ESHUTDOWN);
	async_domain_cancel(&dom, -EIO);
	for (i = 0; i < 3; i++)
		assert_int_equal(ops[i].cancels, 1);
	for (i = 3; i < 6; i++) {
		assert_int_equal(ops[i].starts, 0);
		assert_int_equal(ops[i].op.err.code, -ESHUTDOWN);
	}
	assert_int_equal(nr_done, 0);
	end(&ops[0], -ECANCELED);
	end(&ops[2], 0); /* it was faster than the cancel */
	assert_int_equal(nr_done, 1);
	assert_int_equal(ops[2].op.err.code, 0);
	assert_true(async_domain_cancelled(&dom));
}

static void an_error_that_a_cancel_brought_about_is_not_the_first(void **state)
{
	async_domain_init(&dom, 0, done_keeps);
	add(0, 3);
	async_domain_close(&dom);
	async_domain_cancel(&dom, -ESHUTDOWN);
	end(&ops[0], -ECANCELED);
	end(&ops[1], -ESHUTDOWN);
	end(&ops[2], -ECONNRESET);
	assert_int_equal(async_domain_first_error(&dom)->code, -ECONNRESET);
}

static void with_nothing_but_cancelled_operations_the_cancel_is_the_error(void **state)
{
	async_domain_init(&dom, 1, done_keeps);
	add(0, 2);
	async_domain_close(&dom);
	async_domain_cancel(&dom, -ETIMEDOUT);
	end(&ops[0], -ECANCELED);
	assert_int_equal(nr_done, 1);
	assert_int_equal(async_domain_first_error(&dom)->code, -ETIMEDOUT);
}

static void an_operation_added_after_a_cancel_ends_at_once(void **state)
{
	async_domain_init(&dom, 0, done_keeps);
	async_domain_cancel(&dom, -ECANCELED);
	add(0, 1);
	assert_int_equal(ops[0].starts, 0);
	assert_int_equal(ops[0].op.state, ASYNC_ENDED);
	assert_int_equal(ops[0].op.err.code, -ECANCELED);
	assert_int_equal(nr_done, 0);
	async_domain_close(&dom);
	assert_int_equal(nr_done, 1);
}

static void a_cancel_from_inside_start_asks_the_starter_after_it(void **state)
{
	ops[1].cancels_in_start = true;
	ops[1].ends_in_cancel = true;
	ops[0].ends_in_cancel = true;
	async_domain_init(&dom, 0, done_keeps);
	add(0, 3);
	assert_int_equal(ops[0].cancels, 1);
	assert_int_equal(ops[1].cancels, 1);
	assert_int_equal(ops[2].starts, 0);
	async_domain_close(&dom);
	assert_int_equal(nr_done, 1);
}

static void start_may_cancel_and_end_itself_with_the_reason(void **state)
{
	ops[2] = (struct op){ .op = ops[2].op, .code = -ENETUNREACH, .cancels_in_start = true, .ends_in_start = true };
	ops[0].ends_in_cancel = ops[1].ends_in_cancel = true;
	async_domain_init(&dom, 0, done_keeps);
	add(0, 3);
	assert_int_equal(ops[2].cancels, 0);
	async_domain_close(&dom);
	assert_int_equal(nr_done, 1);
	assert_int_equal(async_domain_first_error(&dom)->code, -ENETUNREACH);
}

static void operations_without_cancel_end_by_themselves(void **state)
{
	ops[0].op.cancel = NULL;
	async_domain_init(&dom, 0, done);
	add(0, 1);
	async_domain_close(&dom);
	async_domain_cancel(&dom, -ECANCELED);
	assert_int_equal(nr_done, 0);
	end(&ops[0], 0);
	assert_int_equal(nr_done, 1);
}

static void a_cancel_may_end_the_domain_from_inside(void **state)
{
	ops[0].ends_in_cancel = ops[1].ends_in_cancel = true;
	async_domain_init(&dom, 2, done); /* done spoils the domain: nobody may touch it after that */
	add(0, 4);
	async_domain_close(&dom);
	async_domain_cancel(&dom, -ECANCELED);
	assert_int_equal(nr_done, 1);
}

static void inner_done(struct async_domain *d)
{
	nr_running--;
	async_op_end(&ops[0].op, NULL);
}

static void outer_start(struct async_op *op)
{
	uint32_t i;

	nr_running++;
	async_domain_init(&inner_dom, 2, inner_done);
	for (i = 10; i < 20; i++) {
		ops[i].ends_in_start = true;
		async_domain_add(&inner_dom, &ops[i].op);
	}
	async_domain_close(&inner_dom);
}

static void an_operation_may_be_a_domain_of_its_own(void **state)
{
	ops[0].op.start = outer_start;
	async_domain_init(&dom, 1, done);
	add(0, 2);
	async_domain_close(&dom);
	assert_int_equal(ops[0].op.state, ASYNC_ENDED);
	assert_int_equal(ops[1].starts, 1);
	end(&ops[1], 0);
	assert_int_equal(nr_done, 1);
}

/* Ends running operations at random until none runs. */
static void end_at_random(uint32_t nr, uint32_t limit)
{
	uint32_t i;

	while (nr_running) {
		i = (uint32_t)rand() % nr;
		if (ops[i].op.state == ASYNC_RUNNING)
			end(&ops[i], rand() % 3 ? 0 : -EIO);
		assert_true(!limit || nr_running <= limit);
		if (rand() % 200 == 0 && !nr_done)
			async_domain_cancel(&dom, -ECANCELED);
	}
}

static void whatever_the_order_each_ends_once_and_done_runs_once(void **state)
{
	uint32_t round, i, nr, limit;

	for (round = 0; round < 200; round++) {
		reset(NULL);
		nr_done = nr_running = 0;
		nr = 1 + (uint32_t)rand() % 50;
		limit = (uint32_t)rand() % 6;
		async_domain_init(&dom, limit, done_keeps);
		for (i = 0; i < nr; i++) {
			ops[i].starts = 0;
			ops[i].ends_in_start = rand() % 4 == 0;
			ops[i].ends_in_cancel = rand() % 2;
			ops[i].cancels_in_start = rand() % 60 == 0;
		}
		add(0, nr);
		async_domain_close(&dom);
		end_at_random(nr, limit);
		assert_int_equal(nr_done, 1);
		assert_int_equal(dom.nr_ended, nr);
		assert_int_equal(dom.nr_running, 0);
		for (i = 0; i < nr; i++) {
			assert_int_equal(ops[i].op.state, ASYNC_ENDED);
			assert_true(ops[i].starts <= 1);
		}
	}
}

/* Three domains of ten operations each, in ops[0..29]. */
static struct async_domain shared[3];
static struct async_limit limit;

static void shared_done(struct async_domain *d)
{
	nr_done++;
	memset(d, 0xaa, sizeof(*d)); /* the limit must not know it any more */
}

static void share(uint32_t max, uint32_t concurrency)
{
	uint32_t i, j;

	async_limit_init(&limit, max);
	for (i = 0; i < ARRAY_SIZE(shared); i++) {
		async_domain_init(&shared[i], concurrency, shared_done);
		async_domain_share(&shared[i], &limit);
	}
	for (i = 0; i < ARRAY_SIZE(shared); i++)
		for (j = 0; j < 10; j++)
			async_domain_add(&shared[i], &ops[i * 10 + j].op);
	for (i = 0; i < ARRAY_SIZE(shared); i++)
		async_domain_close(&shared[i]);
}

static void domains_that_share_a_limit_keep_it_together(void **state)
{
	uint32_t i;

	share(4, 0);
	assert_int_equal(nr_running, 4);
	assert_int_equal(last_started, 3);
	/* A domain goes on with its own; the next ones begin as the first runs dry. */
	for (i = 0; i < 30; i++) {
		assert_int_equal(last_started, i + 3 < 30 ? i + 3 : 29);
		end(&ops[i], 0);
	}
	assert_int_equal(most_running, 4);
	assert_int_equal(nr_done, 3);
	assert_int_equal(limit.nr_running, 0);
}

static void a_shared_limit_leaves_a_domain_its_own(void **state)
{
	uint32_t i;

	share(4, 1);
	assert_int_equal(nr_running, 3);
	for (i = 0; i < 10; i++) {
		end(&ops[i], 0);
		end(&ops[10 + i], 0);
		end(&ops[20 + i], 0);
	}
	assert_int_equal(most_running, 3);
	assert_int_equal(nr_done, 3);
}

static void a_cancelled_domain_makes_room_for_those_that_share(void **state)
{
	uint32_t i;

	for (i = 0; i < 30; i++)
		ops[i].ends_in_cancel = true;
	share(2, 0);
	assert_int_equal(nr_running, 2);
	async_domain_cancel(&shared[1], -ECANCELED); /* it only stands in line */
	assert_int_equal(nr_done, 1);
	assert_int_equal(nr_running, 2);
	async_domain_cancel(&shared[0], -ECANCELED);
	assert_int_equal(nr_done, 2);
	assert_int_equal(nr_running, 2);
	assert_int_equal(ops[20].starts + ops[21].starts, 2);
	async_domain_cancel(&shared[2], -ECANCELED);
	assert_int_equal(nr_done, 3);
	assert_int_equal(limit.nr_running, 0);
	assert_true(cds_list_empty(&limit.line));
}

static void whatever_the_order_a_shared_limit_holds(void **state)
{
	uint32_t round, i, max;

	for (round = 0; round < 300; round++) {
		reset(NULL);
		nr_done = nr_running = most_running = 0;
		max = (uint32_t)rand() % 5;
		for (i = 0; i < 30; i++) {
			ops[i].starts = 0;
			ops[i].ends_in_start = rand() % 3 == 0;
			ops[i].ends_in_cancel = rand() % 2;
		}
		share(max, (uint32_t)rand() % 4);
		while (nr_running) {
			i = (uint32_t)rand() % 30;
			if (ops[i].op.state == ASYNC_RUNNING) {
				if (rand() % 20 == 0)
					async_domain_cancel(ops[i].op.domain, -ECANCELED);
				else
					end(&ops[i], rand() % 3 ? 0 : -EIO);
			}
			assert_true(!max || nr_running <= max);
		}
		assert_int_equal(nr_done, 3);
		assert_int_equal(limit.nr_running, 0);
		assert_true(cds_list_empty(&limit.line));
		for (i = 0; i < 30; i++)
			assert_true(ops[i].op.state == ASYNC_ENDED && ops[i].starts <= 1);
	}
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, clean, reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_domain_without_operations_is_done_when_closed),
		TEST(without_a_limit_all_run_at_once),
		TEST(no_more_than_the_limit_run_and_in_the_order_added),
		TEST(done_waits_for_close),
		TEST(ten_thousand_operations_that_end_at_once_do_not_grow_the_stack),
		TEST(every_error_is_kept_and_the_first_is_known),
		TEST(success_has_no_first_error),
		TEST(a_cancel_ends_those_that_wait_and_asks_those_that_run_once),
		TEST(an_error_that_a_cancel_brought_about_is_not_the_first),
		TEST(with_nothing_but_cancelled_operations_the_cancel_is_the_error),
		TEST(an_operation_added_after_a_cancel_ends_at_once),
		TEST(a_cancel_from_inside_start_asks_the_starter_after_it),
		TEST(start_may_cancel_and_end_itself_with_the_reason),
		TEST(operations_without_cancel_end_by_themselves),
		TEST(a_cancel_may_end_the_domain_from_inside),
		TEST(an_operation_may_be_a_domain_of_its_own),
		TEST(whatever_the_order_each_ends_once_and_done_runs_once),
		TEST(domains_that_share_a_limit_keep_it_together),
		TEST(a_shared_limit_leaves_a_domain_its_own),
		TEST(a_cancelled_domain_makes_room_for_those_that_share),
		TEST(whatever_the_order_a_shared_limit_holds),
	};

	return cmocka_run_group_tests_name("async_domain", tests, NULL, NULL);
}
