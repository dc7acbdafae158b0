/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Capsules out and completions in.
 *
 * What was submitted during a turn is posted as one chain, of which only the last send is signalled: its completion says that all before it
 * have left as well.  A command has ended when its answer came and its own send has completed.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/rdma.h"
#include "transport/rdma/rdma_host.h"

/* ---- out ---- */

static struct nvme_sqe *slot_sqe(const struct rdma_queue *rq, const struct rdma_slot *s)
{
	return (struct nvme_sqe *)rq->capsules->mem + (s - rq->slots);
}

static void slot_build(struct rdma_queue *rq, struct rdma_slot *s, const struct host_req *req, bool in_capsule)
{
	struct nvme_sqe *sqe = slot_sqe(rq, s);
	struct rdma_place *place = &s->place;
	uint32_t i, n = 0;

	*sqe = req->sqe;
	sqe->cid = htole16(req->cid);
	sqe->flags |= NVME_SQE_PSDT_SGL;
	if (in_capsule)
		sqe->sgl = (struct nvme_sgl_desc){ .length = htole32(req->data_len), .type = NVME_SGL_OFFSET };
	else if (req->data_len)
		nvme_rdma_keyed_build(&sqe->sgl, place->sge[0].addr, req->data_len, place->rkey, false);
	else /* Linux looks at the type of it in Property commands as well, where its place is reserved */
		nvme_rdma_keyed_build(&sqe->sgl, 0, 0, 0, false);
	s->sge[n++] = (struct ibv_sge){ .addr = (uintptr_t)sqe, .length = sizeof(*sqe), .lkey = rq->capsules->lkey };
	for (i = 0; in_capsule && i < place->nr_sge; i++)
		s->sge[n++] = place->sge[i];
	s->wr = (struct ibv_send_wr){ .sg_list = s->sge, .num_sge = (int)n, .opcode = IBV_WR_SEND };
}

static void slot_put(struct rdma_queue *rq, struct rdma_slot *s)
{
	s->req = NULL;
	s->next = rq->free_slots;
	rq->free_slots = s;
	rq->nr_out--;
}

int rdma_host_submit(struct host_queue *q, struct host_req *req)
{
	struct rdma_queue *rq = to_rdma_queue(q);
	struct rdma_slot *s = rq->free_slots;
	bool in_capsule = rdma_host_in_capsule(rq, req), idle = !rq->nr_out;
	int ret;

	if (!s)
		return -EAGAIN;
	ret = rdma_host_place(rq, req, in_capsule, &s->place);
	if (ret == -ENOMEM) {
		to_rdma_req(req)->slot = NULL;
		return 0; /* the queue has failed, and this one ends with it */
	}
	if (ret)
		return ret;
	rq->free_slots = s->next;
	rq->nr_out++;
	s->req = req;
	s->sent = s->answered = false;
	s->next = NULL;
	to_rdma_req(req)->slot = s;
	slot_build(rq, s, req, in_capsule);
	if (rq->tx_last)
		rq->tx_last->next = s;
	else
		rq->tx_first = s;
	rq->tx_last = s;
	/* The first goes out at once; what follows while it is under way leaves together at the end of the turn. */
	if (idle)
		rdma_host_flush(&rq->flush);
	else
		loop_defer(q->loop, &rq->flush);
	return 0;
}

static int recvs_post(struct rdma_queue *rq)
{
	struct ibv_recv_wr *bad;

	if (!rq->recv_first)
		return 0;
	rq->recv_last->next = NULL;
	rq->recv_last = NULL;
	bad = rq->recv_first;
	rq->recv_first = NULL;
	return -ibv_post_recv(rq->id->qp, bad, &bad);
}

static void recv_again(struct rdma_queue *rq, struct ibv_recv_wr *wr)
{
	wr->next = NULL;
	if (rq->recv_last)
		rq->recv_last->next = wr;
	else
		rq->recv_first = wr;
	rq->recv_last = wr;
}

int rdma_host_post_recvs(struct rdma_queue *rq)
{
	struct nvme_cqe *cqes = (struct nvme_cqe *)((struct nvme_sqe *)rq->capsules->mem + rq->nr_slots);
	uint32_t i;

	for (i = 0; i < rq->nr_recvs; i++) {
		rq->recv_sges[i] = (struct ibv_sge){ .addr = (uintptr_t)&cqes[i], .length = sizeof(cqes[i]), .lkey = rq->capsules->lkey };
		rq->recv_wrs[i] = (struct ibv_recv_wr){ .wr_id = RDMA_WR_RECV | i, .sg_list = &rq->recv_sges[i], .num_sge = 1 };
		recv_again(rq, &rq->recv_wrs[i]);
	}
	return recvs_post(rq);
}

void rdma_host_flush(struct loop_defer *d)
{
	struct rdma_queue *rq = container_of(d, struct rdma_queue, flush);
	struct rdma_slot *s = rq->tx_first;
	struct ibv_send_wr *bad;
	int ret;

	if (!s || rq->dead)
		return;
	for (; s; s = s->next) {
		s->wr.wr_id = rq->send_head;
		s->wr.next = s->next ? &s->next->wr : NULL;
		rq->sends[rq->send_head++ % rq->nr_slots] = s;
	}
	rq->tx_last->wr.send_flags = IBV_SEND_SIGNALED;
	s = rq->tx_first;
	rq->tx_first = rq->tx_last = NULL;
	ret = recvs_post(rq);
	if (!ret)
		ret = -ibv_post_send(rq->id->qp, &s->wr, &bad);
	if (ret)
		rdma_host_lost(rq, ret, "post a send: %s", strerror(-ret));
	else
		loop_fd_heat(&rq->cq.lf);
}

/* ---- in ---- */

static void slot_complete(struct rdma_queue *rq, struct rdma_slot *s)
{
	struct host_req *req = s->req;
	struct nvme_cqe cqe = s->cqe;

	rdma_host_unplace(rq, req, &s->place, !cqe.status);
	slot_put(rq, s);
	host_req_complete(req, &cqe);
}

/* All sends up to this one have left. */
static void sends_done(struct rdma_queue *rq, uint32_t seq)
{
	while (rq->send_tail != seq + 1 && !rq->dead) {
		struct rdma_slot *s = rq->sends[rq->send_tail++ % rq->nr_slots];

		s->sent = true;
		if (s->answered)
			slot_complete(rq, s);
	}
}

static void answer(struct rdma_queue *rq, const struct ibv_wc *wc)
{
	uint32_t recv = (uint32_t)wc->wr_id;
	const struct nvme_cqe *cqe = (void *)(uintptr_t)rq->recv_sges[recv].addr;
	struct host_req *req;
	struct rdma_slot *s;

	if (wc->byte_len != sizeof(*cqe)) {
		rdma_host_lost(rq, -EPROTO, "a response of %u bytes, %zu are to come", wc->byte_len, sizeof(*cqe));
		return;
	}
	req = host_queue_req(&rq->q, le16toh(cqe->cid));
	s = req ? to_rdma_req(req)->slot : NULL;
	if (!s || s->answered) {
		rdma_host_lost(rq, -EPROTO, "a response for command id %u, which is not under way", le16toh(cqe->cid));
		return;
	}
	s->cqe = *cqe;
	s->answered = true;
	recv_again(rq, &rq->recv_wrs[recv]);
	if (s->sent)
		slot_complete(rq, s);
}

static void completion(struct rdma_queue *rq, const struct ibv_wc *wc)
{
	if (rq->dead)
		return;
	if (wc->status == IBV_WC_WR_FLUSH_ERR)
		rdma_host_lost(rq, -ECONNRESET, "the connection was closed");
	else if (wc->status == IBV_WC_RETRY_EXC_ERR)
		rdma_host_lost(rq, -ETIMEDOUT, "the peer does not answer (%s)", ibv_wc_status_str(wc->status));
	else if (wc->status != IBV_WC_SUCCESS)
		rdma_host_lost(rq, -EIO, "%s failed: %s (vendor error %xh)", wc->wr_id & RDMA_WR_RECV ? "a receive" : "a send",
			       ibv_wc_status_str(wc->status), wc->vendor_err);
	else if (wc->wr_id & RDMA_WR_RECV)
		answer(rq, wc);
	else
		sends_done(rq, (uint32_t)wc->wr_id);
}

void rdma_host_completions(struct rdma_cq *cq, const struct ibv_wc *wcs, int nr)
{
	struct rdma_queue *rq = container_of(cq, struct rdma_queue, cq);
	int i;

	if (nr < 0)
		rdma_host_lost(rq, -EIO, "the completion queue can't be read");
	for (i = 0; i < nr; i++)
		completion(rq, &wcs[i]);
	if (!rq->dead && recvs_post(rq))
		rdma_host_lost(rq, -EIO, "receives can't be posted");
}
