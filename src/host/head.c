/* SPDX-License-Identifier: BSD-3-Clause */
/* Which namespaces of several ctrls are one: those that say they are shared, with the same identifiers, none of them empty of any. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/ctrl.h"
#include "host/mpath.h"

#define NMIC_SHARED 1

static bool named(const struct nvof_ns *ns)
{
	static const uint8_t none[16];

	return memcmp(ns->uuid, none, 16) || memcmp(ns->nguid, none, 16) || memcmp(ns->eui64, none, 8);
}

static bool leads_to(const struct head *h, const struct path *p, const struct nvof_ns *ns)
{
	return ns_same(&h->ns, ns) && h->ns.csi == ns->csi && h->ns.id.nmic & ns->id.nmic & NMIC_SHARED && named(ns) && !head_path(h, p);
}

static struct head *find(const struct path *p, const struct nvof_ns *ns)
{
	struct head *h;

	cds_list_for_each_entry (h, &p->s->heads, link)
		if (leads_to(h, p, ns))
			return h;
	return NULL;
}

struct path_ns *head_path(const struct head *h, const struct path *p)
{
	uint32_t i;

	for (i = 0; i < h->nr_paths; i++)
		if (h->paths[i]->path == p)
			return h->paths[i];
	return NULL;
}

/* By nsid; what has the same one comes behind. */
static void insert(struct nvof_subsystem *s, struct head *h)
{
	struct cds_list_head *at = s->heads.prev;

	while (at != &s->heads && cds_list_entry(at, struct head, link)->ns.nsid > h->ns.nsid)
		at = at->prev;
	cds_list_add(&h->link, at);
}

static struct head *head_new(struct nvof_subsystem *s, const struct nvof_ns *ns)
{
	struct head *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->s = s;
	h->ns.nsid = ns->nsid;
	h->ns.nsid_le = ns->nsid_le;
	h->ns.shift = ns->shift;
	h->ns.nr_blocks = ns->nr_blocks;
	h->ns.max_nlb = UINT32_MAX; /* the path's counts */
	h->ns.id = ns->id;
	h->ns.csi = ns->csi;
	memcpy(h->ns.uuid, ns->uuid, sizeof(ns->uuid));
	memcpy(h->ns.nguid, ns->nguid, sizeof(ns->nguid));
	memcpy(h->ns.eui64, ns->eui64, sizeof(ns->eui64));
	CDS_INIT_LIST_HEAD(&h->ns.waiters);
	insert(s, h);
	return h;
}

static void head_free(struct head *h)
{
	cds_list_del(&h->link);
	free(h->paths);
	free(h);
}

/* In the order of the subsystem's paths, whichever knew of it first. */
static void put_in_order(struct head *h, struct path_ns *pn)
{
	uint32_t i = 0;
	struct path *p;

	cds_list_for_each_entry (p, &h->s->paths, link) {
		if (p == pn->path)
			break;
		i += head_path(h, p) != NULL;
	}
	memmove(&h->paths[i + 1], &h->paths[i], (h->nr_paths - i) * sizeof(struct path_ns *));
	h->paths[i] = pn;
	h->nr_paths++;
}

static bool add_path(struct head *h, struct path *p, struct nvof_ns *ns)
{
	struct path_ns **paths = reallocarray(h->paths, h->nr_paths + 1, sizeof(struct path_ns *));
	struct path_ns *pn = calloc(1, sizeof(*pn));

	if (paths)
		h->paths = paths;
	if (!paths || !pn) {
		free(pn);
		return false;
	}
	pn->path = p;
	pn->head = h;
	pn->ns = ns;
	put_in_order(h, pn);
	ns->pn = pn;
	path_ns_init_state(pn);
	return true;
}

void head_attach(struct path *p, struct nvof_ns *ns)
{
	struct head *h;
	bool fresh = false;

	if (ns->pn || ns->end_status)
		return;
	h = find(p, ns);
	if (!h) {
		h = head_new(p->s, ns);
		fresh = true;
	}
	if (!h || !add_path(h, p, ns)) {
		log_warn(&p->s->ctx->log, "%s at %s: namespace %u: no memory for a path to it", p->s->nqn, p->ctrl->p.where, ns->nsid);
		if (h && fresh)
			head_free(h);
		return;
	}
	head_resized(h);
	subsystem_tell(p->s, fresh ? NVOF_EVENT_NS_ADDED : NVOF_EVENT_PATHS, h);
	mpath_kick(p->s);
}

/* Its last path is gone, and no other one comes. */
static void head_end(struct head *h)
{
	__atomic_store_n(&h->ns.end_status, -ENODEV, __ATOMIC_RELAXED);
	__atomic_store_n(&h->ns.nr_blocks, 0, __ATOMIC_RELAXED);
	cds_list_del(&h->link);
	cds_list_add_tail(&h->link, &h->s->ended);
	subsystem_tell(h->s, NVOF_EVENT_NS_REMOVED, h);
}

void head_detach(struct nvof_ns *ns)
{
	struct path_ns *pn = ns->pn;
	struct head *h;
	uint32_t i;

	if (!pn)
		return;
	h = pn->head;
	ns->pn = NULL;
	for (i = 0; h->paths[i] != pn; i++)
		;
	h->nr_paths--;
	memmove(&h->paths[i], &h->paths[i + 1], (h->nr_paths - i) * sizeof(struct path_ns *));
	free(pn);
	mpath_kick(h->s);
	if (!h->nr_paths) {
		heads_end_lost(h->s);
		return;
	}
	head_resized(h);
	subsystem_tell(h->s, NVOF_EVENT_PATHS, h);
}

bool heads_may_get_paths(const struct nvof_subsystem *s)
{
	struct path *p;

	cds_list_for_each_entry (p, &s->paths, link)
		if (p->starting)
			return true;
	return false;
}

void heads_end_lost(struct nvof_subsystem *s)
{
	struct head *h, *next;

	if (heads_may_get_paths(s))
		return;
	cds_list_for_each_entry_safe (h, next, &s->heads, link)
		if (!h->nr_paths)
			head_end(h);
}

/* What all paths have: one that does not know yet refuses what is beyond. */
void head_resized(struct head *h)
{
	uint64_t nr_blocks = UINT64_MAX;
	uint32_t i;

	for (i = 0; i < h->nr_paths; i++)
		nr_blocks = min_u64(nr_blocks, h->paths[i]->ns->nr_blocks);
	if (!h->nr_paths || nr_blocks == h->ns.nr_blocks)
		return;
	__atomic_store_n(&h->ns.nr_blocks, nr_blocks, __ATOMIC_RELAXED);
	h->ns.id.nsze = htole64(nr_blocks);
	subsystem_tell(h->s, NVOF_EVENT_NS_RESIZED, h);
}

void heads_reap(struct nvof_subsystem *s)
{
	struct head *h, *next;

	cds_list_for_each_entry_safe (h, next, &s->ended, link)
		if (!__atomic_load_n(&h->ns.nr_handles, __ATOMIC_ACQUIRE) && !h->ns.nr_inflight)
			head_free(h);
}

void heads_free(struct nvof_subsystem *s)
{
	struct head *h, *next;

	cds_list_for_each_entry_safe (h, next, &s->ended, link)
		head_free(h);
}

/* ---- for users ---- */

/* Of those that have first's id the one that the earliest path leads to: which answered first must not decide. */
static struct nvof_ns *take_earliest(struct nvof_subsystem *s, struct head *first)
{
	struct head *h, *found = first;
	struct path *p;

	cds_list_for_each_entry (p, &s->paths, link) {
		h = first;
		while (&h->link != &s->heads && h->ns.nsid == first->ns.nsid && !head_path(h, p))
			h = cds_list_entry(h->link.next, struct head, link);
		if (&h->link != &s->heads && h->ns.nsid == first->ns.nsid) {
			found = h;
			break;
		}
	}
	ns_ref(&found->ns);
	return &found->ns;
}

struct nvof_ns *nvof_subsystem_ns(struct nvof_subsystem *s, uint32_t nsid)
{
	struct head *h;

	cds_list_for_each_entry (h, &s->heads, link)
		if (h->ns.nsid == nsid)
			return take_earliest(s, h);
	return NULL;
}

struct nvof_ns *nvof_subsystem_ns_next(struct nvof_subsystem *s, uint32_t nsid)
{
	struct head *h;

	cds_list_for_each_entry (h, &s->heads, link)
		if (h->ns.nsid > nsid)
			return take_earliest(s, h);
	return NULL;
}

bool nvof_ns_path(const struct nvof_ns *ns, unsigned int i, struct nvof_path *info)
{
	const struct head *h = container_of(ns, const struct head, ns);
	const struct path_ns *pn;

	if (ns->ctrl || i >= h->nr_paths)
		return false;
	pn = h->paths[i];
	path_info(pn->path, info);
	info->ns = pn->ns;
	info->ana_state = pn->ana_state;
	info->usable &= pn->rank != PATH_UNUSABLE && !pn->ns->end_status;
	return true;
}
