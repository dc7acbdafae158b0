// SPDX-License-Identifier: BSD-3-Clause
/* Ctrls: one association of a host with a subsystem, its admin queue and its I/O queues, which may live on different threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/target.h"

struct target_ctrl *target_ctrl_find(struct target_subsys *s, uint16_t cntlid)
{
	struct target_ctrl *c;

	cds_list_for_each_entry (c, &s->ctrls, link)
		if (c->cntlid == cntlid)
			return c;
	return NULL;
}

/* The next free id after the last one given, so that an id rests before it comes again.  0: all are in use. */
static uint16_t cntlid_alloc(struct target_subsys *s)
{
	uint32_t range = (uint32_t)s->cntlid_max - s->cntlid_min + 1;

	for (uint32_t i = 0; i < range && s->nr_ctrls < range; i++) {
		uint16_t cntlid = s->cntlid_next;

		s->cntlid_next = cntlid == s->cntlid_max ? s->cntlid_min : cntlid + 1;
		if (!target_ctrl_find(s, cntlid))
			return cntlid;
	}
	return 0;
}

static void ctrl_work(struct loop_work *work)
{
	struct target_ctrl *c = container_of(work, struct target_ctrl, work);
	struct nvof_target *t = c->subsys->target;
	bool alive;

	pthread_mutex_lock(&t->lock);
	c->work_posted = false;
	alive = !c->dead && c->queues[0];
	c->pending |= c->raised;
	c->raised = 0;
	pthread_mutex_unlock(&t->lock);
	if (alive)
		target_events_deliver(c);
	pthread_mutex_lock(&t->lock);
	target_ctrl_put(c);
	pthread_mutex_unlock(&t->lock);
}

void target_ctrl_raise(struct target_ctrl *c, enum target_event ev)
{
	c->raised |= 1u << ev;
	if (c->work_posted || !c->queues[0])
		return;
	c->work_posted = true;
	c->refs++;
	loop_post(c->queues[0]->loop, &c->work);
}

struct target_ctrl *target_ctrl_new(struct target_subsys *s, struct target_port *port, const char *hostnqn, const uint8_t hostid[16])
{
	uint32_t nr_io = s->discovery ? 0 : s->target->opts.max_io_queues;
	uint16_t cntlid = cntlid_alloc(s);
	struct target_ctrl *c;

	if (!cntlid)
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->queues = calloc(nr_io + 1, sizeof(*c->queues));
	if (!c->queues) {
		free(c);
		return NULL;
	}
	c->subsys = s;
	c->port = port;
	c->cntlid = cntlid;
	c->max_qid = (uint16_t)nr_io;
	c->refs = 1; /* being on the list */
	snprintf(c->hostnqn, sizeof(c->hostnqn), "%s", hostnqn);
	memcpy(c->hostid, hostid, sizeof(c->hostid));
	loop_work_init(&c->work, ctrl_work);
	target_kato_init(c);
	s->refs++;
	s->nr_ctrls++;
	cds_list_add_tail(&c->link, &s->ctrls);
	return c;
}

void target_ctrl_put(struct target_ctrl *c)
{
	if (--c->refs)
		return;
	target_subsys_put(c->subsys);
	free(c->changed_ns);
	free(c->fences);
	free(c->queues);
	free(c);
}

void target_ctrl_add_queue(struct target_ctrl *c, struct target_queue *q, uint16_t qid)
{
	c->queues[qid] = q;
	c->nr_queues++;
	c->refs++; /* until the queue is freed: its requests look at the ctrl */
	q->ctrl = c;
	q->qid = qid;
	if (!qid)
		c->admin = q;
}

void target_ctrl_remove_queue(struct target_queue *q)
{
	struct target_ctrl *c = q->ctrl;

	if (c->queues[q->qid] != q)
		return;
	c->queues[q->qid] = NULL;
	c->nr_queues--;
	if (q->qid) {
		if (c->nr_queues == 1 && c->queues[0] && __atomic_load_n(&q->target->draining, __ATOMIC_RELAXED))
			target_queue_close_post(c->queues[0]);
		return;
	}
	target_kato_stop(c);
	c->nr_aers = 0;
	target_ctrl_close(c, "its admin queue is gone");
}

void target_ctrl_close_io(struct target_ctrl *c)
{
	for (uint32_t qid = 1; qid <= c->max_qid; qid++)
		if (c->queues[qid])
			target_queue_close_post(c->queues[qid]);
}

void target_ctrl_close(struct target_ctrl *c, const char *why)
{
	if (c->dead)
		return;
	c->dead = true;
	__atomic_store_n(&c->ready, false, __ATOMIC_RELAXED);
	cds_list_del(&c->link);
	c->subsys->nr_ctrls--;
	log_info(&c->subsys->target->log, "ctrl %u of %s (host %s): closing: %s", c->cntlid, c->subsys->nqn, c->hostnqn, why);
	target_ctrl_close_io(c);
	if (c->queues[0])
		target_queue_close_post(c->queues[0]);
	target_ctrl_put(c);
}
