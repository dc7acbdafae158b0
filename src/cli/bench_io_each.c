/* SPDX-License-Identifier: BSD-3-Clause */
/* bench io: what each I/O does, and what becomes of it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/util.h"
#include "cli/bench_io_load.h"
#include "cli/bench_pattern.h"

/* xorshift64*: good enough to choose places. */
uint64_t bench_rng_next(struct bench *b)
{
	b->rng ^= b->rng >> 12;
	b->rng ^= b->rng << 25;
	b->rng ^= b->rng >> 27;
	return b->rng * UINT64_C(2685821657736338717);
}

static uint64_t rng_below(struct bench *b, uint64_t n)
{
	return (uint64_t)((unsigned __int128)bench_rng_next(b) * n >> 64);
}

static bool bit_get(const uint8_t *bits, uint64_t i)
{
	return bits[i / 8] >> i % 8 & 1;
}

static void bit_set(uint8_t *bits, uint64_t i)
{
	bits[i / 8] |= (uint8_t)(1u << i % 8);
}

uint64_t bench_nr_written(const struct bench *b)
{
	uint64_t n = 0;

	for (uint64_t i = 0; b->written && i < b->nr_units; i++)
		n += bit_get(b->written, i);
	return n;
}

static uint64_t lba_of(const struct bench *b, const struct io *io)
{
	return b->first_lba + io->unit * b->nlb;
}

static void choose_load(struct bench *b, struct io *io)
{
	const struct bench_args *args = b->args;

	if (bench_is_random(args)) {
		io->unit = rng_below(b, b->nr_units);
	} else {
		uint64_t *seq = &b->seq[io->hctx_nr];

		io->unit = *seq;
		*seq = *seq + 1 == b->nr_units ? 0 : *seq + 1;
	}
	io->read = args->rw == RW_RANDREAD || args->rw == RW_READ || (args->rw == RW_RANDRW && rng_below(b, 100) < args->rwmixread);
	if (args->io_size) {
		b->ended = b->started_bytes >= args->io_size;
		b->started_bytes += args->bs;
	}
}

static void choose_read_back(struct bench *b, struct io *io)
{
	while (b->back_unit < b->nr_units && !bit_get(b->written, b->back_unit))
		b->back_unit++;
	b->ended = b->back_unit == b->nr_units;
	io->unit = b->back_unit;
	io->read = io->back = true;
	b->back_unit += !b->ended;
}

/* The library knows how long the namespace is now (0: it is gone), and refuses what is beyond that. */
static bool beyond_end(const struct bench *b, const struct io *io)
{
	uint64_t nr_blocks = nvof_ns_nr_blocks(b->ns);

	return nr_blocks && lba_of(b, io) + b->nlb > nr_blocks;
}

void bench_io_words(const struct bench *b, const struct io *io, char words[BENCH_IO_WORDS])
{
	int n = snprintf(words, BENCH_IO_WORDS, "%s of block %" PRIu64, io->read ? "read" : "write", lba_of(b, io));

	if (beyond_end(b, io))
		snprintf(words + n, BENCH_IO_WORDS - (size_t)n, " of a namespace of %" PRIu64 " blocks", nvof_ns_nr_blocks(b->ns));
}

void bench_count_error(struct bench *b, const struct io *io, int status)
{
	if (b->r->errors++)
		return;
	b->r->first_error = status;
	bench_io_words(b, io, b->r->first_error_at);
}

static void check_data(struct bench *b, struct io *io)
{
	char why[160];

	if (!io->known)
		return;
	b->r->nr_checked++;
	if (pattern_check(io->buf, lba_of(b, io), b->nlb, b->block_len, b->args->seed, why, sizeof(why)))
		return;
	if (!b->r->nr_mismatches++)
		snprintf(b->r->first_mismatch, sizeof(b->r->first_mismatch), "%s", why);
}

/*
 * I/Os that end together end at the same time: asking the clock for each would be a good part of what a small one costs.  What is sent in
 * answer to them begins then, too, so this makes no latency longer or shorter.
 */
static void clock_look(struct bench *b)
{
	if (b->clock_left) {
		b->clock_left--;
		return;
	}
	b->now = clock_ns();
	b->clock_left = b->clock_every;
}

static void io_ended(void *arg, const struct nvof_cpl *cpl)
{
	struct io *io = arg;
	struct bench *b = io->b;

	b->nr_flying--;
	if (b->given_up)
		return;
	clock_look(b);
	if (cpl->status) {
		bench_count_error(b, io, cpl->status);
	} else {
		if (b->measuring) {
			hist_add(&b->r->lat, b->now - io->start_ns);
			b->r->nr_reads += io->read;
			b->r->nr_writes += !io->read;
		}
		b->r->nr_read_back += io->back;
		if (b->args->verify && io->read)
			check_data(b, io);
		else if (b->written && !io->read)
			bit_set(b->written, io->unit);
	}
	bench_io_start(b, io);
}

static int io_submit(struct bench *b, struct io *io)
{
	if (io->read)
		return nvof_read(io->hctx, b->ns, lba_of(b, io), b->nlb, io->buf, 0, io_ended, io);
	return nvof_write(io->hctx, b->ns, lba_of(b, io), b->nlb, io->buf, 0, io_ended, io);
}

/* anew: it is not to be sent (again) but to choose what it does next. */
static void io_wait(struct bench *b, struct io *io, bool anew)
{
	io->anew = anew;
	io->next = b->waiting;
	b->waiting = io;
}

static void io_send(struct bench *b, struct io *io)
{
	int ret;

	io->start_ns = b->now;
	/* Only if this run wrote it, or if it is to be trusted that an earlier one did.  A write under way may be seen or not. */
	io->known = !b->written || bit_get(b->written, io->unit);
	ret = io_submit(b, io);
	if (!ret) {
		b->nr_flying++;
	} else if (ret == -EAGAIN) {
		io_wait(b, io, false);
	} else if (ret == -ERANGE) {
		/* The namespace became smaller: an I/O that failed, as one that the ctrl refuses.  The next one is for the next turn. */
		bench_count_error(b, io, ret);
		io_wait(b, io, true);
	} else if (!b->lost) {
		b->lost = true;
		b->refused = ret;
		b->refused_io = *io;
	}
}

void bench_io_start(struct bench *b, struct io *io)
{
	if (b->phase == PHASE_STOP || b->lost || b->ended)
		return;
	if (b->phase == PHASE_LOAD)
		choose_load(b, io);
	else
		choose_read_back(b, io);
	for (; b->phase == PHASE_READ_BACK && !b->ended && beyond_end(b, io); choose_read_back(b, io))
		bench_count_error(b, io, -ERANGE);
	if (b->ended)
		return;
	if (!io->read && b->args->verify)
		pattern_fill(io->buf, lba_of(b, io), b->nlb, b->block_len, b->args->seed);
	io_send(b, io);
}

void bench_io_retry(struct bench *b)
{
	struct io *io = b->waiting, *next;

	b->waiting = NULL;
	for (; io; io = next) {
		next = io->next;
		if (io->anew)
			bench_io_start(b, io);
		else if (b->phase != PHASE_STOP && !b->lost)
			io_send(b, io);
	}
}
