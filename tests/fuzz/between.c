/* SPDX-License-Identifier: BSD-3-Clause */
#include "between.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

static void put(struct stream *s, const void *p, size_t len)
{
	if (len)
		memcpy(stream_room(s, len), p, len);
}

static void drop_front(struct stream *s, size_t len)
{
	s->len -= len;
	memmove(s->buf, s->buf + len, s->len);
}

static void link_close(struct between_link *l)
{
	close(l->host);
	close(l->target);
	free(l->in.buf);
	free(l->out.buf);
	free(l->held.buf);
	free(l->up.buf);
	*l = (struct between_link){ .host = -1, .target = -1 };
}

/* ---- from the host ---- */

static void check_host(struct between_link *l, const uint8_t *p, size_t len)
{
	struct nvme_tcp_rx_event ev;
	size_t n;

	while (!l->unchecked) {
		n = nvme_tcp_rx(&l->to, p, len, &ev);
		p += n;
		len -= n;
		if (ev.type == RX_NONE)
			return;
		SIM_CHECK(ev.type != RX_ERROR, "the host sent what no target takes: %s", ev.what);
		SIM_CHECK(ev.type != RX_END || ev.digest_ok, "the host's data digest is wrong");
		if (ev.type == RX_DATA)
			nvme_tcp_rx_payload_inplace(&l->to, ev.data, ev.len);
		if (ev.type == RX_PDU && l->to.pdu.hdr.type == NVME_TCP_H2C_TERM)
			l->unchecked = true;
	}
}

/* Returns how much came, or -1 at the end. */
static ssize_t from_host(struct between *b, struct between_link *l)
{
	ssize_t n = recv(l->host, b->buf, sizeof(b->buf), MSG_DONTWAIT), sent;

	if (n < 0)
		n = errno == EAGAIN ? 0 : -1;
	else if (!n)
		n = -1;
	if (n > 0) {
		check_host(l, b->buf, (size_t)n);
		put(&l->up, b->buf, (size_t)n);
	}
	if (l->up.len && !l->target_closed) {
		sent = send(l->target, l->up.buf, l->up.len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent > 0)
			drop_front(&l->up, (size_t)sent);
	}
	return n;
}

/* ---- from the target ---- */

static struct stream *stream_as(struct between_link *l)
{
	l->out.hdgst = l->to.hdgst;
	l->out.ddgst = l->to.ddgst;
	return &l->out;
}

static void change_byte(struct between *b, struct between_link *l, uint8_t *pdu, size_t len, size_t pos, uint8_t val, bool reseal)
{
	uint8_t type = pdu[0], hlen = pdu[2];

	if (pos >= len)
		return;
	pdu[pos] ^= val;
	/* Digests guard the other types, but not the flag that says whether there is one. */
	b->lied |= reseal || type <= NVME_TCP_C2H_TERM || !l->to.hdgst || !l->to.ddgst;
	if (type == NVME_TCP_ICRESP)
		l->unchecked = true;
	if (reseal && l->to.hdgst && type > NVME_TCP_C2H_TERM && len >= hlen + 4u)
		seal_header(pdu, hlen);
}

static void change_word(struct between *b, struct between_link *l, uint8_t *pdu, size_t len)
{
	size_t pos = sim_u8(b->in);
	uint32_t val = sim_u32(b->in);

	for (int i = 0; i < 4; i++, val >>= 8)
		if (pos + (size_t)i < len)
			change_byte(b, l, pdu, len, pos + (size_t)i, pdu[pos + (size_t)i] ^ (uint8_t)val, true);
}

static void make_rsp(struct between *b, struct between_link *l)
{
	struct nvme_tcp_rsp rsp = { .cqe = { .cid = htole16(sim_u8(b->in)), .status = htole16(sim_u16(b->in)), .sqhd = 1 } };

	put_pdu(stream_as(l), NVME_TCP_RSP, &rsp, sizeof(rsp), 0, NULL, 0);
}

static void make_r2t(struct between *b, struct between_link *l)
{
	struct nvme_tcp_r2t r2t = { .cccid = htole16(sim_u8(b->in)), .ttag = htole16(sim_u8(b->in)) };

	r2t.r2to = htole32((uint32_t)sim_u8(b->in) << 9);
	r2t.r2tl = htole32((uint32_t)sim_u16(b->in) << 2);
	put_pdu(stream_as(l), NVME_TCP_R2T, &r2t, sizeof(r2t), 0, NULL, 0);
}

static void make_data(struct between *b, struct between_link *l)
{
	struct nvme_tcp_data d = { .cccid = htole16(sim_u8(b->in)) };
	uint8_t flags = sim_u8(b->in) & (NVME_TCP_F_LAST | NVME_TCP_F_SUCCESS);
	uint32_t len = min_u32((uint32_t)sim_u8(b->in) << 9, sizeof(b->buf));

	d.datao = htole32((uint32_t)sim_u8(b->in) << 9);
	d.datal = htole32(len);
	put_pdu(stream_as(l), NVME_TCP_C2H_DATA, &d, sizeof(d), flags, b->buf, len);
}

static void make_raw(struct between *b, struct between_link *l)
{
	size_t got;
	const uint8_t *p = sim_bytes(b->in, sim_u8(b->in) & 63, &got);

	put(&l->out, p, got);
}

/* Returns false when the connection is to end here. */
static bool pdu_change(struct between *b, struct between_link *l, uint8_t *pdu, size_t len)
{
	uint8_t how = sim_u8(b->in), what = how & 15, pos;
	/* What is made up comes before it, or behind it: then it may be the first on a link that waits for its turn. */
	bool behind = how & 16 && (what == 7 || (what >= 11 && what <= 14));
	size_t cut;

	b->changed = true;
	if (what == 1 || what == 2) {
		pos = sim_u8(b->in);
		change_byte(b, l, pdu, len, pos, sim_u8(b->in), what == 2);
	} else if (what == 3) {
		cut = sim_u16(b->in);
		change_byte(b, l, pdu, len, cut, sim_u8(b->in), false);
	} else {
		b->lied |= what && what != 6 && what != 10;
	}
	if (behind)
		put(&l->out, pdu, len);
	switch (what) {
	case 4:
		return true;
	case 5:
		put(&l->out, pdu, len);
		break;
	case 6:
		put(&l->held, pdu, len);
		return true;
	case 7:
		make_raw(b, l);
		break;
	case 8:
		put(&l->out, pdu, min_size(sim_u8(b->in), len));
		return false;
	case 9:
		return false;
	case 10:
		l->pause = l->out.len + sim_u8(b->in);
		break;
	case 11:
		make_rsp(b, l);
		break;
	case 12:
		make_r2t(b, l);
		break;
	case 13:
		make_data(b, l);
		break;
	case 14:
		put_term(&l->out, NVME_TCP_C2H_TERM, pdu, min_size(sim_u8(b->in), len));
		break;
	case 15:
		change_word(b, l, pdu, len);
		break;
	default:
		break;
	}
	if (!behind)
		put(&l->out, pdu, len);
	return true;
}

static bool pdu_pass(struct between *b, struct between_link *l, uint8_t *pdu, size_t len)
{
	/* The target's word, before anything happens to it. */
	if (pdu[0] == NVME_TCP_ICRESP)
		nvme_tcp_rx_negotiated(&l->to, pdu[11] & 1, pdu[11] & 2);
	if (!b->armed && b->in->len) {
		b->skip = sim_u8(b->in);
		b->armed = true;
	}
	if (b->armed && !b->skip--) {
		b->armed = false;
		return pdu_change(b, l, pdu, len);
	}
	put(&l->out, pdu, len);
	return true;
}

/* Returns false when the connection is to end. */
static bool pdus_pass(struct between *b, struct between_link *l)
{
	uint32_t plen;

	while (l->in.len >= sizeof(struct nvme_tcp_hdr)) {
		memcpy(&plen, l->in.buf + 4, sizeof(plen));
		plen = le32toh(plen);
		if (l->in.len < plen)
			break;
		if (!pdu_pass(b, l, l->in.buf, plen))
			return false;
		drop_front(&l->in, plen);
	}
	return true;
}

static void to_host(struct between_link *l)
{
	size_t len = l->pause ? min_size(l->pause, l->out.len) : l->out.len;
	ssize_t n;

	l->pause = 0;
	if (!len)
		return;
	n = send(l->host, l->out.buf, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0)
		drop_front(&l->out, (size_t)n);
}

static bool link_run(struct between *b, struct between_link *l)
{
	size_t out = l->out.len;
	ssize_t up, down = 0;
	bool go_on;

	up = from_host(b, l);
	if (!l->target_closed) {
		down = recv(l->target, b->buf, sizeof(b->buf), MSG_DONTWAIT);
		if (!down || (down < 0 && errno != EAGAIN))
			l->target_closed = true;
		if (down > 0)
			put(&l->in, b->buf, (size_t)down);
	}
	go_on = pdus_pass(b, l);
	to_host(l);
	if (up < 0 || !go_on || (l->target_closed && !l->out.len && !l->held.len)) {
		link_close(l);
		return true;
	}
	return up > 0 || down > 0 || l->out.len != out;
}

static bool link_accept(struct between *b)
{
	int fd = sim_accept();

	if (fd < 0)
		return false;
	for (int i = 0; i < BETWEEN_LINKS; i++) {
		struct between_link *l = &b->links[i];

		if (l->host >= 0)
			continue;
		*l = (struct between_link){ .host = fd, .target = sim_open(b->t, b->sndbuf) };
		nvme_tcp_rx_init(&l->to, NVME_TCP_CTRL, b->cpda, b->max_data);
		return true;
	}
	close(fd);
	return true;
}

bool between_run(struct between *b)
{
	bool any = false;

	while (link_accept(b))
		any = true;
	for (int i = 0; i < BETWEEN_LINKS; i++)
		if (b->links[i].host >= 0)
			any |= link_run(b, &b->links[i]);
	return any;
}

bool between_release(struct between *b)
{
	bool any = false;

	for (int i = 0; i < BETWEEN_LINKS; i++) {
		struct between_link *l = &b->links[i];

		if (l->host < 0 || !l->held.len)
			continue;
		put(&l->out, l->held.buf, l->held.len);
		l->held.len = 0;
		any = true;
	}
	return any;
}

void between_init(struct between *b, struct nvof_target *t, struct sim_input *in)
{
	b->t = t;
	b->in = in;
	for (int i = 0; i < BETWEEN_LINKS; i++)
		b->links[i].host = -1;
}

void between_exit(struct between *b)
{
	for (int i = 0; i < BETWEEN_LINKS; i++)
		if (b->links[i].host >= 0)
			link_close(&b->links[i]);
}
