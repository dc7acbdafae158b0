/* SPDX-License-Identifier: BSD-3-Clause */
/* Names to addresses without blocking the loop: a thread asks, an eventfd brings the answer. */
#ifndef NVOF_TRANSPORT_INET_RESOLVE_H
#define NVOF_TRANSPORT_INET_RESOLVE_H

#include <netdb.h>

#include "base/loop.h"

struct inet_resolve;

/* list: the callee's, to freeaddrinfo(); NULL with a negative errno (-ENOENT: there is no such name, or nobody who knows) and why. */
typedef void inet_resolve_cb(void *arg, int err, const char *why, struct addrinfo *list);

/* family: AF_UNSPEC or the one the source address dictates.  0: cb runs once, later, on the loop.  -errno: it will not. */
int inet_resolve_start(struct loop *loop, const char *name, const char *svc, int family, inet_resolve_cb *cb, void *arg,
		       struct inet_resolve **rp);
/* cb will not run.  Returns at once even when the name server is silent.  Also frees one whose cb has run; NULL is fine. */
void inet_resolve_cancel(struct inet_resolve *r);

#endif
