/* SPDX-License-Identifier: BSD-3-Clause */
/* The doors of a queue: its state, its failure, and the end of its requests. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "host/ctrl.h"
#include "host/hctx.h"
#include "host/queue.h"
#include "host/queue_setup.h"
#include "host/timeline.h"

static const char *const state_names[QUEUE_NR_STATES] = {
	[QUEUE_NEW] = "new",   [QUEUE_RESOLVE] = "resolve", [QUEUE_ROUTE] = "route",	 [QUEUE_LINK] = "link",
	[QUEUE_TLS] = "tls",   [QUEUE_ICREQ] = "icreq",	    [QUEUE_CONNECT] = "connect", [QUEUE_AUTH] = "auth",
	[QUEUE_LIVE] = "live", [QUEUE_FAILED] = "failed",   [QUEUE_STOPPED] = "stopped",
};

const char *queue_state_name(enum queue_state state)
{
	return state < QUEUE_NR_STATES ? state_names[state] : "unknown";
}

/* A queue only ever moves forward; STOPPED comes from everywhere. */
void host_queue_enter(struct host_queue *q, enum queue_state state)
{
	if (q->state == state)
		return;
	assert(state > q->state && state < QUEUE_NR_STATES);
	log_debug(q->log, "qid %u: %s -> %s", q->qid, state_names[q->state], state_names[state]);
	timeline_end(q->ctrl, q->span);
	q->span = state > QUEUE_NEW && state < QUEUE_LIVE ? timeline_begin(q->ctrl, q->qid, state_names[state]) : 0;
	q->state = state;
}

static void queue_fail_work(struct loop_defer *d)
{
	struct host_queue *q = container_of(d, struct host_queue, fail_work);

	if (q->setup)
		queue_setup_failed(q->setup);
	else
		ctrl_queue_lost(q->ctrl, q);
}

struct host_queue *queue_alloc(struct nvof_ctrl *ctrl, struct nvof_hctx *hctx, uint16_t qid)
{
	uint32_t size = hctx ? ctrl->queue_size : NVMF_MAX_SQSIZE_ADMIN + 1;
	struct host_queue *q = ctrl->p.ops->queue_alloc(ctrl->ep, size);

	if (!q)
		return NULL;
	q->ops = ctrl->p.ops;
	q->ctrl = ctrl;
	q->hctx = hctx;
	q->loop = ctrl->loop;
	q->tags = hctx ? &hctx->own : &ctrl->admin_tags;
	q->log = &ctrl->ctx->log;
	q->qid = qid;
	q->queue_size = size;
	q->inline_len = hctx ? ctrl->inline_len : ctrl->p.ops->admin_inline_len;
	loop_defer_init(&q->fail_work, queue_fail_work);
	return q;
}

void queue_stop(struct host_queue *q)
{
	loop_defer_cancel(&q->fail_work);
	q->ops->queue_stop(q);
	host_queue_enter(q, QUEUE_STOPPED);
}

void queue_free(struct host_queue *q)
{
	if (!q)
		return;
	assert(q->state == QUEUE_STOPPED && !q->nr_inflight);
	error_clear(&q->err);
	q->ops->queue_free(q);
}

/* "connect qid 3 (icreq) to 192.0.2.7:4420: " while it is set up, "qid 3 to 192.0.2.7:4420: " later. */
static void prefix_error(struct host_queue *q)
{
	const char *where = q->peer[0] ? q->peer : q->ctrl->p.where;

	if (q->state != QUEUE_LIVE)
		error_prefix(&q->err, "connect qid %u (%s) to %s", q->qid, state_names[q->state], where);
	else if (!q->qid && q->ctrl->init.running)
		error_prefix(&q->err, "connect qid 0 (init) to %s", where);
	else
		error_prefix(&q->err, "qid %u to %s", q->qid, where);
}

void host_queue_failed(struct host_queue *q, int code, const char *fmt, ...)
{
	va_list ap;

	if (q->state >= QUEUE_FAILED)
		return;
	va_start(ap, fmt);
	error_vset(&q->err, code, fmt, ap);
	va_end(ap);
	prefix_error(q);
	host_queue_enter(q, QUEUE_FAILED);
	loop_defer(q->loop, &q->fail_work);
}

static inline void req_end(struct host_req *req, int status, const struct nvme_cqe *cqe)
{
	assert(req->active);
	req->active = false;
	req->queue->nr_inflight--;
	req->done(req, status, cqe);
}

void host_req_complete(struct host_req *req, const struct nvme_cqe *cqe)
{
	struct nvof_ctrl *ctrl = req->queue->ctrl;

	if (!ctrl->traffic)
		ctrl->traffic = true;
	if (unlikely(!cds_list_empty(&ctrl->held.list)))
		loop_defer(ctrl->loop, &ctrl->held.work); /* there is room for one that waits */
	req_end(req, le16toh(cqe->status) >> 1, cqe);
}

void host_req_fail(struct host_req *req, int status)
{
	if (status == NVME_STATUS(NVME_SCT_GENERIC, NVME_SC_TRAN_TPORT_ERROR))
		req->queue->ctrl->stats.nr_data_digest_errors++;
	req_end(req, status, NULL);
}
