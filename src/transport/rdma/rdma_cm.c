/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/rdma/rdma_cm.h"

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "base/util.h"
#include "transport/inet/inet_addr.h"
#include "transport/rdma/rdma_reaper.h"

#define EVENTS_PER_TURN 64

struct cm_loop {
	struct loop_ext ext;
	struct loop_fd lf;
	struct rdma_event_channel *channel; /* the reaper's */
	struct rdma_reaper *reaper;
};

static const char cm_loop_key;

static struct cm_loop *cm_loop_find(const struct loop *loop)
{
	struct loop_ext *ext = loop_ext_find(loop, &cm_loop_key);

	return ext ? container_of(ext, struct cm_loop, ext) : NULL;
}

/* What is worth keeping of an event: it goes back before anybody acts on it. */
static void event_take(struct rdma_cm_event *from, struct rdma_event *ev)
{
	const struct rdma_conn_param *conn = &from->param.conn;

	*ev = (struct rdma_event){ .type = from->event, .status = from->status, .id = from->id };
	switch (from->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
	case RDMA_CM_EVENT_ESTABLISHED:
	case RDMA_CM_EVENT_REJECTED:
		ev->reads_in = conn->responder_resources;
		ev->reads_out = conn->initiator_depth;
		ev->data_len = conn->private_data ? conn->private_data_len : 0;
		if (ev->data_len)
			memcpy(ev->data, conn->private_data, ev->data_len);
		break;
	default:
		break;
	}
}

static bool cm_events(struct loop_fd *lf, uint32_t events)
{
	struct cm_loop *c = container_of(lf, struct cm_loop, lf);
	struct rdma_cm_event *from;
	struct rdma_event ev;
	int i;

	for (i = 0; i < EVENTS_PER_TURN && !rdma_get_cm_event(c->channel, &from); i++) {
		struct rdma_owner *owner = from->id->context;

		event_take(from, &ev);
		rdma_ack_cm_event(from);
		if (owner)
			owner->event(owner, &ev);
	}
	return i > 0;
}

void rdma_cm_look(struct loop *loop)
{
	cm_events(&cm_loop_find(loop)->lf, EPOLLIN);
}

static void cm_loop_free(struct loop_ext *ext)
{
	struct cm_loop *c = container_of(ext, struct cm_loop, ext);

	loop_fd_del(&c->lf);
	rdma_reaper_free(c->reaper);
	free(c);
}

/* Asked first: librdmacm talks to the terminal when there is nothing. */
static int need_device(struct error *err)
{
	struct ibv_device **list;
	int nr = 0;

	list = ibv_get_device_list(&nr);
	if (list)
		ibv_free_device_list(list);
	if (!list || !nr)
		return error_set(err, -ENODEV, "no RDMA device on this machine (rdma link show lists them)");
	return 0;
}

int rdma_cm_channel(struct loop *loop, struct rdma_event_channel **channel, struct error *err)
{
	struct cm_loop *c = cm_loop_find(loop);
	int ret;

	if (c) {
		*channel = c->channel;
		return 0;
	}
	ret = need_device(err);
	if (ret)
		return ret;
	c = calloc(1, sizeof(*c));
	if (!c)
		return error_set(err, -ENOMEM, "no memory");
	c->channel = rdma_create_event_channel();
	if (!c->channel) {
		ret = error_set(err, -errno, "open the RDMA connection manager (/dev/infiniband/rdma_cm; kernel module rdma_ucm): %s",
				strerror(errno));
		goto fail;
	}
	ret = fcntl(c->channel->fd, F_SETFL, fcntl(c->channel->fd, F_GETFL) | O_NONBLOCK) ? -errno : 0;
	if (!ret)
		ret = loop_fd_add(loop, &c->lf, c->channel->fd, EPOLLIN, cm_events);
	if (!ret) {
		c->reaper = rdma_reaper_new(c->channel);
		ret = c->reaper ? 0 : -ENOMEM;
	}
	if (ret) {
		error_set(err, ret, "watch the RDMA connection manager: %s", strerror(-ret));
		loop_fd_del(&c->lf);
		rdma_destroy_event_channel(c->channel);
		goto fail;
	}
	c->ext = (struct loop_ext){ .key = &cm_loop_key, .free = cm_loop_free };
	loop_ext_add(loop, &c->ext);
	*channel = c->channel;
	return 0;

fail:
	free(c);
	return ret;
}

int rdma_cm_id_new(struct loop *loop, struct rdma_owner *owner, struct rdma_cm_id **id, struct error *err)
{
	struct rdma_event_channel *channel = NULL;
	int ret = rdma_cm_channel(loop, &channel, err);

	if (ret)
		return ret;
	if (rdma_create_id(channel, id, owner, RDMA_PS_TCP))
		return error_set(err, -errno, "make an RDMA connection id: %s", strerror(errno));
	return 0;
}

void rdma_cm_id_free(struct loop *loop, struct rdma_cm_id *id)
{
	struct cm_loop *c = cm_loop_find(loop);

	if (c)
		rdma_reaper_take(c->reaper, id);
	else
		rdma_destroy_id(id); /* it has not come to this loop yet */
}

bool rdma_cm_peer_left(struct rdma_cm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask;

	return rdma_init_qp_attr(id, &attr, &mask) && errno == EINVAL;
}

/* InfiniBand Architecture Specification 1, section 12.6.7.2; iWARP knows only a system's error. */
const char *rdma_cm_reject_reason(int reason)
{
	static const char *const reasons[] = {
		[1] = "no queue pair is available",
		[3] = "no resources are available",
		[4] = "it took too long",
		[5] = "unsupported request",
		[8] = "nobody listens there",
		[10] = "the connection is stale",
		[12] = "invalid GID",
		[13] = "invalid LID",
		[24] = "use another port",
		[28] = "the peer does not want it",
		[33] = "the vendor option is not supported",
	};

	if (reason < 0)
		return strerror(-reason);
	return (size_t)reason < ARRAY_SIZE(reasons) && reasons[reason] ? reasons[reason] : "unknown reason";
}

const char *rdma_cm_device(const struct rdma_cm_id *id)
{
	return id->verbs ? ibv_get_device_name(id->verbs->device) : "?";
}

static void name_of(const struct sockaddr *sa, char *text, size_t len)
{
	if (sa)
		inet_addr_text(sa, sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in), text, len);
	else
		snprintf(text, len, "unknown address");
}

void rdma_cm_local(struct rdma_cm_id *id, char *text, size_t len)
{
	name_of(rdma_get_local_addr(id), text, len);
}

void rdma_cm_peer(struct rdma_cm_id *id, char *text, size_t len)
{
	name_of(rdma_get_peer_addr(id), text, len);
}

void rdma_memlock_hint(int ret, char *text, size_t len)
{
	struct rlimit limit;

	text[0] = '\0';
	if (ret == -ENOMEM && !getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur != RLIM_INFINITY)
		snprintf(text, len, "; the limit of locked memory is %llu KiB (ulimit -l)", (unsigned long long)limit.rlim_cur / 1024);
}
