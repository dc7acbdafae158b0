/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu_list.h"

static void check(const char *text, uint32_t nr, const uint16_t *cpus)
{
	struct cpu_list list;

	assert_int_equal(cpu_list_parse(text, &list), 0);
	assert_int_equal(list.nr, nr);
	assert_memory_equal(list.cpus, cpus, nr * sizeof(*cpus));
	cpu_list_clear(&list);
	assert_int_equal(list.nr, 0);
}

static void lists_are_read_in_their_order(void **state)
{
	check("0", 1, (uint16_t[]){ 0 });
	check("3\n", 1, (uint16_t[]){ 3 });
	check("0-3,8", 5, (uint16_t[]){ 0, 1, 2, 3, 8 });
	check("8,2-2,1", 3, (uint16_t[]){ 8, 2, 1 });
	check("8191", 1, (uint16_t[]){ 8191 });
}

static void what_is_no_list_is_refused(void **state)
{
	static const char *const bad[] = { "",	   ",",	      "1,",  ",1",   "1-",     "-1",   "3-1",
					   "a",	   "1a",      "1 2", "1, 2", "0-8192", "8192", "99999999999999999999",
					   "1\n2", "0-8191,0" };
	struct cpu_list list;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (cpu_list_parse(bad[i], &list) != -EINVAL)
			fail_msg("\"%s\" was taken", bad[i]);
		assert_null(list.cpus);
		assert_int_equal(list.nr, 0);
	}
}

static void a_list_that_a_thread_can_be_bound_to_has_none_unusable(void **state)
{
	cpu_set_t before, after;
	struct cpu_list list;
	char text[32];

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	snprintf(text, sizeof(text), "%d", sched_getcpu());
	assert_int_equal(cpu_list_parse(text, &list), 0);
	assert_int_equal(cpu_list_unusable(&list), -1);
	cpu_list_clear(&list);
	snprintf(text, sizeof(text), "%d,8190,8191", sched_getcpu());
	assert_int_equal(cpu_list_parse(text, &list), 0);
	assert_int_equal(cpu_list_unusable(&list), 8190);
	cpu_list_clear(&list);
	assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
	assert_true(CPU_EQUAL(&before, &after));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_read_in_their_order),
		cmocka_unit_test(what_is_no_list_is_refused),
		cmocka_unit_test(a_list_that_a_thread_can_be_bound_to_has_none_unusable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
