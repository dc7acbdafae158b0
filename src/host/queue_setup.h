/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The set-up of one queue: alloc, link (the transport's states), Fabrics Connect, LIVE.  It is one operation of its batch's async_domain.
 *
 * An early link is made before the ctrl is initialised and waits in LINKED for the batch's release.  One that fails is no failure yet: it
 * is made again then, and so is one that the peer closed before it answered Connect.
 */
#ifndef NVOF_HOST_QUEUE_SETUP_H
#define NVOF_HOST_QUEUE_SETUP_H

#include "base/async_domain.h"
#include "transport/host_ops.h"

struct queue_batch;

struct queue_setup {
	struct async_op op;
	struct queue_batch *batch;
	struct host_queue *queue; /* ours until taken; NULL before it starts and after it failed */
	uint16_t qid;
	bool ended;	  /* async_op_end() was called */
	bool early;	  /* its link was made before the ctrl was initialised */
	bool later;	  /* running, but waits for the release */
	struct error err; /* a failure before there was a queue */
	struct loop_defer fail_work;
};

void queue_setup_init(struct queue_setup *s, struct queue_batch *b, uint16_t qid);
/* Stops and frees what there is, in any state; tells nobody. */
void queue_setup_reset(struct queue_setup *s);
/* The failure of a queue that is being set up, at the end of the turn. */
void queue_setup_failed(struct queue_setup *s);
/* It took too long: fails with a sentence about what it waited for. */
void queue_setup_timeout(struct queue_setup *s, uint32_t tmo_ms);

/* An early link that waits. */
bool queue_setup_linked(const struct queue_setup *s);
/* from's early link goes on in the place of this one's, whatever that is. */
void queue_setup_replace(struct queue_setup *s, struct queue_setup *from);
/* The ctrl is initialised: go on, or begin. */
void queue_setup_release(struct queue_setup *s);
/* Fewer were granted: closes the link, and ends without error. */
void queue_setup_surplus(struct queue_setup *s);

#endif
