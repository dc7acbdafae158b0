/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Setting up queues: the one piece of code for the admin queue, the I/O queues, and (later) for reconnect and growth.
 *
 * One queue is one operation of an async_domain: alloc, link (the transport's states), Fabrics Connect, LIVE.  A batch is N of them at most
 * `concurrency` at once.  The first failure cancels the others; then everything of the batch is stopped and freed according to how far it
 * got, and the batch's owner gets that first error.
 */
#ifndef NVOF_HOST_QUEUE_SETUP_H
#define NVOF_HOST_QUEUE_SETUP_H

#include "base/async_domain.h"
#include "transport/host_ops.h"

struct queue_batch;

struct queue_setup {
	struct async_op op;
	struct queue_batch *batch;
	struct nvof_hctx *hctx;	  /* NULL: the admin queue */
	struct host_queue *queue; /* ours until taken; NULL before it starts and after it failed */
	uint16_t qid;
	bool ended;	  /* async_op_end() was called */
	struct error err; /* a failure before there was a queue */
	struct loop_defer fail_work;
};

struct queue_batch {
	struct nvof_ctrl *ctrl;
	struct async_domain domain;
	struct nvmf_connect_data data; /* the same for all of them */
	struct loop_defer finish_work;
	void (*done)(struct nvof_ctrl *ctrl, struct queue_batch *b);
	struct error late; /* of a queue that was LIVE and failed while others were still under way */
	bool aborted;
	uint32_t nr;
	struct queue_setup setups[];
};

/*
 * For nr queues from first_qid on (qid 0: the admin queue alone).  done runs once, at the end of a turn, when the last has ended: it takes
 * the queues when queue_batch_error() is NULL, and frees the batch in any case.  NULL: no memory.
 */
struct queue_batch *queue_batch_new(struct nvof_ctrl *ctrl, uint16_t first_qid, uint32_t nr,
				    void (*done)(struct nvof_ctrl *ctrl, struct queue_batch *b));
void queue_batch_start(struct queue_batch *b, uint32_t concurrency);
/* The time for all is over: each queue under way fails with a sentence about what it waited for. */
void queue_batch_timeout(struct queue_batch *b, uint32_t tmo_ms);
/* NULL: all queues are LIVE. */
const struct error *queue_batch_error(const struct queue_batch *b);
/* The i-th queue, LIVE, from now on the caller's. */
struct host_queue *queue_batch_take(struct queue_batch *b, uint32_t i);
/* Ends what is under way, stops and frees every queue that was not taken, and the batch.  done does not run any more.  NULL is fine. */
void queue_batch_free(struct queue_batch *b);

/* The failure of a queue that is being set up, at the end of the turn. */
void queue_setup_failed(struct queue_setup *s);

#endif
