/* SPDX-License-Identifier: BSD-3-Clause */
/* IP addresses as text, for the transports that have them. */
#ifndef NVOF_TRANSPORT_INET_ADDR_H
#define NVOF_TRANSPORT_INET_ADDR_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/error.h"

static inline socklen_t inet_addr_len(const struct sockaddr_storage *ss)
{
	return ss->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

/* "192.0.2.7:4420", "[fe80::1%eth0]:4420". */
void inet_addr_text(const struct sockaddr *sa, socklen_t len, char *text, size_t text_len);

/*
 * A numeric address: IPv4, IPv6 (brackets are fine), link-local with %scope or with iface for its scope.  0; -ENOENT: not numeric (a name);
 * -EINVAL and a sentence: numeric but unusable (no scope, no such interface, a port that isn't one).
 */
int inet_addr_numeric(const char *what, const char *addr, const char *svc, const char *iface, struct sockaddr_storage *ss, socklen_t *len,
		      struct error *err);

/* Where to listen: numeric or a name, svc "0" for any free port.  Blocks while it asks for a name.  0, or -errno and a sentence. */
int inet_addr_listen(const char *addr, const char *svc, struct sockaddr_storage *ss, socklen_t *len, struct error *err);
/* The other way: address and port each; "unknown" and "0" when it is neither IPv4 nor IPv6. */
void inet_addr_split(const struct sockaddr_storage *ss, char *addr, size_t addr_len, char *svc, size_t svc_len, uint8_t *adrfam);

#endif
