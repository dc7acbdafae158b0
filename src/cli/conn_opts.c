/* SPDX-License-Identifier: BSD-3-Clause */
/* The addressing options, on the command line and as keys of a URI. */
#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/conn.h"
#include "proto/nqn.h"

#define OWN_GROUPS_MAX	   2
#define MS_DEFAULT_CONNECT 10000
#define MS_DEFAULT_IO	   30000
#define MS_DEFAULT_DELAY   2000

static char *opt_uri(void *base, const char *value)
{
	return conn_positional(base, value);
}

static char *checked_nqn(const char **to, const char *value)
{
	const char *why = nqn_check(value);

	if (why)
		return sentence("\"%.300s\": %s", value, why);
	*to = value;
	return NULL;
}

static char *opt_nqn(void *base, const char *value)
{
	return checked_nqn(&((struct conn_args *)base)->subsysnqn, value);
}

static char *opt_hostnqn(void *base, const char *value)
{
	return checked_nqn(&((struct conn_args *)base)->hostnqn, value);
}

static char *opt_hostid(void *base, const char *value)
{
	struct conn_args *args = base;
	uint8_t id[16];

	if (!uuid_parse_text(value, id))
		return sentence("\"%.100s\" is not a UUID", value);
	args->hostid = value;
	return NULL;
}

static char *opt_trsvcid(void *base, const char *value)
{
	struct conn_args *args = base;
	uint16_t port;

	if (trsvcid_parse(value, &port))
		return sentence("\"%.100s\" is not a port: a decimal number from 1 to 65535 without leading zeros", value);
	args->trsvcid = value;
	return NULL;
}

/* What can only be an address with something else in it: the name service would not know what to say about it. */
static char *opt_traddr(void *base, const char *value)
{
	struct conn_args *args = base;
	const char *colon = strrchr(value, ':'), *start = value[0] == '[' ? value + 1 : value;
	char host[INET6_ADDRSTRLEN];
	uint8_t bin[16];
	size_t len = strcspn(start, value[0] == '[' ? "]" : "%");
	uint16_t port;

	args->traddr = value;
	if (!colon)
		return NULL;
	if (value[0] == '[')
		len = min_size(len, strcspn(start, "%"));
	snprintf(host, sizeof(host), "%.*s", (int)min_size(len, sizeof(host) - 1), start);
	if (inet_pton(AF_INET6, host, bin) == 1 && (value[0] != '[' || value[strlen(value) - 1] == ']'))
		return NULL;
	if ((strchr(value, ':') == colon || (value[0] == '[' && colon[-1] == ']')) && !trsvcid_parse(colon + 1, &port))
		return sentence("\"%.100s\" has a port in it; the port goes with -s: -a %.*s -s %s", value,
				(int)min_size(colon - value, 100), value, colon + 1);
	return sentence("\"%.100s\" has a colon in it, but is not an IPv6 address; a port goes with -s", value);
}

static char *opt_transport(void *base, const char *value)
{
	struct conn_args *args = base;

	if (strcasecmp(value, "tcp") && strcasecmp(value, "loop") && strcasecmp(value, "rdma"))
		return sentence("\"%.100s\" is not a transport; known are: tcp, rdma, loop", value);
	args->transport = value;
	return NULL;
}

/* clang-format off */
static const struct opt conn_opts[] = {
	{ 't', "transport", OPT_CALL, 0, "NAME", "tcp, rdma or loop; loop is a target inside this process (default tcp)", .call = opt_transport },
	{ 'a', "traddr", OPT_CALL, 0, "ADDR", "address of the target: name, IPv4, IPv6, IPv6%scope", .call = opt_traddr },
	{ 's', "trsvcid", OPT_CALL, 0, "PORT", "port of the target (default 4420; discovery 8009)", .call = opt_trsvcid },
	{ 'n', "nqn", OPT_CALL, 0, "NQN", "NQN of the subsystem", .call = opt_nqn },
	{ 0, "namespace-id", OPT_U32, OFFSET(struct conn_args, nsid), "NSID", "the namespace (default: the only one there is)", .min = 1,
	  .max = 0xfffffffe },
	{ 0, "nsid", OPT_U32, OFFSET(struct conn_args, nsid), "NSID", "the same", .min = 1, .max = 0xfffffffe, .hidden = true },
	{ 0, "uri", OPT_CALL, 0, "URI", "all of it in one: nvme+tcp://HOST[:PORT]/NQN[/NSID] and ?KEY=VALUE&..., where keys are these long options",
	  .call = opt_uri },
	{ 'w', "host-traddr", OPT_STR, OFFSET(struct conn_args, host_traddr), "ADDR", "source address (default: the system chooses)" },
	{ 'f', "host-iface", OPT_STR, OFFSET(struct conn_args, host_iface), "IFACE", "source interface (default: the system chooses)" },
	{ 'q', "hostnqn", OPT_CALL, 0, "NQN", "NQN of this host (default: /etc/nvme/hostnqn, else made from the machine's id)", .call = opt_hostnqn },
	{ 'I', "hostid", OPT_CALL, 0, "UUID", "id of this host (default: /etc/nvme/hostid, else made from the host NQN)", .call = opt_hostid },
	{ 'i', "nr-io-queues", OPT_U32, OFFSET(struct conn_args, nr_io_queues), "N", "I/O queues to ask for (default: usable CPUs)", .min = 1,
	  .max = 65535 },
	{ 'Q', "queue-size", OPT_U32, OFFSET(struct conn_args, queue_size), "N", "entries of an I/O queue, 2 to 1024 (default 128)", .min = 2,
	  .max = 1024 },
	{ 'k', "keep-alive-tmo", OPT_INT, OFFSET(struct conn_args, keep_alive_tmo_s), "S", "keep-alive time-out in seconds, 0: off (default 5)",
	  .imin = 0, .imax = 2147483 },
	{ 'g', "hdr-digest", OPT_FLAG, OFFSET(struct conn_args, hdr_digest), NULL, "header digests" },
	{ 'G', "data-digest", OPT_FLAG, OFFSET(struct conn_args, data_digest), NULL, "data digests" },
	{ 'T', "tos", OPT_INT, OFFSET(struct conn_args, tos), "N", "IP type of service, 0 to 255 (default: the system's)", .imin = 0, .imax = 255 },
	{ 0, "disable-sqflow", OPT_NOFLAG, OFFSET(struct conn_args, sqflow), NULL, "ask for no SQ flow control (the default)" },
	{ 0, "enable-sqflow", OPT_FLAG, OFFSET(struct conn_args, sqflow), NULL, "keep SQ flow control" },
	{ 0, "setup-concurrency", OPT_U32, OFFSET(struct conn_args, setup_concurrency), "N",
	  "I/O queues set up at once; 0: all, 1: one after the other (default 0)", .max = 65535 },
	{ 0, "connect-tmo", OPT_MS, OFFSET(struct conn_args, connect_tmo_ms), "TIME", "limit of a connect: seconds or 500ms, 5s, 2m (default 10s)",
	  .min = 1 },
	{ 0, "io-tmo", OPT_MS, OFFSET(struct conn_args, io_tmo_ms), "TIME", "limit of one command, 0: none (default 30s)" },
	{ 0, "ctrl-loss-tmo", OPT_INT, OFFSET(struct conn_args, ctrl_loss_tmo_s), "S",
	  "a ctrl that is lost is connected to again for so many seconds; 0: not at all, -1: for ever (default 0)", .imin = -1, .imax = 2147483 },
	{ 0, "reconnect-delay", OPT_MS, OFFSET(struct conn_args, reconnect_delay_ms), "TIME", "between two attempts; the first is made at once (default 2s)",
	  .min = 1, .max = 86400000 },
	{ 0, "fast_io_fail_tmo", OPT_INT, OFFSET(struct conn_args, fast_io_fail_tmo_s), "S",
	  "I/O waits so many seconds for a lost ctrl, -1: as long as it is tried (default -1)", .imin = -1, .imax = 2147483 },
	{ 0 }
};
/* clang-format on */

void conn_args_init(struct conn_args *args, struct cli *cli)
{
	memset(args, 0, sizeof(*args));
	args->cli = cli;
	args->transport = "tcp";
	args->keep_alive_tmo_s = -1;
	args->tos = -1;
	args->connect_tmo_ms = MS_DEFAULT_CONNECT;
	args->io_tmo_ms = MS_DEFAULT_IO;
	args->reconnect_delay_ms = MS_DEFAULT_DELAY;
	args->fast_io_fail_tmo_s = -1;
}

void conn_args_clear(struct conn_args *args)
{
	if (args->has_uri)
		nvof_uri_clear(&args->uri);
	spec_clear(&args->embed);
}

static char *uri_key(struct conn_args *args, const char *key, const char *value)
{
	for (const struct opt *opt = conn_opts; opt->name; opt++) {
		char *why, *told;

		if (strcmp(opt->name, key) || !strcmp(key, "uri"))
			continue;
		if ((opt->kind == OPT_FLAG || opt->kind == OPT_NOFLAG) && *value)
			return sentence("%s takes no value in a URI", key);
		why = opt_set(opt, args, value);
		if (!why)
			return NULL;
		told = sentence("%s: %s", key, why);
		free(why);
		return told;
	}
	return sentence("\"%.100s\" is not a key of a URI; the keys are the long options that tell where and how to connect", key);
}

static bool uri_key_twice(const struct nvof_uri *uri, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (!strcmp(uri->keys[i], uri->keys[nr]))
			return true;
	return false;
}

static char *uri_take(struct conn_args *args, const struct nvof_uri *uri)
{
	char *why = opt_transport(args, uri->transport);

	if (!why && uri->trsvcid)
		why = opt_trsvcid(args, uri->trsvcid);
	if (!why && uri->subsysnqn)
		why = opt_nqn(args, uri->subsysnqn);
	if (uri->traddr)
		args->traddr = uri->traddr;
	if (uri->nsid)
		args->nsid = uri->nsid;
	for (uint32_t i = 0; i < uri->nr_options && !why; i++)
		why = uri_key_twice(uri, i) ? sentence("%s is given twice", uri->keys[i]) : uri_key(args, uri->keys[i], uri->values[i]);
	return why;
}

char *conn_positional(void *arg, const char *text)
{
	struct conn_args *args = arg;
	const char *static_why;
	char *why, *told;

	if (!strstr(text, "://"))
		return sentence("unexpected argument \"%.100s\"; an address is nvme+tcp://HOST[:PORT]/NQN[/NSID]", text);
	if (args->has_uri)
		return sentence("unexpected argument \"%.100s\": there is an address already", text);
	if (nvof_uri_parse(text, &args->uri, &static_why))
		return sentence("\"%.300s\": %s", text, static_why);
	args->has_uri = true;
	why = uri_take(args, &args->uri);
	if (!why)
		return NULL;
	told = sentence("\"%.300s\": %s", text, why);
	free(why);
	return told;
}

int conn_parse(const struct usage *usage, const struct opt_group *own, struct conn_args *args, int argc, char **argv)
{
	struct opt_group groups[OWN_GROUPS_MAX + 4] = { { 0 } };
	size_t n = 0;

	for (; own && own->title; own++) {
		assert(n < OWN_GROUPS_MAX);
		groups[n++] = *own;
	}
	groups[n++] = (struct opt_group){ "Where and how to connect", conn_opts, args };
	groups[n++] = (struct opt_group){ "The target inside this process, with -t loop", spec_opts, &args->embed };
	groups[n++] = opt_group_common(args->cli);
	return opts_parse(args->cli, usage, groups, argc, argv, conn_positional, args);
}
