/* SPDX-License-Identifier: BSD-3-Clause */
/* The raw-PDU host of fake_target.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/util.h"
#include "fake_target.h"
#include "proto/crc32c.h"

void raw_open(struct raw *r)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(ft.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int one = 1;

	memset(r, 0, sizeof(*r));
	r->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(r->fd >= 0);
	assert_int_equal(connect(r->fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	setsockopt(r->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	r->room = 1 << 20;
	r->buf = malloc(r->room);
}

void raw_close(struct raw *r)
{
	int i;

	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	free(r->buf);
	r->buf = NULL;
	for (i = 0; i < 2000 && ft.q && !ft.q->closed && !ft.hold; i++)
		ft_turn();
}

void raw_send(struct raw *r, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	while (len) {
		ssize_t n = send(r->fd, p, len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0) {
			if (errno == EPIPE || errno == ECONNRESET)
				return; /* the target had enough */
			assert_int_equal(errno, EAGAIN);
			ft_turn();
			continue;
		}
		p += n;
		len -= (size_t)n;
	}
}

size_t raw_build_pdu(const struct raw *r, uint8_t *out, const void *hdr, const void *data, uint32_t len, bool bad_ddgst)
{
	struct nvme_tcp_hdr *h = (struct nvme_tcp_hdr *)out;
	uint32_t pdo, crc;

	memcpy(out, hdr, ((const struct nvme_tcp_hdr *)hdr)->hlen);
	pdo = len ? nvme_tcp_pdo(h->hlen, r->hdgst, ft.params.cpda) : h->hlen + (r->hdgst ? 4 : 0);
	h->flags |= (r->hdgst ? NVME_TCP_F_HDGST : 0) | (r->ddgst && len ? NVME_TCP_F_DDGST : 0);
	h->pdo = len ? (uint8_t)pdo : 0;
	h->plen = htole32(pdo + len + (r->ddgst && len ? 4 : 0));
	memset(out + h->hlen, 0, pdo - h->hlen);
	if (r->hdgst) {
		crc = htole32(crc32c(0, out, h->hlen));
		memcpy(out + h->hlen, &crc, 4);
	}
	if (len)
		memcpy(out + pdo, data, len);
	if (!len || !r->ddgst)
		return pdo + len;
	crc = htole32(crc32c(0, data, len) ^ (bad_ddgst ? 1 : 0));
	memcpy(out + pdo + len, &crc, 4);
	return pdo + len + 4;
}

void raw_send_pdu(struct raw *r, const void *hdr, const void *data, uint32_t len, bool bad_ddgst)
{
	uint8_t *out = malloc(len + 512);

	raw_send(r, out, raw_build_pdu(r, out, hdr, data, len, bad_ddgst));
	free(out);
}

/* At least n bytes are there.  False: the target closed before. */
static bool raw_fill(struct raw *r, size_t n)
{
	uint64_t end = clock_ns() + 20 * NSEC_PER_SEC;

	if (n > r->room) {
		r->room = n;
		r->buf = realloc(r->buf, n);
	}
	while (r->have < n && !r->eof) {
		ssize_t got = recv(r->fd, r->buf + r->have, n - r->have, MSG_DONTWAIT);

		if (got > 0) {
			r->have += (size_t)got;
		} else if (got < 0 && errno == EAGAIN) {
			ft_turn();
			assert_true(clock_ns() < end);
		} else {
			r->eof = true;
		}
	}
	return r->have >= n;
}

static void raw_check_header(struct raw *r, const union nvme_tcp_pdu *pdu)
{
	uint32_t crc;

	if (!r->hdgst || pdu->hdr.type == NVME_TCP_C2H_TERM || pdu->hdr.type == NVME_TCP_ICRESP)
		return;
	assert_true(pdu->hdr.flags & NVME_TCP_F_HDGST);
	memcpy(&crc, pdu->raw + pdu->hdr.hlen, 4);
	assert_int_equal(le32toh(crc), crc32c(0, pdu->raw, pdu->hdr.hlen));
}

/* The PDU stays at the front of buf; gone is what the last call returned. */
static uint32_t pdu_bytes(struct raw *r)
{
	return le32toh(((struct nvme_tcp_hdr *)r->buf)->plen);
}

bool raw_recv(struct raw *r, struct raw_pdu *in)
{
	uint32_t plen, crc, trailer;

	memset(in, 0, sizeof(*in));
	if (!raw_fill(r, sizeof(struct nvme_tcp_hdr)))
		return false;
	plen = pdu_bytes(r);
	assert_true(raw_fill(r, plen));
	memcpy(&in->pdu, r->buf, min_size(plen, sizeof(in->pdu)));
	raw_check_header(r, &in->pdu);
	if (in->pdu.hdr.type == NVME_TCP_C2H_DATA) {
		trailer = r->ddgst ? 4 : 0;
		assert_int_equal(in->pdu.hdr.pdo % ((r->hpda + 1u) * 4), 0);
		assert_true(in->pdu.hdr.pdo >= in->pdu.hdr.hlen + (r->hdgst ? 4 : 0));
		in->data_len = plen - in->pdu.hdr.pdo - trailer;
		in->data = malloc(in->data_len + 1);
		memcpy(in->data, r->buf + in->pdu.hdr.pdo, in->data_len);
		assert_int_equal(!!(in->pdu.hdr.flags & NVME_TCP_F_DDGST), r->ddgst);
		if (r->ddgst) {
			memcpy(&crc, r->buf + plen - 4, 4);
			assert_int_equal(le32toh(crc), crc32c(0, in->data, in->data_len));
		}
	}
	r->have -= plen;
	memmove(r->buf, r->buf + plen, r->have);
	return true;
}

void raw_icreq(struct raw *r, uint16_t pfv, uint8_t hpda, uint8_t dgst)
{
	struct nvme_tcp_ic ic = {
		.hdr = { NVME_TCP_ICREQ, 0, sizeof(ic), 0, htole32(sizeof(ic)) }, .pfv = htole16(pfv), .pda = hpda, .dgst = dgst
	};

	r->hpda = hpda;
	raw_send(r, &ic, sizeof(ic));
}

void raw_ready(struct raw *r, uint8_t hpda, uint8_t dgst)
{
	struct raw_pdu in;

	raw_open(r);
	raw_icreq(r, 0, hpda, dgst);
	assert_true(raw_recv(r, &in));
	assert_int_equal(in.pdu.hdr.type, NVME_TCP_ICRESP);
	assert_int_equal(in.pdu.hdr.plen, 128);
	assert_int_equal(in.pdu.ic.pda, ft.params.cpda);
	assert_int_equal(le32toh(in.pdu.ic.maxval), ft.params.maxh2cdata);
	r->hdgst = in.pdu.ic.dgst & 1;
	r->ddgst = in.pdu.ic.dgst & 2;
}

struct nvme_tcp_cmd raw_cmd(struct raw *r, uint8_t opcode, uint8_t sgl_type, uint32_t len)
{
	return (struct nvme_tcp_cmd){
		.hdr = { .type = NVME_TCP_CMD, .hlen = sizeof(struct nvme_tcp_cmd) },
		.sqe = {
			.opcode = opcode,
			.flags = NVME_SQE_PSDT_SGL,
			.cid = htole16((uint16_t)(0x100 + r->next_cid++)),
			.sgl = { .length = htole32(len), .type = sgl_type },
		},
	};
}

uint16_t raw_command(struct raw *r, uint8_t opcode, uint8_t sgl_type, uint32_t len, const void *data, uint32_t data_len)
{
	struct nvme_tcp_cmd cmd = raw_cmd(r, opcode, sgl_type, len);

	raw_send_pdu(r, &cmd, data, data_len, false);
	return le16toh(cmd.sqe.cid);
}

uint16_t raw_response(struct raw *r, uint16_t cid)
{
	struct raw_pdu in;

	assert_true(raw_recv(r, &in));
	assert_int_equal(in.pdu.hdr.type, NVME_TCP_RSP);
	assert_int_equal(le16toh(in.pdu.rsp.cqe.cid), cid);
	return le16toh(in.pdu.rsp.cqe.status) >> 1;
}

void raw_expect_read(struct raw *r, uint16_t cid, uint32_t len)
{
	struct raw_pdu in;
	uint32_t off = 0;
	bool last;

	while (off < len) {
		assert_true(raw_recv(r, &in));
		assert_int_equal(in.pdu.hdr.type, NVME_TCP_C2H_DATA);
		assert_int_equal(le16toh(in.pdu.data.cccid), cid);
		assert_int_equal(le32toh(in.pdu.data.datao), off);
		assert_int_equal(le32toh(in.pdu.data.datal), in.data_len);
		assert_true(in.data_len && in.data_len <= len - off);
		assert_memory_equal(in.data, ft.data + off, in.data_len);
		free(in.data);
		off += in.data_len;
		last = in.pdu.hdr.flags & NVME_TCP_F_LAST;
		assert_int_equal(last, off == len);
		if (in.pdu.hdr.flags & NVME_TCP_F_SUCCESS) {
			assert_true(last && ft.q->sqflow_off);
			return;
		}
	}
	assert_int_equal(raw_response(r, cid), 0);
}

void raw_expect_end(struct raw *r)
{
	struct raw_pdu in;

	assert_false(raw_recv(r, &in));
	close(r->fd);
	r->fd = -1;
}

void raw_expect_term(struct raw *r, uint16_t fes, uint32_t fei)
{
	struct raw_pdu in;
	uint32_t got;

	do {
		assert_true(raw_recv(r, &in));
	} while (in.pdu.hdr.type != NVME_TCP_C2H_TERM);
	assert_int_equal(le16toh(in.pdu.term.fes), fes);
	memcpy(&got, in.pdu.term.fei, 4);
	assert_int_equal(le32toh(got), fei);
	assert_true(le32toh(in.pdu.hdr.plen) >= 24 + 8 && le32toh(in.pdu.hdr.plen) <= NVME_TCP_TERM_MAX_PLEN);
	raw_expect_end(r);
}

void raw_expect_alive(struct raw *r)
{
	uint16_t cid = raw_command(r, FT_READ, NVME_SGL_TRANSPORT, 4096, NULL, 0);

	raw_expect_read(r, cid, 4096);
}

struct nvme_tcp_data raw_h2c(uint16_t cid, uint16_t ttag, uint32_t off, uint32_t len, bool last)
{
	return (struct nvme_tcp_data){
		.hdr = { .type = NVME_TCP_H2C_DATA, .flags = last ? NVME_TCP_F_LAST : 0, .hlen = sizeof(struct nvme_tcp_data) },
		.cccid = htole16(cid),
		.ttag = htole16(ttag),
		.datao = htole32(off),
		.datal = htole32(len),
	};
}

struct nvme_tcp_r2t raw_r2t(struct raw *r, uint16_t cid)
{
	struct raw_pdu in;

	assert_true(raw_recv(r, &in));
	assert_int_equal(in.pdu.hdr.type, NVME_TCP_R2T);
	assert_int_equal(le16toh(in.pdu.r2t.cccid), cid);
	return in.pdu.r2t;
}
