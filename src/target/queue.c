// SPDX-License-Identifier: BSD-3-Clause
/* The life of a connection as the core sees it: from accept to queue_free(). */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "target/target.h"

enum { THEN_GO, THEN_DROP, THEN_NOTHING };

static void queue_free(struct target_queue *q)
{
	struct nvof_target *t = q->target;
	struct target_ctrl *c = q->ctrl;

	cds_list_del(&q->link);
	__atomic_sub_fetch(&q->thread->nr_placed, 1, __ATOMIC_RELAXED);
	q->ops->queue_free(q);
	pthread_mutex_lock(&t->lock);
	if (c)
		target_ctrl_put(c);
	t->nr_queues--;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

/* Two wishes share one work: to close the queue (from other threads), and, once it is closed, to free it outside of everybody's stack. */
static void queue_work(struct loop_work *work)
{
	struct target_queue *q = container_of(work, struct target_queue, work);
	struct nvof_target *t = q->target;

	pthread_mutex_lock(&t->lock);
	q->work_posted = false;
	pthread_mutex_unlock(&t->lock);
	if (!q->closed)
		target_queue_close(q);
	else if (!q->nr_active)
		queue_free(q);
}

void target_queue_close_post(struct target_queue *q)
{
	if (q->work_posted)
		return;
	q->work_posted = true;
	loop_post(q->loop, &q->work);
}

void target_queue_maybe_free(struct target_queue *q)
{
	if (!q->closed || q->nr_active)
		return;
	pthread_mutex_lock(&q->target->lock);
	target_queue_close_post(q);
	pthread_mutex_unlock(&q->target->lock);
}

void target_queue_warn(struct target_queue *q, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_limited(q->log, LOG_WARN, &q->thread->told, loop_now(q->loop), "%s: %s", q->peer, text);
}

static void handshake_expired(struct timer *timer)
{
	struct target_queue *q = container_of(timer, struct target_queue, timer);

	/* A Connect that is held here came in time; when it is refused the time begins anew. */
	if (q->nr_parked)
		return;
	target_queue_warn(q, "no Connect within %u ms: closing", q->target->opts.handshake_tmo_ms);
	target_queue_close(q);
}

static void link_point_act(struct target_queue *q)
{
	if (q->closing || q->closed)
		return;
	if (q->link_then == THEN_GO)
		q->go(q);
	else if (q->link_then == THEN_DROP)
		target_queue_close(q);
}

static void link_delay_over(struct timer *timer)
{
	link_point_act(container_of(timer, struct target_queue, link_timer));
}

int target_queue_init(struct target_queue *q, const struct target_transport *ops, struct target_port *port, struct loop *loop)
{
	struct nvof_target *t = port->target;
	struct target_thread *th = target_thread_of(t, loop);
	bool refused;

	pthread_mutex_lock(&t->lock);
	refused = __atomic_load_n(&t->draining, __ATOMIC_RELAXED) || port->stopped;
	if (!refused)
		t->nr_queues++;
	pthread_mutex_unlock(&t->lock);
	if (refused) {
		target_unplace(t, loop);
		return -ESHUTDOWN;
	}
	q->ops = ops;
	q->target = t;
	q->port = port;
	q->loop = loop;
	q->log = &t->log;
	q->thread = th;
	q->ctrl = NULL;
	q->qid = 0;
	q->sqhd = 0;
	q->sqflow_off = q->connected = q->closing = q->closed = q->draining = false;
	q->nr_active = q->nr_parked = q->nr_outstanding = q->nr_waiting = 0;
	q->work_posted = false;
	q->go = NULL;
	CDS_INIT_LIST_HEAD(&q->held);
	timer_init(&q->timer, handshake_expired);
	timer_init(&q->link_timer, link_delay_over);
	loop_work_init(&q->work, queue_work);
	cds_list_add_tail(&q->link, &th->queues);
	timer_set(loop, &q->timer, loop_now(loop) + port->params.handshake_tmo_ns);
	return 0;
}

void target_link_point(struct target_queue *q, enum target_link_point point, void (*go)(struct target_queue *q))
{
	struct fault_event ev = {
		.point = point == TARGET_LINK_ACCEPT ? FAULT_ACCEPT : FAULT_ICREQ,
		.now_ns = loop_now(q->loop),
	};
	struct fault_action act = fault_match(&q->target->faults, &ev);

	q->go = go;
	q->link_then = act.drop ? THEN_DROP : act.ignore ? THEN_NOTHING : THEN_GO;
	if (act.delay_ns)
		timer_set(q->loop, &q->link_timer, loop_now(q->loop) + act.delay_ns);
	else
		link_point_act(q);
}

void target_queue_close(struct target_queue *q)
{
	if (q->closed)
		return;
	q->closing = true;
	q->ops->queue_close(q);
}

/* An admin queue goes last: its end is that of the association (target_ctrl_remove_queue() sees to it). */
bool target_queue_drained(struct target_queue *q)
{
	bool last = true;

	if (q->ctrl && !q->qid) {
		pthread_mutex_lock(&q->target->lock);
		last = q->ctrl->nr_queues <= 1;
		pthread_mutex_unlock(&q->target->lock);
	}
	return last && q->nr_active == q->nr_parked;
}

void target_queue_fatal(struct target_queue *q, const char *why)
{
	struct nvof_target *t = q->target;
	bool told = false;

	pthread_mutex_lock(&t->lock);
	if (q->ctrl) {
		told = q->ctrl->dead;
		__atomic_or_fetch(&q->ctrl->csts, CSTS_CFS, __ATOMIC_RELAXED);
		target_ctrl_close(q->ctrl, why);
	}
	pthread_mutex_unlock(&t->lock);
	if (!told)
		target_queue_warn(q, "qid %u: %s: closing", q->qid, why);
	target_queue_close(q);
}

void target_queue_closed(struct target_queue *q, const char *why)
{
	struct target_req *req, *next;

	if (q->closed)
		return;
	q->closed = q->closing = true;
	log_debug(q->log, "%s: qid %u closed: %s", q->peer, q->qid, why ? why : "done");
	timer_cancel(q->loop, &q->timer);
	timer_cancel(q->loop, &q->link_timer);
	if (q->ctrl) {
		pthread_mutex_lock(&q->target->lock);
		target_ctrl_remove_queue(q);
		pthread_mutex_unlock(&q->target->lock);
	}
	cds_list_for_each_entry_safe (req, next, &q->held, link) {
		target_req_unpark(req);
		target_req_respond(req, ST_RETRY(ABORT_QUEUE));
	}
	target_queue_maybe_free(q);
}
