/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/ns_hush.h"

#include "host/ctrl.h"
#include "host/ns_map.h"

/* A slow disk must not keep a change of size from being seen. */
#define QUIET_NS (1 * NSEC_PER_SEC)

/* Unless the next one has come under the id meanwhile. */
static void go_on(struct ns_hush *h)
{
	struct nvof_ns *ns = h->ns, *now = ns_map_find(ns->ctrl, ns->nsid);

	if (now && now != ns)
		ns_hush(h, ns->ctrl, ns->nsid, h->ready);
	else
		h->ready(h);
}

static void now_quiet(struct ns_wait *w)
{
	struct ns_hush *h = container_of(w, struct ns_hush, wait);

	timer_cancel(h->ns->ctrl->loop, &h->timer);
	go_on(h);
}

static void quiet_enough(struct timer *t)
{
	struct ns_hush *h = container_of(t, struct ns_hush, timer);

	if (h->ns->end_status)
		return; /* its removal ends what is under way */
	ns_wait_cancel(h->ns, &h->wait);
	h->loud = true;
	go_on(h);
}

static struct nvof_ns *find_removing(struct nvof_ctrl *ctrl, uint32_t nsid)
{
	struct nvof_ns *ns;

	cds_list_for_each_entry (ns, &ctrl->nss.removing, link)
		if (ns->nsid == nsid && ns->nr_inflight != ns->nr_held)
			return ns;
	return NULL;
}

bool ns_hush(struct ns_hush *h, struct nvof_ctrl *ctrl, uint32_t nsid, void (*ready)(struct ns_hush *h))
{
	struct nvof_ns *ns = ns_map_find(ctrl, nsid);

	if (!ns)
		ns = find_removing(ctrl, nsid);
	ns_hush_hold(h, ns);
	if (!ns)
		return false;
	h->ready = ready;
	h->loud = false;
	if (ns->nr_inflight == ns->nr_held) {
		ready(h);
		return true;
	}
	timer_set(ctrl->loop, &h->timer, clock_ns() + QUIET_NS);
	ns_wait_quiet(ns, &h->wait, now_quiet);
	return true;
}

void ns_hush_hold(struct ns_hush *h, struct nvof_ns *ns)
{
	if (h->ns == ns)
		return;
	ns_hush_end(h);
	if (!ns)
		return;
	*h = (struct ns_hush){ .ns = ns };
	timer_init(&h->timer, quiet_enough);
	ns_ref(ns);
	ns_hold(ns);
}

void ns_hush_end(struct ns_hush *h)
{
	struct nvof_ns *ns = h->ns;

	if (!ns)
		return;
	h->ns = NULL;
	timer_cancel(ns->ctrl->loop, &h->timer);
	ns_wait_cancel(ns, &h->wait);
	ns_unhold(ns);
	nvof_ns_close(ns);
}
