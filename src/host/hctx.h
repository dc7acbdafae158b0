/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hctx: one submitter's view of a ctrl.  A group of queues, queues_per_hctx of them as a rule, that share one tag set: a command id is
 * unique within the group, and a request can move to another queue of it.
 *
 * hctxs stay until the ctrl goes; queues come and go with the connection.  When a reconnect brings fewer queues than there are hctxs, those
 * without one of their own borrow another's, with its tag set: so a queue is never fuller than it may be.
 */
#ifndef NVOF_HOST_HCTX_H
#define NVOF_HOST_HCTX_H

#include "host/ctrl.h"
#include "host/hctx_pick.h"
#include "host/held.h"
#include "host/ns.h"
#include "host/queue.h"
#include "host/tags.h"

#define HCTX_MAX_QUEUES (2 * QUEUES_PER_HCTX_MAX - 1) /* what does not divide goes to the first hctxs */

struct nvof_hctx {
	struct host_tags *tags; /* own, or the lender's */
	struct nvof_ctrl *ctrl;
	struct nvof_subsystem *subsys; /* NULL; else it is a subsystem's (struct mpath_hctx) and has no ctrl */
	bool live;		       /* commands may be submitted */
	bool hold;		       /* and wait: the ctrl is being reconnected */
	bool borrowed;		       /* queues are another hctx's */
	uint32_t nr_queues;
	uint32_t next; /* round robin's */
	struct host_queue *queues[HCTX_MAX_QUEUES];
	struct host_tags own;
	/* Splits that have blocks left and no command under way, because the transport had no room: tried again at the end of the turn. */
	struct cds_list_head stalled;
	struct loop_defer retry_work;
};

/* For nr_queues I/O queues; queues come later.  0 or -ENOMEM.  What is there already stays. */
int ctrl_alloc_hctxs(struct nvof_ctrl *ctrl, uint32_t nr_queues);
void hctx_free(struct nvof_hctx *hctx);
/* A LIVE queue, from now on its hctx's. */
void hctx_add_queue(struct host_queue *q);
/* It leaves its hctx, which has no other place for what waits than its slots. */
void hctx_remove_queue(struct host_queue *q);
/* Those without a queue of their own get another's; also when that one's change. */
void ctrl_lend_queues(struct nvof_ctrl *ctrl);
/* The hctx that I/O queue qid belongs to, and its place there. */
struct nvof_hctx *ctrl_queue_hctx(const struct nvof_ctrl *ctrl, uint16_t qid);
uint32_t ctrl_queue_place(const struct nvof_ctrl *ctrl, uint16_t qid);

static inline struct host_queue *hctx_pick_queue(struct nvof_hctx *hctx, const struct host_req *req)
{
	return likely(hctx->nr_queues == 1) ? hctx->queues[0] : hctx_pick_from_group(hctx, req);
}

/* Blocks of one command: at most max_nlb. */
static inline uint32_t hctx_piece(const struct nvof_hctx *hctx, uint32_t nlb, uint32_t max_nlb, unsigned int shift)
{
	return likely(hctx->nr_queues == 1) ? max_nlb : hctx_piece_of_group(hctx, nlb, max_nlb, shift);
}

/* As queue_submit(), and the request may be kept until the ctrl is back, or ns (NULL: none) is known again.  The hctx is live. */
static inline int hctx_submit(struct nvof_hctx *hctx, struct host_req *req, struct nvof_ns *ns, bool retry)
{
	struct host_queue *q;
	int ret = -ENOTCONN;

	req->hctx = hctx;
	req->ns = ns;
	req->retry = retry;
	req->nr_retries = 0;
	req->deadline = cmd_deadline(hctx->ctrl);
	if (likely(!hctx->hold && !(ns && ns->hold))) {
		q = hctx_pick_queue(hctx, req);
		ret = likely(q) ? queue_submit(q, req) : -EAGAIN;
	}
	if (unlikely(ret == -ENOTCONN))
		ret = held_add(hctx->ctrl, req);
	if (likely(!ret) && ns)
		ns_io_begin(ns);
	return ret;
}

/* A single command whose user gets cb: hands the slot back, then tells. */
void hctx_req_done(struct host_req *req, int status, const struct nvme_cqe *cqe);

#endif
