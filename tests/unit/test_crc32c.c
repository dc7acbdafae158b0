/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "proto/crc32c.h"

static void the_check_value_of_the_standard_comes_out(void **state)
{
	static const unsigned char zeroes[32];

	assert_true(crc32c(0, "123456789", 9) == 0xE3069283);
	assert_true(crc32c(0, zeroes, 32) == 0x8A9136AA); /* RFC 3720 B.4 */
	assert_true(crc32c(0, "", 0) == 0);
}

static uint32_t bit_by_bit(const unsigned char *p, size_t len)
{
	uint32_t crc = UINT32_MAX;
	size_t i, bit;

	for (i = 0; i < len; i++)
		for (crc ^= p[i], bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78 : 0);
	return ~crc;
}

static void any_length_gives_the_sum_of_the_definition(void **state)
{
	enum { MOST = 200000 };
	unsigned char *data = malloc(MOST);
	size_t len;

	for (len = 0; len < MOST; len++)
		data[len] = (unsigned char)rand();
	for (len = 0; len <= MOST; len += len < 300 ? 1 : len < 20000 ? 997 : 29989) {
		/* At the very end of what may be read, and not aligned. */
		assert_true(crc32c(0, data + MOST - len, len) == bit_by_bit(data + MOST - len, len));
	}
	free(data);
}

static void any_split_gives_the_same_sum(void **state)
{
	enum { LEN = 200000 };
	unsigned char *data = malloc(LEN), *copy = malloc(LEN);
	uint32_t whole, crc, copied;
	size_t i, n, round;

	for (i = 0; i < LEN; i++)
		data[i] = (unsigned char)rand();
	whole = crc32c(0, data, LEN);
	for (round = 0; round < 50; round++) {
		memset(copy, 0, LEN);
		for (i = 0, crc = 0, copied = 0; i < LEN; i += n) {
			n = min_size(LEN - i, (size_t)rand() % (round % 2 ? 9000 : 90000));
			crc = crc32c(crc, data + i, n);
			copied = crc32c_copy(copied, copy + i, data + i, n);
		}
		assert_true(crc == whole && copied == whole);
		assert_memory_equal(copy, data, LEN);
	}
	free(data);
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_check_value_of_the_standard_comes_out),
		cmocka_unit_test(any_length_gives_the_sum_of_the_definition),
		cmocka_unit_test(any_split_gives_the_same_sum),
	};

	return cmocka_run_group_tests_name("crc32c", tests, NULL, NULL);
}
