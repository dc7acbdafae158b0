/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/traddr.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

struct ip {
	uint8_t bytes[16]; /* IPv4: mapped */
	const char *scope; /* in the text; its end is that of the text but for the bracket */
	size_t scope_len;
};

static bool ip_parse(const char *text, struct ip *ip)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	char host[INET6_ADDRSTRLEN];
	size_t len = strlen(text), host_len;

	if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	ip->scope = memchr(text, '%', len);
	host_len = ip->scope ? (size_t)(ip->scope - text) : len;
	ip->scope_len = len - host_len;
	if (host_len >= sizeof(host))
		return false;
	memcpy(host, text, host_len);
	host[host_len] = '\0';
	if (inet_pton(AF_INET6, host, ip->bytes) == 1)
		return true;
	memcpy(ip->bytes, mapped, sizeof(mapped));
	return !ip->scope && inet_pton(AF_INET, host, ip->bytes + sizeof(mapped)) == 1;
}

bool traddr_equal(const char *a, const char *b)
{
	struct ip x, y;

	if (!ip_parse(a, &x) || !ip_parse(b, &y))
		return !strcasecmp(a, b);
	return !memcmp(x.bytes, y.bytes, sizeof(x.bytes)) && x.scope_len == y.scope_len &&
	       (!x.scope_len || !memcmp(x.scope, y.scope, x.scope_len));
}

bool traddr_is_ip6(const char *text)
{
	struct ip ip;

	return strchr(text, ':') && ip_parse(text, &ip);
}
