/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "host/split.h"

struct split {
	struct io io; /* slba and nlb: what is left to send */
	struct nvof_hctx *hctx;
	const struct iovec *iov; /* where the data that is left begins: iov_skip bytes into the first element */
	size_t iov_skip;
	struct iovec one;
	uint32_t nr_inflight;
	int status; /* the first error */
	bool stalled;
	struct cds_list_head link; /* hctx->stalled */
};

/* The next len bytes of the data for req; moves on behind them. */
static void take_data(struct split *s, struct host_req *req, uint32_t len)
{
	size_t left = len;

	req->iov = s->iov;
	req->iov_skip = s->iov_skip;
	req->data_len = len;
	req->iovcnt = len ? 1 : 0;
	while (left) {
		size_t here = s->iov->iov_len - s->iov_skip;

		if (left < here) {
			s->iov_skip += left;
			return;
		}
		left -= here;
		s->iov++;
		s->iov_skip = 0;
		req->iovcnt += left ? 1 : 0;
	}
}

static void split_finish(struct split *s)
{
	struct nvof_cpl cpl = { .status = s->status };
	nvof_cb *cb = s->io.cb;
	void *arg = s->io.arg;

	s->io.ns->nr_splits--;
	if (s->io.ns->waited_for)
		ns_look(s->io.ns);
	free(s);
	cb(arg, &cpl);
}

static void split_advance(struct split *s);

static void split_part_done(struct host_req *req, int status, const struct nvme_cqe *cqe)
{
	struct split *s = req->owner;

	if (unlikely(status > 0) && retry_command(req, status, cqe))
		return;
	ns_io_end(req->ns);
	tags_put(req);
	s->nr_inflight--;
	if (status && !s->status)
		s->status = status;
	split_advance(s);
}

static int split_send_one(struct split *s)
{
	struct host_req *req = tags_get(s->hctx->tags);
	uint32_t nlb = min_u32(s->io.nlb, min_u32(s->io.max_nlb, io_limit(s->io.ns, s->io.opcode)));
	const struct iovec *iov = s->iov;
	size_t skip = s->iov_skip;
	int ret;

	if (!req)
		return -EAGAIN;
	io_fill_sqe(&s->io, s->io.slba, nlb, &req->sqe);
	req->dir = s->io.dir;
	take_data(s, req, s->io.dir == DATA_NONE ? 0 : nlb << s->io.ns->shift);
	req->done = split_part_done;
	req->owner = s;
	ret = hctx_submit(s->hctx, req, s->io.ns, !s->io.failover);
	if (ret) {
		s->iov = iov;
		s->iov_skip = skip;
		tags_put(req);
		return ret;
	}
	s->io.slba += nlb;
	s->io.nlb -= nlb;
	s->nr_inflight++;
	return 0;
}

/* As many commands as there is room for.  Returns why it stopped: 0 all sent, or an error. */
static int split_send(struct split *s)
{
	int ret = 0;

	while (s->io.nlb && !ret)
		ret = split_send_one(s);
	return ret;
}

static void split_advance(struct split *s)
{
	int ret = 0;

	if (s->io.nlb && !s->status)
		s->status = s->io.ns->end_status; /* what is left has nowhere to go */
	if (!s->status && s->io.nlb)
		ret = s->hctx->live ? split_send(s) : -ENOTCONN;
	if (ret == -ENOTCONN && s->io.failover && !s->status)
		s->status = ret; /* the rest goes with what was sent: elsewhere */
	if (s->nr_inflight)
		return; /* its end comes back here, and brings a slot */
	if (s->status || !s->io.nlb) {
		split_finish(s);
		return;
	}
	/* Slots there are, for ours has just come back: the transport has no room, or the queue is going down and ends us with its reason.
	 */
	s->stalled = true;
	cds_list_add_tail(&s->link, &s->hctx->stalled);
	if (ret == -EAGAIN)
		loop_defer(s->hctx->ctrl->loop, &s->hctx->retry_work);
}

static struct split *split_unstall(struct cds_list_head *list)
{
	struct split *s = cds_list_first_entry(list, struct split, link);

	cds_list_del(&s->link);
	s->stalled = false;
	return s;
}

void split_retry(struct nvof_hctx *hctx)
{
	CDS_LIST_HEAD(list);

	cds_list_splice(&hctx->stalled, &list);
	CDS_INIT_LIST_HEAD(&hctx->stalled);
	while (!cds_list_empty(&list))
		split_advance(split_unstall(&list));
}

void split_end_stalled(struct nvof_hctx *hctx, const struct nvof_ns *ns, int status)
{
	CDS_LIST_HEAD(list);

	cds_list_splice(&hctx->stalled, &list);
	CDS_INIT_LIST_HEAD(&hctx->stalled);
	while (!cds_list_empty(&list)) {
		struct split *s = split_unstall(&list);

		if (ns && s->io.ns != ns) {
			s->stalled = true;
			cds_list_add_tail(&s->link, &hctx->stalled);
			continue;
		}
		s->status = status;
		split_finish(s);
	}
}

int split_submit(struct nvof_hctx *hctx, const struct io *io, const struct iovec *one)
{
	struct split *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return -ENOMEM;
	s->io = *io;
	s->hctx = hctx;
	if (one)
		s->one = *one;
	s->iov = io->iov ? io->iov : &s->one;
	ret = split_send(s);
	if (s->nr_inflight) {
		s->io.ns->nr_splits++;
		return 0;
	}
	free(s);
	return ret;
}

/* ---- a command that has become too large ---- */

static uint32_t sqe_nlb(const struct nvme_sqe *sqe)
{
	return (le32toh(sqe->cdw12) & 0xffff) + 1;
}

/* A part of a split was split itself, and has ended. */
static void part_of_part_done(void *arg, const struct nvof_cpl *cpl)
{
	struct split *parent = arg;

	parent->nr_inflight--;
	if (cpl->status && !parent->status)
		parent->status = cpl->status;
	split_advance(parent);
}

static struct split *split_of_command(const struct host_req *req)
{
	const struct nvme_sqe *sqe = &req->sqe;
	bool part = req->done == split_part_done;
	struct split *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->hctx = req->hctx;
	s->io = (struct io){
		.ns = req->ns,
		.slba = le32toh(sqe->cdw10) | (uint64_t)le32toh(sqe->cdw11) << 32,
		.nlb = sqe_nlb(sqe),
		.max_nlb = UINT32_MAX,
		.control = le32toh(sqe->cdw12) & ~UINT32_C(0xffff),
		.opcode = sqe->opcode,
		.dir = req->dir,
		.cb = part ? part_of_part_done : req->cb,
		.arg = part ? req->owner : req->arg,
	};
	s->one = req->one;
	s->iov = req->iov == &req->one ? &s->one : req->iov;
	s->iov_skip = req->iov_skip;
	return s;
}

bool split_again(struct host_req *req)
{
	struct nvof_ns *ns = req->ns;
	struct split *s;

	if (likely(!ns || sqe_nlb(&req->sqe) <= io_limit(ns, req->sqe.opcode)))
		return false;
	s = split_of_command(req);
	if (!s) {
		req->done(req, -ENOMEM, NULL);
		return true;
	}
	ns->nr_splits++;
	tags_put(req);
	split_advance(s);
	ns_io_end(ns); /* the command's; its parts have begun theirs */
	return true;
}
