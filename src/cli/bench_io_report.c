/* SPDX-License-Identifier: BSD-3-Clause */
/* bench io: what came out, for people and for scripts. */
#include <inttypes.h>
#include <stdio.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/bench_io.h"
#include "cli/progress.h"

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
	json_object *o = json_object_new_double(v);

	json_object_set_serializer(o, json_object_double_to_json_string, (void *)(uintptr_t) "%.3f", NULL);
	json_object_object_add(to, key, o);
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

static json_object *error_json(const struct bench_result *r)
{
	json_object *o = json_object_new_object();
	char words[160];

	json_object_object_add(o, "status", json_object_new_int(r->first_error));
	json_object_object_add(o, "status_text", json_object_new_string(nvof_status_str(r->first_error, words, sizeof(words))));
	json_object_object_add(o, "at", json_object_new_string(r->first_error_at));
	return o;
}

static json_object *verify_json(const struct bench_result *r)
{
	json_object *o = json_object_new_object();

	add_number(o, "checked", r->nr_checked);
	add_number(o, "mismatches", r->nr_mismatches);
	if (r->nr_mismatches)
		json_object_object_add(o, "first", json_object_new_string(r->first_mismatch));
	return o;
}

static json_object *result_json(const struct conn *c, const struct bench_args *args, const struct bench_result *r)
{
	json_object *doc = cli_json_new(), *cpu = json_object_new_object();

	json_object_object_add(doc, "rw", json_object_new_string(args->rw_name));
	add_number(doc, "bs", args->bs);
	add_number(doc, "iodepth", args->iodepth);
	add_number(doc, "nr_hctx", r->nr_hctx);
	if (c->ctrl)
		add_number(doc, "nr_io_queues", nvof_ctrl_nr_io_queues(c->ctrl));
	add_double(doc, "seconds", r->seconds);
	add_double(doc, "iops", per_second(r, nr_ios(r)));
	add_double(doc, "bytes_per_s", per_second(r, r->bytes));
	add_number(doc, "reads", r->nr_reads);
	add_number(doc, "writes", r->nr_writes);
	json_object_object_add(doc, "lat_us", lat_json(&r->lat));
	add_number(doc, "errors", r->errors);
	if (r->errors)
		json_object_object_add(doc, "first_error", error_json(r));
	if (args->verify)
		json_object_object_add(doc, "verify", verify_json(r));
	if (r->interrupted)
		json_object_object_add(doc, "interrupted", json_object_new_boolean(true));
	json_object_object_add(doc, "cpu", cpu);
	add_double(cpu, "user_s", r->user_s);
	add_double(cpu, "sys_s", r->sys_s);
	return doc;
}

static void print_result(const struct bench_args *args, const struct bench_result *r)
{
	const struct hist *lat = &r->lat;
	char bs[24], rate[16];

	printf("%s, %s, %u hctx%s with %" PRIu32 " in flight, %.1f s%s\n", args->rw_name, size_format(args->bs, bs), r->nr_hctx,
	       r->nr_hctx == 1 ? "" : "s", args->iodepth, r->seconds, r->interrupted ? " (interrupted)" : "");
	printf("  IOPS       %.0f\n", per_second(r, nr_ios(r)));
	printf("  bandwidth  %s/s\n", bytes_text(per_second(r, r->bytes), rate));
	printf("  latency    mean %.1f us, p50 %.1f, p99 %.1f, p99.9 %.1f, max %.1f\n", US(hist_mean(lat)), US(hist_quantile(lat, 0.5)),
	       US(hist_quantile(lat, 0.99)), US(hist_quantile(lat, 0.999)), US(lat->n ? lat->max : 0));
	printf("  CPU        user %.2f s, system %.2f s\n", r->user_s, r->sys_s);
	if (args->verify)
		printf("  verified   %" PRIu64 " I/Os, %" PRIu64 " wrong\n", r->nr_checked, r->nr_mismatches);
	printf("  errors     %" PRIu64 "\n", r->errors);
}

static int complain(struct conn *c, const struct bench_result *r)
{
	int ret = EXIT_OK;
	char what[128];

	if (r->nr_mismatches)
		ret = cli_error(c->cli, 0, "--verify: %s; %" PRIu64 " I/Os are wrong", r->first_mismatch, r->nr_mismatches);
	if (r->errors) {
		snprintf(what, sizeof(what), "%" PRIu64 " errors, the first: %s", r->errors, r->first_error_at);
		ret = conn_status(c, r->first_error, what);
	}
	if (r->nr_lost && !r->interrupted)
		ret = cli_error(c->cli, 0, "%u I/Os were not answered", r->nr_lost);
	return ret;
}

int bench_report(struct conn *c, const struct bench_args *args, const struct bench_result *r)
{
	int ret = EXIT_OK, bad;

	if (c->cli->json)
		ret = cli_json(c->cli, result_json(c, args, r));
	else
		print_result(args, r);
	bad = complain(c, r);
	return ret ? ret : bad;
}
