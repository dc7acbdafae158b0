/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop transport, inside: a host queue and a target queue of one process, joined by a link.  (lo_, because loop_ is the event loop's.)
 *
 * The two ends live on two threads.  Each way there is a ring of messages and one loop_work that wakes the other end when it is not awake
 * already.  Nothing is serialised: a message is the number of a slot and what happened to it.
 *
 *   host:   SUBMIT  slot->sqe is a new command                target: NEED  bring the host's data into slot->req.iov
 *   host:   DATA    the data is in place                      target: ANSWER  slot->cqe (and for a read, data in slot->req.iov)
 *   host:   ACK     the data of a read was taken
 *
 * Who touches whose memory: ALL data is copied by the host's thread, out of and into the host's iovecs, so once queue_stop() has returned
 * nobody touches them.  The target's memory (req.iov) stays until the host says DATA or ACK, or until the target has set target_gone under
 * copy_lock, which the host holds while it copies.  A link is freed by the last of its two ends.
 */
#ifndef NVOF_TRANSPORT_LOOP_LINK_H
#define NVOF_TRANSPORT_LOOP_LINK_H

#include <pthread.h>
#include <stdatomic.h>

#include "transport/host_ops.h"
#include "transport/target_ops.h"

enum lo_op { LO_SUBMIT, LO_DATA, LO_ACK, LO_NEED, LO_ANSWER };

/* One producer, one consumer, and never full: a slot has at most two messages on their way in one direction (ACK, then SUBMIT). */
struct lo_ring {
	_Alignas(64) _Atomic(uint32_t) head; /* the producer's */
	_Alignas(64) _Atomic(uint32_t) tail; /* the consumer's */
	uint32_t *msgs;
	uint32_t mask;
};

/* One end of a link as the other sees it. */
struct lo_end {
	atomic_bool posted;   /* work is posted, and its cb has not begun to look at the ring */
	pthread_mutex_t lock; /* for loop; taken once per wake-up, not per message */
	struct loop *loop;    /* NULL: this end is gone, or on its way to another loop */
	bool missed;	      /* then: somebody has woken it */
	struct loop_work work;
	struct lo_ring in;
};

enum lo_slot_state {
	LO_SLOT_FREE,
	LO_SLOT_NEED, /* the host copies its data in */
	LO_SLOT_CORE, /* the target core has it */
	LO_SLOT_ACK,  /* the host copies its data out */
};

/* A command on its way; its number is the host's cid. */
struct lo_slot {
	/* the host's; the target reads sqe after SUBMIT */
	struct nvme_sqe sqe;
	struct host_req *host_req;
	/* the target's; the host reads iov and data_len after NEED and ANSWER, cqe and has_data after ANSWER */
	struct nvme_cqe cqe;
	bool has_data;
	enum lo_slot_state state;
	struct target_req req;
};

struct lo_link {
	struct target_queue q; /* the target's */
	struct lo_end host, target;
	struct lo_host_queue *host_queue; /* the host's */
	atomic_int refs;

	/* host -> target */
	atomic_bool host_gone;
	/* target -> host */
	atomic_bool linked, refused, target_gone;
	pthread_mutex_t copy_lock; /* target_gone does not become true while it is held */

	/* the target's */
	struct nvof_target *owner;
	struct target_port *port;
	bool started, up, ending, ended;
	bool in_work;	  /* the host is woken at the end of the batch */
	uint32_t nr_used; /* slots beyond were never in use */
	uint32_t nr_acks; /* slots in LO_SLOT_ACK */
	struct loop_defer finish, wake_host;
	struct timer linger;
	const char *why;

	uint32_t nr_slots;
	struct lo_slot *slots;
};

extern const struct target_transport loop_target_transport;

struct lo_link *lo_link_new(uint32_t nr_slots); /* NULL: no memory.  Two references. */
void lo_link_put(struct lo_link *l);

/* Becomes reachable for the other end; cb runs at once if it was wanted since it was detached. */
void lo_end_attach(struct lo_end *e, struct loop *loop, void (*cb)(struct loop_work *w));
/* On its own thread: from now on cb does not run. */
void lo_end_detach(struct lo_end *e);
/* Any thread: cb will run, once for many wakes. */
void lo_end_wake(struct lo_end *e);
/* First in cb: what is sent from now on wakes again. */
static inline void lo_end_awake(struct lo_end *e)
{
	atomic_exchange(&e->posted, false);
}

void lo_send(struct lo_end *to, enum lo_op op, uint32_t slot);

static inline uint32_t lo_pending(struct lo_end *e)
{
	return atomic_load_explicit(&e->in.head, memory_order_acquire) - atomic_load_explicit(&e->in.tail, memory_order_relaxed);
}

/* The i-th pending message. */
static inline enum lo_op lo_peek(struct lo_end *e, uint32_t i, uint32_t *slot)
{
	uint32_t msg = e->in.msgs[(atomic_load_explicit(&e->in.tail, memory_order_relaxed) + i) & e->in.mask];

	*slot = msg & 0xffff;
	return (enum lo_op)(msg >> 16);
}

static inline void lo_consume(struct lo_end *e)
{
	uint32_t tail = atomic_load_explicit(&e->in.tail, memory_order_relaxed);

	atomic_store_explicit(&e->in.tail, tail + 1, memory_order_release);
}

/* The target half: begins the link with the target's thread, by way of its "loop" listener.  0 or -errno. */
int lo_target_open(struct nvof_target *target, struct lo_link *l);

#endif
