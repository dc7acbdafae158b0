/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/rdma/rdma_cq.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/util.h"

/* False: nothing was there; *left: there may be more. */
static bool poll_batch(struct rdma_cq *q, bool *left)
{
	struct ibv_wc wcs[RDMA_CQ_BATCH];
	int n = ibv_poll_cq(q->cq, RDMA_CQ_BATCH, wcs);

	if (n)
		q->batch(q, wcs, n);
	*left = n == RDMA_CQ_BATCH;
	return n != 0;
}

bool rdma_cq_poll(struct rdma_cq *q)
{
	bool left, worked = false;

	do
		worked |= poll_batch(q, &left);
	while (left);
	return worked;
}

/* The event that an armed queue has made, if any. */
static void event_take(struct rdma_cq *q)
{
	struct ibv_cq *cq;
	void *context;

	if (!q->armed || ibv_get_cq_event(q->channel, &cq, &context))
		return;
	q->armed = false;
	q->nr_events++;
}

/*
 * The loop may sleep after this: the queue is armed and was empty once since, or its event is still to be taken, and epoll tells of that
 * one.  So a loop that only tries takes none: as long as it finds what it looks for by itself, there is one event and not one for each
 * completion, and no system call.
 */
static bool cq_event(struct loop_fd *lf, uint32_t events)
{
	struct rdma_cq *q = container_of(lf, struct rdma_cq, lf);
	bool left, worked = poll_batch(q, &left);

	/* A peer that is as fast as we are would keep us here, and others waiting: its event stays, and brings us back. */
	if (left || events & LOOP_TRY)
		return worked;
	event_take(q);
	if (q->armed)
		return worked;
	if (ibv_req_notify_cq(q->cq, 0)) {
		loop_fd_del(&q->lf); /* there would be no end of being called */
		q->batch(q, NULL, -1);
		return true;
	}
	q->armed = true;
	return rdma_cq_poll(q) || worked;
}

int rdma_cq_open(struct rdma_cq *q, struct loop *loop, struct ibv_context *verbs, uint32_t nr,
		 void (*batch)(struct rdma_cq *q, const struct ibv_wc *wcs, int nr))
{
	memset(q, 0, sizeof(*q));
	q->batch = batch;
	q->channel = ibv_create_comp_channel(verbs);
	if (!q->channel || fcntl(q->channel->fd, F_SETFL, fcntl(q->channel->fd, F_GETFL) | O_NONBLOCK))
		return -errno;
	q->cq = ibv_create_cq(verbs, (int)nr, q, q->channel, 0);
	if (!q->cq)
		return -errno;
	if (ibv_req_notify_cq(q->cq, 0))
		return -EIO;
	q->armed = true;
	return rdma_cq_attach(q, loop);
}

void rdma_cq_detach(struct rdma_cq *q)
{
	loop_fd_del(&q->lf);
}

/* It is armed, or its event has come: what has completed on the way is told by the channel. */
int rdma_cq_attach(struct rdma_cq *q, struct loop *loop)
{
	return loop_fd_add(loop, &q->lf, q->channel->fd, EPOLLIN, cq_event);
}

void rdma_cq_close(struct rdma_cq *q)
{
	loop_fd_del(&q->lf);
	if (q->cq) {
		ibv_ack_cq_events(q->cq, q->nr_events);
		ibv_destroy_cq(q->cq);
	}
	if (q->channel)
		ibv_destroy_comp_channel(q->channel);
	memset(q, 0, sizeof(*q));
}
