/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop transport's target half.  It never touches the host's memory: the host brings data and takes it (see lo_link.h).
 *
 * The end: queue_close() waits (bounded) for the host to take the data of reads that were answered; then target_gone is set, what this half
 * holds is ended, and the core is told.  A host that went away ends it at once.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/loop/lo_link.h"

#define LINGER_NS (200 * NSEC_PER_MSEC)
#define TURN_MAX  1024 /* messages of one link per turn: the others want theirs */

static struct lo_link *to_link(struct target_queue *q)
{
	return container_of(q, struct lo_link, q);
}

static uint32_t slot_index(const struct lo_link *l, const struct lo_slot *s)
{
	return (uint32_t)(s - l->slots);
}

/* ---- the end ---- */

static void slot_end(struct lo_link *l, struct lo_slot *s)
{
	if (s->state == LO_SLOT_ACK)
		l->nr_acks--;
	s->state = LO_SLOT_FREE;
	target_req_end(&s->req);
}

static void link_finish(struct loop_defer *d)
{
	struct lo_link *l = container_of(d, struct lo_link, finish);
	uint32_t i;

	if (l->ended)
		return;
	l->ended = true;
	timer_cancel(l->q.loop, &l->linger);
	loop_defer_cancel(&l->wake_host);
	pthread_mutex_lock(&l->copy_lock);
	atomic_store(&l->target_gone, true);
	pthread_mutex_unlock(&l->copy_lock);
	lo_end_detach(&l->target);
	lo_end_wake(&l->host);
	for (i = 0; i < l->nr_used; i++)
		if (l->slots[i].state == LO_SLOT_NEED || l->slots[i].state == LO_SLOT_ACK)
			slot_end(l, &l->slots[i]);
	target_queue_closed(&l->q, l->why);
}

static void linger_timeout(struct timer *t)
{
	link_finish(&container_of(t, struct lo_link, linger)->finish);
}

static void link_end(struct lo_link *l, const char *why, bool at_once)
{
	if (l->ended)
		return;
	if (!l->ending) {
		l->ending = true;
		l->why = why;
		timer_set(l->q.loop, &l->linger, loop_now(l->q.loop) + LINGER_NS);
	}
	if (at_once || !l->nr_acks)
		loop_defer(l->q.loop, &l->finish);
}

static void lo_queue_close(struct target_queue *q)
{
	link_end(to_link(q), "closed by the target", false);
}

static void lo_queue_free(struct target_queue *q)
{
	lo_link_put(to_link(q));
}

/* ---- answers ---- */

static void wake_host(struct loop_defer *d)
{
	lo_end_wake(&container_of(d, struct lo_link, wake_host)->host);
}

static void tell_host(struct lo_link *l, enum lo_op op, struct lo_slot *s)
{
	lo_send(&l->host, op, slot_index(l, s));
	if (!l->in_work)
		loop_defer(l->q.loop, &l->wake_host);
}

static void lo_respond(struct target_req *req)
{
	struct lo_slot *s = container_of(req, struct lo_slot, req);
	struct lo_link *l = to_link(req->queue);

	if (l->ending) {
		slot_end(l, s);
		return;
	}
	s->cqe = req->cqe;
	s->has_data = req->dir == DATA_FROM_CTRL && !req->cqe.status && req->data_len;
	if (s->has_data) {
		s->state = LO_SLOT_ACK;
		l->nr_acks++;
	} else {
		slot_end(l, s); /* before the host may use the slot again */
	}
	tell_host(l, LO_ANSWER, s);
}

static void lo_bring(struct target_req *req)
{
	struct lo_slot *s = container_of(req, struct lo_slot, req);
	struct lo_link *l = to_link(req->queue);

	if (l->ending) {
		slot_end(l, s);
		return;
	}
	s->state = LO_SLOT_NEED;
	tell_host(l, LO_NEED, s);
}

/* ---- messages from the host ---- */

static void slot_submit(struct lo_link *l, struct lo_slot *s)
{
	struct target_req *req = &s->req;

	l->nr_used = max_u32(l->nr_used, slot_index(l, s) + 1);
	s->state = LO_SLOT_CORE;
	req->queue = &l->q;
	req->sqe = s->sqe;
	req->sgl_len = le32toh(s->sqe.sgl.length);
	req->in_capsule = false;
	if (!target_req_begin(req))
		return;
	if (req->data_len > req->sgl_len) {
		target_req_reject(req, NVME_STATUS(NVME_SCT_GENERIC, NVME_SC_SGL_INVALID_DATA) | NVME_STATUS_DNR);
	} else if (req->data_len) {
		s->state = LO_SLOT_NEED;
		tell_host(l, LO_NEED, s);
	} else {
		target_req_execute(req);
	}
}

static void slot_event(struct lo_link *l, enum lo_op op, struct lo_slot *s)
{
	switch (op) {
	case LO_SUBMIT:
		if (!l->ending)
			slot_submit(l, s);
		break;
	case LO_DATA:
		if (l->ending) {
			slot_end(l, s);
		} else {
			s->state = LO_SLOT_CORE;
			target_req_execute(&s->req);
		}
		break;
	case LO_ACK:
		slot_end(l, s);
		if (l->ending && !l->nr_acks)
			loop_defer(l->q.loop, &l->finish);
		break;
	default:
		break;
	}
}

static void link_up(struct target_queue *q)
{
	struct lo_link *l = to_link(q);

	if (l->ending || l->up)
		return;
	l->up = true;
	atomic_store(&l->linked, true);
	lo_end_wake(&l->host);
}

/* The fault points of a link that a connection over a network has. */
static void link_accepted(struct target_queue *q)
{
	if (!to_link(q)->ending)
		target_link_point(q, TARGET_LINK_ICREQ, link_up);
}

/* The target doesn't want it, or the host is gone already: nobody but us knows of this end. */
static void link_refuse(struct lo_link *l)
{
	l->ended = true;
	atomic_store(&l->refused, true);
	atomic_store(&l->target_gone, true);
	lo_end_detach(&l->target);
	lo_end_wake(&l->host);
	lo_link_put(l);
}

static void link_start(struct lo_link *l)
{
	l->started = true;
	if (atomic_load(&l->host_gone)) {
		target_unplace(l->owner, l->q.loop);
		link_refuse(l);
		return;
	}
	snprintf(l->q.peer, sizeof(l->q.peer), "loop");
	l->q.sqsize = (uint16_t)(l->nr_slots - 1);
	l->q.writes_in_place = true;
	if (target_queue_init(&l->q, &loop_target_transport, l->port, l->q.loop)) {
		link_refuse(l);
		return;
	}
	target_link_point(&l->q, TARGET_LINK_ACCEPT, link_accepted);
}

static void target_messages(struct lo_link *l)
{
	uint32_t n = min_u32(lo_pending(&l->target), TURN_MAX), slot;

	l->in_work = true;
	for (; n && !l->ended; n--) {
		enum lo_op op = lo_peek(&l->target, 0, &slot);

		lo_consume(&l->target);
		slot_event(l, op, &l->slots[slot]);
	}
	l->in_work = false;
	if (lo_pending(&l->host))
		lo_end_wake(&l->host);
	if (lo_pending(&l->target))
		lo_end_wake(&l->target);
}

static void target_work(struct loop_work *w)
{
	struct lo_link *l = container_of(w, struct lo_link, target.work);

	lo_end_awake(&l->target);
	if (!l->started) {
		link_start(l);
		return; /* l may be gone; the host sends nothing before it is linked */
	}
	if (atomic_load(&l->host_gone)) {
		link_end(l, "the host closed the connection", true);
		return;
	}
	target_messages(l);
}

/* ---- the beginning ---- */

static void link_open(struct target_port *port, struct loop *loop, void *arg)
{
	struct lo_link *l = arg;

	l->port = port;
	l->q.loop = loop;
	loop_defer_init(&l->finish, link_finish);
	loop_defer_init(&l->wake_host, wake_host);
	timer_init(&l->linger, linger_timeout);
	lo_end_attach(&l->target, loop, target_work);
	lo_end_wake(&l->target);
}

int lo_target_open(struct nvof_target *target, struct lo_link *l)
{
	l->owner = target;
	return target_open_inproc(target, &loop_target_transport, link_open, l);
}

static int lo_queue_resize(struct target_queue *q, uint16_t sqsize)
{
	return sqsize < to_link(q)->nr_slots ? 0 : -ENOMEM;
}

static int lo_listen(struct target_port *port, struct loop *loop, const char *addr, const char *svc, struct target_listener **lp,
		     struct error *err)
{
	/* Hosts find the port itself. */
	*lp = (struct target_listener *)port;
	return 0;
}

static void lo_listener_addr(const struct target_listener *l, char *addr, size_t addr_len, char *svc, size_t svc_len, uint8_t *adrfam)
{
	snprintf(addr, addr_len, "%s", "");
	snprintf(svc, svc_len, "%s", "");
	*adrfam = NVMF_ADDR_FAMILY_LOOP;
}

static void lo_unlisten(struct target_listener *l) {}

static void lo_queue_local(const struct target_queue *q, char *text, size_t len)
{
	snprintf(text, len, "loop");
}

const struct target_transport loop_target_transport = {
	.name = "loop",
	.trtype = NVMF_TRTYPE_LOOP,
	.hosts_within = true,
	.sgls = NVME_CTRL_SGLS_OFFSET | NVME_CTRL_SGLS_TPORT,
	.msdbd = 1,
	.listen = lo_listen,
	.listener_addr = lo_listener_addr,
	.unlisten = lo_unlisten,
	.queue_local = lo_queue_local,
	.respond = lo_respond,
	.bring = lo_bring,
	.queue_resize = lo_queue_resize,
	.queue_close = lo_queue_close,
	.queue_free = lo_queue_free,
};
