/* SPDX-License-Identifier: BSD-3-Clause */
/* bench io --compare: ways to give one submitter several connections, measured beside one another. */
#ifndef NVOF_CLI_BENCH_COMPARE_H
#define NVOF_CLI_BENCH_COMPARE_H

#include <stdio.h>

#include "cli/bench_io.h"

#define COMPARE_MAX_VARIANTS 6
#define COMPARE_MAX_ROUNDS   100

struct variant {
	char name[48];
	uint32_t nr_ctrls, nr_io_queues, queues_per_hctx; /* queues: of each ctrl */
	enum nvof_iopolicy iopolicy;
};

/* One measurement; all doubles, so that each has a median. */
struct sample {
	double iops, bytes_per_s, p50_us, p99_us, cpu_us; /* CPU: of an I/O */
	double connect_ms, memory_kib;
};

struct compared {
	const struct bench_args *args;
	struct variant variants[COMPARE_MAX_VARIANTS];
	size_t nr_variants;
	struct sample *samples; /* round by round */
	size_t nr_samples;	/* measured so far: the last round may be a part of one */
	FILE *svg;		/* NULL: none is wanted */
	bool interrupted;
};

static inline unsigned int variant_nr_hctx(const struct variant *v)
{
	return v->nr_io_queues / v->queues_per_hctx;
}
static inline unsigned int variant_nr_connections(const struct variant *v)
{
	return v->nr_ctrls * (v->nr_io_queues + 1);
}
static inline uint32_t compared_nr_rounds(const struct compared *c) /* whole ones */
{
	return (uint32_t)(c->nr_samples / c->nr_variants);
}
static inline uint32_t compared_nr_runs(const struct compared *c, size_t variant)
{
	return compared_nr_rounds(c) + (variant < c->nr_samples % c->nr_variants);
}
static inline const struct sample *compared_sample(const struct compared *c, size_t variant, uint32_t round)
{
	return &c->samples[round * c->nr_variants + variant];
}

/* How a sample is shown. */
struct measure {
	const char *key, *title, *unit;
	size_t offset;
	double scale; /* of the shown figure */
	int digits;
	bool more_is_better;
};
extern const struct measure compare_measures[]; /* ends with a NULL key */
/* Of a variant that has runs. */
double compared_median(const struct compared *c, size_t variant, const struct measure *m);

int bench_compare(struct cli *cli, struct bench_args *args);
int bench_compare_report(struct cli *cli, const struct compared *c);
/* The picture: its file, before anything is measured, and what is in it, once.  EXIT_OK or what cli_argument_error() returned. */
int bench_compare_svg_open(struct cli *cli, struct compared *c);
int bench_compare_svg(struct cli *cli, struct compared *c);

#endif
