/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that its owner promises to keep until further notice: what is done for a piece of memory once and used many times (registering it
 * with a device) can be attached to such a region, and is undone when the region goes.
 *
 * Regions don't overlap.  A table belongs to one thread.
 */
#ifndef NVOF_BASE_MEM_REGIONS_H
#define NVOF_BASE_MEM_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <urcu/list.h>

struct mem_region {
	uintptr_t start;
	size_t len;
	uint32_t nr_users;	       /* kept by whoever uses it now; a region in use does not go */
	struct cds_list_head attached; /* mem_attach.link */
};

struct mem_attach {
	const void *owner; /* one attachment of an owner per region */
	/* The region goes: undo it, and take it off the list. */
	void (*detach)(struct mem_attach *a);
	struct cds_list_head link;
};

struct mem_regions {
	struct mem_region **sorted; /* by start */
	uint32_t nr, room;
};

void mem_regions_free(struct mem_regions *r); /* detaches what is left */
/* 0; -EINVAL: no bytes, or they wrap; -EEXIST: overlaps another; -ENOMEM. */
int mem_regions_add(struct mem_regions *r, const void *addr, size_t len);
/* addr: as it was added.  0; -ENOENT; -EBUSY: it is in use. */
int mem_regions_remove(struct mem_regions *r, const void *addr);
/* The region that holds all of it; NULL: there is none. */
struct mem_region *mem_regions_find(const struct mem_regions *r, const void *addr, size_t len);

static inline bool mem_region_holds(const struct mem_region *m, const void *addr, size_t len)
{
	uintptr_t start = (uintptr_t)addr;

	return start >= m->start && start - m->start <= m->len && len <= m->len - (start - m->start);
}

/* While somebody keeps it it does not go. */
static inline struct mem_region *mem_region_keep(struct mem_region *m)
{
	m->nr_users++;
	return m;
}
static inline void mem_region_drop(struct mem_region **m)
{
	(*m)->nr_users--;
	*m = NULL;
}

static inline struct mem_attach *mem_region_attached(const struct mem_region *m, const void *owner)
{
	struct mem_attach *a;

	cds_list_for_each_entry (a, &m->attached, link)
		if (a->owner == owner)
			return a;
	return NULL;
}

#endif
