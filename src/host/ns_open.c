/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/ns_open.h"

#include <errno.h>
#include <stdlib.h>

#include "host/admin.h"
#include "host/ctrl.h"
#include "host/ns.h"
#include "host/ns_apply.h"
#include "host/ns_hush.h"
#include "host/ns_identify.h"
#include "host/ns_map.h"
#include "host/ns_scan.h"

#define AGAIN_NS (5 * NSEC_PER_MSEC) /* the admin queue was full */

struct ns_open {
	struct cds_list_head link; /* ns_set.opened */
	struct nvof_ctrl *ctrl;
	uint32_t nsid;
	bool changed; /* while it was looked at: the answer may be of before that */
	bool again;   /* it is looked at for the second time */
	struct ns_hush hush;
	struct timer timer; /* asked again */
	bool asked;	    /* an answer is to come */
	bool begun;	    /* nvof_ns_open() has returned: what fails now is told by the callback */
	int ret;	    /* else by this */
	nvof_ns_cb *cb;
	void *arg;
};

static void open_end(struct ns_open *op, int status, struct nvof_ns *ns)
{
	struct ns_open gone = *op;

	ns_hush_end(&op->hush);
	timer_cancel(op->ctrl->loop, &op->timer);
	cds_list_del(&op->link);
	free(op);
	gone.cb(gone.arg, status, ns);
}

static int ask(struct ns_open *op);
static void look(struct ns_open *op);

static void identified(void *arg, int status, struct nvof_ns *fresh, uint64_t asked)
{
	struct ns_open *op = arg;
	struct ns_found found = { .nsid = op->nsid, .status = status, .fresh = fresh, .asked = asked, .hush = &op->hush };

	op->asked = false;
	if (op->ctrl->nss.closing) {
		ns_free(fresh);
		open_end(op, -ENOTCONN, NULL);
		return;
	}
	/* Once: changes may come for ever.  What the second look is late for a scan corrects. */
	if (op->changed && !op->again && op->ctrl->state == NVOF_CTRL_LIVE) {
		op->changed = false;
		op->again = true;
		ns_free(fresh);
		look(op);
		return;
	}
	if (status >= 0 || status == -ENODEV || status == -ENOTSUP || status == -ESTALE)
		ns_apply(op->ctrl, &found, 1, NS_LOOK_OPEN);
	/* The one that was known has ended; when its I/O has, too, the one that has its id now is identified. */
	if (status == -ESTALE || (!status && found.status == -EAGAIN)) {
		look(op);
		return;
	}
	/* A callback may have ended it already. */
	if (found.ns && found.ns->end_status) {
		found.status = found.ns->end_status;
		found.ns = NULL;
	}
	if (found.ns)
		ns_ref(found.ns);
	if (found.ns && (op->changed || op->ctrl->nss.log_unread))
		ns_scan_want(op->ctrl, (op->changed ? NS_WANT_KNOWN : 0) | (op->ctrl->nss.log_unread ? NS_WANT_LOG : 0));
	open_end(op, found.status, found.ns);
}

static int ask(struct ns_open *op)
{
	int ret = ns_identify(op->ctrl, op->nsid, op->hush.loud ? op->hush.ns : NULL, identified, op);

	op->asked = !ret;
	return ret;
}

static void ask_or_end(struct ns_open *op)
{
	int ret = ask(op);

	if (ret == -EAGAIN)
		timer_set(op->ctrl->loop, &op->timer, clock_ns() + AGAIN_NS);
	else if (ret)
		open_end(op, ret, NULL);
}

static void ask_again(struct timer *t)
{
	look(container_of(t, struct ns_open, timer));
}

static void now_quiet(struct ns_hush *h)
{
	struct ns_open *op = container_of(h, struct ns_open, hush);

	if (op->begun)
		ask_or_end(op);
	else
		op->ret = ask(op);
}

static void look(struct ns_open *op)
{
	if (!ns_hush(&op->hush, op->ctrl, op->nsid, now_quiet))
		ask_or_end(op);
}

/* What is to be sent leaves at once, unless I/O of the namespace is under way. */
static int begin(struct ns_open *op)
{
	if (op->ctrl->state != NVOF_CTRL_LIVE)
		return -ENOTCONN;
	if (!ns_hush(&op->hush, op->ctrl, op->nsid, now_quiet))
		op->ret = ask(op);
	op->begun = true;
	return op->ret;
}

void ns_open_hold(struct nvof_ns *ns)
{
	struct ns_open *op;

	cds_list_for_each_entry (op, &ns->ctrl->nss.opened, link)
		if (op->nsid == ns->nsid && op->asked)
			ns_hush_hold(&op->hush, ns);
}

void ns_open_stop(struct nvof_ctrl *ctrl, int status)
{
	while (!cds_list_empty(&ctrl->nss.opened))
		open_end(cds_list_first_entry(&ctrl->nss.opened, struct ns_open, link), status, NULL);
}

void ns_open_event(struct nvof_ctrl *ctrl)
{
	struct ns_open *op;

	cds_list_for_each_entry (op, &ctrl->nss.opened, link)
		op->changed = true;
}

int nvof_ns_open(struct nvof_ctrl *ctrl, uint32_t nsid, nvof_ns_cb *cb, void *arg)
{
	struct ns_open *op;
	int ret;

	if (!nsid || nsid > NSID_MAX)
		return ctrl_op_failed(ctrl, -EINVAL, "open namespace %u at %s: namespaces have ids from 1 to %u", nsid, ctrl->p.where,
				      NSID_MAX);
	op = calloc(1, sizeof(*op));
	if (!op)
		return -ENOMEM;
	*op = (struct ns_open){ .ctrl = ctrl, .nsid = nsid, .cb = cb, .arg = arg };
	timer_init(&op->timer, ask_again);
	cds_list_add_tail(&op->link, &ctrl->nss.opened);
	ret = begin(op);
	if (ret) {
		ns_hush_end(&op->hush);
		cds_list_del(&op->link);
		free(op);
	}
	return ret;
}
