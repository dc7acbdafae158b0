/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/connect.h"
#include "host/ctrl.h"
#include "host/queue.h"
#include "proto/status.h"

void connect_fill_data(const struct nvof_ctrl *ctrl, uint16_t qid, struct nvmf_connect_data *data)
{
	memset(data, 0, sizeof(*data));
	memcpy(data->hostid, ctrl->p.hostid, sizeof(data->hostid));
	data->cntlid = htole16(qid ? ctrl->cntlid : NVMF_CNTLID_DYNAMIC);
	/* nqn_check() held both to 223 bytes: the fields keep their terminator. */
	strncpy(data->subsysnqn, ctrl->p.subsysnqn, sizeof(data->subsysnqn) - 1);
	strncpy(data->hostnqn, ctrl->p.hostnqn, sizeof(data->hostnqn) - 1);
}

void connect_build(const struct host_queue *q, struct nvmf_connect_data *data, struct host_req *req)
{
	struct nvmf_connect_cmd *cmd = (struct nvmf_connect_cmd *)&req->sqe;

	memset(cmd, 0, sizeof(*cmd));
	cmd->opcode = NVMF_OPCODE;
	cmd->flags = NVME_SQE_PSDT_SGL;
	cmd->fctype = NVMF_CONNECT;
	cmd->qid = htole16(q->qid);
	cmd->sqsize = htole16((uint16_t)(q->queue_size - 1));
	if (q->qid && q->ctrl->p.disable_sqflow)
		cmd->cattr = NVMF_CATTR_DISABLE_SQFLOW;
	if (!q->qid)
		cmd->kato = htole32(q->ctrl->p.kato_ms);
	req->one = (struct iovec){ .iov_base = data, .iov_len = sizeof(*data) };
	req->iov = &req->one;
	req->iovcnt = 1;
	req->iov_skip = 0;
	req->data_len = sizeof(*data);
	req->dir = DATA_TO_CTRL;
	req->deadline = 0; /* connect_tmo_ms bounds the whole set-up */
}

/* What a person can do about a refused Connect. */
static void refused_hint(const struct nvof_ctrl *ctrl, int status, uint32_t dw0, char *buf, size_t len)
{
	char field[64];

	switch (NVME_STATUS_CODE(status)) {
	case NVME_STATUS(NVME_SCT_CMD_SPECIFIC, NVME_SC_CONNECT_FORMAT):
		snprintf(buf, len, "the target does not know record format 0");
		return;
	case NVME_STATUS(NVME_SCT_CMD_SPECIFIC, NVME_SC_CONNECT_CTRL_BUSY):
		snprintf(buf, len, "the target has no controller free now; it may be tried again");
		return;
	case NVME_STATUS(NVME_SCT_CMD_SPECIFIC, NVME_SC_CONNECT_INVALID_PARAM):
		if (!dw0) {
			snprintf(buf, len, "the target does not say which parameter");
			return;
		}
		nvmf_connect_field(dw0, field, sizeof(field));
		if (!strcmp(field, "subsysnqn"))
			snprintf(buf, len, "subsysnqn '%s' is not one the target knows here", ctrl->p.subsysnqn);
		else if (!strcmp(field, "hostnqn"))
			snprintf(buf, len, "hostnqn '%s' is not valid", ctrl->p.hostnqn);
		else if (!strcmp(field, "hostid"))
			snprintf(buf, len, "hostid %s is not valid", ctrl->p.hostid_text);
		else
			snprintf(buf, len, "at fault: %s", field);
		return;
	case NVME_STATUS(NVME_SCT_CMD_SPECIFIC, NVME_SC_CONNECT_RESTART_DISC):
		snprintf(buf, len, "the target's address or name changed: read the discovery log again");
		return;
	case NVME_STATUS(NVME_SCT_CMD_SPECIFIC, NVME_SC_CONNECT_INVALID_HOST):
		snprintf(buf, len, "hostnqn '%s' is not allowed to connect to '%s'", ctrl->p.hostnqn, ctrl->p.subsysnqn);
		return;
	case NVME_STATUS(NVME_SCT_CMD_SPECIFIC, 0x91):
		snprintf(buf, len, "the target demands authentication, which this host can't do yet");
		return;
	default:
		snprintf(buf, len, "subsysnqn '%s'", ctrl->p.subsysnqn);
	}
}

static void connect_refused(struct host_queue *q, int status, uint32_t dw0)
{
	char text[150], hint[640];

	if (status < 0) {
		queue_fail(q, status, "Connect: %s", strerror(-status));
		return;
	}
	nvme_status_describe((uint16_t)status, true, text, sizeof(text));
	refused_hint(q->ctrl, status, dw0, hint, sizeof(hint));
	queue_fail(q, status, "%s: %s", text, hint);
}

int connect_check_answer(struct host_queue *q, int status, const struct nvme_cqe *cqe)
{
	uint32_t dw0 = cqe ? le32toh(cqe->dw0) : 0;

	if (status) {
		connect_refused(q, status, dw0);
		return status;
	}
	if (dw0 >> 16) {
		queue_fail(q, -ENOTSUP, "the target demands authentication (AUTHREQ %xh), which this host can't do yet", dw0 >> 16);
		return -ENOTSUP;
	}
	if (!q->qid)
		q->ctrl->cntlid = (uint16_t)dw0;
	/* FFFFh says that our wish for no SQ flow control was granted. */
	q->sqflow_off = cqe && le16toh(cqe->sqhd) == 0xffff;
	return 0;
}
