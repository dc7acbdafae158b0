/* SPDX-License-Identifier: BSD-3-Clause */
/* Names to addresses without blocking the loop: a thread asks, an eventfd brings the answer. */
#ifndef NVOF_TRANSPORT_TCP_RESOLVE_H
#define NVOF_TRANSPORT_TCP_RESOLVE_H

#include <netdb.h>

#include "base/loop.h"

struct tcp_resolve;

/* list: the callee's, to freeaddrinfo(); NULL with gai_err an EAI_* code. */
typedef void tcp_resolve_cb(void *arg, int gai_err, struct addrinfo *list);

/* family: AF_UNSPEC or the one the source address dictates.  0: cb runs once, later, on the loop.  -errno: it will not. */
int tcp_resolve_start(struct loop *loop, const char *name, const char *svc, int family, tcp_resolve_cb *cb, void *arg,
		      struct tcp_resolve **rp);
/* cb will not run.  Returns at once even when the name server is silent.  Also frees one whose cb has run; NULL is fine. */
void tcp_resolve_cancel(struct tcp_resolve *r);

#endif
