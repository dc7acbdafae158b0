/* SPDX-License-Identifier: BSD-3-Clause */
/* bench connect: how long setting up all queues takes. */
#include "cli/bench_connect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

#define RUNS_MAX 10000

static const struct usage usage = {
	"[-t TRANSPORT] -a ADDR [-s PORT] -n NQN | --from-discovery [--nr-io-queues N] [--setup-concurrency N] [--runs R] [--trace FILE] "
	"[OPTION]... | URI",
	"Connects and disconnects several times, and tells how long it took until all I/O queues were live.\n"
	"With --from-discovery each run connects to everything that a discovery service tells of, all at once.",
	"$ nvof bench connect nvme+tcp://127.0.0.1:4420/nqn.2026-11.org.example:nvof --nr-io-queues 16 --runs 5\n"
	"$ nvof bench connect -a 127.0.0.1 -s 4420 --from-discovery --nr-io-queues 8",
};

static char *opt_trace(void *base, const char *value)
{
	if (!strcmp(value, "-"))
		return sentence("the report goes to standard output; give the trace a file of its own");
	((struct bench_connect_args *)base)->trace = value;
	return NULL;
}

/* clang-format off */
static const struct opt opts[] = {
	{ 0, "runs", OPT_U32, OFFSET(struct bench_connect_args, runs), "R", "how often (default 5)", .min = 1, .max = RUNS_MAX },
	{ 0, "from-discovery", OPT_FLAG, OFFSET(struct bench_connect_args, from_discovery), NULL,
	  "the address is a discovery service's: connect to everything it tells of (port 8009 by default)" },
	{ 0, "trace", OPT_CALL, 0, "FILE",
	  "write when each queue was in which state, as a trace in Chrome's JSON format (opens in Perfetto)", .call = opt_trace },
	{ 0 }
};
/* clang-format on */

struct run_times {
	struct nvof_setup_times setup;
	double disconnect_us;
};

/* The columns: what the JSON calls them, and where they are. */
static const struct column columns[] = {
	{ "total_ms", "total ms", offsetof(struct run_times, setup.total_us) },
	{ "admin_ms", "admin ms", offsetof(struct run_times, setup.admin_us) },
	{ "io_queues_ms", "I/O queues ms", offsetof(struct run_times, setup.io_queues_us) },
	{ "disconnect_ms", "disconnect ms", offsetof(struct run_times, disconnect_us) },
	{ 0 },
};

static const struct kind {
	enum conn_kind conn;
	size_t size; /* of the times of a run */
	const struct column *columns;
	bench_connect_run *run;
} wave = { CONN_DISCOVERY, BENCH_WAVE_SIZE, bench_wave_columns, bench_wave_run };

static int one_run(struct conn *c, const struct bench_connect_args *args, struct bench_connect_results *r, void *times)
{
	int ret = conn_connect_until(c, &args->conn, CONN_IO, &r->stop);
	struct run_times *t = times;
	const struct nvof_span *spans;
	uint64_t start;
	size_t nr;

	if (c->ctrl)
		setup_trace_add(&r->trace, c->ctrl, 0);
	if (ret)
		return ret;
	nr = nvof_ctrl_timeline(c->ctrl, &spans);
	setup_states_add(r->states, spans, nr);
	nvof_ctrl_setup_times(c->ctrl, &t->setup);
	r->nr_queues = nvof_ctrl_nr_io_queues(c->ctrl);
	r->nr_ctrls = 1;
	start = clock_ns();
	conn_disconnect_until(c, &r->stop, NULL);
	t->disconnect_us = (double)(clock_ns() - start) / NSEC_PER_USEC;
	return EXIT_OK;
}

static const struct kind one_ctrl = { CONN_IO, sizeof(struct run_times), columns, one_run };

static const struct kind *kind_of(const struct bench_connect_args *args)
{
	return args->from_discovery ? &wave : &one_ctrl;
}

static int report_json(struct cli *cli, const struct bench_connect_args *args, const struct bench_connect_results *r, const void *times)
{
	json_object *doc = cli_json_new();

	if (args->from_discovery)
		json_object_object_add(doc, "nr_ctrls", json_object_new_int64(r->nr_ctrls));
	conn_queues_json(args->conn.nr_io_queues, r->nr_queues, doc);
	json_object_object_add(doc, "setup_concurrency", json_object_new_int64(args->conn.setup_concurrency));
	columns_add_json(kind_of(args)->columns, times, r->nr_runs, kind_of(args)->size, doc);
	json_object_object_add(doc, "states", setup_states_json(r->states));
	if (r->stop.sig)
		json_object_object_add(doc, "interrupted", json_object_new_boolean(true));
	cli_json_failure(cli, doc);
	return cli_json(cli, doc);
}

static void report_text(const struct bench_connect_args *args, const struct bench_connect_results *r, const void *times)
{
	if (args->from_discovery)
		printf("%u ctrls with ", r->nr_ctrls);
	printf("%u I/O queues%s, ", r->nr_queues, args->from_discovery ? " together" : "");
	if (args->conn.setup_concurrency)
		printf("%u at once", args->conn.setup_concurrency);
	else
		printf("all at once");
	printf("%s\n", r->stop.sig ? " (interrupted)" : r->nr_runs < args->runs ? " (one more failed)" : "");
	columns_print(kind_of(args)->columns, times, r->nr_runs, kind_of(args)->size);
	setup_states_print(r->states);
}

/* What a signal or a failure cut short is told as far as it went. */
static int report(struct cli *cli, const struct bench_connect_args *args, const struct bench_connect_results *r, const void *times)
{
	if (cli->json)
		return report_json(cli, args, r, times);
	if (r->nr_runs)
		report_text(args, r, times);
	return EXIT_OK;
}

static int run_all(struct cli *cli, const struct bench_connect_args *args, struct bench_connect_results *r, char *times)
{
	const struct kind *kind = kind_of(args);
	struct conn c;
	int ret = conn_prepare(&c, &args->conn, kind->conn);

	for (uint32_t i = 0; i < args->runs && !ret && !r->stop.sig && !stop_look(&r->stop); i++) {
		setup_trace_next_run(&r->trace);
		ret = kind->run(&c, args, r, times + i * kind->size);
		r->nr_runs += !ret;
	}
	conn_close(&c);
	return r->stop.sig ? EXIT_OK : ret;
}

static int write_trace(struct cli *cli, const struct bench_connect_args *args, struct bench_connect_results *r)
{
	int ret = setup_trace_close(&r->trace);

	return ret ? cli_argument_error(cli, "--trace", ret, "--trace: writing %s: %s", args->trace, strerror(-ret)) : EXIT_OK;
}

static int bench_connect(struct cli *cli, const struct bench_connect_args *args, struct bench_connect_results *r)
{
	char *times = calloc(args->runs, kind_of(args)->size);
	int ret, bad;

	if (!times)
		abort();
	ret = run_all(cli, args, r, times);
	/* From here on a signal ends the program: nobody may read the trace. */
	stop_end(&r->stop);
	/* Of a connect that failed as well: that is when one wants to look at it. */
	bad = write_trace(cli, args, r);
	if (!ret)
		ret = bad;
	bad = EXIT_OK;
	if (!ret || r->nr_runs)
		bad = report(cli, args, r, times);
	free(times);
	return ret ? ret : bad;
}

static int prepare(struct cli *cli, const struct bench_connect_args *args, struct bench_connect_results *r)
{
	/* Before signals are kept back: it may be a FIFO that nobody reads. */
	int ret = setup_trace_open(&r->trace, args->trace);

	if (ret)
		return cli_argument_error(cli, "--trace", ret, "--trace: writing %s: %s", args->trace, strerror(-ret));
	ret = stop_begin(&r->stop);
	return ret ? cli_error(cli, ret, "signalfd: %s", strerror(-ret)) : EXIT_OK;
}

int cmd_bench_connect(struct cli *cli, int argc, char **argv)
{
	struct bench_connect_results r = { .states = setup_states_new() };
	struct bench_connect_args args = { .runs = 5 };
	int ret;

	conn_args_init(&args.conn, cli);
	ret = conn_parse(&usage, (struct opt_group[]){ { "Options", opts, &args }, { 0 } }, &args.conn, argc, argv);
	if (ret == OPTS_GO) {
		ret = prepare(cli, &args, &r);
		if (!ret)
			ret = bench_connect(cli, &args, &r);
		stop_end(&r.stop);
	}
	setup_states_free(r.states);
	conn_args_clear(&args.conn);
	stop_raise(&r.stop);
	return ret;
}
