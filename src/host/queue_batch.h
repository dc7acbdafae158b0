/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Setting up queues: the one piece of code for the admin queue and the I/O queues, at connect and at reconnect.
 *
 * A batch is N set-ups (queue_setup.h), at most `concurrency` at once.  The first failure cancels the others; then everything of the batch
 * is stopped and freed according to how far it got, and the batch's owner gets that first error.
 */
#ifndef NVOF_HOST_QUEUE_BATCH_H
#define NVOF_HOST_QUEUE_BATCH_H

#include "host/queue_setup.h"

struct queue_batch {
	struct nvof_ctrl *ctrl;
	struct async_domain domain;
	struct nvmf_connect_data data; /* the same for all of them */
	struct loop_defer finish_work, release_work;
	void (*done)(struct nvof_ctrl *ctrl, struct queue_batch *b);
	struct error late; /* of a queue that was LIVE and failed while others were still under way */
	bool aborted;
	bool early, held;	      /* began with early links; they are not released yet */
	bool objected;		      /* the peer closed or refused an early link */
	uint32_t nr;		      /* wanted: the release may make it less than there are setups */
	uint32_t nr_early, nr_setups; /* links to make before the release; elements of setups */
	struct queue_setup setups[];
};

/*
 * For nr queues from first_qid on (qid 0: the admin queue alone).  done runs once, at the end of a turn, when the last has ended: it takes
 * the queues when queue_batch_error() is NULL, and frees the batch in any case.  NULL: no memory.
 */
struct queue_batch *queue_batch_new(struct nvof_ctrl *ctrl, uint16_t first_qid, uint32_t nr,
				    void (*done)(struct nvof_ctrl *ctrl, struct queue_batch *b));
void queue_batch_start(struct queue_batch *b, uint32_t concurrency);
/* The same in two parts: success is told only after the close, however early the last queue is LIVE.  A failure is told at once. */
void queue_batch_begin(struct queue_batch *b, uint32_t concurrency);
void queue_batch_close(struct queue_batch *b);
/*
 * A beginning in two parts: nr_early links are made now and wait; when it is known how many queues there may be, release closes what is too
 * much (at the end of the turn) and lets the first nr go on.
 */
void queue_batch_begin_early(struct queue_batch *b, uint32_t concurrency, uint32_t nr_early);
void queue_batch_release(struct queue_batch *b, uint32_t nr);
/* One has failed: the others end, too. */
void queue_batch_give_up(struct queue_batch *b);
/* The time for all is over: each queue under way fails. */
void queue_batch_timeout(struct queue_batch *b, uint32_t tmo_ms);
/* NULL: all queues are LIVE. */
const struct error *queue_batch_error(const struct queue_batch *b);
/* The i-th queue, LIVE, from now on the caller's. */
struct host_queue *queue_batch_take(struct queue_batch *b, uint32_t i);
/* Ends what is under way, stops and frees every queue that was not taken, and the batch.  done does not run any more.  NULL is fine. */
void queue_batch_free(struct queue_batch *b);

#endif
