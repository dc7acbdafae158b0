/* SPDX-License-Identifier: BSD-3-Clause */
/* bench storm: options, limits, and the run. */
#include "cli/bench_storm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/util.h"
#include "cli/progress.h"
#include "proto/nqn.h"

#define HOSTS_MAX      10000
#define QUEUES_DEFAULT 8
#define FDS_OTHER      32 /* that a process has besides its connections */

static const struct usage usage = {
	"[-t TRANSPORT] -a ADDR [-s PORT] -n NQN [--hosts N] [--nr-io-queues N] [--cut WHO] [--limit TIME] [OPTION]... | URI",
	"Lets many hosts, each with its own NQN and id, connect to a target at once, and tells how long it took until each had read its "
	"first "
	"block; with --cut then cuts all of their connections at once and tells how long it took until each had read its next one.",
	"$ nvof bench storm nvme+tcp://127.0.0.1:4420/nqn.2026-11.org.example:nvof --hosts 50 --nr-io-queues 4 --cut host",
};

static char *opt_cut(void *base, const char *value)
{
	struct storm_args *args = base;

	if (!strcmp(value, "host"))
		args->cut = CUT_HOST;
	else if (!strcmp(value, "target"))
		args->cut = CUT_TARGET;
	else if (!strcmp(value, "none"))
		args->cut = CUT_NONE;
	else
		return sentence("\"%.40s\" is not one of: none, host, target", value);
	return NULL;
}

/* clang-format off */
static const struct opt opts[] = {
	{ 0, "hosts", OPT_U32, OFFSET(struct storm_args, nr_hosts), "N", "how many (default 200)", .min = 1, .max = HOSTS_MAX },
	{ 0, "cut", OPT_CALL, 0, "WHO",
	  "who cuts the connections when all hosts are there: none, host (this one resets all ctrls), target (you see to it) (default none)", .call = opt_cut },
	{ 0, "connecting", OPT_U32, OFFSET(struct storm_args, nr_connecting), "N", "hosts that connect at once; 0: all (default 0)", .max = HOSTS_MAX },
	{ 0, "retries", OPT_U32, OFFSET(struct storm_args, nr_retries), "N", "how often a host tries again (default 10)", .max = 1000000 },
	{ 0, "retry-delay", OPT_MS, OFFSET(struct storm_args, retry_delay_ms), "TIME",
	  "before the first further try; then twice as long each time; half of it by chance (default 100ms)", .min = 1, .max = 3600000 },
	{ 0, "retry-max", OPT_MS, OFFSET(struct storm_args, retry_max_ms), "TIME", "no longer than this (default 5s)", .min = 1, .max = 3600000 },
	{ 0, "limit", OPT_MS, OFFSET(struct storm_args, limit_ms), "TIME", "of the whole run (default 1m)", .min = 1, .max = 86400000 },
	{ 0, "seed", OPT_U64, OFFSET(struct storm_args, seed), "N", "of what is left to chance (default 1)" },
	{ 0 }
};
/* clang-format on */

/* main() has raised the limit as far as it goes. */
static int check_descriptors(struct cli *cli, const struct storm_args *args)
{
	uint64_t need = (uint64_t)args->nr_hosts * (args->conn.nr_io_queues + 1) + FDS_OTHER;
	struct rlimit limit;

	if (!strcasecmp(args->conn.transport, "loop") || getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    need <= limit.rlim_cur)
		return EXIT_OK;
	return cli_error(cli, -EMFILE,
			 "%" PRIu32 " hosts with %" PRIu32 " I/O queues each need up to %" PRIu64
			 " descriptors, and this process may have %" PRIu64 ": raise its hard limit (ulimit -Hn), or take fewer --hosts",
			 args->nr_hosts, args->conn.nr_io_queues, need, (uint64_t)limit.rlim_cur);
}

/* Of the hosts' names the longest one. */
static int check_names(struct cli *cli, const struct storm_args *args)
{
	const char *why;
	char *name;

	if (!args->conn.hostnqn)
		return EXIT_OK;
	if (asprintf(&name, "%s-%" PRIu32, args->conn.hostnqn, args->nr_hosts) < 0)
		abort();
	why = nqn_check(name);
	free(name);
	return why ? cli_usage_error(cli, "--hostnqn",
				     "--hostnqn: each host gets a number behind it, and \"%.230s-%" PRIu32 "\" is no NQN: %s",
				     args->conn.hostnqn, args->nr_hosts, why)
		   : EXIT_OK;
}

static bool phase_over(const struct storm *s)
{
	return s->phase->nr_ready + s->phase->nr_failed >= s->phase->nr_hosts;
}

/* Begins with those whose time has come, as many as may connect at once.  When the next one's comes; UINT64_MAX: no one waits. */
static uint64_t start_due(struct storm *s)
{
	uint64_t now = clock_ns(), next = UINT64_MAX;

	for (uint32_t i = 0; i < s->args->nr_hosts; i++) {
		struct storm_host *h = &s->hosts[i];

		if (h->state != HOST_WAITING)
			continue;
		if (s->args->nr_connecting && s->nr_connecting >= s->args->nr_connecting)
			break; /* one that ends wakes us */
		if (h->due_ns <= now)
			storm_host_start(h);
		if (h->state == HOST_WAITING)
			next = min_u64(next, h->due_ns);
	}
	return next;
}

static void run_phase(struct storm *s, struct progress *progress)
{
	while (!phase_over(s) && !s->timed_out) {
		uint64_t next = start_due(s), now = clock_ns(),
			 wake = min_u64(min_u64(next, s->end_ns), now + STOP_LOOK_US * NSEC_PER_USEC);

		nvof_ctx_poll(s->c->ctx, wake > now ? (int64_t)((wake - now) / NSEC_PER_USEC) + 1 : 0);
		if (stop_look(&s->stop))
			return;
		s->timed_out = clock_ns() >= s->end_ns;
		progress_say(progress, "%" PRIu32 " of %" PRIu32 " hosts, %" PRIu64 " refused", s->phase->nr_ready, s->phase->nr_hosts,
			     s->phase->nr_refused);
	}
}

static void begin_reconnect(struct storm *s)
{
	s->phase = &s->reconnect;
	s->phase->nr_hosts = s->connect.nr_ready;
	if (s->args->cut == CUT_TARGET) {
		cli_warn(s->c->cli, "all %" PRIu32 " hosts are there: the target may cut them off now", s->connect.nr_ready);
		return;
	}
	s->phase->start_ns = clock_ns();
	for (uint32_t i = 0; i < s->args->nr_hosts; i++)
		if (s->hosts[i].state == HOST_READY)
			storm_host_cut(&s->hosts[i]);
}

static void run(struct storm *s)
{
	struct progress progress;

	progress_start(&progress, "storm", 0);
	s->phase = &s->connect;
	s->phase->nr_hosts = s->args->nr_hosts;
	s->phase->start_ns = clock_ns();
	s->end_ns = s->phase->start_ns + s->args->limit_ms * NSEC_PER_MSEC;
	run_phase(s, &progress);
	if (s->args->cut != CUT_NONE && !s->stop.sig && !s->timed_out && s->connect.nr_ready == s->args->nr_hosts) {
		begin_reconnect(s);
		run_phase(s, &progress);
	}
	progress_end(&progress);
}

static void closed(void *arg, struct nvof_ctrl *ctrl, int status)
{
	--*(uint32_t *)arg;
}

/* In good order, all at once; a signal cuts it short. */
static void disconnect_all(struct storm *s)
{
	uint32_t nr_open = 0;

	for (uint32_t i = 0; i < s->args->nr_hosts && !s->stop.sig; i++) {
		struct storm_host *h = &s->hosts[i];

		if (h->state == HOST_READY && nvof_ctrl_state(h->ctrl) == NVOF_CTRL_LIVE) {
			h->state = HOST_FAILED;
			nr_open += !nvof_ctrl_disconnect(h->ctrl, closed, &nr_open);
		}
	}
	while (nr_open && !stop_look(&s->stop))
		nvof_ctx_poll(s->c->ctx, STOP_LOOK_US);
	for (uint32_t i = 0; i < s->args->nr_hosts; i++)
		storm_host_clear(&s->hosts[i]);
}

static int storm(struct cli *cli, struct storm *s)
{
	struct conn c = { 0 };
	int ret = conn_only_one(&s->args->conn) ?: conn_prepare(&c, &s->args->conn, CONN_IO);

	s->c = &c;
	s->rng = s->args->seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	s->hosts = calloc(s->args->nr_hosts, sizeof(*s->hosts));
	if (!s->hosts)
		abort();
	for (uint32_t i = 0; i < s->args->nr_hosts; i++)
		storm_host_init(s, i);
	if (!ret) {
		run(s);
		ret = storm_report(cli, s);
	}
	disconnect_all(s);
	free(s->hosts);
	conn_close(&c);
	return ret;
}

int cmd_bench_storm(struct cli *cli, int argc, char **argv)
{
	struct storm_args args = {
		.nr_hosts = 200, .nr_retries = 10, .retry_delay_ms = 100, .retry_max_ms = 5000, .limit_ms = 60000, .seed = 1
	};
	struct storm *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		abort();
	*s = (struct storm){ .args = &args, .stop = { .fd = -1 } };
	conn_args_init(&args.conn, cli);
	args.conn.crowd = true;
	ret = conn_parse(&usage, (struct opt_group[]){ { "The storm", opts, &args }, { 0 } }, &args.conn, argc, argv);
	if (!args.conn.nr_io_queues)
		args.conn.nr_io_queues = QUEUES_DEFAULT;
	args.conn.reconnects = args.cut != CUT_NONE;
	if (ret == OPTS_GO)
		ret = check_names(cli, &args) ?: check_descriptors(cli, &args);
	else
		goto out;
	if (!ret) {
		ret = stop_begin(&s->stop);
		ret = ret ? cli_error(cli, ret, "signalfd: %s", strerror(-ret)) : storm(cli, s);
		stop_end(&s->stop);
	}
out:
	conn_args_clear(&args.conn);
	stop_raise(&s->stop);
	free(s);
	return ret;
}
