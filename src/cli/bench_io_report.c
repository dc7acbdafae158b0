/* SPDX-License-Identifier: BSD-3-Clause */
/* bench io: what came out, for people and for scripts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/bench_io.h"
#include "cli/progress.h"
#include "cli/text.h"

#define US(ns) ((double)(ns) / NSEC_PER_USEC)

static uint64_t nr_ios(const struct bench_result *r)
{
	return r->nr_reads + r->nr_writes;
}

static double per_second(const struct bench_result *r, uint64_t n)
{
	return r->seconds > 0 ? (double)n / r->seconds : 0;
}

static void add_double(json_object *to, const char *key, double v)
{
	json_object_object_add(to, key, number_json(v));
}

static void add_number(json_object *to, const char *key, uint64_t n)
{
	json_object_object_add(to, key, json_object_new_uint64(n));
}

static json_object *lat_json(const struct hist *lat)
{
	json_object *o = json_object_new_object();

	add_double(o, "mean", US(hist_mean(lat)));
	add_double(o, "min", US(lat->n ? lat->min : 0));
	add_double(o, "p50", US(hist_quantile(lat, 0.5)));
	add_double(o, "p90", US(hist_quantile(lat, 0.9)));
	add_double(o, "p99", US(hist_quantile(lat, 0.99)));
	add_double(o, "p999", US(hist_quantile(lat, 0.999)));
	add_double(o, "max", US(lat->n ? lat->max : 0));
	return o;
}

static json_object *error_json(int status, const char *at)
{
	json_object *o = json_object_new_object();
	char words[160];

	json_object_object_add(o, "status", json_object_new_int(status));
	json_object_object_add(o, "status_text", json_object_new_string(nvof_status_str(status, words, sizeof(words))));
	json_object_object_add(o, "at", json_object_new_string(at));
	return o;
}

static json_object *verify_json(const struct bench_args *args, const struct bench_result *r)
{
	json_object *o = json_object_new_object();

	add_number(o, "checked", r->nr_checked);
	add_number(o, "mismatches", r->nr_mismatches);
	if (bench_writes(args)) {
		add_number(o, "written", r->nr_written);
		add_number(o, "read_back", r->nr_read_back);
	}
	if (r->nr_mismatches)
		json_object_object_add(o, "first", json_object_new_string(r->first_mismatch));
	return o;
}

static json_object *threads_json(const struct bench_result *r)
{
	json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < r->nr_threads; i++)
		json_object_array_add(list, number_json(r->threads_s[i]));
	return list;
}

static json_object *paths_json(const struct bench_result *r)
{
	json_object *paths = json_object_new_array();

	for (size_t i = 0; i < r->nr_paths; i++) {
		const struct bench_path *p = &r->paths[i];
		json_object *o = json_object_new_object();

		json_object_object_add(o, "address", json_object_new_string(p->address));
		add_number(o, "cntlid", p->cntlid);
		json_object_object_add(o, "state", json_object_new_string(p->state));
		json_object_object_add(o, "ana_state", p->ana_state ? json_object_new_string(p->ana_state) : NULL);
		json_object_object_add(o, "namespace", json_object_new_string(p->ana_state ? "same" : p->other ? "other" : "none"));
		if (p->other)
			json_object_object_add(o, "other_namespace", json_object_get(p->other));
		add_number(o, "ios", p->nr_ios);
		add_number(o, "tried_again", p->nr_failed);
		json_object_array_add(paths, o);
	}
	return paths;
}

static json_object *result_json(const struct conn *c, const struct bench_args *args, const struct bench_result *r)
{
	json_object *doc = cli_json_new(), *cpu = json_object_new_object();

	json_object_object_add(doc, "rw", json_object_new_string(args->rw_name));
	add_number(doc, "bs", args->bs);
	add_number(doc, "iodepth", r->iodepth);
	add_number(doc, "iodepth_asked", args->iodepth);
	add_number(doc, "nr_hctx", r->nr_hctx);
	conn_queues_json((uint64_t)args->conn.nr_io_queues * (r->nr_paths ? r->nr_paths : 1), r->nr_io_queues, doc);
	add_double(doc, "seconds", r->seconds);
	add_double(doc, "iops", per_second(r, nr_ios(r)));
	add_double(doc, "bytes_per_s", per_second(r, r->bytes));
	add_number(doc, "reads", r->nr_reads);
	add_number(doc, "writes", r->nr_writes);
	json_object_object_add(doc, "lat_us", lat_json(&r->lat));
	add_number(doc, "errors", r->errors);
	if (r->errors)
		json_object_object_add(doc, "first_error", error_json(r->first_error, r->first_error_at));
	if (r->stopped)
		json_object_object_add(doc, "stopped", error_json(r->stopped, r->stopped_at));
	if (r->nr_lost)
		add_number(doc, "unanswered", r->nr_lost);
	if (args->verify)
		json_object_object_add(doc, "verify", verify_json(args, r));
	if (r->interrupted)
		json_object_object_add(doc, "interrupted", json_object_new_boolean(true));
	if (r->nr_paths)
		json_object_object_add(doc, "paths", paths_json(r));
	json_object_object_add(doc, "cpu", cpu);
	add_double(cpu, "user_s", r->user_s);
	add_double(cpu, "sys_s", r->sys_s);
	add_double(cpu, "submitter_s", r->own_s);
	json_object_object_add(cpu, "io_threads_s", threads_json(r));
	return doc;
}

static void print_path(const struct bench_path *p)
{
	printf("  path       %s, ctrl %u: %s, ", p->address, p->cntlid, p->state);
	if (p->ana_state)
		printf("%s", p->ana_state);
	else if (p->other)
		printf("another namespace (%s)", p->other_words);
	else
		printf("no namespace");
	printf(", %" PRIu64 " I/Os, %" PRIu64 " tried again\n", p->nr_ios, p->nr_failed);
}

/* Of a busy thread and a bored one the sum says nothing. */
static void print_threads(const struct bench_result *r)
{
	if (!r->nr_threads || r->seconds <= 0)
		return;
	printf("  threads    submitter %.0f %%", 100 * r->own_s / r->seconds);
	for (unsigned int i = 0; i < r->nr_threads; i++)
		printf(", io-%u %.0f %%", i, 100 * r->threads_s[i] / r->seconds);
	printf(" of a CPU\n");
}

static void print_result(const struct bench_args *args, const struct bench_result *r)
{
	const struct hist *lat = &r->lat;
	char bs[24], rate[16];

	printf("%s, %s, %u hctx%s with %u in flight, %.1f s%s\n", args->rw_name, size_format(args->bs, bs), r->nr_hctx,
	       r->nr_hctx == 1 ? "" : "s", r->iodepth, r->seconds,
	       r->interrupted ? " (interrupted)"
	       : r->stopped   ? " (stopped)"
			      : "");
	printf("  IOPS       %.0f\n", per_second(r, nr_ios(r)));
	printf("  bandwidth  %s/s\n", bytes_text(per_second(r, r->bytes), rate));
	printf("  latency    mean %.1f us, p50 %.1f, p99 %.1f, p99.9 %.1f, max %.1f\n", US(hist_mean(lat)), US(hist_quantile(lat, 0.5)),
	       US(hist_quantile(lat, 0.99)), US(hist_quantile(lat, 0.999)), US(lat->n ? lat->max : 0));
	printf("  CPU        user %.2f s, system %.2f s\n", r->user_s, r->sys_s);
	print_threads(r);
	if (args->verify)
		printf("  verified   %" PRIu64 " I/Os, %" PRIu64 " wrong%s\n", r->nr_checked, r->nr_mismatches,
		       r->nr_read_back < r->nr_written ? " (not all that was written)" : "");
	for (size_t i = 0; i < r->nr_paths; i++)
		print_path(&r->paths[i]);
	printf("  errors     %" PRIu64 "\n", r->errors);
}

void bench_result_clear(struct bench_result *r)
{
	for (size_t i = 0; i < r->nr_paths; i++)
		json_object_put(r->paths[i].other);
	free(r->threads_s);
}

int bench_complain(struct conn *c, const struct bench_args *args, const struct bench_result *r)
{
	int ret = EXIT_OK;
	char what[160], words[160];

	if (r->interrupted && args->verify && bench_writes(args))
		cli_warn(c->cli, "--verify: ended by a signal: %" PRIu64 " of %" PRIu64 " places that were written were read back",
			 r->nr_read_back, r->nr_written);
	if (r->interrupted && r->nr_lost)
		cli_warn(c->cli, "%u I/Os were not answered yet", r->nr_lost);
	if (r->stopped)
		cli_warn(c->cli, "the run ended early, after %.1f s, because no more I/O was taken: %s: %s", r->seconds, r->stopped_at,
			 nvof_status_str(r->stopped, words, sizeof(words)));
	if (r->nr_mismatches)
		ret = cli_argument_error(c->cli, "--verify", 0, "--verify: %s; %" PRIu64 " I/Os are wrong", r->first_mismatch,
					 r->nr_mismatches);
	if (r->errors) {
		snprintf(what, sizeof(what), "%" PRIu64 " errors, the first: %s", r->errors, r->first_error_at);
		ret = conn_status(c, r->first_error, what);
	}
	if (r->nr_lost && !r->interrupted)
		ret = cli_error(c->cli, 0, "%u I/Os were not answered within %u s of the end", r->nr_lost, BENCH_GRACE_S);
	if (!ret && !nr_ios(r) && !r->interrupted)
		ret = cli_error(c->cli, 0, "no I/O ended while it was measured");
	return ret;
}

int bench_report(struct conn *c, const struct bench_args *args, const struct bench_result *r)
{
	int ret = EXIT_OK, bad;

	if (c->cli->json)
		ret = cli_json(c->cli, result_json(c, args, r));
	else
		print_result(args, r);
	bad = bench_complain(c, args, r);
	return ret ? ret : bad;
}
