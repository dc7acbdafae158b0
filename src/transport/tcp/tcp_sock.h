/* SPDX-License-Identifier: BSD-3-Clause */
/* What both halves of the TCP transport do with sockets. */
#ifndef NVOF_TRANSPORT_TCP_SOCK_H
#define NVOF_TRANSPORT_TCP_SOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Our end of a socket as text. */
void tcp_sock_local(int fd, char *local, size_t len);

/* Takes n bytes off the front of iov[*first..count): for partial sends. */
void tcp_iov_advance(struct iovec *iov, uint32_t *first, uint32_t count, size_t n);

#endif
