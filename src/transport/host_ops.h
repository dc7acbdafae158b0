/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between the host core and a transport's host half.  This header is all a transport's host half knows of the host.
 *
 * Down: struct host_transport.  Up, two doors: host_req_complete()/host_req_fail() (a request ended) and host_queue_failed() (the queue
 * can't go on); host_queue_linked() is the answer to queue_start().
 *
 * Everything that a transport does with one queue happens on the thread of q->loop.  That is the ctx's thread, and while an I/O thread has
 * the queue (from queue_attach() to queue_detach()) that one: there submit() is called, and from there the two doors may be.  Of the
 * generic queue such a thread reads only what does not change while the queue is LIVE; not state, nr_inflight, bytes_inflight, err.  What
 * the transport hears of the connection on the ctx's thread meanwhile stays there: it may end in host_queue_failed(), no more.
 */
#ifndef NVOF_TRANSPORT_HOST_OPS_H
#define NVOF_TRANSPORT_HOST_OPS_H

#include <stdbool.h>
#include <sys/uio.h>
#include <urcu/list.h>

#include "base/async_domain.h"
#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/util.h"
#include "proto/cmd.h"

struct mem_attach;
struct mem_region;
struct io_port;	  /* the core's */
struct nvof_ctrl; /* the core's */
struct nvof_hctx; /* the core's */
struct nvof_ns;	  /* the core's */
struct nvof_cpl;  /* the core's */
struct host_queue;
struct host_req;
struct host_endpoint; /* the transport's */
struct nvof_target;   /* an in-process target, for the loop transport */

/* States of a queue on its way up.  A transport passes those it has, in this order, with host_queue_enter(). */
enum queue_state {
	QUEUE_NEW,
	QUEUE_RESOLVE, /* names to addresses; RDMA: address resolution */
	QUEUE_ROUTE,   /* RDMA */
	QUEUE_LINK,    /* TCP connect, RDMA connect */
	QUEUE_TLS,
	QUEUE_ICREQ,   /* TCP: ICReq sent, ICResp awaited */
	QUEUE_LINKED,  /* an early link: waits until the ctrl is initialised */
	QUEUE_CONNECT, /* Fabrics Connect sent */
	QUEUE_AUTH,
	QUEUE_LIVE,
	QUEUE_FAILED, /* host_queue_failed() was called; queue_stop() follows at the end of the turn */
	QUEUE_STOPPED,
	QUEUE_NR_STATES,
};

enum data_dir { DATA_NONE, DATA_TO_CTRL, DATA_FROM_CTRL };

/* What all queues of a ctrl share.  The texts are the core's and outlive the endpoint. */
struct host_link_params {
	const char *traddr, *trsvcid;	      /* trsvcid NULL: the transport's default */
	const char *host_traddr, *host_iface; /* NULL: not bound */
	int tos;			      /* -1: default */
	uint32_t connect_tmo_ms;	      /* for all of a connect */
	uint32_t settle_ms;		      /* a ctrl has forgotten a connection that was given up so long ago */
	bool hdr_digest, data_digest;
	struct nvof_target *loop_target; /* loop transport only */
	uint32_t nr_io_threads;		 /* that queues may move to; 0: none */
	const struct log *log;
};

/*
 * One command.  The core fills the first part; from submit() to completion the memory behind iov and the request itself stay put.
 * The SQE's cid and SGL are the transport's to fill in.
 */
struct host_req {
	struct nvme_sqe sqe;
	const struct iovec *iov; /* data, starting iov_skip bytes into iov[0]; data_len bytes in all */
	uint32_t iovcnt;
	uint32_t data_len;
	size_t iov_skip;
	enum data_dir dir;
	struct mem_region *region;    /* registered by the caller, holds the first piece of the data; NULL: none that the transport knows */
	const struct mem_attach *mem; /* what the transport's region_use() said of it */
	uint16_t cid;		      /* == tag */
	bool active;		      /* from submit() until it completes: wire answers for others are refused */
	struct host_queue *queue;     /* borrowed: a queue outlives its requests */

	/* the core's: how it ended, and whom to tell */
	void (*done)(struct host_req *req, int status, const struct nvme_cqe *cqe); /* cqe NULL unless one came from the wire */
	void (*cb)(void *arg, const struct nvof_cpl *cpl);
	void *arg;
	uint64_t deadline; /* tick of the ctrl's command timer; 0: never */
	struct iovec one;  /* backs iov for single buffers */
	uint32_t next_free;
	uint8_t nr_retries;	   /* how often it was under way when a connection was lost */
	bool retry;		   /* it may wait for the ctrl to come back, and be sent again */
	void *owner;		   /* the core's parent when the request is one part of a split */
	struct host_tags *tags;	   /* that the slot belongs to */
	struct nvof_hctx *hctx;	   /* whose I/O it is */
	struct nvof_ns *ns;	   /* and of which namespace; NULL: none that the core knows of */
	struct cds_list_head link; /* ctrl->held.list */

	_Alignas(uint64_t) unsigned char priv[]; /* host_transport.req_size bytes, zeroed before the slot is used for the first time */
};

/* The request slots that the queues of one hctx (or the admin queue) share.  cid == index. */
struct host_tags {
	uint32_t nr_tags; /* slots that were used so far: those beyond are not even initialised */
	uint32_t nr_busy;
	uint32_t limit;	    /* of nr_busy: never fills a submission queue (C039) */
	uint32_t nr_slots;  /* there is memory for so many that are not reserved */
	uint32_t nr_cids;   /* with the reserved ones */
	uint32_t free_head; /* UINT32_MAX: none */
	size_t stride;
	unsigned char *slots;
};

/* How fast a queue of a group is: host/hctx_pick.c.  One request at a time is watched. */
struct queue_pace {
	const struct host_req *watched; /* NULL: none; always so where a hctx has one queue */
	uint64_t since;			/* ns */
	uint64_t bytes;			/* that were in flight with it */
	double ns_per_byte;		/* 0: not known */
};

/* The generic part of a queue: the transport's struct has it as its first member. */
struct host_queue {
	/* set by the core before queue_start(); of an early link, hctx, tags and the sizes before its first submit() */
	const struct host_transport *ops;
	struct nvof_ctrl *ctrl;
	struct nvof_hctx *hctx; /* NULL: the admin queue */
	struct loop *loop;
	const struct host_tags *tags; /* of an early link: one without slots, so that no command is outstanding */
	struct io_port *port;	      /* an I/O thread has it (host/io_port.h); NULL: it is on the ctx's thread */
	struct host_req **reqs;	      /* then: what is under way on it, by cid; its hctx's slots are not that thread's to look at */
	const struct log *log;
	uint16_t qid;
	uint16_t cntlid;     /* of the ctrl it will belong to; FFFFh: not known yet */
	uint32_t queue_size; /* entries */
	uint32_t nr_cids;    /* command ids are below this: the queues of a hctx share them, so there may be more than entries */
	uint32_t inline_len; /* in-capsule data a command of this queue may carry (from IOCCSZ); 0: none */
	bool sqflow_off; /* the ctrl granted Connect's request to disable SQ flow control (SQHD FFFFh): a success may ride on the data */
	bool resend;	 /* queue_stop() ends a connection whose commands will be sent again: see settled() */
	uint32_t nr_inflight; /* kept by the core: submitted and not completed */
	uint64_t bytes_inflight;
	enum queue_state state; /* changed by host_queue_enter() only */
	struct error err;	/* why it failed */

	/* set by the transport when linked, for the core and for people */
	bool hdr_digest, data_digest;
	char peer[128];	 /* "127.0.0.1:4420", "[fe80::1%eth0]:4420" */
	char local[128]; /* the same of our end; of the admin queue, others need not have it */

	/* the core's, private */
	struct queue_setup *setup; /* while it is set up */
	struct async_op delete_op; /* host/queue_delete.c */
	uint32_t place;		   /* in its hctx */
	struct queue_pace pace;
	struct loop_defer fail_work; /* what host_queue_failed() puts off */
	uint32_t span;		     /* 1's based place of the open span in the ctrl's timeline; 0: none */
};

struct host_transport {
	const char *name;	     /* as in -t: "tcp" */
	uint8_t trtype;		     /* NVMF_TRTYPE_* */
	size_t req_size;	     /* private bytes at the end of each host_req, aligned as it is */
	size_t max_data_len;	     /* of one command; 0: no limit */
	uint32_t admin_inline_len;   /* in-capsule data every admin and Fabrics command may carry */
	const char *default_trsvcid; /* "4420"; NULL: none */
	bool early_links;	     /* a link says nothing of its queue (id, size ...): it may be made before those are known */

	/* Checks the texts without asking anyone (no DNS): 0, or -EINVAL and a sentence that names the argument. */
	int (*addr_check)(const struct host_link_params *p, struct error *err);
	/* What a ctrl's queues share (resolved addresses ...).  Nothing is resolved yet.  0 or -errno. */
	int (*endpoint_new)(const struct host_link_params *p, struct loop *loop, struct host_endpoint **ep, struct error *err);
	void (*endpoint_free)(struct host_endpoint *ep); /* after the last queue_free() */

	/* Only memory; the core fills in the generic part.  NULL: no memory. */
	struct host_queue *(*queue_alloc)(struct host_endpoint *ep);
	/* Begins to link.  Returns 0 and later exactly one of host_queue_linked() or host_queue_failed() follows, never from inside. */
	int (*queue_start)(struct host_queue *q);
	/* Linked queues only.  0: the request is under way and will complete or the queue will fail.  -EAGAIN: no room now (req untouched).
	 */
	int (*submit)(struct host_queue *q, struct host_req *req);
	/*
	 * On the ctx's thread, before submit(): a request's data begins in memory that the caller registered.  What the transport did for
	 * it, now or earlier, or NULL: it can't use it.  Both stay as long as the request is under way.  NULL: registering changes nothing.
	 */
	const struct mem_attach *(*region_use)(struct host_queue *q, struct mem_region *region);
	/*
	 * A LIVE queue moves to another loop.  queue_detach(), on the old one's thread, takes it off (from the ctx's with nothing under
	 * way); queue_attach(), on the thread of the new one, which is q->loop by then, puts it on: 0 or -errno.  A queue that was detached
	 * from an I/O thread's loop is only stopped.
	 */
	void (*queue_detach)(struct host_queue *q);
	int (*queue_attach)(struct host_queue *q);
	/* Closes at once, in any state; after it returns no request's memory is touched any more and no door is called.  Twice is fine.
	 * Requests in flight are NOT completed by the transport: the core ends them. */
	void (*queue_stop)(struct host_queue *q);
	void (*queue_free)(struct host_queue *q); /* stopped queues only */
	/* No command of a queue that was stopped with `resend` can reach the ctrl any more: the repetitions may go out.  NULL: always so.
	 */
	bool (*settled)(struct host_endpoint *ep);
};

/* The transports of this build, NULL-terminated: the one registration line of each is in transport/registry.c. */
extern const struct host_transport *const host_transports[];

/* ---- doors of the core, called by a transport ---- */

/* The one door for q->state; records the timeline.  Illegal moves are bugs (asserted). */
void host_queue_enter(struct host_queue *q, enum queue_state state);
const char *queue_state_name(enum queue_state state);

void host_queue_linked(struct host_queue *q);

/*
 * The queue can't go on: code and sentence as in base/error.h (without "qid 3: ", the core adds who and in which state).  Fine from
 * anywhere inside the transport, more than once (the first counts), on the thread that has the queue and on the ctx's.  The core acts on
 * it at the end of the turn, not from inside.
 */
void host_queue_failed(struct host_queue *q, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* A CQE came for req (all its data is in place).  Runs the owner's callback, which may submit again; req may be reused on return. */
void host_req_complete(struct host_req *req, const struct nvme_cqe *cqe);
/* Ended without a CQE: status is a positive NVMe status made here (data digest error) or a negative errno. */
void host_req_fail(struct host_req *req, int status);

static inline struct host_req *host_tags_req(const struct host_tags *tags, uint32_t tag)
{
	return (struct host_req *)(tags->slots + tag * tags->stride);
}

/* The outstanding request of this queue with that cid; NULL: the peer made it up (or answers twice). */
static inline struct host_req *host_queue_req(const struct host_queue *q, uint16_t cid)
{
	struct host_req *req;

	if (unlikely(q->reqs))
		return cid < q->nr_cids ? q->reqs[cid] : NULL;
	if (cid >= q->tags->nr_tags)
		return NULL;
	req = host_tags_req(q->tags, cid);
	return req->active && req->queue == q ? req : NULL;
}

#endif
