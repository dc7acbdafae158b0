/* SPDX-License-Identifier: BSD-3-Clause */
/* bench io: the loop that keeps the I/Os in flight. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/bench_io.h"
#include "cli/bench_pattern.h"
#include "cli/progress.h"

#define PAGE_LEN	4096u
#define HUGE_LEN	(2u << 20)
#define LOOK_EVERY_NS	(50 * NSEC_PER_MSEC) /* at signals, the progress line, the time when nothing completes */
#define GRACE_NS	(10 * NSEC_PER_SEC)  /* for what is in flight at the end */
#define GRACE_SIGNAL_NS NSEC_PER_SEC	     /* after a signal: the whole must end within 2 s */

enum phase { PHASE_LOAD, PHASE_READ_BACK, PHASE_STOP };

struct bench;

struct io {
	struct bench *b;
	struct io *next; /* in b->waiting */
	struct nvof_hctx *hctx;
	unsigned int hctx_nr;
	uint8_t *buf;
	uint64_t start_ns, unit; /* units: I/O-sized pieces of the region */
	bool read;
	bool known; /* a read: what is there was known when it was sent */
};

struct bench {
	const struct bench_args *args;
	struct conn *c;
	struct nvof_ns *ns;
	struct bench_result *r;
	enum phase phase;
	uint64_t now, measure_ns, end_ns; /* clock; measure_ns: results count from here */
	bool measuring, ended, lost;	  /* ended: io-size or the region to read back is used up; lost: the ctrl takes nothing any more */
	uint64_t first_lba, nr_units, *seq; /* seq: the next unit of each hctx */
	uint64_t rng, started_bytes, back_unit;
	uint32_t nlb, block_len;
	uint8_t *written; /* --verify: a bit per unit */
	struct io *ios, *waiting;
	size_t nr_ios, nr_flying, arena_len;
	uint8_t *arena;
	int signal_fd;
	struct rusage usage;
	struct progress progress;
};

/* ------------------------------------------------------------------------------------------------------------------ where and what */

/* xorshift64*: good enough to choose places. */
static uint64_t rng_next(struct bench *b)
{
	b->rng ^= b->rng >> 12;
	b->rng ^= b->rng << 25;
	b->rng ^= b->rng >> 27;
	return b->rng * UINT64_C(2685821657736338717);
}

static uint64_t rng_below(struct bench *b, uint64_t n)
{
	return (uint64_t)((unsigned __int128)rng_next(b) * n >> 64);
}

static bool bit_get(const uint8_t *bits, uint64_t i)
{
	return bits[i / 8] >> i % 8 & 1;
}

static void bit_set(uint8_t *bits, uint64_t i)
{
	bits[i / 8] |= (uint8_t)(1u << i % 8);
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
	io->read = true;
	b->back_unit += !b->ended;
}

/* ------------------------------------------------------------------------------------------------------------------ one I/O */

static void count_error(struct bench *b, const struct io *io, int status)
{
	if (b->r->errors++)
		return;
	b->r->first_error = status;
	snprintf(b->r->first_error_at, sizeof(b->r->first_error_at), "%s of block %" PRIu64, io->read ? "read" : "write", lba_of(b, io));
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

static void io_start(struct bench *b, struct io *io);

static void io_ended(void *arg, const struct nvof_cpl *cpl)
{
	struct io *io = arg;
	struct bench *b = io->b;

	b->nr_flying--;
	b->now = clock_ns();
	if (cpl->status) {
		count_error(b, io, cpl->status);
	} else {
		if (b->measuring) {
			hist_add(&b->r->lat, b->now - io->start_ns);
			b->r->nr_reads += io->read;
			b->r->nr_writes += !io->read;
		}
		if (b->args->verify && io->read)
			check_data(b, io);
		else if (b->written && !io->read)
			bit_set(b->written, io->unit);
	}
	io_start(b, io);
}

static int io_submit(struct bench *b, struct io *io)
{
	if (io->read)
		return nvof_read(io->hctx, b->ns, lba_of(b, io), b->nlb, io->buf, 0, io_ended, io);
	return nvof_write(io->hctx, b->ns, lba_of(b, io), b->nlb, io->buf, 0, io_ended, io);
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
		io->next = b->waiting;
		b->waiting = io;
	} else {
		/* Not one of its I/Os went wrong, nothing goes any more. */
		if (!b->lost)
			count_error(b, io, ret);
		b->lost = true;
	}
}

static void io_start(struct bench *b, struct io *io)
{
	if (b->phase == PHASE_STOP || b->lost || b->ended)
		return;
	if (b->phase == PHASE_LOAD)
		choose_load(b, io);
	else
		choose_read_back(b, io);
	if (b->ended)
		return;
	if (!io->read && b->args->verify)
		pattern_fill(io->buf, lba_of(b, io), b->nlb, b->block_len, b->args->seed);
	io_send(b, io);
}

static void retry_waiting(struct bench *b)
{
	struct io *io = b->waiting, *next;

	b->waiting = NULL;
	for (; io; io = next) {
		next = io->next;
		if (b->phase != PHASE_STOP && !b->lost)
			io_send(b, io);
	}
}

/* ------------------------------------------------------------------------------------------------------------------ the clock */

static double cpu_s(const struct timeval *from, const struct timeval *to)
{
	return (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_usec - from->tv_usec) / 1e6;
}

static void measure_begin(struct bench *b)
{
	getrusage(RUSAGE_SELF, &b->usage);
	b->measure_ns = b->now;
	b->measuring = true;
}

static void measure_end(struct bench *b)
{
	struct rusage usage;

	if (!b->measuring)
		return;
	b->measuring = false;
	getrusage(RUSAGE_SELF, &usage);
	b->r->seconds = (double)(b->now - b->measure_ns) / NSEC_PER_SEC;
	b->r->user_s = cpu_s(&b->usage.ru_utime, &usage.ru_utime);
	b->r->sys_s = cpu_s(&b->usage.ru_stime, &usage.ru_stime);
	b->r->bytes = (b->r->nr_reads + b->r->nr_writes) * b->args->bs;
}

static bool new_signal(struct bench *b)
{
	struct signalfd_siginfo info;

	if (read(b->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return false;
	b->r->interrupted = true;
	return true;
}

static void say_progress(struct bench *b)
{
	uint64_t n = b->r->nr_reads + b->r->nr_writes, ns = b->now - b->measure_ns;
	char rate[16];

	if (b->phase == PHASE_READ_BACK)
		progress_say(&b->progress, "reading back, %" PRIu64 " %%", b->back_unit * 100 / b->nr_units);
	else if (!b->measuring || !ns)
		progress_say(&b->progress, "warming up");
	else
		progress_say(&b->progress, "%.0f IOPS, %s/s, %.0f s left", (double)n * NSEC_PER_SEC / (double)ns,
			     bytes_text((double)(n * b->args->bs) * NSEC_PER_SEC / (double)ns, rate),
			     b->end_ns > b->now ? (double)(b->end_ns - b->now) / NSEC_PER_SEC : 0);
}

/* Turns until `until` (0: no limit), until nothing is in flight any more, or until a signal. */
static void turn(struct bench *b, uint64_t until)
{
	uint64_t look = b->now + LOOK_EVERY_NS;

	while (b->nr_flying || b->waiting) {
		uint64_t wake = until ? min_u64(until, look) : look;
		int64_t timeout_us = wake > b->now ? (int64_t)((wake - b->now) / NSEC_PER_USEC) + 1 : 0;

		uint64_t before = b->now;

		/* Something may go on all the time and yet no I/O ends. */
		nvof_ctx_poll(b->c->ctx, b->args->poll ? 0 : timeout_us);
		if (b->now == before)
			b->now = clock_ns();
		if (b->waiting)
			retry_waiting(b);
		if (until && b->now >= until)
			return;
		if (b->now < look)
			continue;
		look = b->now + LOOK_EVERY_NS;
		if (new_signal(b))
			return;
		say_progress(b);
	}
}

static void start_all(struct bench *b)
{
	b->ended = false;
	b->now = clock_ns();
	for (size_t i = 0; i < b->nr_ios; i++)
		io_start(b, &b->ios[i]);
}

/* Lets what is in flight end; gives up on what does not. */
static void drain(struct bench *b)
{
	b->phase = PHASE_STOP;
	b->waiting = NULL;
	b->now = clock_ns();
	if (!b->r->interrupted)
		turn(b, b->now + GRACE_NS);
	if (b->r->interrupted)
		turn(b, b->now + GRACE_SIGNAL_NS);
	if (!b->nr_flying)
		return;
	b->r->nr_lost = (unsigned int)b->nr_flying;
	/* Ends them with -ECANCELED from inside, so that the buffers are ours again. */
	nvof_ctrl_free(b->c->ctrl);
	b->c->ctrl = NULL;
}

static void run_load(struct bench *b)
{
	b->phase = PHASE_LOAD;
	b->now = clock_ns();
	b->end_ns = b->now + (b->args->warmup_ms + b->args->runtime_ms) * NSEC_PER_MSEC;
	if (!b->args->warmup_ms)
		measure_begin(b);
	start_all(b);
	if (b->args->warmup_ms) {
		turn(b, b->now + b->args->warmup_ms * NSEC_PER_MSEC);
		measure_begin(b);
	}
	if (!b->r->interrupted)
		turn(b, b->end_ns);
	measure_end(b);
	drain(b);
}

static void run_read_back(struct bench *b)
{
	b->phase = PHASE_READ_BACK;
	start_all(b);
	turn(b, 0);
	drain(b);
}

/* ------------------------------------------------------------------------------------------------------------------ set-up */

static int no_memory(struct bench *b, size_t len)
{
	return cli_error(b->c->cli, -ENOMEM, "no memory for buffers of %zu bytes in all", len);
}

/* One arena for all buffers, page-aligned, in huge pages where there are some, touched before the clock runs. */
static int make_arena(struct bench *b)
{
	size_t stride = (b->args->bs + PAGE_LEN - 1) & ~(size_t)(PAGE_LEN - 1);
	void *p;

	b->arena_len = (b->nr_ios * stride + HUGE_LEN - 1) & ~(size_t)(HUGE_LEN - 1);
	p = mmap(NULL, b->arena_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return no_memory(b, b->arena_len);
	b->arena = p;
	madvise(p, b->arena_len, MADV_HUGEPAGE);
	for (size_t i = 0; i < b->arena_len / sizeof(uint64_t); i++)
		((uint64_t *)p)[i] = rng_next(b);
	for (size_t i = 0; i < b->nr_ios; i++)
		b->ios[i].buf = b->arena + i * stride;
	return EXIT_OK;
}

static int make_ios(struct bench *b)
{
	unsigned int nr_hctx = b->r->nr_hctx;

	b->nr_ios = (size_t)nr_hctx * b->args->iodepth;
	b->ios = calloc(b->nr_ios, sizeof(*b->ios));
	b->seq = calloc(nr_hctx, sizeof(*b->seq));
	if (b->args->verify && bench_writes(b->args)) {
		b->written = calloc(1, b->nr_units / 8 + 1);
		if (!b->written)
			return no_memory(b, b->nr_units / 8 + 1);
	}
	if (!b->ios || !b->seq)
		return no_memory(b, b->nr_ios * sizeof(*b->ios));
	/* Sequential kinds: each hctx begins at its own part and goes round. */
	for (unsigned int i = 0; i < nr_hctx; i++)
		b->seq[i] = b->nr_units / nr_hctx * i;
	for (size_t i = 0; i < b->nr_ios; i++) {
		struct io *io = &b->ios[i];

		io->b = b;
		io->hctx_nr = (unsigned int)(i % nr_hctx);
		io->hctx = nvof_ctrl_hctx(b->c->ctrl, io->hctx_nr);
	}
	return make_arena(b);
}

static void bench_init(struct bench *b, struct conn *c, const struct bench_args *args, struct nvof_ns *ns, struct bench_result *r)
{
	*b = (struct bench){ .args = args, .c = c, .ns = ns, .r = r, .signal_fd = -1 };
	b->block_len = nvof_ns_block_size(ns);
	b->nlb = (uint32_t)(args->bs / b->block_len);
	b->first_lba = args->offset / b->block_len;
	b->nr_units = args->size / args->bs;
	b->rng = args->seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	r->nr_hctx = args->nr_hctx ? args->nr_hctx : nvof_ctrl_nr_hctx(c->ctrl);
	hist_reset(&r->lat);
	progress_start(&b->progress, args->rw_name, 0);
}

int bench_run(struct conn *c, const struct bench_args *args, struct nvof_ns *ns, struct bench_result *r)
{
	struct bench b;
	sigset_t stop, old;
	int ret;

	bench_init(&b, c, args, ns, r);
	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigprocmask(SIG_BLOCK, &stop, &old);
	b.signal_fd = signalfd(-1, &stop, SFD_NONBLOCK | SFD_CLOEXEC);
	ret = b.signal_fd < 0 ? cli_error(c->cli, -errno, "signalfd: %s", strerror(errno)) : make_ios(&b);
	if (!ret) {
		run_load(&b);
		if (b.written && !b.lost && !r->interrupted && c->ctrl)
			run_read_back(&b);
	}
	progress_end(&b.progress);
	if (b.signal_fd >= 0)
		close(b.signal_fd);
	/* From here on a signal ends the program: the disconnect of a silent peer may take long. */
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (b.arena)
		munmap(b.arena, b.arena_len);
	free(b.written);
	free(b.seq);
	free(b.ios);
	return ret;
}
