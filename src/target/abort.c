// SPDX-License-Identifier: BSD-3-Clause
/*
 * Abort: best effort, as the specification has it.  What can be aborted is what the core holds: event requests, and commands that a fault
 * delays or ignores, on queues of this thread.  An Abort ends before the next command is looked at, so the limit (ACL) is never met.
 */
#include "target/target.h"

static struct target_req *held_find(struct target_queue *q, uint16_t cid)
{
	struct target_req *req;

	cds_list_for_each_entry (req, &q->held, link)
		if (req->sqe.cid == cid)
			return req;
	return NULL;
}

static struct target_queue *queue_here(struct target_req *req, uint16_t sqid)
{
	struct target_queue *q = req->queue, *found = NULL;
	struct target_ctrl *c = q->ctrl;

	pthread_mutex_lock(&q->target->lock);
	if (sqid <= c->max_qid && c->queues[sqid] && c->queues[sqid]->thread == q->thread)
		found = c->queues[sqid];
	pthread_mutex_unlock(&q->target->lock);
	return found;
}

void target_abort(struct target_req *req)
{
	uint32_t cdw10 = le32toh(req->sqe.cdw10);
	struct target_queue *q = queue_here(req, cdw10 & 0xffff);
	struct target_req *victim = q ? held_find(q, htole16((uint16_t)(cdw10 >> 16))) : NULL;

	req->cqe.dw0 = htole32(victim ? 0 : 1); /* C116: bit 0 says that nothing was aborted */
	if (victim) {
		target_aer_forget(q->ctrl, victim);
		target_req_unpark(victim);
		target_req_respond(victim, ST_RETRY(ABORT_REQ));
	}
	target_req_respond(req, 0);
}
