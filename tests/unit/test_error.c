/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/log.h"

static void the_first_error_is_kept(void **state)
{
	struct error err = { 0 };

	assert_int_equal(error_set(&err, -ECONNREFUSED, "connect to %s", "192.0.2.7:4420"), -ECONNREFUSED);
	assert_int_equal(error_set(&err, -EIO, "later"), -ECONNREFUSED);
	assert_int_equal(err.code, -ECONNREFUSED);
	assert_string_equal(error_msg(&err), "connect to 192.0.2.7:4420");
	error_clear(&err);
	assert_int_equal(err.code, 0);
	assert_null(err.msg);
}

static void no_code_is_no_error(void **state)
{
	struct error err = { 0 };

	assert_int_equal(error_set(&err, 0, "never"), 0);
	assert_null(err.msg);
	error_prefix(&err, "qid 3");
	assert_null(err.msg);
	assert_string_equal(error_msg(&err), "no error");
}

static void a_prefix_says_where(void **state)
{
	struct error err = { 0 };

	error_set(&err, -ETIMEDOUT, "no answer");
	error_prefix(&err, "qid %d", 3);
	error_prefix(&err, "connect");
	assert_string_equal(error_msg(&err), "connect: qid 3: no answer");
	error_clear(&err);
}

static void a_moved_error_leaves_nothing_behind(void **state)
{
	struct error a = { 0 }, b = { 0 }, c = { 0 };

	error_set(&a, 0x4184, "refused");
	error_set(&b, -EIO, "to be replaced");
	error_move(&b, &a);
	assert_int_equal(a.code, 0);
	assert_null(a.msg);
	assert_int_equal(b.code, 0x4184);
	error_copy(&c, &b);
	assert_string_equal(error_msg(&c), "refused");
	assert_ptr_not_equal(c.msg, b.msg);
	error_move(&b, &b);
	error_copy(&b, &b);
	assert_string_equal(error_msg(&b), "refused");
	error_clear(&b);
	error_clear(&c);
}

static void without_a_sentence_the_code_still_has_a_text(void **state)
{
	struct error err = { .code = -ECONNRESET };

	assert_string_equal(error_msg(&err), "Connection reset by peer");
	error_prefix(&err, "qid 1");
	assert_string_equal(error_msg(&err), "qid 1: Connection reset by peer");
	error_clear(&err);
	err.code = -100000;
	assert_non_null(error_msg(&err));
	err.code = 0x184;
	assert_non_null(error_msg(&err));
}

struct lines {
	int nr, level;
	char last[64];
};

static void take_line(void *arg, int level, const char *msg)
{
	struct lines *l = arg;

	l->nr++;
	l->level = level;
	snprintf(l->last, sizeof(l->last), "%s", msg);
}

static void log_lines_above_the_level_are_dropped(void **state)
{
	struct lines lines = { 0 };
	struct log log = { .fn = take_line, .arg = &lines, .level = LOG_WARN };
	struct log none = { 0 };

	log_info(&log, "not this");
	log_line(&log, LOG_DEBUG, "nor this");
	log_warn(&log, "but %s", "this");
	assert_int_equal(lines.nr, 1);
	assert_int_equal(lines.level, LOG_WARN);
	assert_string_equal(lines.last, "but this");
	log_error(&none, "nobody listens");
}

struct told {
	int nr;
	char last[256];
};

static void tell(void *arg, int level, const char *msg)
{
	struct told *told = arg;

	told->nr++;
	snprintf(told->last, sizeof(told->last), "%s", msg);
}

static void lines_that_peers_cause_are_limited_and_counted(void **state)
{
	struct told told = { 0 };
	struct log log = { .fn = tell, .arg = &told, .level = LOG_WARN };
	struct log_limit limit = { .burst = 3, .window_ns = 1000 };
	int i;

	for (i = 0; i < 10; i++)
		log_limited(&log, LOG_WARN, &limit, 5000, "line %d", i);
	assert_int_equal(told.nr, 3);
	assert_string_equal(told.last, "line 2");
	log_limited(&log, LOG_INFO, &limit, 5000, "not wanted at all");
	log_limited(&log, LOG_WARN, &limit, 5999, "still too early");
	assert_int_equal(told.nr, 3);
	log_limited(&log, LOG_WARN, &limit, 6000, "now");
	assert_int_equal(told.nr, 4);
	assert_string_equal(told.last, "now (8 lines like this were left out before it)");
	log_limited(&log, LOG_WARN, &limit, 6000, "and one more");
	assert_string_equal(told.last, "and one more");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_error_is_kept),
		cmocka_unit_test(no_code_is_no_error),
		cmocka_unit_test(a_prefix_says_where),
		cmocka_unit_test(a_moved_error_leaves_nothing_behind),
		cmocka_unit_test(without_a_sentence_the_code_still_has_a_text),
		cmocka_unit_test(log_lines_above_the_level_are_dropped),
		cmocka_unit_test(lines_that_peers_cause_are_limited_and_counted),
	};

	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
