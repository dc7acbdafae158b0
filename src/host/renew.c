/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/renew.h"

#include <errno.h>
#include <stdlib.h>

#include "host/ctrl.h"
#include "host/hctx.h"
#include "host/queue.h"
#include "host/queue_batch.h"

struct renewal {
	struct cds_list_head link; /* ctrl->renewals */
	struct nvof_ctrl *ctrl;
	struct queue_batch *batch; /* of one */
	struct timer timeout;
};

static void renewal_end(struct renewal *r)
{
	cds_list_del(&r->link);
	timer_cancel(r->ctrl->loop, &r->timeout);
	queue_batch_free(r->batch);
	free(r);
}

void renew_stop(struct nvof_ctrl *ctrl)
{
	while (!cds_list_empty(&ctrl->renewals))
		renewal_end(cds_list_first_entry(&ctrl->renewals, struct renewal, link));
}

static void renewal_done(struct nvof_ctrl *ctrl, struct queue_batch *b)
{
	const struct error *first = queue_batch_error(b);
	struct error err = { 0 };
	struct renewal *r;

	cds_list_for_each_entry (r, &ctrl->renewals, link)
		if (r->batch == b)
			break;
	if (first) {
		error_copy(&err, first);
		renewal_end(r);
		ctrl_lost(ctrl, &err);
		error_clear(&err);
		return;
	}
	hctx_add_queue(queue_batch_take(b, 0));
	ctrl_lend_queues(ctrl);
	ctrl->nr_live_queues++;
	ctrl->stats.nr_renewals++;
	log_info(&ctrl->ctx->log, "%s at %s: qid %u is back", ctrl->p.subsysnqn, ctrl->p.where, b->setups[0].qid);
	renewal_end(r);
	held_resume(ctrl);
}

static void renewal_timeout(struct timer *t)
{
	struct renewal *r = container_of(t, struct renewal, timeout);

	queue_batch_timeout(r->batch, r->ctrl->p.connect_tmo_ms);
}

static bool may_renew(const struct nvof_ctrl *ctrl, const struct host_queue *q, const struct error *err)
{
	/* One that did not answer, or answered nonsense, is no better off with another connection. */
	if (!q->qid || err->code == -ETIMEDOUT || err->code == -EPROTO)
		return false;
	return ctrl->p.ctrl_loss_tmo_ms && !ctrl->held.on && le16toh(ctrl->init.id->ofcs) & NVME_CTRL_OFCS_DISCONNECT;
}

bool renew_queue(struct nvof_ctrl *ctrl, struct host_queue *q, struct error *err)
{
	struct renewal *r;

	if (!may_renew(ctrl, q, err))
		return false;
	r = calloc(1, sizeof(*r));
	if (!r)
		return false;
	r->ctrl = ctrl;
	r->batch = queue_batch_new(ctrl, q->qid, 1, renewal_done);
	if (!r->batch) {
		free(r);
		return false;
	}
	timer_init(&r->timeout, renewal_timeout);
	cds_list_add_tail(&r->link, &ctrl->renewals);
	log_warn(&ctrl->ctx->log, "%s at %s: a queue is lost, and set up again: %s", ctrl->p.subsysnqn, ctrl->p.where, error_msg(err));
	hctx_remove_queue(q);
	ctrl_lend_queues(ctrl);
	ctrl->nr_live_queues--;
	q->resend = true;
	queue_stop(q);
	/* Callbacks run in here: of requests that may not be sent again. */
	held_take_inflight(ctrl, &q->hctx->own, q, err->code < 0 ? err->code : -ECONNRESET);
	queue_free(q);
	error_clear(err);
	held_resume(ctrl);
	/* A callback may have begun to disconnect, which ends this, too, but later. */
	timer_set(ctrl->loop, &r->timeout, clock_ns() + ctrl->p.connect_tmo_ms * NSEC_PER_MSEC);
	queue_batch_start(r->batch, 1);
	return true;
}
