/* SPDX-License-Identifier: BSD-3-Clause */
/* The hctx: one submitter's view of a ctrl.  A group of queues (one for now) that share one tag set. */
#ifndef NVOF_HOST_HCTX_H
#define NVOF_HOST_HCTX_H

#include "host/ctrl.h"
#include "host/queue.h"
#include "host/tags.h"

#define HCTX_MAX_QUEUES 16

struct nvof_hctx {
	struct host_tags tags;
	struct nvof_ctrl *ctrl;
	bool live; /* commands may be submitted */
	uint32_t nr_queues;
	struct host_queue *queues[HCTX_MAX_QUEUES];
	uint32_t nr_slots; /* of the free list: how many commands may be under way */
	/* Splits that have blocks left and no command under way, because the transport had no room: tried again at the end of the turn. */
	struct cds_list_head stalled;
	struct loop_defer retry_work;
};

/* For nr_queues I/O queues; queues come later.  0 or -ENOMEM.  What is there already stays. */
int ctrl_alloc_hctxs(struct nvof_ctrl *ctrl, uint32_t nr_queues);
void hctx_free(struct nvof_hctx *hctx);
/* A LIVE queue, from now on the hctx's. */
void hctx_add_queue(struct nvof_hctx *hctx, struct host_queue *q);
/* Ends every command once; the queues are stopped. */
void hctx_end_inflight(struct nvof_hctx *hctx, int status);

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

/* As queue_submit().  The hctx is live. */
static inline int hctx_submit(struct nvof_hctx *hctx, struct host_req *req)
{
	req->deadline = cmd_deadline(hctx->ctrl);
	return queue_submit(hctx_pick_queue(hctx), req);
}

/* A single command whose user gets cb: hands the slot back, then tells. */
void hctx_req_done(struct host_req *req, int status, const struct nvme_cqe *cqe);

#endif
