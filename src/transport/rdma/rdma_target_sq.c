/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The send queue: RDMA READs that fetch the data of writes, RDMA WRITEs that bring that of reads, and responses.
 *
 * What waits stands in two lines, so that READs the host can't serve yet hold up no response.  A line moves on when there is room for all
 * work requests of its first, a block of registered memory for the data and, for a READ, one the host will serve.  Everything of a turn is
 * posted as one chain; of its responses only the last is signalled.
 */
#include <errno.h>
#include <string.h>

#include "transport/rdma/rdma_target.h"

#define CHAIN_MAX 64

#define INTERNAL NVME_STATUS(NVME_SCT_GENERIC, NVME_SC_INTERNAL) /* may be tried again */

struct chain {
	uint32_t nr;
	struct ibv_send_wr wrs[CHAIN_MAX];
	struct ibv_sge sges[CHAIN_MAX];
	struct ibv_send_wr *last_send;
};

void rt_respond(struct target_req *req)
{
	struct rt_slot *s = to_rt_slot(req);
	struct rt_conn *c = to_rt_conn(req->queue);

	if (!rt_conn_alive(c)) {
		rt_slot_end(c, s); /* nobody is left to hear it */
		return;
	}
	s->state = RT_RSP;
	rt_fifo_add(&c->responses, s);
	if (!c->in_batch)
		loop_defer(c->q.loop, &c->flush);
}

void rt_read_add(struct rt_conn *c, struct rt_slot *s)
{
	s->state = RT_READ;
	rt_fifo_add(&c->reads, s);
	if (!c->in_batch)
		loop_defer(c->q.loop, &c->flush);
}

void rt_bring(struct target_req *req)
{
	struct rt_slot *s = to_rt_slot(req);
	struct rt_conn *c = to_rt_conn(req->queue);

	if (rt_conn_alive(c))
		rt_read_add(c, s);
	else
		rt_slot_end(c, s);
}

bool rt_idle(const struct rt_conn *c)
{
	return !c->responses.head && !c->posted.head;
}

/* ---- data ---- */

static void copy(const struct target_req *req, uint8_t *mem, bool to_mem)
{
	size_t left = req->data_len;
	uint32_t i;

	for (i = 0; left && i < req->iovcnt; i++) {
		size_t n = min_size(req->iov[i].iov_len, left);

		memcpy(to_mem ? mem : req->iov[i].iov_base, to_mem ? req->iov[i].iov_base : mem, n);
		mem += n;
		left -= n;
	}
}

static bool has_data(const struct target_req *req)
{
	return req->dir == DATA_FROM_CTRL && !req->cqe.status && req->data_len;
}

/* ---- work requests ---- */

static struct ibv_send_wr *chain_add(struct rt_conn *c, struct chain *ch, enum ibv_wr_opcode opcode, const void *mem, uint32_t len,
				     uint32_t lkey)
{
	struct ibv_send_wr *wr = &ch->wrs[ch->nr];

	ch->sges[ch->nr] = (struct ibv_sge){ .addr = (uintptr_t)mem, .length = len, .lkey = lkey };
	*wr = (struct ibv_send_wr){ .wr_id = c->wr_head++, .sg_list = &ch->sges[ch->nr], .num_sge = 1, .opcode = opcode };
	if (ch->nr)
		ch->wrs[ch->nr - 1].next = wr;
	ch->nr++;
	return wr;
}

/* Between staging and the host's memory, as far as the data goes. */
static struct ibv_send_wr *add_rdma(struct rt_conn *c, struct chain *ch, struct rt_slot *s, enum ibv_wr_opcode opcode)
{
	uint8_t *mem = s->staging->mem;
	uint32_t i, left = s->req.data_len;
	struct ibv_send_wr *wr = NULL;

	for (i = 0; left && i < s->sgl.nr; i++) {
		uint32_t len = min_u32(s->sgl.seg[i].len, left);

		wr = chain_add(c, ch, opcode, mem, len, s->staging->lkey);
		wr->wr.rdma.remote_addr = s->sgl.seg[i].addr;
		wr->wr.rdma.rkey = s->sgl.seg[i].key;
		mem += len;
		left -= len;
	}
	return wr;
}

/* first: the number of its first work request */
static void posted(struct rt_conn *c, struct rt_slot *s, uint32_t first, bool fetching)
{
	s->nr_wr = c->wr_head - first;
	s->last_wr = c->wr_head - 1;
	s->state = RT_POSTED;
	s->fetching = fetching;
	if (!c->posted.head)
		rt_conn_watch(c);
	c->sq_used += s->nr_wr;
	c->nr_reads += fetching ? s->nr_wr : 0;
	rt_fifo_add(&c->posted, s);
}

/* Room for the work requests of s and its data.  False: s stays at the head of its line; -errno in *ret: there will never be any. */
static bool room(struct rt_conn *c, const struct chain *ch, struct rt_slot *s, uint32_t nr_wr, bool data, int *ret)
{
	*ret = 0;
	if (ch->nr + nr_wr > CHAIN_MAX || c->sq_used + nr_wr > c->sq_size)
		return false;
	if (data && !s->staging)
		*ret = rt_dev_staging(c, s->req.data_len, &s->staging);
	if (*ret == -EAGAIN)
		*ret = 0;
	return !data || s->staging;
}

static void no_memory(struct rt_conn *c, int ret, uint32_t len)
{
	char hint[96];

	rdma_memlock_hint(ret, hint, sizeof(hint));
	log_warn(c->q.log, "rdma %s: register a buffer of %u bytes: %s%s", c->q.peer, len, strerror(-ret), hint);
}

/* A READ of more pieces than the host serves at once goes alone: the device keeps to the limit itself. */
static bool read_fits(const struct rt_conn *c, uint32_t nr_wr)
{
	return !c->nr_reads || c->nr_reads + nr_wr <= c->max_reads;
}

static bool fill_read(struct rt_conn *c, struct chain *ch)
{
	struct rt_slot *s = c->reads.head;
	uint32_t first = c->wr_head;
	int ret = 0;

	if (!s || !read_fits(c, s->sgl.nr))
		return false;
	if (!room(c, ch, s, s->sgl.nr, true, &ret)) {
		if (!ret)
			return false;
		rt_fifo_pop(&c->reads);
		no_memory(c, ret, s->req.data_len);
		s->state = RT_CORE;
		target_req_reject(&s->req, INTERNAL);
		return true;
	}
	rt_fifo_pop(&c->reads);
	add_rdma(c, ch, s, IBV_WR_RDMA_READ)->send_flags = IBV_SEND_SIGNALED;
	posted(c, s, first, true);
	return true;
}

static bool fill_response(struct rt_conn *c, struct chain *ch)
{
	struct rt_slot *s = c->responses.head;
	struct nvme_cqe *cqe;
	struct ibv_send_wr *wr;
	uint32_t first = c->wr_head;
	bool data;
	int ret = 0;

	if (!s)
		return false;
	data = has_data(&s->req);
	if (!room(c, ch, s, 1 + (data ? s->sgl.nr : 0), data, &ret)) {
		if (!ret)
			return false;
		no_memory(c, ret, s->req.data_len);
		s->req.cqe.status = htole16((uint16_t)(INTERNAL << 1));
		return true; /* again, without data */
	}
	rt_fifo_pop(&c->responses);
	if (data) {
		copy(&s->req, s->staging->mem, true);
		add_rdma(c, ch, s, IBV_WR_RDMA_WRITE);
	}
	cqe = (struct nvme_cqe *)c->cqes->mem + (s - c->slots);
	*cqe = s->req.cqe;
	wr = chain_add(c, ch, IBV_WR_SEND, cqe, sizeof(*cqe), c->cqes->lkey);
	if (s->sgl.invalidate && c->dev->attr.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS) {
		wr->opcode = IBV_WR_SEND_WITH_INV;
		wr->invalidate_rkey = s->sgl.inv_key;
	}
	ch->last_send = wr;
	posted(c, s, first, false);
	return true;
}

static bool chain_post(struct rt_conn *c, struct chain *ch)
{
	struct ibv_send_wr *bad;
	int ret;

	if (!ch->nr)
		return true;
	if (ch->last_send)
		ch->last_send->send_flags |= IBV_SEND_SIGNALED;
	ret = ibv_post_send(c->id->qp, ch->wrs, &bad);
	if (ret)
		rt_conn_lost(c, "post a send: %s", strerror(ret));
	else
		loop_fd_heat(&c->cq.lf);
	return !ret;
}

void rt_flush(struct rt_conn *c)
{
	struct chain ch;
	bool more = true;

	if (c->state < RT_CONN_LINK || c->state == RT_CONN_CLOSED || !c->id->qp)
		return;
	while (more) {
		ch.nr = 0;
		ch.last_send = NULL;
		/* Data to fetch first: it takes longest. */
		while (rt_conn_alive(c) && fill_read(c, &ch))
			;
		while (fill_response(c, &ch))
			;
		more = ch.nr && ch.nr + 1 + RT_MSDBD > CHAIN_MAX; /* a full chain */
		if (!chain_post(c, &ch))
			return;
	}
	if (c->state == RT_CONN_FLUSH && rt_idle(c))
		rt_conn_flushed(c);
}

/* ---- completions ---- */

static void fetched(struct rt_conn *c, struct rt_slot *s)
{
	c->nr_reads -= s->nr_wr;
	s->state = RT_CORE;
	copy(&s->req, s->staging->mem, false);
	rt_dev_staging_put(c->dev, s->staging);
	s->staging = NULL;
	if (rt_conn_alive(c))
		target_req_execute(&s->req);
	else
		rt_slot_end(c, s); /* the host left while we fetched it */
}

void rt_sent(struct rt_conn *c, uint32_t wr)
{
	c->left_ns = loop_now(c->q.loop);
	while (c->posted.head && (int32_t)(wr - c->posted.head->last_wr) >= 0) {
		struct rt_slot *s = rt_fifo_pop(&c->posted);

		c->sq_used -= s->nr_wr;
		if (s->fetching)
			fetched(c, s);
		else
			rt_slot_end(c, s);
	}
}
