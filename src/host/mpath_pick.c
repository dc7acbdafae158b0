/* SPDX-License-Identifier: BSD-3-Clause */
/* Which path an I/O takes.  A few plain loads for each path; no lock, no clock. */
#include "host/ctrl.h"
#include "host/mpath.h"

struct nvof_hctx *path_hctx(const struct path *p, uint32_t nr)
{
	const struct nvof_ctrl *ctrl = p->ctrl;

	if (likely(nr < ctrl->nr_hctx))
		return ctrl->hctxs[nr];
	return ctrl->nr_hctx ? ctrl->hctxs[nr % ctrl->nr_hctx] : NULL;
}

static inline bool has_room(const struct nvof_hctx *hctx)
{
	return hctx->tags->nr_busy < hctx->tags->limit;
}

/* A command would be on its way at once. */
static inline bool ready(const struct path_ns *pn, uint32_t nr, bool with_room)
{
	const struct nvof_hctx *hctx;

	if (pn->rank == PATH_UNUSABLE || pn->path->ctrl->state != NVOF_CTRL_LIVE || pn->ns->hold || pn->ns->end_status)
		return false;
	hctx = path_hctx(pn->path, nr);
	return hctx && hctx->live && !hctx->hold && (!with_room || has_room(hctx));
}

/* The first one, as long as it does.  A full one is not left: the caller waits for it, as with one path. */
static struct path_ns *pick_numa(const struct head *h, uint32_t nr)
{
	struct path_ns *second = NULL;
	uint32_t i;

	for (i = 0; i < h->nr_paths; i++) {
		struct path_ns *pn = h->paths[i];

		if (!ready(pn, nr, false))
			continue;
		if (pn->rank == PATH_OPTIMIZED)
			return pn;
		if (!second)
			second = pn;
	}
	return second;
}

static struct path_ns *pick_round_robin(struct head *h, uint32_t nr, bool with_room)
{
	struct path_ns *second = NULL;
	uint32_t i, at = h->next, second_at = 0;

	for (i = 0; i < h->nr_paths; i++) {
		struct path_ns *pn;

		if (at >= h->nr_paths)
			at = 0;
		pn = h->paths[at++];
		if (!ready(pn, nr, with_room))
			continue;
		if (pn->rank == PATH_OPTIMIZED) {
			h->next = at;
			return pn;
		}
		if (!second) {
			second = pn;
			second_at = at;
		}
	}
	if (second)
		h->next = second_at;
	return second;
}

static struct path_ns *pick_queue_depth(const struct head *h, uint32_t nr, bool with_room)
{
	struct path_ns *best = NULL;
	uint32_t i;

	for (i = 0; i < h->nr_paths; i++) {
		struct path_ns *pn = h->paths[i];

		if (!ready(pn, nr, with_room))
			continue;
		if (!best || pn->rank < best->rank || (pn->rank == best->rank && pn->path->nr_active < best->path->nr_active))
			best = pn;
	}
	return best;
}

struct path_ns *mpath_pick(struct head *h, uint32_t nr)
{
	struct path_ns *pn;

	switch (h->s->iopolicy) {
	case NVOF_IOPOLICY_ROUND_ROBIN:
		pn = pick_round_robin(h, nr, true);
		return likely(pn) ? pn : pick_round_robin(h, nr, false);
	case NVOF_IOPOLICY_QUEUE_DEPTH:
		pn = pick_queue_depth(h, nr, true);
		return likely(pn) ? pn : pick_queue_depth(h, nr, false);
	default:
		return pick_numa(h, nr);
	}
}
