/* SPDX-License-Identifier: BSD-3-Clause */
/* bench io --compare: the table, for people and for scripts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/bench_compare.h"
#include "cli/text.h"

const struct measure compare_measures[] = {
	{ "iops", "IOPS", "", offsetof(struct sample, iops), 1, 0, true },
	{ "bytes_per_s", "MB/s", "MB/s", offsetof(struct sample, bytes_per_s), 1e-6, 0, true },
	{ "p50_us", "p50 us", "us", offsetof(struct sample, p50_us), 1, 0, false },
	{ "p99_us", "p99 us", "us", offsetof(struct sample, p99_us), 1, 0, false },
	{ "cpu_us", "CPU us/IO", "us", offsetof(struct sample, cpu_us), 1, 2, false },
	{ "connect_ms", "connect ms", "ms", offsetof(struct sample, connect_ms), 1, 2, false },
	{ "memory_kib", "memory KiB", "KiB", offsetof(struct sample, memory_kib), 1, 0, false },
	{ 0 },
};

static double value_of(const struct sample *s, const struct measure *m)
{
	return *(const double *)((const char *)s + m->offset);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double compared_median(const struct compared *c, size_t variant, const struct measure *m)
{
	double values[COMPARE_MAX_ROUNDS];
	uint32_t n = compared_nr_runs(c, variant);

	for (uint32_t i = 0; i < n; i++)
		values[i] = value_of(compared_sample(c, variant, i), m);
	qsort(values, n, sizeof(*values), by_value);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static json_object *variant_json(const struct compared *c, size_t variant)
{
	json_object *o = json_object_new_object(), *runs = json_object_new_array(), *median = json_object_new_object();
	const struct variant *v = &c->variants[variant];

	json_object_object_add(o, "name", json_object_new_string(v->name));
	json_object_object_add(o, "nr_ctrls", json_object_new_int((int)v->nr_ctrls));
	json_object_object_add(o, "nr_hctx", json_object_new_int((int)variant_nr_hctx(v)));
	json_object_object_add(o, "nr_io_queues", json_object_new_int((int)(v->nr_ctrls * v->nr_io_queues)));
	json_object_object_add(o, "connections", json_object_new_int((int)variant_nr_connections(v)));
	json_object_object_add(o, "runs", runs);
	for (uint32_t i = 0; i < compared_nr_runs(c, variant); i++) {
		json_object *run = json_object_new_object();

		for (const struct measure *m = compare_measures; m->key; m++)
			json_object_object_add(run, m->key, number_json(value_of(compared_sample(c, variant, i), m)));
		json_object_array_add(runs, run);
	}
	if (compared_nr_runs(c, variant)) {
		json_object_object_add(o, "median", median);
		for (const struct measure *m = compare_measures; m->key; m++)
			json_object_object_add(median, m->key, number_json(compared_median(c, variant, m)));
	} else {
		json_object_put(median);
	}
	return o;
}

static json_object *compared_json(const struct cli *cli, const struct compared *c)
{
	json_object *doc = cli_json_new(), *variants = json_object_new_array();

	json_object_object_add(doc, "rw", json_object_new_string(c->args->rw_name));
	json_object_object_add(doc, "bs", json_object_new_uint64(c->args->bs));
	json_object_object_add(doc, "iodepth", json_object_new_int((int)c->args->iodepth));
	json_object_object_add(doc, "rounds", json_object_new_int((int)compared_nr_rounds(c)));
	json_object_object_add(doc, "seconds", number_json((double)c->args->runtime_ms / 1000));
	if (c->interrupted)
		json_object_object_add(doc, "interrupted", json_object_new_boolean(true));
	json_object_object_add(doc, "variants", variants);
	for (size_t i = 0; i < c->nr_variants; i++)
		json_object_array_add(variants, variant_json(c, i));
	cli_json_failure(cli, doc);
	return doc;
}

static void print_variant(const struct compared *c, size_t variant)
{
	const struct variant *v = &c->variants[variant];

	printf("%-24s%6u%7u%12u", v->name, v->nr_ctrls, v->nr_ctrls * v->nr_io_queues, variant_nr_connections(v));
	for (const struct measure *m = compare_measures; m->key; m++) {
		if (compared_nr_runs(c, variant))
			printf("%12.*f", m->digits, compared_median(c, variant, m) * m->scale);
		else
			printf("%12s", "-");
	}
	putchar('\n');
}

/* What cut it short. */
static const char *why_short(const struct compared *c)
{
	if (c->interrupted)
		return " (interrupted)";
	return c->nr_samples < c->args->rounds * c->nr_variants ? " (one more measurement failed)" : "";
}

static void print_compared(const struct compared *c)
{
	uint32_t nr_rounds = compared_nr_rounds(c);
	char bs[24];

	printf("%s, %s, %" PRIu32 " in flight in all, medians of %" PRIu32 " round%s of %.3g s%s%s\n", c->args->rw_name,
	       size_format(c->args->bs, bs), c->args->iodepth, nr_rounds, nr_rounds == 1 ? "" : "s", (double)c->args->runtime_ms / 1000,
	       c->nr_samples % c->nr_variants ? " and a part of one" : "", why_short(c));
	if (!c->nr_samples)
		return;
	printf("%-24s%6s%7s%12s", "", "ctrls", "queues", "connections");
	for (const struct measure *m = compare_measures; m->key; m++)
		printf("%12s", m->title);
	putchar('\n');
	for (size_t i = 0; i < c->nr_variants; i++)
		print_variant(c, i);
}

int bench_compare_report(struct cli *cli, const struct compared *c)
{
	if (cli->json)
		return cli_json(cli, compared_json(cli, c));
	print_compared(c);
	return cli_flush(cli);
}
