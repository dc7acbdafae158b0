/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/queue_delete.h"

#include <errno.h>
#include <string.h>

#include "host/ctrl.h"
#include "host/hctx.h"
#include "host/queue.h"

#define DELETE_TMO (1 * NSEC_PER_SEC) /* the shutdown, which has more time, follows in any case */

static void delete_end(struct host_queue *q)
{
	if (q->delete_op.state == ASYNC_RUNNING)
		async_op_end(&q->delete_op, NULL);
}

/* A refusal is an answer, too: the queue is closed then without its blessing. */
static void delete_answered(struct host_req *req, int status, const struct nvme_cqe *cqe)
{
	delete_end(req->queue);
}

static void delete_begin(struct async_op *op)
{
	struct host_queue *q = container_of(op, struct host_queue, delete_op);
	struct host_req *req = queue_own_slot(q);
	struct nvmf_disconnect_cmd *cmd = (struct nvmf_disconnect_cmd *)&req->sqe;

	memset(cmd, 0, sizeof(*cmd));
	cmd->opcode = NVMF_OPCODE;
	cmd->flags = NVME_SQE_PSDT_SGL;
	cmd->fctype = NVMF_DISCONNECT;
	req->iovcnt = 0;
	req->data_len = 0;
	req->dir = DATA_NONE;
	req->deadline = 0;
	req->retry = false;
	req->done = delete_answered;
	if (queue_submit(q, req))
		delete_end(q); /* it is going down already */
}

static void delete_cancel(struct async_op *op)
{
	delete_end(container_of(op, struct host_queue, delete_op));
}

void queue_delete_lost(struct host_queue *q)
{
	delete_end(q);
}

static void domain_done(struct async_domain *d)
{
	struct nvof_ctrl *ctrl = container_of(d, struct nvof_ctrl, queue_delete.domain);

	if (ctrl->queue_delete.running)
		loop_defer(ctrl->loop, &ctrl->queue_delete.done_work);
}

static void done_work(struct loop_defer *w)
{
	struct nvof_ctrl *ctrl = container_of(w, struct nvof_ctrl, queue_delete.done_work);

	queue_delete_stop(ctrl);
	queue_delete_done(ctrl);
}

static void delete_timeout(struct timer *t)
{
	struct nvof_ctrl *ctrl = container_of(t, struct nvof_ctrl, queue_delete.timeout);

	async_domain_cancel(&ctrl->queue_delete.domain, -ETIMEDOUT);
}

static void delete_queues_of(struct nvof_ctrl *ctrl, struct nvof_hctx *hctx)
{
	uint32_t i;

	for (i = 0; i < hctx->nr_queues && !hctx->borrowed; i++) {
		struct async_op *op = &hctx->queues[i]->delete_op;

		op->start = delete_begin;
		op->cancel = delete_cancel;
		async_domain_add(&ctrl->queue_delete.domain, op);
	}
}

void queue_delete_start(struct nvof_ctrl *ctrl)
{
	struct queue_delete *qd = &ctrl->queue_delete;
	uint32_t i;

	qd->running = true;
	timer_set(ctrl->loop, &qd->timeout, clock_ns() + DELETE_TMO);
	async_domain_init(&qd->domain, ctrl->p.setup_concurrency, domain_done);
	if (le16toh(ctrl->init.id->ofcs) & NVME_CTRL_OFCS_DISCONNECT)
		for (i = 0; i < ctrl->nr_hctx; i++)
			delete_queues_of(ctrl, ctrl->hctxs[i]);
	async_domain_close(&qd->domain);
}

void queue_delete_stop(struct nvof_ctrl *ctrl)
{
	struct queue_delete *qd = &ctrl->queue_delete;

	if (!qd->running)
		return;
	qd->running = false;
	timer_cancel(ctrl->loop, &qd->timeout);
	loop_defer_cancel(&qd->done_work);
	async_domain_cancel(&qd->domain, -ECANCELED);
}

void queue_delete_setup(struct nvof_ctrl *ctrl)
{
	timer_init(&ctrl->queue_delete.timeout, delete_timeout);
	loop_defer_init(&ctrl->queue_delete.done_work, done_work);
}
