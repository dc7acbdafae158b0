/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The namespaces of a ctrl by their ids.  Any thread may look one up; only the thread of the ctrl's loop changes the table.
 *
 * Readers are inside RCU (liburcu's bp flavour: any thread of the application may read without a word before).  A namespace is taken out
 * by clearing its slot, so that it never fails; new ones come with a new table.  The memory of what was taken out is freed after a grace
 * period, when nobody has a handle any more.
 */
#ifndef NVOF_HOST_NS_MAP_H
#define NVOF_HOST_NS_MAP_H

#include <stddef.h>
#include <stdint.h>

struct nvof_ctrl;
struct nvof_ns;

struct ns_map_slot {
	struct nvof_ns *ns; /* NULL: taken out */
	uint32_t nsid;
};

/* Sorted by nsid. */
struct ns_map {
	uint32_t nr;
	struct ns_map_slot slots[];
};

/* On the ctrl's thread.  NULL: there is none. */
struct nvof_ns *ns_map_find(const struct nvof_ctrl *ctrl, uint32_t nsid);
/* The first one with an id above nsid; NULL: there is none. */
struct nvof_ns *ns_map_after(const struct nvof_ctrl *ctrl, uint32_t nsid);
/* How many ids there is room for: at least as many as there are namespaces. */
size_t ns_map_room(const struct nvof_ctrl *ctrl);

/* Adds nr namespaces, sorted, whose ids the table doesn't have.  0 or -ENOMEM: then none was added. */
int ns_map_add(struct nvof_ctrl *ctrl, struct nvof_ns *const *fresh, size_t nr);
void ns_map_replace(struct nvof_ctrl *ctrl, const struct nvof_ns *old, struct nvof_ns *fresh);
/* Fine when another one has its place. */
void ns_map_remove(struct nvof_ctrl *ctrl, const struct nvof_ns *ns);
/* After it nobody finds any more what was replaced or removed before. */
void ns_map_wait(struct nvof_ctrl *ctrl);
/* Of a ctrl that nobody looks at any more. */
void ns_map_free(struct nvof_ctrl *ctrl);

#endif
