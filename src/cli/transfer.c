/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/progress.h"
#include "cli/transfer.h"

#define CHUNK_LEN	(256u << 10)
#define SLOTS_PER_HCTX	8u
#define SLOTS_MAX	64u
#define COMPARE_FAILURE 0x285
#define STATUS_MASK	0x7ff

enum slot_state { SLOT_FREE, SLOT_READY /* filled, to be submitted */, SLOT_FLYING, SLOT_ENDED };

struct run;

struct slot {
	struct run *run;
	uint8_t *buf;
	enum slot_state state;
	uint64_t slba;
	uint32_t nlb;
	size_t done; /* bytes of it that came from, or went to, the file */
	int status;
};

struct run {
	const struct transfer *t;
	size_t block_size, chunk_blocks, nr_slots;
	uint64_t nr_chunks, head, next; /* chunks: the oldest one not retired, the next one to start */
	struct slot *slots;
	size_t nr_flying;
	bool regular;	  /* the file never makes us wait */
	bool file_waits;  /* it would, now */
	bool eof, broken; /* nothing more is started */
	struct progress progress;
};

/* ------------------------------------------------------------------------------------------------------------------ the file */

/* Reads or writes what goes without waiting.  Bytes; 0: none now; -errno. */
static ssize_t file_io(struct run *r, uint8_t *buf, size_t len)
{
	bool in = r->t->op != TRANSFER_READ;
	struct pollfd pfd = { .fd = r->t->fd, .events = in ? POLLIN : POLLOUT };
	ssize_t n;

	if (!r->regular) {
		if (poll(&pfd, 1, 0) < 1) {
			r->file_waits = true;
			return 0;
		}
		/* A writable pipe takes this much without blocking. */
		if (!in)
			len = min_size(len, PIPE_BUF);
	}
	do
		n = in ? read(r->t->fd, buf, len) : write(r->t->fd, buf, len);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN) {
		r->file_waits = true;
		return 0;
	}
	if (n < 0)
		return -errno;
	r->eof = in && !n;
	return n;
}

static size_t slot_len(const struct run *r, const struct slot *slot)
{
	return slot->nlb * r->block_size;
}

/* Moves the rest of a slot's bytes.  1: all; 0: has to wait, or the input has ended; -errno. */
static int slot_file(struct run *r, struct slot *slot)
{
	while (slot->done < slot_len(r, slot)) {
		ssize_t n = file_io(r, slot->buf + slot->done, slot_len(r, slot) - slot->done);

		if (n < 0)
			return (int)n;
		if (!n)
			return 0;
		slot->done += (size_t)n;
	}
	return 1;
}

static int file_failed(struct run *r, int err)
{
	r->broken = true;
	return cli_error(r->t->conn->cli, err, "%s: %s", r->t->fd_name, strerror(-err));
}

static int input_ended(struct run *r, const struct slot *slot)
{
	uint64_t had = r->next * r->chunk_blocks * r->block_size + slot->done;

	r->broken = true;
	return cli_error(r->t->conn->cli, 0, "%s ended after %" PRIu64 " of %" PRIu64 " bytes", r->t->fd_name, had,
			 r->t->nr_blocks * r->block_size);
}

/* ------------------------------------------------------------------------------------------------------------------ the namespace */

static void slot_ended(void *arg, const struct nvof_cpl *cpl)
{
	struct slot *slot = arg;

	slot->state = SLOT_ENDED;
	slot->status = cpl->status;
	slot->run->nr_flying--;
}

/* 0, or -EAGAIN. */
static int slot_submit(struct run *r, struct slot *slot)
{
	const struct transfer *t = r->t;
	struct nvof_hctx *hctx = conn_hctx(t->conn, (unsigned int)(r->next % conn_nr_hctx(t->conn)));
	int ret;

	if (t->op == TRANSFER_READ)
		ret = nvof_read(hctx, t->ns, slot->slba, slot->nlb, slot->buf, t->io_flags, slot_ended, slot);
	else if (t->op == TRANSFER_WRITE)
		ret = nvof_write(hctx, t->ns, slot->slba, slot->nlb, slot->buf, t->io_flags, slot_ended, slot);
	else
		ret = nvof_compare(hctx, t->ns, slot->slba, slot->nlb, slot->buf, t->io_flags, slot_ended, slot);
	if (ret == -EAGAIN)
		return ret;
	slot->status = ret;
	slot->state = ret ? SLOT_ENDED : SLOT_FLYING;
	r->nr_flying += !ret;
	return 0;
}

static struct slot *slot_of(struct run *r, uint64_t chunk)
{
	return &r->slots[chunk % r->nr_slots];
}

/* Starts chunks as long as there is room and input.  EXIT_OK, or what cli_error() returned. */
static int start_chunks(struct run *r)
{
	while (!r->broken && r->next < r->nr_chunks && r->next < r->head + r->nr_slots) {
		struct slot *slot = slot_of(r, r->next);
		int ret;

		if (slot->state == SLOT_FREE && !slot->nlb) {
			slot->slba = r->t->slba + r->next * r->chunk_blocks;
			slot->nlb = (uint32_t)min_u64(r->chunk_blocks, r->t->nr_blocks - r->next * r->chunk_blocks);
			slot->done = 0;
		}
		if (slot->state == SLOT_FREE && r->t->op != TRANSFER_READ) {
			ret = slot_file(r, slot);
			if (ret < 0)
				return file_failed(r, ret);
			if (!ret)
				return r->eof ? input_ended(r, slot) : EXIT_OK;
		}
		slot->state = SLOT_READY;
		if (slot_submit(r, slot))
			return EXIT_OK;
		r->next++;
	}
	return EXIT_OK;
}

/* Where the data differ, exactly: the ctrl only says that they do. */
static int tell_difference(struct run *r, const struct slot *slot)
{
	struct conn *c = r->t->conn;
	uint8_t *there = malloc(slot_len(r, slot));
	size_t at = 0;

	if (!there || nvof_read_sync(conn_hctx(c, 0), r->t->ns, slot->slba, slot->nlb, there, 0)) {
		free(there);
		return cli_error(c->cli, slot->status, "differs somewhere in blocks %" PRIu64 " to %" PRIu64, slot->slba,
				 slot->slba + slot->nlb - 1);
	}
	while (at < slot_len(r, slot) && there[at] == slot->buf[at])
		at++;
	free(there);
	if (at == slot_len(r, slot))
		return cli_error(c->cli, slot->status, "differed somewhere in blocks %" PRIu64 " to %" PRIu64 ", but no longer does",
				 slot->slba, slot->slba + slot->nlb - 1);
	return cli_error(c->cli, slot->status, "differs at byte %" PRIu64 " (block %" PRIu64 ", byte %zu of it)",
			 (slot->slba - r->t->slba) * r->block_size + at, slot->slba + at / r->block_size, at % r->block_size);
}

static int chunk_failed(struct run *r, const struct slot *slot)
{
	static const char *const names[] = { "read", "write", "compare" };
	char what[96];

	r->broken = true;
	while (r->nr_flying)
		nvof_ctx_poll(r->t->conn->ctx, -1);
	if (r->t->op == TRANSFER_COMPARE && (slot->status & STATUS_MASK) == COMPARE_FAILURE && slot->status > 0)
		return tell_difference(r, slot);
	snprintf(what, sizeof(what), "%s of blocks %" PRIu64 " to %" PRIu64, names[r->t->op], slot->slba, slot->slba + slot->nlb - 1);
	return conn_status(r->t->conn, slot->status, what);
}

/* Retires chunks that have ended, in order. */
static int retire_chunks(struct run *r, bool *progressed)
{
	while (r->head < r->next && slot_of(r, r->head)->state == SLOT_ENDED) {
		struct slot *slot = slot_of(r, r->head);
		int ret;

		progress_update(&r->progress, r->head * r->chunk_blocks * r->block_size);
		if (slot->status)
			return chunk_failed(r, slot);
		if (r->t->op == TRANSFER_READ) {
			ret = slot_file(r, slot);
			if (ret < 0)
				return file_failed(r, ret);
			if (!ret)
				return EXIT_OK;
		}
		slot->state = SLOT_FREE;
		slot->nlb = 0;
		r->head++;
		*progressed = true;
	}
	return EXIT_OK;
}

/* ------------------------------------------------------------------------------------------------------------------ all of it */

/* Until a command ends, or the file goes on. */
static void wait_for_work(struct run *r)
{
	struct nvof_ctx *ctx = r->t->conn->ctx;
	struct pollfd pfd[] = {
		{ .fd = nvof_ctx_fd(ctx), .events = POLLIN },
		{ .fd = r->t->fd, .events = r->t->op == TRANSFER_READ ? POLLOUT : POLLIN },
	};

	if (!r->file_waits) {
		nvof_ctx_poll(ctx, -1);
		return;
	}
	if (nvof_ctx_prepare_wait(ctx))
		poll(pfd, ARRAY_SIZE(pfd), -1);
	nvof_ctx_poll(ctx, 0);
}

static int run_chunks(struct run *r)
{
	int ret = EXIT_OK;

	while (r->head < r->nr_chunks) {
		bool progressed = false;
		uint64_t next = r->next;

		r->file_waits = false;
		ret = start_chunks(r);
		if (!ret)
			ret = retire_chunks(r, &progressed);
		if (ret)
			break;
		if (progressed || next != r->next)
			nvof_ctx_poll(r->t->conn->ctx, 0);
		else
			wait_for_work(r);
	}
	while (r->nr_flying)
		nvof_ctx_poll(r->t->conn->ctx, -1);
	return ret;
}

static int run_init(struct run *r, const struct transfer *t)
{
	unsigned int nr_hctx = conn_nr_hctx(t->conn);
	struct stat st;

	*r = (struct run){ .t = t, .block_size = nvof_ns_block_size(t->ns) };
	r->regular = !fstat(t->fd, &st) && (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode));
	r->chunk_blocks = min_size(CHUNK_LEN, nvof_ctrl_max_transfer(t->conn->ctrl)) / r->block_size;
	r->nr_chunks = (t->nr_blocks + r->chunk_blocks - 1) / r->chunk_blocks;
	r->nr_slots = min_size(min_size(SLOTS_PER_HCTX * nr_hctx, SLOTS_MAX), r->nr_chunks);
	r->slots = calloc(r->nr_slots, sizeof(*r->slots));
	for (size_t i = 0; r->slots && i < r->nr_slots; i++) {
		r->slots[i].run = r;
		r->slots[i].buf = aligned_alloc(4096, CHUNK_LEN);
		if (!r->slots[i].buf)
			return cli_error(t->conn->cli, -ENOMEM, "no memory for %zu buffers of %u bytes", r->nr_slots, CHUNK_LEN);
	}
	return r->slots ? EXIT_OK : cli_error(t->conn->cli, -ENOMEM, "no memory");
}

int transfer_run(const struct transfer *t)
{
	static const char *const names[] = { "reading", "writing", "comparing" };
	struct run r;
	int ret = run_init(&r, t);

	if (!ret) {
		progress_start(&r.progress, names[t->op], t->nr_blocks * r.block_size);
		ret = run_chunks(&r);
		progress_end(&r.progress);
	}
	for (size_t i = 0; r.slots && i < r.nr_slots; i++)
		free(r.slots[i].buf);
	free(r.slots);
	return ret;
}
