/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/mem_regions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The first region that begins behind addr. */
static uint32_t after(const struct mem_regions *r, uintptr_t addr)
{
	uint32_t lo = 0, hi = r->nr;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (r->sorted[mid]->start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void region_free(struct mem_region *m)
{
	struct mem_attach *a, *next;

	cds_list_for_each_entry_safe (a, next, &m->attached, link)
		a->detach(a);
	free(m);
}

void mem_regions_free(struct mem_regions *r)
{
	while (r->nr)
		region_free(r->sorted[--r->nr]);
	free(r->sorted);
	memset(r, 0, sizeof(*r));
}

static int grow(struct mem_regions *r)
{
	uint32_t room = r->room ? r->room * 2 : 8;
	struct mem_region **sorted;

	if (r->nr < r->room)
		return 0;
	sorted = realloc(r->sorted, room * sizeof(struct mem_region *));
	if (!sorted)
		return -ENOMEM;
	r->sorted = sorted;
	r->room = room;
	return 0;
}

int mem_regions_add(struct mem_regions *r, const void *addr, size_t len)
{
	uintptr_t start = (uintptr_t)addr;
	uint32_t i = after(r, start);
	struct mem_region *m;

	if (!len || start + len < start)
		return -EINVAL;
	if ((i && r->sorted[i - 1]->start + r->sorted[i - 1]->len > start) || (i < r->nr && r->sorted[i]->start < start + len))
		return -EEXIST;
	m = calloc(1, sizeof(*m));
	if (!m || grow(r)) {
		free(m);
		return -ENOMEM;
	}
	m->start = start;
	m->len = len;
	CDS_INIT_LIST_HEAD(&m->attached);
	memmove(&r->sorted[i + 1], &r->sorted[i], (r->nr - i) * sizeof(struct mem_region *));
	r->sorted[i] = m;
	r->nr++;
	return 0;
}

int mem_regions_remove(struct mem_regions *r, const void *addr)
{
	uint32_t i = after(r, (uintptr_t)addr);
	struct mem_region *m = i ? r->sorted[i - 1] : NULL;

	if (!m || m->start != (uintptr_t)addr)
		return -ENOENT;
	if (m->nr_users)
		return -EBUSY;
	memmove(&r->sorted[i - 1], &r->sorted[i], (r->nr - i) * sizeof(struct mem_region *));
	r->nr--;
	region_free(m);
	return 0;
}

struct mem_region *mem_regions_find(const struct mem_regions *r, const void *addr, size_t len)
{
	uint32_t i = after(r, (uintptr_t)addr);
	struct mem_region *m = i ? r->sorted[i - 1] : NULL;

	return m && mem_region_holds(m, addr, len) ? m : NULL;
}
