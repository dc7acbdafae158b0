/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/tcp/tcp_sock.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#include "transport/inet/inet_addr.h"

int tcp_sock_setup(int fd)
{
	int one = 1, flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) || fcntl(fd, F_SETFD, FD_CLOEXEC))
		return -errno;
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		return -errno;
	return 0;
}

void tcp_sock_local(int fd, char *local, size_t len)
{
	struct sockaddr_storage ss;
	socklen_t ss_len = sizeof(ss);

	snprintf(local, len, "unknown address");
	if (!getsockname(fd, (struct sockaddr *)&ss, &ss_len))
		inet_addr_text((struct sockaddr *)&ss, ss_len, local, len);
}

void tcp_sock_names(int fd, char *local, size_t local_len, char *peer, size_t peer_len)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	tcp_sock_local(fd, local, local_len);
	snprintf(peer, peer_len, "unknown address");
	if (!getpeername(fd, (struct sockaddr *)&ss, &len))
		inet_addr_text((struct sockaddr *)&ss, len, peer, peer_len);
}

void tcp_iov_advance(struct iovec *iov, uint32_t *first, uint32_t count, size_t n)
{
	while (*first < count && n >= iov[*first].iov_len)
		n -= iov[(*first)++].iov_len;
	if (*first < count && n) {
		iov[*first].iov_base = (char *)iov[*first].iov_base + n;
		iov[*first].iov_len -= n;
	}
}
