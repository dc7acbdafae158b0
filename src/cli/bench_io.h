/* SPDX-License-Identifier: BSD-3-Clause */
/* bench io: what was asked for, the run, and what came out of it. */
#ifndef NVOF_CLI_BENCH_IO_H
#define NVOF_CLI_BENCH_IO_H

#include "base/hist.h"
#include "cli/conn.h"

enum bench_rw { RW_RANDREAD, RW_RANDWRITE, RW_READ, RW_WRITE, RW_RANDRW };

struct bench_args {
	struct conn_args conn;
	enum bench_rw rw;
	const char *rw_name;
	uint64_t bs, runtime_ms, warmup_ms, size, offset, io_size; /* size 0: to the end; io_size 0: no limit */
	uint64_t seed;
	uint32_t iodepth, nr_hctx, rwmixread; /* nr_hctx 0: all */
	int cpu;			      /* -1: not pinned */
	bool verify, poll;
};

/* What a run measured; the caller's, zeroed before. */
struct bench_result {
	struct hist lat; /* ns */
	uint64_t nr_reads, nr_writes, bytes;
	uint64_t errors;
	int first_error;		    /* status */
	char first_error_at[64];	    /* "read of block 8" */
	uint64_t nr_checked, nr_mismatches; /* --verify, in I/Os */
	char first_mismatch[160];
	double seconds, user_s, sys_s;
	unsigned int nr_hctx, nr_lost; /* lost: never ended */
	bool interrupted;
};

static inline bool bench_writes(const struct bench_args *args)
{
	return args->rw != RW_RANDREAD && args->rw != RW_READ;
}
static inline bool bench_is_random(const struct bench_args *args)
{
	return args->rw != RW_READ && args->rw != RW_WRITE;
}

/* Measures on a connected ctrl.  EXIT_OK with a result, errors of I/Os included; or what cli_error() returned. */
int bench_run(struct conn *c, const struct bench_args *args, struct nvof_ns *ns, struct bench_result *r);
/* Prints it.  EXIT_OK, or EXIT_FAILED when something of it went wrong. */
int bench_report(struct conn *c, const struct bench_args *args, const struct bench_result *r);

#endif
