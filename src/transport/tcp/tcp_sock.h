/* SPDX-License-Identifier: BSD-3-Clause */
/* What both halves of the TCP transport do with sockets and addresses. */
#ifndef NVOF_TRANSPORT_TCP_SOCK_H
#define NVOF_TRANSPORT_TCP_SOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/error.h"

/* Non-blocking, close-on-exec, no Nagle.  Buffer sizes and congestion control are left to the system: autotuning wins.  0 or -errno. */
int tcp_sock_setup(int fd);

/* "192.0.2.7:4420", "[fe80::1%eth0]:4420". */
void tcp_addr_text(const struct sockaddr *sa, socklen_t len, char *text, size_t text_len);
/* The two ends of a connected socket as text. */
void tcp_sock_local(int fd, char *local, size_t len);
void tcp_sock_names(int fd, char *local, size_t local_len, char *peer, size_t peer_len);

/*
 * A numeric address: IPv4, IPv6 (brackets are fine), link-local with %scope or with iface for its scope.  0; -ENOENT: not numeric (a name);
 * -EINVAL and a sentence: numeric but unusable (no scope, no such interface, a port that isn't one).
 */
int tcp_addr_numeric(const char *what, const char *addr, const char *svc, const char *iface, struct sockaddr_storage *ss, socklen_t *len,
		     struct error *err);

/* Takes n bytes off the front of iov[*first..count): for partial sends. */
void tcp_iov_advance(struct iovec *iov, uint32_t *first, uint32_t count, size_t n);

#endif
