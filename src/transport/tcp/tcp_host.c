/* SPDX-License-Identifier: BSD-3-Clause */
/* The TCP transport's host half: the endpoint its queues share, and the life of a queue. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "transport/tcp/tcp_host.h"

static int tcp_host_addr_check(const struct host_link_params *p, struct error *err)
{
	return inet_peer_check(p, "tcp", err);
}

static void tcp_host_endpoint_free(struct host_endpoint *hep)
{
	struct tcp_endpoint *ep = to_tcp_endpoint(hep);

	if (!ep)
		return;
	inet_olds_exit(&ep->olds);
	inet_peer_exit(&ep->peer);
	free(ep->staging);
	free(ep);
}

static int tcp_host_endpoint_new(const struct host_link_params *p, struct loop *loop, struct host_endpoint **hep, struct error *err)
{
	struct tcp_endpoint *ep = calloc(1, sizeof(*ep));
	int ret;

	if (!ep)
		return error_set(err, -ENOMEM, "no memory");
	ep->p = *p;
	inet_olds_init(&ep->olds, &ep->p, loop);
	ret = inet_peer_init(&ep->peer, &ep->p, "tcp", loop, err);
	if (!ret) {
		ep->staging = malloc(TCP_HOST_STAGING);
		ret = ep->staging ? 0 : error_set(err, -ENOMEM, "no memory");
	}
	if (ret) {
		tcp_host_endpoint_free((struct host_endpoint *)ep);
		return ret;
	}
	*hep = (struct host_endpoint *)ep;
	return 0;
}

static void tcp_queue_flush(struct loop_defer *d)
{
	tcp_host_tx_flush(container_of(d, struct tcp_queue, flush));
}

static struct host_queue *tcp_host_queue_alloc(struct host_endpoint *hep)
{
	struct tcp_queue *tq = malloc(sizeof(*tq));

	if (!tq)
		return NULL;
	/* What is staged for sending needs no zeroes: an idle queue never touches those pages. */
	memset(tq, 0, offsetof(struct tcp_queue, tx.iov));
	tq->ep = to_tcp_endpoint(hep);
	tq->fd = -1;
	tq->staging = tq->ep->staging;
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

static void tcp_host_queue_detach(struct host_queue *q)
{
	struct tcp_queue *tq = to_tcp_queue(q);

	loop_defer_cancel(&tq->flush);
	loop_fd_del(&tq->lf);
}

static int tcp_host_queue_attach(struct host_queue *q)
{
	struct tcp_queue *tq = to_tcp_queue(q);
	int ret = tcp_host_thread_staging(q->loop, &tq->staging);

	return ret ? ret : loop_fd_add(q->loop, &tq->lf, tq->fd, EPOLLIN, tcp_host_event);
}

static void tcp_host_queue_stop(struct host_queue *q)
{
	struct tcp_queue *tq = to_tcp_queue(q);

	tq->dead = true;
	loop_defer_cancel(&tq->flush);
	inet_waiter_cancel(&tq->wait);
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
	if (tq->linking)
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
	.early_links = true,
	.addr_check = tcp_host_addr_check,
	.endpoint_new = tcp_host_endpoint_new,
	.endpoint_free = tcp_host_endpoint_free,
	.queue_alloc = tcp_host_queue_alloc,
	.queue_start = tcp_host_queue_start,
	.submit = tcp_host_submit,
	.queue_detach = tcp_host_queue_detach,
	.queue_attach = tcp_host_queue_attach,
	.queue_stop = tcp_host_queue_stop,
	.queue_free = tcp_host_queue_free,
	.settled = tcp_host_settled,
};
