/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring between two threads. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#include <cmocka.h>

#include "base/ring.h"

static bool put(struct ring *r, uint64_t n)
{
	uint64_t *room = ring_room(r);

	if (!room)
		return false;
	*room = n;
	ring_put(r);
	return true;
}

static bool take(struct ring *r, uint64_t *n)
{
	uint64_t *first = ring_first(r);

	if (!first)
		return false;
	*n = *first;
	ring_drop(r);
	return true;
}

static void a_ring_has_room_for_what_was_asked_for(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 3, 64, 65, 1000 };
	struct ring r;
	uint64_t n;

	for (size_t k = 0; k < 6; k++) {
		assert_int_equal(ring_init(&r, sizes[k], sizeof(n)), 0);
		for (uint32_t i = 0; i < sizes[k]; i++)
			assert_true(put(&r, i));
		assert_int_equal(ring_pending(&r), sizes[k]);
		for (uint32_t i = 0; i < sizes[k]; i++) {
			assert_true(take(&r, &n));
			assert_int_equal(n, i);
		}
		assert_false(take(&r, &n));
		ring_free(&r);
	}
}

static void a_full_ring_takes_no_more_until_one_is_taken(void **state)
{
	struct ring r;
	uint64_t n;

	assert_int_equal(ring_init(&r, 4, sizeof(n)), 0);
	for (uint64_t i = 0; i < 4; i++)
		assert_true(put(&r, i));
	for (uint64_t i = 4; i < 100; i++) {
		assert_false(put(&r, i));
		assert_true(take(&r, &n));
		assert_int_equal(n, i - 4);
		assert_true(put(&r, i));
	}
	ring_free(&r);
}

static void the_counts_may_wrap_around(void **state)
{
	struct ring r;
	uint64_t n;

	assert_int_equal(ring_init(&r, 8, sizeof(n)), 0);
	r.put = r.taken = r.seen_put = r.seen_taken = UINT32_MAX - 3;
	for (uint64_t i = 0; i < 8; i++)
		assert_true(put(&r, i));
	assert_false(put(&r, 8));
	assert_int_equal(ring_pending(&r), 8);
	for (uint64_t i = 0; i < 8; i++) {
		assert_true(take(&r, &n));
		assert_int_equal(n, i);
	}
	assert_false(take(&r, &n));
	ring_free(&r);
}

static void an_entry_stays_until_it_is_dropped(void **state)
{
	struct ring r;

	assert_int_equal(ring_init(&r, 2, sizeof(uint64_t)), 0);
	assert_true(put(&r, 7));
	assert_int_equal(*(uint64_t *)ring_first(&r), 7);
	assert_int_equal(*(uint64_t *)ring_first(&r), 7);
	ring_drop(&r);
	assert_null(ring_first(&r));
	ring_free(&r);
}

#define MANY 200000

/* Entries larger than a word: half of one must never be seen. */
struct wide {
	uint64_t a, b, c;
};

static void *putter(void *arg)
{
	struct ring *r = arg;

	for (uint64_t i = 0; i < MANY;) {
		struct wide *w = ring_room(r);

		if (!w) {
			sched_yield();
			continue;
		}
		*w = (struct wide){ i, ~i, i * 3 };
		ring_put(r);
		i++;
	}
	return NULL;
}

static void between_threads_everything_comes_once_and_in_order(void **state)
{
	pthread_t t;
	struct ring r;

	assert_int_equal(ring_init(&r, 16, sizeof(struct wide)), 0);
	assert_int_equal(pthread_create(&t, NULL, putter, &r), 0);
	for (uint64_t i = 0; i < MANY;) {
		struct wide *w = ring_first(&r);

		if (!w) {
			sched_yield();
			continue;
		}
		if (w->a != i || w->b != ~i || w->c != i * 3)
			fail_msg("entry %llu is %llu", (unsigned long long)i, (unsigned long long)w->a);
		ring_drop(&r);
		i++;
	}
	pthread_join(t, NULL);
	assert_null(ring_first(&r));
	ring_free(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ring_has_room_for_what_was_asked_for),
		cmocka_unit_test(a_full_ring_takes_no_more_until_one_is_taken),
		cmocka_unit_test(the_counts_may_wrap_around),
		cmocka_unit_test(an_entry_stays_until_it_is_dropped),
		cmocka_unit_test(between_threads_everything_comes_once_and_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
