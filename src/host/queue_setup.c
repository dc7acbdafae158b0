/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "host/connect.h"
#include "host/ctrl.h"
#include "host/hctx.h"
#include "host/queue.h"
#include "host/queue_setup.h"
#include "host/tags.h"

static struct host_req *connect_slot(const struct host_queue *q)
{
	/* A hctx has one queue now; with more, each gets the reserved slot of its place in the group. */
	return tags_reserved(q->tags, q->hctx ? 0 : ADMIN_SLOT_CTL);
}

/* Stops and frees the queue, whatever its state.  Nobody is told about its Connect, which may be under way. */
static void setup_drop_queue(struct queue_setup *s)
{
	struct host_queue *q = s->queue;
	struct host_req *req;

	if (!q)
		return;
	s->queue = NULL;
	queue_stop(q);
	req = connect_slot(q);
	if (req->active && req->queue == q) {
		req->active = false;
		q->nr_inflight--;
	}
	queue_free(q);
}

static void setup_end(struct queue_setup *s, struct error *err)
{
	s->ended = true;
	async_op_end(&s->op, err);
}

/* The first failure ends the rest, too: what they would reach is of no use any more. */
static void setup_end_failed(struct queue_setup *s, struct error *err)
{
	struct queue_batch *b = s->batch;

	/* The batch outlives this: it is freed at the end of the turn at the earliest. */
	setup_end(s, err);
	async_domain_cancel(&b->domain, -ECANCELED);
}

void queue_setup_failed(struct queue_setup *s)
{
	struct error err = { 0 };

	error_move(&err, &s->queue->err);
	setup_drop_queue(s);
	if (!s->ended) {
		setup_end_failed(s, &err);
		return;
	}
	/* The first failure of the batch, unless another has ended it already. */
	if (!s->batch->late.code && !async_domain_cancelled(&s->batch->domain))
		error_move(&s->batch->late, &err);
	error_clear(&err);
	async_domain_cancel(&s->batch->domain, -ECANCELED);
}

/* Failures before there was a queue, put off so that start() never ends an operation from inside the domain's pump. */
static void setup_fail_work(struct loop_defer *d)
{
	struct queue_setup *s = container_of(d, struct queue_setup, fail_work);

	setup_drop_queue(s);
	setup_end_failed(s, &s->err);
}

static void setup_connect_done(struct host_req *req, int status, const struct nvme_cqe *cqe)
{
	struct host_queue *q = req->queue;
	struct queue_setup *s = q->setup;

	if (q->state != QUEUE_CONNECT)
		return; /* it failed in the same turn: that is the error that counts */
	if (connect_check_answer(q, status, cqe))
		return;
	host_queue_enter(q, QUEUE_LIVE);
	setup_end(s, NULL);
}

void host_queue_linked(struct host_queue *q)
{
	struct host_req *req = connect_slot(q);
	int ret;

	if (q->state >= QUEUE_CONNECT)
		return;
	host_queue_enter(q, QUEUE_CONNECT);
	connect_build(q, &q->setup->batch->data, req);
	req->done = setup_connect_done;
	ret = queue_submit(q, req);
	if (ret)
		host_queue_failed(q, ret, "Connect can't be sent: %s", strerror(-ret));
}

static void setup_start(struct async_op *op)
{
	struct queue_setup *s = container_of(op, struct queue_setup, op);
	struct nvof_ctrl *ctrl = s->batch->ctrl;
	int ret = -ENOMEM;

	s->queue = queue_alloc(ctrl, s->hctx, s->qid);
	if (s->queue) {
		s->queue->setup = s;
		ret = s->queue->ops->queue_start(s->queue);
		if (!ret)
			return;
	}
	error_set(&s->err, ret, "connect qid %u to %s: %s", s->qid, ctrl->p.where, strerror(-ret));
	loop_defer(ctrl->loop, &s->fail_work);
}

static void setup_cancel(struct async_op *op)
{
	struct queue_setup *s = container_of(op, struct queue_setup, op);
	struct error err = { 0 };

	if (s->ended)
		return;
	loop_defer_cancel(&s->fail_work);
	setup_drop_queue(s);
	error_clear(&s->err);
	error_set(&err, -ECANCELED, "connect qid %u: given up because another queue failed", s->qid);
	setup_end(s, &err);
	error_clear(&err);
}

static void batch_finish(struct loop_defer *d)
{
	struct queue_batch *b = container_of(d, struct queue_batch, finish_work);

	b->done(b->ctrl, b);
}

static void batch_domain_done(struct async_domain *domain)
{
	struct queue_batch *b = container_of(domain, struct queue_batch, domain);

	/* Its last operation may have ended in the middle of a transport's work: queues can be stopped only later. */
	if (!b->aborted)
		loop_defer(b->ctrl->loop, &b->finish_work);
}

struct queue_batch *queue_batch_new(struct nvof_ctrl *ctrl, uint16_t first_qid, uint32_t nr,
				    void (*done)(struct nvof_ctrl *ctrl, struct queue_batch *b))
{
	struct queue_batch *b = calloc(1, sizeof(*b) + nr * sizeof(b->setups[0]));
	uint32_t i;

	if (!b)
		return NULL;
	b->ctrl = ctrl;
	b->done = done;
	b->nr = nr;
	loop_defer_init(&b->finish_work, batch_finish);
	async_domain_init(&b->domain, 0, batch_domain_done);
	connect_fill_data(ctrl, first_qid, &b->data);
	for (i = 0; i < nr; i++) {
		struct queue_setup *s = &b->setups[i];

		s->op.start = setup_start;
		s->op.cancel = setup_cancel;
		s->batch = b;
		s->qid = (uint16_t)(first_qid + i);
		s->hctx = s->qid ? ctrl_queue_hctx(ctrl, s->qid) : NULL;
		loop_defer_init(&s->fail_work, setup_fail_work);
	}
	return b;
}

void queue_batch_start(struct queue_batch *b, uint32_t concurrency)
{
	uint32_t i;

	async_domain_init(&b->domain, concurrency, batch_domain_done);
	for (i = 0; i < b->nr; i++)
		async_domain_add(&b->domain, &b->setups[i].op);
	async_domain_close(&b->domain);
}

static const char *waited_for(enum queue_state state)
{
	switch (state) {
	case QUEUE_RESOLVE:
		return "the name did not resolve";
	case QUEUE_LINK:
		return "no answer to the connection request";
	case QUEUE_TLS:
		return "no end of the TLS handshake";
	case QUEUE_ICREQ:
		return "no ICResp";
	case QUEUE_CONNECT:
		return "no answer to Connect";
	case QUEUE_AUTH:
		return "no end of the authentication";
	default:
		return "no progress";
	}
}

void queue_batch_timeout(struct queue_batch *b, uint32_t tmo_ms)
{
	uint32_t i;

	for (i = 0; i < b->nr; i++) {
		struct host_queue *q = b->setups[i].queue;

		if (q && !b->setups[i].ended)
			host_queue_failed(q, -ETIMEDOUT, "%s within %u ms", waited_for(q->state), tmo_ms);
	}
}

const struct error *queue_batch_error(const struct queue_batch *b)
{
	/* A late failure cancelled the operations that ended after it: theirs are its consequences. */
	return b->late.code ? &b->late : async_domain_first_error(&b->domain);
}

struct host_queue *queue_batch_take(struct queue_batch *b, uint32_t i)
{
	struct host_queue *q = b->setups[i].queue;

	assert(q && b->setups[i].ended);
	b->setups[i].queue = NULL;
	q->setup = NULL;
	return q;
}

void queue_batch_free(struct queue_batch *b)
{
	uint32_t i;

	if (!b)
		return;
	b->aborted = true;
	async_domain_cancel(&b->domain, -ECANCELED);
	loop_defer_cancel(&b->finish_work);
	for (i = 0; i < b->nr; i++) {
		loop_defer_cancel(&b->setups[i].fail_work);
		setup_drop_queue(&b->setups[i]);
		error_clear(&b->setups[i].err);
		async_op_reset(&b->setups[i].op);
	}
	error_clear(&b->late);
	free(b);
}
