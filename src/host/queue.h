/* SPDX-License-Identifier: BSD-3-Clause */
/* A queue: one submission/completion queue pair on one connection.  Its life: alloc -> start -> LIVE -> stop -> free. */
#ifndef NVOF_HOST_QUEUE_H
#define NVOF_HOST_QUEUE_H

#include <errno.h>
#include <nvof/nvof.h>

#include "transport/host_ops.h"

/* A new queue of the ctrl's transport, in state NEW.  hctx NULL: the admin queue.  NULL: no memory. */
struct host_queue *queue_alloc(struct nvof_ctrl *ctrl, struct nvof_hctx *hctx, uint16_t qid);
/* Closes the connection.  In any state, twice is fine; never from inside a completion (put it off with loop_defer()). */
void queue_stop(struct host_queue *q);
/* Of a stopped queue; what is in flight on it must have ended.  NULL is fine. */
void queue_free(struct host_queue *q);

/*
 * Hands req to the transport.  0: it will complete exactly once; else nothing happened and req is still the caller's: -EAGAIN (no room
 * now), -ENOTCONN (the queue is going down).
 */
static inline int queue_submit(struct host_queue *q, struct host_req *req)
{
	int ret;

	if (unlikely(q->state > QUEUE_LIVE))
		return -ENOTCONN;
	req->queue = q;
	req->active = true;
	q->nr_inflight++;
	ret = q->ops->submit(q, req);
	if (unlikely(ret)) {
		req->active = false;
		q->nr_inflight--;
	}
	return ret;
}

#endif
