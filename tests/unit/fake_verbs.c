/* SPDX-License-Identifier: BSD-3-Clause */
#include "fake_verbs.h"

#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/util.h"
#include "proto/cmd.h"
#include "proto/rdma.h"

#define NR_WCS	4096 /* of a queue */
#define NR_KEYS 4096 /* more than there ever are at a time */

static _Atomic(struct ibv_mr *) mrs[NR_KEYS]; /* by key */
static atomic_uint last_key;

struct fake_cq {
	struct ibv_cq cq;
	bool armed;
	uint32_t head, tail;
	struct ibv_wc wcs[NR_WCS];
};

struct fake_qp {
	struct ibv_qp qp;
	uint32_t head, tail;
	struct {
		uint64_t wr_id;
		void *mem;
	} recvs[NR_WCS];
};

static struct fake_cq *to_fake_cq(struct ibv_cq *cq)
{
	return container_of(cq, struct fake_cq, cq);
}

static struct fake_qp *to_fake_qp(struct ibv_qp *qp)
{
	return container_of(qp, struct fake_qp, qp);
}

/* ---- completions ---- */

static void complete(struct fake_cq *fc, struct ibv_wc wc)
{
	uint64_t one = 1;

	wc.status = fake_verbs.broken ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS;
	fc->wcs[fc->head++ % NR_WCS] = wc;
	if (fc->armed && write(fc->cq.channel->fd, &one, sizeof(one)) == sizeof(one))
		fc->armed = false;
}

void fake_verbs_complete(struct ibv_cq *cq)
{
	complete(to_fake_cq(cq), (struct ibv_wc){ .opcode = IBV_WC_RECV });
}

static int poll_cq(struct ibv_cq *cq, int nr, struct ibv_wc *wcs)
{
	struct fake_cq *fc = to_fake_cq(cq);
	int n = 0;

	while (n < nr && fc->tail != fc->head)
		wcs[n++] = fc->wcs[fc->tail++ % NR_WCS];
	return n;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	to_fake_cq(cq)->armed = true;
	fake_verbs.nr_armed++;
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	uint64_t n;

	fake_verbs.nr_asked++;
	return read(channel->fd, &n, sizeof(n)) == sizeof(n) ? 0 : -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nr) {}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct ibv_comp_channel *channel = calloc(1, sizeof(*channel));

	channel->fd = eventfd(0, EFD_SEMAPHORE);
	return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	free(channel);
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int nr, void *cq_context, struct ibv_comp_channel *channel, int vector)
{
	struct fake_cq *fc = calloc(1, sizeof(*fc));

	fc->cq.context = context;
	fc->cq.channel = channel;
	fake_verbs.nr_cqs++;
	return &fc->cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	fake_verbs.nr_cqs--;
	free(to_fake_cq(cq));
	return 0;
}

/* ---- the peer ---- */

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fake_qp *fq = to_fake_qp(qp);

	for (; wr; wr = wr->next, fq->head++) {
		fq->recvs[fq->head % NR_WCS].wr_id = wr->wr_id;
		fq->recvs[fq->head % NR_WCS].mem = (void *)(uintptr_t)wr->sg_list->addr;
	}
	return 0;
}

/* Nothing comes there. */
static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return 0;
}

/* RDMA READ or WRITE, by the key of a region that holds the data. */
static void move_data(const struct nvme_sqe *sqe)
{
	uint8_t byte = fake_verbs_byte(le16toh(sqe->cid));
	const struct ibv_mr *mr;
	struct nvme_rdma_sgl sgl;
	uint8_t *mem;

	if (nvme_rdma_sgl_parse(sqe, NULL, 0, 1, &sgl)) {
		fake_verbs.nr_bad++;
		return;
	}
	if (!sgl.nr)
		return;
	mem = (uint8_t *)(uintptr_t)sgl.seg[0].addr; // NOLINT
	mr = mrs[sgl.seg[0].key % NR_KEYS];
	if (!mr || mr->rkey != sgl.seg[0].key || mem < (uint8_t *)mr->addr || mem + sgl.len > (uint8_t *)mr->addr + mr->length)
		fake_verbs.nr_bad++;
	else if (sqe->opcode == nvme_cmd_read)
		memset(mem, byte, sgl.len);
	else if (*mem != byte || memcmp(mem, mem + 1, sgl.len - 1))
		fake_verbs.nr_bad++;
}

static void answer(struct fake_qp *fq, const struct nvme_sqe *sqe)
{
	struct nvme_cqe cqe = { .cid = sqe->cid };
	uint32_t i = fq->tail++ % NR_WCS;

	move_data(sqe);
	memcpy(fq->recvs[i].mem, &cqe, sizeof(cqe));
	complete(to_fake_cq(fq->qp.recv_cq),
		 (struct ibv_wc){ .wr_id = fq->recvs[i].wr_id, .opcode = IBV_WC_RECV, .byte_len = sizeof(cqe) });
}

/* The answer overtakes the completion of its own send now and then, as on a wire. */
static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct fake_qp *fq = to_fake_qp(qp);

	for (; wr; wr = wr->next) {
		struct ibv_wc sent = { .wr_id = wr->wr_id, .opcode = IBV_WC_SEND };
		bool signaled = wr->send_flags & IBV_SEND_SIGNALED, first = wr->wr_id & 1;

		if (signaled && first)
			complete(to_fake_cq(qp->send_cq), sent);
		if (!fake_verbs.silent)
			answer(fq, (const void *)(uintptr_t)wr->sg_list->addr);
		if (signaled && !first)
			complete(to_fake_cq(qp->send_cq), sent);
	}
	return 0;
}

/* Like ibv_create_qp() and rdma_init_qp_attr(), which it consists of. */
int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct fake_qp *fq;
	int ret = fake_verbs.qp_err ? fake_verbs.qp_err : fake_verbs.left ? EINVAL : 0;

	if (ret) {
		errno = ret;
		return -1;
	}
	fq = calloc(1, sizeof(*fq));
	fq->qp.context = id->verbs;
	fq->qp.send_cq = attr->send_cq;
	fq->qp.recv_cq = attr->recv_cq;
	id->qp = &fq->qp;
	fake_verbs.nr_qps++;
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	free(to_fake_qp(id->qp));
	id->qp = NULL;
	fake_verbs.nr_qps--;
}

/* ---- device and memory ---- */

struct fake_verbs fake_verbs = {
	.device = { .name = "fake0" },
	.context = {
		.device = &fake_verbs.device,
		.ops = { .poll_cq = poll_cq,
			 .req_notify_cq = req_notify_cq,
			 .post_send = post_send,
			 .post_recv = post_recv,
			 .post_srq_recv = post_srq_recv },
	},
};

struct ibv_device **ibv_get_device_list(int *nr)
{
	static struct ibv_device *list[] = { &fake_verbs.device, NULL };

	*nr = 1;
	return list;
}

void ibv_free_device_list(struct ibv_device **list) {}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	*attr = (struct ibv_device_attr){
		.max_sge = 4,
		.max_qp_rd_atom = 16,
		.max_qp_init_rd_atom = 16,
		.max_qp_wr = 1024,
		.max_cqe = NR_WCS,
		.max_srq = 1,
		.max_srq_wr = 1024,
	};
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	fake_verbs.nr_pds++;
	return calloc(1, sizeof(struct ibv_pd));
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	fake_verbs.nr_pds--;
	free(pd);
	return 0;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	struct ibv_mr *mr;

	if (atomic_fetch_add(&fake_verbs.mr_bytes, len) + len > fake_verbs.mr_limit && fake_verbs.mr_limit) {
		fake_verbs.mr_bytes -= len;
		errno = ENOMEM;
		return NULL;
	}
	mr = calloc(1, sizeof(*mr));
	*mr = (struct ibv_mr){ .pd = pd, .addr = addr, .length = len };
	mr->lkey = mr->rkey = ++last_key;
	mrs[mr->rkey % NR_KEYS] = mr;
	fake_verbs.nr_mrs++;
	return mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova, unsigned int access)
{
	return ibv_reg_mr(pd, addr, len, (int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	mrs[mr->rkey % NR_KEYS] = NULL;
	fake_verbs.nr_mrs--;
	fake_verbs.mr_bytes -= mr->length;
	free(mr);
	return 0;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq *srq = calloc(1, sizeof(*srq));

	srq->context = &fake_verbs.context;
	fake_verbs.nr_srqs++;
	return srq;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	fake_verbs.nr_srqs--;
	free(srq);
	return 0;
}

/* ---- connections ---- */

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rdma_event_channel *channel = calloc(1, sizeof(*channel));

	channel->fd = eventfd(0, 0);
	return channel;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	close(channel->fd);
	free(channel);
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	errno = EAGAIN;
	return -1;
}

struct rdma_cm_id *fake_verbs_id(void *context)
{
	struct rdma_cm_id *id = calloc(1, sizeof(*id));

	id->verbs = &fake_verbs.context;
	id->context = context;
	fake_verbs.nr_ids++;
	return id;
}

int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	id->channel = channel;
	return 0;
}

int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	errno = EINVAL;
	return fake_verbs.left ? -1 : 0;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	fake_verbs.nr_accepts++;
	errno = fake_verbs.left ? EINVAL : fake_verbs.accept_err;
	return errno ? -1 : 0;
}

int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t len)
{
	fake_verbs.nr_rejects++;
	return 0;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	fake_verbs.nr_ids--;
	free(id);
	return 0;
}
