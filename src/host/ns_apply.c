/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/ns_apply.h"

#include <errno.h>
#include <stdlib.h>

#include "host/ctrl.h"
#include "host/ns.h"
#include "host/ns_hush.h"
#include "host/ns_identify.h"
#include "host/ns_missing.h"
#include "host/ns_open.h"
#include "host/ns_remove.h"
#include "host/ns_scan_ops.h"
#include "host/ns_map.h"

/* Other looks may be under way. */
static void hold_for_others(struct nvof_ns *ns)
{
	ns_open_hold(ns);
	if (ns->ctrl->nss.scan)
		ns_scan_hold(ns->ctrl->nss.scan, ns);
}

static void hush_end(struct ns_found *found)
{
	if (found->hush)
		ns_hush_end(found->hush);
}

bool ns_confirm(struct nvof_ctrl *ctrl, struct ns_found *found)
{
	struct nvof_ns *ns = ns_map_find(ctrl, found->nsid);
	bool late = ns && ns->asked > found->asked; /* another look knows better */

	if (!ns || (!late && (found->status || !ns_same(ns, found->fresh))))
		return false;
	if (!late) {
		found->resized = ns_take_over(ns, found->fresh);
		ns->asked = found->asked;
		ns_set_missing(ns, false);
	}
	found->status = 0;
	found->confirmed = true;
	ns_free(found->fresh);
	found->fresh = NULL;
	hush_end(found);
	return true;
}

static void end_old(struct nvof_ctrl *ctrl, struct ns_found *found, struct nvof_ns *old, int status)
{
	bool used = ns_in_use(old);

	log_at(&ctrl->ctx->log, used ? LOG_WARN : LOG_INFO, "%s at %s: namespace %u is %s%s", ctrl->p.subsysnqn, ctrl->p.where, old->nsid,
	       status == -ESTALE ? "another one now" : "gone", used ? ": its I/O ends" : "");
	found->old = old;
	old->told = true; /* by tell(), in order */
	ns_end(old, status);
}

/* It can't be said what is under this id now. */
static void unknown(struct nvof_ctrl *ctrl, struct ns_found *found, struct nvof_ns *old, enum ns_look look)
{
	bool passing = ns_status_passing(found->status);

	if (!old) {
		if (passing && look != NS_LOOK_OPEN)
			ns_look_again(ctrl);
		return;
	}
	if (found->status == -ESTALE) {
		end_old(ctrl, found, old, -ESTALE);
		if (look != NS_LOOK_OPEN)
			ns_look_again(ctrl); /* at the one that is there now */
	} else if (found->status == -ENODEV && look != NS_LOOK_RECONNECT && !old->missing) {
		end_old(ctrl, found, old, -ENODEV);
	} else if (found->status == -ENOTSUP || (found->status > 0 && !passing)) {
		end_old(ctrl, found, old, -ENODEV); /* what is not known to be the same is not written to */
	} else {
		ns_miss(old, found->status);
	}
}

/* True: found->fresh goes into the table as a new slot. */
static bool decide(struct nvof_ctrl *ctrl, struct ns_found *found, enum ns_look look)
{
	struct nvof_ns *old = ns_map_find(ctrl, found->nsid);

	if (found->confirmed || ns_confirm(ctrl, found)) {
		found->ns = old;
		return false;
	}
	if (found->status) {
		unknown(ctrl, found, old, look);
		return false;
	}
	if (!old && found->asked <= ctrl->nss.let_go) {
		ns_free(found->fresh);
		found->fresh = NULL;
		found->status = -EAGAIN;
		ns_look_again(ctrl);
		return false;
	}
	found->fresh->asked = found->asked;
	if (old) {
		/* First, so that nothing comes between: nobody finds nothing. */
		ns_map_replace(ctrl, old, found->fresh);
		hold_for_others(found->fresh);
		end_old(ctrl, found, old, -ESTALE);
		found->ns = found->fresh;
		return false;
	}
	return true;
}

static void tell(struct nvof_ctrl *ctrl, const struct ns_found *found)
{
	struct nvof_event event = { .nsid = found->nsid, .ns = found->ns, .old_ns = found->old };

	if (found->old && found->ns)
		event.type = NVOF_EVENT_NS_REPLACED;
	else if (found->old)
		event.type = NVOF_EVENT_NS_REMOVED;
	else if (found->added)
		event.type = NVOF_EVENT_NS_ADDED;
	else if (found->resized)
		event.type = NVOF_EVENT_NS_RESIZED;
	else
		return;
	if (event.type == NVOF_EVENT_NS_REMOVED) {
		event.ns = found->old;
		event.old_ns = NULL;
	}
	ctrl_tell(ctrl, &event);
}

/* All that are new come with one table. */
static void add(struct nvof_ctrl *ctrl, struct ns_found **adds, size_t nr, enum ns_look look)
{
	struct nvof_ns **fresh = calloc(nr, sizeof(*fresh));
	size_t i;
	int ret = -ENOMEM;

	if (fresh) {
		for (i = 0; i < nr; i++)
			fresh[i] = adds[i]->fresh;
		ret = ns_map_add(ctrl, fresh, nr);
	}
	for (i = 0; i < nr; i++) {
		if (ret) {
			ns_free(adds[i]->fresh);
			adds[i]->status = ret;
			ns_look_again(ctrl);
			continue;
		}
		adds[i]->ns = adds[i]->fresh;
		hold_for_others(adds[i]->ns);
		adds[i]->added = look != NS_LOOK_OPEN;
	}
	free(fresh);
}

void ns_apply(struct nvof_ctrl *ctrl, struct ns_found *found, size_t nr, enum ns_look look)
{
	struct ns_found *one, **adds = nr == 1 ? &one : calloc(nr ? nr : 1, sizeof(*adds));
	size_t i, nr_adds = 0;

	ns_reap(ctrl);
	for (i = 0; i < nr; i++) {
		if (!decide(ctrl, &found[i], look))
			continue;
		if (adds)
			adds[nr_adds++] = &found[i];
		else
			add(ctrl, (struct ns_found *[]){ &found[i] }, 1, look); /* no memory to do it better */
	}
	if (nr_adds)
		add(ctrl, adds, nr_adds, look);
	if (adds != &one)
		free(adds);
	/* Before the callbacks: one of them may begin to disconnect. */
	for (i = 0; i < nr; i++) {
		hush_end(&found[i]);
		if (found[i].old)
			ns_remove(found[i].old);
	}
	for (i = 0; i < nr; i++)
		tell(ctrl, &found[i]);
}
