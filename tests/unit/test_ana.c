// SPDX-License-Identifier: BSD-3-Clause
/* The ANA log page as it may come, and the names of the states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <endian.h>
#include <nvme/types.h>
#include <string.h>

#include "proto/ana.h"

static void names_go_there_and_back(void **state)
{
	static const uint8_t known[] = { 1, 2, 3, 4, 15 };
	uint8_t got;

	for (size_t i = 0; i < sizeof(known); i++) {
		assert_true(ana_state_parse(ana_state_name(known[i]), &got));
		assert_int_equal(got, known[i]);
	}
	assert_string_equal(ana_state_name(0xe), "unrecognized");
	assert_false(ana_state_parse("unrecognized", &got));
	assert_false(ana_state_parse("Optimized", &got));
}

/* Two groups, the second cut off by each length there is: what is needed is told, and nothing is read beyond the end. */
static void a_log_that_is_cut_off_says_what_it_needs(void **state)
{
	_Alignas(8) uint8_t log[16 + 32 + 8 + 32 + 4] = { [8] = 2, [16] = 1, [20] = 2, [32] = 1, [56] = 5, [60] = 1, [72] = 3 };
	struct ana_group g;
	struct ana_walk w;
	size_t need;

	for (size_t len = 0; len < sizeof(log); len++) {
		bool whole = ana_walk_begin(&w, log, len, &need);

		while (whole && w.left)
			whole = ana_walk_next(&w, &g, &need);
		assert_false(whole);
		assert_true(need > len && need <= sizeof(log));
	}
	assert_true(ana_walk_begin(&w, log, sizeof(log), &need));
	assert_true(ana_walk_next(&w, &g, &need));
	assert_int_equal(g.nr_nsids, 2);
	assert_true(ana_walk_next(&w, &g, &need));
	assert_int_equal(g.grpid, 5);
	assert_int_equal(g.state, 3);
	assert_int_equal(w.left, 0);
}

static void more_namespaces_than_there_can_be_are_no_overflow(void **state)
{
	_Alignas(8) uint8_t log[48] = { [8] = 1, [20] = 0xff, [21] = 0xff, [22] = 0xff, [23] = 0xff };
	struct ana_group g;
	struct ana_walk w;
	size_t need;

	assert_true(ana_walk_begin(&w, log, sizeof(log), &need));
	assert_false(ana_walk_next(&w, &g, &need));
	assert_true(need == 48 + (size_t)UINT32_MAX * 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_go_there_and_back),
		cmocka_unit_test(a_log_that_is_cut_off_says_what_it_needs),
		cmocka_unit_test(more_namespaces_than_there_can_be_are_no_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
