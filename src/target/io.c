// SPDX-License-Identifier: BSD-3-Clause
/* I/O commands: NVM Command Set 1.0 section 3.  No lock and, where the backend's memory can be sent from, no copy. */
#include <errno.h>

#include "target/io.h"
#include "target/rcu.h"

struct io_args {
	uint64_t slba;
	uint32_t nlb; /* 1's based */
	bool fua, deac;
};

static inline struct io_args io_args(const struct target_req *req)
{
	uint32_t cdw12 = le32toh(req->sqe.cdw12);

	return (struct io_args){
		.slba = le32toh(req->sqe.cdw10) | (uint64_t)le32toh(req->sqe.cdw11) << 32,
		.nlb = (cdw12 & 0xffff) + 1,
		.fua = cdw12 >> 30 & 1,
		.deac = cdw12 >> 25 & 1,
	};
}

/* One read section, so that a namespace that was found and its fence belong together. */
static bool get_ns(struct target_req *req, struct target_ctrl *c)
{
	bool found;

	rcu_enter();
	found = target_ns_get(req, c->subsys, le32toh(req->sqe.nsid));
	if (unlikely(__atomic_load_n(&c->nr_others, __ATOMIC_ACQUIRE)))
		found = found && !target_fence_refuses(c, req->ns);
	rcu_leave(c->subsys);
	return found;
}

/* The namespace, and whether this path leads to it now. */
static uint16_t begin_ns(struct target_req *req)
{
	struct target_ctrl *c = req->queue->ctrl;

	if (!get_ns(req, c))
		return ST(INVALID_NS);
	return target_ana_refusal(target_ana_state(c->port, req->ns->anagrpid));
}

/* Read, Write, Compare, Write Zeroes, Verify: the namespace and the range. */
static uint16_t begin_range(struct target_req *req, bool writes)
{
	struct io_args a = io_args(req);
	uint16_t status = begin_ns(req);

	if (status)
		return status;
	if (!target_range_fine(req->ns, a.slba, a.nlb))
		return ST(LBA_RANGE);
	return writes && req->ns->readonly ? ST(NS_WRITE_PROTECTED) : 0;
}

static uint16_t begin_data(struct target_req *req, enum data_dir dir, bool writes)
{
	uint16_t status = begin_range(req, writes);

	if (status)
		return status;
	req->data_len = io_args(req).nlb << req->ns->lba_shift;
	if (req->data_len > req->queue->target->opts.mdts_len)
		return ST(INVALID_FIELD); /* C101 */
	if (req->data_len != req->sgl_len)
		return ST(SGL_INVALID_DATA); /* C100 */
	req->dir = dir;
	return 0;
}

/* Linux always sends room for all the ranges there can be: more data than the number of ranges asks for is fine. */
static uint16_t begin_dsm(struct target_req *req)
{
	uint16_t status = begin_ns(req);

	if (status)
		return status;
	if (req->sgl_len < target_dsm_nr(req) * sizeof(struct nvme_dsm_range) ||
	    req->sgl_len > DSM_RANGES_MAX * sizeof(struct nvme_dsm_range))
		return ST(SGL_INVALID_DATA);
	req->dir = DATA_TO_CTRL;
	req->data_len = req->sgl_len;
	return 0;
}

uint16_t target_io_begin(struct target_req *req)
{
	if (unlikely(!__atomic_load_n(&req->queue->ctrl->ready, __ATOMIC_RELAXED)))
		return ST(CMD_SEQ_ERROR);
	switch (req->sqe.opcode) {
	case nvme_cmd_read:
		return begin_data(req, DATA_FROM_CTRL, false);
	case nvme_cmd_write:
		return begin_data(req, DATA_TO_CTRL, true);
	case nvme_cmd_compare:
		return begin_data(req, DATA_TO_CTRL, false);
	case nvme_cmd_write_zeroes:
		return begin_range(req, true);
	case nvme_cmd_verify:
		return begin_range(req, false);
	case nvme_cmd_flush:
		return begin_ns(req);
	case nvme_cmd_dsm:
		return begin_dsm(req);
	default:
		return ST(INVALID_OPCODE);
	}
}

uint16_t target_io_status(enum backend_op op, int result)
{
	if (result >= 0)
		return (uint16_t)result;
	switch (-result) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG: /* a limit on the size of files */
		return ST(CAP_EXCEEDED);
	case EROFS:
	case EPERM:
		return ST(NS_WRITE_PROTECTED);
	case ENOMEM:
	case EAGAIN:
		return ST_RETRY(INTERNAL);
	case EIO:
	case ENXIO:
		if (op == BACKEND_READ)
			return NVME_STATUS(NVME_SCT_MEDIA, NVME_SC_READ_ERROR) | NVME_STATUS_DNR;
		return NVME_STATUS(NVME_SCT_MEDIA, NVME_SC_WRITE_FAULT) | NVME_STATUS_DNR;
	default:
		return ST(INTERNAL);
	}
}

static void io_done(struct backend_io *io, int status)
{
	struct target_req *req = io_req(io);

	target_ns_idle(req);
	target_req_respond(req, target_io_status(io->op, status));
}

void target_io_submit(struct target_req *req, struct backend_io io)
{
	struct backend_io *own = &io_state(req)->io;

	if (!target_ns_busy(req)) {
		target_req_respond(req, ST(INVALID_NS));
		return;
	}
	*own = io;
	own->loop = req->queue->loop;
	own->done = io_done;
	own->backend = req->ns->backend;
	own->backend->ops->submit(own->backend, own);
}

/* The thread's own counters. */
static inline void note_io(const struct target_req *req, bool write)
{
	struct ns_use *use = &req->ns->uses[req->queue->thread->index];
	uint64_t *nr = write ? &use->nr_writes : &use->nr_reads, *bytes = write ? &use->bytes_written : &use->bytes_read;

	__atomic_store_n(nr, *nr + 1, __ATOMIC_RELAXED);
	__atomic_store_n(bytes, *bytes + req->data_len, __ATOMIC_RELAXED);
}

static void io_read(struct target_req *req)
{
	struct backend *b = req->ns->backend;
	uint64_t offset = io_args(req).slba << req->ns->lba_shift;

	if (b->ops->map && (!req->queue->stable_data || b->ops->map_is_const)) {
		req->iov = req->iov_inline;
		req->iovcnt = TARGET_REQ_IOV;
		if (b->ops->map(b, offset, req->data_len, req->iov, &req->iovcnt)) {
			note_io(req, false);
			target_req_respond(req, 0);
			return;
		}
	}
	if (unlikely(target_buf_short(req, req->data_len))) {
		target_buf_wait(req); /* and comes here again */
		return;
	}
	note_io(req, false);
	if (!target_req_buffer(req, req->data_len))
		return;
	target_io_submit(req, (struct backend_io){
				      .op = BACKEND_READ, .offset = offset, .len = req->data_len, .iov = req->iov, .iovcnt = req->iovcnt });
}

/* A fault may let the write fail, and then nothing shall be written. */
bool target_write_in_place(struct target_req *req)
{
	const struct target_queue *q = req->queue;
	struct backend *b = req->ns ? req->ns->backend : NULL;
	uint32_t block, iovcnt = TARGET_REQ_IOV;

	if (!q->writes_in_place || req->sqe.opcode != nvme_cmd_write || !b->ops->map_is_writable || fault_any(&q->target->faults))
		return false;
	block = 1u << req->ns->lba_shift;
	if (!b->ops->map(b, io_args(req).slba << req->ns->lba_shift, req->data_len, req->iov_inline, &iovcnt))
		return false;
	req->buf = bufs_get(&q->thread->bufs, block, &req->buf_len);
	if (!req->buf)
		return false;
	req->iov = req->iov_inline;
	req->iovcnt = iovcnt;
	req->in_place = block;
	return true;
}

/* What was put in place before the namespace was removed is gone with it. */
static void io_written(struct target_req *req)
{
	if (!target_ns_busy(req)) {
		target_req_respond(req, ST(INVALID_NS));
		return;
	}
	target_ns_idle(req);
	target_req_respond(req, 0);
}

static void io_write(struct target_req *req)
{
	struct io_args a = io_args(req);

	note_io(req, true);
	if (req->in_place) {
		io_written(req);
		return;
	}
	target_io_submit(req, (struct backend_io){ .op = BACKEND_WRITE,
						   .fua = a.fua,
						   .offset = a.slba << req->ns->lba_shift,
						   .len = req->data_len,
						   .iov = req->iov,
						   .iovcnt = req->iovcnt });
}

static void io_write_zeroes(struct target_req *req)
{
	struct io_args a = io_args(req);

	target_io_submit(req, (struct backend_io){ .op = BACKEND_ZERO,
						   .fua = a.fua,
						   .dealloc = a.deac,
						   .offset = a.slba << req->ns->lba_shift,
						   .len = (uint64_t)a.nlb << req->ns->lba_shift });
}

void target_io_execute(struct target_req *req)
{
	switch (req->sqe.opcode) {
	case nvme_cmd_read:
		io_read(req);
		break;
	case nvme_cmd_write:
		io_write(req);
		break;
	case nvme_cmd_flush:
		target_io_submit(req, (struct backend_io){ .op = BACKEND_FLUSH });
		break;
	case nvme_cmd_write_zeroes:
		io_write_zeroes(req);
		break;
	case nvme_cmd_compare:
		target_compare(req, io_args(req).slba);
		break;
	case nvme_cmd_verify:
		target_verify(req, io_args(req).slba, io_args(req).nlb);
		break;
	default:
		target_dsm(req);
		break;
	}
}
