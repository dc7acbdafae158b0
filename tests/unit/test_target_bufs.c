// SPDX-License-Identifier: BSD-3-Clause
/* The buffers of a target's thread: aligned, reused, bounded when idle, given back when not needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "target/bufs.h"

static struct loop *loop;
static struct bufs bufs;

static int setup(void **state)
{
	assert_int_equal(loop_new(&loop), 0);
	bufs_init(&bufs, loop, 1 << 20, SIZE_MAX);
	return 0;
}

static int teardown(void **state)
{
	bufs_exit(&bufs);
	assert_int_equal(bufs.kept, 0);
	assert_int_equal(bufs.in_use, 0);
	loop_free(loop);
	return 0;
}

static void buffers_hold_what_was_asked_for_and_are_page_aligned(void **state)
{
	static const size_t lens[] = { 1, 512, 4096, 4097, 65536, 65537, 1 << 20, 64 << 20 };

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		size_t room;
		void *buf = bufs_get(&bufs, lens[i], &room);

		assert_non_null(buf);
		assert_true(room >= lens[i] && room < 2 * lens[i] + 4096);
		assert_int_equal((uintptr_t)buf % 4096, 0);
		memset(buf, 0xa5, lens[i]);
		assert_int_equal(bufs.in_use, room);
		bufs_put(&bufs, buf, room);
	}
}

static void a_length_beyond_all_classes_is_refused(void **state)
{
	size_t room;

	assert_null(bufs_get(&bufs, (size_t)1 << 40, &room));
	assert_int_equal(bufs.in_use, 0);
}

static void a_buffer_is_used_again(void **state)
{
	size_t room;
	void *buf = bufs_get(&bufs, 100, &room), *other;

	bufs_put(&bufs, buf, room);
	assert_ptr_equal(bufs_get(&bufs, 4000, &room), buf);
	other = bufs_get(&bufs, 4000, &room);
	assert_ptr_not_equal(other, buf);
	assert_int_equal(bufs.in_use, 2 * 4096);
	bufs_put(&bufs, buf, room);
	bufs_put(&bufs, other, room);
}

static void no_more_is_kept_than_allowed(void **state)
{
	void *buf[300];
	size_t room;

	for (int i = 0; i < 300; i++)
		buf[i] = bufs_get(&bufs, 4096, &room);
	for (int i = 0; i < 300; i++)
		bufs_put(&bufs, buf[i], room);
	assert_int_equal(bufs.kept, 1 << 20);
}

static void what_is_not_needed_goes_back_and_then_the_timer_rests(void **state)
{
	size_t room;
	void *buf = bufs_get(&bufs, 4096, &room);

	bufs_put(&bufs, buf, room);
	assert_true(timer_armed(&bufs.timer));
	while (timer_armed(&bufs.timer))
		loop_turn(loop, 100000000);
	assert_int_equal(bufs.kept, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(buffers_hold_what_was_asked_for_and_are_page_aligned),
		TEST(a_length_beyond_all_classes_is_refused),
		TEST(a_buffer_is_used_again),
		TEST(no_more_is_kept_than_allowed),
		TEST(what_is_not_needed_goes_back_and_then_the_timer_rests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
