/* SPDX-License-Identifier: BSD-3-Clause */
#include "backend_util.h"

#include <pthread.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
/* The thread sanitizer leaves a program a few pieces of address space, and one of a tebibyte may not fit. */
#ifdef __SANITIZE_THREAD__
#define HUGE_SPEC "mem:64G"
#define HUGE	  (UINT64_C(64) << 30)
#else
#define HUGE_SPEC "mem:1T"
#define HUGE	  (UINT64_C(1) << 40)
#endif

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

/* Resident bytes of this process. */
static uint64_t rss(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long total, resident;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu %lu", &total, &resident), 2);
	fclose(f);
	return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void what_was_written_is_read_and_the_rest_is_zero(void **state)
{
	struct backend *b = test_backend("mem:1M", 512);
	uint8_t out[4096], in[8192];

	assert_int_equal(b->ops->size(b), MIB);
	test_fill(out, sizeof(out), 1);
	assert_int_equal(test_rw(loop, b, BACKEND_WRITE, 512, out, sizeof(out)), 0);
	assert_int_equal(test_rw(loop, b, BACKEND_READ, 0, in, sizeof(in)), 0);
	assert_true(test_is_zero(in, 512));
	assert_memory_equal(in + 512, out, sizeof(out));
	assert_true(test_is_zero(in + 512 + sizeof(out), sizeof(in) - 512 - sizeof(out)));
	assert_int_equal(test_range(loop, b, BACKEND_FLUSH, 0, 0, false), 0);
	backend_close(b);
}

static void buffers_of_any_length_and_alignment_do(void **state)
{
	struct backend *b = test_backend("mem:1M", 512);
	uint8_t out[1024], in[1030];
	struct iovec wr[] = { { out, 1 }, { out + 1, 0 }, { out + 1, 700 }, { out + 701, 323 } };
	struct iovec rd[] = { { in + 3, 511 }, { in + 3 + 511, 513 } };

	test_fill(out, sizeof(out), 2);
	assert_int_equal(test_iov(loop, b, BACKEND_WRITE, 1024, wr, ARRAY_SIZE(wr), true), 0);
	assert_int_equal(test_iov(loop, b, BACKEND_READ, 1024, rd, ARRAY_SIZE(rd), false), 0);
	assert_memory_equal(in + 3, out, sizeof(out));
	backend_close(b);
}

static void a_tebibyte_costs_only_what_is_written(void **state)
{
	uint64_t before = rss();
	struct backend *b = test_backend(HUGE_SPEC, 4096);
	uint8_t buf[4096], in[4096];
	uint64_t at;

	test_fill(buf, sizeof(buf), 3);
	for (at = 0; at < HUGE; at += HUGE / 64) {
		assert_int_equal(test_rw(loop, b, BACKEND_WRITE, at, buf, sizeof(buf)), 0);
		assert_int_equal(test_rw(loop, b, BACKEND_READ, at + 4096, in, sizeof(in)), 0);
		assert_true(test_is_zero(in, sizeof(in)));
	}
	assert_int_equal(test_rw(loop, b, BACKEND_WRITE, HUGE - 4096, buf, sizeof(buf)), 0);
	assert_int_equal(test_rw(loop, b, BACKEND_READ, HUGE - 4096, in, sizeof(in)), 0);
	assert_memory_equal(in, buf, sizeof(buf));
	/* 65 pages written; huge pages may make each of them two megabytes */
	assert_true(rss() - before < 65 * 5 * MIB);
	backend_close(b);
}

static void four_thousand_namespaces_fit(void **state)
{
	enum { NR = 4096 };
	struct backend **b = calloc(NR, sizeof(struct backend *));
	uint8_t buf[512];
	int i;

	assert_non_null(b);
	memset(buf, 0x55, sizeof(buf));
	for (i = 0; i < NR; i++) {
		b[i] = test_backend("mem:64M", 512);
		if (!(i % 64))
			assert_int_equal(test_rw(loop, b[i], BACKEND_WRITE, 64 * MIB - 512, buf, sizeof(buf)), 0);
	}
	for (i = 0; i < NR; i++)
		backend_close(b[i]);
	free(b);
}

static void discard_and_zero_read_as_zero(void **state)
{
	static const struct {
		enum backend_op op;
		bool dealloc;
	} ways[] = { { BACKEND_DISCARD, false }, { BACKEND_ZERO, false }, { BACKEND_ZERO, true } };
	struct backend *b = test_backend("mem:16M", 512);
	size_t len = 3 * MIB, i;
	uint8_t *out = malloc(len), *in = malloc(len);
	/* inside a page, across pages with ragged ends, whole pages, and more than the limit for giving pages back */
	static const struct {
		uint64_t offset, len;
	} ranges[] = { { 512, 512 }, { 3584, 9728 }, { 65536, 65536 }, { MIB + 512, MIB + 65536 } };

	assert_non_null(out);
	assert_non_null(in);
	for (i = 0; i < ARRAY_SIZE(ways) * ARRAY_SIZE(ranges); i++) {
		size_t w = i / ARRAY_SIZE(ranges), r = i % ARRAY_SIZE(ranges);

		test_fill(out, len, (unsigned int)i);
		assert_int_equal(test_rw(loop, b, BACKEND_WRITE, 0, out, len), 0);
		assert_int_equal(test_range(loop, b, ways[w].op, ranges[r].offset, ranges[r].len, ways[w].dealloc), 0);
		memset(out + ranges[r].offset, 0, ranges[r].len);
		assert_int_equal(test_rw(loop, b, BACKEND_READ, 0, in, len), 0);
		assert_memory_equal(in, out, len);
	}
	free(in);
	free(out);
	backend_close(b);
}

static void discard_gives_memory_back(void **state)
{
	struct backend *b = test_backend("mem:64M", 4096);
	size_t len = 32 * MIB;
	uint8_t *out = malloc(len);
	uint64_t full;

	assert_non_null(out);
	test_fill(out, len, 4);
	assert_int_equal(test_rw(loop, b, BACKEND_WRITE, 0, out, len), 0);
	full = rss();
	assert_int_equal(test_range(loop, b, BACKEND_DISCARD, 0, len, true), 0);
	assert_true(rss() < full - len / 2);
	free(out);
	backend_close(b);
}

static void reads_map_the_memory_itself(void **state)
{
	struct backend *b = test_backend("mem:1M", 512);
	struct iovec iov[2];
	uint32_t n = 2;
	uint8_t out[512], in[512];

	test_fill(out, sizeof(out), 5);
	assert_int_equal(test_rw(loop, b, BACKEND_WRITE, 4096, out, sizeof(out)), 0);
	assert_true(b->ops->map(b, 4096, sizeof(out), iov, &n));
	assert_int_equal(n, 1);
	assert_int_equal(iov[0].iov_len, sizeof(out));
	assert_memory_equal(iov[0].iov_base, out, sizeof(out));
	assert_int_equal(test_rw(loop, b, BACKEND_READ, 4096, in, sizeof(in)), 0);
	assert_memory_equal(in, out, sizeof(in));
	backend_close(b);
}

static void growing_keeps_data_and_addresses(void **state)
{
	struct backend *b = test_backend("mem:64K", 512);
	uint8_t out[65536], in[65536];
	struct iovec first[4], iov[4];
	uint32_t n = 4;
	uint64_t size;

	test_fill(out, sizeof(out), 6);
	assert_int_equal(test_rw(loop, b, BACKEND_WRITE, 0, out, sizeof(out)), 0);
	assert_true(b->ops->map(b, 0, 512, first, &n));
	for (size = 128 << 10; size <= HUGE; size *= 8) {
		test_resize(b, size);
		assert_true(b->ops->size(b) == size);
		assert_int_equal(test_rw(loop, b, BACKEND_READ, size - sizeof(in), in, sizeof(in)), 0);
		assert_true(test_is_zero(in, sizeof(in)));
	}
	n = 4;
	assert_true(b->ops->map(b, 0, 512, iov, &n));
	assert_ptr_equal(iov[0].iov_base, first[0].iov_base);
	assert_int_equal(test_rw(loop, b, BACKEND_READ, 0, in, sizeof(in)), 0);
	assert_memory_equal(in, out, sizeof(in));
	/* across the seam of the first two segments */
	assert_int_equal(test_rw(loop, b, BACKEND_WRITE, 32768, out, sizeof(out)), 0);
	assert_int_equal(test_rw(loop, b, BACKEND_READ, 32768, in, sizeof(in)), 0);
	assert_memory_equal(in, out, sizeof(in));
	n = 4;
	assert_true(b->ops->map(b, 65536 - 512, 1024, iov, &n));
	assert_int_equal(iov[0].iov_len + (n > 1 ? iov[1].iov_len : 0), 1024);
	n = 1;
	if (b->ops->map(b, 65536 - 512, 1024, iov, &n))
		assert_int_equal(iov[0].iov_len, 1024);
	assert_int_equal(test_range(loop, b, BACKEND_DISCARD, 65536 - 512, 1024, true), 0);
	assert_int_equal(test_rw(loop, b, BACKEND_READ, 65536 - 512, in, 1024), 0);
	assert_true(test_is_zero(in, 1024));
	backend_close(b);
}

static void what_comes_back_after_a_shrink_is_zero(void **state)
{
	struct backend *b = test_backend("mem:1M", 512);
	uint8_t out[4096], in[4096];

	test_fill(out, sizeof(out), 7);
	assert_int_equal(test_rw(loop, b, BACKEND_WRITE, MIB / 2, out, sizeof(out)), 0);
	test_resize(b, MIB / 4);
	assert_int_equal(b->ops->size(b), MIB / 4);
	/* a write that was on its way when it shrank */
	assert_int_equal(test_rw(loop, b, BACKEND_WRITE, MIB / 2, out, sizeof(out)), 0);
	test_resize(b, 2 * MIB);
	assert_int_equal(test_rw(loop, b, BACKEND_READ, MIB / 2, in, sizeof(in)), 0);
	assert_true(test_is_zero(in, sizeof(in)));
	backend_close(b);
}

/* C166 */
static void a_tail_that_is_no_block_is_cut_off_with_a_notice(void **state)
{
	struct backend *b = test_backend("mem:10000", 4096);

	assert_int_equal(b->ops->size(b), 8192);
	assert_non_null(strstr(b->notice, "1808 bytes"));
	test_resize(b, 16384);
	assert_string_equal(b->notice, "");
	test_resize(b, 0);
	assert_int_equal(b->ops->size(b), 16384);
	backend_close(b);
}

static void bad_sizes_are_refused_with_a_sentence(void **state)
{
	test_refused("mem:", 512, -EINVAL, "a size is");
	test_refused("mem:12Q", 512, -EINVAL, "a size ends");
	test_refused("mem:100", 512, -EINVAL, "less than one block of 512");
	test_refused("mem:16000000T", 512, -ENOMEM, "can't map");
	test_refused("mem:99999999T", 512, -EINVAL, "64 bits");
	test_refused("ram:1M", 512, -EINVAL, "there are mem, null and file");
	test_refused("1M", 512, -EINVAL, "must be mem:SIZE");
}

static void a_growth_beyond_the_address_space_changes_nothing(void **state)
{
	struct backend *b = test_backend("mem:1M", 512);
	struct error err = { 0 };

	assert_int_equal(b->ops->resize(b, UINT64_C(1) << 60, &err), -ENOMEM);
	assert_non_null(strstr(error_msg(&err), "can't map"));
	error_clear(&err);
	assert_int_equal(b->ops->size(b), MIB);
	backend_close(b);
}

struct worker {
	struct backend *b;
	uint64_t offset;
	bool stop;
	int failed;
};

static void *worker_thread(void *arg)
{
	struct worker *w = arg;
	uint8_t out[4096], in[4096];
	struct loop *own;
	unsigned int n;

	if (loop_new(&own))
		return NULL;
	for (n = 0; !__atomic_load_n(&w->stop, __ATOMIC_RELAXED); n++) {
		test_fill(out, sizeof(out), n);
		if (test_rw(own, w->b, BACKEND_WRITE, w->offset, out, sizeof(out)) ||
		    test_rw(own, w->b, BACKEND_READ, w->offset, in, sizeof(in)) || memcmp(in, out, sizeof(in)))
			w->failed++;
	}
	loop_free(own);
	return NULL;
}

/* Run it under TSan. */
static void io_inside_both_sizes_goes_on_during_a_resize(void **state)
{
	struct backend *b = test_backend("mem:64K", 512);
	struct worker w[2] = { { .b = b }, { .b = b, .offset = 32768 } };
	pthread_t t[2];
	int i;

	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i], NULL, worker_thread, &w[i]), 0);
	for (i = 0; i < 200; i++) {
		test_resize(b, (uint64_t)(1 + i % 7) << 20);
		test_resize(b, 65536);
	}
	for (i = 0; i < 2; i++) {
		__atomic_store_n(&w[i].stop, true, __ATOMIC_RELAXED);
		pthread_join(t[i], NULL);
		assert_int_equal(w[i].failed, 0);
	}
	backend_close(b);
}

static void huge_pages_are_asked_for_by_name(void **state)
{
	struct backend *b = test_backend("mem:8M,huge=on", 4096);
	uint8_t out[4096], in[4096];
	struct error err = { 0 };
	uint64_t at;

	for (at = 0; at < 8 * MIB; at += MIB) {
		test_fill(out, sizeof(out), (unsigned int)(at / MIB));
		assert_int_equal(test_rw(loop, b, BACKEND_WRITE, at, out, sizeof(out)), 0);
	}
	assert_int_equal(b->ops->resize(b, 12 * MIB, &err), 0);
	for (at = 0; at < 8 * MIB; at += MIB) {
		test_fill(out, sizeof(out), (unsigned int)(at / MIB));
		assert_int_equal(test_rw(loop, b, BACKEND_READ, at, in, sizeof(in)), 0);
		assert_memory_equal(in, out, sizeof(out));
	}
	assert_int_equal(test_rw(loop, b, BACKEND_READ, 11 * MIB, in, sizeof(in)), 0);
	assert_true(test_is_zero(in, sizeof(in)));
	/* Given back in the midst of a huge page: zeroes there, and nothing else changes. */
	assert_int_equal(test_range(loop, b, BACKEND_DISCARD, MIB, 4096, true), 0);
	assert_int_equal(test_rw(loop, b, BACKEND_READ, MIB, in, sizeof(in)), 0);
	assert_true(test_is_zero(in, sizeof(in)));
	assert_int_equal(test_rw(loop, b, BACKEND_READ, 0, in, sizeof(in)), 0);
	test_fill(out, sizeof(out), 0);
	assert_memory_equal(in, out, sizeof(out));
	backend_close(b);

	assert_int_equal(backend_open("mem:8M,huge=yes", 4096, false, &b, &err), -EINVAL);
	assert_non_null(strstr(error_msg(&err), "huge=yes"));
	error_clear(&err);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(what_was_written_is_read_and_the_rest_is_zero),
		TEST(buffers_of_any_length_and_alignment_do),
		TEST(a_tebibyte_costs_only_what_is_written),
		TEST(four_thousand_namespaces_fit),
		TEST(discard_and_zero_read_as_zero),
		TEST(discard_gives_memory_back),
		TEST(reads_map_the_memory_itself),
		TEST(growing_keeps_data_and_addresses),
		TEST(what_comes_back_after_a_shrink_is_zero),
		TEST(huge_pages_are_asked_for_by_name),
		TEST(a_tail_that_is_no_block_is_cut_off_with_a_notice),
		TEST(bad_sizes_are_refused_with_a_sentence),
		TEST(a_growth_beyond_the_address_space_changes_nothing),
		TEST(io_inside_both_sizes_goes_on_during_a_resize),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
