/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection's states, and its end.
 *
 * FLUSH lets what was answered leave (bounded), then deferred work of the loop takes the queue pair down, ends what this half
 * holds and tells the core.  The id stays until the last command has ended: a host that asked to disconnect gets its answer then, and knows
 * that none of its commands is carried out later.
 */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/rdma/rdma_target.h"

#define TO(s) (1u << RT_CONN_##s)
static const struct {
	const char *name;
	unsigned int next;
} conn_states[RT_CONN_NR_STATES] = {
	[RT_CONN_NEW] = { "new", TO(ACCEPT) },
	[RT_CONN_ACCEPT] = { "accept", TO(LINK) | TO(FLUSH) },
	[RT_CONN_LINK] = { "link", TO(READY) | TO(FLUSH) },
	[RT_CONN_READY] = { "ready", TO(FLUSH) },
	[RT_CONN_FLUSH] = { "flush", TO(CLOSED) },
	[RT_CONN_CLOSED] = { "closed", 0 },
};

void rt_conn_enter(struct rt_conn *c, enum rt_conn_state state)
{
	assert(conn_states[c->state].next & (1u << state));
	log_debug(c->q.log, "rdma %s: %s -> %s", c->q.peer, conn_states[c->state].name, conn_states[state].name);
	c->state = state;
}

/* Receive buffers come back; answers and data that have left count for nothing any more. */
static void conn_drain(struct rt_conn *c)
{
	c->own.qp = NULL;
	if (c->id->qp)
		rdma_destroy_qp(c->id);
	rt_capsules_held(c);
	if (c->cq.cq)
		rdma_cq_poll(&c->cq);
	rdma_cq_close(&c->cq);
}

static void conn_release(struct rt_conn *c)
{
	if (!c->dev)
		return;
	rt_dev_unstarve(c);
	conn_drain(c);
	rt_slots_end_all(c);
	if (c->cqes)
		rdma_pool_put(&c->dev->pool, c->cqes);
	c->cqes = NULL;
	rt_recvs_exit(&c->own);
	rt_dev_unshare(c->dev, c->share);
	rt_dev_put(c->dev); /* while the id keeps the device open */
	c->dev = NULL;
}

static void conn_finish(struct loop_defer *d)
{
	struct rt_conn *c = container_of(d, struct rt_conn, finish);
	bool linked = c->dev && c->id->qp;

	rt_conn_enter(c, RT_CONN_CLOSED);
	loop_defer_cancel(&c->flush);
	timer_cancel(c->q.loop, &c->linger);
	timer_cancel(c->q.loop, &c->stuck);
	if (linked && !c->peer_gone)
		rdma_disconnect(c->id);
	conn_release(c);
	target_queue_closed(&c->q, c->why); /* the core may free us in there */
}

/*
 * Between rdma_notify() and the event that follows it the kernel (Linux 6.12) must not be asked to disconnect: it would forget to take back
 * its own reply, send that again and again, and let whoever destroys the id wait for a minute.
 */
static bool must_wait(struct rt_conn *c)
{
	if (!c->notified || c->noticed)
		return false;
	if (!timer_armed(&c->linger))
		timer_set(c->q.loop, &c->linger, loop_now(c->q.loop) + RT_LINGER_NS);
	return true;
}

static void conn_end(struct rt_conn *c)
{
	c->ending = true;
	if (c->state != RT_CONN_CLOSED && !must_wait(c))
		loop_defer(c->q.loop, &c->finish);
}

void rt_conn_flushed(struct rt_conn *c)
{
	conn_end(c);
}

static void linger_timeout(struct timer *t)
{
	struct rt_conn *c = container_of(t, struct rt_conn, linger);

	c->noticed = true;
	conn_end(c);
}

void rt_conn_noticed(struct rt_conn *c)
{
	c->noticed = true;
	if (c->ending)
		conn_end(c);
}

void rt_conn_lost(struct rt_conn *c, const char *fmt, ...)
{
	va_list ap;

	if (rt_conn_alive(c)) {
		va_start(ap, fmt);
		vsnprintf(c->why, sizeof(c->why), fmt, ap);
		va_end(ap);
		rt_conn_enter(c, RT_CONN_FLUSH);
	}
	conn_end(c);
}

void rt_queue_close(struct target_queue *q)
{
	struct rt_conn *c = to_rt_conn(q);

	if (!rt_conn_alive(c))
		return;
	snprintf(c->why, sizeof(c->why), "closed by the target");
	rt_conn_enter(c, RT_CONN_FLUSH);
	timer_set(q->loop, &c->linger, loop_now(q->loop) + RT_LINGER_NS);
	if (c->dev && c->id->qp && !rt_idle(c))
		loop_defer(q->loop, &c->flush);
	else
		conn_end(c);
}

void rt_queue_local(const struct target_queue *q, char *text, size_t len)
{
	rdma_cm_local(container_of(q, struct rt_conn, q)->id, text, len);
}

void rt_conn_free(struct rt_conn *c)
{
	conn_release(c);
	if (c->peer_gone)
		rdma_disconnect(c->id); /* the answer */
	rdma_cm_id_free(c->q.loop, c->id);
	free(c->slots);
	free(c);
}

void rt_queue_free(struct target_queue *q)
{
	rt_conn_free(to_rt_conn(q));
}

void rt_conn_life_init(struct rt_conn *c)
{
	loop_defer_init(&c->finish, conn_finish);
	timer_init(&c->linger, linger_timeout);
}
