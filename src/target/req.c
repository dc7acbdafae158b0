// SPDX-License-Identifier: BSD-3-Clause
/* The life of a request: begin, execute, respond, end; and the faults on its way. */
#include <string.h>

#include "target/target.h"

enum { THEN_RUN, THEN_STATUS, THEN_DROP, THEN_IGNORE };

static void req_start(struct target_req *req)
{
	struct target_queue *q = req->queue;

	q->nr_active++;
	q->nr_outstanding++;
	req->active = true;
	req->parked = req->answered = req->waiting = req->waited = false;
	req->cqe.result = 0;
	req->dir = DATA_NONE;
	req->data_len = 0;
	req->iov = req->iov_inline;
	req->iovcnt = 0;
	req->in_place = 0;
	req->buf = NULL;
	req->ns = NULL;
	req->delay.pos = 0;
}

static bool is_connect(const struct target_req *req)
{
	return req->sqe.opcode == NVMF_OPCODE && ((const struct nvmf_connect_cmd *)&req->sqe)->fctype == NVMF_CONNECT;
}

/* Refuses what no command may have; a status, or 0. */
static uint16_t req_check(const struct target_req *req)
{
	const struct target_queue *q = req->queue;

	if (!q->connected && !is_connect(req))
		return ST(CMD_SEQ_ERROR);
	/* Fused commands aren't offered; over fabrics data is always described by an SGL.  Linux's target looks at Fabrics commands alike.
	 */
	if ((req->sqe.flags & 0xc3) != NVME_SQE_PSDT_SGL)
		return ST(INVALID_FIELD);
	if (req->sqe.opcode == NVMF_OPCODE)
		return 0;
	/* No command moves data both ways (C115, which wants Invalid Field and not Invalid Opcode). */
	if ((req->sqe.opcode & 3) == 3)
		return ST(INVALID_FIELD);
	return 0;
}

static uint16_t req_prepare(struct target_req *req)
{
	uint16_t status = req_check(req);

	if (status)
		return status;
	if (req->sqe.opcode == NVMF_OPCODE)
		return target_fabrics_begin(req);
	return req->queue->qid ? target_io_begin(req) : target_admin_begin(req);
}

/* Marked, not stamped: the line is written once per keep-alive period, whatever the load. */
static inline void note_traffic(struct target_ctrl *c)
{
	if (c && !__atomic_load_n(&c->traffic, __ATOMIC_RELAXED))
		__atomic_store_n(&c->traffic, true, __ATOMIC_RELAXED);
}

bool target_queue_overrun(struct target_queue *q)
{
	/* One more than the specification lets be outstanding is forgiven: kernels before 6.1 fill the queue. */
	if (likely(q->nr_outstanding + q->nr_waiting <= (uint32_t)q->sqsize + 1))
		return false;
	target_queue_fatal(q, "more commands outstanding than the submission queue holds");
	return true;
}

/* Not answered any more: the host will know by the end of the connection, which may just have come from inside queue_close(). */
static void req_leave(struct target_req *req)
{
	if (req->queue->closed)
		target_req_respond(req, ST_RETRY(ABORT_QUEUE));
	else
		target_req_park(req);
}

bool target_req_begin(struct target_req *req)
{
	struct target_queue *q = req->queue;
	uint16_t status;

	req_start(req);
	if (unlikely(q->closing || q->draining || target_queue_overrun(q))) {
		req_leave(req);
		return false;
	}
	note_traffic(q->ctrl);
	status = req_prepare(req);
	if (!status && req->dir == DATA_TO_CTRL && req->sgl_len != req->data_len)
		status = ST(SGL_INVALID_DATA);
	if (status) {
		req->dir = DATA_NONE;
		target_req_respond(req, status);
		return false;
	}
	if (req->dir == DATA_TO_CTRL && req->data_len) {
		if (q->qid && target_write_in_place(req))
			return true;
		/* In-capsule data stands in line behind the command and can't wait. */
		if (q->qid && !req->in_capsule && q->ops->bring && unlikely(target_buf_short(req, req->data_len))) {
			target_buf_wait(req);
			return false;
		}
		return target_req_buffer(req, req->data_len);
	}
	target_req_execute(req);
	return false;
}

void target_req_reject(struct target_req *req, uint16_t status)
{
	struct target_queue *q = req->queue;

	if (!req->active) /* else its data turned out bad after target_req_begin() */
		req_start(req);
	if (q->closing || q->draining || target_queue_overrun(q))
		req_leave(req);
	else
		target_req_respond(req, status);
}

static void req_run(struct target_req *req)
{
	if (req->sqe.opcode == NVMF_OPCODE)
		target_fabrics_execute(req);
	else if (req->queue->qid)
		target_io_execute(req);
	else
		target_admin_execute(req);
}

static void fault_act(struct target_req *req)
{
	switch (req->delay_then) {
	case THEN_RUN:
		req_run(req);
		break;
	case THEN_STATUS:
		target_req_respond(req, req->delay_status);
		break;
	case THEN_DROP:
	case THEN_IGNORE:
		target_ns_put(req);
		target_req_park(req);
		if (req->delay_then == THEN_DROP)
			target_queue_close(req->queue);
		break;
	}
}

static void fault_delay_over(struct timer *timer)
{
	struct target_req *req = container_of(timer, struct target_req, delay);

	target_req_unpark(req);
	if (req->queue->closing)
		req_leave(req);
	else
		fault_act(req);
}

static bool req_fault(struct target_req *req)
{
	struct target_queue *q = req->queue;
	const struct nvmf_connect_cmd *cmd = (const struct nvmf_connect_cmd *)&req->sqe;
	struct fault_event ev = {
		.point = is_connect(req) ? FAULT_CONNECT
			 : q->qid	 ? FAULT_IO
					 : FAULT_ADMIN,
		.qid = is_connect(req) ? le16toh(cmd->qid) : q->qid,
		.opcode = req->sqe.opcode,
		.fctype = cmd->fctype,
		.nsid = le32toh(req->sqe.nsid),
		.now_ns = loop_now(q->loop),
	};
	struct fault_action act = fault_match(&q->target->faults, &ev);

	if (fault_action_none(&act))
		return false;
	req->delay_status = act.status;
	req->delay_then = act.drop ? THEN_DROP : act.ignore ? THEN_IGNORE : act.status ? THEN_STATUS : THEN_RUN;
	if (act.delay_ns) {
		target_req_park(req);
		timer_init(&req->delay, fault_delay_over);
		timer_set(q->loop, &req->delay, loop_now(q->loop) + act.delay_ns);
	} else {
		fault_act(req);
	}
	return true;
}

void target_req_execute(struct target_req *req)
{
	if (unlikely(req->queue->closing)) {
		req_leave(req);
		return;
	}
	if (unlikely(fault_any(&req->queue->target->faults)) && req_fault(req))
		return;
	req_run(req);
}

bool target_req_buffer(struct target_req *req, uint32_t len)
{
	req->buf = bufs_get(&req->queue->thread->bufs, len, &req->buf_len);
	if (!req->buf) {
		req->dir = DATA_NONE;
		target_req_respond(req, ST_RETRY(INTERNAL)); /* no DNR: better luck next time */
		return false;
	}
	req->iov = req->iov_inline;
	req->iov[0] = (struct iovec){ .iov_base = req->buf, .iov_len = len };
	req->iovcnt = 1;
	return true;
}

void *target_req_page(struct target_req *req, uint32_t len)
{
	if (!req->sgl_len) {
		target_req_respond(req, ST(SGL_INVALID_DATA));
		return NULL;
	}
	req->dir = DATA_FROM_CTRL;
	req->data_len = min_u32(len, req->sgl_len); /* a short buffer gets the leading part (C104) */
	if (!target_req_buffer(req, len))
		return NULL;
	memset(req->buf, 0, len);
	req->iov[0].iov_len = req->data_len;
	return req->buf;
}

void target_req_respond(struct target_req *req, uint16_t status)
{
	struct target_queue *q = req->queue;

	req->answered = true;
	q->nr_outstanding--;
	/* Moved on when a command ends, not when it is fetched: a host that goes by SQHD alone then never has more outstanding than fit. */
	q->sqhd = q->sqhd >= q->sqsize ? 0 : q->sqhd + 1;
	/* FFFFh in Connect's answer says that there is no SQ flow control. */
	if (q->sqflow_off)
		req->cqe.sqhd = is_connect(req) ? 0xffff : 0;
	else
		req->cqe.sqhd = htole16(q->sqhd);
	req->cqe.sqid = htole16(q->qid);
	req->cqe.cid = req->sqe.cid;
	req->cqe.status = htole16((uint16_t)(status << 1));
	q->ops->respond(req);
}

void target_req_end(struct target_req *req)
{
	struct target_queue *q = req->queue;

	/* A transport whose link died ends what it was bringing data for: never answered then. */
	if (!req->answered)
		q->nr_outstanding--;
	if (req->parked)
		target_req_unpark(req);
	target_ns_put(req);
	if (req->buf) {
		target_buf_put(q->thread, req->buf, req->buf_len);
		req->buf = NULL;
	}
	req->active = false;
	q->nr_active--;
	if (unlikely(q->closed))
		target_queue_maybe_free(q);
	else if (unlikely(q->draining) && target_queue_drained(q))
		target_queue_close(q);
}

void target_req_park(struct target_req *req)
{
	req->parked = true;
	req->queue->nr_parked += !req->waiting; /* one that waits for a buffer is work in hand */
	cds_list_add_tail(&req->link, &req->queue->held);
}

void target_req_unpark(struct target_req *req)
{
	struct target_queue *q = req->queue;

	req->parked = false;
	q->nr_parked -= !req->waiting;
	cds_list_del(&req->link);
	if (req->waiting) {
		req->waiting = false;
		cds_list_del(&req->wait_link);
	}
	if (req->delay.pos)
		timer_cancel(q->loop, &req->delay);
}
