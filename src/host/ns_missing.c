/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/ns_missing.h"

#include <errno.h>

#include "host/ctrl.h"
#include "host/ns.h"
#include "host/ns_remove.h"
#include "host/ns_scan.h"
#include "host/ns_map.h"

#define LOOK_AGAIN_NS (100 * NSEC_PER_MSEC)

static void arm(struct nvof_ctrl *ctrl)
{
	if (!timer_armed(&ctrl->nss.again))
		timer_set(ctrl->loop, &ctrl->nss.again, clock_ns() + LOOK_AGAIN_NS);
}

void ns_miss(struct nvof_ns *ns, int status)
{
	struct nvof_ctrl *ctrl = ns->ctrl;
	char text[150];

	if (!ns->missing) {
		log_at(&ctrl->ctx->log, ns_in_use(ns) ? LOG_WARN : LOG_INFO,
		       "%s at %s: namespace %u is not there now (%s): its I/O waits for at most %u ms", ctrl->p.subsysnqn, ctrl->p.where,
		       ns->nsid, nvof_status_str(status, text, sizeof(text)), ctrl->p.remove_timeout_ms);
		ns->missing_since = clock_ns();
	}
	ns_set_missing(ns, true);
	arm(ctrl);
}

void ns_look_again(struct nvof_ctrl *ctrl)
{
	if (ctrl->nss.followed)
		ctrl->nss.look_again = true;
	arm(ctrl);
}

static void again(struct timer *t)
{
	struct nvof_ctrl *ctrl = container_of(t, struct nvof_ctrl, nss.again);
	uint64_t limit = ctrl->p.remove_timeout_ms * NSEC_PER_MSEC, now = clock_ns();
	bool missing = false;
	struct nvof_ns *ns;
	uint32_t nsid;

	if (ctrl->state != NVOF_CTRL_LIVE)
		return;
	for (nsid = 0; (ns = ns_map_after(ctrl, nsid)); nsid = ns->nsid) {
		if (ns->missing && now - ns->missing_since >= limit) {
			log_at(&ctrl->ctx->log, ns_in_use(ns) ? LOG_WARN : LOG_INFO,
			       "%s at %s: namespace %u did not come back: its I/O ends", ctrl->p.subsysnqn, ctrl->p.where, ns->nsid);
			ns_end(ns, -ENODEV);
			ns_remove(ns);
		}
		missing |= ns->missing;
	}
	if (ctrl->nss.look_again)
		ns_scan_want(ctrl, NS_WANT_LIST);
	else if (missing)
		ns_scan_want(ctrl, NS_WANT_MISSING);
	ctrl->nss.look_again = false;
}

void ns_missing_setup(struct nvof_ctrl *ctrl)
{
	timer_init(&ctrl->nss.again, again);
}

void ns_missing_stop(struct nvof_ctrl *ctrl)
{
	timer_cancel(ctrl->loop, &ctrl->nss.again);
}
