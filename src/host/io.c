/* SPDX-License-Identifier: BSD-3-Clause */
/* Read, write and their kin.  The way of an unsplit I/O: a slot, an SQE, the transport; no allocation, no lock, no clock. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "host/io.h"
#include "host/mpath.h"
#include "host/passthru.h"
#include "host/split.h"

#define IO_FLAGS (NVOF_IO_FUA | NVOF_IO_DEALLOC | NVOF_IO_LR) /* the others are for later */

static inline uint32_t io_control(unsigned int flags)
{
	return (flags & NVOF_IO_FUA ? NVME_RW_FUA : 0) | (flags & NVOF_IO_LR ? NVME_RW_LR : 0) |
	       (flags & NVOF_IO_DEALLOC ? NVME_RW_DEAC : 0);
}

static inline int io_check(const struct nvof_hctx *hctx, const struct nvof_ns *ns, uint64_t slba, uint32_t nlb)
{
	if (unlikely(!hctx->live))
		return -ENOTCONN;
	if (unlikely(!nlb || ns->ctrl != hctx->ctrl))
		return -EINVAL;
	if (unlikely(slba >= ns->nr_blocks || nlb > ns->nr_blocks - slba))
		return ns->end_status ? ns->end_status : -ERANGE;
	return 0;
}

/* One command for all of io, which fits. */
static inline int io_submit(struct nvof_hctx *hctx, const struct io *io, void *buf)
{
	struct host_req *req = tags_get(hctx->tags);
	int ret;

	if (unlikely(!req))
		return -EAGAIN;
	io_fill_sqe(io, io->slba, io->nlb, &req->sqe);
	req->dir = io->dir;
	req->data_len = io->dir == DATA_NONE ? 0 : io->nlb << io->ns->shift;
	req->iov_skip = 0;
	if (io->iov) {
		req->iov = io->iov;
		req->iovcnt = io->iovcnt;
	} else {
		req->one.iov_base = buf;
		req->one.iov_len = req->data_len;
		req->iov = &req->one;
		req->iovcnt = req->data_len ? 1 : 0;
	}
	req->done = hctx_req_done;
	req->cb = io->cb;
	req->arg = io->arg;
	ret = hctx_submit(hctx, req, io->ns, !io->failover);
	if (unlikely(ret))
		tags_put(req);
	return ret;
}

/* One command, or several. */
static inline int io_submit_any(struct nvof_hctx *hctx, const struct io *io, void *buf)
{
	struct iovec one;

	if (likely(io->nlb <= io->max_nlb))
		return io_submit(hctx, io, buf);
	if (io->iov || io->dir == DATA_NONE)
		return split_submit(hctx, io, NULL);
	one = (struct iovec){ .iov_base = buf, .iov_len = (size_t)io->nlb << io->ns->shift };
	return split_submit(hctx, io, &one);
}

static inline int io_rw(struct nvof_hctx *hctx, struct nvof_ns *ns, uint8_t opcode, enum data_dir dir, uint64_t slba, uint32_t nlb,
			void *buf, unsigned int flags, nvof_cb *cb, void *arg)
{
	struct io io = {
		.ns = ns,
		.slba = slba,
		.nlb = nlb,
		.max_nlb = hctx_piece(hctx, nlb, ns->max_nlb, ns->shift),
		.opcode = opcode,
		.dir = dir,
		.cb = cb,
		.arg = arg,
		.control = io_control(flags & ~NVOF_IO_DEALLOC),
	};
	int ret = io_check(hctx, ns, slba, nlb);

	if (unlikely(flags & ~IO_FLAGS || !buf))
		return -EINVAL;
	if (unlikely(ret))
		return hctx->subsys ? mpath_submit(hctx, &io, buf) : ret;
	return io_submit_any(hctx, &io, buf);
}

/* The list holds exactly len bytes, all of them somewhere. */
static bool iov_holds(const struct iovec *iov, int iovcnt, uint64_t len)
{
	int i;

	if (iovcnt < 0 || !iov)
		return false;
	for (i = 0; i < iovcnt; i++) {
		if (iov[i].iov_len > len || (iov[i].iov_len && !iov[i].iov_base))
			return false;
		len -= iov[i].iov_len;
	}
	return !len;
}

static int io_rwv(struct nvof_hctx *hctx, struct nvof_ns *ns, uint8_t opcode, enum data_dir dir, uint64_t slba, uint32_t nlb,
		  const struct iovec *iov, int iovcnt, unsigned int flags, nvof_cb *cb, void *arg)
{
	struct io io = {
		.ns = ns,
		.slba = slba,
		.nlb = nlb,
		.max_nlb = hctx_piece(hctx, nlb, ns->max_nlb, ns->shift),
		.opcode = opcode,
		.dir = dir,
		.cb = cb,
		.arg = arg,
		.control = io_control(flags & ~NVOF_IO_DEALLOC),
		.iov = iov,
		.iovcnt = (uint32_t)iovcnt,
	};
	int ret = io_check(hctx, ns, slba, nlb);

	if (flags & ~IO_FLAGS)
		return -EINVAL;
	if (ret && !hctx->subsys)
		return ret;
	if (!iov_holds(iov, iovcnt, (uint64_t)nlb << ns->shift))
		return -EINVAL;
	return ret ? mpath_submit(hctx, &io, NULL) : io_submit_any(hctx, &io, NULL);
}

int nvof_read(struct nvof_hctx *hctx, struct nvof_ns *ns, uint64_t slba, uint32_t nlb, void *buf, unsigned int flags, nvof_cb *cb,
	      void *arg)
{
	return io_rw(hctx, ns, nvme_cmd_read, DATA_FROM_CTRL, slba, nlb, buf, flags, cb, arg);
}

int nvof_write(struct nvof_hctx *hctx, struct nvof_ns *ns, uint64_t slba, uint32_t nlb, const void *buf, unsigned int flags, nvof_cb *cb,
	       void *arg)
{
	return io_rw(hctx, ns, nvme_cmd_write, DATA_TO_CTRL, slba, nlb, (void *)(uintptr_t)buf, flags, cb, arg);
}

int nvof_compare(struct nvof_hctx *hctx, struct nvof_ns *ns, uint64_t slba, uint32_t nlb, const void *buf, unsigned int flags, nvof_cb *cb,
		 void *arg)
{
	return io_rw(hctx, ns, nvme_cmd_compare, DATA_TO_CTRL, slba, nlb, (void *)(uintptr_t)buf, flags, cb, arg);
}

int nvof_readv(struct nvof_hctx *hctx, struct nvof_ns *ns, uint64_t slba, uint32_t nlb, const struct iovec *iov, int iovcnt,
	       unsigned int flags, nvof_cb *cb, void *arg)
{
	return io_rwv(hctx, ns, nvme_cmd_read, DATA_FROM_CTRL, slba, nlb, iov, iovcnt, flags, cb, arg);
}

int nvof_writev(struct nvof_hctx *hctx, struct nvof_ns *ns, uint64_t slba, uint32_t nlb, const struct iovec *iov, int iovcnt,
		unsigned int flags, nvof_cb *cb, void *arg)
{
	return io_rwv(hctx, ns, nvme_cmd_write, DATA_TO_CTRL, slba, nlb, iov, iovcnt, flags, cb, arg);
}

int nvof_comparev(struct nvof_hctx *hctx, struct nvof_ns *ns, uint64_t slba, uint32_t nlb, const struct iovec *iov, int iovcnt,
		  unsigned int flags, nvof_cb *cb, void *arg)
{
	return io_rwv(hctx, ns, nvme_cmd_compare, DATA_TO_CTRL, slba, nlb, iov, iovcnt, flags, cb, arg);
}

static bool ctrl_can(const struct nvof_ctrl *ctrl, uint16_t oncs)
{
	return le16toh(ctrl->init.id->oncs) & oncs;
}

/* Commands on a range of blocks, without data. */
static int io_range(struct nvof_hctx *hctx, struct nvof_ns *ns, uint8_t opcode, uint16_t oncs, uint32_t max_nlb, uint64_t slba,
		    uint32_t nlb, unsigned int flags, nvof_cb *cb, void *arg)
{
	struct io io = {
		.ns = ns,
		.slba = slba,
		.nlb = nlb,
		.max_nlb = max_nlb,
		.opcode = opcode,
		.dir = DATA_NONE,
		.cb = cb,
		.arg = arg,
		.control = io_control(opcode == nvme_cmd_write_zeroes ? flags : flags & ~NVOF_IO_DEALLOC),
	};
	int ret = io_check(hctx, ns, slba, nlb);

	if (flags & ~IO_FLAGS)
		return -EINVAL;
	if (ret)
		return hctx->subsys ? mpath_submit(hctx, &io, NULL) : ret;
	if (!ctrl_can(hctx->ctrl, oncs))
		return -ENOTSUP;
	return io_submit_any(hctx, &io, NULL);
}

int nvof_write_zeroes(struct nvof_hctx *hctx, struct nvof_ns *ns, uint64_t slba, uint32_t nlb, unsigned int flags, nvof_cb *cb, void *arg)
{
	return io_range(hctx, ns, nvme_cmd_write_zeroes, NVME_CTRL_ONCS_WRITE_ZEROES, ns->max_zeroes_nlb, slba, nlb, flags, cb, arg);
}

int nvof_verify(struct nvof_hctx *hctx, struct nvof_ns *ns, uint64_t slba, uint32_t nlb, unsigned int flags, nvof_cb *cb, void *arg)
{
	return io_range(hctx, ns, nvme_cmd_verify, NVME_CTRL_ONCS_VERIFY, ns->max_verify_nlb, slba, nlb, flags, cb, arg);
}

/* A command whose blocks, if it has some, are in its data. */
static int start_other(struct nvof_hctx *hctx, const struct io *io, void *buf)
{
	size_t len = io->dir == DATA_NONE ? 0 : ((io->slba & 0xff) + 1) * sizeof(struct nvme_dsm_range);
	struct nvme_sqe sqe;

	if (io->ns->end_status)
		return io->ns->end_status;
	if (io->opcode == nvme_cmd_dsm && !ctrl_can(hctx->ctrl, NVME_CTRL_ONCS_DSM))
		return -ENOTSUP;
	io_fill_sqe(io, io->slba, io->nlb, &sqe);
	return io_submit_sqe(hctx, io->ns, &sqe, io->dir, buf, len, !io->failover, io->cb, io->arg);
}

int io_start(struct nvof_hctx *hctx, struct io *io, void *buf)
{
	const struct nvof_ns *ns = io->ns;
	int ret;

	if (!io_has_range(io))
		return start_other(hctx, io, buf);
	ret = io_check(hctx, ns, io->slba, io->nlb);
	if (unlikely(ret))
		return ret;
	if (io->opcode == nvme_cmd_write_zeroes || io->opcode == nvme_cmd_verify) {
		bool zeroes = io->opcode == nvme_cmd_write_zeroes;

		if (!ctrl_can(hctx->ctrl, zeroes ? NVME_CTRL_ONCS_WRITE_ZEROES : NVME_CTRL_ONCS_VERIFY))
			return -ENOTSUP;
		io->max_nlb = zeroes ? ns->max_zeroes_nlb : ns->max_verify_nlb;
	} else {
		io->max_nlb = hctx_piece(hctx, io->nlb, ns->max_nlb, ns->shift);
	}
	return io_submit_any(hctx, io, buf);
}
