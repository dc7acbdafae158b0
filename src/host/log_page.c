/* SPDX-License-Identifier: BSD-3-Clause */
/* Get Log Page in as many commands as MDTS asks for. */
#include <errno.h>
#include <stdlib.h>

#include "host/admin.h"

#define LOG_CHUNK (64u * 1024) /* also where MDTS allows more: some ctrls stage a log page in one buffer */

struct log_read {
	struct nvof_ctrl *ctrl;
	nvof_cb *cb;
	void *arg;
	uint8_t *buf;
	size_t left;
	uint64_t offset;
	uint32_t nsid;
	uint32_t chunk; /* bytes of the command under way */
	uint8_t lid, lsp;
	bool rae;
};

static void log_chunk_read(void *arg, const struct nvof_cpl *cpl);

static int log_ask(struct log_read *op)
{
	uint32_t max = (uint32_t)min_size(op->ctrl->max_transfer, LOG_CHUNK);
	struct nvme_sqe sqe;

	op->chunk = (uint32_t)min_size(op->left, max);
	/* The event is released with the last piece at the earliest. */
	sqe = sqe_get_log(op->lid, op->lsp, op->rae || op->chunk < op->left, op->nsid, op->offset, op->chunk);
	return admin_submit(op->ctrl, &sqe, DATA_FROM_CTRL, op->buf, op->chunk, log_chunk_read, op);
}

static void log_chunk_read(void *arg, const struct nvof_cpl *cpl)
{
	struct log_read *op = arg;
	struct nvof_cpl end = *cpl;
	nvof_cb *cb = op->cb;
	void *cb_arg = op->arg;

	op->buf += op->chunk;
	op->offset += op->chunk;
	op->left -= op->chunk;
	if (!end.status && op->left) {
		end.status = log_ask(op);
		if (!end.status)
			return;
	}
	free(op);
	cb(cb_arg, &end);
}

int nvof_get_log(struct nvof_ctrl *ctrl, uint8_t lid, uint8_t lsp, bool rae, uint32_t nsid, uint64_t offset, void *buf, size_t len,
		 nvof_cb *cb, void *arg)
{
	struct log_read *op;
	int ret;

	if (!len || len % 4 || offset % 4 || !buf)
		return -EINVAL;
	op = calloc(1, sizeof(*op));
	if (!op)
		return -ENOMEM;
	*op = (struct log_read){ .ctrl = ctrl,
				 .cb = cb,
				 .arg = arg,
				 .buf = buf,
				 .left = len,
				 .offset = offset,
				 .nsid = nsid,
				 .lid = lid,
				 .lsp = lsp,
				 .rae = rae };
	ret = log_ask(op);
	if (ret)
		free(op);
	return ret;
}
