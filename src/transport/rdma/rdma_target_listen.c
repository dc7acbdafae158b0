/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Listens on one loop, looks at the private data of each request, and hands connections to the loop each shall live on.
 *
 * A device may go and come back: a listener that was bound to it tries to listen again.
 */
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/inet/inet_addr.h"
#include "transport/rdma/rdma_target.h"
#include "transport/rdma/rdma_target_listen.h"

#define BACKLOG	      1024
#define RETRY_NS      NSEC_PER_SEC
#define TELL_BURST    20
#define TELL_EVERY_NS (10 * NSEC_PER_SEC)
#define ADMIN_ENTRIES 32 /* an admin queue may always have */

struct target_listener {
	struct target_port *port;
	struct loop *loop;
	struct rdma_owner owner;
	struct rdma_cm_id *id; /* NULL while the device is gone */
	struct sockaddr_storage addr;
	char text[128];
	struct timer retry;
	struct log_limit told;
};

/* ---- requests ---- */

static void reject(struct target_listener *l, struct rdma_cm_id *id, uint16_t sts)
{
	uint8_t wire[NVME_RDMA_CM_REJECT_LEN];
	char peer[128];

	rdma_cm_peer(id, peer, sizeof(peer));
	log_limited(target_port_log(l->port), LOG_WARN, &l->told, loop_now(l->loop), "rdma %s: connection refused: %s", peer,
		    nvme_rdma_cm_status_name(sts));
	nvme_rdma_cm_reject_build(sts, wire);
	rdma_reject(id, wire, sizeof(wire));
	id->context = NULL;
	rdma_destroy_id(id);
}

static uint16_t request_check(const struct target_listener *l, const struct rdma_event *ev, struct nvme_rdma_cm_req *cm)
{
	uint32_t max = target_port_params(l->port)->max_queue_size;
	uint16_t sts = nvme_rdma_cm_req_parse(ev->data, ev->data_len, cm);

	if (sts)
		return sts;
	if (cm->hsqsize >= (cm->qid ? max : max_u32(max, ADMIN_ENTRIES)))
		return NVME_RDMA_CM_INVALID_HSQSIZE;
	/* Without READs there is no way to fetch data. */
	return ev->reads_out ? 0 : NVME_RDMA_CM_INVALID_IRD;
}

static void hand_over(struct loop_work *w)
{
	rt_conn_start(container_of(w, struct rt_conn, hand_over));
}

static void request(struct target_listener *l, const struct rdma_event *ev)
{
	struct nvme_rdma_cm_req cm;
	uint16_t sts = request_check(l, ev, &cm);
	struct rt_conn *c;

	if (sts) {
		reject(l, ev->id, sts);
		return;
	}
	c = rt_conn_new(ev->id, &cm, ev);
	if (!c) {
		reject(l, ev->id, NVME_RDMA_CM_NO_RSC);
		return;
	}
	c->q.port = l->port;
	c->q.loop = target_place(target_port_target(l->port));
	if (!c->q.loop) { /* the target is going down */
		free(c);
		reject(l, ev->id, NVME_RDMA_CM_NO_RSC);
		return;
	}
	loop_work_init(&c->hand_over, hand_over);
	loop_post(c->q.loop, &c->hand_over);
}

/* ---- listening ---- */

static int bind_and_listen(struct target_listener *l, struct error *err)
{
	int ret = rdma_cm_id_new(l->loop, &l->owner, &l->id, err), one = 1, v6_only = 1;

	if (ret)
		return ret;
	rdma_set_option(l->id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &one, sizeof(one));
	if (l->addr.ss_family == AF_INET6)
		rdma_set_option(l->id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &v6_only, sizeof(v6_only));
	if (rdma_bind_addr(l->id, (struct sockaddr *)&l->addr)) {
		ret = -errno;
		if (ret == -ENODEV || ret == -EADDRNOTAVAIL)
			error_set(err, ret, "listen on %s: no RDMA device has this address (%s)", l->text, strerror(-ret));
		else
			error_set(err, ret, "listen on %s: bind: %s", l->text, strerror(-ret));
	} else if (rdma_listen(l->id, BACKLOG)) {
		ret = error_set(err, -errno, "listen on %s: %s", l->text, strerror(errno));
	}
	if (ret) {
		rdma_destroy_id(l->id);
		l->id = NULL;
	}
	return ret;
}

static void listen_again(struct timer *t)
{
	struct target_listener *l = container_of(t, struct target_listener, retry);
	struct error err = { 0 };

	if (bind_and_listen(l, &err))
		timer_set(l->loop, &l->retry, loop_now(l->loop) + RETRY_NS);
	else
		log_warn(target_port_log(l->port), "listen on %s: the RDMA device is back", l->text);
	error_clear(&err);
}

static void listener_event(struct rdma_owner *owner, const struct rdma_event *ev)
{
	struct target_listener *l = container_of(owner, struct target_listener, owner);

	if (ev->type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		request(l, ev);
	} else if (ev->type == RDMA_CM_EVENT_DEVICE_REMOVAL && ev->id == l->id) {
		log_warn(target_port_log(l->port), "listen on %s: the RDMA device %s is being removed", l->text, rdma_cm_device(l->id));
		rdma_destroy_id(l->id);
		l->id = NULL;
		timer_set(l->loop, &l->retry, loop_now(l->loop) + RETRY_NS);
	}
	/* Others are of connections that are on their way to their loop, and see it there. */
}

int rt_listen(struct target_port *port, struct loop *loop, const char *addr, const char *svc, struct target_listener **lp,
	      struct error *err)
{
	const struct target_link_params *params = target_port_params(port);
	struct target_listener *l;
	socklen_t len;
	int ret;

	if (params->pace)
		return error_set(err, -EINVAL, "listen on %s: pace %" PRIu64 ": the connections of transport rdma can't be paced", addr,
				 params->pace);
	if (params->mdts_len > RDMA_POOL_MAX_LEN)
		return error_set(err, -EINVAL, "listen on %s: rdma moves at most %zu bytes with one command, mdts is %u", addr,
				 RDMA_POOL_MAX_LEN, params->mdts_len);
	l = calloc(1, sizeof(*l));
	if (!l)
		return error_set(err, -ENOMEM, "listen on %s: no memory", addr);
	l->port = port;
	l->loop = loop;
	l->owner.event = listener_event;
	l->told = (struct log_limit){ .burst = TELL_BURST, .window_ns = TELL_EVERY_NS };
	timer_init(&l->retry, listen_again);
	ret = inet_addr_listen(addr, svc, &l->addr, &len, err);
	if (!ret) {
		inet_addr_text((struct sockaddr *)&l->addr, len, l->text, sizeof(l->text));
		ret = bind_and_listen(l, err);
	}
	if (ret) {
		free(l);
		return ret;
	}
	/* A port that was chosen stays the same when the device goes and comes back. */
	memcpy(&l->addr, rdma_get_local_addr(l->id), len);
	*lp = l;
	return 0;
}

void rt_listener_addr(const struct target_listener *l, char *addr, size_t addr_len, char *svc, size_t svc_len, uint8_t *adrfam)
{
	inet_addr_split(&l->addr, addr, addr_len, svc, svc_len, adrfam);
}

void rt_unlisten(struct target_listener *l)
{
	timer_cancel(l->loop, &l->retry);
	if (l->id)
		rdma_destroy_id(l->id);
	free(l);
}
