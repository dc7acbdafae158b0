/* SPDX-License-Identifier: BSD-3-Clause */
/* What both halves of the TCP transport do with sockets. */
#ifndef NVOF_TRANSPORT_TCP_SOCK_H
#define NVOF_TRANSPORT_TCP_SOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Non-blocking, close-on-exec, no Nagle.  Buffer sizes and congestion control are left to the system: autotuning wins.  0 or -errno. */
int tcp_sock_setup(int fd);

/* The two ends of a connected socket as text. */
void tcp_sock_local(int fd, char *local, size_t len);
void tcp_sock_names(int fd, char *local, size_t local_len, char *peer, size_t peer_len);

/* Takes n bytes off the front of iov[*first..count): for partial sends. */
void tcp_iov_advance(struct iovec *iov, uint32_t *first, uint32_t count, size_t n);

#endif
