/* SPDX-License-Identifier: BSD-3-Clause */
/* Receive buffers: of a shared receive queue, or of the receive queue of one queue pair. */
#include <errno.h>
#include <stdlib.h>

#include "transport/rdma/rdma_target.h"

struct recv_slab {
	struct cds_list_head link;
	struct ibv_mr *mr;
	uint8_t *mem;
	struct rt_recv recvs[];
};

void rt_recvs_init(struct rt_recvs *rs, struct ibv_pd *pd, uint32_t len)
{
	rs->pd = pd;
	rs->len = len;
	CDS_INIT_LIST_HEAD(&rs->slabs);
}

void rt_recvs_exit(struct rt_recvs *rs)
{
	struct recv_slab *slab, *next;

	cds_list_for_each_entry_safe (slab, next, &rs->slabs, link) {
		ibv_dereg_mr(slab->mr);
		free(slab->mem);
		free(slab);
	}
	CDS_INIT_LIST_HEAD(&rs->slabs);
	rs->again = NULL;
	rs->nr = 0;
}

static struct recv_slab *slab_new(struct rt_recvs *rs, uint32_t nr)
{
	struct recv_slab *slab = calloc(1, sizeof(*slab) + nr * sizeof(slab->recvs[0]));

	if (!slab)
		return NULL;
	slab->mem = malloc((size_t)nr * rs->len);
	slab->mr = slab->mem ? ibv_reg_mr(rs->pd, slab->mem, (size_t)nr * rs->len, IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (slab->mr)
		return slab;
	free(slab->mem);
	free(slab);
	return NULL;
}

int rt_recvs_add(struct rt_recvs *rs, uint32_t nr)
{
	struct recv_slab *slab = slab_new(rs, nr);
	uint32_t i;

	if (!slab)
		return -ENOMEM;
	cds_list_add(&slab->link, &rs->slabs);
	for (i = 0; i < nr; i++) {
		struct rt_recv *r = &slab->recvs[i];

		r->sge = (struct ibv_sge){
			.addr = (uintptr_t)slab->mem + (size_t)i * rs->len,
			.length = rs->len,
			.lkey = slab->mr->lkey,
		};
		r->wr = (struct ibv_recv_wr){ .wr_id = RDMA_WR_RECV | (uintptr_t)r, .sg_list = &r->sge, .num_sge = 1 };
		rt_recvs_again(rs, r);
	}
	rs->nr += nr;
	return rt_recvs_post(rs);
}

void rt_recvs_again(struct rt_recvs *rs, struct rt_recv *r)
{
	r->wr.next = rs->again;
	rs->again = &r->wr;
}

int rt_recvs_post(struct rt_recvs *rs)
{
	struct ibv_recv_wr *wr = rs->again, *bad;

	if (!wr || (!rs->srq && !rs->qp))
		return 0;
	rs->again = NULL;
	return rs->srq ? -ibv_post_srq_recv(rs->srq, wr, &bad) : -ibv_post_recv(rs->qp, wr, &bad);
}
