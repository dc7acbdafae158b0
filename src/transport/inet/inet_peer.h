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
	struct inet_peer_addr *addrs; /* candidates in order; addrs[chosen] is tried, or was linked to */
	uint32_t nr_addrs, chosen;
	struct inet_resolve *resolve;
	struct cds_list_head waiting; /* inet_waiter.link */
};

/* Embedded in a queue. */
struct inet_waiter {
	struct cds_list_head link;
	bool waiting;
	struct host_queue *q;
	void (*known)(struct inet_waiter *w); /* there are addresses now */
};

/* Checks both addresses as far as that goes without asking anyone.  0, or -EINVAL and a sentence. */
int inet_peer_check(const struct host_link_params *p, const char *transport, struct error *err);
/* p outlives it.  0 or -errno and a sentence; to be followed by inet_peer_exit() in any case. */
int inet_peer_init(struct inet_peer *peer, const struct host_link_params *p, const char *transport, struct loop *loop, struct error *err);
void inet_peer_exit(struct inet_peer *peer); /* one that is all zeroes is fine */

/* Runs w->known(), at once or later; or w->q fails. */
void inet_peer_want(struct inet_peer *peer, struct inet_waiter *w);
void inet_waiter_cancel(struct inet_waiter *w); /* fine when it does not wait */

#endif
