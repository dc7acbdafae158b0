/* SPDX-License-Identifier: BSD-3-Clause */
/* bench io: what was asked for, the run, and what came out of it. */
#ifndef NVOF_CLI_BENCH_IO_H
#define NVOF_CLI_BENCH_IO_H

#include "base/hist.h"
#include "cli/conn.h"
#include "cli/ns_words.h"

#define BENCH_GRACE_S 10u /* for what is in flight when the time is over, while the ctrl is live */

#define BENCH_IO_WORDS 96

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
	bool compare;
	uint32_t rounds; /* of compare; 0: not given */
	const char *svg; /* NULL: none */
};

#define BENCH_MAX_PATHS 64

/* How one path was used. */
struct bench_path {
	char address[192];
	unsigned int cntlid;
	const char *state, *ana_state;	/* at the end; ana_state NULL: it did not lead to the namespace */
	json_object *other;		/* owned: what has the namespace's id there and is not the same one; NULL: nothing */
	char other_words[NS_WORDS_LEN]; /* the same */
	uint64_t nr_ios, nr_failed;
};

/* What a run measured; the caller's, zeroed before. */
struct bench_result {
	struct hist lat; /* ns */
	uint64_t nr_reads, nr_writes, bytes;
	uint64_t errors;
	int first_error;		     /* status */
	char first_error_at[BENCH_IO_WORDS]; /* "read of block 8" */
	int stopped;			     /* why nothing was taken any more; 0: the run was a whole one */
	char stopped_at[BENCH_IO_WORDS];
	uint64_t nr_checked, nr_mismatches; /* --verify, in I/Os */
	uint64_t nr_written, nr_read_back;  /* places that were to be read back after the run, and were */
	char first_mismatch[160];
	double seconds, user_s, sys_s, own_s; /* of CPU time: all, and of the thread that submits */
	unsigned int nr_threads;	      /* I/O threads, and each one's CPU time */
	double *threads_s;		      /* owned */
	unsigned int nr_hctx, nr_io_queues;   /* when the run began */
	unsigned int iodepth;		      /* what went at once on each hctx, of the many that were asked for */
	unsigned int nr_lost;		      /* never ended */
	bool interrupted;
	struct bench_path paths[BENCH_MAX_PATHS]; /* of a subsystem by several ctrls */
	size_t nr_paths;
	struct stop stop; /* by what signal: stop_raise() */
};

static inline bool bench_writes(const struct bench_args *args)
{
	return args->rw != RW_RANDREAD && args->rw != RW_READ;
}
static inline bool bench_is_random(const struct bench_args *args)
{
	return args->rw != RW_READ && args->rw != RW_WRITE;
}

void bench_result_clear(struct bench_result *r);
/* Measures on a connected ctrl.  EXIT_OK with a result, errors of I/Os included; or what cli_error() returned. */
int bench_run(struct conn *c, const struct bench_args *args, struct nvof_ns *ns, struct bench_result *r);
/* The same with all that comes before: the namespace, what of the arguments only it can tell, the CPU. */
int bench_measure(struct conn *c, struct bench_args *args, struct bench_result *r);
/* What went wrong in it: EXIT_OK, or what cli_error() returned. */
int bench_complain(struct conn *c, const struct bench_args *args, const struct bench_result *r);
/* Prints it.  EXIT_OK, or EXIT_FAILED when something of it went wrong. */
int bench_report(struct conn *c, const struct bench_args *args, const struct bench_result *r);

#endif
