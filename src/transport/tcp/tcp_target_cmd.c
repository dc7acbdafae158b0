/* SPDX-License-Identifier: BSD-3-Clause */
/* Command capsules: a request slot for each, and the checks of its SGL against what the capsule brought. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/tcp/tcp_target.h"

#define SGL_LEN_INVALID	   NVME_STATUS(NVME_SCT_GENERIC, NVME_SC_SGL_INVALID_DATA)
#define SGL_TYPE_INVALID   NVME_STATUS(NVME_SCT_GENERIC, NVME_SC_SGL_INVALID_TYPE)
#define SGL_OFFSET_INVALID NVME_STATUS(NVME_SCT_GENERIC, NVME_SC_SGL_INVALID_OFFSET)

/* ---- slots ---- */

/* Room for slots, not touched before each is used for the first time: most queues of most hosts use few. */
static struct tt_slot *slots_alloc(uint32_t nr)
{
	return malloc(nr * sizeof(struct tt_slot));
}

int slots_init(struct tt_conn *c)
{
	c->slots = slots_alloc(TT_FIRST_SLOTS);
	if (!c->slots)
		return -ENOMEM;
	c->nr_first = c->nr_slots = c->max_busy = TT_FIRST_SLOTS;
	return 0;
}

void slots_free(struct tt_conn *c)
{
	free(c->slots);
	free(c->more_slots);
}

struct tt_slot *slot_at(const struct tt_conn *c, uint32_t index)
{
	return index < c->nr_first ? &c->slots[index] : &c->more_slots[index - c->nr_first];
}

/* Slots never move: requests are under way in them (Connect is). */
int tcp_target_queue_resize(struct target_queue *q, uint16_t sqsize)
{
	struct tt_conn *c = to_tt_conn(q);
	uint32_t want = (uint32_t)sqsize + 1;

	if (want > c->nr_slots) {
		if (c->more_slots)
			return -EBUSY; /* Connect happens once */
		c->more_slots = slots_alloc(want - c->nr_first);
		if (!c->more_slots)
			return -ENOMEM;
		c->nr_slots = want;
	}
	c->max_busy = want;
	return 0;
}

static struct tt_slot *slot_get(struct tt_conn *c)
{
	struct tt_slot *s = c->free_slots;

	if (c->nr_busy >= c->max_busy)
		return NULL;
	if (s) {
		c->free_slots = s->next_free;
	} else {
		s = slot_at(c, c->nr_used);
		memset(s, 0, sizeof(*s));
		s->ttag = (uint16_t)c->nr_used++;
		s->req.queue = &c->q;
	}
	c->nr_busy++;
	return s;
}

void slot_end(struct tt_conn *c, struct tt_slot *s)
{
	s->state = SLOT_FREE;
	target_req_end(&s->req);
	s->next_free = c->free_slots;
	c->free_slots = s;
	c->nr_busy--;
}

void slots_end_all(struct tt_conn *c)
{
	uint32_t i;

	c->tx_head = NULL;
	c->rx_slot = NULL;
	for (i = 0; i < c->nr_used; i++) {
		struct tt_slot *s = slot_at(c, i);

		if (s->state != SLOT_FREE && s->state != SLOT_CORE)
			slot_end(c, s);
	}
}

/* ---- commands ---- */

/*
 * C100.  Status 0 and the length, or why the SGL can't be used.  Commands without data (Property Get: its SGL field is reserved) come with
 * a type of 0 or any of the good ones and no length.
 */
static uint16_t sgl_check(const struct tt_conn *c, const struct nvme_sqe *sqe, struct target_req *req)
{
	uint32_t len = le32toh(sqe->sgl.length), capsule_len = c->rx.data_len;
	bool admin_like = sqe->opcode == NVMF_OPCODE || !c->q.connected || !c->q.qid;

	req->sgl_len = len;
	req->in_capsule = capsule_len != 0;
	switch (sqe->sgl.type) {
	case NVME_SGL_OFFSET:
		if (len != capsule_len ||
		    len > (admin_like ? max_u32(NVME_TCP_ADMIN_CAPSULE_DATA, c->params->inline_len) : c->params->inline_len))
			return SGL_LEN_INVALID | NVME_STATUS_DNR;
		if (sqe->sgl.addr) /* ICDOFF is 0 */
			return SGL_OFFSET_INVALID | NVME_STATUS_DNR;
		return 0;
	case NVME_SGL_TRANSPORT:
		return capsule_len ? SGL_LEN_INVALID | NVME_STATUS_DNR : 0;
	case 0:
		if (!len)
			return capsule_len ? SGL_LEN_INVALID | NVME_STATUS_DNR : 0;
		return SGL_TYPE_INVALID | NVME_STATUS_DNR;
	default:
		return SGL_TYPE_INVALID | NVME_STATUS_DNR;
	}
}

void conn_capsule(struct tt_conn *c)
{
	const struct nvme_sqe *sqe = &c->rx.pdu.cmd.sqe;
	struct tt_slot *s = slot_get(c);
	uint16_t status;

	if (!s) {
		conn_terminate(c, NVME_TCP_FES_SEQUENCE, 0, "more than %u commands are outstanding", c->max_busy);
		target_queue_fatal(&c->q, c->why); /* C039 */
		return;
	}
	s->req.sqe = *sqe;
	s->state = SLOT_CORE;
	s->digest_bad = false;
	status = sgl_check(c, sqe, &s->req);
	if (status) {
		target_req_reject(&s->req, status);
		return; /* rx_slot is NULL: data that came with it is dropped (C115) */
	}
	if (!target_req_begin(&s->req))
		return;
	if (s->req.data_len > s->req.sgl_len) {
		target_req_reject(&s->req, SGL_LEN_INVALID | NVME_STATUS_DNR);
		return;
	}
	slot_rx_begin(s);
	if (s->req.in_capsule) {
		s->state = SLOT_CAPSULE;
		c->rx_slot = s;
	} else if (s->req.data_len) {
		slot_r2t_next(c, s);
	} else {
		target_req_execute(&s->req);
	}
}
