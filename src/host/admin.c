/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/admin.h"
#include "host/queue.h"
#include "host/tags.h"

static void req_set_data(struct host_req *req, enum data_dir dir, void *buf, uint32_t len)
{
	req->one = (struct iovec){ .iov_base = buf, .iov_len = len };
	req->iov = &req->one;
	req->iovcnt = len ? 1 : 0;
	req->iov_skip = 0;
	req->data_len = len;
	req->dir = len ? dir : DATA_NONE;
}

static void admin_done(struct host_req *req, int status, const struct nvme_cqe *cqe)
{
	struct nvof_cpl cpl = { .status = status, .result = cqe ? le64toh(cqe->result) : 0 };
	nvof_cb *cb = req->cb;
	void *arg = req->arg;

	tags_put(req);
	cb(arg, &cpl);
}

int admin_submit(struct nvof_ctrl *ctrl, const struct nvme_sqe *sqe, enum data_dir dir, void *buf, size_t len, nvof_cb *cb, void *arg)
{
	struct host_req *req;
	int ret;

	if (ctrl->state != NVOF_CTRL_LIVE || !ctrl->admin)
		return -ENOTCONN;
	if (len > ctrl->max_transfer || len > UINT32_MAX)
		return -EMSGSIZE;
	req = tags_get(&ctrl->admin_tags);
	if (!req)
		return -EAGAIN;
	req->sqe = *sqe;
	req->sqe.flags |= NVME_SQE_PSDT_SGL;
	req_set_data(req, dir, buf, (uint32_t)len);
	req->done = admin_done;
	req->cb = cb;
	req->arg = arg;
	req->deadline = cmd_deadline(ctrl);
	ret = queue_submit(ctrl->admin, req);
	if (ret)
		tags_put(req);
	return ret;
}

int admin_submit_slot(struct nvof_ctrl *ctrl, enum admin_slot slot, const struct nvme_sqe *sqe, enum data_dir dir, void *buf, uint32_t len,
		      void (*done)(struct host_req *req, int status, const struct nvme_cqe *cqe))
{
	struct host_req *req = tags_reserved(&ctrl->admin_tags, slot);

	if (!ctrl->admin || ctrl->admin->state != QUEUE_LIVE)
		return -ENOTCONN;
	if (req->active)
		return -EBUSY;
	req->sqe = *sqe;
	req->sqe.flags |= NVME_SQE_PSDT_SGL;
	req_set_data(req, dir, buf, len);
	req->done = done;
	req->arg = ctrl;
	req->deadline = 0;
	return queue_submit(ctrl->admin, req);
}

struct nvme_sqe sqe_identify(uint8_t cns, uint32_t nsid, uint16_t cntid, uint8_t csi)
{
	return (struct nvme_sqe){
		.opcode = nvme_admin_identify,
		.nsid = htole32(nsid),
		.cdw10 = htole32((uint32_t)cntid << 16 | cns),
		.cdw11 = htole32((uint32_t)csi << 24),
	};
}

struct nvme_sqe sqe_get_log(uint8_t lid, uint8_t lsp, bool rae, uint32_t nsid, uint64_t offset, uint32_t len)
{
	uint32_t numd = len / 4 - 1;

	return (struct nvme_sqe){
		.opcode = nvme_admin_get_log_page,
		.nsid = htole32(nsid),
		.cdw10 = htole32(numd << 16 | (uint32_t)rae << 15 | (uint32_t)(lsp & 0x7f) << 8 | lid),
		.cdw11 = htole32(numd >> 16),
		.cdw12 = htole32((uint32_t)offset),
		.cdw13 = htole32((uint32_t)(offset >> 32)),
	};
}

struct nvme_sqe sqe_features(uint8_t opcode, uint8_t fid, uint32_t nsid, uint32_t cdw11)
{
	return (struct nvme_sqe){ .opcode = opcode, .nsid = htole32(nsid), .cdw10 = htole32(fid), .cdw11 = htole32(cdw11) };
}

static struct nvme_sqe sqe_property(uint8_t fctype, uint32_t offset, bool is64, uint64_t value)
{
	struct nvmf_property_cmd cmd = {
		.opcode = NVMF_OPCODE, .fctype = fctype, .attrib = is64, .offset = htole32(offset), .value = htole64(value)
	};
	struct nvme_sqe sqe;

	memcpy(&sqe, &cmd, sizeof(sqe));
	return sqe;
}

struct nvme_sqe sqe_property_get(uint32_t offset, bool is64)
{
	return sqe_property(NVMF_PROPERTY_GET, offset, is64, 0);
}

struct nvme_sqe sqe_property_set(uint32_t offset, bool is64, uint64_t value)
{
	return sqe_property(NVMF_PROPERTY_SET, offset, is64, is64 ? value : (uint32_t)value);
}

int ctrl_op_failed(struct nvof_ctrl *ctrl, int status, const char *fmt, ...)
{
	char what[256], text[150];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	error_clear(&ctrl->op_err);
	if (status == -ENOTSUP || status == -EPROTO)
		error_set(&ctrl->op_err, status, "%s", what); /* found here: the sentence says it all */
	else
		error_set(&ctrl->op_err, status, "%s: %s", what, nvof_status_str(status, text, sizeof(text)));
	return status;
}
