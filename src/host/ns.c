/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/ns.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "host/ctrl.h"
#include "host/held.h"
#include "host/mpath.h"

static void quiet(struct loop_defer *d);

struct nvof_ns *ns_new(struct nvof_ctrl *ctrl, uint32_t nsid)
{
	struct nvof_ns *ns = calloc(1, sizeof(*ns));

	if (!ns)
		return NULL;
	ns->ctrl = ctrl;
	ns->nsid = nsid;
	ns->nsid_le = htole32(nsid);
	CDS_INIT_LIST_HEAD(&ns->waiters);
	loop_defer_init(&ns->quiet_work, quiet);
	return ns;
}

void ns_free(struct nvof_ns *ns)
{
	if (ns)
		loop_defer_cancel(&ns->quiet_work);
	free(ns);
}

bool ns_same(const struct nvof_ns *a, const struct nvof_ns *b)
{
	return a->shift == b->shift && !memcmp(a->uuid, b->uuid, sizeof(a->uuid)) && !memcmp(a->nguid, b->nguid, sizeof(a->nguid)) &&
	       !memcmp(a->eui64, b->eui64, sizeof(a->eui64));
}

bool ns_take_over(struct nvof_ns *ns, const struct nvof_ns *fresh)
{
	bool resized = ns->nr_blocks != fresh->nr_blocks;

	ns->id = fresh->id;
	ns->max_nlb = fresh->max_nlb;
	ns->max_zeroes_nlb = fresh->max_zeroes_nlb;
	ns->max_verify_nlb = fresh->max_verify_nlb;
	__atomic_store_n(&ns->nr_blocks, fresh->nr_blocks, __ATOMIC_RELAXED);
	return resized;
}

/* ---- what is under way ---- */

static bool is_quiet(const struct nvof_ns *ns)
{
	return ns->nr_inflight == ns->nr_held && (!ns->end_status || !(ns->nr_held | ns->nr_splits));
}

void ns_look(struct nvof_ns *ns)
{
	if (is_quiet(ns))
		loop_defer(ns->ctrl->loop, &ns->quiet_work);
}

static void quiet(struct loop_defer *d)
{
	struct nvof_ns *ns = container_of(d, struct nvof_ns, quiet_work);

	/* A waiter may end the namespace, which is quieter than quiet. */
	while (!cds_list_empty(&ns->waiters) && is_quiet(ns)) {
		struct ns_wait *w = cds_list_first_entry(&ns->waiters, struct ns_wait, link);
		bool last;

		ns_wait_cancel(ns, w);
		last = cds_list_empty(&ns->waiters);
		w->fn(w); /* may have freed ns, when nobody else waits */
		if (last)
			return;
	}
}

void ns_wait_quiet(struct nvof_ns *ns, struct ns_wait *w, void (*fn)(struct ns_wait *w))
{
	w->fn = fn;
	w->on = true;
	cds_list_add_tail(&w->link, &ns->waiters);
	ns->waited_for = true;
	ns_look(ns);
}

void ns_wait_cancel(struct nvof_ns *ns, struct ns_wait *w)
{
	if (!w->on)
		return;
	w->on = false;
	cds_list_del(&w->link);
	ns->waited_for = !cds_list_empty(&ns->waiters);
}

static void set_hold(struct nvof_ns *ns)
{
	ns->hold = !ns->end_status && (ns->nr_looks || ns->missing);
	if (ns->hold)
		return;
	if (ns->nr_held)
		loop_defer(ns->ctrl->loop, &ns->ctrl->held.work);
	if (ns->pn)
		mpath_kick(ns->pn->path->s);
}

void ns_hold(struct nvof_ns *ns)
{
	ns->nr_looks++;
	set_hold(ns);
}

void ns_unhold(struct nvof_ns *ns)
{
	ns->nr_looks--;
	set_hold(ns);
}

bool ns_in_use(const struct nvof_ns *ns)
{
	const struct nvof_ns *shared = ns->pn ? &ns->pn->head->ns : NULL;

	/* Each look has a handle, too. */
	if (ns->nr_inflight || __atomic_load_n(&ns->nr_handles, __ATOMIC_RELAXED) > ns->nr_looks)
		return true;
	return shared && (shared->nr_inflight || __atomic_load_n(&shared->nr_handles, __ATOMIC_RELAXED));
}

void ns_set_missing(struct nvof_ns *ns, bool missing)
{
	ns->missing = missing;
	set_hold(ns);
}

/* ---- handles ---- */

void nvof_ns_ref(struct nvof_ns *ns)
{
	ns_ref(ns);
}

void nvof_ns_close(struct nvof_ns *ns)
{
	/* The memory is the ctrl's: it goes with the next change, see ns_reap(). */
	if (ns)
		__atomic_sub_fetch(&ns->nr_handles, 1, __ATOMIC_RELEASE);
}

uint32_t nvof_ns_nsid(const struct nvof_ns *ns)
{
	return ns->nsid;
}

uint32_t nvof_ns_block_size(const struct nvof_ns *ns)
{
	return 1u << ns->shift;
}

uint64_t nvof_ns_nr_blocks(const struct nvof_ns *ns)
{
	return __atomic_load_n(&ns->nr_blocks, __ATOMIC_RELAXED);
}

int nvof_ns_status(const struct nvof_ns *ns)
{
	return __atomic_load_n(&ns->end_status, __ATOMIC_RELAXED);
}

const struct nvme_id_ns *nvof_ns_id(const struct nvof_ns *ns)
{
	return &ns->id;
}

void nvof_ns_uuid(const struct nvof_ns *ns, uint8_t uuid[16])
{
	memcpy(uuid, ns->uuid, 16);
}

void nvof_ns_nguid(const struct nvof_ns *ns, uint8_t nguid[16])
{
	memcpy(nguid, ns->nguid, 16);
}

void nvof_ns_eui64(const struct nvof_ns *ns, uint8_t eui64[8])
{
	memcpy(eui64, ns->eui64, 8);
}
