/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of what waits to be sent.  They are built anew for each sendmsg: headers on the sender's stack, payload by reference from the
 * backend's memory.  All a connection remembers of a partial send is a byte count, because building again gives the same bytes; a data
 * digest, the one thing that is dear to build, is kept in the slot.
 */
#include <string.h>

#include "proto/crc32c.h"
#include "transport/tcp/tcp_target.h"

/* Longest: C2HData header, its digest and padding, then data digest, CapsuleResp and its digest. */
#define RSP_ROOM (2 * (128 + NVME_TCP_DIGEST_LEN) + NVME_TCP_DIGEST_LEN + 24)

static struct tt_slot *item_slot(const struct tx_item *item)
{
	return container_of(item, struct tt_slot, tx);
}

static uint32_t slot_payload_len(const struct tt_slot *s)
{
	return s->req.dir == DATA_FROM_CTRL && !s->req.cqe.status ? s->req.data_len : 0;
}

/* SUCCESS on the last C2HData stands for a response that has nothing to say. */
static bool slot_has_response(const struct tt_conn *c, const struct tt_slot *s)
{
	return !(slot_payload_len(s) && c->q.sqflow_off && !s->req.cqe.result);
}

static uint32_t ddgst_len(const struct tt_conn *c)
{
	return c->ddgst ? NVME_TCP_DIGEST_LEN : 0;
}

static uint32_t hdgst_len(const struct tt_conn *c)
{
	return c->hdgst ? NVME_TCP_DIGEST_LEN : 0;
}

size_t tx_pdu_len(const struct tt_conn *c, const struct tx_item *item, bool *last)
{
	const struct tt_slot *s;
	uint32_t left;

	*last = true;
	switch (item->kind) {
	case TX_ICRESP:
		return sizeof(struct nvme_tcp_ic);
	case TX_TERM:
		return c->term_len;
	case TX_R2T:
		return sizeof(struct nvme_tcp_r2t) + hdgst_len(c);
	case TX_RSP:
		break;
	}
	s = item_slot(item);
	left = slot_payload_len(s) - s->tx_done;
	if (!left)
		return sizeof(struct nvme_tcp_rsp) + hdgst_len(c);
	*last = left <= TT_C2H_MAX && !slot_has_response(c, s);
	return nvme_tcp_pdo(sizeof(struct nvme_tcp_data), c->hdgst, c->hpda) + (size_t)min_u32(left, TT_C2H_MAX) + ddgst_len(c);
}

/* ---- pieces ---- */

/* Appends a piece, less what has left already.  Pieces that follow one another in memory become one. */
static bool batch_add(struct tx_batch *b, const void *p, size_t len)
{
	struct iovec *last;
	size_t skip = min_size(b->skip, len);

	b->skip -= skip;
	len -= skip;
	p = (const uint8_t *)p + skip;
	if (!len)
		return true;
	last = b->nr_iov ? &b->iov[b->nr_iov - 1] : NULL;
	if (last && (const uint8_t *)last->iov_base + last->iov_len == p) {
		last->iov_len += len;
	} else {
		if (b->nr_iov == TT_IOV_MAX)
			return false;
		b->iov[b->nr_iov++] = (struct iovec){ (void *)p, len };
	}
	b->len += len;
	return true;
}

static void *batch_header(struct tx_batch *b, uint32_t len)
{
	uint8_t *p = b->hdr + b->hdr_len;

	b->hdr_len += len;
	return p;
}

static void put_crc(void *p, uint32_t crc)
{
	crc = htole32(crc);
	memcpy(p, &crc, sizeof(crc));
}

/* The header digest behind the header of hlen bytes at p, then zeroes up to total. */
static void header_finish(const struct tt_conn *c, uint8_t *p, uint32_t hlen, uint32_t total)
{
	uint32_t end = hlen;

	if (c->hdgst) {
		put_crc(p + end, crc32c(0, p, hlen));
		end += NVME_TCP_DIGEST_LEN;
	}
	if (end < total)
		memset(p + end, 0, total - end);
}

/* ---- PDUs ---- */

static bool build_icresp(struct tt_conn *c, struct tx_batch *b)
{
	struct nvme_tcp_ic *ic = batch_header(b, sizeof(*ic));

	return batch_add(b, ic, conn_icresp_build(c, ic));
}

static bool build_r2t(struct tt_conn *c, const struct tt_slot *s, struct tx_batch *b)
{
	uint32_t total = sizeof(struct nvme_tcp_r2t) + hdgst_len(c);
	struct nvme_tcp_r2t *r2t = batch_header(b, total);

	*r2t = (struct nvme_tcp_r2t){
		.hdr = { NVME_TCP_R2T, c->hdgst ? NVME_TCP_F_HDGST : 0, sizeof(*r2t), 0, htole32(total) },
		.cccid = s->req.sqe.cid,
		.ttag = htole16(s->ttag),
		.r2to = htole32(s->rx_done),
		.r2tl = htole32(s->r2t_end - s->rx_done),
	};
	header_finish(c, (uint8_t *)r2t, sizeof(*r2t), total);
	return batch_add(b, r2t, total);
}

static bool build_rsp(struct tt_conn *c, const struct tt_slot *s, struct tx_batch *b)
{
	uint32_t total = sizeof(struct nvme_tcp_rsp) + hdgst_len(c);
	struct nvme_tcp_rsp rsp = {
		.hdr = { NVME_TCP_RSP, c->hdgst ? NVME_TCP_F_HDGST : 0, sizeof(rsp), 0, htole32(total) },
		.cqe = s->req.cqe,
	};
	uint8_t *p = batch_header(b, total);

	memcpy(p, &rsp, sizeof(rsp)); /* behind a digest p is not aligned for a CQE */
	header_finish(c, p, sizeof(rsp), total);
	return batch_add(b, p, total);
}

/* The iovec that holds byte off of the payload; *skip: how deep in it. */
static const struct iovec *payload_at(const struct tt_slot *s, uint32_t off, size_t *skip)
{
	const struct iovec *iov = s->req.iov;

	for (*skip = off; *skip >= iov->iov_len; iov++)
		*skip -= iov->iov_len;
	return iov;
}

static bool build_payload(const struct tt_slot *s, uint32_t off, uint32_t len, struct tx_batch *b)
{
	size_t skip, part;
	const struct iovec *iov = payload_at(s, off, &skip);

	for (; len; iov++, skip = 0, len -= (uint32_t)part) {
		part = min_size(iov->iov_len - skip, len);
		if (!batch_add(b, (const uint8_t *)iov->iov_base + skip, part))
			return false;
	}
	return true;
}

/* The data digest of the PDU with the payload [off, off + len); that of the next PDU to leave is kept until it has left. */
static uint32_t payload_crc(struct tt_slot *s, uint32_t off, uint32_t len)
{
	size_t skip, part;
	const struct iovec *iov;
	uint32_t crc = 0;

	if (off == s->tx_done && s->crc_valid)
		return s->crc;
	for (iov = payload_at(s, off, &skip); len; iov++, skip = 0, len -= (uint32_t)part) {
		part = min_size(iov->iov_len - skip, len);
		crc = crc32c(crc, (const uint8_t *)iov->iov_base + skip, part);
	}
	if (off == s->tx_done) {
		s->crc = crc;
		s->crc_valid = true;
	}
	return crc;
}

/* One C2HData PDU with the payload from off on. */
static bool build_c2h_data(struct tt_conn *c, struct tt_slot *s, uint32_t off, struct tx_batch *b)
{
	uint32_t left = slot_payload_len(s) - off, len = min_u32(left, TT_C2H_MAX);
	uint32_t pdo = nvme_tcp_pdo(sizeof(struct nvme_tcp_data), c->hdgst, c->hpda);
	struct nvme_tcp_data *data = batch_header(b, pdo);
	uint8_t flags = (c->hdgst ? NVME_TCP_F_HDGST : 0) | (c->ddgst ? NVME_TCP_F_DDGST : 0), *trailer;

	if (len == left)
		flags |= NVME_TCP_F_LAST | (slot_has_response(c, s) ? 0 : NVME_TCP_F_SUCCESS);
	*data = (struct nvme_tcp_data){
		.hdr = { NVME_TCP_C2H_DATA, flags, sizeof(*data), (uint8_t)pdo, htole32(pdo + len + ddgst_len(c)) },
		.cccid = s->req.sqe.cid,
		.datao = htole32(off),
		.datal = htole32(len),
	};
	header_finish(c, (uint8_t *)data, sizeof(*data), pdo);
	if (!batch_add(b, data, pdo) || !build_payload(s, off, len, b))
		return false;
	if (!c->ddgst)
		return true;
	trailer = batch_header(b, NVME_TCP_DIGEST_LEN);
	put_crc(trailer, payload_crc(s, off, len));
	return batch_add(b, trailer, NVME_TCP_DIGEST_LEN);
}

static bool build_answer(struct tt_conn *c, struct tt_slot *s, struct tx_batch *b)
{
	uint32_t total = slot_payload_len(s), off;

	for (off = s->tx_done; off < total; off += TT_C2H_MAX)
		if (b->hdr_len + RSP_ROOM > TT_HDR_ROOM || !build_c2h_data(c, s, off, b))
			return false;
	return !slot_has_response(c, s) || build_rsp(c, s, b);
}

bool tx_build(struct tt_conn *c, struct tx_item *item, struct tx_batch *b)
{
	if (b->hdr_len + RSP_ROOM > TT_HDR_ROOM || b->nr_iov == TT_IOV_MAX)
		return false;
	switch (item->kind) {
	case TX_ICRESP:
		return build_icresp(c, b);
	case TX_TERM:
		return batch_add(b, &c->term_pdu, c->term_len);
	case TX_R2T:
		return build_r2t(c, item_slot(item), b);
	case TX_RSP:
		return build_answer(c, item_slot(item), b);
	}
	return true;
}
