/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures random reads of what demo_verify() wrote, through one queue, with a fixed number in flight. */
#include <stdlib.h>

#include "base/util.h"
#include "cli/demo.h"

#define WARM_UP_NS (50 * NSEC_PER_MSEC)

struct run {
	struct demo *demo;
	struct demo_io *io;
	struct nvof_hctx *hctx;
	uint64_t random, counts_from, end;
	unsigned int nr_inflight;
	int status; /* the first that was not 0 */
};

struct slot {
	struct run *run;
	unsigned char *buf;
	uint64_t start;
};

static uint64_t next_random(struct run *run)
{
	run->random ^= run->random << 13;
	run->random ^= run->random >> 7;
	run->random ^= run->random << 17;
	return run->random;
}

static void read_done(void *arg, const struct nvof_cpl *cpl);

static void read_next(struct slot *slot)
{
	struct run *run = slot->run;
	struct nvof_ns *ns = run->demo->ns[next_random(run) % run->demo->nr_namespaces];
	uint32_t nlb = run->io->bytes / nvof_ns_block_size(ns);
	int ret;

	slot->start = clock_ns();
	ret = nvof_read(run->hctx, ns, next_random(run) % (DEMO_VERIFY_LEN / run->io->bytes) * nlb, nlb, slot->buf, 0, read_done, slot);
	if (!ret)
		run->nr_inflight++;
	else if (!run->status)
		run->status = ret;
}

static void read_done(void *arg, const struct nvof_cpl *cpl)
{
	struct slot *slot = arg;
	struct run *run = slot->run;
	uint64_t now = clock_ns();

	run->nr_inflight--;
	if (cpl->status && !run->status)
		run->status = cpl->status;
	/* On a machine that stood still the time is up before one read has ended: then it is up with the first. */
	if (now > run->end && !run->io->nr_ios)
		run->end = now;
	if (now > run->counts_from && now <= run->end) {
		run->io->nr_ios++;
		hist_add(&run->io->lat, now - slot->start);
	}
	if (now < run->end && !run->status)
		read_next(slot);
}

static int measure(struct demo *demo, struct demo_io *io)
{
	struct run run = { .demo = demo, .io = io, .hctx = nvof_ctrl_hctx(demo->ctrl, 0), .random = 88172645463325252 };
	struct slot *slots = calloc(io->depth, sizeof(*slots));
	unsigned char *bufs = calloc(io->depth, io->bytes);
	char words[160];
	int ret = EXIT_OK;

	if (!slots || !bufs) {
		ret = cli_error(demo->cli, 0, "out of memory");
		goto out;
	}
	hist_reset(&io->lat);
	run.counts_from = clock_ns() + WARM_UP_NS;
	run.end = run.counts_from + demo->runtime_ms * NSEC_PER_MSEC;
	for (unsigned int i = 0; i < io->depth; i++) {
		slots[i] = (struct slot){ .run = &run, .buf = bufs + (size_t)i * io->bytes };
		read_next(&slots[i]);
	}
	while (run.nr_inflight)
		nvof_ctx_poll(demo->ctx, -1);
	io->elapsed_ns = run.end - run.counts_from;
	if (run.status)
		ret = cli_error(demo->cli, run.status, "reading %s: %s", io->name, nvof_status_str(run.status, words, sizeof(words)));
out:
	free(slots);
	free(bufs);
	return ret;
}

int demo_io(struct demo *demo)
{
	static const struct {
		const char *name, *progress;
		uint32_t bytes;
		unsigned int depth;
	} runs[DEMO_NR_IO] = {
		{ "4 KiB, one at a time", "reading 4 KiB, one at a time", 4096, 1 },
		{ "4 KiB, 64 at a time", "reading 4 KiB, 64 at a time", 4096, 64 },
		{ "1 MiB, 8 at a time", "reading 1 MiB, 8 at a time", 1 << 20, 8 },
	};
	int ret = EXIT_OK;

	for (size_t i = 0; ret == EXIT_OK && i < DEMO_NR_IO; i++) {
		struct demo_io *io = &demo->io[i];

		demo_progress(demo, runs[i].progress);
		io->name = runs[i].name;
		io->bytes = runs[i].bytes;
		io->depth = runs[i].depth;
		ret = measure(demo, io);
	}
	return ret;
}
