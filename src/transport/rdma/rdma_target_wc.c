/* SPDX-License-Identifier: BSD-3-Clause */
/* What the device tells of a connection: what came, what has left, and that nothing leaves any more. */
#include <stdint.h>

#include "transport/rdma/rdma_target.h"

static void received(struct rt_conn *c, struct rt_recv *r, uint32_t len)
{
	/* A capsule may overtake the host's confirmation; without that the connection manager could not even end the connection. */
	if (c->state == RT_CONN_LINK && !c->notified) {
		c->notified = true;
		rdma_notify(c->id, IBV_EVENT_COMM_EST); /* fails when the confirmation has come meanwhile */
	}
	r->len = len;
	if (rt_conn_alive(c))
		rt_capsule(c, r);
	else
		rt_recvs_again(c->recvs, r);
}

/* The receive that it is of; NULL: it is of a send. */
static struct rt_recv *wc_recv(const struct ibv_wc *wc)
{
	return wc->wr_id & RDMA_WR_RECV ? (struct rt_recv *)(uintptr_t)(wc->wr_id & ~RDMA_WR_RECV) : NULL; // NOLINT
}

static void failed(struct rt_conn *c, const struct ibv_wc *wc)
{
	struct rt_recv *r = wc_recv(wc);

	if (r)
		rt_recvs_again(c->recvs, r);
	if (wc->status == IBV_WC_WR_FLUSH_ERR)
		rt_conn_lost(c, "the connection was closed");
	else
		rt_conn_lost(c, "%s failed: %s (vendor error %xh)", r ? "a receive" : "a send or RDMA operation",
			     ibv_wc_status_str(wc->status), wc->vendor_err);
}

/* What completed may be old, and nothing tells it from the host's end: that is an event.  So after a pause events go first. */
static void look(struct rt_conn *c)
{
	uint64_t before = c->looked_ns;

	c->looked_ns = clock_boot_ns();
	if (target_receives(&c->q, c->looked_ns) && c->looked_ns - before > RT_STILL_NS)
		rdma_cm_look(c->q.loop);
}

/* A queue pair that has failed gets nothing: it would come back at once. */
static int receive_again(struct rt_conn *c)
{
	return c->recvs == &c->own && !rt_conn_alive(c) ? 0 : rt_recvs_post(c->recvs);
}

void rt_completions(struct rdma_cq *cq, const struct ibv_wc *wcs, int nr)
{
	struct rt_conn *c = container_of(cq, struct rt_conn, cq);
	int i;

	if (nr < 0)
		rt_conn_lost(c, "the completion queue can't be read");
	if (rt_conn_alive(c))
		look(c);
	c->in_batch = true;
	for (i = 0; i < nr; i++) {
		const struct ibv_wc *wc = &wcs[i];

		if (wc->status != IBV_WC_SUCCESS)
			failed(c, wc);
		else if (wc_recv(wc))
			received(c, wc_recv(wc), wc->byte_len);
		else if (c->state != RT_CONN_CLOSED)
			rt_sent(c, (uint32_t)wc->wr_id);
	}
	rt_capsules_held(c);
	c->in_batch = false;
	if (receive_again(c))
		rt_conn_lost(c, "receives can't be posted");
	if (c->state != RT_CONN_CLOSED)
		rt_flush(c);
}

static void flush_deferred(struct loop_defer *d)
{
	rt_flush(container_of(d, struct rt_conn, flush));
}

/* ---- answers that don't leave ---- */

/* The host chooses how often the device tries again when the host has no receive for an answer, and says: for ever. */
static void stuck_timeout(struct timer *t)
{
	struct rt_conn *c = container_of(t, struct rt_conn, stuck);

	rdma_cq_poll(&c->cq); /* it may have been us who stood still */
	if (!rt_conn_alive(c) || !c->posted.head)
		return;
	if (loop_now(c->q.loop) - c->left_ns < RT_STUCK_NS) {
		timer_set(c->q.loop, &c->stuck, c->left_ns + RT_STUCK_NS);
		return;
	}
	rt_conn_lost(c, "the host takes no answers: none has left for %u s", (unsigned int)(RT_STUCK_NS / NSEC_PER_SEC));
	log_warn(c->q.log, "rdma %s: qid %u: %s: closing", c->q.peer, c->q.qid, c->why);
}

void rt_conn_watch(struct rt_conn *c)
{
	c->left_ns = loop_now(c->q.loop);
	if (!timer_armed(&c->stuck))
		timer_set(c->q.loop, &c->stuck, c->left_ns + RT_STUCK_NS);
}

void rt_conn_wc_init(struct rt_conn *c)
{
	loop_defer_init(&c->flush, flush_deferred);
	timer_init(&c->stuck, stuck_timeout);
}
