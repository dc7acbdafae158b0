/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A PDU passes the states COMMON -> HEADER -> PAD -> DATA -> TRAILER.  When all of a header lies in the caller's buffer, which is the
 * rule, the first three are passed at one go with one copy of the header.
 *
 * Fields are checked in the order in which they stand, because the specification wants the lowest one at fault reported.
 */
#include "proto/tcp_rx.h"

#include <string.h>

#include "base/util.h"
#include "proto/crc32c.h"

enum rx_state {
	RX_ST_COMMON,  /* collecting the 8 bytes that all PDUs have */
	RX_ST_HEADER,  /* collecting the rest of the header, with its digest */
	RX_ST_PAD,     /* dropping what lies between header and data */
	RX_ST_DATA,    /* the caller accounts the payload */
	RX_ST_TRAILER, /* collecting the data digest */
	RX_ST_DEAD,    /* after RX_ERROR */
};

enum pdu_kind { KIND_IC, KIND_TERM, KIND_PLAIN, KIND_CAPSULE, KIND_DATA };

struct pdu_type {
	uint8_t hlen; /* 0: no such type */
	uint8_t to;   /* enum nvme_tcp_side */
	uint8_t kind;
};

static const struct pdu_type pdu_types[] = {
	[NVME_TCP_ICREQ] = { sizeof(struct nvme_tcp_ic), NVME_TCP_CTRL, KIND_IC },
	[NVME_TCP_ICRESP] = { sizeof(struct nvme_tcp_ic), NVME_TCP_HOST, KIND_IC },
	[NVME_TCP_H2C_TERM] = { sizeof(struct nvme_tcp_term), NVME_TCP_CTRL, KIND_TERM },
	[NVME_TCP_C2H_TERM] = { sizeof(struct nvme_tcp_term), NVME_TCP_HOST, KIND_TERM },
	[NVME_TCP_CMD] = { sizeof(struct nvme_tcp_cmd), NVME_TCP_CTRL, KIND_CAPSULE },
	[NVME_TCP_RSP] = { sizeof(struct nvme_tcp_rsp), NVME_TCP_HOST, KIND_PLAIN },
	[NVME_TCP_H2C_DATA] = { sizeof(struct nvme_tcp_data), NVME_TCP_CTRL, KIND_DATA },
	[NVME_TCP_C2H_DATA] = { sizeof(struct nvme_tcp_data), NVME_TCP_HOST, KIND_DATA },
	[NVME_TCP_R2T] = { sizeof(struct nvme_tcp_r2t), NVME_TCP_HOST, KIND_PLAIN },
};

static const struct pdu_type *pdu_type(uint8_t type)
{
	return type < ARRAY_SIZE(pdu_types) && pdu_types[type].hlen ? &pdu_types[type] : NULL;
}

static void begin_pdu(struct nvme_tcp_rx *rx)
{
	rx->state = RX_ST_COMMON;
	rx->have = 0;
	rx->need = sizeof(struct nvme_tcp_hdr);
	rx->data_len = 0;
	rx->data_done = 0;
}

void nvme_tcp_rx_init(struct nvme_tcp_rx *rx, enum nvme_tcp_side side, uint8_t pda, uint32_t max_data)
{
	memset(rx, 0, sizeof(*rx));
	rx->side = side;
	rx->pda = pda;
	rx->max_data = max_data;
	rx->ic_only = true;
	begin_pdu(rx);
}

void nvme_tcp_rx_negotiated(struct nvme_tcp_rx *rx, bool hdgst, bool ddgst)
{
	rx->hdgst = hdgst;
	rx->ddgst = ddgst;
	rx->ic_only = false;
}

static bool fail(struct nvme_tcp_rx *rx, struct nvme_tcp_rx_event *ev, uint16_t fes, uint32_t fei, const char *what)
{
	rx->state = RX_ST_DEAD;
	rx->dead_fes = fes;
	rx->dead_fei = fei;
	rx->dead_what = what;
	rx->data_len = 0;
	rx->data_done = 0;
	memset(rx->pdu.raw + rx->have, 0, sizeof(rx->pdu.raw) - rx->have);
	*ev = (struct nvme_tcp_rx_event){ .type = RX_ERROR, .fes = fes, .fei = fei, .what = what };
	return false;
}

static bool bad_field(struct nvme_tcp_rx *rx, struct nvme_tcp_rx_event *ev, uint32_t offset, const char *what)
{
	return fail(rx, ev, NVME_TCP_FES_INVALID_HDR, offset, what);
}
#define BAD_FIELD(field, what) bad_field(rx, ev, offsetof(struct nvme_tcp_hdr, field), what)

/* IC and TermReq PDUs never have digests, neither before nor after the IC exchange. */
static uint32_t hdgst_len(const struct nvme_tcp_rx *rx, const struct pdu_type *t)
{
	return rx->hdgst && t->kind >= KIND_PLAIN ? NVME_TCP_DIGEST_LEN : 0;
}

static bool check_type(struct nvme_tcp_rx *rx, const struct pdu_type *t, struct nvme_tcp_rx_event *ev)
{
	if (!t)
		return BAD_FIELD(type, "no such type; is this an NVMe/TCP port?");
	if (t->to != rx->side)
		return BAD_FIELD(type, rx->side == NVME_TCP_HOST ? "a PDU type that only a host sends"
								 : "a PDU type that only a controller sends");
	if (t->kind == KIND_TERM)
		return true;
	if (rx->ic_only && t->kind != KIND_IC)
		return fail(rx, ev, NVME_TCP_FES_SEQUENCE, 0, "a PDU before the connection was initialised (ICReq, ICResp)");
	if (!rx->ic_only && t->kind == KIND_IC)
		return fail(rx, ev, NVME_TCP_FES_SEQUENCE, 0, "the connection is to be initialised a second time");
	return true;
}

/* has_data: PLEN goes beyond the header.  DDGST is meaningless without. */
static bool check_flags(struct nvme_tcp_rx *rx, const struct pdu_type *t, bool has_data, struct nvme_tcp_rx_event *ev)
{
	const struct nvme_tcp_hdr *hdr = &rx->pdu.hdr;

	if (t->kind < KIND_PLAIN)
		return true;
	if (!(hdr->flags & NVME_TCP_F_HDGST) == rx->hdgst)
		return BAD_FIELD(flags, "HDGSTF contradicts the header digest agreed on");
	if (t->kind == KIND_PLAIN)
		return true;
	if (has_data && !(hdr->flags & NVME_TCP_F_DDGST) == rx->ddgst)
		return BAD_FIELD(flags, "DDGSTF contradicts the data digest agreed on");
	if (hdr->type == NVME_TCP_C2H_DATA && (hdr->flags & NVME_TCP_F_SUCCESS) && !(hdr->flags & NVME_TCP_F_LAST))
		return BAD_FIELD(flags, "SUCCESS without LAST_PDU");
	return true;
}

static bool check_term_plen(struct nvme_tcp_rx *rx, uint32_t plen, struct nvme_tcp_rx_event *ev)
{
	if (plen < sizeof(struct nvme_tcp_term))
		return BAD_FIELD(plen, "PLEN is smaller than HLEN");
	if (plen > NVME_TCP_TERM_MAX_PLEN)
		return BAD_FIELD(plen, "PLEN is larger than a termination request may be");
	rx->data_len = plen - (uint32_t)sizeof(struct nvme_tcp_term);
	return true;
}

/* PDO and PLEN of a PDU that goes beyond its header (full_hlen: with the digest). */
static bool check_data(struct nvme_tcp_rx *rx, const struct pdu_type *t, uint32_t full_hlen, uint32_t plen, struct nvme_tcp_rx_event *ev)
{
	uint32_t pdo = rx->pdu.hdr.pdo, trailer = rx->ddgst ? NVME_TCP_DIGEST_LEN : 0;

	if (t->kind < KIND_CAPSULE)
		return BAD_FIELD(plen, "PLEN is larger than the header of a PDU without data");
	if (pdo < full_hlen)
		return BAD_FIELD(pdo, "PDO points into the header");
	if (pdo % ((rx->pda + 1u) * 4))
		return BAD_FIELD(pdo, "PDO is not aligned as asked for");
	if (plen <= pdo + trailer)
		return BAD_FIELD(plen, "PLEN leaves no room for data after PDO");
	rx->data_len = plen - pdo - trailer;
	if (t->kind == KIND_CAPSULE && rx->data_len > rx->max_data)
		return BAD_FIELD(plen, "PLEN is larger than a command capsule may be");
	return true;
}

/* The 8 bytes are there. */
static bool check_common(struct nvme_tcp_rx *rx, const struct pdu_type *t, struct nvme_tcp_rx_event *ev)
{
	const struct nvme_tcp_hdr *hdr = &rx->pdu.hdr;
	uint32_t plen = le32toh(hdr->plen), full_hlen;

	if (!check_type(rx, t, ev))
		return false;
	full_hlen = t->hlen + hdgst_len(rx, t);
	if (!check_flags(rx, t, plen > full_hlen, ev))
		return false;
	if (hdr->hlen != t->hlen)
		return BAD_FIELD(hlen, "HLEN is not that of the PDU type");
	rx->need = (uint16_t)full_hlen;
	if (t->kind == KIND_TERM)
		return check_term_plen(rx, plen, ev);
	if (plen < full_hlen)
		return BAD_FIELD(plen, "PLEN is smaller than HLEN and the header digest");
	return plen == full_hlen || check_data(rx, t, full_hlen, plen, ev);
}

/* All of the header is there, the digest as well. */
static bool check_whole(struct nvme_tcp_rx *rx, const struct pdu_type *t, struct nvme_tcp_rx_event *ev)
{
	uint32_t digest;

	if (rx->need > t->hlen) {
		memcpy(&digest, rx->pdu.raw + t->hlen, sizeof(digest));
		digest = le32toh(digest);
		if (digest != crc32c(0, rx->pdu.raw, t->hlen))
			return fail(rx, ev, NVME_TCP_FES_HDGST, digest, "the header digest is wrong");
	}
	if (t->kind != KIND_DATA)
		return true;
	if (le32toh(rx->pdu.data.datal) != rx->data_len)
		return bad_field(rx, ev, offsetof(struct nvme_tcp_data, datal), "DATAL is not what PLEN and PDO leave for data");
	if (rx->data_len > rx->max_data)
		return fail(rx, ev, NVME_TCP_FES_LIMIT, 0, "more data in one PDU than the limit allows");
	return true;
}

/* All before the data was eaten. */
static void header_done(struct nvme_tcp_rx *rx, const struct pdu_type *t, struct nvme_tcp_rx_event *ev)
{
	rx->crc = 0;
	rx->digest_on = rx->ddgst && t->kind >= KIND_CAPSULE;
	rx->state = rx->data_len ? RX_ST_DATA : RX_ST_COMMON;
	rx->have = 0;
	rx->need = sizeof(struct nvme_tcp_hdr);
	ev->type = RX_PDU;
}

/* Eats what of [*p, end) is still needed; true when need is met. */
static bool collect(struct nvme_tcp_rx *rx, void *to, const uint8_t **p, const uint8_t *end)
{
	size_t n = min_size((size_t)(end - *p), (size_t)(rx->need - rx->have));

	if (to && n)
		memcpy((uint8_t *)to + rx->have, *p, n);
	rx->have += (uint16_t)n;
	*p += n;
	return rx->have == rx->need;
}

/* After the header: how many bytes to drop before the data. */
static uint16_t pad_len(const struct nvme_tcp_rx *rx, const struct pdu_type *t)
{
	return rx->data_len && t->kind >= KIND_CAPSULE ? (uint16_t)(rx->pdu.hdr.pdo - rx->need) : 0;
}

/* The header in pieces. */
static const uint8_t *rx_header(struct nvme_tcp_rx *rx, const uint8_t *p, const uint8_t *end, struct nvme_tcp_rx_event *ev)
{
	const struct pdu_type *t;

	if (rx->state == RX_ST_COMMON) {
		if (!rx->have)
			begin_pdu(rx);
		if (!collect(rx, rx->pdu.raw, &p, end) || !check_common(rx, pdu_type(rx->pdu.hdr.type), ev))
			return p;
		rx->state = RX_ST_HEADER;
	}
	t = pdu_type(rx->pdu.hdr.type);
	if (rx->state == RX_ST_HEADER) {
		if (!collect(rx, rx->pdu.raw, &p, end) || !check_whole(rx, t, ev))
			return p;
		rx->state = RX_ST_PAD;
		rx->need = pad_len(rx, t);
		rx->have = 0;
	}
	if (collect(rx, NULL, &p, end))
		header_done(rx, t, ev);
	return p;
}

/* The header in one piece: returns NULL when it is not, and nothing has changed then. */
static const uint8_t *rx_header_at_once(struct nvme_tcp_rx *rx, const uint8_t *p, const uint8_t *end, struct nvme_tcp_rx_event *ev)
{
	const struct pdu_type *t = pdu_type(*p);
	size_t len, left = (size_t)(end - p);
	uint16_t pad;

	if (!t)
		return NULL;
	len = t->hlen + hdgst_len(rx, t);
	if (left < len)
		return NULL;
	rx->data_len = 0;
	rx->data_done = 0;
	/* Constant lengths: the compiler makes a few moves of them. */
	if (t->hlen == sizeof(struct nvme_tcp_rsp))
		memcpy(rx->pdu.raw, p, sizeof(struct nvme_tcp_rsp));
	else if (t->hlen == sizeof(struct nvme_tcp_cmd))
		memcpy(rx->pdu.raw, p, sizeof(struct nvme_tcp_cmd));
	else
		memcpy(rx->pdu.raw, p, t->hlen);
	if (len > t->hlen)
		memcpy(rx->pdu.raw + t->hlen, p + t->hlen, NVME_TCP_DIGEST_LEN);
	rx->have = (uint16_t)len;
	p += len;
	if (!check_common(rx, t, ev) || !check_whole(rx, t, ev))
		return p;
	pad = pad_len(rx, t);
	if (left - len >= pad) {
		header_done(rx, t, ev);
		return p + pad;
	}
	rx->state = RX_ST_PAD;
	rx->need = pad;
	rx->have = (uint16_t)(left - len);
	return end;
}

static const uint8_t *rx_trailer(struct nvme_tcp_rx *rx, const uint8_t *p, const uint8_t *end, struct nvme_tcp_rx_event *ev)
{
	if (rx->state == RX_ST_DATA) {
		rx->state = RX_ST_TRAILER;
		rx->need = rx->digest_on ? NVME_TCP_DIGEST_LEN : 0;
		rx->have = 0;
	}
	if (!collect(rx, &rx->trailer, &p, end))
		return p;
	ev->type = RX_END;
	ev->digest_ok = !rx->digest_on || le32toh(rx->trailer) == rx->crc;
	rx->state = RX_ST_COMMON;
	rx->have = 0;
	rx->need = sizeof(struct nvme_tcp_hdr);
	return p;
}

size_t nvme_tcp_rx(struct nvme_tcp_rx *rx, const void *data, size_t len, struct nvme_tcp_rx_event *ev)
{
	const uint8_t *const start = data, *const end = start + len, *p = NULL;

	ev->type = RX_NONE;
	switch (rx->state) {
	case RX_ST_COMMON:
		if (likely(!rx->have && len >= sizeof(struct nvme_tcp_rsp)))
			p = rx_header_at_once(rx, start, end, ev);
		if (!p)
			p = rx_header(rx, start, end, ev);
		return (size_t)(p - start);
	case RX_ST_HEADER:
	case RX_ST_PAD:
		return (size_t)(rx_header(rx, start, end, ev) - start);
	case RX_ST_DATA:
		if (rx->data_done < rx->data_len) {
			if (!len)
				return 0;
			ev->type = RX_DATA;
			ev->data = start;
			ev->len = min_size(len, nvme_tcp_rx_payload_left(rx));
			return ev->len;
		}
		return (size_t)(rx_trailer(rx, start, end, ev) - start);
	case RX_ST_TRAILER:
		return (size_t)(rx_trailer(rx, start, end, ev) - start);
	default:
		fail(rx, ev, rx->dead_fes, rx->dead_fei, rx->dead_what);
		return 0;
	}
}

void nvme_tcp_rx_payload_copy(struct nvme_tcp_rx *rx, void *dst, const void *src, size_t len)
{
	if (rx->digest_on)
		rx->crc = crc32c_copy(rx->crc, dst, src, len);
	else
		memcpy(dst, src, len);
	rx->data_done += (uint32_t)len;
}

void nvme_tcp_rx_payload_inplace(struct nvme_tcp_rx *rx, const void *data, size_t len)
{
	if (rx->digest_on)
		rx->crc = crc32c(rx->crc, data, len);
	rx->data_done += (uint32_t)len;
}
