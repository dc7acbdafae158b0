/* SPDX-License-Identifier: BSD-3-Clause */
/* bench connect: how long setting up all queues takes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/conn.h"
#include "cli/setup_trace.h"

#define RUNS_MAX  10000
#define US_PER_MS 1000.0

static const struct usage usage = {
	"[-t TRANSPORT] -a ADDR [-s PORT] -n NQN [--nr-io-queues N] [--setup-concurrency N] [--runs R] [--trace FILE] [OPTION]... | URI",
	"Connects and disconnects several times, and tells how long it took until all I/O queues were live.",
	"$ nvof bench connect nvme+tcp://127.0.0.1:4420/nqn.2026-11.org.example:nvof --nr-io-queues 16 --runs 5",
};

struct args {
	struct conn_args conn;
	uint32_t runs;
	const char *trace; /* NULL: none */
};

struct results {
	struct nvof_setup_times *runs;
	struct setup_states *states;
	struct setup_trace trace;
	unsigned int nr_queues;
};

/* clang-format off */
static const struct opt opts[] = {
	{ 0, "runs", OPT_U32, OFFSET(struct args, runs), "R", "how often (default 5)", .min = 1, .max = RUNS_MAX },
	{ 0, "trace", OPT_STR, OFFSET(struct args, trace), "FILE",
	  "write when each queue was in which state, as a trace in Chrome's JSON format (opens in Perfetto)" },
	{ 0 }
};
/* clang-format on */

/* The columns: what the JSON calls them, and where they are. */
static const struct column {
	const char *key, *title;
	size_t offset;
} columns[] = {
	{ "total_ms", "total ms", offsetof(struct nvof_setup_times, total_us) },
	{ "admin_ms", "admin ms", offsetof(struct nvof_setup_times, admin_us) },
	{ "io_queues_ms", "I/O queues ms", offsetof(struct nvof_setup_times, io_queues_us) },
};

static double *column_of(struct nvof_setup_times *times, const struct column *column)
{
	return (double *)((char *)times + column->offset);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void median_of(struct nvof_setup_times *runs, size_t nr, struct nvof_setup_times *median)
{
	double *values = calloc(nr, sizeof(*values));

	if (!values)
		abort();
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		for (size_t i = 0; i < nr; i++)
			values[i] = *column_of(&runs[i], &columns[c]);
		qsort(values, nr, sizeof(*values), by_value);
		*column_of(median, &columns[c]) = nr % 2 ? values[nr / 2] : (values[nr / 2 - 1] + values[nr / 2]) / 2;
	}
	free(values);
}

static json_object *times_json(struct nvof_setup_times *times)
{
	json_object *o = json_object_new_object();

	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		json_object *ms = json_object_new_double(*column_of(times, &columns[c]) / US_PER_MS);

		json_object_set_serializer(ms, json_object_double_to_json_string, (void *)(uintptr_t) "%.3f", NULL);
		json_object_object_add(o, columns[c].key, ms);
	}
	return o;
}

static void print_times(const char *name, struct nvof_setup_times *times)
{
	printf("%-8s", name);
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++)
		printf("%15.3f", *column_of(times, &columns[c]) / US_PER_MS);
	putchar('\n');
}

static int report(struct cli *cli, const struct args *args, const struct results *r)
{
	struct nvof_setup_times median, *runs = r->runs;
	unsigned int nr_queues = r->nr_queues;
	json_object *doc, *list;
	char name[16];

	median_of(runs, args->runs, &median);
	if (cli->json) {
		doc = cli_json_new();
		list = json_object_new_array();
		json_object_object_add(doc, "nr_io_queues", json_object_new_int64(nr_queues));
		json_object_object_add(doc, "setup_concurrency", json_object_new_int64(args->conn.setup_concurrency));
		json_object_object_add(doc, "runs", list);
		for (uint32_t i = 0; i < args->runs; i++)
			json_object_array_add(list, times_json(&runs[i]));
		json_object_object_add(doc, "median", times_json(&median));
		json_object_object_add(doc, "states", setup_states_json(r->states));
		return cli_json(cli, doc);
	}
	if (args->conn.setup_concurrency)
		printf("%u I/O queues, %u at once\n", nr_queues, args->conn.setup_concurrency);
	else
		printf("%u I/O queues, all at once\n", nr_queues);
	printf("%-8s", "run");
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++)
		printf("%15s", columns[c].title);
	putchar('\n');
	for (uint32_t i = 0; i < args->runs; i++) {
		snprintf(name, sizeof(name), "%u", i + 1);
		print_times(name, &runs[i]);
	}
	print_times("median", &median);
	setup_states_print(r->states);
	return EXIT_OK;
}

static void note_run(struct results *r, uint32_t run, const struct nvof_ctrl *ctrl)
{
	const struct nvof_span *spans;
	size_t nr = nvof_ctrl_timeline(ctrl, &spans);

	nvof_ctrl_setup_times(ctrl, &r->runs[run]);
	setup_states_add(r->states, spans, nr);
	setup_trace_add(&r->trace, spans, nr);
	r->nr_queues = nvof_ctrl_nr_io_queues(ctrl);
}

static int write_trace(struct cli *cli, const struct args *args, const struct results *r)
{
	int ret = args->trace ? setup_trace_write(&r->trace, args->trace) : 0;

	return ret ? cli_error(cli, ret, "--trace: writing %s: %s", args->trace, strerror(-ret)) : EXIT_OK;
}

static int bench_connect(struct cli *cli, const struct args *args)
{
	struct results r = { .runs = calloc(args->runs, sizeof(*r.runs)), .states = setup_states_new() };
	struct conn c;
	int ret;

	if (!r.runs)
		abort();
	setup_trace_init(&r.trace);
	ret = conn_prepare(&c, &args->conn, CONN_IO);
	for (uint32_t i = 0; i < args->runs && !ret; i++) {
		ret = conn_connect(&c, &args->conn, CONN_IO);
		if (ret)
			break;
		note_run(&r, i, c.ctrl);
		conn_disconnect(&c);
	}
	conn_close(&c);
	if (!ret && args->conn.nr_io_queues && r.nr_queues != args->conn.nr_io_queues)
		cli_warn(cli, "%u I/O queues were asked for, the target granted %u", args->conn.nr_io_queues, r.nr_queues);
	if (!ret)
		ret = write_trace(cli, args, &r);
	if (!ret)
		ret = report(cli, args, &r);
	setup_trace_clear(&r.trace);
	setup_states_free(r.states);
	free(r.runs);
	return ret;
}

int cmd_bench_connect(struct cli *cli, int argc, char **argv)
{
	struct args args = { .runs = 5 };
	int ret;

	conn_args_init(&args.conn, cli);
	ret = conn_parse(&usage, (struct opt_group[]){ { "Options", opts, &args }, { 0 } }, &args.conn, argc, argv);
	if (ret == OPTS_GO)
		ret = bench_connect(cli, &args);
	conn_args_clear(&args.conn);
	return ret;
}
