/* SPDX-License-Identifier: BSD-3-Clause */
/* A queue: one submission/completion queue pair on one connection.  Its life: alloc -> start -> LIVE -> stop -> free. */
#ifndef NVOF_HOST_QUEUE_H
#define NVOF_HOST_QUEUE_H

#include <errno.h>
#include <nvof/nvof.h>

#include "base/mem_regions.h"
#include "host/io_port.h"
#include "transport/host_ops.h"

/* A new queue of the ctrl's transport, in state NEW.  qid 0: the admin queue.  NULL: no memory. */
struct host_queue *queue_alloc(struct nvof_ctrl *ctrl, uint16_t qid);
/* Gives it its place and its sizes: of an I/O queue they are known when the ctrl is initialised.  Before its first command. */
void queue_bind(struct host_queue *q);
/* The slot of its Connect, and later of its Disconnect. */
struct host_req *queue_own_slot(const struct host_queue *q);
/* The queue can't go on: what host_queue_failed() says for a transport the core says by this. */
void queue_fail(struct host_queue *q, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Its data begins in memory that the caller registered: the transport may want to know before it has the request. */
void queue_find_region(struct host_queue *q, struct host_req *req);
/* The ends of a request, on the ctx's thread; see host_req_complete(), host_req_fail(). */
void queue_req_complete(struct host_req *req, const struct nvme_cqe *cqe);
void queue_req_fail(struct host_req *req, int status);
/* Closes the connection.  In any state, twice is fine; never from inside a completion (put it off with loop_defer()). */
void queue_stop(struct host_queue *q);
/* Of a stopped queue; what is in flight on it must have ended.  NULL is fine. */
void queue_free(struct host_queue *q);

/* It is not under way any more, however that came about; it has not ended by that. */
static inline void queue_req_off(struct host_req *req)
{
	struct host_queue *q = req->queue;

	req->active = false;
	q->nr_inflight--;
	q->bytes_inflight -= req->data_len;
	if (unlikely(req->region != NULL))
		mem_region_drop(&req->region);
}

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
	q->bytes_inflight += req->data_len;
	if (q->ops->region_use && req->data_len)
		queue_find_region(q, req);
	if (unlikely(q->port)) {
		io_port_submit(q->port, req);
		return 0;
	}
	ret = q->ops->submit(q, req);
	if (unlikely(ret))
		queue_req_off(req);
	return ret;
}

#endif
