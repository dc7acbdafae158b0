/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/hist.h"
#include "base/util.h"

static struct hist h, other;

static int clean(void **state)
{
	hist_reset(&h);
	hist_reset(&other);
	return 0;
}

static void an_empty_histogram_has_no_quantiles(void **state)
{
	assert_int_equal(hist_quantile(&h, 0.5), 0);
	assert_int_equal(hist_quantile(&h, 1), 0);
	assert_true(hist_mean(&h) == 0);
}

static void small_values_are_exact(void **state)
{
	uint64_t v;

	for (v = 1; v <= 60; v++)
		hist_add(&h, v);
	assert_int_equal(hist_quantile(&h, 0.5), 30);
	assert_int_equal(hist_quantile(&h, 0), 1);
	assert_int_equal(hist_quantile(&h, 1), 60);
	assert_true(hist_mean(&h) == 30.5);
}

static void every_value_is_within_two_percent(void **state)
{
	unsigned int bit, i;

	for (bit = 0; bit < 64; bit++) {
		for (i = 0; i < 50; i++) {
			uint64_t v = (UINT64_C(1) << bit) + (((uint64_t)rand() << 32 | (uint64_t)rand()) & ((UINT64_C(1) << bit) - 1)), q;

			hist_reset(&h);
			hist_add(&h, 0);
			hist_add(&h, v);
			hist_add(&h, UINT64_MAX);
			q = hist_quantile(&h, 2.0 / 3);
			assert_true(q >= v);
			assert_true(q - v <= v / 64);
		}
	}
}

static void the_ends_are_exact(void **state)
{
	hist_add(&h, 123456789);
	hist_add(&h, 987654321);
	hist_add(&h, UINT64_MAX);
	assert_int_equal(hist_quantile(&h, 0), 123456789);
	assert_true(hist_quantile(&h, 1) == UINT64_MAX);
	assert_true(hist_quantile(&h, 0.999) <= UINT64_MAX);
	assert_true(hist_quantile(&h, 0.01) >= 123456789);
}

static void quantiles_agree_with_the_sorted_samples(void **state)
{
	static const double qs[] = { 0.01, 0.25, 0.5, 0.9, 0.99, 0.999 };
	static uint64_t v[10000];
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(v); i++) {
		v[i] = i * i; /* sorted as it is */
		hist_add(&h, v[i]);
	}
	for (j = 0; j < ARRAY_SIZE(qs); j++) {
		uint64_t want = v[(size_t)(qs[j] * ARRAY_SIZE(v)) - 1], got = hist_quantile(&h, qs[j]);

		assert_true(got >= want && got <= want + want / 32 + 1);
	}
}

static void merging_is_adding(void **state)
{
	static struct hist both;
	uint64_t v;

	hist_reset(&both);
	for (v = 1; v < 5000; v += 7) {
		hist_add(v & 1 ? &h : &other, v * v);
		hist_add(&both, v * v);
	}
	hist_merge(&h, &other);
	assert_memory_equal(&h, &both, sizeof(h));
	hist_reset(&other);
	hist_merge(&h, &other);
	assert_memory_equal(&h, &both, sizeof(h));
	hist_merge(&other, &h);
	assert_memory_equal(&other, &both, sizeof(h));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_empty_histogram_has_no_quantiles, clean),
		cmocka_unit_test_setup(small_values_are_exact, clean),
		cmocka_unit_test_setup(every_value_is_within_two_percent, clean),
		cmocka_unit_test_setup(the_ends_are_exact, clean),
		cmocka_unit_test_setup(quantiles_agree_with_the_sorted_samples, clean),
		cmocka_unit_test_setup(merging_is_adding, clean),
	};

	return cmocka_run_group_tests_name("hist", tests, NULL, NULL);
}
