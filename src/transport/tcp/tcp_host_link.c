/* SPDX-License-Identifier: BSD-3-Clause */
/* From nothing to a linked queue: resolve, TCP connect, ICReq/ICResp (TCP transport spec, section 3.2 and 3.6.2). */
#include <errno.h>
#include <linux/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "transport/tcp/tcp_host.h"

/* What is being done on the way to a peer, and with what of ours; for errors. */
struct link_step {
	const char *doing, *with; /* "connect to" PEER; "bind to the host address" WITH "for" PEER */
};

static void link_try(struct tcp_queue *tq);
static void link_failed(struct tcp_queue *tq, int err, const struct link_step *step);

static void addresses_known(struct inet_waiter *w)
{
	link_try(container_of(w, struct tcp_queue, wait));
}

static void address_is_late(struct inet_waiter *w)
{
	link_failed(container_of(w, struct tcp_queue, wait), ETIMEDOUT, &(struct link_step){ "connect to", NULL });
}

void tcp_host_link_start(struct tcp_queue *tq)
{
	tq->wait.q = &tq->q;
	tq->wait.known = addresses_known;
	tq->wait.late = address_is_late;
	inet_peer_want(&tq->ep->peer, &tq->wait);
}

/* Everything that is set before connect(). */
static int link_socket(struct tcp_queue *tq, const struct sockaddr_storage *ss, struct link_step *step)
{
	const struct host_link_params *p = &tq->ep->p;
	int one = 1;

	*step = (struct link_step){ "open a socket for", NULL };
	/* Buffer sizes and congestion control are left to the system: autotuning wins. */
	tq->fd = socket(ss->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
	if (tq->fd < 0 || setsockopt(tq->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		return -errno;
	if (p->tos >= 0) {
		*step = (struct link_step){ "set the type of service for", NULL };
		if (ss->ss_family == AF_INET6 ? setsockopt(tq->fd, IPPROTO_IPV6, IPV6_TCLASS, &p->tos, sizeof(p->tos))
					      : setsockopt(tq->fd, IPPROTO_IP, IP_TOS, &p->tos, sizeof(p->tos)))
			return -errno;
	}
	if (p->host_iface) {
		*step = (struct link_step){ "bind to the host interface", p->host_iface };
		if (setsockopt(tq->fd, SOL_SOCKET, SO_BINDTODEVICE, p->host_iface, (socklen_t)strlen(p->host_iface)))
			return -errno;
	}
	if (tq->ep->peer.local_len) {
		*step = (struct link_step){ "bind to the host address", p->host_traddr };
		/* The port is chosen at connect(): thousands of queues may share one source address. */
		if (setsockopt(tq->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one)))
			return -errno;
		if (bind(tq->fd, (struct sockaddr *)&tq->ep->peer.local, tq->ep->peer.local_len))
			return -errno;
	}
	return 0;
}

static void link_close(struct tcp_queue *tq)
{
	loop_fd_del(&tq->lf);
	if (tq->fd >= 0)
		close(tq->fd);
	tq->fd = -1;
}

/* The connect to this address came to nothing: the next address of the name, or the end. */
static void link_failed(struct tcp_queue *tq, int err, const struct link_step *step)
{
	char doing[128];

	snprintf(doing, sizeof(doing), step->with ? "%s %s for" : "%s", step->doing, step->with);
	link_close(tq);
	if (inet_waiter_next(&tq->wait)) {
		log_info(tq->q.log, "%s %s: %s; trying the next address", doing, tq->q.peer, strerror(err));
		link_try(tq);
		return;
	}
	host_queue_failed(&tq->q, -err, "%s %s: %s", doing, tq->q.peer, strerror(err));
}

/* Sends ICReq.  -EAGAIN: it is not connected yet; else it is, or why it is not. */
static int link_greet(struct tcp_queue *tq)
{
	struct nvme_tcp_ic icreq = {
		.hdr = { .type = NVME_TCP_ICREQ, .hlen = sizeof(icreq), .plen = htole32(sizeof(icreq)) },
		.dgst = (uint8_t)(tq->ep->p.hdr_digest | tq->ep->p.data_digest << 1),
		.maxval = htole32(TCP_HOST_MAXR2T - 1),
	};
	ssize_t n = send(tq->fd, &icreq, sizeof(icreq), MSG_NOSIGNAL);

	if (n < 0)
		return -errno;
	return n == sizeof(icreq) ? 0 : -EPIPE; /* an empty socket buffer takes 128 bytes whole */
}

/* These tell that it was connected: no other address is tried any more, whichever of send and receive comes to know first. */
static bool was_connected(int greeted)
{
	return !greeted || greeted == -EPIPE || greeted == -ECONNRESET;
}

static void link_connected(struct tcp_queue *tq, int greeted)
{
	inet_waiter_linked(&tq->wait);
	if (!tq->q.qid)
		tcp_sock_local(tq->fd, tq->q.local, sizeof(tq->q.local));
	tq->linking = false;
	host_queue_enter(&tq->q, QUEUE_ICREQ);
	if (greeted)
		tcp_host_lost(tq, -greeted, "send ICReq");
	else
		loop_fd_heat(&tq->lf);
}

static void link_try(struct tcp_queue *tq)
{
	const struct inet_peer_addr *addr = inet_waiter_addr(&tq->wait);
	struct link_step step;
	int ret, greeted = -EAGAIN;

	if (tq->q.state != QUEUE_LINK)
		host_queue_enter(&tq->q, QUEUE_LINK);
	memcpy(tq->q.peer, addr->text, sizeof(tq->q.peer));
	tq->linking = true;
	ret = link_socket(tq, &addr->ss, &step);
	if (!ret) {
		step = (struct link_step){ "connect to", NULL };
		if (connect(tq->fd, (const struct sockaddr *)&addr->ss, inet_addr_len(&addr->ss)) && errno != EINPROGRESS)
			ret = -errno;
	}
	/* Within one machine it is connected by now: its ICReq need not wait until all other queues have been begun. */
	if (!ret) {
		greeted = link_greet(tq);
		ret = was_connected(greeted) || greeted == -EAGAIN ? 0 : greeted;
	}
	if (!ret)
		ret = loop_fd_add(tq->q.loop, &tq->lf, tq->fd, greeted == -EAGAIN ? EPOLLOUT : EPOLLIN, tcp_host_event);
	if (ret)
		link_failed(tq, -ret, &step);
	else if (was_connected(greeted))
		link_connected(tq, greeted);
}

bool tcp_host_link_event(struct tcp_queue *tq, uint32_t events)
{
	int greeted;

	if (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
		return false;
	greeted = link_greet(tq);
	if (was_connected(greeted)) {
		loop_fd_mod(&tq->lf, EPOLLIN);
		link_connected(tq, greeted);
	} else if (greeted != -EAGAIN) {
		link_failed(tq, -greeted, &(struct link_step){ "connect to", NULL });
	}
	return true;
}

/* One digest of the IC exchange: granted as asked, or the connect ends with a reason that names it (C122). */
static bool ic_digest_ok(struct tcp_queue *tq, const char *what, bool asked, bool granted)
{
	if (asked == granted)
		return true;
	if (asked)
		tcp_host_terminate(tq, NVME_TCP_FES_UNSUPPORTED, 11, -ENOTSUP, "%s digest asked for, but the target does not offer it",
				   what);
	else
		tcp_host_terminate(tq, NVME_TCP_FES_INVALID_HDR, 11, -EPROTO, "the target turned on the %s digest that was not asked for",
				   what);
	return false;
}

/* ICResp is whole and formally valid in tq->rx.pdu. */
void tcp_host_ic_received(struct tcp_queue *tq)
{
	const struct nvme_tcp_ic *ic = &tq->rx.pdu.ic;
	uint32_t maxdata = le32toh(ic->maxval);
	bool hdgst = ic->dgst & 1, ddgst = ic->dgst & 2;

	if (ic->pfv) {
		tcp_host_terminate(tq, NVME_TCP_FES_INVALID_HDR, 8, -EPROTO, "ICResp: PDU format version %u is not supported (only 0 is)",
				   le16toh(ic->pfv));
		return;
	}
	if (ic->pda > NVME_TCP_PDA_MAX) {
		tcp_host_terminate(tq, NVME_TCP_FES_INVALID_HDR, 10, -EPROTO, "ICResp: CPDA %u is above %u", ic->pda, NVME_TCP_PDA_MAX);
		return;
	}
	if (maxdata < NVME_TCP_MIN_MAXH2CDATA || maxdata % 4) {
		tcp_host_terminate(tq, NVME_TCP_FES_INVALID_HDR, 12, -EPROTO, "ICResp: MAXH2CDATA %u is %s", maxdata,
				   maxdata % 4 ? "not a multiple of 4" : "below 4096");
		return;
	}
	if (!ic_digest_ok(tq, "header", tq->ep->p.hdr_digest, hdgst) || !ic_digest_ok(tq, "data", tq->ep->p.data_digest, ddgst))
		return;
	tq->cpda = ic->pda;
	tq->maxh2cdata = maxdata;
	tq->q.hdr_digest = hdgst;
	tq->q.data_digest = ddgst;
	tq->linked = true;
	nvme_tcp_rx_negotiated(&tq->rx, hdgst, ddgst);
	host_queue_linked(&tq->q);
}
