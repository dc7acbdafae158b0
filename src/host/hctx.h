/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hctx: one submitter's view of a ctrl.  A group of queues (one for now) that share one tag set.
 *
 * hctxs stay until the ctrl goes; queues come and go with the connection.  When a reconnect brings fewer queues than there are hctxs, those
 * without one of their own borrow another's, with its tag set: so a queue is never fuller than it may be.
 */
#ifndef NVOF_HOST_HCTX_H
#define NVOF_HOST_HCTX_H

#include "host/ctrl.h"
#include "host/held.h"
#include "host/queue.h"
#include "host/tags.h"

#define HCTX_MAX_QUEUES 16

struct nvof_hctx {
	struct host_tags *tags; /* own, or the lender's */
	struct nvof_ctrl *ctrl;
	bool live;     /* commands may be submitted */
	bool hold;     /* and wait: the ctrl is being reconnected */
	bool borrowed; /* queues are another hctx's */
	uint32_t nr_queues;
	struct host_queue *queues[HCTX_MAX_QUEUES];
	struct host_tags own;
	/* Splits that have blocks left and no command under way, because the transport had no room: tried again at the end of the turn. */
	struct cds_list_head stalled;
	struct loop_defer retry_work;
};

/* For nr_queues I/O queues; queues come later.  0 or -ENOMEM.  What is there already stays. */
int ctrl_alloc_hctxs(struct nvof_ctrl *ctrl, uint32_t nr_queues);
void hctx_free(struct nvof_hctx *hctx);
/* A LIVE queue, from now on the hctx's. */
void hctx_add_queue(struct nvof_hctx *hctx, struct host_queue *q);
/* The hctxs from nr_queues on have none of their own. */
void ctrl_lend_queues(struct nvof_ctrl *ctrl, uint32_t nr_queues);

/* The queue that has least to do. */
static inline struct host_queue *hctx_pick_queue(const struct nvof_hctx *hctx)
{
	struct host_queue *best = hctx->queues[0];
	uint32_t i;

	for (i = 1; i < hctx->nr_queues; i++)
		if (hctx->queues[i]->nr_inflight < best->nr_inflight)
			best = hctx->queues[i];
	return best;
}

/* As queue_submit(), and the request may be kept until the ctrl is back.  The hctx is live. */
static inline int hctx_submit(struct nvof_hctx *hctx, struct host_req *req, bool retry)
{
	int ret = -ENOTCONN;

	req->hctx = hctx;
	req->retry = retry;
	req->nr_retries = 0;
	req->deadline = cmd_deadline(hctx->ctrl);
	if (likely(!hctx->hold))
		ret = queue_submit(hctx_pick_queue(hctx), req);
	return likely(ret != -ENOTCONN) ? ret : held_add(hctx->ctrl, req);
}

/* A single command whose user gets cb: hands the slot back, then tells. */
void hctx_req_done(struct host_req *req, int status, const struct nvme_cqe *cqe);

#endif
