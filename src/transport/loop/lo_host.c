/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop transport's host half: submits by slot number, and does all the copying (see lo_link.h). */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/loop/lo_link.h"

#define TURN_MAX 1024	       /* messages per turn: the other queues want theirs */
#define COPY_MAX (1024 * 1024) /* so many bytes are copied, then their requests are completed */

struct lo_endpoint {
	struct nvof_target *target; /* outlives the ctrl */
};

struct lo_host_queue {
	struct host_queue q;
	struct lo_endpoint *ep;
	struct lo_link *link; /* NULL: not started, or stopped */
	bool linked, failed;
};

static struct lo_host_queue *to_lo(struct host_queue *q)
{
	return container_of(q, struct lo_host_queue, q);
}

static int lo_addr_check(const struct host_link_params *p, struct error *err)
{
	if (!p->loop_target)
		return error_set(err, -EINVAL, "transport loop needs a target in this process (loop_target)");
	if (p->hdr_digest || p->data_digest)
		return error_set(err, -EINVAL, "transport loop has no digests: nothing travels over a wire");
	return 0;
}

static int lo_endpoint_new(const struct host_link_params *p, struct loop *loop, struct host_endpoint **epp, struct error *err)
{
	struct lo_endpoint *ep = calloc(1, sizeof(*ep));

	if (!ep)
		return error_set(err, -ENOMEM, "no memory for a loop endpoint");
	ep->target = p->loop_target;
	*epp = (struct host_endpoint *)ep;
	return 0;
}

static void lo_endpoint_free(struct host_endpoint *ep)
{
	free(ep);
}

static struct host_queue *lo_queue_alloc(struct host_endpoint *ep)
{
	struct lo_host_queue *lq = calloc(1, sizeof(*lq));

	if (!lq)
		return NULL;
	lq->ep = (struct lo_endpoint *)ep;
	return &lq->q;
}

static void lo_queue_free(struct host_queue *q)
{
	struct lo_host_queue *lq = to_lo(q);

	assert(!lq->link);
	free(lq);
}

/* ---- copying ---- */

struct iov_pos {
	const struct iovec *iov;
	size_t off;
};

static void *iov_piece(struct iov_pos *pos, size_t *len)
{
	while (pos->off >= pos->iov->iov_len) {
		pos->off -= pos->iov->iov_len;
		pos->iov++;
	}
	*len = min_size(*len, pos->iov->iov_len - pos->off);
	return (char *)pos->iov->iov_base + pos->off;
}

static void copy(struct iov_pos to, struct iov_pos from, size_t len)
{
	while (len) {
		size_t n = len;
		void *dst, *src;

		dst = iov_piece(&to, &n);
		src = iov_piece(&from, &n);
		memcpy(dst, src, n);
		to.off += n;
		from.off += n;
		len -= n;
	}
}

static size_t slot_copy(struct lo_slot *s, enum lo_op op)
{
	struct host_req *req = s->host_req;
	struct iov_pos host = { req->iov, req->iov_skip }, target = { s->req.iov, 0 };
	size_t len = min_u32(s->req.data_len, req->data_len);

	if (op == LO_NEED)
		copy(target, host, len);
	else
		copy(host, target, len);
	return len;
}

/*
 * Makes the copies of the next messages, at most max of them; returns of how many.  *there false: the target's memory is gone, nothing was
 * copied.
 */
static uint32_t batch_copy(struct lo_link *l, uint32_t max, bool *there)
{
	size_t bytes = 0;
	uint32_t i, slot;

	pthread_mutex_lock(&l->copy_lock);
	*there = !atomic_load(&l->target_gone);
	for (i = 0; i < max && bytes < COPY_MAX; i++) {
		enum lo_op op = lo_peek(&l->host, i, &slot);

		if (*there && (op == LO_NEED || l->slots[slot].has_data))
			bytes += slot_copy(&l->slots[slot], op);
	}
	pthread_mutex_unlock(&l->copy_lock);
	return i;
}

/* ---- messages from the target ---- */

/* May run the owner's callback, and so may end in queue_stop(). */
static void slot_event(struct lo_link *l, enum lo_op op, uint32_t slot, bool copied)
{
	struct lo_slot *s = &l->slots[slot];
	struct nvme_cqe cqe;

	if (op == LO_NEED) {
		if (!copied)
			return;
		lo_send(&l->target, LO_DATA, slot);
		lo_end_wake(&l->target);
		return;
	}
	if (s->has_data) {
		if (!copied)
			return; /* its data is gone: the core ends it when the queue fails */
		lo_send(&l->target, LO_ACK, slot);
		lo_end_wake(&l->target);
	}
	cqe = s->cqe;
	host_req_complete(s->host_req, &cqe);
}

static void host_messages(struct lo_link *l)
{
	uint32_t left = min_u32(lo_pending(&l->host), TURN_MAX), n, slot;
	bool there;

	while (left && l->host_queue) {
		n = batch_copy(l, left, &there);
		for (left -= n; n && l->host_queue; n--) {
			enum lo_op op = lo_peek(&l->host, 0, &slot);

			lo_consume(&l->host);
			slot_event(l, op, slot, there);
		}
	}
	if (l->host_queue && lo_pending(&l->host))
		lo_end_wake(&l->host);
}

static void host_work(struct loop_work *w)
{
	struct lo_link *l = container_of(w, struct lo_link, host.work);
	struct lo_host_queue *lq = l->host_queue;
	bool gone;

	atomic_fetch_add(&l->refs, 1); /* a callback may stop the queue */
	lo_end_awake(&l->host);
	gone = atomic_load(&l->target_gone); /* before the ring is read: what was answered before that is there */
	if (!lq->linked && atomic_load(&l->linked)) {
		lq->linked = true;
		host_queue_linked(&lq->q);
	}
	host_messages(l);
	/* Not before the last of its answers was heard. */
	if (gone && l->host_queue && !lq->failed && !lo_pending(&l->host)) {
		lq->failed = true;
		if (atomic_load(&l->refused))
			host_queue_failed(&lq->q, -ECONNREFUSED, "the target refused the connection");
		else
			host_queue_failed(&lq->q, -ECONNRESET, "the target closed the connection");
	}
	lo_link_put(l);
}

/* ---- life ---- */

static int lo_queue_start(struct host_queue *q)
{
	struct lo_host_queue *lq = to_lo(q);
	struct lo_link *l;
	int ret;

	host_queue_enter(q, QUEUE_LINK);
	snprintf(q->local, sizeof(q->local), "loop");
	snprintf(q->peer, sizeof(q->peer), "loop");
	l = lo_link_new(max_u32(q->queue_size, q->nr_cids));
	if (!l) {
		host_queue_failed(q, -ENOMEM, "no memory for a link of %u entries", q->queue_size);
		return 0;
	}
	l->host_queue = lq;
	lq->link = l;
	lq->linked = lq->failed = false;
	lo_end_attach(&l->host, q->loop, host_work);
	ret = lo_target_open(lq->ep->target, l);
	if (ret) {
		lo_link_put(l); /* the target's reference */
		lq->failed = true;
		host_queue_failed(q, ret, ret == -ECONNREFUSED ? "the target does not listen on \"loop\"" : "open a link to the target: %s",
				  strerror(-ret));
	}
	return 0;
}

static void lo_queue_detach(struct host_queue *q)
{
	lo_end_detach(&to_lo(q)->link->host);
}

static int lo_queue_attach(struct host_queue *q)
{
	lo_end_attach(&to_lo(q)->link->host, q->loop, host_work);
	return 0;
}

static void lo_queue_stop(struct host_queue *q)
{
	struct lo_host_queue *lq = to_lo(q);
	struct lo_link *l = lq->link;

	if (!l)
		return;
	lq->link = NULL;
	l->host_queue = NULL;
	lo_end_detach(&l->host);
	atomic_store(&l->host_gone, true);
	lo_end_wake(&l->target);
	lo_link_put(l);
}

static int lo_submit(struct host_queue *q, struct host_req *req)
{
	struct lo_link *l = to_lo(q)->link;
	struct lo_slot *s;

	if (!l || req->cid >= l->nr_slots)
		return -EAGAIN;
	s = &l->slots[req->cid];
	s->host_req = req;
	s->sqe = req->sqe;
	s->sqe.cid = htole16(req->cid);
	s->sqe.flags |= NVME_SQE_PSDT_SGL;
	/* In Fabrics commands without data the place of the SGL is reserved. */
	if (req->sqe.opcode != NVMF_OPCODE || req->data_len)
		s->sqe.sgl = (struct nvme_sgl_desc){ .length = htole32(req->data_len), .type = NVME_SGL_TRANSPORT };
	lo_send(&l->target, LO_SUBMIT, req->cid);
	lo_end_wake(&l->target);
	return 0;
}

extern const struct host_transport loop_host_transport;

const struct host_transport loop_host_transport = {
	.name = "loop",
	.trtype = NVMF_TRTYPE_LOOP,
	.addr_check = lo_addr_check,
	.endpoint_new = lo_endpoint_new,
	.endpoint_free = lo_endpoint_free,
	.queue_alloc = lo_queue_alloc,
	.queue_start = lo_queue_start,
	.submit = lo_submit,
	.queue_detach = lo_queue_detach,
	.queue_attach = lo_queue_attach,
	.queue_stop = lo_queue_stop,
	.queue_free = lo_queue_free,
};
