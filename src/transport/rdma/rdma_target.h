/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The RDMA transport's target half, inside.  rdma_target_listen.c: connection requests; rdma_target_accept.c: from a request to a
 * connection that is ready; rdma_target_life.c: its states and its end; rdma_target_wc.c: its completions; rdma_target_dev.c: what the
 * connections of a thread share on a device; rdma_target_recv.c: receive buffers; rdma_target_cmd.c: capsules to requests;
 * rdma_target_sq.c: RDMA READs, RDMA WRITEs and responses, as many as the queue pair takes.
 *
 *   capsule -> CORE -> (write data: READ, queued until posted, then POSTED) -> CORE -> RSP, queued until posted, then POSTED -> FREE
 */
#ifndef NVOF_TRANSPORT_RDMA_TARGET_H
#define NVOF_TRANSPORT_RDMA_TARGET_H

#include <infiniband/verbs.h>

#include "proto/rdma.h"
#include "transport/rdma/rdma_cm.h"
#include "transport/rdma/rdma_cq.h"
#include "transport/rdma/rdma_pool.h"
#include "transport/target_ops.h"

#define RT_MSDBD   NVME_RDMA_SGL_MAX
/* Receive buffers that the I/O queues of a thread share on a device: so many bytes of them, within these numbers. */
#define RT_SRQ_LEN (64u << 20)
#define RT_SRQ_MIN 1024
#define RT_SRQ_MAX 4096 /* each completion queue must hold as many */

#define RT_ADMIN_LEN (sizeof(struct nvme_sqe) + 1024) /* bytes of an admin queue's receive buffer: its capsules bring no data */
#define RT_STAGING   (64u << 20)		      /* bytes of data on their way, per thread and device */
#define RT_LINGER_NS (200 * NSEC_PER_MSEC)
#define RT_STUCK_NS  (30 * NSEC_PER_SEC)  /* whose host takes no answer for so long ends */
#define RT_STILL_NS  (20 * NSEC_PER_MSEC) /* who did not look at a completion queue for so long may have stood still */

enum rt_slot_state {
	RT_FREE,
	RT_CORE,   /* the target core has it */
	RT_READ,   /* waits to fetch the data of a write */
	RT_RSP,	   /* waits to be answered */
	RT_POSTED, /* the device has it: a READ, or data and response */
};

struct rt_slot {
	struct target_req req;
	enum rt_slot_state state;
	bool fetching; /* POSTED: a READ */
	struct rt_slot *next;
	struct nvme_rdma_sgl sgl;
	struct rdma_buf *staging; /* registered memory of the data on its way, or NULL */
	uint32_t nr_wr;		  /* work requests posted for it */
	uint32_t last_wr;	  /* the number of the last one */
};

struct rt_fifo {
	struct rt_slot *head, *tail;
};

/* A receive buffer: an SQE and in-capsule data. */
struct rt_recv {
	struct ibv_recv_wr wr;
	struct ibv_sge sge;
	uint32_t len;	      /* of the capsule in it */
	struct rt_recv *next; /* rt_conn.held */
};

/* The buffers of one receive queue: of srq or of qp.  They wait until there is one of the two. */
struct rt_recvs {
	struct ibv_pd *pd;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	uint32_t len, nr; /* bytes of a buffer; buffers */
	struct cds_list_head slabs;
	struct ibv_recv_wr *again; /* to be posted again */
};

/* What the connections of one thread share on one device. */
struct rt_dev {
	struct cds_list_head link; /* rt_loop.devs */
	struct loop *loop;
	const struct log *log;
	uint32_t nr_conns;
	struct ibv_context *verbs;
	struct ibv_device_attr attr;
	struct ibv_pd *pd;
	struct rdma_pool pool;
	struct loop_defer feed;
	struct cds_list_head starved; /* rt_conn.starved: they wait for a block of the pool */

	struct rt_recvs recvs;	    /* of the I/O queues */
	uint32_t max_recvs, shares; /* buffers it may have; what the I/O queues hold together, now */
};

enum rt_conn_state {
	RT_CONN_NEW,	/* on its way to its loop */
	RT_CONN_ACCEPT, /* the fault points hold it */
	RT_CONN_LINK,	/* accepted; the host has not confirmed it yet, but may send */
	RT_CONN_READY,
	RT_CONN_FLUSH, /* ending: answers that are there still leave (bounded); what comes is thrown away */
	RT_CONN_CLOSED,
	RT_CONN_NR_STATES,
};

struct rt_conn {
	struct target_queue q;
	enum rt_conn_state state; /* changed by rt_conn_enter() only */
	struct rdma_owner owner;
	struct rdma_cm_id *id;
	struct nvme_rdma_cm_req cm;
	uint8_t reads_in, reads_out; /* of the request */
	struct loop_work hand_over;
	struct loop_defer flush, finish;
	struct timer linger, stuck;
	bool notified;	/* the connection manager was told that the host has sent, */
	bool noticed;	/* and has taken that in, or was waited for in vain */
	bool ending;	/* it is to close as soon as it may */
	bool peer_gone; /* it asked to disconnect: our answer is due when the last command has ended */

	struct rt_dev *dev;
	struct rt_recvs own, *recvs; /* of an admin queue, so that nothing there waits for I/O; and those in use */
	uint32_t share;		     /* of an I/O queue */
	struct cds_list_head starved;
	bool is_starved;
	struct rdma_cq cq;
	bool in_batch;	    /* answers leave at its end */
	uint64_t looked_ns; /* when something was last received or had left */

	/* send queue */
	uint32_t sq_size, sq_used;
	uint64_t left_ns; /* when something had left last, or was posted with nothing before it */
	uint32_t wr_head; /* number of the next work request */
	uint32_t max_reads, nr_reads;
	struct rt_fifo reads, responses, posted;

	/* request slots */
	struct rt_slot *slots;
	struct rdma_buf *cqes; /* one for each slot */
	uint32_t nr_slots, nr_used, nr_busy;
	struct rt_slot *free_slots;
	struct rt_recv *held, *held_tail; /* capsules that came when all slots were in use */

	char why[192]; /* why it ends */
};

extern const struct target_transport rdma_target_transport;

static inline struct rt_conn *to_rt_conn(struct target_queue *q)
{
	return container_of(q, struct rt_conn, q);
}
static inline struct rt_slot *to_rt_slot(struct target_req *req)
{
	return container_of(req, struct rt_slot, req);
}
static inline bool rt_conn_alive(const struct rt_conn *c)
{
	return c->state < RT_CONN_FLUSH;
}

/* ---- beginning ---- */

struct rt_conn *rt_conn_new(struct rdma_cm_id *id, const struct nvme_rdma_cm_req *cm, const struct rdma_event *ev);
/* On the thread of c->q.loop: the connection becomes the target's.  It closes itself when the target doesn't want it. */
void rt_conn_start(struct rt_conn *c);
int rt_queue_resize(struct target_queue *q, uint16_t sqsize);

/* ---- states and end ---- */

void rt_conn_life_init(struct rt_conn *c);
void rt_conn_enter(struct rt_conn *c, enum rt_conn_state state);
/* The connection manager knows that the host has confirmed: it may be asked to disconnect. */
void rt_conn_noticed(struct rt_conn *c);
void rt_conn_lost(struct rt_conn *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The last answer has left. */
void rt_conn_flushed(struct rt_conn *c);
void rt_conn_free(struct rt_conn *c);
void rt_queue_local(const struct target_queue *q, char *text, size_t len);
void rt_queue_close(struct target_queue *q);
void rt_queue_free(struct target_queue *q);

/* ---- completions ---- */

void rt_conn_wc_init(struct rt_conn *c);
void rt_completions(struct rdma_cq *cq, const struct ibv_wc *wcs, int nr);
/* Work was posted: it is seen to that it leaves. */
void rt_conn_watch(struct rt_conn *c);

/* ---- device ---- */

/* The loop's, made when it is needed for the first time; a reference.  NULL and a sentence. */
struct rt_dev *rt_dev_get(struct loop *loop, struct ibv_context *verbs, const struct target_link_params *params, const struct log *log,
			  struct error *err);
void rt_dev_put(struct rt_dev *dev);
/* An I/O queue has so many capsules under way: its share of the receive buffers, as far as these may grow.  0 or -errno. */
int rt_dev_share(struct rt_dev *dev, uint32_t nr);
void rt_dev_unshare(struct rt_dev *dev, uint32_t nr);
/* A block for data on its way.  0; -EAGAIN: the connection is told when there is one; -errno. */
int rt_dev_staging(struct rt_conn *c, size_t len, struct rdma_buf **buf);
void rt_dev_staging_put(struct rt_dev *dev, struct rdma_buf *buf);
void rt_dev_unstarve(struct rt_conn *c);

/* ---- receive buffers ---- */

void rt_recvs_init(struct rt_recvs *rs, struct ibv_pd *pd, uint32_t len);
void rt_recvs_exit(struct rt_recvs *rs); /* the receive queue is gone */
/* nr more.  0 or -errno. */
int rt_recvs_add(struct rt_recvs *rs, uint32_t nr);
/* r was read: it goes back with the next rt_recvs_post(). */
void rt_recvs_again(struct rt_recvs *rs, struct rt_recv *r);
int rt_recvs_post(struct rt_recvs *rs);

/* ---- commands ---- */

int rt_slots_init(struct rt_conn *c);
void rt_slot_end(struct rt_conn *c, struct rt_slot *s); /* target_req_end() and back to the free ones */
/* Ends what this half holds.  The queue pair is gone. */
void rt_slots_end_all(struct rt_conn *c);
/* r has a capsule of r->len bytes; the buffer goes back when it was read. */
void rt_capsule(struct rt_conn *c, struct rt_recv *r);
/* Those that were held, as far as there are slots. */
void rt_capsules_held(struct rt_conn *c);

/* ---- send queue ---- */

void rt_respond(struct target_req *req);
void rt_bring(struct target_req *req);
void rt_read_add(struct rt_conn *c, struct rt_slot *s);
void rt_flush(struct rt_conn *c);
/* All work requests up to this one have completed. */
void rt_sent(struct rt_conn *c, uint32_t wr);
bool rt_idle(const struct rt_conn *c); /* nothing waits, nothing is posted */

static inline void rt_fifo_add(struct rt_fifo *f, struct rt_slot *s)
{
	s->next = NULL;
	if (f->head)
		f->tail->next = s;
	else
		f->head = s;
	f->tail = s;
}
static inline struct rt_slot *rt_fifo_pop(struct rt_fifo *f)
{
	struct rt_slot *s = f->head;

	f->head = s->next;
	return s;
}

#endif
