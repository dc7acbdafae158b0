/* SPDX-License-Identifier: BSD-3-Clause */
#include <sys/socket.h>

#include "conn.h"
#include "proto/crc32c.h"

#define STAGING_LEN (256u << 10)
#define IOV_MAX_LEN 1000
#define HDR_LEN	    ((uint32_t)sizeof(struct answer))
#define CMD_LEN	    ((uint32_t)sizeof(struct capsule))

static void *zeroed(size_t n, size_t len)
{
	void *p = calloc(n, len);

	if (!p)
		DIE("memory");
	return p;
}

void conn_init(struct conn *c, const struct conn_opts *o)
{
	memset(c, 0, sizeof(*c));
	c->o = *o;
	c->fd = tcp_connect(o->port, o->congestion);
	c->rng = UINT64_C(88172645463325252);
	c->bufs = huge_area((size_t)o->qd * o->size);
	memset(c->bufs, 1, (size_t)o->qd * o->size);
	c->sent_at = zeroed(o->qd, sizeof(*c->sent_at));
	c->offset = zeroed(o->qd, sizeof(*c->offset));
	c->flying = zeroed(o->qd, sizeof(*c->flying));
	for (c->ring_len = 1; c->ring_len < 2 * o->qd;)
		c->ring_len *= 2;
	c->ring = zeroed(c->ring_len, sizeof(*c->ring));
	c->ring_cid = zeroed(c->ring_len, sizeof(*c->ring_cid));
	c->iov = zeroed(2 * (size_t)c->ring_len + 4, sizeof(*c->iov));
	c->staging = huge_area(STAGING_LEN);
	memset(c->staging, 0, STAGING_LEN);
	hist_reset(&c->lat);
}

void conn_reset_stats(struct conn *c)
{
	c->done = c->nr_sends = c->nr_recvs = 0;
	hist_reset(&c->lat);
}

static uint8_t *buf_of(struct conn *c, uint16_t cid)
{
	return c->bufs + (size_t)cid * c->o.size;
}

static uint64_t random_offset(struct conn *c)
{
	c->rng ^= c->rng << 13;
	c->rng ^= c->rng >> 7;
	c->rng ^= c->rng << 17;
	return c->rng % (c->o.area_len / c->o.size) * c->o.size;
}

static void queue_request(struct conn *c, uint16_t cid)
{
	unsigned int i = c->tail++ & (c->ring_len - 1);
	struct capsule *cmd = &c->ring[i];
	uint64_t offset = random_offset(c);

	memset(cmd, 0, sizeof(*cmd));
	cmd->h = (struct pdu_hdr){
		.type = PDU_CMD, .hlen = CMD_LEN, .pdo = c->o.write ? CMD_LEN : 0, .plen = CMD_LEN + (c->o.write ? c->o.size : 0)
	};
	cmd->opcode = c->o.write ? OP_WRITE : OP_READ;
	cmd->cid = cid;
	cmd->nsid = 1;
	cmd->len = c->o.size;
	cmd->offset = offset;
	c->ring_cid[i] = cid;
	c->offset[cid] = offset;
	c->flying[cid] = true;
	c->sent_at[cid] = c->now;
	/* What read will look for. */
	if (c->o.write)
		memcpy(buf_of(c, cid), &offset, sizeof(offset));
}

void conn_start(struct conn *c)
{
	c->now = clock_ns();
	for (unsigned int i = 0; i < c->o.qd; i++)
		queue_request(c, (uint16_t)i);
	conn_flush(c);
}

/* ---------------------------------------------------------------------------------------------------------------- sending */

static size_t add_iov(struct conn *c, int *n, void *base, size_t len)
{
	c->iov[(*n)++] = (struct iovec){ base, len };
	return len;
}

/* Capsules alone lie one after the other in the ring: two pieces at most. */
static int gather_reads(struct conn *c, size_t *total)
{
	unsigned int at = c->head & (c->ring_len - 1), count = c->tail - c->head, first = c->ring_len - at;
	int n = 0;

	if (first > count)
		first = count;
	*total = add_iov(c, &n, (uint8_t *)&c->ring[at] + c->head_sent, (size_t)first * CMD_LEN - c->head_sent);
	if (count > first)
		*total += add_iov(c, &n, c->ring, (size_t)(count - first) * CMD_LEN);
	return n;
}

static int gather_writes(struct conn *c, size_t *total)
{
	int n = 0;

	*total = 0;
	for (unsigned int e = c->head; e != c->tail && n < IOV_MAX_LEN; e++) {
		unsigned int i = e & (c->ring_len - 1);
		uint32_t sent = e == c->head ? c->head_sent : 0;

		if (sent < CMD_LEN) {
			*total += add_iov(c, &n, (uint8_t *)&c->ring[i] + sent, CMD_LEN - sent);
			sent = CMD_LEN;
		}
		*total += add_iov(c, &n, buf_of(c, c->ring_cid[i]) + (sent - CMD_LEN), c->o.size - (sent - CMD_LEN));
	}
	return n;
}

bool conn_flush(struct conn *c)
{
	uint32_t each = CMD_LEN + (c->o.write ? c->o.size : 0);

	while (c->head != c->tail) {
		struct msghdr m = { .msg_iov = c->iov };
		size_t total;
		ssize_t n;

		m.msg_iovlen = (size_t)(c->o.write ? gather_writes(c, &total) : gather_reads(c, &total));
		c->nr_sends++;
		if (m.msg_iovlen == 1)
			n = send(c->fd, c->iov[0].iov_base, total, MSG_NOSIGNAL | MSG_DONTWAIT);
		else
			n = sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n < 0)
			DIE("send");
		n += c->head_sent;
		c->head += (unsigned int)(n / each);
		c->head_sent = (uint32_t)(n % each);
	}
	return true;
}

/* ---------------------------------------------------------------------------------------------------------------- receiving */

/* The server's area holds at each multiple of 8 its own offset. */
static void check_data(struct conn *c, uint16_t cid)
{
	const uint8_t *buf = buf_of(c, cid);
	uint64_t first, last;

	memcpy(&first, buf, sizeof(first));
	memcpy(&last, buf + c->o.size - sizeof(last), sizeof(last));
	if (first == c->offset[cid] && last == c->offset[cid] + c->o.size - sizeof(last) && (!c->o.digest || c->crc == c->hdr.digest))
		return;
	errno = EBADMSG;
	DIE("the data of cid %u", cid);
}

static void answer_done(struct conn *c)
{
	uint16_t cid = c->hdr.cid;

	c->hdr_len = 0;
	if (!c->o.write)
		check_data(c, cid);
	c->flying[cid] = false;
	hist_add(&c->lat, c->now - c->sent_at[cid]);
	c->done++;
	queue_request(c, cid);
}

static void answer_begins(struct conn *c)
{
	const struct answer *a = &c->hdr;

	if (a->cid >= c->o.qd || !c->flying[a->cid] || a->h.type != (c->o.write ? PDU_RSP : PDU_C2H_DATA) ||
	    a->len != (c->o.write ? 0 : c->o.size)) {
		errno = EPROTO;
		DIE("an answer of type %u, cid %u, %u bytes", a->h.type, a->cid, a->len);
	}
	c->left = a->len;
	c->crc = 0;
	c->dst = buf_of(c, a->cid);
	if (!c->left)
		answer_done(c);
}

static void consume(struct conn *c, const uint8_t *p, size_t n)
{
	while (n) {
		size_t take = c->hdr_len < HDR_LEN ? HDR_LEN - c->hdr_len : c->left;

		if (take > n)
			take = n;
		if (c->hdr_len < HDR_LEN) {
			memcpy((uint8_t *)&c->hdr + c->hdr_len, p, take);
			c->hdr_len += (uint32_t)take;
			if (c->hdr_len == HDR_LEN)
				answer_begins(c);
		} else {
			if (c->o.digest)
				c->crc = crc32c_copy(c->crc, c->dst, p, take);
			else
				memcpy(c->dst, p, take);
			c->dst += take;
			c->left -= (uint32_t)take;
			if (!c->left)
				answer_done(c);
		}
		p += take;
		n -= take;
	}
}

/* Straight into the buffer, the staging as its tail: decided by the PDU's size, not by what remains of it. */
static ssize_t recv_direct(struct conn *c, size_t *asked)
{
	struct iovec iov[2] = { { c->dst, c->left }, { c->staging, c->o.tail } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t n = recvmsg(c->fd, &m, MSG_DONTWAIT);
	size_t direct;

	*asked = c->left + c->o.tail;
	if (n <= 0)
		return n;
	c->now = clock_ns();
	direct = (size_t)n < c->left ? (size_t)n : c->left;
	if (c->o.digest)
		c->crc = crc32c(c->crc, c->dst, direct);
	c->dst += direct;
	c->left -= (uint32_t)direct;
	if (!c->left) {
		answer_done(c);
		consume(c, c->staging, (size_t)n - direct);
	}
	return n;
}

static ssize_t recv_staged(struct conn *c, size_t len)
{
	ssize_t n = recv(c->fd, c->staging, len, MSG_DONTWAIT);

	if (n > 0) {
		c->now = clock_ns();
		consume(c, c->staging, (size_t)n);
	}
	return n;
}

ssize_t conn_recv(struct conn *c, bool *filled)
{
	bool direct = c->o.min_direct && c->o.size >= c->o.min_direct;
	size_t asked = direct ? c->o.tail : STAGING_LEN;
	ssize_t n;

	c->nr_recvs++;
	n = direct && c->hdr_len == HDR_LEN ? recv_direct(c, &asked) : recv_staged(c, asked);
	if (!n)
		errno = ECONNRESET;
	if (!n || (n < 0 && errno != EAGAIN))
		DIE("recv");
	*filled = n > 0 && (size_t)n == asked;
	return n < 0 ? 0 : n;
}
