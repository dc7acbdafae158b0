/* SPDX-License-Identifier: BSD-3-Clause */
/* Command capsules: a request slot for each, and the checks of its SGL against what the capsule brought. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/rdma/rdma_target.h"

#define SGL_LEN_INVALID	 (NVME_STATUS(NVME_SCT_GENERIC, NVME_SC_SGL_INVALID_DATA) | NVME_STATUS_DNR)
#define SGL_TYPE_INVALID (NVME_STATUS(NVME_SCT_GENERIC, NVME_SC_SGL_INVALID_TYPE) | NVME_STATUS_DNR)

/* ---- slots ---- */

int rt_slots_init(struct rt_conn *c)
{
	/*
	 * Twice what the queue holds, and one: a host that has its answer sends the next command, though we don't know yet that the answer
	 * has left.  And kernels before 6.1 fill the queue.
	 */
	c->nr_slots = 2 * ((uint32_t)c->cm.hsqsize + 1) + 1;
	c->slots = malloc(c->nr_slots * sizeof(*c->slots)); /* not touched before each is used for the first time */
	if (!c->slots)
		return -ENOMEM;
	return rdma_pool_get_kept(&c->dev->pool, c->nr_slots * sizeof(struct nvme_cqe), &c->cqes);
}

static struct rt_slot *slot_get(struct rt_conn *c)
{
	struct rt_slot *s = c->free_slots;

	if (s) {
		c->free_slots = s->next;
	} else if (c->nr_used < c->nr_slots) {
		s = &c->slots[c->nr_used++];
		memset(s, 0, sizeof(*s));
		s->req.queue = &c->q;
	} else {
		return NULL;
	}
	c->nr_busy++;
	s->state = RT_CORE;
	return s;
}

static void staging_drop(struct rt_conn *c, struct rt_slot *s)
{
	if (s->staging)
		rt_dev_staging_put(c->dev, s->staging);
	s->staging = NULL;
}

void rt_slot_end(struct rt_conn *c, struct rt_slot *s)
{
	staging_drop(c, s);
	s->state = RT_FREE;
	target_req_end(&s->req);
	s->next = c->free_slots;
	c->free_slots = s;
	c->nr_busy--;
}

void rt_slots_end_all(struct rt_conn *c)
{
	uint32_t i;

	c->reads.head = c->responses.head = c->posted.head = NULL;
	for (i = 0; i < c->nr_used; i++) {
		struct rt_slot *s = &c->slots[i];

		if (s->state != RT_FREE && s->state != RT_CORE)
			rt_slot_end(c, s);
	}
}

/* ---- commands ---- */

static void copy_in(const struct target_req *req, const uint8_t *data)
{
	size_t left = req->data_len;
	uint32_t i;

	for (i = 0; left && i < req->iovcnt; i++) {
		size_t n = min_size(req->iov[i].iov_len, left);

		memcpy(req->iov[i].iov_base, data, n);
		data += n;
		left -= n;
	}
}

/* Bits 1:0 of an opcode, or of a Fabrics command's type: data for the host. */
static bool reads_data(const struct nvme_sqe *sqe)
{
	uint8_t code = sqe->opcode == NVMF_OPCODE ? ((const struct nvmf_connect_cmd *)sqe)->fctype : sqe->opcode;

	return (code & 3) == 2;
}

static void command(struct rt_conn *c, struct rt_slot *s, const uint8_t *capsule, uint32_t len)
{
	const uint8_t *data = capsule + sizeof(struct nvme_sqe);
	struct target_req *req = &s->req;
	uint16_t status;

	memcpy(&req->sqe, capsule, sizeof(req->sqe));
	status = nvme_rdma_sgl_parse(&req->sqe, data, len - (uint32_t)sizeof(req->sqe), RT_MSDBD, &s->sgl);
	if (!status && s->sgl.in_capsule && s->sgl.len && reads_data(&req->sqe))
		status = SGL_TYPE_INVALID; /* there is no place for its data */
	req->sgl_len = s->sgl.len;
	req->in_capsule = s->sgl.in_capsule;
	if (status) {
		target_req_reject(req, status);
		return;
	}
	if (!target_req_begin(req))
		return;
	if (req->data_len > req->sgl_len) {
		target_req_reject(req, SGL_LEN_INVALID);
	} else if (req->in_capsule) {
		copy_in(req, data);
		target_req_execute(req);
	} else if (req->data_len) {
		rt_read_add(c, s);
	} else {
		target_req_execute(req);
	}
}

void rt_capsule(struct rt_conn *c, struct rt_recv *r)
{
	struct rt_slot *s;

	if (r->len < sizeof(struct nvme_sqe)) {
		rt_conn_lost(c, "a capsule of %u bytes: a command has %zu", r->len, sizeof(struct nvme_sqe));
		rt_recvs_again(c->recvs, r);
		return;
	}
	s = c->held ? NULL : slot_get(c);
	if (s) {
		command(c, s, (const uint8_t *)(uintptr_t)r->sge.addr, r->len);
		rt_recvs_again(c->recvs, r);
		return;
	}
	r->next = NULL;
	if (c->held)
		c->held_tail->next = r;
	else
		c->held = r;
	c->held_tail = r;
	c->q.nr_waiting++;
	target_queue_overrun(&c->q);
}

void rt_capsules_held(struct rt_conn *c)
{
	struct rt_recv *r;
	struct rt_slot *s;

	while ((r = c->held)) {
		s = rt_conn_alive(c) ? slot_get(c) : NULL;
		if (!s && rt_conn_alive(c))
			return;
		c->held = r->next;
		c->q.nr_waiting--;
		if (s)
			command(c, s, (const uint8_t *)(uintptr_t)r->sge.addr, r->len);
		rt_recvs_again(c->recvs, r);
	}
}
