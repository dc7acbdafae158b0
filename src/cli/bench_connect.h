/* SPDX-License-Identifier: BSD-3-Clause */
/* bench connect: one ctrl several times, or all that a discovery service tells of. */
#ifndef NVOF_CLI_BENCH_CONNECT_H
#define NVOF_CLI_BENCH_CONNECT_H

#include "cli/columns.h"
#include "cli/conn.h"
#include "cli/setup_trace.h"

struct bench_connect_args {
	struct conn_args conn;
	uint32_t runs;
	const char *trace; /* NULL: none */
	bool from_discovery;
};

/* What several runs leave; the times are each kind's own. */
struct bench_connect_results {
	uint32_t nr_runs; /* that are whole */
	struct setup_states *states;
	struct setup_trace trace;
	struct stop stop;
	unsigned int nr_queues, nr_ctrls; /* of the last run */
};

/* One run: measures into *times.  EXIT_*. */
typedef int bench_connect_run(struct conn *c, const struct bench_connect_args *args, struct bench_connect_results *r, void *times);

/* bench_wave.c: --from-discovery. */
int bench_wave_run(struct conn *c, const struct bench_connect_args *args, struct bench_connect_results *r, void *times);
extern const struct column bench_wave_columns[];
#define BENCH_WAVE_SIZE (3 * sizeof(double)) /* of times */

#endif
