/* SPDX-License-Identifier: BSD-3-Clause */
/* What waits to be sent: answers and R2Ts in order, as many as fit in one sendmsg per connection and turn. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "transport/tcp/tcp_target.h"

/*
 * Payload of one sendmsg.  With digests less: it is summed up before its first byte leaves, and should be in a near cache still when it is
 * copied; what the socket does not take may have been summed up in vain.  Half of this costs 128 KiB reads up to 4 %, the double 1 MiB
 * reads 4 %.
 */
#define BATCH_MAX	(2 * 1024 * 1024)
#define BATCH_MAX_DDGST (1024 * 1024)

void tx_add(struct tt_conn *c, struct tx_item *item, enum tx_kind kind)
{
	item->kind = kind;
	item->next = NULL;
	if (c->tx_head)
		c->tx_tail->next = item;
	else
		c->tx_head = item;
	c->tx_tail = item;
	if (!c->in_rx)
		loop_defer(c->q.loop, &c->flush);
}

void tcp_target_respond(struct target_req *req)
{
	struct tt_slot *s = to_tt_slot(req);
	struct tt_conn *c = to_tt_conn(req->queue);

	if (!conn_alive(c)) {
		slot_end(c, s); /* nobody is left to hear it */
		return;
	}
	s->state = SLOT_TX;
	s->tx_done = 0;
	s->crc_valid = false;
	tx_add(c, &s->tx, TX_RSP);
}

void tcp_target_bring(struct target_req *req)
{
	struct tt_slot *s = to_tt_slot(req);
	struct tt_conn *c = to_tt_conn(req->queue);

	if (!conn_alive(c)) {
		slot_end(c, s);
		return;
	}
	slot_rx_begin(s);
	slot_r2t_next(c, s);
}

/* All of item's bytes have left. */
static void item_sent(struct tt_conn *c, struct tx_item *item)
{
	struct tt_slot *s = container_of(item, struct tt_slot, tx);

	c->tx_head = item->next;
	if (item->kind == TX_RSP)
		slot_end(c, s);
	else if (item->kind == TX_R2T)
		s->state = SLOT_H2C;
}

/* n bytes of the batch have left. */
static void account(struct tt_conn *c, const struct tx_batch *b, size_t n)
{
	uint32_t i;
	bool last;

	if (likely(n == b->len && !b->cut)) {
		for (i = 0; i < b->nr_items && c->tx_head; i++)
			item_sent(c, c->tx_head);
		c->tx_off = 0;
		return;
	}
	n += c->tx_off;
	while (c->tx_head) {
		struct tx_item *item = c->tx_head;
		size_t len = tx_pdu_len(c, item, &last);

		if (n < len)
			break;
		n -= len;
		if (last) {
			item_sent(c, item);
		} else {
			struct tt_slot *s = container_of(item, struct tt_slot, tx);

			s->tx_done += TT_C2H_MAX;
			if (s->tx_done > s->req.data_len)
				s->tx_done = s->req.data_len;
			s->crc_valid = false;
		}
	}
	c->tx_off = (uint32_t)n;
}

static void wait_for_room(struct tt_conn *c, bool wait)
{
	if (wait == c->tx_blocked)
		return;
	c->tx_blocked = wait;
	loop_fd_mod(&c->lf, EPOLLIN | (wait ? EPOLLOUT : 0));
}

static void batch_fill(struct tt_conn *c, struct tx_batch *b)
{
	size_t max = c->ddgst ? BATCH_MAX_DDGST : BATCH_MAX;
	struct tx_item *item;

	b->nr_iov = b->hdr_len = b->nr_items = 0;
	b->len = 0;
	b->skip = c->tx_off;
	b->cut = false;
	for (item = c->tx_head; item && b->len < max && !b->cut; item = item->next) {
		b->cut = !tx_build(c, item, b);
		b->nr_items += !b->cut;
	}
}

void conn_flush(struct tt_conn *c)
{
	size_t sent = 0;
	struct tx_batch b;

	if (c->state == CONN_CLOSED || c->tx_blocked)
		return;
	while (c->tx_head) {
		struct msghdr msg = { .msg_iov = b.iov };
		ssize_t n;

		batch_fill(c, &b);
		msg.msg_iovlen = b.nr_iov;
		n = sendmsg(c->fd, &msg, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN) {
			conn_lost(c, "send: %s", strerror(errno));
			return;
		}
		if (n > 0)
			account(c, &b, (size_t)n);
		sent += n > 0 ? (size_t)n : 0;
		if (n < 0 || (size_t)n < b.len || sent >= TT_TX_TURN) {
			wait_for_room(c, c->tx_head != NULL);
			break;
		}
	}
	if (c->tx_head)
		return;
	wait_for_room(c, false);
	conn_flushed(c);
	loop_fd_heat(&c->lf);
}
