// SPDX-License-Identifier: BSD-3-Clause
/* Fabrics Connect: NVM Express Base 2.0 section 6.3. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "proto/nqn.h"
#include "proto/status.h"
#include "target/target.h"

/* How long Connect waits for a queue id whose last connection is still being closed (C005). */
#define QID_WAIT_NS NSEC_PER_SEC
#define QID_POLL_NS NSEC_PER_MSEC

#define IN_DATA(field) (offsetof(struct nvmf_connect_data, field) | 1u << 16) /* IATTR 1: IPO counts in the data */
#define IN_CMD(field)  offsetof(struct nvmf_connect_cmd, field)

/* Why a Connect is refused. */
struct refusal {
	uint16_t status;
	uint32_t where; /* IN_DATA() or IN_CMD(), with Connect Invalid Parameters */
	const char *why;
};

static const struct nvmf_connect_cmd *connect_cmd(const struct target_req *req)
{
	return (const struct nvmf_connect_cmd *)&req->sqe;
}
static const struct nvmf_connect_data *connect_data(const struct target_req *req)
{
	return req->buf;
}

static bool bad(struct refusal *r, uint32_t where, const char *why)
{
	*r = (struct refusal){ .status = ST_CMD(CONNECT_INVALID_PARAM), .where = where, .why = why };
	return false;
}

static bool refused(struct refusal *r, uint16_t status, const char *why)
{
	*r = (struct refusal){ .status = status, .why = why };
	return false;
}

static void connect_refuse(struct target_req *req, const struct refusal *r)
{
	struct target_queue *q = req->queue;
	bool has_field = NVME_STATUS_CODE(r->status) == NVME_STATUS(NVME_SCT_CMD_SPECIFIC, NVME_SC_CONNECT_INVALID_PARAM);
	char status[160], field[48] = "";

	nvme_status_describe(r->status, true, status, sizeof(status));
	if (has_field) {
		req->cqe.dw0 = htole32(r->where);
		nvmf_connect_field(r->where, field, sizeof(field));
	}
	target_queue_warn(q, "Connect qid %u refused: %s: %s%s%s", le16toh(connect_cmd(req)->qid), status, field, has_field ? ": " : "",
			  r->why);
	timer_set(q->loop, &q->timer, loop_now(q->loop) + q->port->params.handshake_tmo_ns);
	target_req_respond(req, r->status);
}

/* CAP.MQES speaks of I/O queues; an admin queue may have as many entries as the discovery log says, however few those have. */
static uint32_t max_entries(const struct target_req *req)
{
	uint32_t io = req->queue->target->opts.max_queue_size;

	return connect_cmd(req)->qid ? io : max_u32(io, TARGET_ADMIN_QSIZE);
}

/* What can be seen from the command alone. */
static bool connect_check(const struct target_req *req, struct refusal *r)
{
	static const uint8_t no_hostid[16];
	const struct nvmf_connect_cmd *cmd = connect_cmd(req);
	const struct nvmf_connect_data *data = connect_data(req);
	uint16_t sqsize = le16toh(cmd->sqsize);
	const char *why;
	size_t len;

	if (cmd->recfmt)
		return refused(r, ST_CMD(CONNECT_FORMAT), "unknown record format");
	why = nqn_check_wire(data->hostnqn, &len);
	if (why)
		return bad(r, IN_DATA(hostnqn), why);
	if (!memcmp(data->hostid, no_hostid, sizeof(no_hostid)))
		return bad(r, IN_DATA(hostid), "the host identifier is zero");
	why = nqn_check_wire(data->subsysnqn, &len);
	if (why)
		return bad(r, IN_DATA(subsysnqn), why);
	if (!sqsize || sqsize >= max_entries(req))
		return bad(r, IN_CMD(sqsize), "the queue size is not within 2 and MQES");
	if (!cmd->qid && le16toh(data->cntlid) != NVMF_CNTLID_DYNAMIC)
		return bad(r, IN_DATA(cntlid), "ctrls are dynamic: an admin Connect must ask for FFFFh");
	return true;
}

/* The subsystem, if this host may see it by this port.  Under lock, as what follows. */
static struct target_subsys *connect_subsys(const struct target_req *req, struct refusal *r)
{
	const struct nvmf_connect_data *data = connect_data(req);
	struct target_queue *q = req->queue;
	struct target_subsys *s = target_subsys_find(q->target, data->subsysnqn);

	if (!s || !target_port_offers(q->port, s)) {
		bad(r, IN_DATA(subsysnqn), "no such subsystem on this port");
		return NULL;
	}
	if (!target_host_allowed(s, data->hostnqn)) {
		refused(r, ST_CMD(CONNECT_INVALID_HOST), "the host is not on the subsystem's list");
		return NULL;
	}
	return s;
}

static bool connect_admin(struct target_req *req, struct refusal *r)
{
	const struct nvmf_connect_data *data = connect_data(req);
	struct target_queue *q = req->queue;
	struct target_subsys *s = connect_subsys(req, r);
	struct target_ctrl *c;

	if (!s)
		return false;
	c = target_ctrl_new(s, q->port, data->hostnqn, data->hostid);
	if (!c)
		return refused(r, NVME_STATUS(NVME_SCT_CMD_SPECIFIC, NVME_SC_CONNECT_CTRL_BUSY), "no ctrl id or memory left");
	target_ctrl_add_queue(c, q, 0);
	return true;
}

/* *busy: the id is in use, perhaps not for long. */
static bool connect_io(struct target_req *req, struct refusal *r, bool *busy)
{
	const struct nvmf_connect_data *data = connect_data(req);
	struct target_queue *q = req->queue;
	struct target_subsys *s = connect_subsys(req, r);
	uint16_t qid = le16toh(connect_cmd(req)->qid);
	struct target_ctrl *c;

	if (!s)
		return false;
	c = target_ctrl_find(s, le16toh(data->cntlid));
	if (!c)
		return bad(r, IN_DATA(cntlid), "no such ctrl");
	if (strcmp(c->hostnqn, data->hostnqn))
		return bad(r, IN_DATA(hostnqn), "not the host NQN of the admin queue");
	if (memcmp(c->hostid, data->hostid, sizeof(c->hostid)))
		return bad(r, IN_DATA(hostid), "not the host identifier of the admin queue");
	if (c->port != q->port) /* C018 */
		return bad(r, IN_DATA(cntlid), "not the port of the admin queue");
	if (qid > c->max_qid)
		return bad(r, IN_CMD(qid), "more I/O queues than were granted");
	if (!__atomic_load_n(&c->ready, __ATOMIC_RELAXED))
		return refused(r, ST(CMD_SEQ_ERROR), "the ctrl is not enabled");
	*busy = c->queues[qid];
	if (*busy)
		return bad(r, IN_CMD(qid), "the queue id is in use");
	target_ctrl_add_queue(c, q, qid);
	return true;
}

static void connect_accept(struct target_req *req)
{
	const struct nvmf_connect_cmd *cmd = connect_cmd(req);
	struct target_queue *q = req->queue;
	struct target_ctrl *c = q->ctrl;
	uint16_t sqsize = le16toh(cmd->sqsize);

	if (q->ops->queue_resize(q, sqsize)) {
		struct refusal r;

		refused(&r, NVME_STATUS(NVME_SCT_CMD_SPECIFIC, NVME_SC_CONNECT_CTRL_BUSY), "no memory for its queue");
		pthread_mutex_lock(&q->target->lock);
		target_ctrl_remove_queue(q);
		pthread_mutex_unlock(&q->target->lock);
		connect_refuse(req, &r);
		target_queue_close(q);
		return;
	}
	q->sqsize = sqsize;
	q->sqhd = 0;
	q->connected = true;
	timer_cancel(q->loop, &q->timer);
	if (!q->qid)
		target_kato_start(c, le32toh(cmd->kato));
	else
		target_still_watch(q);
	__atomic_store_n(&c->traffic, true, __ATOMIC_RELAXED);
	log_info(q->log, "%s: qid %u of ctrl %u, host %s, subsystem %s: connected, %u entries", q->peer, q->qid, c->cntlid, c->hostnqn,
		 c->subsys->nqn, sqsize + 1);
	req->cqe.dw0 = htole32(c->cntlid);
	req->cqe.dw1 = 0;
	if (cmd->cattr & NVMF_CATTR_DISABLE_SQFLOW)
		q->sqflow_off = true;
	target_req_respond(req, 0);
}

static void connect_try(struct target_req *req);

static void qid_poll(struct timer *timer)
{
	struct target_req *req = container_of(timer, struct target_req, delay);

	target_req_unpark(req);
	if (req->queue->closing)
		target_req_park(req);
	else
		connect_try(req);
}

static void connect_try(struct target_req *req)
{
	struct target_queue *q = req->queue;
	struct refusal r = { 0 };
	bool busy = false, fine;

	/* One that was sent before the answer to an earlier one, which came to be accepted. */
	if (q->ctrl) {
		target_req_respond(req, ST(CMD_SEQ_ERROR));
		return;
	}
	pthread_mutex_lock(&q->target->lock);
	fine = connect_cmd(req)->qid ? connect_io(req, &r, &busy) : connect_admin(req, &r);
	pthread_mutex_unlock(&q->target->lock);
	if (fine) {
		connect_accept(req);
	} else if (busy && loop_now(q->loop) < req->scratch[0]) {
		target_req_park(req);
		timer_set(q->loop, &req->delay, loop_now(q->loop) + QID_POLL_NS);
	} else {
		connect_refuse(req, &r);
	}
}

void target_connect(struct target_req *req)
{
	struct target_queue *q = req->queue;
	struct refusal r;

	if (!connect_check(req, &r)) {
		connect_refuse(req, &r);
		return;
	}
	req->scratch[0] = loop_now(q->loop) + QID_WAIT_NS;
	timer_init(&req->delay, qid_poll);
	connect_try(req);
}
