/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "host/connect.h"
#include "host/ctrl.h"
#include "host/early_links.h"
#include "host/hctx.h"
#include "host/queue.h"
#include "host/queue_batch.h"
#include "host/queue_setup.h"
#include "host/tags.h"

/* Stops and frees the queue, whatever its state.  Nobody is told about its Connect, which may be under way. */
static void queue_setup_drop(struct queue_setup *s)
{
	struct host_queue *q = s->queue;

	if (!q)
		return;
	s->queue = NULL;
	queue_stop(q);
	if (q->nr_inflight)
		queue_req_off(queue_own_slot(q));
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
	queue_batch_give_up(b);
}

static void setup_link(struct queue_setup *s)
{
	struct nvof_ctrl *ctrl = s->batch->ctrl;
	int ret = -ENOMEM;

	s->later = false;
	s->queue = queue_alloc(ctrl, s->qid);
	if (s->queue) {
		s->queue->setup = s;
		if (!s->batch->held)
			queue_bind(s->queue);
		ret = s->queue->ops->queue_start(s->queue);
		if (!ret)
			return;
	}
	error_set(&s->err, ret, "connect qid %u to %s: %s", s->qid, ctrl->p.where, strerror(-ret));
	loop_defer(ctrl->loop, &s->fail_work);
}

/* The connection is gone, and the peer has not said why. */
static bool link_lost(int code)
{
	return code == -ECONNRESET || code == -EPIPE || code == -ECONNABORTED;
}

/* An early link came to nothing: that is no failure yet, unless the peer broke the protocol. */
static bool setup_was_early(struct queue_setup *s, const struct error *err)
{
	struct queue_batch *b = s->batch;
	bool again = b->held ? err->code != -EPROTO && err->code != -ENOTSUP : s->early && !s->ended && link_lost(err->code);

	if (!again)
		return false;
	early_links_objection(b->ctrl, err);
	b->objected = true;
	s->early = false;
	if (b->held)
		s->later = true;
	else
		setup_link(s);
	return true;
}

void queue_setup_failed(struct queue_setup *s)
{
	struct error err = { 0 };

	error_move(&err, &s->queue->err);
	queue_setup_drop(s);
	if (setup_was_early(s, &err)) {
		error_clear(&err);
		return;
	}
	if (!s->ended) {
		setup_end_failed(s, &err);
		return;
	}
	/* The first failure of the batch, unless another has ended it already. */
	if (!s->batch->late.code && !async_domain_cancelled(&s->batch->domain))
		error_move(&s->batch->late, &err);
	error_clear(&err);
	queue_batch_give_up(s->batch);
}

/* Failures before there was a queue, put off so that start() never ends an operation from inside the domain's pump. */
static void setup_fail_work(struct loop_defer *d)
{
	struct queue_setup *s = container_of(d, struct queue_setup, fail_work);

	queue_setup_drop(s);
	if (setup_was_early(s, &s->err))
		error_clear(&s->err);
	else
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

static void setup_connect(struct host_queue *q)
{
	struct host_req *req = queue_own_slot(q);
	int ret;

	host_queue_enter(q, QUEUE_CONNECT);
	connect_build(q, &q->setup->batch->data, req);
	req->done = setup_connect_done;
	ret = queue_submit(q, req);
	if (ret)
		queue_fail(q, ret, "Connect can't be sent: %s", strerror(-ret));
}

void host_queue_linked(struct host_queue *q)
{
	struct queue_setup *s = q->setup;

	if (q->state >= QUEUE_LINKED)
		return;
	s->early = s->batch->held;
	if (s->early)
		host_queue_enter(q, QUEUE_LINKED);
	else
		setup_connect(q);
}

bool queue_setup_linked(const struct queue_setup *s)
{
	return s->queue && s->queue->state == QUEUE_LINKED;
}

/* The queue of another set-up, which is linked, goes on in the place of this one's. */
void queue_setup_replace(struct queue_setup *s, struct queue_setup *from)
{
	queue_setup_drop(s);
	s->queue = from->queue;
	s->queue->setup = s;
	s->queue->qid = s->qid;
	s->early = true;
	s->later = false;
	from->queue = NULL;
}

void queue_setup_release(struct queue_setup *s)
{
	if (s->op.state != ASYNC_RUNNING)
		return; /* others go first */
	if (s->later)
		setup_link(s);
	else if (s->queue)
		queue_bind(s->queue);
	if (queue_setup_linked(s))
		setup_connect(s->queue);
}

void queue_setup_surplus(struct queue_setup *s)
{
	queue_setup_drop(s);
	if (s->op.state == ASYNC_RUNNING)
		setup_end(s, NULL);
}

static void setup_start(struct async_op *op)
{
	struct queue_setup *s = container_of(op, struct queue_setup, op);
	struct queue_batch *b = s->batch;

	if (s - b->setups >= b->nr)
		setup_end(s, NULL); /* fewer were granted */
	else if (b->held && s - b->setups >= b->nr_early)
		s->later = true;
	else
		setup_link(s);
}

static void setup_cancel(struct async_op *op)
{
	struct queue_setup *s = container_of(op, struct queue_setup, op);
	struct error err = { 0 };

	if (s->ended)
		return;
	loop_defer_cancel(&s->fail_work);
	queue_setup_drop(s);
	error_clear(&s->err);
	error_set(&err, -ECANCELED, "connect qid %u: given up because another queue failed", s->qid);
	setup_end(s, &err);
	error_clear(&err);
}

void queue_setup_init(struct queue_setup *s, struct queue_batch *b, uint16_t qid)
{
	s->op.start = setup_start;
	s->op.cancel = setup_cancel;
	s->batch = b;
	s->qid = qid;
	loop_defer_init(&s->fail_work, setup_fail_work);
}

void queue_setup_reset(struct queue_setup *s)
{
	loop_defer_cancel(&s->fail_work);
	queue_setup_drop(s);
	error_clear(&s->err);
	async_op_reset(&s->op);
}

static const char *waited_for(enum queue_state state)
{
	switch (state) {
	case QUEUE_RESOLVE:
		return "the address did not resolve";
	case QUEUE_ROUTE:
		return "no route was found";
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

void queue_setup_timeout(struct queue_setup *s, uint32_t tmo_ms)
{
	if (s->queue && !s->ended)
		queue_fail(s->queue, -ETIMEDOUT, "%s within %u ms", waited_for(s->queue->state), tmo_ms);
}
