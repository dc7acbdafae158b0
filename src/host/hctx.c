/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/hctx.h"
#include "host/split.h"

static void hctx_retry(struct loop_defer *d)
{
	split_retry(container_of(d, struct nvof_hctx, retry_work));
}

static struct nvof_hctx *hctx_new(struct nvof_ctrl *ctrl)
{
	struct nvof_hctx *hctx = calloc(1, sizeof(*hctx));

	if (!hctx)
		return NULL;
	hctx->ctrl = ctrl;
	/* One entry of a queue always stays empty (C039).  The reserved slot is that of Connect (C009). */
	if (tags_init(&hctx->own, ctrl->queue_size - 1, 1, ctrl->p.ops->req_size)) {
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
	struct nvof_hctx **hctxs;

	if (nr_queues <= ctrl->nr_hctx)
		return 0;
	hctxs = realloc(ctrl->hctxs, nr_queues * sizeof(*hctxs));
	if (!hctxs)
		return -ENOMEM;
	ctrl->hctxs = hctxs;
	for (; ctrl->nr_hctx < nr_queues; ctrl->nr_hctx++) {
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
	return ctrl->hctxs[(qid - 1u) % ctrl->nr_hctx];
}

void hctx_add_queue(struct nvof_hctx *hctx, struct host_queue *q)
{
	hctx->queues[hctx->nr_queues++] = q;
	hctx->tags = &hctx->own;
	/* A reconnect may bring smaller queues. */
	tags_set_limit(&hctx->own, q->queue_size - 1);
}

void ctrl_lend_queues(struct nvof_ctrl *ctrl, uint32_t nr_queues)
{
	uint32_t i, j;

	for (i = nr_queues; i < ctrl->nr_hctx; i++) {
		struct nvof_hctx *hctx = ctrl->hctxs[i], *lender = ctrl->hctxs[i % nr_queues];

		for (j = 0; j < lender->nr_queues; j++)
			hctx->queues[j] = lender->queues[j];
		hctx->nr_queues = lender->nr_queues;
		hctx->tags = &lender->own;
		hctx->borrowed = true;
	}
}

void hctx_req_done(struct host_req *req, int status, const struct nvme_cqe *cqe)
{
	struct nvof_cpl cpl = { .status = status, .result = cqe ? le64toh(cqe->result) : 0 };
	nvof_cb *cb = req->cb;
	void *arg = req->arg;

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

	return hctx->live && tags->nr_busy < tags->limit ? tags->limit - tags->nr_busy : 0;
}
