/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The RDMA transport's host half, inside.  rdma_host.c: endpoint, life of a queue; rdma_host_link.c: resolve, route, connect;
 * rdma_host_io.c: capsules out, completions in; rdma_host_mem.c: where a command's data lies; rdma_host_region.c: memory that the caller
 * registered; rdma_host_old.c: connections that were given up.
 *
 * Of a queue that an I/O thread has, the queue pair, its completions and its bounce blocks are there.  The connection stays on the ctx's
 * thread, and so do the device and all memory regions: events of the connection come to that thread's channel, and the only thing that is
 * looked at from both sides is rdma_queue.dead.
 *
 * A ctrl has a protection domain of its own, so that its peer reaches no memory that was registered for another one.
 */
#ifndef NVOF_TRANSPORT_RDMA_HOST_H
#define NVOF_TRANSPORT_RDMA_HOST_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/mem_regions.h"
#include "transport/host_ops.h"
#include "transport/inet/inet_old.h"
#include "transport/inet/inet_peer.h"
#include "transport/rdma/rdma_cm.h"
#include "transport/rdma/rdma_cq.h"
#include "transport/rdma/rdma_pool.h"

#define RDMA_HOST_MAX_SGE 4	      /* the SQE and pieces of in-capsule data */
#define RDMA_HOST_BOUNCE  (64u << 20) /* bytes of bounce buffers of a ctrl; its I/O threads share them out */
#define RDMA_HOST_ACCESS  (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

/* What a ctrl's queues share on one device (on all of them: addresses of one ctrl lead to the same one, but nothing promises it). */
struct rdma_host_dev {
	struct cds_list_head link; /* ep->devs */
	struct rdma_endpoint *ep;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct rdma_pool pool;	      /* the ctx's thread's */
	pthread_mutex_t lock;	      /* of pools: taken when a queue comes to an I/O thread */
	struct cds_list_head pools;   /* rdma_host_pool.link: of each I/O thread that has had a queue */
	struct cds_list_head regions; /* rdma_host_region.link */
	uint32_t nr_queues;	      /* that have a queue pair on it */
	bool gone;		      /* is being removed: everything of it goes with the last queue */
	uint32_t max_sge;
	uint8_t max_reads; /* RDMA READs of the peer's that the device serves */
};

/* The bounce blocks of an I/O thread. */
struct rdma_host_pool {
	struct cds_list_head link; /* dev->pools */
	const struct loop *loop;
	struct rdma_pool pool;
};

struct rdma_endpoint {
	struct host_link_params p;
	struct inet_peer peer;
	struct inet_olds olds; /* rdma_host_old.c */
	struct cds_list_head devs;
};
static inline struct rdma_endpoint *to_rdma_endpoint(struct host_endpoint *ep)
{
	return (struct rdma_endpoint *)ep;
}

/* A caller's region as a device knows it. */
struct rdma_host_region {
	struct mem_attach attach;
	struct cds_list_head link; /* dev->regions */
	struct ibv_mr *mr;	   /* NULL: it can't be registered, and that was said */
};

/* Where a request's data lies: in registered memory of its own, or copied. */
struct rdma_place {
	uint32_t nr_sge;
	struct ibv_sge sge[RDMA_HOST_MAX_SGE - 1];
	uint32_t rkey;		 /* of sge[0], when it is alone */
	struct rdma_buf *bounce; /* NULL: none */
};

/* A command under way on a queue. */
struct rdma_slot {
	struct host_req *req; /* NULL: free */
	struct rdma_slot *next;
	struct rdma_place place;
	struct ibv_send_wr wr;
	struct ibv_sge sge[RDMA_HOST_MAX_SGE];
	bool sent;     /* its capsule's memory is ours again */
	bool answered; /* cqe has come */
	struct nvme_cqe cqe;
};

/* The transport's part of a host_req. */
struct rdma_req {
	struct rdma_slot *slot;
};

struct rdma_queue {
	struct host_queue q;
	struct rdma_endpoint *ep;
	struct rdma_owner owner;
	struct rdma_host_dev *dev;
	struct rdma_cm_id *id;
	struct inet_waiter wait;
	atomic_bool dead; /* failed or stopped: touch nothing any more */
	bool closed;	  /* by the peer: nothing reaches it any more */
	bool established;

	struct rdma_cq cq;
	struct loop_defer flush;

	struct rdma_pool *pool; /* of its thread */
	uint32_t nr_slots, nr_recvs;
	uint32_t nr_out; /* slots in use */
	struct rdma_slot *slots, *free_slots;
	struct rdma_buf *capsules; /* of nr_slots SQEs, then nr_recvs CQEs */
	struct rdma_slot **sends;  /* ring of nr_slots: posted, in order */
	uint32_t send_head, send_tail;
	struct rdma_slot *tx_first, *tx_last; /* not posted yet */
	uint32_t nr_tx;
	struct ibv_recv_wr *recv_wrs;
	struct ibv_sge *recv_sges;
	struct ibv_recv_wr *recv_first, *recv_last; /* to be posted again */
};
static inline struct rdma_queue *to_rdma_queue(struct host_queue *q)
{
	return container_of(q, struct rdma_queue, q);
}
static inline struct rdma_req *to_rdma_req(struct host_req *req)
{
	return (struct rdma_req *)req->priv;
}

extern const struct host_transport rdma_host_transport;

/* life */
struct rdma_host_dev *rdma_host_dev_get(struct rdma_endpoint *ep, struct ibv_context *verbs, struct error *err);
int rdma_host_qp_new(struct rdma_queue *rq, struct error *err);
void rdma_host_qp_free(struct rdma_queue *rq);

/* link */
void rdma_host_link_start(struct rdma_queue *rq);
void rdma_host_cm_event(struct rdma_owner *owner, const struct rdma_event *ev);
/* The connection is gone, or can't be used: code and sentence, and threads, as in host_queue_failed(). */
void rdma_host_lost(struct rdma_queue *rq, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* io */
int rdma_host_submit(struct host_queue *q, struct host_req *req);
void rdma_host_flush(struct loop_defer *d);
void rdma_host_completions(struct rdma_cq *cq, const struct ibv_wc *wcs, int nr);
/* The first receive buffers.  0 or -errno. */
int rdma_host_post_recvs(struct rdma_queue *rq);

/* mem */
bool rdma_host_in_capsule(const struct rdma_queue *rq, const struct host_req *req);
/* Of the I/O thread with this loop; NULL: no memory. */
struct rdma_pool *rdma_host_thread_pool(struct rdma_host_dev *dev, const struct loop *loop);
void rdma_host_pools_free(struct rdma_host_dev *dev);
/* 0; -EAGAIN: no bounce buffer now; -errno */
int rdma_host_place(struct rdma_queue *rq, struct host_req *req, bool in_capsule, struct rdma_place *place);
/* copy: bring what was read to where the caller wants it. */
void rdma_host_unplace(struct rdma_queue *rq, struct host_req *req, struct rdma_place *place, bool copy);

/* region */
const struct mem_attach *rdma_host_region_use(struct host_queue *q, struct mem_region *m);
void rdma_host_regions_free(struct rdma_host_dev *dev);

/* old: takes id over; whether all that were taken over are settled */
void rdma_host_old_keep(struct rdma_endpoint *ep, struct rdma_cm_id *id);
bool rdma_host_settled(struct host_endpoint *hep);

#endif
