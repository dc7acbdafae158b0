/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection from its request to its end.
 *
 * The end: FLUSH lets what was answered leave (bounded), then deferred work of the loop takes the queue pair down, ends what this half
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

#define MIN_RNR_TIMER 12 /* 0.64 ms: a host that found no receive buffer tries again then */
#define READS_MAX     16 /* of a connection at once.  More gain nothing, and soft devices run into their own time-outs. */

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

static void conn_enter(struct rt_conn *c, enum rt_conn_state state)
{
	assert(conn_states[c->state].next & (1u << state));
	log_debug(c->q.log, "rdma %s: %s -> %s", c->q.peer, conn_states[c->state].name, conn_states[state].name);
	c->state = state;
}

/* ---- the end ---- */

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

	conn_enter(c, RT_CONN_CLOSED);
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

void rt_conn_lost(struct rt_conn *c, const char *fmt, ...)
{
	va_list ap;

	if (rt_conn_alive(c)) {
		va_start(ap, fmt);
		vsnprintf(c->why, sizeof(c->why), fmt, ap);
		va_end(ap);
		conn_enter(c, RT_CONN_FLUSH);
	}
	conn_end(c);
}

void rt_queue_close(struct target_queue *q)
{
	struct rt_conn *c = to_rt_conn(q);

	if (!rt_conn_alive(c))
		return;
	snprintf(c->why, sizeof(c->why), "closed by the target");
	conn_enter(c, RT_CONN_FLUSH);
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

/* ---- completions ---- */

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

static void completions(struct rdma_cq *cq, const struct ibv_wc *wcs, int nr)
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

/* ---- the beginning ---- */

struct rt_conn *rt_conn_new(struct rdma_cm_id *id, const struct nvme_rdma_cm_req *cm, const struct rdma_event *ev)
{
	struct rt_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->id = id;
	c->cm = *cm;
	c->reads_in = ev->reads_in;
	c->reads_out = ev->reads_out;
	snprintf(c->q.peer, sizeof(c->q.peer), "unknown address");
	rdma_cm_peer(id, c->q.peer, sizeof(c->q.peer));
	return c;
}

static int queue_pair(struct rt_conn *c, struct error *err)
{
	struct rt_dev *dev = c->dev;
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .srq = c->recvs->srq };
	uint32_t nr_recvs = c->cm.hsqsize + 2; /* what the host may have outstanding, and one */
	bool own = c->recvs == &c->own;
	char hint[96];
	int ret;

	/* A response for each command, and data for most of them. */
	c->sq_size = min_u32(max_u32(2 * c->nr_slots, 2 * RT_MSDBD), (uint32_t)dev->attr.max_qp_wr);
	c->max_reads = min_u32(min_u32((uint32_t)dev->attr.max_qp_init_rd_atom, c->reads_out), READS_MAX);
	if (own)
		nr_recvs = min_u32(nr_recvs, (uint32_t)dev->attr.max_qp_wr);
	ret = own ? rt_recvs_add(&c->own, nr_recvs) : rt_dev_share(dev, nr_recvs);
	if (!ret && !own)
		c->share = nr_recvs;
	/* Every receive buffer that is shared may be used by one host that keeps to no limit: its queue does not overflow. */
	if (!ret)
		ret = rdma_cq_open(&c->cq, c->q.loop, dev->verbs,
				   min_u32((own ? nr_recvs : dev->max_recvs) + c->sq_size, (uint32_t)dev->attr.max_cqe), completions);
	if (!ret) {
		attr.send_cq = attr.recv_cq = c->cq.cq;
		attr.cap = (struct ibv_qp_cap){
			.max_send_wr = c->sq_size, .max_send_sge = 1, .max_recv_wr = own ? nr_recvs : 0, .max_recv_sge = own
		};
		ret = rdma_create_qp(c->id, dev->pd, &attr) ? -errno : 0;
	}
	if (!ret && own) {
		c->own.qp = c->id->qp;
		ret = rt_recvs_post(&c->own);
	}
	if (ret) {
		rdma_memlock_hint(ret, hint, sizeof(hint));
		error_set(err, ret, "make a queue pair of %u entries on %s: %s%s", c->nr_slots, rdma_cm_device(c->id), strerror(-ret),
			  hint);
	}
	return ret;
}

static int conn_resources(struct rt_conn *c, struct error *err)
{
	c->dev = rt_dev_get(c->q.loop, c->id->verbs, target_port_params(c->q.port), c->q.log, err);
	if (!c->dev)
		return err->code;
	rt_recvs_init(&c->own, c->dev->pd, RT_ADMIN_LEN);
	c->recvs = c->cm.qid ? &c->dev->recvs : &c->own;
	if (rt_slots_init(c))
		return error_set(err, -ENOMEM, "no memory for %u commands", c->nr_slots);
	return queue_pair(c, err);
}

static void refuse(struct rt_conn *c, uint16_t sts)
{
	uint8_t wire[NVME_RDMA_CM_REJECT_LEN];

	nvme_rdma_cm_reject_build(sts, wire);
	rdma_reject(c->id, wire, sizeof(wire));
}

static int send_accept(struct rt_conn *c, struct error *err)
{
	uint8_t wire[NVME_RDMA_CM_ACCEPT_LEN];
	struct rdma_conn_param param = { .private_data = wire, .private_data_len = sizeof(wire), .flow_control = 1, .rnr_retry_count = 7 };

	nvme_rdma_cm_accept_build((uint16_t)(c->cm.hsqsize + 1), wire);
	param.initiator_depth = (uint8_t)c->max_reads;
	param.responder_resources = (uint8_t)min_u32(c->reads_in, (uint32_t)c->dev->attr.max_qp_rd_atom);
	return rdma_accept(c->id, &param) ? error_set(err, -errno, "accept the connection: %s", strerror(errno)) : 0;
}

/* EINVAL is also what a queue pair and accepting end with when the host has left. */
static void not_accepted(struct rt_conn *c, const struct error *err)
{
	if (err->code == -EINVAL && rdma_cm_peer_left(c->id)) {
		log_info(c->q.log, "rdma %s: the host left before it was accepted", c->q.peer);
		rt_conn_lost(c, "the host left before it was accepted");
		return;
	}
	log_warn(c->q.log, "rdma %s: %s", c->q.peer, error_msg(err));
	refuse(c, NVME_RDMA_CM_NO_RSC);
	rt_conn_lost(c, "%s", error_msg(err));
}

static void accept_now(struct target_queue *q)
{
	struct rt_conn *c = to_rt_conn(q);
	struct error err = { 0 };

	if (c->state != RT_CONN_ACCEPT)
		return;
	if (conn_resources(c, &err) || send_accept(c, &err))
		not_accepted(c, &err);
	else
		conn_enter(c, RT_CONN_LINK);
	error_clear(&err);
}

/* The fault points of a link that other transports have. */
static void accept_point(struct target_queue *q)
{
	if (to_rt_conn(q)->state == RT_CONN_ACCEPT)
		target_link_point(q, TARGET_LINK_ICREQ, accept_now);
}

static void established(struct rt_conn *c)
{
	struct ibv_qp_attr attr = { .min_rnr_timer = MIN_RNR_TIMER };

	c->noticed = true;
	if (c->ending)
		conn_end(c);
	if (c->state != RT_CONN_LINK)
		return;
	conn_enter(c, RT_CONN_READY);
	/* The connection manager's own choice is 655 ms. */
	if (ibv_modify_qp(c->id->qp, &attr, IBV_QP_MIN_RNR_TIMER))
		log_debug(c->q.log, "rdma %s: the RNR timer stays as it is", c->q.peer);
}

static void cm_event(struct rdma_owner *owner, const struct rdma_event *ev)
{
	struct rt_conn *c = container_of(owner, struct rt_conn, owner);

	switch (ev->type) {
	case RDMA_CM_EVENT_ESTABLISHED:
		established(c);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		c->peer_gone = true;
		rt_conn_lost(c, "the host closed the connection");
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		rt_conn_lost(c, "the RDMA device %s is being removed", rdma_cm_device(c->id));
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_REJECTED:
		rt_conn_lost(c, "the host did not confirm the connection (%s)", rdma_event_str(ev->type));
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		rt_conn_lost(c, "the device's address has changed");
		break;
	default:
		break;
	}
}

int rt_queue_resize(struct target_queue *q, uint16_t sqsize)
{
	return sqsize <= to_rt_conn(q)->cm.hsqsize ? 0 : -ENOMEM;
}

void rt_conn_start(struct rt_conn *c)
{
	struct rdma_event_channel *channel;
	struct error err = { 0 };
	int ret;

	loop_defer_init(&c->flush, flush_deferred);
	loop_defer_init(&c->finish, conn_finish);
	timer_init(&c->linger, linger_timeout);
	timer_init(&c->stuck, stuck_timeout);
	c->owner.event = cm_event;
	c->q.sqsize = c->cm.hsqsize;
	/* Any memory of the core's may change while it is being sent: what leaves is a copy. */
	c->q.stable_data = false;
	ret = target_queue_init(&c->q, &rdma_target_transport, c->q.port, c->q.loop);
	if (ret) {
		refuse(c, NVME_RDMA_CM_NO_RSC);
		rdma_destroy_id(c->id); /* of the listener's channel still */
		free(c);
		return;
	}
	conn_enter(c, RT_CONN_ACCEPT);
	ret = rdma_cm_channel(c->q.loop, &channel, &err);
	if (!ret && rdma_migrate_id(c->id, channel))
		ret = error_set(&err, -errno, "take the connection over: %s", strerror(errno));
	c->id->context = &c->owner; /* no sooner: until now its events were the listener's thread's */
	if (ret)
		rt_conn_lost(c, "%s", error_msg(&err));
	else
		target_link_point(&c->q, TARGET_LINK_ACCEPT, accept_point);
	error_clear(&err);
}
