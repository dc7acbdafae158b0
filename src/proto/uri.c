/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/uri.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/util.h"
#include "proto/nqn.h"

static const char no_memory[] = "no memory";

int trsvcid_parse(const char *text, uint16_t *port)
{
	uint32_t value = 0;
	const char *p;

	if (*text < '1' || *text > '9')
		return -EINVAL;
	for (p = text; *p; p++) {
		if (*p < '0' || *p > '9')
			return -EINVAL;
		value = value * 10 + (uint32_t)(*p - '0');
		if (value > UINT16_MAX)
			return -EINVAL;
	}
	*port = (uint16_t)value;
	return 0;
}

static int nsid_parse(const char *text, size_t len, uint32_t *nsid)
{
	uint64_t value = 0;
	size_t i;

	if (!len || *text == '0')
		return -EINVAL;
	for (i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		value = value * 10 + (uint64_t)(text[i] - '0');
		if (value > 0xfffffffe)
			return -EINVAL;
	}
	*nsid = (uint32_t)value;
	return 0;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A new text; NULL and *why otherwise. */
static char *percent_decode(const char *text, size_t len, const char **why)
{
	char *out = malloc(len + 1), *to = out;
	size_t i;

	if (!out) {
		*why = no_memory;
		return NULL;
	}
	for (i = 0; i < len; i++) {
		int hi, lo;

		if (text[i] != '%') {
			*to++ = text[i];
			continue;
		}
		hi = len - i > 2 ? hex_value(text[i + 1]) : -1;
		lo = hi < 0 ? -1 : hex_value(text[i + 2]);
		if (lo < 0 || (!hi && !lo)) {
			*why = "a % is not followed by two hexadecimal digits (or stands for NUL)";
			free(out);
			return NULL;
		}
		*to++ = (char)(hi << 4 | lo);
		i += 2;
	}
	*to = '\0';
	return out;
}

static bool is_host_name(const char *s, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr(".-_", s[i]))
			return false;
	return len && isalnum((unsigned char)s[0]);
}

/* "fe80::1", "fe80::1%25eth0" or (as people write it) "fe80::1%eth0"; NULL and *why otherwise. */
static char *ip6_text(const char *s, size_t len, const char **why)
{
	const char *scope = memchr(s, '%', len);
	size_t addr_len = scope ? (size_t)(scope - s) : len, scope_len;
	struct in6_addr in6;
	char *text = calloc(1, len + 1);

	if (!text) {
		*why = no_memory;
		return NULL;
	}
	memcpy(text, s, addr_len);
	if (inet_pton(AF_INET6, text, &in6) != 1) {
		*why = "the text in brackets is not an IPv6 address";
		goto bad;
	}
	if (!scope)
		return text;
	scope_len = len - addr_len - 1;
	scope++;
	if (scope_len >= 2 && !strncmp(scope, "25", 2)) {
		scope += 2;
		scope_len -= 2;
	}
	if (!is_host_name(scope, scope_len)) {
		*why = "the scope of the IPv6 address is not an interface name";
		goto bad;
	}
	text[addr_len] = '%';
	memcpy(text + addr_len + 1, scope, scope_len);
	text[addr_len + 1 + scope_len] = '\0';
	return text;
bad:
	free(text);
	return NULL;
}

static int set_port(struct nvof_uri *uri, const char *s, size_t len, const char **why)
{
	uint16_t port;

	uri->trsvcid = strndup(s, len);
	if (!uri->trsvcid) {
		*why = no_memory;
		return -ENOMEM;
	}
	if (trsvcid_parse(uri->trsvcid, &port)) {
		*why = "the port is not a decimal number from 1 to 65535";
		return -EINVAL;
	}
	return 0;
}

static int fail(const char **why, const char *text)
{
	*why = text;
	return -EINVAL;
}

static int status_of(const char *why)
{
	return why == no_memory ? -ENOMEM : -EINVAL;
}

static int parse_ip6_authority(struct nvof_uri *uri, const char *s, size_t len, const char **why)
{
	const char *end = memchr(s, ']', len);
	size_t used;

	if (!end)
		return fail(why, "the bracket of the IPv6 address is not closed");
	uri->traddr = ip6_text(s + 1, (size_t)(end - s - 1), why);
	if (!uri->traddr)
		return status_of(*why);
	used = (size_t)(end + 1 - s);
	if (used == len)
		return 0;
	if (s[used] != ':')
		return fail(why, "something other than :PORT follows the address");
	return set_port(uri, s + used + 1, len - used - 1, why);
}

static int parse_authority(struct nvof_uri *uri, const char *s, size_t len, const char **why)
{
	const char *colon;
	size_t host_len;

	if (!strcmp(uri->transport, "loop"))
		return len ? fail(why, "a loop address has no host: nvme+loop:///SUBNQN") : 0;
	if (!len)
		return fail(why, "the host is missing");
	if (memchr(s, '@', len))
		return fail(why, "a user name has no meaning here");
	if (*s == '[')
		return parse_ip6_authority(uri, s, len, why);
	colon = memchr(s, ':', len);
	host_len = colon ? (size_t)(colon - s) : len;
	if (colon && memchr(colon + 1, ':', len - host_len - 1))
		return fail(why, "an IPv6 address needs brackets: [ADDRESS]:PORT");
	if (!is_host_name(s, host_len))
		return fail(why, "the host is not a name or an address");
	uri->traddr = strndup(s, host_len);
	if (!uri->traddr) {
		*why = no_memory;
		return -ENOMEM;
	}
	return colon ? set_port(uri, colon + 1, len - host_len - 1, why) : 0;
}

/* s begins after the first slash. */
static int parse_path(struct nvof_uri *uri, const char *s, size_t len, const char **why)
{
	const char *slash = memchr(s, '/', len);
	size_t nqn_len = slash ? (size_t)(slash - s) : len;

	if (!nqn_len)
		return slash ? fail(why, "the subsystem NQN is missing before the NSID") : 0;
	uri->subsysnqn = percent_decode(s, nqn_len, why);
	if (!uri->subsysnqn)
		return status_of(*why);
	*why = nqn_check_text(uri->subsysnqn);
	if (*why)
		return -EINVAL;
	if (slash && nsid_parse(slash + 1, len - nqn_len - 1, &uri->nsid))
		return fail(why, "the NSID is not a decimal number from 1 to 4294967294");
	return 0;
}

static int add_option(struct nvof_uri *uri, const char *s, size_t len, const char **why)
{
	const char *eq = memchr(s, '=', len);
	size_t key_len = eq ? (size_t)(eq - s) : len;
	uint32_t n = uri->nr_options;

	if (!key_len)
		return fail(why, "an option has no name");
	uri->keys[n] = percent_decode(s, key_len, why);
	uri->values[n] = percent_decode(eq ? eq + 1 : s + len, eq ? len - key_len - 1 : 0, why);
	uri->nr_options++;
	return uri->keys[n] && uri->values[n] ? 0 : status_of(*why);
}

static int parse_query(struct nvof_uri *uri, const char *s, const char **why)
{
	size_t max = 1, len;
	const char *p;
	int ret;

	for (p = s; *p; p++)
		max += *p == '&';
	uri->keys = calloc(max, sizeof(*uri->keys));
	uri->values = calloc(max, sizeof(*uri->values));
	if (!uri->keys || !uri->values) {
		*why = no_memory;
		return -ENOMEM;
	}
	for (; *s; s += len + (s[len] == '&')) {
		len = strcspn(s, "&");
		ret = add_option(uri, s, len, why);
		if (ret)
			return ret;
	}
	return 0;
}

static const char *parse_scheme(struct nvof_uri *uri, const char *text)
{
	static const char *const transports[] = { "tcp", "rdma", "loop" };
	size_t i, n;

	if (strncasecmp(text, "nvme+", 5))
		return NULL;
	text += 5;
	for (i = 0; i < ARRAY_SIZE(transports); i++) {
		n = strlen(transports[i]);
		if (!strncasecmp(text, transports[i], n) && !strncmp(text + n, "://", 3)) {
			memcpy(uri->transport, transports[i], n + 1);
			return text + n + 3;
		}
	}
	return NULL;
}

static int parse(const char *text, struct nvof_uri *uri, const char **why)
{
	const char *s, *query;
	size_t len, auth_len;
	int ret;

	for (s = text; *s; s++)
		if ((unsigned char)*s <= ' ' || *s == 0x7f)
			return fail(why, "a blank or a control character is not allowed (write %20)");
	s = parse_scheme(uri, text);
	if (!s)
		return fail(why, "the address does not begin with nvme+tcp://, nvme+rdma:// or nvme+loop://");
	if (strchr(s, '#'))
		return fail(why, "# has no meaning here (write %23)");
	len = strcspn(s, "?");
	query = s[len] ? s + len + 1 : NULL;
	auth_len = min_size(strcspn(s, "/"), len);
	ret = parse_authority(uri, s, auth_len, why);
	if (!ret && auth_len < len)
		ret = parse_path(uri, s + auth_len + 1, len - auth_len - 1, why);
	if (!ret && query)
		ret = parse_query(uri, query, why);
	return ret;
}

int nvof_uri_parse(const char *text, struct nvof_uri *uri, const char **why)
{
	int ret;

	*uri = (struct nvof_uri){ 0 };
	*why = NULL;
	ret = parse(text, uri, why);
	if (ret)
		nvof_uri_clear(uri);
	return ret;
}

void nvof_uri_clear(struct nvof_uri *uri)
{
	uint32_t i;

	for (i = 0; i < uri->nr_options; i++) {
		free(uri->keys[i]);
		free(uri->values[i]);
	}
	free(uri->keys);
	free(uri->values);
	free(uri->traddr);
	free(uri->trsvcid);
	free(uri->subsysnqn);
	*uri = (struct nvof_uri){ 0 };
}
