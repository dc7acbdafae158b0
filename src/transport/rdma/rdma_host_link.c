/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From nothing to a linked queue: name, address, route, connect (NVMe RDMA transport specification, section 3.1).
 *
 * What a connection is for travels in the private data of its request, so the peer can refuse it before there is a queue pair.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/rdma.h"
#include "transport/rdma/rdma_host.h"

#define STEP_TMO_MS 5000 /* for addresses and routes; the core's own limit is for all of it */
#define RETRIES	    7	 /* of what was not acknowledged */
#define RNR_RETRIES 7	 /* for ever: the peer's shared receive queue may be short for a while */

static void link_try(struct rdma_queue *rq);

void rdma_host_lost(struct rdma_queue *rq, int code, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (atomic_exchange(&rq->dead, true))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	host_queue_failed(&rq->q, code, "%s", text);
}

static void addresses_known(struct inet_waiter *w)
{
	struct rdma_queue *rq = container_of(w, struct rdma_queue, wait);

	link_try(rq);
}

void rdma_host_link_start(struct rdma_queue *rq)
{
	host_queue_enter(&rq->q, QUEUE_RESOLVE);
	rq->wait.q = &rq->q;
	rq->wait.known = addresses_known;
	inet_peer_want(&rq->ep->peer, &rq->wait);
}

/* ---- address, route, connect ---- */

static struct sockaddr *source(struct rdma_endpoint *ep)
{
	return ep->peer.local_len ? (struct sockaddr *)&ep->peer.local : NULL;
}

static void link_try(struct rdma_queue *rq)
{
	struct rdma_endpoint *ep = rq->ep;
	const struct inet_peer_addr *to = inet_waiter_addr(&rq->wait);
	struct error err = { 0 };
	int one = 1;

	if (rdma_cm_id_new(rq->q.loop, &rq->owner, &rq->id, &err)) {
		rdma_host_lost(rq, err.code, "%s", error_msg(&err));
		error_clear(&err);
		return;
	}
	memcpy(rq->q.peer, to->text, sizeof(rq->q.peer));
	/* The queues of a ctrl share a source address (C021). */
	if (rdma_set_option(rq->id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &one, sizeof(one)))
		rdma_host_lost(rq, -errno, "share the source address: %s", strerror(errno));
	else if (ep->p.tos >= 0 &&
		 rdma_set_option(rq->id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &(uint8_t){ (uint8_t)ep->p.tos }, sizeof(uint8_t)))
		rdma_host_lost(rq, -errno, "set the type of service: %s", strerror(errno));
	else if (rdma_resolve_addr(rq->id, source(ep), (struct sockaddr *)&to->ss, STEP_TMO_MS))
		rdma_host_lost(rq, -errno, "find an RDMA device that leads there%s%s: %s", ep->p.host_traddr ? " from " : "",
			       ep->p.host_traddr ? ep->p.host_traddr : "", strerror(errno));
}

static void link_route(struct rdma_queue *rq)
{
	host_queue_enter(&rq->q, QUEUE_ROUTE);
	if (rdma_resolve_route(rq->id, STEP_TMO_MS))
		rdma_host_lost(rq, -errno, "find a route from %s: %s", rdma_cm_device(rq->id), strerror(errno));
}

static void link_connect(struct rdma_queue *rq)
{
	uint8_t wire[NVME_RDMA_CM_REQ_LEN];
	struct rdma_conn_param param = {
		.private_data = wire,
		.private_data_len = sizeof(wire),
		.retry_count = RETRIES,
		.rnr_retry_count = RNR_RETRIES,
		.flow_control = 1,
	};
	struct nvme_rdma_cm_req req = {
		.qid = rq->q.qid,
		.hrqsize = (uint16_t)rq->nr_slots,
		.hsqsize = (uint16_t)(rq->nr_slots - 1),
		.cntlid = rq->q.qid ? rq->q.cntlid : NVMF_CNTLID_DYNAMIC,
	};
	struct error err = { 0 };

	host_queue_enter(&rq->q, QUEUE_LINK);
	if (!rq->q.qid)
		rdma_cm_local(rq->id, rq->q.local, sizeof(rq->q.local));
	if (rdma_host_qp_new(rq, &err)) {
		rdma_host_lost(rq, err.code, "%s", error_msg(&err));
		error_clear(&err);
		return;
	}
	param.responder_resources = rq->dev->max_reads;
	nvme_rdma_cm_req_build(&req, wire);
	if (rdma_connect(rq->id, &param))
		rdma_host_lost(rq, -errno, "connect by %s: %s", rdma_cm_device(rq->id), strerror(errno));
}

static void link_established(struct rdma_queue *rq, const struct rdma_event *ev)
{
	uint16_t crqsize;
	const char *why = nvme_rdma_cm_accept_parse(ev->data, ev->data_len, &crqsize);

	rq->established = true;
	inet_waiter_linked(&rq->wait);
	if (why)
		rdma_host_lost(rq, -EPROTO, "the peer accepts, but %s", why);
	else
		host_queue_linked(&rq->q);
}

/* ---- what can go wrong ---- */

/* Another address of the name may do. */
static bool try_next_address(struct rdma_queue *rq)
{
	if (rq->q.state > QUEUE_RESOLVE || !inet_waiter_next(&rq->wait))
		return false;
	rdma_destroy_id(rq->id);
	rq->id = NULL;
	link_try(rq);
	return true;
}

static void link_rejected(struct rdma_queue *rq, const struct rdma_event *ev)
{
	uint16_t sts;

	if (nvme_rdma_cm_reject_parse(ev->data, ev->data_len, &sts))
		rdma_host_lost(rq, -ECONNREFUSED, "the peer refused the connection: %s (%u)", nvme_rdma_cm_status_name(sts), sts);
	else
		rdma_host_lost(rq, -ECONNREFUSED, "the connection was refused: %s (%d)", rdma_cm_reject_reason(ev->status), ev->status);
}

static void lost_on_the_way(struct rdma_queue *rq, const struct rdma_event *ev, const char *what)
{
	int ret = ev->status < 0 ? ev->status : -EHOSTUNREACH;

	rdma_host_lost(rq, ret, "%s: %s", what, strerror(-ret));
}

/* On the ctx's thread, wherever the queue is. */
void rdma_host_cm_event(struct rdma_owner *owner, const struct rdma_event *ev)
{
	struct rdma_queue *rq = container_of(owner, struct rdma_queue, owner);

	if (ev->type == RDMA_CM_EVENT_DISCONNECTED || ev->type == RDMA_CM_EVENT_DEVICE_REMOVAL)
		rq->closed = true;
	if (ev->type == RDMA_CM_EVENT_DEVICE_REMOVAL && rq->dev)
		rq->dev->gone = true;
	if (rq->dead)
		return;
	switch (ev->type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		link_route(rq);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		link_connect(rq);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		link_established(rq, ev);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
		if (!try_next_address(rq))
			lost_on_the_way(rq, ev, "no RDMA device leads there");
		break;
	case RDMA_CM_EVENT_ROUTE_ERROR:
		lost_on_the_way(rq, ev, "no route leads there");
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		lost_on_the_way(rq, ev, "the peer can't be reached");
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		lost_on_the_way(rq, ev, "connect");
		break;
	case RDMA_CM_EVENT_REJECTED:
		link_rejected(rq, ev);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		rdma_host_lost(rq, -ECONNRESET, "the peer closed the connection");
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		rdma_host_lost(rq, -ENODEV, "the RDMA device %s is being removed", rdma_cm_device(rq->id));
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		rdma_host_lost(rq, -ENETRESET, "the device's address has changed");
		break;
	default: /* TIMEWAIT_EXIT, multicast: nothing to do */
		break;
	}
}
