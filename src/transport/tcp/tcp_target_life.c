/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection from accept to its end.
 *
 * It ends in steps: FLUSH (what is queued leaves, a C2HTermReq as the last), LINGER (our side is shut down; input is thrown away until the
 * peer closes, because closing a socket with unread input resets the connection, and the reset may overtake the last bytes), CLOSED.  A
 * timer bounds each.  A broken link goes to CLOSED at once.  CLOSED is always entered from deferred work of the loop.
 */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "transport/inet/inet_addr.h"
#include "transport/tcp/tcp_target.h"

#define TO(s) (1u << CONN_##s)
static const struct {
	const char *name;
	unsigned int next;
} conn_states[CONN_NR_STATES] = {
	[CONN_NEW] = { "new", TO(ACCEPT) },
	[CONN_ACCEPT] = { "accept", TO(ICREQ) | TO(FLUSH) | TO(CLOSED) },
	[CONN_ICREQ] = { "icreq", TO(IC_HELD) | TO(FLUSH) | TO(CLOSED) },
	[CONN_IC_HELD] = { "icreq held", TO(READY) | TO(FLUSH) | TO(CLOSED) },
	[CONN_READY] = { "ready", TO(FLUSH) | TO(CLOSED) },
	[CONN_FLUSH] = { "flush", TO(LINGER) | TO(CLOSED) },
	[CONN_LINGER] = { "linger", TO(CLOSED) },
	[CONN_CLOSED] = { "closed", 0 },
};

void conn_enter(struct tt_conn *c, enum conn_state state)
{
	assert(conn_states[c->state].next & (1u << state));
	log_debug(c->q.log, "tcp %s: %s -> %s", c->q.peer, conn_states[c->state].name, conn_states[state].name);
	c->state = state;
}

/* ---- the end ---- */

static void conn_finish(struct loop_defer *d)
{
	struct tt_conn *c = container_of(d, struct tt_conn, finish);

	conn_enter(c, CONN_CLOSED);
	loop_fd_del(&c->lf);
	loop_defer_cancel(&c->flush);
	timer_cancel(c->q.loop, &c->linger);
	slots_end_all(c);
	/*
	 * The socket is closed with the queue, when the last of its commands has ended: a host that waits for that before it sends them
	 * again knows that none is carried out late.
	 */
	target_queue_closed(&c->q, c->why); /* the core may free us in there */
}

static void conn_end(struct tt_conn *c)
{
	if (c->state != CONN_CLOSED)
		loop_defer(c->q.loop, &c->finish);
}

static void linger_timeout(struct timer *t)
{
	conn_end(container_of(t, struct tt_conn, linger));
}

void conn_flushed(struct tt_conn *c)
{
	if (c->state != CONN_FLUSH)
		return;
	conn_enter(c, CONN_LINGER);
	timer_set(c->q.loop, &c->linger, loop_now(c->q.loop) + TT_LINGER_NS);
	if (shutdown(c->fd, SHUT_WR) || !conn_discard(c))
		conn_end(c);
}

/* Begins to end: from now on nothing that arrives counts. */
static void conn_begin_end(struct tt_conn *c)
{
	conn_enter(c, CONN_FLUSH);
	c->rx_slot = NULL;
	loop_fd_mod(&c->lf, EPOLLIN | (c->tx_blocked ? EPOLLOUT : 0));
	timer_set(c->q.loop, &c->linger, loop_now(c->q.loop) + TT_FLUSH_NS);
	loop_defer(c->q.loop, &c->flush);
}

void conn_lost(struct tt_conn *c, const char *fmt, ...)
{
	va_list ap;

	if (conn_alive(c)) {
		va_start(ap, fmt);
		vsnprintf(c->why, sizeof(c->why), fmt, ap);
		va_end(ap);
		conn_enter(c, CONN_FLUSH);
	}
	c->rx_slot = NULL;
	c->tx_head = NULL; /* nobody is left to read it */
	conn_end(c);
}

/* Up to 128 bytes of the header at fault go back to its sender. */
static void term_build(struct tt_conn *c, uint16_t fes, uint32_t fei)
{
	const union nvme_tcp_pdu *bad = &c->rx.pdu;
	uint32_t hlen = min_u32(bad->hdr.hlen < sizeof(bad->hdr) ? sizeof(bad->hdr) : bad->hdr.hlen,
				NVME_TCP_TERM_MAX_PLEN - sizeof(c->term_pdu.pdu));

	memset(&c->term_pdu, 0, sizeof(c->term_pdu));
	c->term_len = sizeof(c->term_pdu.pdu) + hlen;
	c->term_pdu.pdu.hdr.type = NVME_TCP_C2H_TERM;
	c->term_pdu.pdu.hdr.hlen = sizeof(c->term_pdu.pdu);
	c->term_pdu.pdu.hdr.plen = htole32(c->term_len);
	c->term_pdu.pdu.fes = htole16(fes);
	fei = htole32(fei);
	memcpy(c->term_pdu.pdu.fei, &fei, sizeof(fei));
	memcpy(c->term_pdu.header, bad->raw, hlen);
}

void conn_terminate(struct tt_conn *c, uint16_t fes, uint32_t fei, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (!conn_alive(c))
		return;
	n = snprintf(c->why, sizeof(c->why), "%s PDU: %s: ", nvme_tcp_type_name(c->rx.pdu.hdr.type), nvme_tcp_fes_name(fes));
	va_start(ap, fmt);
	vsnprintf(c->why + n, sizeof(c->why) - (size_t)n, fmt, ap);
	va_end(ap);
	term_build(c, fes, fei);
	tx_add(c, &c->term, TX_TERM);
	conn_begin_end(c);
}

void tcp_target_queue_close(struct target_queue *q)
{
	struct tt_conn *c = to_tt_conn(q);

	if (!conn_alive(c))
		return;
	snprintf(c->why, sizeof(c->why), "closed by the target");
	conn_begin_end(c);
}

/* ---- events ---- */

static bool conn_event(struct loop_fd *lf, uint32_t events)
{
	struct tt_conn *c = container_of(lf, struct tt_conn, lf);
	bool worked = false;

	if (events & EPOLLOUT && c->tx_blocked) {
		c->tx_blocked = false;
		conn_flush(c);
		worked = true;
	}
	switch (c->state) {
	case CONN_ICREQ:
	case CONN_READY:
		if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
			worked |= conn_receive(c);
		break;
	case CONN_ACCEPT:
	case CONN_IC_HELD:
		if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
			conn_lost(c, "the host closed the connection before it was set up");
			worked = true;
		}
		break;
	case CONN_FLUSH:
	case CONN_LINGER:
		if (!conn_discard(c)) {
			conn_end(c);
			worked = true;
		}
		break;
	default:
		break;
	}
	return worked;
}

static void flush_deferred(struct loop_defer *d)
{
	conn_flush(container_of(d, struct tt_conn, flush));
}

/* ---- the beginning ---- */

struct tt_conn *conn_new(int fd, const struct target_link_params *params, const struct sockaddr *peer, socklen_t peer_len)
{
	struct tt_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->fd = fd;
	c->params = params;
	c->r2t_max = UINT32_MAX;
	if (slots_init(c)) {
		free(c);
		return NULL;
	}
	inet_addr_text(peer, peer_len, c->q.peer, sizeof(c->q.peer));
	loop_defer_init(&c->flush, flush_deferred);
	loop_defer_init(&c->finish, conn_finish);
	timer_init(&c->linger, linger_timeout);
	return c;
}

void tcp_target_queue_local(const struct target_queue *q, char *text, size_t len)
{
	tcp_sock_local(container_of(q, struct tt_conn, q)->fd, text, len);
}

void conn_free(struct tt_conn *c)
{
	if (c->fd >= 0)
		close(c->fd);
	slots_free(c);
	free(c);
}

void tcp_target_queue_free(struct target_queue *q)
{
	conn_free(to_tt_conn(q));
}

static void accept_go(struct target_queue *q)
{
	struct tt_conn *c = to_tt_conn(q);

	if (c->state != CONN_ACCEPT)
		return;
	conn_enter(c, CONN_ICREQ);
	loop_fd_mod(&c->lf, EPOLLIN);
	loop_fd_heat(&c->lf);
}

void conn_start(struct tt_conn *c, struct target_port *port, struct loop *loop)
{
	uint32_t max_capsule = max_u32(NVME_TCP_ADMIN_CAPSULE_DATA, c->params->inline_len);
	int ret;

	c->q.sqsize = (uint16_t)(c->max_busy - 1);
	ret = target_queue_init(&c->q, &tcp_target_transport, port, loop);
	if (ret) {
		conn_free(c);
		return;
	}
	nvme_tcp_rx_init(&c->rx, NVME_TCP_CTRL, c->params->cpda, max_u32(max_capsule, c->params->maxh2cdata));
	conn_enter(c, CONN_ACCEPT);
	ret = loop_fd_add(loop, &c->lf, c->fd, EPOLLIN, conn_event);
	if (ret) {
		conn_lost(c, "watch the socket: %s", strerror(-ret));
		return;
	}
	c->looked_ns = clock_boot_ns();
	target_link_point(&c->q, TARGET_LINK_ACCEPT, accept_go);
	if (c->state == CONN_ACCEPT)
		loop_fd_mod(&c->lf, EPOLLRDHUP);
}
