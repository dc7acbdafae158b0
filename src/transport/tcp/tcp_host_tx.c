/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests to bytes.  Requests wait in tx.pending; a burst of PDUs is staged (headers in tx.buf, payload by reference in tx.iov) and leaves
 * in one sendmsg; the next burst is staged when all of it has left.  A PDU whose payload needs more iovecs than a burst has goes on in the
 * next burst (tx.data).
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "proto/crc32c.h"
#include "transport/tcp/tcp_host.h"

void tcp_host_tx_init(struct tcp_tx *tx)
{
	CDS_INIT_LIST_HEAD(&tx->pending);
	tx->gen = 1;
}

uint32_t tcp_req_iov(const struct host_req *req, uint32_t off, uint32_t len, struct iovec *iov, uint32_t room, uint32_t *used)
{
	size_t skip = req->iov_skip + (size_t)off;
	uint32_t i = 0, n = 0, done = 0;

	while (i < req->iovcnt && skip >= req->iov[i].iov_len)
		skip -= req->iov[i++].iov_len;
	for (; i < req->iovcnt && n < room && done < len; i++, skip = 0) {
		size_t part = min_size(req->iov[i].iov_len - skip, len - done);

		if (!part)
			continue;
		iov[n].iov_base = (char *)req->iov[i].iov_base + skip;
		iov[n++].iov_len = part;
		done += (uint32_t)part;
	}
	*used = n;
	return done;
}

static void pending_add(struct tcp_tx *tx, struct tcp_req *tr)
{
	if (!tr->pending) {
		tr->pending = true;
		cds_list_add_tail(&tr->link, &tx->pending);
	}
}

static void pending_del(struct tcp_req *tr)
{
	tr->pending = false;
	cds_list_del(&tr->link);
}

void tcp_host_tx_add(struct tcp_queue *tq, struct host_req *req)
{
	struct tcp_req *tr = to_tcp_req(req);

	tr->capsule_sent = tr->in_capsule = tr->digest_bad = tr->last_seen = false;
	tr->nr_r2t = 0;
	tr->moved = tr->nr_ahead = 0;
	tr->stage_gen = 0;
	tr->pending = false;
	pending_add(&tq->tx, tr);
}

bool tcp_host_tx_busy(const struct tcp_queue *tq, struct host_req *req)
{
	const struct tcp_req *tr = to_tcp_req(req);
	const struct tcp_tx *tx = &tq->tx;

	return tr->pending || tx->data.req == req || (tr->stage_gen == tx->gen && tx->first < tr->stage_end);
}

/* ---- staging ---- */

static bool stage_has_room(const struct tcp_tx *tx)
{
	return tx->count + 3 <= TCP_TX_IOV && tx->buf_used + TCP_TX_HDR_MAX <= TCP_TX_BUF;
}

/* len bytes of tx.buf at its end become the next bytes of the burst; they join the iovec before when they follow it. */
static uint8_t *stage_bytes(struct tcp_tx *tx, uint32_t len)
{
	uint8_t *p = tx->buf + tx->buf_used;
	struct iovec *last = tx->count ? &tx->iov[tx->count - 1] : NULL;

	tx->buf_used += len;
	if (last && (uint8_t *)last->iov_base + last->iov_len == p)
		last->iov_len += len;
	else
		tx->iov[tx->count++] = (struct iovec){ p, len };
	return p;
}

/* Header digest behind the hlen bytes at p, then zeroes up to total. */
static void stage_finish_header(struct tcp_queue *tq, uint8_t *p, uint32_t hlen, uint32_t total)
{
	uint32_t end = hlen;

	if (tq->q.hdr_digest) {
		uint32_t crc = htole32(crc32c(0, p, hlen));

		memcpy(p + hlen, &crc, sizeof(crc));
		end += sizeof(crc);
	}
	memset(p + end, 0, total - end);
}

static void stage_payload(struct tcp_queue *tq)
{
	struct tcp_tx *tx = &tq->tx;
	struct tcp_tx_data *d = &tx->data;
	uint32_t used, done, i;

	/* One iovec stays free for the digest. */
	done = tcp_req_iov(d->req, d->off, d->left, tx->iov + tx->count, TCP_TX_IOV - 1 - tx->count, &used);
	if (tq->q.data_digest)
		for (i = 0; i < used; i++)
			d->crc = crc32c(d->crc, tx->iov[tx->count + i].iov_base, tx->iov[tx->count + i].iov_len);
	tx->count += used;
	d->off += done;
	d->left -= done;
	to_tcp_req(d->req)->stage_gen = tx->gen;
	to_tcp_req(d->req)->stage_end = tx->count;
	if (d->left)
		return; /* goes on in the next burst */
	if (tq->q.data_digest) {
		uint32_t crc = htole32(d->crc);

		memcpy(stage_bytes(tx, sizeof(crc)), &crc, sizeof(crc));
	}
	d->req = NULL;
}

static void stage_data_begin(struct tcp_queue *tq, struct host_req *req, uint32_t off, uint32_t len)
{
	tq->tx.data = (struct tcp_tx_data){ .req = req, .off = off, .left = len };
	stage_payload(tq);
}

static void stage_capsule(struct tcp_queue *tq, struct host_req *req)
{
	struct tcp_req *tr = to_tcp_req(req);
	uint32_t hlen = sizeof(struct nvme_tcp_cmd), data_len = 0, pdo, plen;
	uint8_t flags = tq->q.hdr_digest ? NVME_TCP_F_HDGST : 0;
	struct nvme_tcp_cmd cmd; /* the burst's bytes have no alignment */
	uint8_t *p;

	/* Fabrics commands may carry as much as admin commands on any queue. */
	if (req->dir == DATA_TO_CTRL && req->data_len &&
	    req->data_len <= (req->sqe.opcode == NVMF_OPCODE ? NVME_TCP_ADMIN_CAPSULE_DATA : tq->q.inline_len)) {
		tr->in_capsule = true;
		data_len = tr->moved = req->data_len;
		flags |= tq->q.data_digest ? NVME_TCP_F_DDGST : 0;
	}
	pdo = data_len ? nvme_tcp_pdo((uint8_t)hlen, tq->q.hdr_digest, tq->cpda) : hlen + (tq->q.hdr_digest ? NVME_TCP_DIGEST_LEN : 0);
	plen = pdo + data_len + (data_len && tq->q.data_digest ? NVME_TCP_DIGEST_LEN : 0);

	cmd.hdr = (struct nvme_tcp_hdr){ NVME_TCP_CMD, flags, (uint8_t)hlen, data_len ? (uint8_t)pdo : 0, htole32(plen) };
	cmd.sqe = req->sqe;
	cmd.sqe.cid = htole16(req->cid);
	cmd.sqe.flags |= NVME_SQE_PSDT_SGL;
	/* Connect, Disconnect and Property commands have their SGL (or nothing) in the same place. */
	if (req->sqe.opcode != NVMF_OPCODE || req->data_len)
		cmd.sqe.sgl = (struct nvme_sgl_desc){
			.length = htole32(req->data_len),
			.type = tr->in_capsule ? NVME_SGL_OFFSET : NVME_SGL_TRANSPORT,
		};
	p = stage_bytes(&tq->tx, pdo);
	memcpy(p, &cmd, sizeof(cmd));
	stage_finish_header(tq, p, hlen, pdo);
	tr->capsule_sent = true;
	pending_del(tr);
	if (data_len)
		stage_data_begin(tq, req, 0, data_len);
}

/* The next H2CData PDU that answers the oldest R2T. */
static void stage_h2c_data(struct tcp_queue *tq, struct host_req *req)
{
	struct tcp_req *tr = to_tcp_req(req);
	struct tcp_r2t *r2t = &tr->r2t[0];
	uint32_t hlen = sizeof(struct nvme_tcp_data), len = min_u32(r2t->left, tq->maxh2cdata), off = r2t->off;
	uint32_t pdo = nvme_tcp_pdo((uint8_t)hlen, tq->q.hdr_digest, tq->cpda);
	uint8_t *p = stage_bytes(&tq->tx, pdo);
	struct nvme_tcp_data data = { 0 };
	uint8_t flags = (tq->q.hdr_digest ? NVME_TCP_F_HDGST : 0) | (tq->q.data_digest ? NVME_TCP_F_DDGST : 0);

	if (len == r2t->left)
		flags |= NVME_TCP_F_LAST;
	data.hdr = (struct nvme_tcp_hdr){ NVME_TCP_H2C_DATA, flags, (uint8_t)hlen, (uint8_t)pdo,
					  htole32(pdo + len + (tq->q.data_digest ? NVME_TCP_DIGEST_LEN : 0)) };
	data.cccid = htole16(req->cid);
	data.ttag = r2t->ttag;
	data.datao = htole32(off);
	data.datal = htole32(len);
	memcpy(p, &data, sizeof(data));
	stage_finish_header(tq, p, hlen, pdo);

	r2t->off += len;
	r2t->left -= len;
	if (!r2t->left)
		memmove(&tr->r2t[0], &tr->r2t[1], --tr->nr_r2t * sizeof(tr->r2t[0]));
	/* Take turns with other requests, so that a command is not stuck behind megabytes. */
	pending_del(tr);
	if (tr->nr_r2t)
		pending_add(&tq->tx, tr);
	stage_data_begin(tq, req, off, len);
}

static void stage_fill(struct tcp_queue *tq)
{
	struct tcp_tx *tx = &tq->tx;

	tx->first = tx->count = tx->buf_used = 0;
	tx->gen++;
	if (tx->data.req)
		stage_payload(tq);
	while (!tx->data.req && !cds_list_empty(&tx->pending) && stage_has_room(tx)) {
		struct tcp_req *tr = cds_list_first_entry(&tx->pending, struct tcp_req, link);
		struct host_req *req = container_of((unsigned char *)tr, struct host_req, priv);

		if (tr->capsule_sent)
			stage_h2c_data(tq, req);
		else
			stage_capsule(tq, req);
	}
}

/* ---- sending ---- */

static void tx_wait(struct tcp_queue *tq, bool blocked)
{
	tq->tx.blocked = blocked;
	loop_fd_mod(&tq->lf, blocked ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void tcp_host_tx_flush(struct tcp_queue *tq)
{
	struct tcp_tx *tx = &tq->tx;
	struct msghdr msg = { 0 };
	ssize_t n;

	if (tq->dead || tx->blocked)
		return;
	for (;;) {
		if (tx->first == tx->count)
			stage_fill(tq);
		if (!tx->count)
			break;
		msg.msg_iov = tx->iov + tx->first;
		msg.msg_iovlen = tx->count - tx->first;
		n = sendmsg(tq->fd, &msg, MSG_NOSIGNAL);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			if (errno == EAGAIN)
				tx_wait(tq, true);
			else
				tcp_host_lost(tq, errno, "send");
			return;
		}
		tcp_iov_advance(tx->iov, &tx->first, tx->count, (size_t)n);
	}
	tx_wait(tq, false);
	loop_fd_heat(&tq->lf);
}

/* ---- the end ---- */

void tcp_host_lost(struct tcp_queue *tq, int err, const char *doing)
{
	if (tq->dead)
		return;
	tq->dead = tq->closed = true;
	host_queue_failed(&tq->q, err ? -err : -ECONNRESET, "%s: %s", doing, err ? strerror(err) : "the peer closed the connection");
}

void tcp_host_terminate(struct tcp_queue *tq, uint16_t fes, uint32_t fei, int code, const char *fmt, ...)
{
	struct {
		struct nvme_tcp_term term;
		uint8_t header[sizeof(struct nvme_tcp_cmd)];
	} pdu = { .term = { .hdr = { .type = NVME_TCP_H2C_TERM, .hlen = sizeof(pdu.term) }, .fes = htole16(fes) } };
	uint32_t hlen = min_u32(tq->rx.pdu.hdr.hlen, sizeof(pdu.header)), total = sizeof(pdu.term) + hlen;
	char text[256], drain[4096];
	uint32_t left = 1 << 20;
	va_list ap;
	ssize_t n;

	if (tq->dead)
		return;
	tq->dead = true;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);

	/* Only between PDUs, and only if the socket takes it: the peer learns why, but must not be able to keep us here. */
	if (tq->tx.first == tq->tx.count && !tq->tx.data.req && tq->fd >= 0) {
		fei = htole32(fei);
		memcpy(pdu.term.fei, &fei, sizeof(fei));
		pdu.term.hdr.plen = htole32(total);
		memcpy(pdu.header, tq->rx.pdu.raw, hlen);
		if (send(tq->fd, &pdu, total, MSG_NOSIGNAL) > 0)
			shutdown(tq->fd, SHUT_WR);
		/* Unread bytes would turn the close into a reset, and the reset would overtake the reason. */
		while (left && (n = recv(tq->fd, drain, sizeof(drain), 0)) > 0)
			left -= min_u32(left, (uint32_t)n);
	}
	host_queue_failed(&tq->q, code, "%s", text);
}
