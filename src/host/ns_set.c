/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/ns_set.h"

#include <errno.h>

#include "host/ctrl.h"
#include "host/ns.h"
#include "host/ns_missing.h"
#include "host/ns_remove.h"
#include "host/ns_scan.h"
#include "host/ns_map.h"

void ns_set_init(struct nvof_ctrl *ctrl)
{
	CDS_INIT_LIST_HEAD(&ctrl->nss.opened);
	ns_scan_setup(ctrl);
	ns_missing_setup(ctrl);
	ns_remove_setup(ctrl);
}

static void free_list(struct nvof_ctrl *ctrl, struct cds_list_head *list)
{
	while (!cds_list_empty(list)) {
		struct nvof_ns *ns = cds_list_first_entry(list, struct nvof_ns, link);

		cds_list_del(&ns->link);
		timer_cancel(ctrl->loop, &ns->overdue);
		ns_free(ns);
	}
}

void ns_set_free(struct nvof_ctrl *ctrl)
{
	struct ns_set *nss = &ctrl->nss;
	struct nvof_ns *ns;
	uint32_t nsid;

	ns_scan_free(ctrl);
	ns_missing_stop(ctrl);
	loop_defer_cancel(&nss->begun_work);
	for (nsid = 0; (ns = ns_map_after(ctrl, nsid)); nsid = ns->nsid) {
		ns_map_remove(ctrl, ns);
		if (!ns->removing)
			cds_list_add_tail(&ns->link, &nss->ended);
	}
	ns_map_wait(ctrl);
	free_list(ctrl, &nss->removing);
	free_list(ctrl, &nss->ended);
	ns_map_free(ctrl);
}

void ns_set_cancel(struct nvof_ctrl *ctrl)
{
	struct nvof_ns *ns;

	ns_scan_end(ctrl, -ECANCELED);
	cds_list_for_each_entry (ns, &ctrl->nss.removing, link) {
		nvof_ns_removed_cb *cb = ns->remove_cb;

		ns->remove_cb = NULL;
		if (cb)
			cb(ns->remove_arg, -ECANCELED);
	}
}
