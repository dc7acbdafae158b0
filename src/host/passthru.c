/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands as users write them, and the I/O commands that fit no other file: flush and dataset management. */
#include <errno.h>
#include <stdlib.h>

#include "host/admin.h"
#include "host/io.h"
#include "host/mpath.h"
#include "host/ns.h"
#include "host/passthru.h"

int io_submit_sqe(struct nvof_hctx *hctx, struct nvof_ns *ns, const struct nvme_sqe *sqe, enum data_dir dir, void *buf, size_t len,
		  bool retry, nvof_cb *cb, void *arg)
{
	struct host_req *req;
	int ret;

	if (!hctx->live)
		return -ENOTCONN;
	if (len > hctx->ctrl->max_transfer || len > UINT32_MAX)
		return -EMSGSIZE;
	req = tags_get(hctx->tags);
	if (!req)
		return -EAGAIN;
	req->sqe = *sqe;
	req->sqe.flags |= NVME_SQE_PSDT_SGL;
	req->one = (struct iovec){ .iov_base = buf, .iov_len = len };
	req->iov = &req->one;
	req->iovcnt = len ? 1 : 0;
	req->iov_skip = 0;
	req->data_len = (uint32_t)len;
	req->dir = len ? dir : DATA_NONE;
	req->done = hctx_req_done;
	req->cb = cb;
	req->arg = arg;
	ret = hctx_submit(hctx, req, ns, retry);
	if (ret)
		tags_put(req);
	return ret;
}

static int cmd_to_sqe(const struct nvof_cmd *cmd, enum nvof_dir dir, const void *buf, size_t len, struct nvme_sqe *sqe, enum data_dir *to)
{
	/* Fused commands must reach the ctrl as a pair on one queue, which nobody here sees to.  PSDT is the library's. */
	if (cmd->flags || (len && (dir == NVOF_DIR_NONE || !buf)))
		return -EINVAL;
	if ((unsigned int)dir > NVOF_DIR_FROM_CTRL)
		return -EINVAL;
	*to = dir == NVOF_DIR_TO_CTRL ? DATA_TO_CTRL : dir == NVOF_DIR_FROM_CTRL ? DATA_FROM_CTRL : DATA_NONE;
	*sqe = (struct nvme_sqe){
		.opcode = cmd->opcode,
		.nsid = htole32(cmd->nsid),
		.cdw2 = htole32(cmd->cdw2),
		.cdw3 = htole32(cmd->cdw3),
		.cdw10 = htole32(cmd->cdw10),
		.cdw11 = htole32(cmd->cdw11),
		.cdw12 = htole32(cmd->cdw12),
		.cdw13 = htole32(cmd->cdw13),
		.cdw14 = htole32(cmd->cdw14),
		.cdw15 = htole32(cmd->cdw15),
	};
	return 0;
}

int nvof_io_passthru(struct nvof_hctx *hctx, const struct nvof_cmd *cmd, enum nvof_dir dir, void *buf, size_t len, nvof_cb *cb, void *arg)
{
	struct nvme_sqe sqe;
	enum data_dir to;

	if (hctx->subsys || cmd_to_sqe(cmd, dir, buf, len, &sqe, &to))
		return -EINVAL;
	/* What it does the library can't know, nor whether it may be done twice. */
	return io_submit_sqe(hctx, NULL, &sqe, to, buf, len, false, cb, arg);
}

int nvof_admin_passthru(struct nvof_ctrl *ctrl, const struct nvof_cmd *cmd, enum nvof_dir dir, void *buf, size_t len, nvof_cb *cb,
			void *arg)
{
	struct nvme_sqe sqe;
	enum data_dir to;

	/* Events are the library's: it keeps the one request for them.  A Connect has no business on a queue that is connected. */
	if (cmd->opcode == nvme_admin_async_event || (cmd->opcode == NVMF_OPCODE && (cmd->nsid & 0xff) == NVMF_CONNECT))
		return -EINVAL;
	if (cmd_to_sqe(cmd, dir, buf, len, &sqe, &to))
		return -EINVAL;
	return admin_submit(ctrl, &sqe, to, buf, len, cb, arg);
}

int nvof_flush(struct nvof_hctx *hctx, struct nvof_ns *ns, nvof_cb *cb, void *arg)
{
	struct nvme_sqe sqe = { .opcode = nvme_cmd_flush, .nsid = ns->nsid_le };

	if (hctx->subsys)
		return mpath_submit(hctx, &(struct io){ .ns = ns, .opcode = nvme_cmd_flush, .nlb = 1, .cb = cb, .arg = arg }, NULL);
	if (ns->ctrl != hctx->ctrl)
		return -EINVAL;
	if (ns->end_status)
		return ns->end_status;
	return io_submit_sqe(hctx, ns, &sqe, DATA_NONE, NULL, 0, true, cb, arg);
}

/* The ranges travel as data and must live as long as the command. */
struct discard {
	nvof_cb *cb;
	void *arg;
	struct nvme_dsm_range ranges[];
};

static void discard_done(void *arg, const struct nvof_cpl *cpl)
{
	struct discard *d = arg;
	nvof_cb *cb = d->cb;
	void *cb_arg = d->arg;

	free(d);
	cb(cb_arg, cpl);
}

int nvof_discard(struct nvof_hctx *hctx, struct nvof_ns *ns, const struct nvof_range *ranges, unsigned int nr, nvof_cb *cb, void *arg)
{
	struct nvme_sqe sqe = { .opcode = nvme_cmd_dsm, .nsid = ns->nsid_le, .cdw10 = htole32(nr - 1), .cdw11 = htole32(1u << 2) };
	struct discard *d;
	unsigned int i;
	int ret;

	if (!hctx->live && !hctx->subsys)
		return -ENOTCONN;
	if (!nr || nr > 256 || !ranges || ns->ctrl != hctx->ctrl)
		return -EINVAL;
	if (hctx->ctrl && !(le16toh(hctx->ctrl->init.id->oncs) & NVME_CTRL_ONCS_DSM))
		return -ENOTSUP;
	d = calloc(1, sizeof(*d) + nr * sizeof(d->ranges[0]));
	if (!d)
		return -ENOMEM;
	d->cb = cb;
	d->arg = arg;
	for (i = 0; i < nr; i++) {
		if (!ranges[i].nlb || ranges[i].slba >= ns->nr_blocks || ranges[i].nlb > ns->nr_blocks - ranges[i].slba) {
			free(d);
			if (ns->end_status)
				return ns->end_status;
			return ranges[i].nlb ? -ERANGE : -EINVAL;
		}
		d->ranges[i].nlb = htole32(ranges[i].nlb);
		d->ranges[i].slba = htole64(ranges[i].slba);
	}
	if (hctx->subsys)
		ret = mpath_submit(hctx,
				   &(struct io){ .ns = ns,
						 .opcode = sqe.opcode,
						 .dir = DATA_TO_CTRL,
						 .nlb = 1,
						 .cb = discard_done,
						 .arg = d,
						 .slba = (nr - 1) | (uint64_t)NVME_DSMGMT_AD << 32 },
				   d->ranges);
	else
		ret = io_submit_sqe(hctx, ns, &sqe, DATA_TO_CTRL, d->ranges, nr * sizeof(d->ranges[0]), true, discard_done, d);
	if (ret)
		free(d);
	return ret;
}
