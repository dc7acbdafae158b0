/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds NVMe/TCP PDUs into a stream, right ones and, by changing them afterwards, wrong ones. */
#ifndef NVOF_TESTS_TCP_PDU_H
#define NVOF_TESTS_TCP_PDU_H

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "proto/crc32c.h"
#include "proto/tcp_rx.h"

struct stream {
	uint8_t *buf;
	size_t len, size;
	bool hdgst, ddgst; /* of the PDUs that are put from now on */
	uint8_t pda;
};

static inline uint8_t *stream_room(struct stream *s, size_t n)
{
	if (s->len + n > s->size) {
		s->size = (s->len + n) * 2;
		s->buf = realloc(s->buf, s->size);
	}
	memset(s->buf + s->len, 0, n);
	s->len += n;
	return s->buf + s->len - n;
}

/* (Re)makes the header digest of a PDU whose header is hlen bytes long. */
static inline void seal_header(uint8_t *pdu, size_t hlen)
{
	uint32_t crc = htole32(crc32c(0, pdu, hlen));

	memcpy(pdu + hlen, &crc, sizeof(crc));
}

/* hdr: all but the common header.  Returns where the PDU begins in the stream (an offset: the stream may move). */
static inline size_t put_pdu(struct stream *s, uint8_t type, const void *hdr, size_t hlen, uint8_t flags, const void *data, size_t data_len)
{
	bool plain = type <= NVME_TCP_C2H_TERM;
	bool hd = s->hdgst && !plain, dd = s->ddgst && !plain && data_len;
	size_t pdo = plain ? hlen : nvme_tcp_pdo((uint8_t)hlen, hd, s->pda);
	size_t plen = data_len ? pdo + data_len + (dd ? 4 : 0) : hlen + (hd ? 4 : 0), at = s->len;
	uint8_t *p = stream_room(s, plen);
	struct nvme_tcp_hdr ch = {
		.type = type,
		.flags = (uint8_t)(flags | (hd ? NVME_TCP_F_HDGST : 0) | (dd ? NVME_TCP_F_DDGST : 0)),
		.hlen = (uint8_t)hlen,
		.pdo = (uint8_t)(data_len && !plain ? pdo : 0),
		.plen = htole32((uint32_t)plen),
	};
	uint32_t crc;

	memcpy(p + sizeof(ch), (const uint8_t *)hdr + sizeof(ch), hlen - sizeof(ch));
	memcpy(p, &ch, sizeof(ch));
	if (hd)
		seal_header(p, hlen);
	if (data_len)
		memcpy(p + pdo, data, data_len);
	if (dd) {
		crc = htole32(crc32c(0, data, data_len));
		memcpy(p + pdo + data_len, &crc, sizeof(crc));
	}
	return at;
}

static inline size_t put_ic(struct stream *s, uint8_t type)
{
	struct nvme_tcp_ic ic = { .maxval = htole32(4096) };

	return put_pdu(s, type, &ic, sizeof(ic), 0, NULL, 0);
}

static inline size_t put_term(struct stream *s, uint8_t type, const void *data, size_t len)
{
	struct nvme_tcp_term term = { .fes = htole16(NVME_TCP_FES_SEQUENCE) };

	return put_pdu(s, type, &term, sizeof(term), 0, data, len);
}

static inline size_t put_cmd(struct stream *s, uint16_t cid, const void *data, size_t len)
{
	struct nvme_tcp_cmd cmd = { .sqe = { .opcode = 1, .flags = NVME_SQE_PSDT_SGL, .cid = htole16(cid) } };

	return put_pdu(s, NVME_TCP_CMD, &cmd, sizeof(cmd), 0, data, len);
}

static inline size_t put_rsp(struct stream *s, uint16_t cid)
{
	struct nvme_tcp_rsp rsp = { .cqe = { .cid = htole16(cid), .result = 0x1122334455667788 } };

	return put_pdu(s, NVME_TCP_RSP, &rsp, sizeof(rsp), 0, NULL, 0);
}

static inline size_t put_data(struct stream *s, uint8_t type, uint16_t cid, uint8_t flags, const void *data, size_t len)
{
	struct nvme_tcp_data d = { .cccid = htole16(cid), .datao = htole32(512), .datal = htole32((uint32_t)len) };

	return put_pdu(s, type, &d, sizeof(d), flags, data, len);
}

static inline size_t put_r2t(struct stream *s, uint16_t cid)
{
	struct nvme_tcp_r2t r2t = { .cccid = htole16(cid), .ttag = htole16(7), .r2tl = htole32(4096) };

	return put_pdu(s, NVME_TCP_R2T, &r2t, sizeof(r2t), 0, NULL, 0);
}

#endif
