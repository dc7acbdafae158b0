/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The completion queue of one queue pair, on a loop.  It is polled directly whenever the loop calls; the descriptor of its channel is only
 * what wakes a loop that sleeps.
 */
#ifndef NVOF_TRANSPORT_RDMA_CQ_H
#define NVOF_TRANSPORT_RDMA_CQ_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"

#define RDMA_CQ_BATCH 32
#define RDMA_WR_RECV  (UINT64_C(1) << 63) /* in a wr_id: a receive.  A failed completion does not say what it is of. */

struct rdma_cq {
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct loop_fd lf;
	bool armed;
	unsigned int nr_events; /* to be acknowledged */
	/* nr completions (1..RDMA_CQ_BATCH); negative: it can't be read or armed any more.  Not to be closed from inside. */
	void (*batch)(struct rdma_cq *q, const struct ibv_wc *wcs, int nr);
};

/* 0 or -errno; then rdma_cq_close() all the same. */
int rdma_cq_open(struct rdma_cq *q, struct loop *loop, struct ibv_context *verbs, uint32_t nr,
		 void (*batch)(struct rdma_cq *q, const struct ibv_wc *wcs, int nr));
/* To another loop: off the old one on its thread, then on the new one on that one's: 0 or -errno. */
void rdma_cq_detach(struct rdma_cq *q);
int rdma_cq_attach(struct rdma_cq *q, struct loop *loop);
/* Everything that has completed goes to batch; true: there was something. */
bool rdma_cq_poll(struct rdma_cq *q);
/* After the queue pair; a zeroed one is fine. */
void rdma_cq_close(struct rdma_cq *q);

#endif
