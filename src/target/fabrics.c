// SPDX-License-Identifier: BSD-3-Clause
/* Fabrics commands: which are allowed where, and Disconnect. */
#include "target/target.h"

static const struct nvmf_connect_cmd *fabrics_cmd(const struct target_req *req)
{
	return (const struct nvmf_connect_cmd *)&req->sqe;
}

uint16_t target_fabrics_begin(struct target_req *req)
{
	struct target_queue *q = req->queue;

	switch (fabrics_cmd(req)->fctype) {
	case NVMF_CONNECT:
		if (q->connected)
			return ST(CMD_SEQ_ERROR);
		req->dir = DATA_TO_CTRL;
		req->data_len = sizeof(struct nvmf_connect_data);
		return 0;
	case NVMF_PROPERTY_GET:
	case NVMF_PROPERTY_SET:
		return q->qid ? ST(INVALID_OPCODE) : 0;
	case NVMF_DISCONNECT:
		return q->qid ? 0 : ST_CMD(DISCONNECT_INVALID_QTYPE);
	default:
		return ST(INVALID_OPCODE);
	}
}

static void disconnect(struct target_req *req)
{
	struct target_queue *q = req->queue;

	if (((const struct nvmf_disconnect_cmd *)&req->sqe)->recfmt) {
		target_req_respond(req, ST_CMD(CONNECT_FORMAT));
		return;
	}
	target_req_respond(req, 0);
	target_queue_close(q);
}

void target_fabrics_execute(struct target_req *req)
{
	switch (fabrics_cmd(req)->fctype) {
	case NVMF_CONNECT:
		target_connect(req);
		break;
	case NVMF_PROPERTY_GET:
		target_property_get(req);
		break;
	case NVMF_PROPERTY_SET:
		target_property_set(req);
		break;
	default:
		disconnect(req);
		break;
	}
}
