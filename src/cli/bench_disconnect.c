/* SPDX-License-Identifier: BSD-3-Clause */
/* bench disconnect: how long it takes until all namespaces, each with a read under way, and all queues are gone. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/columns.h"
#include "cli/conn.h"

#define RUNS_MAX 10000

static const struct usage usage = {
	"[-t TRANSPORT] -a ADDR [-s PORT] -n NQN [--nr-io-queues N] [--removal-concurrency N] [--runs R] [OPTION]... | URI",
	"Connects, starts one read on each namespace, and tells how long the disconnect takes from then on.",
	"$ nvof bench disconnect nvme+tcp://127.0.0.1:4420/nqn.2026-11.org.example:nvof --nr-io-queues 4 --runs 5\n"
	"$ nvof bench disconnect -t loop --ns mem:1M,count=64 --fault on=io,delay=20ms --removal-concurrency 1",
};

struct args {
	struct conn_args conn;
	uint32_t runs;
};

/* clang-format off */
static const struct opt opts[] = {
	{ 0, "runs", OPT_U32, OFFSET(struct args, runs), "R", "how often (default 5)", .min = 1, .max = RUNS_MAX },
	{ 0 }
};

static const struct column columns[] = {
	{ "total_ms", "total ms", offsetof(struct nvof_disconnect_times, total_us) },
	{ "namespaces_ms", "namespaces ms", offsetof(struct nvof_disconnect_times, namespaces_us) },
	{ "queues_ms", "queues ms", offsetof(struct nvof_disconnect_times, queues_us) },
	{ 0 },
};
/* clang-format on */

struct results {
	struct nvof_disconnect_times *times;
	uint32_t nr_runs; /* that are whole */
	size_t nr_namespaces;
	unsigned int nr_queues;
	uint64_t nr_ok, nr_aborted, nr_failed; /* reads */
	int first_status;
	uint32_t first_nsid;
	struct stop stop;
};

/* The read of one namespace. */
struct probe {
	struct results *r;
	struct nvof_ns *ns;
};

static void read_done(void *arg, const struct nvof_cpl *cpl)
{
	struct probe *p = arg;
	struct results *r = p->r;

	if (cpl->status == -ECANCELED) {
		r->nr_aborted++;
	} else if (cpl->status) {
		if (!r->nr_failed++) {
			r->first_status = cpl->status;
			r->first_nsid = nvof_ns_nsid(p->ns);
		}
	} else {
		r->nr_ok++;
	}
	nvof_ns_close(p->ns);
}

/* All handles to close; returns how many.  One that vanishes meanwhile is left out. */
static size_t get_namespaces(struct nvof_ctrl *ctrl, struct results *r, struct probe **probesp, uint32_t *block_max)
{
	struct probe *probes = NULL;
	size_t nr = 0, room = 0;
	struct nvof_ns *ns;

	for (uint32_t nsid = 0; (ns = nvof_ns_next(ctrl, nsid)); nsid = nvof_ns_nsid(ns)) {
		if (nr == room) {
			room = 2 * room + 64;
			probes = realloc(probes, room * sizeof(*probes));
			if (!probes)
				abort();
		}
		probes[nr++] = (struct probe){ r, ns };
		if (nvof_ns_block_size(ns) > *block_max)
			*block_max = nvof_ns_block_size(ns);
	}
	*probesp = probes;
	return nr;
}

static int check_slots(struct conn *c, size_t nr)
{
	size_t nr_slots = 0;

	for (unsigned int i = 0; i < nvof_ctrl_nr_hctx(c->ctrl); i++)
		nr_slots += nvof_hctx_nr_free(nvof_ctrl_hctx(c->ctrl, i));
	if (nr <= nr_slots)
		return EXIT_OK;
	return cli_argument_error(c->cli, "--queue-size", 0,
				  "one read on each of %zu namespaces: %u I/O queues of %u entries take %zu; more with --queue-size or "
				  "--nr-io-queues",
				  nr, nvof_ctrl_nr_io_queues(c->ctrl), nvof_ctrl_queue_size(c->ctrl), nr_slots);
}

/* On the next hctx that has room, from *at on. */
static int start_read(struct nvof_ctrl *ctrl, unsigned int *at, struct probe *p, void *buf)
{
	unsigned int nr = nvof_ctrl_nr_hctx(ctrl);
	int ret = -EAGAIN;

	for (unsigned int i = 0; i < nr && ret == -EAGAIN; i++)
		ret = nvof_read(nvof_ctrl_hctx(ctrl, (*at)++ % nr), p->ns, 0, 1, buf, 0, read_done, p);
	return ret;
}

static int start_reads(struct conn *c, struct probe *probes, size_t nr, char *bufs, uint32_t block_max)
{
	unsigned int at = 0;
	int first = 0;

	for (size_t i = 0; i < nr; i++) {
		int ret = start_read(c->ctrl, &at, &probes[i], bufs + i * block_max);
		char what[64];

		if (!ret)
			continue;
		snprintf(what, sizeof(what), "read of block 0 of namespace %" PRIu32, nvof_ns_nsid(probes[i].ns));
		nvof_ns_close(probes[i].ns);
		if (!first)
			first = conn_status(c, ret, what);
	}
	return first;
}

static void scanned(void *arg, int status)
{
	struct conn_wait *w = arg;

	w->cpl.status = status;
	w->done = true;
}

static int scan(struct conn *c, struct stop *stop)
{
	struct conn_wait w = { 0 };
	int ret = nvof_ns_scan(c->ctrl, scanned, &w);

	while (!ret && !w.done && !stop_look(stop))
		nvof_ctx_poll(c->ctx, STOP_LOOK_US);
	if (!ret && !w.done) {
		conn_disconnect(c); /* which ends it, while w is there */
		return EXIT_FAILED;
	}
	return conn_status(c, ret ? ret : w.cpl.status, "looking for namespaces");
}

static int measure(struct conn *c, struct results *r)
{
	struct nvof_disconnect_times *times = &r->times[r->nr_runs];
	struct probe *probes;
	uint32_t block_max = 1;
	size_t nr = get_namespaces(c->ctrl, r, &probes, &block_max);
	char *bufs = calloc(nr + 1, block_max);
	int ret = check_slots(c, nr);

	if (!bufs)
		abort();
	r->nr_namespaces = nr;
	r->nr_queues = nvof_ctrl_nr_io_queues(c->ctrl);
	if (!ret && nvof_ctrl_state(c->ctrl) != NVOF_CTRL_LIVE)
		ret = conn_status(c, -ENOTCONN, "disconnecting");
	if (ret)
		for (size_t i = 0; i < nr; i++)
			nvof_ns_close(probes[i].ns);
	else
		ret = start_reads(c, probes, nr, bufs, block_max);
	conn_disconnect_until(c, &r->stop, times);
	free(bufs);
	free(probes);
	return ret;
}

static int one_run(struct conn *c, const struct args *args, struct results *r)
{
	int ret = conn_connect_until(c, &args->conn, CONN_IO, &r->stop);

	if (!ret)
		ret = scan(c, &r->stop);
	if (!ret)
		ret = measure(c, r);
	if (!ret && !r->stop.sig)
		r->nr_runs++;
	return ret;
}

static json_object *reads_json(const struct results *r)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "ok", json_object_new_int64((int64_t)r->nr_ok));
	json_object_object_add(o, "aborted", json_object_new_int64((int64_t)r->nr_aborted));
	json_object_object_add(o, "failed", json_object_new_int64((int64_t)r->nr_failed));
	return o;
}

static int report_json(struct cli *cli, const struct args *args, const struct results *r)
{
	json_object *doc = cli_json_new();

	json_object_object_add(doc, "nr_namespaces", json_object_new_int64((int64_t)r->nr_namespaces));
	conn_queues_json(args->conn.nr_io_queues, r->nr_queues, doc);
	json_object_object_add(doc, "removal_concurrency", json_object_new_int64(args->conn.removal_concurrency));
	columns_add_json(columns, r->times, r->nr_runs, sizeof(*r->times), doc);
	json_object_object_add(doc, "reads", reads_json(r));
	if (r->stop.sig)
		json_object_object_add(doc, "interrupted", json_object_new_boolean(true));
	cli_json_failure(cli, doc);
	return cli_json(cli, doc);
}

static void report_text(const struct args *args, const struct results *r)
{
	printf("%zu namespaces, ", r->nr_namespaces);
	if (args->conn.removal_concurrency)
		printf("%u at once, ", args->conn.removal_concurrency);
	else
		printf("all at once, ");
	printf("%u I/O queues%s\n", r->nr_queues, r->stop.sig ? " (interrupted)" : r->nr_runs < args->runs ? " (one more failed)" : "");
	columns_print(columns, r->times, r->nr_runs, sizeof(*r->times));
	if (r->nr_aborted)
		printf("%" PRIu64 " of %" PRIu64 " reads had not ended after --remove-timeout, or when the connection was lost\n",
		       r->nr_aborted, r->nr_ok + r->nr_aborted + r->nr_failed);
}

static int report(struct cli *cli, const struct args *args, const struct results *r)
{
	char words[160];
	int ret = EXIT_OK;

	if (cli->json)
		ret = report_json(cli, args, r);
	else if (r->nr_runs)
		report_text(args, r);
	if (!r->nr_failed)
		return ret;
	return cli_error(cli, r->first_status, "%" PRIu64 " reads failed, the first one of namespace %" PRIu32 ": %s", r->nr_failed,
			 r->first_nsid, nvof_status_str(r->first_status, words, sizeof(words)));
}

static int run_all(struct cli *cli, const struct args *args, struct results *r)
{
	struct conn c;
	int ret = conn_prepare(&c, &args->conn, CONN_IO), bad = EXIT_OK;

	for (uint32_t i = 0; i < args->runs && !ret && !r->stop.sig && !stop_look(&r->stop); i++)
		ret = one_run(&c, args, r);
	conn_close(&c);
	if (r->stop.sig)
		ret = EXIT_OK;
	if (!ret || r->nr_runs)
		bad = report(cli, args, r);
	return ret ? ret : bad;
}

static int bench_disconnect(struct cli *cli, const struct args *args, struct results *r)
{
	int ret = stop_begin(&r->stop);

	if (ret)
		return cli_error(cli, ret, "signalfd: %s", strerror(-ret));
	r->times = calloc(args->runs, sizeof(*r->times));
	if (!r->times)
		abort();
	ret = run_all(cli, args, r);
	free(r->times);
	return ret;
}

int cmd_bench_disconnect(struct cli *cli, int argc, char **argv)
{
	struct args args = { .runs = 5 };
	struct results r = { .stop = { .fd = -1 } };
	int ret;

	conn_args_init(&args.conn, cli);
	ret = conn_parse(&usage, (struct opt_group[]){ { "Options", opts, &args }, { 0 } }, &args.conn, argc, argv);
	if (ret == OPTS_GO) {
		ret = bench_disconnect(cli, &args, &r);
		stop_end(&r.stop);
	}
	conn_args_clear(&args.conn);
	stop_raise(&r.stop);
	return ret;
}
