/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem_regions.h"
#include "base/util.h"

static char *const mem = (char *)0x100000; /* never touched */

struct attached {
	struct mem_attach a;
	int nr_detached;
};

static void detach(struct mem_attach *a)
{
	cds_list_del(&a->link);
	container_of(a, struct attached, a)->nr_detached++;
}

static void pieces_are_found_where_all_of_them_is_registered(void **state)
{
	struct mem_regions r = { 0 };
	int i;

	for (i = 15; i >= 0; i--) /* with gaps of the same length */
		assert_int_equal(mem_regions_add(&r, mem + i * 8192, 4096), 0);
	for (i = 0; i < 16; i++) {
		char *at = mem + i * 8192;

		assert_ptr_equal(mem_regions_find(&r, at, 4096)->start, at);
		assert_ptr_equal(mem_regions_find(&r, at + 4095, 1)->start, at);
		assert_null(mem_regions_find(&r, at + 4095, 2));
		assert_null(mem_regions_find(&r, at - 1, 2));
		assert_null(mem_regions_find(&r, at + 4096, 1));
		assert_null(mem_regions_find(&r, at, SIZE_MAX));
	}
	assert_null(mem_regions_find(&r, mem - 1, 1));
	mem_regions_free(&r);
}

static void overlaps_and_nonsense_are_refused(void **state)
{
	struct mem_regions r = { 0 };

	assert_int_equal(mem_regions_add(&r, mem, 0), -EINVAL);
	assert_int_equal(mem_regions_add(&r, mem, SIZE_MAX), -EINVAL);
	assert_int_equal(mem_regions_add(&r, mem, 4096), 0);
	assert_int_equal(mem_regions_add(&r, mem, 4096), -EEXIST);
	assert_int_equal(mem_regions_add(&r, mem + 4095, 4096), -EEXIST);
	assert_int_equal(mem_regions_add(&r, mem - 4096, 4097), -EEXIST);
	assert_int_equal(mem_regions_add(&r, mem - 4096, 16384), -EEXIST);
	assert_int_equal(mem_regions_add(&r, mem + 4096, 4096), 0);
	assert_int_equal(mem_regions_add(&r, mem - 4096, 4096), 0);
	mem_regions_free(&r);
}

static void what_is_in_use_stays(void **state)
{
	struct mem_regions r = { 0 };
	struct mem_region *m;

	assert_int_equal(mem_regions_remove(&r, mem), -ENOENT);
	assert_int_equal(mem_regions_add(&r, mem, 4096), 0);
	assert_int_equal(mem_regions_remove(&r, mem + 1), -ENOENT);
	m = mem_regions_find(&r, mem, 1);
	m->nr_users++;
	assert_int_equal(mem_regions_remove(&r, mem), -EBUSY);
	m->nr_users--;
	assert_int_equal(mem_regions_remove(&r, mem), 0);
	assert_null(mem_regions_find(&r, mem, 1));
	mem_regions_free(&r);
}

static void what_is_attached_is_undone_once(void **state)
{
	struct attached a = { .a = { .owner = &a, .detach = detach } }, b = { .a = { .owner = &b, .detach = detach } };
	struct mem_regions r = { 0 };
	struct mem_region *m;

	assert_int_equal(mem_regions_add(&r, mem, 4096), 0);
	m = mem_regions_find(&r, mem, 1);
	cds_list_add(&a.a.link, &m->attached);
	cds_list_add(&b.a.link, &m->attached);
	assert_ptr_equal(mem_region_attached(m, &b), &b.a);
	assert_null(mem_region_attached(m, &r));
	detach(&b.a);
	assert_int_equal(mem_regions_remove(&r, mem), 0);
	assert_int_equal(a.nr_detached, 1);
	assert_int_equal(b.nr_detached, 1);
	mem_regions_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_found_where_all_of_them_is_registered),
		cmocka_unit_test(overlaps_and_nonsense_are_refused),
		cmocka_unit_test(what_is_in_use_stays),
		cmocka_unit_test(what_is_attached_is_undone_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
