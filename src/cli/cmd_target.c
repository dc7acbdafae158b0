/* SPDX-License-Identifier: BSD-3-Clause */
/* target: serve namespaces until told to stop. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/conn.h"
#include "cli/control.h"
#include "cli/target_spec.h"
#include "proto/ana.h"

#define DRAIN_MS 1500
#define ADDR_LEN 128

static const struct usage usage = {
	"--listen ADDR... [--subsys NQN] --ns SPEC... [OPTION]... | --config FILE [OPTION]...",
	"Serves namespaces to NVMe over Fabrics hosts, as an ordinary user, until SIGTERM or SIGINT: then it lets what is in flight end "
	"and exits 0.\n"
	"It prints one line \"ready ADDR...\" when it accepts connections.",
	"$ nvof target --listen tcp:127.0.0.1:4420 --subsys nqn.2026-11.org.example:nvof --ns mem:64M",
};

struct listen {
	const char *addr;
	struct nvof_ana_group *ana;
	size_t nr_ana;
};

struct args {
	struct cli *cli;
	struct listen *listens;
	size_t nr_listens;
	const char **referrals;
	size_t nr_referrals;
	struct target_spec spec;
	const char *config, *control;
	bool no_control, poll;
	uint32_t io_threads, max_io_queues, max_queue_size;
	uint64_t mdts, inline_len, pace, handshake_tmo_ms;
	int spin_us; /* -1: not given */
};

static char *opt_listen(void *base, const char *value)
{
	struct args *args = base;

	args->listens = array_more(args->listens, &args->nr_listens, sizeof(*args->listens));
	args->listens[args->nr_listens - 1].addr = value;
	return NULL;
}

static char *opt_ana(void *base, const char *value)
{
	struct args *args = base;
	struct nvof_ana_group group;
	struct listen *l;
	char *why;

	if (!args->nr_listens)
		return sentence("it belongs to the --listen before it, and there is none");
	l = &args->listens[args->nr_listens - 1];
	why = spec_ana_parse(value, &group);
	if (why)
		return why;
	for (size_t i = 0; i < l->nr_ana; i++)
		if (l->ana[i].grpid == group.grpid)
			return sentence("group %u of %s is given twice", group.grpid, l->addr);
	l->ana = array_more(l->ana, &l->nr_ana, sizeof(*l->ana));
	l->ana[l->nr_ana - 1] = group;
	return NULL;
}

static char *opt_referral(void *base, const char *value)
{
	struct args *args = base;

	if (!strchr(value, ':') || strchr(value, ':') == strrchr(value, ':'))
		return sentence("\"%s\" is not TRANSPORT:ADDR:PORT", value);
	args->referrals = array_more(args->referrals, &args->nr_referrals, sizeof(*args->referrals));
	args->referrals[args->nr_referrals - 1] = value;
	return NULL;
}

/* clang-format off */
static const struct opt opts[] = {
	{ 0, "listen", OPT_CALL, 0, "ADDR", "tcp:ADDR:PORT or rdma:ADDR:PORT, IPv6 in brackets; port 0: any free one; may be given several times", .call = opt_listen },
	{ 0, "ana", OPT_CALL, 0, "GROUP=STATE",
	  "how the --listen before it leads to the namespaces of an ANA group: " ANA_STATE_NAMES " (default optimized)", .call = opt_ana },
	{ 0, "config", OPT_STR, OFFSET(struct args, config), "FILE", "ports, subsystems, hosts and namespaces from nvmetcli's JSON" },
	{ 0, "referral", OPT_CALL, 0, "ADDR", "TRANSPORT:ADDR:PORT of another discovery service to tell hosts of; may be given several times",
	  .call = opt_referral },
	{ 0, "control", OPT_STR, OFFSET(struct args, control), "PATH", "socket for nvof target-ctl (default: a private one named after the port)" },
	{ 0, "no-control", OPT_FLAG, OFFSET(struct args, no_control), NULL, "no such socket" },
	{ 0 }
};
/* clang-format on */

/* clang-format off */
static const struct opt tuning_opts[] = {
	{ 0, "io-threads", OPT_U32, OFFSET(struct args, io_threads), "N", "threads that serve connections (default 1)", .min = 1, .max = 1024 },
	{ 0, "max-io-queues", OPT_U32, OFFSET(struct args, max_io_queues), "N", "I/O queues granted to one ctrl (default 128)", .min = 1, .max = 65534 },
	{ 0, "max-queue-size", OPT_U32, OFFSET(struct args, max_queue_size), "N", "entries of an I/O queue (default 1024)", .min = 2, .max = 32768 },
	{ 0, "mdts", OPT_SIZE, OFFSET(struct args, mdts), "SIZE", "largest data of one command, bytes, a power of two (default 1M)", .min = 8192,
	  .max = 64u << 20 },
	{ 0, "inline-len", OPT_SIZE, OFFSET(struct args, inline_len), "SIZE", "in-capsule data, bytes; 0: none (default 16K)", .max = 1u << 20 },
	{ 0, "pace", OPT_SIZE, OFFSET(struct args, pace), "BYTES", "bytes per second of each connection (default: no limit)", .min = 1 },
	{ 0, "poll", OPT_FLAG, OFFSET(struct args, poll), NULL, "never sleep: each thread burns a CPU for the lowest latency" },
	{ 0, "spin", OPT_INT, OFFSET(struct args, spin_us), "US", "spin so many microseconds after the last work before sleeping (default: 50 with more than one CPU, else 0)",
	  .imin = 0, .imax = 1000000 },
	{ 0, "handshake-tmo", OPT_MS, OFFSET(struct args, handshake_tmo_ms), "TIME", "a connection that has not sent Connect by then is closed (default 10s)",
	  .min = 1 },
	{ 0 }
};
/* clang-format on */

static void args_init(struct args *args, struct cli *cli)
{
	struct nvof_target_opts defaults;

	nvof_target_opts_init(&defaults);
	*args = (struct args){
		.cli = cli,
		.io_threads = defaults.io_threads,
		.max_io_queues = defaults.max_io_queues,
		.max_queue_size = defaults.max_queue_size,
		.mdts = defaults.mdts_len,
		.inline_len = defaults.inline_len,
		.handshake_tmo_ms = defaults.handshake_tmo_ms,
		.spin_us = -1,
	};
}

static int check_args(struct args *args)
{
	if (!args->nr_listens && !args->config)
		return cli_usage_error(args->cli, "--listen",
				       "--listen is missing: where to accept connections, such as tcp:127.0.0.1:4420");
	if (args->mdts & (args->mdts - 1))
		return cli_usage_error(args->cli, "--mdts", "--mdts: %llu is not a power of two", (unsigned long long)args->mdts);
	if (args->inline_len % 16)
		return cli_usage_error(args->cli, "--inline-len", "--inline-len: %llu is not a multiple of 16",
				       (unsigned long long)args->inline_len);
	if (args->poll && args->spin_us >= 0)
		return cli_usage_error(args->cli, "--spin", "--spin and --poll exclude one another: --poll never sleeps");
	if (args->control && args->no_control)
		return cli_usage_error(args->cli, "--control", "--control and --no-control exclude one another");
	return EXIT_OK;
}

static int new_target(const struct args *args, struct nvof_target **tp)
{
	struct nvof_target_opts o;
	int ret;

	nvof_target_opts_init(&o);
	o.log = cli_log;
	o.log_arg = args->cli;
	o.log_level = cli_log_level(args->cli);
	o.io_threads = args->io_threads;
	o.max_io_queues = args->max_io_queues;
	o.max_queue_size = args->max_queue_size;
	o.mdts_len = (uint32_t)args->mdts;
	o.inline_len = (uint32_t)args->inline_len;
	o.pace = args->pace;
	o.poll = args->poll;
	if (args->spin_us >= 0)
		o.spin_us = (unsigned int)args->spin_us;
	o.handshake_tmo_ms = (unsigned int)args->handshake_tmo_ms;
	ret = nvof_target_new(&o, tp);
	return ret ? cli_error(args->cli, ret, "starting the target: %s", strerror(-ret)) : EXIT_OK;
}

/* The library's sentence says itself what was tried, and on what.  What can't be meant is a mistake of usage. */
static int failed(const struct args *args, struct nvof_target *t, int status, const char *what)
{
	char msg[512];

	nvof_target_errmsg(t, msg, sizeof(msg));
	return status == -EINVAL ? cli_usage_error(args->cli, what, "%s", msg) : cli_error(args->cli, status, "%s", msg);
}

/* "tcp:ADDR:PORT": the transport ends at the first colon, the port begins after the last. */
static int add_referral(const struct args *args, struct nvof_target *t, const char *spec)
{
	char *copy = strdup(spec), *addr, *port;
	int ret;

	if (!copy)
		abort();
	addr = strchr(copy, ':');
	port = strrchr(copy, ':');
	*addr++ = *port++ = 0;
	ret = nvof_target_add_referral(t, copy, addr, port);
	free(copy);
	return ret ? failed(args, t, ret, "--referral") : EXIT_OK;
}

/* A target that nobody can reach, or that has nothing to offer, is no target, unless it is to be told the rest: by the control socket. */
static int check_use(const struct args *args, json_object *addrs, size_t nr_subsys)
{
	if (args->control)
		return EXIT_OK;
	if (!json_object_array_length(addrs))
		return cli_argument_error(args->cli, "--config", 0,
					  "--config: %s names no port, and there is no --listen: nobody could connect (with --control "
					  "PATH a port may be added later)",
					  args->config);
	if (!nr_subsys && args->config)
		cli_warn(args->cli, "--config: %s names no subsystem: hosts find nothing here", args->config);
	else if (!nr_subsys)
		cli_warn(args->cli, "there is no --subsys and no --ns: hosts find nothing here");
	return EXIT_OK;
}

/* What a file said is listened on, and offered, is in the status only. */
static size_t look_at_status(struct nvof_target *t, json_object *addrs)
{
	char *text = nvof_target_status_json(t);
	json_object *status = text ? json_tokener_parse(text) : NULL, *ports, *subsyss, *value;
	size_t nr_subsys = 0;

	if (json_object_object_get_ex(status, "ports", &ports) && json_object_is_type(ports, json_type_array))
		for (size_t i = 0; i < json_object_array_length(ports); i++)
			if (json_object_object_get_ex(json_object_array_get_idx(ports, i), "address", &value))
				json_object_array_add(addrs, json_object_get(value));
	if (json_object_object_get_ex(status, "subsystems", &subsyss) && json_object_is_type(subsyss, json_type_array))
		for (size_t i = 0; i < json_object_array_length(subsyss); i++)
			nr_subsys += !json_object_object_get_ex(json_object_array_get_idx(subsyss, i), "discovery", &value) ||
				     !json_object_get_boolean(value);
	json_object_put(status);
	free(text);
	return nr_subsys;
}

/* Subsystems and namespaces first: whoever connects early finds all of them. */
static int set_up(const struct args *args, struct nvof_target *t, json_object *addrs)
{
	int ret = spec_apply(args->cli, &args->spec, t);
	size_t nr_subsys = args->spec.nr_subsys;

	for (size_t i = 0; i < args->nr_referrals && !ret; i++)
		ret = add_referral(args, t, args->referrals[i]);
	if (!ret && args->config) {
		char msg[512];

		ret = nvof_target_load_config(t, args->config);
		if (ret)
			return cli_error(args->cli, ret, "%s", nvof_target_errmsg(t, msg, sizeof(msg)));
		nr_subsys = look_at_status(t, addrs);
	}
	for (size_t i = 0; i < args->nr_listens && !ret; i++) {
		char addr[ADDR_LEN] = "";

		ret = nvof_target_listen_ana(t, args->listens[i].addr, args->listens[i].ana, args->listens[i].nr_ana, addr, sizeof(addr));
		if (ret)
			return failed(args, t, ret, "--listen");
		json_object_array_add(addrs, json_object_new_string(addr));
	}
	return ret ? ret : check_use(args, addrs, nr_subsys);
}

/* The default socket is a convenience: without a place for it the target runs all the same. */
static int start_control(const struct args *args, struct nvof_target *t, json_object *addrs, struct control **cp)
{
	const char *first = json_object_array_length(addrs) ? json_object_get_string(json_object_array_get_idx(addrs, 0)) : "loop";
	const char *port = strrchr(first, ':');
	struct control_opts o = { .path = args->control, .config_path = args->config };
	char path[256], msg[512] = "";
	int ret;

	if (args->no_control)
		return EXIT_OK;
	if (!o.path && !control_default_path(port ? port + 1 : first, path, sizeof(path)))
		o.path = path;
	ret = control_start(t, &o, cp, msg, sizeof(msg));
	if (!ret)
		return EXIT_OK;
	if (args->control)
		return cli_argument_error(args->cli, "--control", ret, "--control: %s", msg);
	if (args->cli->verbose)
		cli_warn(args->cli, "no control socket: %s", msg);
	return EXIT_OK;
}

static int say_ready(const struct args *args, json_object *addrs)
{
	json_object *doc;

	if (args->cli->json) {
		doc = cli_json_new();
		json_object_object_add(doc, "ready", json_object_get(addrs));
		return cli_json(args->cli, doc);
	}
	printf("ready");
	for (size_t i = 0; i < json_object_array_length(addrs); i++)
		printf(" %s", json_object_get_string(json_object_array_get_idx(addrs, i)));
	putchar('\n');
	return cli_flush(args->cli);
}

/* A second signal while draining ends the program at once. */
static void wait_for_stop(const sigset_t *stop)
{
	int sig;

	sigwait(stop, &sig);
	pthread_sigmask(SIG_UNBLOCK, stop, NULL);
}

static int serve(const struct args *args)
{
	json_object *addrs = json_object_new_array();
	struct nvof_target *t = NULL;
	struct control *control = NULL;
	sigset_t stop;
	int ret;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGINT);
	/* Before there are threads, so that they inherit it. */
	pthread_sigmask(SIG_BLOCK, &stop, NULL);
	ret = new_target(args, &t);
	if (!ret)
		ret = set_up(args, t, addrs);
	if (!ret)
		ret = start_control(args, t, addrs, &control);
	if (!ret)
		ret = say_ready(args, addrs);
	json_object_put(addrs);
	if (!ret)
		wait_for_stop(&stop);
	control_stop(control);
	if (t && !ret)
		nvof_target_drain(t, DRAIN_MS);
	nvof_target_free(t);
	return ret;
}

int cmd_target(struct cli *cli, int argc, char **argv)
{
	struct args args;
	int ret;

	args_init(&args, cli);
	ret = opts_parse(cli, &usage,
			 (struct opt_group[]){ { "The target", opts, &args },
					       { "What it offers", spec_opts, &args.spec },
					       { "Limits and tuning", tuning_opts, &args },
					       opt_group_common(cli),
					       { 0 } },
			 argc, argv, NULL, NULL);
	if (ret == OPTS_GO)
		ret = check_args(&args);
	else
		goto out;
	if (!ret)
		ret = serve(&args);
out:
	for (size_t i = 0; i < args.nr_listens; i++)
		free(args.listens[i].ana);
	free(args.listens);
	free(args.referrals);
	spec_clear(&args.spec);
	return ret;
}
