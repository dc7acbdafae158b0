/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/ns_map.h"

#include <errno.h>
#include <stdlib.h>
#include <urcu/urcu-bp.h>

#include "base/tsan.h"
#include "host/ctrl.h"
#include "host/ns.h"

static struct nvof_ns *slot_ns(const struct ns_map_slot *slot)
{
	return __atomic_load_n(&slot->ns, __ATOMIC_ACQUIRE);
}

/* The place of nsid, or where it would be. */
static uint32_t map_pos(const struct ns_map *map, uint32_t nsid)
{
	uint32_t lo = 0, hi = map->nr;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (map->slots[mid].nsid < nsid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct nvof_ns *map_find(const struct ns_map *map, uint32_t nsid)
{
	uint32_t pos = map ? map_pos(map, nsid) : 0;

	return map && pos < map->nr && map->slots[pos].nsid == nsid ? slot_ns(&map->slots[pos]) : NULL;
}

static struct nvof_ns *map_after(const struct ns_map *map, uint32_t nsid)
{
	struct nvof_ns *ns;
	uint32_t pos;

	if (!map || nsid == UINT32_MAX)
		return NULL;
	for (pos = map_pos(map, nsid + 1); pos < map->nr; pos++) {
		ns = slot_ns(&map->slots[pos]);
		if (ns)
			return ns;
	}
	return NULL;
}

struct nvof_ns *ns_map_find(const struct nvof_ctrl *ctrl, uint32_t nsid)
{
	return map_find(ctrl->nss.map, nsid);
}

struct nvof_ns *ns_map_after(const struct nvof_ctrl *ctrl, uint32_t nsid)
{
	return map_after(ctrl->nss.map, nsid);
}

size_t ns_map_room(const struct nvof_ctrl *ctrl)
{
	return ctrl->nss.map ? ctrl->nss.map->nr : 0;
}

/* Slots that were cleared are left out. */
static void map_merge(struct ns_map *map, const struct ns_map *old, struct nvof_ns *const *fresh, size_t nr)
{
	uint32_t i = 0, nr_old = old ? old->nr : 0;
	size_t k = 0;

	while (i < nr_old || k < nr) {
		struct ns_map_slot *slot = &map->slots[map->nr];

		if (k == nr || (i < nr_old && old->slots[i].nsid < fresh[k]->nsid)) {
			*slot = old->slots[i++];
		} else {
			/* An old slot of the same id is one that was cleared. */
			i += i < nr_old && old->slots[i].nsid == fresh[k]->nsid;
			*slot = (struct ns_map_slot){ .ns = fresh[k], .nsid = fresh[k]->nsid };
			k++;
		}
		map->nr += slot->ns != NULL;
	}
}

int ns_map_add(struct nvof_ctrl *ctrl, struct nvof_ns *const *fresh, size_t nr)
{
	struct ns_map *old = ctrl->nss.map, *map;

	if (!nr)
		return 0;
	/* One more: the merge writes a slot before it knows whether that counts. */
	map = calloc(1, sizeof(*map) + (ns_map_room(ctrl) + nr + 1) * sizeof(map->slots[0]));
	if (!map)
		return -ENOMEM;
	map_merge(map, old, fresh, nr);
	__atomic_store_n(&ctrl->nss.map, map, __ATOMIC_RELEASE);
	if (old)
		ns_map_wait(ctrl);
	free(old);
	return 0;
}

static void slot_set(struct nvof_ctrl *ctrl, const struct nvof_ns *old, struct nvof_ns *ns)
{
	struct ns_map *map = ctrl->nss.map;

	__atomic_store_n(&map->slots[map_pos(map, old->nsid)].ns, ns, __ATOMIC_RELEASE);
}

void ns_map_replace(struct nvof_ctrl *ctrl, const struct nvof_ns *old, struct nvof_ns *fresh)
{
	slot_set(ctrl, old, fresh);
}

void ns_map_remove(struct nvof_ctrl *ctrl, const struct nvof_ns *ns)
{
	if (ns_map_find(ctrl, ns->nsid) == ns)
		slot_set(ctrl, ns, NULL);
}

void ns_map_wait(struct nvof_ctrl *ctrl)
{
	urcu_bp_synchronize_rcu();
	tsan_acquire(ctrl);
}

void ns_map_free(struct nvof_ctrl *ctrl)
{
	free(ctrl->nss.map);
	ctrl->nss.map = NULL;
}

/* A handle to what find() finds, from any thread. */
static struct nvof_ns *map_get(struct nvof_ctrl *ctrl, uint32_t nsid, struct nvof_ns *(*find)(const struct ns_map *map, uint32_t nsid))
{
	struct nvof_ns *ns;

	urcu_bp_read_lock();
	ns = find(__atomic_load_n(&ctrl->nss.map, __ATOMIC_ACQUIRE), nsid);
	if (ns)
		ns_ref(ns);
	tsan_release(ctrl);
	urcu_bp_read_unlock();
	return ns;
}

struct nvof_ns *nvof_ns_get(struct nvof_ctrl *ctrl, uint32_t nsid)
{
	return map_get(ctrl, nsid, map_find);
}

struct nvof_ns *nvof_ns_next(struct nvof_ctrl *ctrl, uint32_t nsid)
{
	return map_get(ctrl, nsid, map_after);
}
