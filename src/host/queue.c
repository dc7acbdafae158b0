/* SPDX-License-Identifier: BSD-3-Clause */
/* The doors of a queue: its state, its failure, and the end of its requests. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "host/ctrl.h"
#include "host/hctx.h"
#include "host/hctx_pick.h"
#include "host/queue.h"
#include "host/queue_setup.h"
#include "host/tags.h"
#include "host/timeline.h"

static const char *const state_names[QUEUE_NR_STATES] = {
	[QUEUE_NEW] = "new",   [QUEUE_RESOLVE] = "resolve", [QUEUE_ROUTE] = "route",   [QUEUE_LINK] = "link",
	[QUEUE_TLS] = "tls",   [QUEUE_ICREQ] = "icreq",	    [QUEUE_LINKED] = "linked", [QUEUE_CONNECT] = "connect",
	[QUEUE_AUTH] = "auth", [QUEUE_LIVE] = "live",	    [QUEUE_FAILED] = "failed", [QUEUE_STOPPED] = "stopped",
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

/* Of a queue that is not bound yet. */
static const struct host_tags no_tags;

struct host_queue *queue_alloc(struct nvof_ctrl *ctrl, uint16_t qid)
{
	struct host_queue *q = ctrl->p.ops->queue_alloc(ctrl->ep);

	if (!q)
		return NULL;
	q->ops = ctrl->p.ops;
	q->ctrl = ctrl;
	q->loop = ctrl->loop;
	q->log = &ctrl->ctx->log;
	q->qid = qid;
	q->tags = &no_tags;
	loop_defer_init(&q->fail_work, queue_fail_work);
	return q;
}

void queue_bind(struct host_queue *q)
{
	struct nvof_ctrl *ctrl = q->ctrl;

	q->cntlid = q->qid ? ctrl->cntlid : NVMF_CNTLID_DYNAMIC;
	if (q->qid) {
		q->hctx = ctrl_queue_hctx(ctrl, q->qid);
		q->tags = &q->hctx->own;
		q->place = ctrl_queue_place(ctrl, q->qid);
		q->queue_size = ctrl->queue_size;
		q->inline_len = ctrl->inline_len;
	} else {
		q->tags = &ctrl->admin_tags;
		q->queue_size = NVMF_MAX_SQSIZE_ADMIN + 1;
		q->inline_len = ctrl->p.ops->admin_inline_len;
	}
	q->nr_cids = q->tags->nr_cids;
}

struct host_req *queue_own_slot(const struct host_queue *q)
{
	return tags_reserved(q->tags, q->hctx ? q->place : ADMIN_SLOT_CTL);
}

void queue_stop(struct host_queue *q)
{
	loop_defer_cancel(&q->fail_work);
	io_port_take_back(q);
	q->ops->queue_stop(q);
	host_queue_enter(q, QUEUE_STOPPED);
}

void queue_free(struct host_queue *q)
{
	if (!q)
		return;
	assert(q->state == QUEUE_STOPPED && !q->nr_inflight);
	error_clear(&q->err);
	async_op_reset(&q->delete_op);
	q->ops->queue_free(q);
}

/* What a queue is at that is LIVE already: a connect is over when the whole ctrl is.  NULL: at I/O. */
static const char *phase_of_live(const struct host_queue *q)
{
	if (q->ctrl->state != NVOF_CTRL_CONNECTING)
		return NULL;
	if (q->setup)
		return state_names[QUEUE_CONNECT];
	return q->ctrl->init.running ? "init" : state_names[QUEUE_LIVE];
}

/* "connect qid 3 (icreq) to 192.0.2.7:4420: " while it is set up, "qid 3 to 192.0.2.7:4420: " later. */
static void prefix_error(struct host_queue *q)
{
	const char *where = q->peer[0] ? q->peer : q->ctrl->p.where;
	const char *phase = q->state == QUEUE_LIVE ? phase_of_live(q) : state_names[q->state];

	if (phase)
		error_prefix(&q->err, "connect qid %u (%s) to %s", q->qid, phase, where);
	else
		error_prefix(&q->err, "qid %u to %s", q->qid, where);
}

static void queue_vfail(struct host_queue *q, int code, const char *fmt, va_list ap)
{
	if (q->state >= QUEUE_FAILED)
		return;
	error_vset(&q->err, code, fmt, ap);
	prefix_error(q);
	host_queue_enter(q, QUEUE_FAILED);
	loop_defer(q->ctrl->loop, &q->fail_work);
}

void queue_fail(struct host_queue *q, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	queue_vfail(q, code, fmt, ap);
	va_end(ap);
}

void host_queue_failed(struct host_queue *q, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (q->port && io_port_is_here(q->port))
		io_port_failed(q->port, code, fmt, ap);
	else
		queue_vfail(q, code, fmt, ap);
	va_end(ap);
}

void queue_find_region(struct host_queue *q, struct host_req *req)
{
	struct mem_regions *all = &q->ctrl->ctx->regions;
	size_t skip = req->iov_skip;
	const struct iovec *iov = req->iov;
	struct mem_region *m;

	if (!all->nr)
		return;
	for (; iov->iov_len <= skip; iov++)
		skip -= iov->iov_len;
	m = mem_regions_find(all, (char *)iov->iov_base + skip, min_size(iov->iov_len - skip, req->data_len));
	req->mem = m ? q->ops->region_use(q, m) : NULL;
	if (req->mem)
		req->region = mem_region_keep(m);
}

static inline void req_end(struct host_req *req, int status, const struct nvme_cqe *cqe)
{
	struct host_queue *q = req->queue;

	assert(req->active);
	queue_req_off(req);
	if (unlikely(q->pace.watched == req))
		queue_pace_seen(q);
	req->done(req, status, cqe);
}

void queue_req_complete(struct host_req *req, const struct nvme_cqe *cqe)
{
	struct nvof_ctrl *ctrl = req->queue->ctrl;

	if (!ctrl->traffic)
		ctrl->traffic = true;
	if (unlikely(!cds_list_empty(&ctrl->held.list)))
		loop_defer(ctrl->loop, &ctrl->held.work); /* there is room for one that waits */
	req_end(req, le16toh(cqe->status) >> 1, cqe);
}

void queue_req_fail(struct host_req *req, int status)
{
	if (status == NVME_STATUS(NVME_SCT_GENERIC, NVME_SC_TRAN_TPORT_ERROR))
		req->queue->ctrl->stats.nr_data_digest_errors++;
	req_end(req, status, NULL);
}

void host_req_complete(struct host_req *req, const struct nvme_cqe *cqe)
{
	if (unlikely(req->queue->port))
		io_port_ended(req->queue->port, req, 0, cqe);
	else
		queue_req_complete(req, cqe);
}

void host_req_fail(struct host_req *req, int status)
{
	if (unlikely(req->queue->port))
		io_port_ended(req->queue->port, req, status, NULL);
	else
		queue_req_fail(req, status);
}
