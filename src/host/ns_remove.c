/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/ns_remove.h"

#include <errno.h>

#include "host/ctrl.h"
#include "host/hctx.h"
#include "host/ns.h"
#include "host/ns_map.h"
#include "host/split.h"

static void removed(struct ns_wait *w);

void ns_end(struct nvof_ns *ns, int status)
{
	if (ns->end_status)
		return;
	__atomic_store_n(&ns->end_status, status, __ATOMIC_RELAXED);
	__atomic_store_n(&ns->nr_blocks, 0, __ATOMIC_RELAXED);
	ns->hold = ns->missing = false;
	ns_map_remove(ns->ctrl, ns);
}

static void tell(struct nvof_ns *ns)
{
	struct nvof_event event = { .type = NVOF_EVENT_NS_REMOVED, .nsid = ns->nsid, .ns = ns };

	if (ns->told)
		return;
	ns->told = true;
	ctrl_tell(ns->ctrl, &event);
}

/* What waits and was not sent. */
static void end_waiting(struct nvof_ns *ns)
{
	struct nvof_ctrl *ctrl = ns->ctrl;
	int status = ctrl->state == NVOF_CTRL_DELETING ? -ECANCELED : ns->end_status;
	uint32_t i;

	held_end(ctrl, ns, status);
	for (i = 0; i < ctrl->nr_hctx && ns->nr_splits; i++)
		split_end_stalled(ctrl->hctxs[i], ns, status);
}

static void overdue(struct timer *t)
{
	struct nvof_ns *ns = container_of(t, struct nvof_ns, overdue);
	struct nvof_ctrl *ctrl = ns->ctrl;

	if (ctrl->state == NVOF_CTRL_LIVE) {
		ns_abort(ns);
		return;
	}
	if (ctrl->state != NVOF_CTRL_DELETING)
		return; /* the loss of its queues ends it */
	log_warn(&ctrl->ctx->log, "%s at %s: I/O of namespace %u did not end within %u ms: it is aborted with the queues",
		 ctrl->p.subsysnqn, ctrl->p.where, ns->nsid, ctrl->p.remove_timeout_ms);
	ctrl_stop_io(ctrl, -ECANCELED);
}

/* Those that began in this turn are out of the table: now nobody can come upon them any more. */
static void begun(struct loop_defer *d)
{
	struct nvof_ctrl *ctrl = container_of(d, struct nvof_ctrl, nss.begun_work);
	struct ns_set *nss = &ctrl->nss;
	CDS_LIST_HEAD(list);
	struct nvof_ns *ns;

	ns_map_wait(ctrl);
	cds_list_splice(&nss->begun, &list);
	CDS_INIT_LIST_HEAD(&nss->begun);
	cds_list_for_each_entry (ns, &list, begun_link)
		tell(ns);
	while (!cds_list_empty(&list)) {
		ns = cds_list_first_entry(&list, struct nvof_ns, begun_link);
		cds_list_del(&ns->begun_link);
		end_waiting(ns);
		timer_set(ctrl->loop, &ns->overdue, clock_ns() + ctrl->p.remove_timeout_ms * NSEC_PER_MSEC);
		ns_wait_quiet(ns, &ns->remove_wait, removed);
	}
}

static void remove_start(struct async_op *op)
{
	struct nvof_ns *ns = container_of(op, struct nvof_ns, remove_op);
	struct ns_set *nss = &ns->ctrl->nss;

	ns_end(ns, -ENODEV);
	cds_list_add_tail(&ns->begun_link, &nss->begun);
	loop_defer(ns->ctrl->loop, &nss->begun_work);
}

static void removed(struct ns_wait *w)
{
	struct nvof_ns *ns = container_of(w, struct nvof_ns, remove_wait);
	struct nvof_ctrl *ctrl = ns->ctrl;
	nvof_ns_removed_cb *cb = ns->remove_cb;
	void *arg = ns->remove_arg;

	timer_cancel(ctrl->loop, &ns->overdue);
	log_info(&ctrl->ctx->log, "%s at %s: namespace %u is removed", ctrl->p.subsysnqn, ctrl->p.where, ns->nsid);
	ns->remove_cb = NULL;
	cds_list_del(&ns->link);
	cds_list_add_tail(&ns->link, &ctrl->nss.ended);
	if (cb)
		cb(arg, 0);
	async_op_end(&ns->remove_op, NULL);
	ns_reap(ctrl);
}

void ns_remove(struct nvof_ns *ns)
{
	struct ns_set *nss = &ns->ctrl->nss;

	if (ns->removing)
		return;
	ns->removing = true;
	ns->remove_op.start = remove_start;
	timer_init(&ns->overdue, overdue);
	cds_list_add_tail(&ns->link, &nss->removing);
	async_domain_add(&nss->removal, &ns->remove_op);
}

void ns_remove_all(struct nvof_ctrl *ctrl)
{
	struct nvof_ns *ns;
	uint32_t nsid;

	if (ctrl->nss.closing)
		return;
	ctrl->nss.closing = true;
	for (nsid = 0; (ns = ns_map_after(ctrl, nsid)); nsid = ns->nsid)
		ns_remove(ns);
	async_domain_close(&ctrl->nss.removal);
}

static void all_removed(struct async_domain *domain)
{
	ctrl_namespaces_gone(container_of(domain, struct nvof_ctrl, nss.removal));
}

void ns_reap(struct nvof_ctrl *ctrl)
{
	struct nvof_ns *ns, *next;

	cds_list_for_each_entry_safe (ns, next, &ctrl->nss.ended, link) {
		if (__atomic_load_n(&ns->nr_handles, __ATOMIC_ACQUIRE) || !cds_list_empty(&ns->waiters) || ns->aborting)
			continue;
		cds_list_del(&ns->link);
		async_domain_forget(&ns->remove_op);
		ns_free(ns);
	}
}

int nvof_ns_remove(struct nvof_ns *ns, nvof_ns_removed_cb *cb, void *arg)
{
	if (!ns->ctrl)
		return -EINVAL;
	if (ns->end_status || ns->removing)
		return -ENODEV;
	if (ns->ctrl->nss.closing || ns->ctrl->freeing)
		return -ENOTCONN;
	ns->remove_cb = cb;
	ns->remove_arg = arg;
	ns->ctrl->nss.let_go = ns->ctrl->nss.nr_asked;
	ns_end(ns, -ENODEV);
	ns_remove(ns);
	return 0;
}

void ns_remove_setup(struct nvof_ctrl *ctrl)
{
	struct ns_set *nss = &ctrl->nss;

	async_domain_init(&nss->removal, ctrl->p.removal_concurrency, all_removed);
	CDS_INIT_LIST_HEAD(&nss->removing);
	CDS_INIT_LIST_HEAD(&nss->begun);
	CDS_INIT_LIST_HEAD(&nss->ended);
	loop_defer_init(&nss->begun_work, begun);
}
