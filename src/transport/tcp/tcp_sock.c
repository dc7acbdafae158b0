/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/tcp/tcp_sock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#include "proto/uri.h"

int tcp_sock_setup(int fd)
{
	int one = 1, flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) || fcntl(fd, F_SETFD, FD_CLOEXEC))
		return -errno;
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		return -errno;
	return 0;
}

void tcp_addr_text(const struct sockaddr *sa, socklen_t len, char *text, size_t text_len)
{
	char host[NI_MAXHOST], svc[NI_MAXSERV];

	if (getnameinfo(sa, len, host, sizeof(host), svc, sizeof(svc), NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(text, text_len, "unknown address");
	else
		snprintf(text, text_len, sa->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, svc);
}

void tcp_sock_local(int fd, char *local, size_t len)
{
	struct sockaddr_storage ss;
	socklen_t ss_len = sizeof(ss);

	snprintf(local, len, "unknown address");
	if (!getsockname(fd, (struct sockaddr *)&ss, &ss_len))
		tcp_addr_text((struct sockaddr *)&ss, ss_len, local, len);
}

void tcp_sock_names(int fd, char *local, size_t local_len, char *peer, size_t peer_len)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	tcp_sock_local(fd, local, local_len);
	snprintf(peer, peer_len, "unknown address");
	if (!getpeername(fd, (struct sockaddr *)&ss, &len))
		tcp_addr_text((struct sockaddr *)&ss, len, peer, peer_len);
}

/* The scope of an IPv6 link-local address: from %scope, else from iface. */
static int addr_scope(const char *what, const char *addr, const char *scope, const char *iface, struct sockaddr_in6 *sin6,
		      struct error *err)
{
	if (scope) {
		sin6->sin6_scope_id = if_nametoindex(scope);
		if (!sin6->sin6_scope_id)
			return error_set(err, -EINVAL, "%s %s: no interface named '%s' on this machine", what, addr, scope);
		return 0;
	}
	if (!IN6_IS_ADDR_LINKLOCAL(&sin6->sin6_addr))
		return 0;
	if (!iface)
		return error_set(err, -EINVAL,
				 "%s %s: scope required: a link-local address needs %%INTERFACE behind it, or a host interface", what,
				 addr);
	sin6->sin6_scope_id = if_nametoindex(iface);
	if (!sin6->sin6_scope_id)
		return error_set(err, -EINVAL, "%s %s: no interface named '%s' on this machine", what, addr, iface);
	return 0;
}

int tcp_addr_numeric(const char *what, const char *addr, const char *svc, const char *iface, struct sockaddr_storage *ss, socklen_t *len,
		     struct error *err)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *sin = (struct sockaddr_in *)ss;
	char buf[INET6_ADDRSTRLEN + IF_NAMESIZE + 4];
	uint16_t port = 0;
	size_t n = strlen(addr);
	char *scope;

	if (svc && trsvcid_parse(svc, &port))
		return error_set(err, -EINVAL, "trsvcid '%s': a port is a decimal number from 1 to 65535", svc);
	if (n >= 2 && addr[0] == '[' && addr[n - 1] == ']') {
		addr++;
		n -= 2;
	}
	if (!n)
		return error_set(err, -EINVAL, "%s: the address is empty", what);
	if (n >= sizeof(buf))
		return -ENOENT;
	memcpy(buf, addr, n);
	buf[n] = '\0';

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, buf, &sin->sin_addr) == 1) {
		sin->sin_family = AF_INET;
		sin->sin_port = htons(port);
		*len = sizeof(*sin);
		return 0;
	}
	scope = strchr(buf, '%');
	if (scope)
		*scope++ = '\0';
	if (inet_pton(AF_INET6, buf, &sin6->sin6_addr) != 1)
		return -ENOENT;
	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = htons(port);
	*len = sizeof(*sin6);
	return addr_scope(what, buf, scope, iface, sin6, err);
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
