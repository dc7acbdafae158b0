// SPDX-License-Identifier: BSD-3-Clause
/* Commands that take several operations of the backend, one after the other: Dataset Management, Verify; and Compare. */
#include <string.h>

#include "target/io.h"

#define VERIFY_CHUNK (128u << 10)

static void steps_end(struct target_req *req)
{
	struct io_state *st = io_state(req);

	if (st->buf)
		target_buf_put(req->queue->thread, st->buf, st->buf_len);
	target_ns_idle(req);
	target_req_respond(req, st->status);
}

/* A backend may call done() from inside submit(): then the loop goes on, and nothing recurses. */
static void steps_go(struct target_req *req)
{
	struct io_state *st = io_state(req);
	struct backend *b = req->ns->backend;

	while (!st->status && st->next(req, st)) {
		st->inside = true;
		st->came = false;
		b->ops->submit(b, &st->io);
		if (!st->came) {
			st->inside = false;
			return;
		}
	}
	steps_end(req);
}

static void steps_done(struct backend_io *io, int status)
{
	struct target_req *req = io_req(io);
	struct io_state *st = io_state(req);

	st->status = target_io_status(io->op, status);
	st->came = true;
	if (!st->inside)
		steps_go(req);
}

static void steps_start(struct target_req *req, bool (*next)(struct target_req *req, struct io_state *st), uint32_t buf_len, uint64_t pos)
{
	struct io_state *st = io_state(req);

	if (!target_ns_busy(req)) {
		target_req_respond(req, ST(INVALID_NS));
		return;
	}
	memset(st, 0, sizeof(*st));
	st->io.loop = req->queue->loop;
	st->io.done = steps_done;
	st->io.backend = req->ns->backend;
	st->next = next;
	st->pos = pos;
	if (buf_len) {
		st->buf = bufs_get(&req->queue->thread->bufs, buf_len, &st->buf_len);
		if (!st->buf)
			st->status = ST_RETRY(INTERNAL);
	}
	steps_go(req);
}

/* ------------------------------------------------------------------------------------------------ Dataset Management */

static struct nvme_dsm_range *dsm_ranges(struct target_req *req, uint32_t *nr)
{
	*nr = target_dsm_nr(req);
	return req->buf;
}

static bool dsm_next(struct target_req *req, struct io_state *st)
{
	uint32_t nr;
	const struct nvme_dsm_range *r = dsm_ranges(req, &nr);

	while (st->i < nr && !r[st->i].nlb)
		st->i++;
	if (st->i == nr)
		return false;
	st->io.op = BACKEND_DISCARD;
	st->io.offset = le64toh(r[st->i].slba) << req->ns->lba_shift;
	st->io.len = (uint64_t)le32toh(r[st->i].nlb) << req->ns->lba_shift;
	st->i++;
	return true;
}

void target_dsm(struct target_req *req)
{
	bool deallocate = le32toh(req->sqe.cdw11) & 1u << 2;
	uint32_t nr;
	const struct nvme_dsm_range *r = dsm_ranges(req, &nr);

	for (uint32_t i = 0; i < nr; i++)
		if (!target_range_fine(req->ns, le64toh(r[i].slba), le32toh(r[i].nlb))) {
			target_req_respond(req, ST(LBA_RANGE));
			return;
		}
	if (deallocate && req->ns->readonly)
		target_req_respond(req, ST(NS_WRITE_PROTECTED));
	else if (deallocate)
		steps_start(req, dsm_next, 0, 0);
	else
		target_req_respond(req, 0); /* hints about access, of no use here */
}

/* ------------------------------------------------------------------------------------------------ Verify */

static bool verify_next(struct target_req *req, struct io_state *st)
{
	uint64_t end = *(uint64_t *)req->iov_inline; /* no data of the command's own: its iovec is free */

	if (st->pos == end)
		return false;
	st->io.op = BACKEND_READ;
	st->io.offset = st->pos;
	st->io.len = min_u64(end - st->pos, VERIFY_CHUNK);
	st->iov = (struct iovec){ .iov_base = st->buf, .iov_len = st->io.len };
	st->io.iov = &st->iov;
	st->io.iovcnt = 1;
	st->pos += st->io.len;
	return true;
}

void target_verify(struct target_req *req, uint64_t slba, uint64_t nlb)
{
	uint64_t start = slba << req->ns->lba_shift;

	if (req->ns->backend->ops->map) { /* memory: nothing that could have gone bad */
		target_req_respond(req, 0);
		return;
	}
	*(uint64_t *)req->iov_inline = start + (nlb << req->ns->lba_shift);
	steps_start(req, verify_next, VERIFY_CHUNK, start);
}

/* ------------------------------------------------------------------------------------------------ Compare */

static uint16_t compare(const struct target_req *req, const struct iovec *iov, uint32_t iovcnt)
{
	const uint8_t *want = req->buf;

	for (uint32_t i = 0; i < iovcnt; i++) {
		if (memcmp(want, iov[i].iov_base, iov[i].iov_len))
			return NVME_STATUS(NVME_SCT_MEDIA, NVME_SC_COMPARE_FAILED) | NVME_STATUS_DNR;
		want += iov[i].iov_len;
	}
	return 0;
}

static bool compare_next(struct target_req *req, struct io_state *st)
{
	if (st->i++) {
		st->status = compare(req, &st->iov, 1);
		return false;
	}
	st->io.op = BACKEND_READ;
	st->io.offset = st->pos;
	st->io.len = req->data_len;
	st->iov = (struct iovec){ .iov_base = st->buf, .iov_len = req->data_len };
	st->io.iov = &st->iov;
	st->io.iovcnt = 1;
	return true;
}

void target_compare(struct target_req *req, uint64_t slba)
{
	struct backend *b = req->ns->backend;
	uint64_t offset = slba << req->ns->lba_shift;
	struct iovec iov[TARGET_REQ_IOV];
	uint32_t iovcnt = TARGET_REQ_IOV;

	if (b->ops->map && b->ops->map(b, offset, req->data_len, iov, &iovcnt))
		target_req_respond(req, compare(req, iov, iovcnt));
	else
		steps_start(req, compare_next, req->data_len, offset);
}
