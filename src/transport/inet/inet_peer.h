/* SPDX-License-Identifier: BSD-3-Clause */
/* The addresses of one endpoint, ours and the peer's, for all its queues: a name is resolved once, however many wait for it. */
#ifndef NVOF_TRANSPORT_INET_PEER_H
#define NVOF_TRANSPORT_INET_PEER_H

#include <stdbool.h>
#include <sys/socket.h>
#include <urcu/list.h>

#include "transport/host_ops.h"

struct inet_resolve;

struct inet_peer_addr {
	struct sockaddr_storage ss;
	char text[128]; /* as in host_queue.peer */
};

struct inet_peer {
	const struct host_link_params *p;
	struct loop *loop;
	struct sockaddr_storage local;
	socklen_t local_len;	      /* 0: not bound to an address */
	bool is_name;		      /* asked for again by each association */
	struct inet_peer_addr *addrs; /* in the order of the resolver */
	uint32_t nr_addrs, chosen;    /* chosen: linked to last, or to begin with */
	struct inet_resolve *resolve;
	struct cds_list_head waiting; /* inet_waiter.link */
};

/* Embedded in a queue: its way through the addresses, from the chosen one on, each once. */
struct inet_waiter {
	struct cds_list_head link;
	bool waiting, trying;
	struct inet_peer *peer;
	struct host_queue *q;
	uint32_t first, nr_tried;
	struct timer share;		      /* of connect_tmo, for what is not the last hope */
	void (*known)(struct inet_waiter *w); /* there are addresses now: inet_waiter_addr() is to be tried */
	void (*late)(struct inet_waiter *w);  /* this one does not answer.  NULL: the transport has time limits of its own */
};

/* Checks both addresses as far as that goes without asking anyone.  0, or -EINVAL and a sentence. */
int inet_peer_check(const struct host_link_params *p, const char *transport, struct error *err);
/* p outlives it.  0 or -errno and a sentence; to be followed by inet_peer_exit() in any case. */
int inet_peer_init(struct inet_peer *peer, const struct host_link_params *p, const char *transport, struct loop *loop, struct error *err);
void inet_peer_exit(struct inet_peer *peer); /* one that is all zeroes is fine */

/*
 * Runs w->known(), at once or later (the queue is in RESOLVE then); or w->q fails.  An admin queue has a name resolved anew: when that
 * fails, or takes more than a quarter of connect_tmo, the addresses of before serve.
 */
void inet_peer_want(struct inet_peer *peer, struct inet_waiter *w);
const struct inet_peer_addr *inet_waiter_addr(const struct inet_waiter *w);
/* That address came to nothing.  False: it was the last. */
bool inet_waiter_next(struct inet_waiter *w);
/* It is linked: the others begin with this address. */
void inet_waiter_linked(struct inet_waiter *w);
/* The queue is stopped, whatever it was at.  The next association does not begin with an address where an admin queue hung. */
void inet_waiter_cancel(struct inet_waiter *w);

#endif
