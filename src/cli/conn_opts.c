/* SPDX-License-Identifier: BSD-3-Clause */
/* The addressing options, on the command line and as keys of a URI. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_list.h"
#include "base/util.h"
#include "cli/conn.h"
#include "proto/nqn.h"
#include "proto/traddr.h"

#define OWN_GROUPS_MAX	   2
#define MS_DEFAULT_CONNECT 10000
#define MS_DEFAULT_IO	   30000
#define MS_DEFAULT_REMOVE  2000

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
	const char *colon = strrchr(value, ':');
	uint16_t port;

	args->traddr = value;
	if (!colon || traddr_is_ip6(value))
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

static char *opt_policy(void *base, const char *value)
{
	struct conn_args *args = base;

	if (!strcasecmp(value, "least-bytes"))
		args->policy = NVOF_POLICY_LEAST_BYTES;
	else if (!strcasecmp(value, "round-robin"))
		args->policy = NVOF_POLICY_ROUND_ROBIN;
	else
		return sentence("\"%.100s\" is not a policy; known are: least-bytes, round-robin", value);
	args->has_policy = true;
	return NULL;
}

static char *opt_io_cpus(void *base, const char *value)
{
	struct conn_args *args = base;
	struct cpu_list list;
	int bad;

	if (cpu_list_parse(value, &list))
		return sentence("\"%.100s\" is not a list of CPUs, which is written as 0-3,8", value);
	bad = cpu_list_unusable(&list);
	cpu_list_clear(&list);
	if (bad >= 0)
		return sentence("this process can't run on CPU %d", bad);
	args->io_cpus = value;
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
	{ 0, "nsid", OPT_U32, OFFSET(struct conn_args, nsid), "NSID", "the same", .min = 1, .max = 0xfffffffe },
	{ 0, "uri", OPT_CALL, 0, "URI", "all of it in one: nvme+tcp://HOST[:PORT]/NQN[/NSID] and ?KEY=VALUE&..., where keys are these long options",
	  .call = opt_uri },
	{ 'w', "host-traddr", OPT_STR, OFFSET(struct conn_args, host_traddr), "ADDR", "source address (default: the system chooses)" },
	{ 'f', "host-iface", OPT_STR, OFFSET(struct conn_args, host_iface), "IFACE", "source interface, tcp only (default: the system chooses)" },
	{ 'q', "hostnqn", OPT_CALL, 0, "NQN", "NQN of this host (default: /etc/nvme/hostnqn, else made from the machine's id)", .call = opt_hostnqn },
	{ 'I', "hostid", OPT_CALL, 0, "UUID", "id of this host (default: /etc/nvme/hostid, else made from the host NQN)", .call = opt_hostid },
	{ 'i', "nr-io-queues", OPT_U32, OFFSET(struct conn_args, nr_io_queues), "N", "I/O queues to ask for (default: usable CPUs)", .min = 1,
	  .max = 65535 },
	{ 0, "queues-per-hctx", OPT_U32, OFFSET(struct conn_args, queues_per_hctx), "N", "I/O queues that serve one submitter together, 1 to 16 (default 1)",
	  .min = 1, .max = 16 },
	{ 0, "policy", OPT_CALL, 0, "NAME", "which of them a request takes: least-bytes (default) or round-robin", .call = opt_policy },
	{ 0, "io-threads", OPT_U32, OFFSET(struct conn_args, io_threads), "N",
	  "threads that serve the I/O queues, 0 to 256; 0: the caller's own (default 0)", .max = 256 },
	{ 0, "io-cpus", OPT_CALL, 0, "LIST", "CPUs for them, one each: 0-3,8 (default: those near the caller)", .call = opt_io_cpus },
	{ 0, "path", OPT_CALL, 0, "TRANSPORT:ADDR[:PORT]", "one more address of the subsystem, for I/O by several paths; up to 15 times", .call = opt_path },
	{ 'D', "duplicate-connect", OPT_U32, OFFSET(struct conn_args, nr_duplicates), "N", "ctrls to connect to each address (default 1)", .min = 1, .max = 64 },
	{ 0, "iopolicy", OPT_CALL, 0, "NAME", "which of several paths an I/O takes: numa (the first that is good, default), round-robin or queue-depth",
	  .call = opt_iopolicy },
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
	{ 0, "no-early-links", OPT_FLAG, OFFSET(struct conn_args, no_early_links), NULL,
	  "link I/O queues only when the admin queue has initialised the controller" },
	{ 0, "connect-tmo", OPT_MS, OFFSET(struct conn_args, connect_tmo_ms), "TIME", "limit of a connect: seconds or 500ms, 5s, 2m (default 10s)",
	  .min = 1 },
	{ 0, "io-tmo", OPT_MS, OFFSET(struct conn_args, io_tmo_ms), "TIME", "limit of one command, 0: none (default 30s)" },
	{ 0, "ctrl-loss-tmo", OPT_INT, OFFSET(struct conn_args, ctrl_loss_tmo_s), "S",
	  "a ctrl that is lost is connected to again for so many seconds, and what was under way is sent again, at most 5 times; 0: not at all, -1: for ever (default 0)", .imin = -1, .imax = 2147483 },
	{ 0, "reconnect-delay", OPT_MS, OFFSET(struct conn_args, reconnect_delay_ms), "TIME", "between two attempts; the first is made at once (default 2s)",
	  .min = 1, .max = 86400000 },
	{ 0, "fast-io-fail-tmo", OPT_INT, OFFSET(struct conn_args, fast_io_fail_tmo_s), "S",
	  "I/O waits so many seconds for a lost ctrl, -1: as long as it is tried (default -1)", .imin = -1, .imax = 2147483 },
	{ 0, "remove-timeout", OPT_MS, OFFSET(struct conn_args, remove_timeout_ms), "TIME",
	  "how long I/O under way is waited for when its namespace goes, also at a disconnect (default 2s)", .max = 86400000 },
	{ 0, "removal-concurrency", OPT_U32, OFFSET(struct conn_args, removal_concurrency), "N",
	  "namespaces removed at once; 0: all, 1: one after the other (default 0)" },
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
	args->remove_timeout_ms = MS_DEFAULT_REMOVE;
	args->fast_io_fail_tmo_s = CONN_NOT_GIVEN;
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

		if (!opts_same_name(opt->name, key, strlen(key)) || !strcmp(key, "uri"))
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
	if (opts_same_name("path", uri->keys[nr], strlen(uri->keys[nr])))
		return false;
	for (uint32_t i = 0; i < nr; i++)
		if (opts_same_name(uri->keys[i], uri->keys[nr], strlen(uri->keys[nr])))
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
