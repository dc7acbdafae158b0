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

	free(s);
	cb(arg, &cpl);
}

static void split_advance(struct split *s);

static void split_part_done(struct host_req *req, int status, const struct nvme_cqe *cqe)
{
	struct split *s = req->owner;

	tags_put(req);
	s->nr_inflight--;
	if (status && !s->status)
		s->status = status;
	split_advance(s);
}

static int split_send_one(struct split *s)
{
	struct host_req *req = tags_get(s->hctx->tags);
	uint32_t nlb = min_u32(s->io.nlb, s->io.max_nlb);
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
	ret = hctx_submit(s->hctx, req, true);
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

	if (!s->status && s->io.nlb)
		ret = s->hctx->live ? split_send(s) : -ENOTCONN;
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

void split_end_stalled(struct nvof_hctx *hctx, int status)
{
	while (!cds_list_empty(&hctx->stalled)) {
		struct split *s = split_unstall(&hctx->stalled);

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
	if (s->nr_inflight)
		return 0;
	free(s);
	return ret;
}
