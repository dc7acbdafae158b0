/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/tcp/tcp_sock.h"

#include <stdio.h>

#include "transport/inet/inet_addr.h"

void tcp_sock_local(int fd, char *local, size_t len)
{
	struct sockaddr_storage ss;
	socklen_t ss_len = sizeof(ss);

	snprintf(local, len, "unknown address");
	if (!getsockname(fd, (struct sockaddr *)&ss, &ss_len))
		inet_addr_text((struct sockaddr *)&ss, ss_len, local, len);
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
