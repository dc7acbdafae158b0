/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/inet/inet_addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "proto/cmd.h"
#include "proto/uri.h"

void inet_addr_text(const struct sockaddr *sa, socklen_t len, char *text, size_t text_len)
{
	char host[NI_MAXHOST], svc[NI_MAXSERV];

	if (getnameinfo(sa, len, host, sizeof(host), svc, sizeof(svc), NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(text, text_len, "unknown address");
	else
		snprintf(text, text_len, sa->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, svc);
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

int inet_addr_numeric(const char *what, const char *addr, const char *svc, const char *iface, struct sockaddr_storage *ss, socklen_t *len,
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

int inet_addr_listen(const char *addr, const char *svc, struct sockaddr_storage *ss, socklen_t *len, struct error *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *ai = NULL;
	int ret = inet_addr_numeric("listen address", addr, strcmp(svc, "0") ? svc : NULL, NULL, ss, len, err);

	if (ret != -ENOENT)
		return ret;
	ret = getaddrinfo(addr, svc, &hints, &ai);
	if (ret)
		return error_set(err, -EADDRNOTAVAIL, "listen address '%s': %s", addr, gai_strerror(ret));
	memcpy(ss, ai->ai_addr, ai->ai_addrlen);
	*len = ai->ai_addrlen;
	freeaddrinfo(ai);
	return 0;
}

void inet_addr_split(const struct sockaddr_storage *ss, char *addr, size_t addr_len, char *svc, size_t svc_len, uint8_t *adrfam)
{
	*adrfam = ss->ss_family == AF_INET6 ? NVMF_ADDR_FAMILY_IP6 : NVMF_ADDR_FAMILY_IP4;
	if (!getnameinfo((const struct sockaddr *)ss, inet_addr_len(ss), addr, (socklen_t)addr_len, svc, (socklen_t)svc_len,
			 NI_NUMERICHOST | NI_NUMERICSERV))
		return;
	snprintf(addr, addr_len, "unknown");
	snprintf(svc, svc_len, "0");
	*adrfam = 0;
}
