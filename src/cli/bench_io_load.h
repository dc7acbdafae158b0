/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside bench io: a run under way. */
#ifndef NVOF_CLI_BENCH_IO_LOAD_H
#define NVOF_CLI_BENCH_IO_LOAD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "cli/bench_io.h"
#include "cli/progress.h"
#include "cli/stop.h"

enum phase { PHASE_LOAD, PHASE_READ_BACK, PHASE_STOP };

struct bench;

/* One of the I/Os that are kept in flight. */
struct io {
	struct bench *b;
	struct io *next; /* in b->waiting */
	struct nvof_hctx *hctx;
	unsigned int hctx_nr;
	uint8_t *buf;
	uint64_t start_ns, unit; /* units: I/O-sized pieces of the region */
	bool read;
	bool back;  /* of what this run wrote, to check it */
	bool anew;  /* in b->waiting: it chooses again */
	bool known; /* a read: what is there was known when it was sent */
};

struct bench {
	const struct bench_args *args;
	struct conn *c;
	struct nvof_ns *ns;
	struct bench_result *r;
	enum phase phase;
	uint64_t now, measure_ns, end_ns; /* clock; measure_ns: results count from here */
	uint64_t clock_every, clock_left; /* I/Os that may end without a look at it */
	bool measuring, ended, lost;	  /* ended: io-size or the region to read back is used up; lost: the ctrl takes nothing any more */
	bool given_up;			  /* what ends now was cut off by us */
	uint64_t first_lba, nr_units, *seq; /* seq: the next unit of each hctx */
	uint64_t rng, started_bytes, back_unit;
	uint32_t nlb, block_len;
	uint8_t *written; /* --verify: a bit per unit */
	struct io *ios, *waiting;
	int refused; /* why it was lost, and what was to be sent then */
	struct io refused_io;
	size_t nr_ios, nr_flying, arena_len;
	uint8_t *arena;
	struct stop stop;
	struct rusage usage;
	struct progress progress;
};

/* bench_io_setup.c: EXIT_OK, or what cli_error() returned; bench_tear_down() is fine after both. */
int bench_set_up(struct bench *b, struct conn *c, const struct bench_args *args, struct nvof_ns *ns, struct bench_result *r);
void bench_tear_down(struct bench *b);

/* bench_io_each.c */
uint64_t bench_rng_next(struct bench *b);
/* Chooses what the next one does, and sends it; or not, when there is no more to do. */
void bench_io_start(struct bench *b, struct io *io);
/* Those for which there was no room. */
void bench_io_retry(struct bench *b);
void bench_io_words(const struct bench *b, const struct io *io, char words[BENCH_IO_WORDS]);
void bench_count_error(struct bench *b, const struct io *io, int status);
/* Places that are to be read back. */
uint64_t bench_nr_written(const struct bench *b);

/* bench_io_run.c: once; later it does nothing. */
void bench_measure_end(struct bench *b);

/* bench_io_turn.c */
/* Turns until `until` (0: no limit), until nothing is in flight any more, or until a signal. */
void bench_turn(struct bench *b, uint64_t until);
/* Lets what is in flight end; gives up on what does not. */
void bench_drain(struct bench *b);

#endif
