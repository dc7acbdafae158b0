/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/held.h"

#include <errno.h>

#include "host/ctrl.h"
#include "host/hctx.h"
#include "host/split.h"

static struct host_req *held_first(const struct held *h)
{
	return cds_list_first_entry(&h->list, struct host_req, link);
}

static void held_keep(struct held *h, struct host_req *req)
{
	cds_list_add_tail(&req->link, &h->list);
}

int held_add(struct nvof_ctrl *ctrl, struct host_req *req)
{
	if (!req->retry || !ctrl_recovers(ctrl))
		return -ENOTCONN;
	req->active = false;
	held_keep(&ctrl->held, req);
	return 0;
}

void held_take_inflight(struct nvof_ctrl *ctrl, struct host_tags *tags, int status)
{
	uint32_t i;

	for (i = 0; i < tags->nr_tags; i++) {
		struct host_req *req = host_tags_req(tags, i);

		if (!req->active)
			continue;
		if (!req->retry || req->nr_retries == HELD_MAX_RETRIES) {
			host_req_fail(req, status);
			continue;
		}
		req->active = false;
		req->queue->nr_inflight--;
		req->nr_retries++;
		ctrl->stats.nr_retries++;
		held_keep(&ctrl->held, req);
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
	to->retry = req->retry;
	to->nr_retries = req->nr_retries;
	tags_put(req);
	return to;
}

/* False: no room.  Then it is kept, in whatever slot it has now. */
static bool held_send(struct nvof_ctrl *ctrl, struct host_req *req, struct cds_list_head *kept)
{
	struct nvof_hctx *hctx = req->hctx;
	struct host_queue *q = hctx_pick_queue(hctx);
	struct host_req *moved = req;

	/* Slots from before may be more than a smaller queue takes. */
	if (q->nr_inflight + 1 < q->queue_size) {
		if (req->tags != hctx->tags)
			moved = held_move(req);
		if (moved) {
			moved->deadline = cmd_deadline(ctrl);
			if (!queue_submit(q, moved))
				return true;
			req = moved;
		}
	}
	cds_list_add_tail(&req->link, kept);
	return false;
}

static void held_work(struct loop_defer *d)
{
	struct nvof_ctrl *ctrl = container_of(d, struct nvof_ctrl, held.work);
	struct held *h = &ctrl->held;
	CDS_LIST_HEAD(kept);

	if (h->on || ctrl->state != NVOF_CTRL_LIVE)
		return;
	while (!cds_list_empty(&h->list)) {
		struct host_req *req = held_first(h);

		cds_list_del(&req->link);
		held_send(ctrl, req, &kept);
	}
	cds_list_splice(&kept, &h->list);
}

void held_setup(struct nvof_ctrl *ctrl)
{
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

void held_begin(struct nvof_ctrl *ctrl)
{
	set_hold(ctrl, true);
	loop_defer_cancel(&ctrl->held.work);
}

void held_release(struct nvof_ctrl *ctrl)
{
	uint32_t i;

	set_hold(ctrl, false);
	loop_defer(ctrl->loop, &ctrl->held.work);
	for (i = 0; i < ctrl->nr_hctx; i++)
		if (!cds_list_empty(&ctrl->hctxs[i]->stalled))
			loop_defer(ctrl->loop, &ctrl->hctxs[i]->retry_work);
}

void held_end(struct nvof_ctrl *ctrl, uint32_t nsid, int status)
{
	CDS_LIST_HEAD(list);

	/* Callbacks may add to the ctrl's list. */
	cds_list_splice(&ctrl->held.list, &list);
	CDS_INIT_LIST_HEAD(&ctrl->held.list);
	while (!cds_list_empty(&list)) {
		struct host_req *req = cds_list_first_entry(&list, struct host_req, link);

		cds_list_del(&req->link);
		if (nsid && le32toh(req->sqe.nsid) != nsid)
			held_keep(&ctrl->held, req);
		else
			req->done(req, status, NULL);
	}
}
