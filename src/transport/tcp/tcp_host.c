/* SPDX-License-Identifier: BSD-3-Clause */
/* The TCP transport's host half: the endpoint its queues share, and the life of a queue. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "transport/tcp/tcp_host.h"

/* Checks both addresses as far as that goes without asking anyone.  Fills what is numeric. */
static int endpoint_addrs(const struct host_link_params *p, struct sockaddr_storage *peer, socklen_t *peer_len,
			  struct sockaddr_storage *local, socklen_t *local_len, struct error *err)
{
	int ret;

	*peer_len = *local_len = 0;
	if (!p->traddr)
		return error_set(err, -EINVAL, "traddr is missing: the tcp transport needs an address or a name");
	ret = tcp_addr_numeric("traddr", p->traddr, p->trsvcid, p->host_iface, peer, peer_len, err);
	if (ret && ret != -ENOENT)
		return ret;
	if (!p->host_traddr)
		return 0;
	ret = tcp_addr_numeric("host-traddr", p->host_traddr, NULL, p->host_iface, local, local_len, err);
	if (ret == -ENOENT)
		return error_set(err, -EINVAL, "host-traddr '%s': not a numeric IPv4 or IPv6 address", p->host_traddr);
	if (!ret && *peer_len && peer->ss_family != local->ss_family)
		return error_set(err, -EINVAL, "host-traddr '%s' and traddr '%s' are of different address families", p->host_traddr,
				 p->traddr);
	return ret;
}

static int tcp_host_addr_check(const struct host_link_params *p, struct error *err)
{
	struct sockaddr_storage peer, local;
	socklen_t peer_len, local_len;

	return endpoint_addrs(p, &peer, &peer_len, &local, &local_len, err);
}

static void tcp_host_endpoint_free(struct host_endpoint *hep)
{
	struct tcp_endpoint *ep = to_tcp_endpoint(hep);

	if (!ep)
		return;
	tcp_host_old_free(ep);
	tcp_resolve_cancel(ep->resolve);
	free(ep->addrs);
	free(ep->addr_lens);
	free(ep->staging);
	free(ep);
}

static int tcp_host_endpoint_new(const struct host_link_params *p, struct loop *loop, struct host_endpoint **hep, struct error *err)
{
	struct tcp_endpoint *ep = calloc(1, sizeof(*ep));
	struct sockaddr_storage peer;
	socklen_t peer_len;
	int ret;

	if (!ep)
		return error_set(err, -ENOMEM, "no memory");
	ep->p = *p;
	ep->loop = loop;
	CDS_INIT_LIST_HEAD(&ep->waiting);
	CDS_INIT_LIST_HEAD(&ep->old);
	ret = endpoint_addrs(p, &peer, &peer_len, &ep->local, &ep->local_len, err);
	if (ret)
		goto fail;
	ep->staging = malloc(TCP_HOST_STAGING);
	if (!ep->staging)
		goto nomem;
	if (peer_len) {
		ep->addrs = malloc(sizeof(peer));
		ep->addr_lens = malloc(sizeof(peer_len));
		if (!ep->addrs || !ep->addr_lens)
			goto nomem;
		ep->addrs[0] = peer;
		ep->addr_lens[0] = peer_len;
		ep->nr_addrs = 1;
	}
	*hep = (struct host_endpoint *)ep;
	return 0;

nomem:
	ret = error_set(err, -ENOMEM, "no memory");
fail:
	tcp_host_endpoint_free((struct host_endpoint *)ep);
	return ret;
}

static void tcp_queue_flush(struct loop_defer *d)
{
	tcp_host_tx_flush(container_of(d, struct tcp_queue, flush));
}

static struct host_queue *tcp_host_queue_alloc(struct host_endpoint *hep, uint32_t queue_size)
{
	struct tcp_queue *tq = calloc(1, sizeof(*tq));

	if (!tq)
		return NULL;
	tq->ep = to_tcp_endpoint(hep);
	tq->fd = -1;
	loop_defer_init(&tq->flush, tcp_queue_flush);
	tcp_host_tx_init(&tq->tx);
	return &tq->q;
}

static int tcp_host_queue_start(struct host_queue *q)
{
	struct tcp_queue *tq = to_tcp_queue(q);

	nvme_tcp_rx_init(&tq->rx, NVME_TCP_HOST, 0, TCP_HOST_MAX_C2HDATA);
	tcp_host_link_start(tq);
	return 0;
}

static int tcp_host_submit(struct host_queue *q, struct host_req *req)
{
	struct tcp_queue *tq = to_tcp_queue(q);
	bool idle = tq->nr_out++ == 0 && !tq->tx.blocked;

	tcp_host_tx_add(tq, req);
	/* The first goes out at once; what follows while it is under way leaves together at the end of the turn. */
	if (idle)
		tcp_host_tx_flush(tq);
	else
		loop_defer(q->loop, &tq->flush);
	return 0;
}

static void tcp_host_queue_stop(struct host_queue *q)
{
	struct tcp_queue *tq = to_tcp_queue(q);

	tq->dead = true;
	loop_defer_cancel(&tq->flush);
	if (tq->waiting) {
		cds_list_del(&tq->wait);
		tq->waiting = false;
	}
	loop_fd_del(&tq->lf);
	if (tq->fd >= 0 && q->resend && q->nr_inflight && !tq->closed)
		tcp_host_old_keep(tq->ep, tq->fd);
	else if (tq->fd >= 0)
		close(tq->fd);
	tq->fd = -1;
}

static void tcp_host_queue_free(struct host_queue *q)
{
	free(to_tcp_queue(q));
}

/* All events of a queue's socket. */
bool tcp_host_event(struct loop_fd *lf, uint32_t events)
{
	struct tcp_queue *tq = container_of(lf, struct tcp_queue, lf);
	bool worked = false;

	if (tq->dead)
		return false;
	if (tq->q.state == QUEUE_LINK)
		return tcp_host_link_event(tq, events);
	if (events & EPOLLOUT) {
		tq->tx.blocked = false;
		tcp_host_tx_flush(tq);
		worked = true;
	}
	if (!tq->dead && events & (EPOLLIN | EPOLLERR | EPOLLHUP))
		worked |= tcp_host_rx_run(tq);
	return worked;
}

const struct host_transport tcp_host_transport = {
	.name = "tcp",
	.trtype = NVMF_TRTYPE_TCP,
	.req_size = sizeof(struct tcp_req),
	.admin_inline_len = NVME_TCP_ADMIN_CAPSULE_DATA,
	.default_trsvcid = "4420",
	.addr_check = tcp_host_addr_check,
	.endpoint_new = tcp_host_endpoint_new,
	.endpoint_free = tcp_host_endpoint_free,
	.queue_alloc = tcp_host_queue_alloc,
	.queue_start = tcp_host_queue_start,
	.submit = tcp_host_submit,
	.queue_stop = tcp_host_queue_stop,
	.queue_free = tcp_host_queue_free,
	.settled = tcp_host_settled,
};
