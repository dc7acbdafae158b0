/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/util.h"

static void suffixes_are_powers_of_1024(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 },
		{ "4096", 4096 },
		{ "4k", 4096 },
		{ "4K", 4096 },
		{ "64M", UINT64_C(64) << 20 },
		{ "1g", UINT64_C(1) << 30 },
		{ "1T", UINT64_C(1) << 40 },
		{ "18446744073709551615", UINT64_MAX },
		{ "16777215T", UINT64_C(16777215) << 40 },
	};
	uint64_t bytes;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(size_parse(good[i].text, &bytes, NULL), 0);
		assert_true(bytes == good[i].bytes);
	}
}

static void what_is_no_size_is_refused_with_a_sentence(void **state)
{
	static const char *const bad[] = { "", "k", "-1", "+1", " 1", "1 ", "1.5M", "1kB", "1KiB", "0x10", "1P", "M64" };
	const char *why;
	uint64_t bytes;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		why = NULL;
		assert_int_equal(size_parse(bad[i], &bytes, &why), -EINVAL);
		assert_true(why && strlen(why) > 10);
	}
}

static void a_size_beyond_64_bits_is_out_of_range(void **state)
{
	static const char *const bad[] = { "18446744073709551616", "16777216T", "99999999999999999999999" };
	const char *why;
	uint64_t bytes;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(size_parse(bad[i], &bytes, &why), -ERANGE);
}

static void a_duration_needs_its_unit(void **state)
{
	uint64_t ns;
	const char *why = NULL;

	assert_int_equal(duration_parse("5ms", &ns, &why), 0);
	assert_true(ns == 5 * NSEC_PER_MSEC);
	assert_int_equal(duration_parse("20us", &ns, &why), 0);
	assert_true(ns == 20 * NSEC_PER_USEC);
	assert_int_equal(duration_parse("1s", &ns, &why), 0);
	assert_true(ns == NSEC_PER_SEC);
	assert_int_equal(duration_parse("0ns", &ns, &why), 0);
	assert_true(ns == 0);
	assert_int_equal(duration_parse("5", &ns, &why), -EINVAL);
	assert_non_null(why);
	assert_int_equal(duration_parse("ms", &ns, &why), -EINVAL);
	assert_int_equal(duration_parse("5 ms", &ns, &why), -EINVAL);
	assert_int_equal(duration_parse("5msx", &ns, &why), -EINVAL);
	assert_int_equal(duration_parse("18446744073709551615s", &ns, &why), -ERANGE);
	assert_int_equal(duration_parse("18446744073709551616ns", &ns, &why), -ERANGE);
}

static void a_formatted_size_parses_back(void **state)
{
	static const uint64_t sizes[] = {
		0, 1, 512, 1023, 1024, 4097, 65536, UINT64_C(3) << 20, UINT64_C(1) << 40, UINT64_C(1) << 60, UINT64_MAX
	};
	char buf[24];
	uint64_t back;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_int_equal(size_parse(size_format(sizes[i], buf), &back, NULL), 0);
		assert_true(back == sizes[i]);
	}
	assert_string_equal(size_format(65536, buf), "64K");
	assert_string_equal(size_format(4097, buf), "4097");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(suffixes_are_powers_of_1024),		 cmocka_unit_test(what_is_no_size_is_refused_with_a_sentence),
		cmocka_unit_test(a_size_beyond_64_bits_is_out_of_range), cmocka_unit_test(a_duration_needs_its_unit),
		cmocka_unit_test(a_formatted_size_parses_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
