/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection's beginning: from the request over the queue pair to the host's confirmation. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/rdma/rdma_target.h"

#define MIN_RNR_TIMER 12 /* 0.64 ms: a host that found no receive buffer tries again then */
#define READS_MAX     16 /* of a connection at once.  More gain nothing, and soft devices run into their own time-outs. */

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
				   min_u32((own ? nr_recvs : dev->max_recvs) + c->sq_size, (uint32_t)dev->attr.max_cqe), rt_completions);
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
		rt_conn_enter(c, RT_CONN_LINK);
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

	rt_conn_noticed(c);
	if (c->state != RT_CONN_LINK)
		return;
	rt_conn_enter(c, RT_CONN_READY);
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

	rt_conn_life_init(c);
	rt_conn_wc_init(c);
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
	rt_conn_enter(c, RT_CONN_ACCEPT);
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
