/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way of an I/O to a subsystem: a slot, a path, the path's own way; at its end the user's callback, or another try.
 *
 * What failed is repeated as a whole.  A command that the ctrl answered with a path status was not carried out, and goes on at once.  One
 * whose connection was lost may still be carried out by the ctrl: reads go on at once, what changes data waits until that can't happen any
 * more (ctrl_settled()), for it would undo what was written since.
 */
#include <errno.h>
#include <stdlib.h>

#include "host/ctrl.h"
#include "host/mpath.h"
#include "host/retry.h"

#define SLOTS_PER_CHUNK 64
#define SLOTS_MIN	128 /* of a hctx without paths: so many may wait for the first */

struct mpath_chunk {
	struct mpath_chunk *next;
	struct mpath_io slots[SLOTS_PER_CHUNK];
};

/* ---- slots ---- */

/* As many as all paths together take; never fewer than there were, so no more can wait than could be under way. */
static void set_limit(struct mpath_hctx *mh)
{
	uint32_t sum = 0;
	struct path *p;

	cds_list_for_each_entry (p, &mh->hctx.subsys->paths, link) {
		const struct nvof_hctx *hctx = path_hctx(p, mh->nr);

		if (hctx)
			sum += hctx->tags->limit;
	}
	mh->limit = max_u32(mh->limit, max_u32(sum, SLOTS_MIN));
}

struct mpath_hctx *mpath_hctx_new(struct nvof_subsystem *s, uint32_t nr)
{
	struct mpath_hctx *mh = calloc(1, sizeof(*mh));

	if (!mh)
		return NULL;
	mh->hctx.subsys = s;
	mh->hctx.nr_queues = 1; /* nothing is split before it has a path */
	mh->nr = nr;
	set_limit(mh);
	return mh;
}

void mpath_hctx_free(struct mpath_hctx *mh)
{
	struct mpath_chunk *c = mh->chunks, *next;

	for (; c; c = next) {
		next = c->next;
		free(c);
	}
	free(mh);
}

static bool slots_grow(struct mpath_hctx *mh)
{
	struct mpath_chunk *c = calloc(1, sizeof(*c));
	uint32_t i;

	if (!c)
		return false;
	c->next = mh->chunks;
	mh->chunks = c;
	for (i = SLOTS_PER_CHUNK; i--;) {
		c->slots[i].mh = mh;
		c->slots[i].next = mh->free;
		mh->free = &c->slots[i];
	}
	return true;
}

static struct mpath_io *slot_get(struct mpath_hctx *mh)
{
	struct mpath_io *m;

	if (unlikely(mh->nr_busy >= mh->limit)) {
		set_limit(mh);
		if (mh->nr_busy >= mh->limit)
			return NULL;
	}
	if (unlikely(!mh->free) && !slots_grow(mh))
		return NULL;
	m = mh->free;
	mh->free = m->next;
	mh->nr_busy++;
	return m;
}

static void slot_put(struct mpath_io *m)
{
	m->next = m->mh->free;
	m->mh->free = m;
	m->mh->nr_busy--;
}

/* ---- the end of a try ---- */

void mpath_end(struct mpath_io *m, const struct nvof_cpl *cpl)
{
	struct nvof_subsystem *s = m->head->s;
	nvof_cb *cb = m->cb;
	void *arg = m->arg;

	m->head->ns.nr_inflight--;
	slot_put(m);
	if (unlikely(s->nr_waiting))
		mpath_kick(s); /* there is room for one */
	cb(arg, cpl);
}

/* Carried out twice, or late, these change nothing. */
static bool harmless(uint8_t opcode)
{
	return opcode == nvme_cmd_read || opcode == nvme_cmd_compare || opcode == nvme_cmd_verify || opcode == nvme_cmd_flush;
}

/* The ctrl said that it has not carried it out, and why that may be another matter elsewhere or later. */
static bool answered(struct mpath_io *m, int status)
{
	struct path_ns *there = head_path(m->head, m->path);
	uint64_t delay_ns;

	if (status & NVME_STATUS_DNR)
		return false;
	if (NVME_STATUS_CODE(status) >> 8 == NVME_SCT_PATH) {
		if (there)
			path_ns_error(there, status);
		mpath_again(m, 0);
		return true;
	}
	/* Its namespace was taken away there while it was under way. */
	if (NVME_STATUS_CODE(status) == NVME_STATUS(NVME_SCT_GENERIC, NVME_SC_ABORT_REQ) && !there) {
		mpath_again(m, 0);
		return true;
	}
	if (retry_wanted(m->path->ctrl, status, &delay_ns)) {
		mpath_again(m, delay_ns);
		return true;
	}
	return false;
}

/* True: it is tried again. */
static bool failed(struct mpath_io *m, int status)
{
	m->status = status;
	if (m->head->s->closing || m->nr_retries == MPATH_MAX_RETRIES)
		return false;
	if (status > 0) {
		if (!answered(m, status))
			return false;
	} else if (harmless(m->io.opcode) || ctrl_settled(m->path->ctrl)) {
		mpath_again(m, 0);
	} else {
		mpath_settle(m);
	}
	m->path->nr_failed++;
	m->nr_retries++;
	return true;
}

static void mpath_done(void *arg, const struct nvof_cpl *cpl)
{
	struct mpath_io *m = arg;

	m->path->nr_active--;
	if (unlikely(cpl->status) && failed(m, cpl->status))
		return;
	mpath_end(m, cpl);
}

/* ---- its beginning ---- */

int mpath_start(struct mpath_io *m)
{
	struct path_ns *pn = mpath_pick(m->head, m->mh->nr);
	int ret;

	if (unlikely(!pn))
		return -ENOTCONN;
	m->io.ns = pn->ns;
	ret = io_start(path_hctx(pn->path, m->mh->nr), &m->io, m->buf);
	if (unlikely(ret))
		return ret;
	m->path = pn->path;
	pn->path->nr_active++;
	pn->path->nr_ios++;
	return 0;
}

int mpath_submit(struct nvof_hctx *hctx, const struct io *io, void *buf)
{
	struct mpath_hctx *mh = to_mpath_hctx(hctx);
	struct mpath_io *m;
	int ret;

	if (hctx->subsys->closing)
		return -ENOTCONN;
	if (io->ns->ctrl || to_head(io->ns)->s != hctx->subsys || !io->nlb)
		return -EINVAL;
	if (io->ns->end_status)
		return io->ns->end_status;
	if (io_has_range(io) && (io->slba >= io->ns->nr_blocks || io->nlb > io->ns->nr_blocks - io->slba))
		return -ERANGE;
	m = slot_get(mh);
	if (!m)
		return -EAGAIN;
	m->io = *io;
	m->io.cb = mpath_done;
	m->io.arg = m;
	m->io.failover = true;
	m->buf = buf;
	m->head = to_head(io->ns);
	m->cb = io->cb;
	m->arg = io->arg;
	m->status = 0;
	m->nr_retries = 0;
	m->not_before = m->since = 0;
	ret = mpath_start(m);
	if (unlikely(ret == -ENOTCONN))
		ret = mpath_wait(m);
	if (unlikely(ret))
		slot_put(m);
	else
		io->ns->nr_inflight++;
	return ret;
}

unsigned int mpath_nr_free(const struct nvof_hctx *hctx)
{
	const struct mpath_hctx *mh = container_of(hctx, const struct mpath_hctx, hctx);

	return hctx->subsys->closing || mh->nr_busy >= mh->limit ? 0 : mh->limit - mh->nr_busy;
}
