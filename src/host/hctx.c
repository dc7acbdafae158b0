/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/hctx.h"
#include "host/mpath.h"
#include "host/split.h"

static void hctx_retry(struct loop_defer *d)
{
	split_retry(container_of(d, struct nvof_hctx, retry_work));
}

static struct nvof_hctx *hctx_new(struct nvof_ctrl *ctrl)
{
	struct nvof_hctx *hctx = calloc(1, sizeof(*hctx));
	uint32_t most = 2 * ctrl->p.queues_per_hctx - 1; /* queues it may ever have */

	if (!hctx)
		return NULL;
	hctx->ctrl = ctrl;
	/* One entry of a queue always stays empty (C039).  The reserved slots are those of the queues' Connect (C009). */
	if (tags_init(&hctx->own, (ctrl->queue_size - 1) * most, most, ctrl->p.ops->req_size)) {
		free(hctx);
		return NULL;
	}
	hctx->tags = &hctx->own;
	hctx->hold = ctrl->held.on;
	CDS_INIT_LIST_HEAD(&hctx->stalled);
	loop_defer_init(&hctx->retry_work, hctx_retry);
	return hctx;
}

void hctx_free(struct nvof_hctx *hctx)
{
	loop_defer_cancel(&hctx->retry_work);
	tags_free(&hctx->own);
	free(hctx);
}

int ctrl_alloc_hctxs(struct nvof_ctrl *ctrl, uint32_t nr_queues)
{
	uint32_t nr = nr_queues / ctrl->p.queues_per_hctx;
	struct nvof_hctx **hctxs;

	ctrl->nr_own_hctx = nr ? nr : 1;
	if (ctrl->nr_own_hctx <= ctrl->nr_hctx)
		return 0;
	hctxs = realloc(ctrl->hctxs, ctrl->nr_own_hctx * sizeof(*hctxs));
	if (!hctxs)
		return -ENOMEM;
	ctrl->hctxs = hctxs;
	for (; ctrl->nr_hctx < ctrl->nr_own_hctx; ctrl->nr_hctx++) {
		hctxs[ctrl->nr_hctx] = hctx_new(ctrl);
		if (!hctxs[ctrl->nr_hctx])
			return -ENOMEM;
		/* One that a reconnect adds takes I/O when the others do. */
		hctxs[ctrl->nr_hctx]->live = hctxs[0]->live;
	}
	return 0;
}

struct nvof_hctx *ctrl_queue_hctx(const struct nvof_ctrl *ctrl, uint16_t qid)
{
	return ctrl->hctxs[(qid - 1u) % ctrl->nr_own_hctx];
}

uint32_t ctrl_queue_place(const struct nvof_ctrl *ctrl, uint16_t qid)
{
	return (qid - 1u) / ctrl->nr_own_hctx;
}

/* A reconnect may bring fewer queues, or smaller ones.  With none at all there is room for what waits for the first. */
static void set_limit(struct nvof_hctx *hctx, uint32_t queue_size)
{
	tags_set_limit(&hctx->own, max_u32(hctx->nr_queues, 1) * (queue_size - 1));
}

void hctx_remove_queue(struct host_queue *q)
{
	struct nvof_hctx *hctx = q->hctx;
	uint32_t i;

	for (i = 0; i < hctx->nr_queues; i++)
		if (hctx->queues[i] == q)
			hctx->queues[i--] = hctx->queues[--hctx->nr_queues];
	set_limit(hctx, q->queue_size);
	hctx->hold |= !hctx->nr_queues;
}

void hctx_add_queue(struct host_queue *q)
{
	struct nvof_hctx *hctx = q->hctx;

	hctx->queues[hctx->nr_queues++] = q;
	hctx->tags = &hctx->own;
	set_limit(hctx, q->queue_size);
	hctx->hold = hctx->ctrl->held.on;
	/* One that failed in this turn is on its way out. */
	if (hctx->ctrl->io.nr && q->state == QUEUE_LIVE && io_port_give(q))
		queue_fail(q, -ENOMEM, "no memory for its way to an I/O thread");
}

void ctrl_lend_queues(struct nvof_ctrl *ctrl)
{
	uint32_t i, j;

	for (i = ctrl->nr_own_hctx; i < ctrl->nr_hctx; i++) {
		struct nvof_hctx *hctx = ctrl->hctxs[i], *lender = ctrl->hctxs[i % ctrl->nr_own_hctx];

		for (j = 0; j < lender->nr_queues; j++)
			hctx->queues[j] = lender->queues[j];
		hctx->nr_queues = lender->nr_queues;
		hctx->hold = lender->hold;
		hctx->tags = &lender->own;
		hctx->borrowed = true;
	}
}

void hctx_req_done(struct host_req *req, int status, const struct nvme_cqe *cqe)
{
	struct nvof_cpl cpl = { .status = status, .result = cqe ? le64toh(cqe->result) : 0 };
	nvof_cb *cb = req->cb;
	void *arg = req->arg;

	if (unlikely(status > 0) && retry_command(req, status, cqe))
		return;
	if (likely(req->ns))
		ns_io_end(req->ns);
	tags_put(req);
	cb(arg, &cpl);
}

struct nvof_hctx *nvof_ctrl_hctx(struct nvof_ctrl *ctrl, unsigned int i)
{
	return i < ctrl->nr_hctx ? ctrl->hctxs[i] : NULL;
}

unsigned int nvof_ctrl_nr_hctx(const struct nvof_ctrl *ctrl)
{
	return ctrl->nr_hctx;
}

unsigned int nvof_hctx_nr_free(const struct nvof_hctx *hctx)
{
	const struct host_tags *tags = hctx->tags;

	if (hctx->subsys)
		return mpath_nr_free(hctx);
	return hctx->live && tags->nr_busy < tags->limit ? tags->limit - tags->nr_busy : 0;
}
