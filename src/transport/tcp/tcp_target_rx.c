/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes to PDUs.  Small PDUs come by a staging buffer, many in one recv, and are dealt with completely before the next recv; only a cut
 * header stays behind, inside the parser.  So the buffer needs no owner: it is on the stack of the receiving thread.  The payload of a
 * large PDU goes straight to its place, with the staging buffer as the last iovec for what follows.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>

#include "proto/status.h"
#include "transport/tcp/tcp_target.h"

#define RX_IOV 64

static void peer_terminated(struct tt_conn *c)
{
	const struct nvme_tcp_term *term = &c->rx.pdu.term;
	uint16_t fes = le16toh(term->fes);
	uint32_t fei;

	memcpy(&fei, term->fei, sizeof(fei));
	conn_lost(c, "the host terminated the connection: %s (FES %02xh, FEI %u)", nvme_tcp_fes_name(fes), fes, le32toh(fei));
}

static void conn_pdu(struct tt_conn *c)
{
	c->rx_slot = NULL;
	switch (c->rx.pdu.hdr.type) {
	case NVME_TCP_CMD:
		conn_capsule(c);
		break;
	case NVME_TCP_H2C_DATA:
		conn_h2c_data(c);
		break;
	case NVME_TCP_ICREQ:
		conn_icreq(c);
		break;
	default: /* H2CTermReq: the parser lets no other through */
		peer_terminated(c);
		break;
	}
}

static void conn_payload(struct tt_conn *c, const uint8_t *data, size_t len)
{
	struct tt_slot *s = c->rx_slot;

	while (s && len) {
		struct iovec iov;
		uint32_t used;
		size_t n = slot_rx_iov(s, len, &iov, 1, &used);

		if (!n)
			break; /* the command wants less than the capsule brought: the rest is dropped */
		nvme_tcp_rx_payload_copy(&c->rx, iov.iov_base, data, n);
		slot_rx_advance(s, &iov, n);
		data += n;
		len -= n;
	}
	if (len)
		nvme_tcp_rx_payload_inplace(&c->rx, data, len);
}

static void conn_parse(struct tt_conn *c, const uint8_t *data, size_t len)
{
	struct nvme_tcp_rx_event ev;

	while (conn_alive(c)) {
		size_t n = nvme_tcp_rx(&c->rx, data, len, &ev);

		data += n;
		len -= n;
		switch (ev.type) {
		case RX_NONE:
			return;
		case RX_PDU:
			conn_pdu(c);
			if (c->rx.pdu.hdr.type == NVME_TCP_ICREQ && len)
				conn_terminate(c, NVME_TCP_FES_SEQUENCE, 0, "more PDUs before ICResp was sent");
			break;
		case RX_DATA:
			conn_payload(c, ev.data, ev.len);
			break;
		case RX_END:
			conn_payload_end(c, ev.digest_ok);
			break;
		case RX_ERROR:
			conn_terminate(c, ev.fes, ev.fei, "%s", ev.what);
			return;
		}
	}
}

/*
 * Commands in a socket may be old.  While this process stands still (SIGSTOP, a frozen container) its host gives the connection up, sends
 * what changes data again on another one, and then sends what came after it: carried out now, the old commands would bring old data back.
 * The core knows after which time no host is left.  It may have left sooner, and then it closed its side behind them.  So where nobody
 * looked at the socket for a while, nothing that is found together with its end is carried out.
 */
static bool host_has_left(struct tt_conn *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLRDHUP };
	uint64_t before = c->looked_ns;

	c->looked_ns = clock_boot_ns();
	if (!target_receives(&c->q, c->looked_ns))
		return true;
	return c->looked_ns - before > TT_STILL_NS && poll(&p, 1, 0) > 0 && p.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

/* It says why: that may be told. */
static bool begins_with_term(const struct tt_conn *c, const uint8_t *data)
{
	return !c->rx.have && !nvme_tcp_rx_payload_left(&c->rx) && *data == NVME_TCP_H2C_TERM;
}

/* The rest of a large payload straight to its place.  *tail: what may follow it in the staging buffer. */
static size_t direct_iov(const struct tt_conn *c, struct iovec *iov, uint32_t *used, size_t *tail)
{
	const struct tt_slot *s = c->rx_slot;
	size_t left = nvme_tcp_rx_payload_left(&c->rx), want = left, direct;
	int arrived = 0;

	if (!s || c->rx.data_len < TT_DIRECT_MIN)
		return 0;
	if (s->req.in_place) {
		ioctl(c->fd, SIOCINQ, &arrived);
		want = min_size(left, slot_rx_fit(s, (size_t)arrived));
	}
	direct = slot_rx_iov(s, want, iov, RX_IOV - 1, used);
	*tail = direct == left ? TT_TAIL : 0;
	return direct;
}

/* One recv.  *full: there may be more. */
static ssize_t receive_once(struct tt_conn *c, uint8_t *staging, bool *full)
{
	struct iovec iov[RX_IOV];
	struct msghdr msg = { .msg_iov = iov };
	size_t tail = c->rx_large ? TT_TAIL : TT_STAGING, direct, left;
	uint32_t used = 0, i;
	ssize_t n;

	if (c->rx_slot && c->rx_slot->req.in_place && host_has_left(c))
		return 0;
	direct = direct_iov(c, iov, &used, &tail);
	iov[used] = (struct iovec){ staging, tail };
	msg.msg_iovlen = used + 1;
	n = used ? recvmsg(c->fd, &msg, 0) : recv(c->fd, staging, tail, 0);
	if (n <= 0)
		return n;
	if (host_has_left(c) && (direct || !begins_with_term(c, staging)))
		return 0;
	*full = tail && (size_t)n == direct + tail;
	left = (size_t)n;
	for (i = 0; i < used && left; i++) {
		size_t part = min_size(iov[i].iov_len, left);

		nvme_tcp_rx_payload_inplace(&c->rx, iov[i].iov_base, part);
		slot_rx_advance(c->rx_slot, &iov[i], part);
		left -= part;
	}
	/* Also with nothing left: the payload may just have become whole. */
	conn_parse(c, staging, left);
	c->rx_large = c->rx.data_len >= TT_DIRECT_MIN;
	return n;
}

static bool receiving(const struct tt_conn *c)
{
	return c->state == CONN_ICREQ || c->state == CONN_READY;
}

bool conn_receive(struct tt_conn *c)
{
	uint8_t staging[TT_STAGING];
	bool worked = false, full = true;
	size_t got = 0;
	ssize_t n;

	c->in_rx = true;
	while (full && receiving(c) && got < TT_RX_TURN) {
		n = receive_once(c, staging, &full);
		if (n > 0) {
			got += (size_t)n;
			worked = true;
			continue;
		}
		if (n == 0 && receiving(c))
			conn_lost(c, "the host closed the connection");
		else if (n < 0 && errno != EAGAIN && errno != EINTR)
			conn_lost(c, "receive: %s", strerror(errno));
		break;
	}
	c->in_rx = false;
	if (c->tx_head)
		conn_flush(c);
	return worked;
}

bool conn_discard(struct tt_conn *c)
{
	uint8_t drop[16 * 1024];
	int i;

	/* Bounded: who goes on sending is read again next turn, until the timer ends it. */
	for (i = 0; i < 16; i++) {
		ssize_t n = recv(c->fd, drop, sizeof(drop), 0);

		if (n <= 0)
			return n < 0 && (errno == EAGAIN || errno == EINTR);
	}
	return true;
}
