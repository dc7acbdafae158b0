/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between the target core and a transport's target half.  This header is all a transport's target half knows of the target.
 *
 * A connection is a target_queue from accept on (which ctrl and qid it is shows only at Connect).  Everything of a queue happens on the
 * thread of q->loop.  The life of a request:
 *
 *   capsule arrives      transport: req = a free slot; fills sqe, sgl_len, in_capsule; target_req_begin(req)
 *   begin said true      transport: brings req->data_len bytes into req->iov (in-capsule, R2T, RDMA READ), then target_req_execute(req)
 *   core has the answer  core:      ops->respond(req): transport sends data (DATA_FROM_CTRL and status 0) and the CQE
 *   last byte has left   transport: target_req_end(req): buffers go back, the slot is free
 *
 * When the link dies the transport calls target_queue_closed(q), ends (target_req_end) the requests it holds itself, and ends each later
 * respond() at once.  When the last request has ended the core calls ops->queue_free(q).
 */
#ifndef NVOF_TRANSPORT_TARGET_OPS_H
#define NVOF_TRANSPORT_TARGET_OPS_H

#include <stdbool.h>
#include <sys/uio.h>

#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/util.h"
#include "proto/cmd.h"
#include "transport/host_ops.h" /* enum data_dir alone */

struct nvof_target;
struct target_port; /* the core's: a listener and what it may serve */
struct target_ctrl; /* the core's */
struct target_queue;
struct target_req;
struct target_ns;	/* the core's */
struct target_thread;	/* the core's */
struct target_listener; /* the transport's */

#define TARGET_REQ_IOV 8

struct target_req {
	/* filled by the transport before target_req_begin() */
	struct nvme_sqe sqe;
	uint32_t sgl_len; /* bytes the command's SGL describes */
	bool in_capsule;  /* its data came with the capsule */
	struct target_queue *queue;

	/* filled by the core */
	struct nvme_cqe cqe; /* sqhd, sqid, cid and status included when respond() is called */
	enum data_dir dir;
	uint32_t data_len;
	struct iovec *iov; /* DATA_TO_CTRL: where to put the data; DATA_FROM_CTRL: what to send (may be the backend's own memory) */
	uint32_t iovcnt;
	/* Not 0: iov is the backend's own memory.  Only whole blocks of this length may be put there; buf has room for one that is not yet.
	 */
	uint32_t in_place;

	/* the core's */
	bool active;
	struct iovec iov_inline[TARGET_REQ_IOV];
	void *buf; /* bounce buffer: iov's memory, or NULL */
	size_t buf_len;
	struct target_ns *ns; /* one reference while active, or NULL */
	bool parked, answered;
	bool waiting, waited; /* for a buffer: see buf_wait.c */
	uint8_t ns_epoch;
	struct timer delay; /* of a fault, or until a queue id is free */
	uint8_t delay_then;
	uint16_t delay_status;
	struct cds_list_head link, wait_link;
	uint64_t scratch[20]; /* the backend's and the command's state between submit and done */
};

struct target_queue {
	/* set by target_queue_init() */
	const struct target_transport *ops;
	struct nvof_target *target;
	struct target_port *port;
	struct loop *loop;
	const struct log *log;
	/* set by the transport before target_queue_init() */
	char peer[128];
	/* the core's */
	struct target_ctrl *ctrl; /* NULL before Connect */
	uint16_t qid;
	uint16_t sqsize; /* 0's based; before Connect: what the transport has slots for, less one */
	uint16_t sqhd;
	bool sqflow_off; /* SQ flow control disabled: no sqhd, a success may ride on the data (TCP: SUCCESS flag) */
	/* The transport's: data to be sent must not change until it has left (data digests), so the core hands out copies. */
	bool stable_data;
	/* The transport's: it knows what target_req.in_place means, and what it puts in place has no digest that could turn out wrong. */
	bool writes_in_place;
	bool connected, closing, closed, draining;
	uint32_t nr_active, nr_parked, nr_outstanding; /* outstanding: active and not answered yet */
	uint32_t nr_waiting; /* the transport's: commands that came when it had no request for them; they count as outstanding */
	struct target_thread *thread;
	struct cds_list_head link;
	struct timer timer;	 /* handshake time-out until connected */
	struct timer link_timer; /* a delayed target_link_point() */
	uint8_t link_then;
	struct loop_work work;	   /* target_queue_close() from other threads */
	bool work_posted;	   /* under the target's lock */
	struct cds_list_head held; /* requests kept by the core: AERs, delayed, ignored */
	void (*go)(struct target_queue *q);
};

enum target_link_point { TARGET_LINK_ACCEPT, TARGET_LINK_ICREQ };

struct target_transport {
	const char *name;
	uint8_t trtype;
	bool needs_addr;	   /* "tcp:ADDR:PORT"; loop has none */
	bool hosts_within;	   /* this process: they stand still when the target does */
	uint32_t sgls;		   /* Identify Controller: NVME_CTRL_SGLS_* it understands */
	uint8_t msdbd;		   /* and how many data block descriptors a command may have */
	union nvmf_tsas tsas;	   /* what the discovery log says beside the address */
	uint32_t max_inline;	   /* in-capsule data it can take on I/O queues */
	bool has_in_capsule_admin; /* admin and Fabrics capsules carry data in capsule (TCP: up to 8192 bytes) */

	/* Listens at addr / svc; accepted connections go by target_queue_init() to a loop.  0 or -errno and a sentence. */
	int (*listen)(struct target_port *port, struct loop *loop, const char *addr, const char *svc, struct target_listener **l,
		      struct error *err);
	/* The address in use ("0" ports resolved) for the ready line and discovery. */
	void (*listener_addr)(const struct target_listener *l, char *addr, size_t addr_len, char *svc, size_t svc_len, uint8_t *adrfam);
	void (*unlisten)(struct target_listener *l);

	/* The address of ours that the queue's host came in by, as text like target_queue.peer. */
	void (*queue_local)(const struct target_queue *q, char *text, size_t len);
	/* Answer req: see above.  The core no longer touches it until target_req_end(). */
	void (*respond)(struct target_req *req);
	/* Optional.  target_req_begin() said false for want of a buffer; here is one: go on as if it had said true.  Never from inside
	 * begin. */
	void (*bring)(struct target_req *req);
	/* Connect settled the queue size: room for sqsize + 1 requests from now on.  0 or -ENOMEM.  Called before Connect is answered. */
	int (*queue_resize)(struct target_queue *q, uint16_t sqsize);
	/* Close in an orderly way: what respond() was given is sent first (bounded), then target_queue_closed(). Twice is fine.
	 * May be called from inside target_req_begin() and the other doors. */
	void (*queue_close)(struct target_queue *q);
	/* No request is active any more and target_queue_closed() was called: free it. */
	void (*queue_free)(struct target_queue *q);
};

extern const struct target_transport *const target_transports[]; /* NULL-terminated; in transport/registry.c */

/* What a port's queues have in common; read-only for the transport. */
struct target_link_params {
	bool hdr_digest_ok, data_digest_ok; /* offer them when the host asks (default true) */
	uint64_t pace;			    /* bytes per second per connection; 0: no cap */
	uint32_t maxh2cdata;		    /* bytes; default 128 KiB... */
	uint8_t cpda;			    /* 0's based dwords; alignment we ask of the host */
	uint32_t inline_len;		    /* in-capsule data offered on I/O queues */
	uint32_t mdts_len;		    /* largest data of one command, bytes */
	uint32_t max_queue_size;	    /* entries */
	uint64_t handshake_tmo_ns;
	uint64_t spin_ns;
};
const struct target_link_params *target_port_params(const struct target_port *port);

/* ---- doors of the core, called by a transport ---- */

/*
 * The loop a new connection shall live on (fewest queues first, C042); any thread.  The place counts as taken from now on:
 * target_queue_init() uses it up, also when it fails; a connection that never gets that far gives it back by target_unplace().
 */
struct loop *target_place(struct nvof_target *target);
void target_unplace(struct nvof_target *target, struct loop *loop);
struct nvof_target *target_port_target(const struct target_port *port);
const struct log *target_port_log(const struct target_port *port);
/*
 * For transports whose hosts live in this process: calls open() with the target's port of that transport and a place for the connection
 * (it posts the beginning to loop; the place is used up as above).  Any thread.  0, or -ECONNREFUSED: the target has no such port.
 */
int target_open_inproc(struct nvof_target *t, const struct target_transport *ops,
		       void (*open)(struct target_port *port, struct loop *loop, void *arg), void *arg);
/* A connection exists; on the thread of loop.  Fails with -ESHUTDOWN when the target is draining, -ENOMEM ...: close it then. */
int target_queue_init(struct target_queue *q, const struct target_transport *ops, struct target_port *port, struct loop *loop);
/*
 * Faults at points the core does not see itself: calls go(q) at once, or later (delay), or never (ignore), or closes (drop).
 * Keeps at most one pending go per queue.
 */
void target_link_point(struct target_queue *q, enum target_link_point point, void (*go)(struct target_queue *q));

/*
 * Something was received, or is about to be received in place: for each batch, before the core gets any of it.  now: clock_boot_ns(), read
 * after the batch was taken.  False: this thread stood still for longer than the keep-alive time-out of q's ctrl.  What has come is none of
 * a host's that is still there, and counts no more; q is closing.  The same may have happened to any other queue of the thread.
 */
bool target_receives(struct target_queue *q, uint64_t now);

/* True: bring data, then target_req_execute().  False: the core has it (it may have called respond() already). */
bool target_req_begin(struct target_req *req);
void target_req_execute(struct target_req *req);
/* Instead of begin or of execute: answer with this status (SCT << 8 | SC | DNR) because of the SGL, a digest ... */
void target_req_reject(struct target_req *req, uint16_t status);
void target_req_end(struct target_req *req);

/*
 * True: more commands are outstanding than the queue holds (C039), and the association ends.  begin and reject ask that themselves; the
 * transport does when nr_waiting grows.
 */
bool target_queue_overrun(struct target_queue *q);

/* The host broke a rule that ends its association (more commands outstanding than the queue holds: C039): CSTS.CFS, all its queues close.
 */
void target_queue_fatal(struct target_queue *q, const char *why);

/*
 * The link is gone (why: a sentence for the log).  No respond() is sent any more.  queue_free() follows from a later turn of the loop,
 * never from inside this call or target_req_end().
 */
void target_queue_closed(struct target_queue *q, const char *why);

#endif
