/* SPDX-License-Identifier: BSD-3-Clause */
/* bench io: buffers and I/Os of a run. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/util.h"
#include "cli/bench_io_load.h"

#define PAGE_LEN    4096u
#define HUGE_LEN    (2u << 20)
#define CLOCK_BYTES (64u << 10) /* of I/Os that end one right after the other: one look at the clock */

static int no_memory(struct bench *b, size_t len)
{
	return cli_error(b->c->cli, -ENOMEM, "no memory for buffers of %zu bytes in all", len);
}

/* One arena for all buffers, page-aligned, in huge pages where there are some, touched before the clock runs, known to RDMA devices. */
static int make_arena(struct bench *b)
{
	size_t stride = (b->args->bs + PAGE_LEN - 1) & ~(size_t)(PAGE_LEN - 1);
	void *p;

	b->arena_len = (b->nr_ios * stride + HUGE_LEN - 1) & ~(size_t)(HUGE_LEN - 1);
	p = mmap(NULL, b->arena_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return no_memory(b, b->arena_len);
	b->arena = p;
	if (nvof_buf_register(b->c->ctx, p, b->arena_len))
		return no_memory(b, b->arena_len);
	madvise(p, b->arena_len, MADV_HUGEPAGE);
	for (size_t i = 0; i < b->arena_len / sizeof(uint64_t); i++)
		((uint64_t *)p)[i] = bench_rng_next(b);
	for (size_t i = 0; i < b->nr_ios; i++)
		b->ios[i].buf = b->arena + i * stride;
	return EXIT_OK;
}

static int make_ios(struct bench *b)
{
	unsigned int nr_hctx = b->r->nr_hctx;

	b->nr_ios = (size_t)nr_hctx * b->args->iodepth;
	b->ios = calloc(b->nr_ios, sizeof(*b->ios));
	b->r->threads_s = calloc(b->r->nr_threads + 1, sizeof(*b->r->threads_s));
	b->seq = calloc(nr_hctx, sizeof(*b->seq));
	if (b->args->verify && bench_writes(b->args)) {
		b->written = calloc(1, b->nr_units / 8 + 1);
		if (!b->written)
			return no_memory(b, b->nr_units / 8 + 1);
	}
	if (!b->ios || !b->seq || !b->r->threads_s)
		return no_memory(b, b->nr_ios * sizeof(*b->ios));
	/* Sequential kinds: each hctx begins at its own part and goes round. */
	for (unsigned int i = 0; i < nr_hctx; i++)
		b->seq[i] = b->nr_units / nr_hctx * i;
	for (size_t i = 0; i < b->nr_ios; i++) {
		struct io *io = &b->ios[i];

		io->b = b;
		io->hctx_nr = (unsigned int)(i % nr_hctx);
		io->hctx = conn_hctx(b->c, io->hctx_nr);
	}
	return make_arena(b);
}

static void init(struct bench *b, struct conn *c, const struct bench_args *args, struct nvof_ns *ns, struct bench_result *r)
{
	struct nvof_io_thread info;

	*b = (struct bench){ .args = args, .c = c, .ns = ns, .r = r };
	b->block_len = nvof_ns_block_size(ns);
	b->nlb = (uint32_t)(args->bs / b->block_len);
	b->first_lba = args->offset / b->block_len;
	b->nr_units = args->size / args->bs;
	b->clock_every = CLOCK_BYTES / args->bs;
	b->rng = args->seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	r->nr_hctx = args->nr_hctx ? args->nr_hctx : conn_nr_hctx(c);
	r->nr_io_queues = conn_nr_io_queues(c);
	while (conn_io_thread(c, r->nr_threads, &info))
		r->nr_threads++;
	hist_reset(&r->lat);
	progress_start(&b->progress, args->rw_name, 0);
}

int bench_set_up(struct bench *b, struct conn *c, const struct bench_args *args, struct nvof_ns *ns, struct bench_result *r)
{
	int ret;

	init(b, c, args, ns, r);
	ret = stop_begin(&b->stop);
	return ret ? cli_error(c->cli, ret, "signalfd: %s", strerror(-ret)) : make_ios(b);
}

void bench_tear_down(struct bench *b)
{
	if (b->arena) {
		nvof_buf_unregister(b->c->ctx, b->arena);
		munmap(b->arena, b->arena_len);
	}
	free(b->written);
	free(b->seq);
	free(b->ios);
}
