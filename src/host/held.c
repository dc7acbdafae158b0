/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/held.h"

#include <errno.h>

#include "host/ctrl.h"
#include "host/hctx.h"
#include "host/mpath.h"
#include "host/ns.h"
#include "host/split.h"

static struct host_req *held_first(const struct held *h)
{
	return cds_list_first_entry(&h->list, struct host_req, link);
}

static void held_keep(struct cds_list_head *list, struct host_req *req)
{
	cds_list_add_tail(&req->link, list);
	if (req->ns)
		req->ns->nr_held++;
}

static void held_take(struct host_req *req)
{
	cds_list_del(&req->link);
	if (req->ns)
		req->ns->nr_held--;
}

/* Its namespace is being looked at, or has ended and what is held of it will be, too. */
static bool held_by_ns(const struct host_req *req)
{
	return req->ns && (req->ns->hold || req->ns->end_status);
}

int held_add(struct nvof_ctrl *ctrl, struct host_req *req)
{
	if (!req->retry || !(ctrl_recovers(ctrl) || (ctrl->state == NVOF_CTRL_LIVE && req->ns && req->ns->hold)))
		return -ENOTCONN;
	req->active = false;
	held_keep(&ctrl->held.list, req);
	return 0;
}

void held_again(struct nvof_ctrl *ctrl, struct host_req *req)
{
	held_keep(&ctrl->held.list, req);
	loop_defer(ctrl->loop, &ctrl->held.work);
}

void held_take_inflight(struct nvof_ctrl *ctrl, struct host_tags *tags, const struct host_queue *q, int status)
{
	uint32_t i;

	for (i = 0; i < tags->nr_tags; i++) {
		struct host_req *req = host_tags_req(tags, i);

		if (!req->active || (q && req->queue != q))
			continue;
		if (req->ns && req->ns->end_status) {
			host_req_fail(req, req->ns->end_status);
			continue;
		}
		if (!req->retry || req->nr_retries == HELD_MAX_RETRIES) {
			host_req_fail(req, status);
			continue;
		}
		queue_req_off(req);
		req->nr_retries++;
		ctrl->stats.nr_retries++;
		held_keep(&ctrl->held.list, req);
	}
}

/* Its hctx works with other slots now: the request moves.  NULL: there is none free. */
static struct host_req *held_move(struct host_req *req)
{
	struct host_req *to = tags_get(req->hctx->tags);

	if (!to)
		return NULL;
	to->sqe = req->sqe;
	to->one = req->one;
	to->iov = req->iov == &req->one ? &to->one : req->iov;
	to->iovcnt = req->iovcnt;
	to->data_len = req->data_len;
	to->iov_skip = req->iov_skip;
	to->dir = req->dir;
	to->done = req->done;
	to->cb = req->cb;
	to->arg = req->arg;
	to->owner = req->owner;
	to->hctx = req->hctx;
	to->ns = req->ns;
	to->retry = req->retry;
	to->nr_retries = req->nr_retries;
	tags_put(req);
	return to;
}

/* False: no room.  Then it is kept, in whatever slot it has now. */
static bool held_send(struct nvof_ctrl *ctrl, struct host_req *req, struct cds_list_head *kept)
{
	struct nvof_hctx *hctx = req->hctx;
	struct host_queue *q = hctx->hold ? NULL : hctx_pick_queue(hctx, req);
	struct host_req *moved = req;

	/* Slots from before may be more than a smaller queue takes. */
	if (q && q->nr_inflight + 1 < q->queue_size) {
		if (req->tags != hctx->tags)
			moved = held_move(req);
		if (moved && split_again(moved))
			return true;
		if (moved) {
			moved->deadline = cmd_deadline(ctrl);
			if (!queue_submit(q, moved))
				return true;
			req = moved;
		}
	}
	held_keep(kept, req);
	return false;
}

static void held_work(struct loop_defer *d)
{
	struct nvof_ctrl *ctrl = container_of(d, struct nvof_ctrl, held.work);
	struct held *h = &ctrl->held;
	CDS_LIST_HEAD(kept);

	if (h->on || ctrl->state != NVOF_CTRL_LIVE || cds_list_empty(&h->list))
		return;
	if (!ctrl_settled(ctrl)) {
		timer_set(ctrl->loop, &h->settle, clock_ns() + SETTLE_LOOK_NS);
		return;
	}
	while (!cds_list_empty(&h->list)) {
		struct host_req *req = held_first(h);

		held_take(req);
		if (held_by_ns(req))
			held_keep(&kept, req);
		else
			held_send(ctrl, req, &kept);
	}
	cds_list_splice(&kept, &h->list);
}

static void held_look(struct timer *t)
{
	struct nvof_ctrl *ctrl = container_of(t, struct nvof_ctrl, held.settle);

	loop_defer(ctrl->loop, &ctrl->held.work);
}

void held_setup(struct nvof_ctrl *ctrl)
{
	timer_init(&ctrl->held.settle, held_look);
	CDS_INIT_LIST_HEAD(&ctrl->held.list);
	loop_defer_init(&ctrl->held.work, held_work);
}

static void set_hold(struct nvof_ctrl *ctrl, bool on)
{
	uint32_t i;

	ctrl->held.on = on;
	for (i = 0; i < ctrl->nr_hctx; i++)
		ctrl->hctxs[i]->hold = on;
}

void held_stop(struct nvof_ctrl *ctrl)
{
	loop_defer_cancel(&ctrl->held.work);
	timer_cancel(ctrl->loop, &ctrl->held.settle);
}

void held_begin(struct nvof_ctrl *ctrl)
{
	set_hold(ctrl, true);
	retry_flush(ctrl, NULL);
	held_stop(ctrl);
}

void held_resume(struct nvof_ctrl *ctrl)
{
	uint32_t i;

	loop_defer(ctrl->loop, &ctrl->held.work);
	if (ctrl->path)
		mpath_kick(ctrl->path->s);
	for (i = 0; i < ctrl->nr_hctx; i++)
		if (!cds_list_empty(&ctrl->hctxs[i]->stalled))
			loop_defer(ctrl->loop, &ctrl->hctxs[i]->retry_work);
}

void held_release(struct nvof_ctrl *ctrl)
{
	set_hold(ctrl, false);
	held_resume(ctrl);
}

void held_end(struct nvof_ctrl *ctrl, const struct nvof_ns *ns, int status)
{
	CDS_LIST_HEAD(list);

	retry_flush(ctrl, ns);
	/* Callbacks may add to the ctrl's list. */
	cds_list_splice(&ctrl->held.list, &list);
	CDS_INIT_LIST_HEAD(&ctrl->held.list);
	while (!cds_list_empty(&list)) {
		struct host_req *req = cds_list_first_entry(&list, struct host_req, link);

		held_take(req);
		if (ns && req->ns != ns)
			held_keep(&ctrl->held.list, req);
		else
			req->done(req, status, NULL);
	}
}
