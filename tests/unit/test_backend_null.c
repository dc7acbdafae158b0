/* SPDX-License-Identifier: BSD-3-Clause */
#include "backend_util.h"

static struct loop *loop;

static int setup(void **state)
{
	return loop_new(&loop);
}

static int teardown(void **state)
{
	loop_free(loop);
	return 0;
}

static void writes_are_dropped_and_reads_are_zero(void **state)
{
	struct backend *b = test_backend("null:1T", 4096);
	uint8_t buf[8192];

	assert_true(b->ops->size(b) == UINT64_C(1) << 40);
	memset(buf, 0xaa, sizeof(buf));
	assert_int_equal(test_rw(loop, b, BACKEND_WRITE, 4096, buf, sizeof(buf)), 0);
	assert_int_equal(test_rw(loop, b, BACKEND_READ, 4096, buf, sizeof(buf)), 0);
	assert_true(test_is_zero(buf, sizeof(buf)));
	assert_int_equal(test_range(loop, b, BACKEND_FLUSH, 0, 0, false), 0);
	assert_int_equal(test_range(loop, b, BACKEND_DISCARD, 0, UINT64_C(1) << 40, true), 0);
	assert_int_equal(test_range(loop, b, BACKEND_ZERO, 0, UINT64_C(1) << 40, true), 0);
	backend_close(b);
}

static void reads_of_any_length_map_to_shared_zeroes(void **state)
{
	struct backend *b = test_backend("null:1T", 512);
	struct iovec iov[4];
	uint64_t len = UINT64_C(5) << 20, sum = 0;
	uint32_t n = 4, i;

	assert_true(b->ops->map(b, 512, len, iov, &n));
	for (i = 0; i < n; i++) {
		assert_true(test_is_zero(iov[i].iov_base, iov[i].iov_len));
		sum += iov[i].iov_len;
	}
	assert_true(sum == len);
	n = 2;
	assert_false(b->ops->map(b, 512, len, iov, &n));
	backend_close(b);
}

static void it_takes_any_size(void **state)
{
	struct backend *b = test_backend("null:1G", 512);

	test_resize(b, UINT64_C(1) << 50);
	assert_true(b->ops->size(b) == UINT64_C(1) << 50);
	test_resize(b, 1000);
	assert_int_equal(b->ops->size(b), 512);
	assert_non_null(strstr(b->notice, "488 bytes"));
	backend_close(b);
	test_refused("null:511", 512, -EINVAL, "less than one block");
	test_refused("null:x", 512, -EINVAL, "a size is");
	test_refused("null:1M,huge=on", 512, -EINVAL, "has a size and no options");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(writes_are_dropped_and_reads_are_zero),
		TEST(reads_of_any_length_map_to_shared_zeroes),
		TEST(it_takes_any_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
