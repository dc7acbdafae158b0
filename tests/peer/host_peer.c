/* SPDX-License-Identifier: BSD-3-Clause */
#include "peer/host_peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "proto/crc32c.h"
#include "proto/nqn.h"

/* ---- the target ---- */

void hp_target_start(struct hp_target *ht, const struct nvof_target_opts *opts)
{
	struct nvof_target_ns_opts ns;
	const char *colon;

	assert_int_equal(nvof_target_new(opts, &ht->t), 0);
	assert_int_equal(nvof_target_add_subsys(ht->t, HP_NQN, NULL), 0);
	nvof_target_ns_opts_init(&ns);
	ns.backend = "mem:64M";
	assert_int_equal(nvof_target_add_ns(ht->t, HP_NQN, &ns, NULL), 0);
	assert_int_equal(nvof_target_listen(ht->t, "tcp:127.0.0.1:0", ht->addr, sizeof(ht->addr)), 0);
	colon = strrchr(ht->addr, ':');
	assert_non_null(colon);
	ht->port = (uint16_t)atoi(colon + 1);
}

void hp_target_stop(struct hp_target *ht)
{
	nvof_target_free(ht->t);
}

/* ---- bytes ---- */

void hp_open(struct hp *h, uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct timeval tv = { .tv_sec = 20 };
	int one = 1;

	*h = (struct hp){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .next_cid = 1 };
	assert_true(h->fd >= 0);
	setsockopt(h->fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(h->fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	setsockopt(h->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	assert_int_equal(connect(h->fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
}

void hp_close(struct hp *h)
{
	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
}

void hp_send_raw(struct hp *h, const void *bytes, size_t len)
{
	const uint8_t *b = bytes;

	while (len) {
		ssize_t n = send(h->fd, b, len, MSG_NOSIGNAL);

		if (n <= 0)
			return; /* closed by the target: the next receive shows it */
		b += n;
		len -= (size_t)n;
	}
}

void hp_send_pdu(struct hp *h, const void *pdu, size_t hlen, const void *data, size_t len, bool bad_ddgst)
{
	uint8_t *buf = calloc(1, hlen + len + 512);
	struct nvme_tcp_hdr *hdr = (struct nvme_tcp_hdr *)buf;
	size_t end = hlen;
	uint32_t crc;

	assert_non_null(buf);
	memcpy(buf, pdu, hlen);
	hdr->hlen = (uint8_t)hlen;
	hdr->flags |= (h->hdgst ? NVME_TCP_F_HDGST : 0) | (len && h->ddgst ? NVME_TCP_F_DDGST : 0);
	hdr->pdo = len ? nvme_tcp_pdo((uint8_t)hlen, h->hdgst, h->cpda) : 0;
	hdr->plen = htole32((uint32_t)(len ? hdr->pdo + len + (h->ddgst ? 4 : 0) : hlen + (h->hdgst ? 4 : 0)));
	if (h->hdgst) {
		crc = htole32(crc32c(0, buf, hlen));
		memcpy(buf + hlen, &crc, 4);
		end += 4;
	}
	if (len) {
		memcpy(buf + hdr->pdo, data, len);
		end = hdr->pdo + len;
		if (h->ddgst) {
			crc = htole32(crc32c(0, data, len) ^ (bad_ddgst ? 0x100 : 0));
			memcpy(buf + end, &crc, 4);
			end += 4;
		}
	}
	hp_send_raw(h, buf, end);
	free(buf);
}

static bool recv_all(struct hp *h, void *buf, size_t len)
{
	uint8_t *b = buf;

	while (len) {
		ssize_t n = recv(h->fd, b, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			fail_msg("the target sent nothing for 20 s");
		if (n <= 0)
			return false;
		b += n;
		len -= (size_t)n;
	}
	return true;
}

bool hp_recv(struct hp *h, struct hp_pdu *in)
{
	struct nvme_tcp_hdr hdr;
	uint32_t plen, off, crc;
	bool hdgst, ddgst;
	uint8_t *rest;

	memset(in, 0, sizeof(*in));
	if (!recv_all(h, &hdr, sizeof(hdr)))
		return false;
	plen = le32toh(hdr.plen);
	assert_true(plen >= hdr.hlen && hdr.hlen >= 8 && hdr.hlen <= 128 && plen < 8u << 20);
	rest = malloc(plen);
	assert_non_null(rest);
	memcpy(rest, &hdr, sizeof(hdr));
	if (!recv_all(h, rest + 8, plen - 8)) {
		free(rest);
		return false;
	}
	memcpy(&in->pdu, rest, hdr.hlen);
	hdgst = h->hdgst && hdr.type != NVME_TCP_C2H_TERM;
	if (hdr.type != NVME_TCP_C2H_TERM && hdr.type != NVME_TCP_ICRESP)
		assert_int_equal(!!(hdr.flags & NVME_TCP_F_HDGST), h->hdgst);
	if (hdgst) {
		memcpy(&crc, rest + hdr.hlen, 4);
		assert_int_equal(le32toh(crc), crc32c(0, rest, hdr.hlen));
	}
	if (hdr.type == NVME_TCP_C2H_DATA) {
		/* C099: the alignment this host asked for */
		assert_int_equal(hdr.pdo % ((h->hpda + 1) * 4), 0);
		assert_true(hdr.pdo >= hdr.hlen + (hdgst ? 4 : 0));
		ddgst = hdr.flags & NVME_TCP_F_DDGST;
		assert_int_equal(ddgst, h->ddgst);
		off = hdr.pdo;
		in->data_len = plen - off - (ddgst ? 4 : 0);
		assert_int_equal(in->data_len, le32toh(in->pdu.data.datal));
		if (ddgst) {
			memcpy(&crc, rest + plen - 4, 4);
			assert_int_equal(le32toh(crc), crc32c(0, rest + off, in->data_len));
		}
		memmove(rest, rest + off, in->data_len);
		in->data = rest;
		return true;
	}
	free(rest);
	return true;
}

uint16_t hp_expect_closed(struct hp *h, uint32_t *fei)
{
	struct hp_pdu in;
	uint16_t fes = 0;
	uint32_t v;

	while (hp_recv(h, &in)) {
		if (in.pdu.hdr.type == NVME_TCP_C2H_TERM) {
			fes = le16toh(in.pdu.term.fes);
			memcpy(&v, in.pdu.term.fei, 4);
			if (fei)
				*fei = le32toh(v);
		}
		free(in.data);
	}
	hp_close(h);
	return fes;
}

/* ---- the IC exchange ---- */

void hp_icreq(struct hp *h, uint16_t pfv, uint8_t hpda, uint8_t dgst, uint32_t maxr2t)
{
	struct nvme_tcp_ic ic = { .hdr = { .type = NVME_TCP_ICREQ, .hlen = 128, .plen = htole32(128) },
				  .pfv = htole16(pfv),
				  .pda = hpda,
				  .dgst = dgst,
				  .maxval = htole32(maxr2t) };

	h->hpda = hpda;
	hp_send_raw(h, &ic, sizeof(ic));
}

void hp_ic(struct hp *h, uint8_t dgst, uint8_t hpda)
{
	struct hp_pdu in;

	hp_icreq(h, 0, hpda, dgst, 0);
	assert_true(hp_recv(h, &in));
	assert_int_equal(in.pdu.hdr.type, NVME_TCP_ICRESP);
	assert_int_equal(in.pdu.ic.dgst, dgst);
	h->cpda = in.pdu.ic.pda;
	h->maxh2cdata = le32toh(in.pdu.ic.maxval);
	assert_true(h->maxh2cdata >= 4096 && h->maxh2cdata % 4 == 0 && h->cpda <= 31);
	h->hdgst = dgst & 1;
	h->ddgst = dgst & 2;
}

/* ---- commands ---- */

uint16_t hp_cmd(struct hp *h, struct nvme_sqe *sqe, const void *data, uint32_t len)
{
	struct nvme_tcp_cmd cmd = { .hdr.type = NVME_TCP_CMD };
	uint16_t cid = h->next_cid++;

	sqe->cid = htole16(cid);
	sqe->flags |= NVME_SQE_PSDT_SGL;
	if (!sqe->sgl.type && (len || sqe->opcode != NVMF_OPCODE)) {
		sqe->sgl.length = htole32(len);
		sqe->sgl.type = data ? NVME_SGL_OFFSET : NVME_SGL_TRANSPORT;
	}
	cmd.sqe = *sqe;
	hp_send_pdu(h, &cmd, sizeof(cmd), data, data ? len : 0, false);
	return cid;
}

uint16_t hp_status(struct hp *h, uint16_t cid, void *buf, uint32_t len, uint64_t *result)
{
	struct hp_pdu in;

	for (;;) {
		if (!hp_recv(h, &in))
			fail_msg("the target closed the connection instead of answering command %u", cid);
		switch (in.pdu.hdr.type) {
		case NVME_TCP_C2H_DATA:
			assert_int_equal(le16toh(in.pdu.data.cccid), cid);
			assert_true(le32toh(in.pdu.data.datao) + in.data_len <= len);
			memcpy((uint8_t *)buf + le32toh(in.pdu.data.datao), in.data, in.data_len);
			free(in.data);
			if (in.pdu.hdr.flags & NVME_TCP_F_SUCCESS)
				return 0;
			break;
		case NVME_TCP_RSP:
			assert_int_equal(le16toh(in.pdu.rsp.cqe.cid), cid);
			if (result)
				*result = le64toh(in.pdu.rsp.cqe.result);
			return le16toh(in.pdu.rsp.cqe.status) >> 1;
		default:
			fail_msg("%s instead of an answer to command %u", nvme_tcp_type_name(in.pdu.hdr.type), cid);
		}
	}
}

void hp_connect_init(struct hp_connect *c, uint16_t qid, uint16_t cntlid)
{
	memset(c, 0, sizeof(*c));
	c->qid = qid;
	c->sqsize = qid ? 127 : 31;
	c->cntlid = cntlid;
	uuid_parse_text("11111111-2222-4333-8444-555555555555", c->data.hostid);
	strcpy(c->data.subsysnqn, HP_NQN);
	strcpy(c->data.hostnqn, HP_HOSTNQN);
}

uint16_t hp_connect(struct hp *h, const struct hp_connect *c, uint64_t *result)
{
	struct nvmf_connect_cmd cmd = { .opcode = NVMF_OPCODE,
					.fctype = NVMF_CONNECT,
					.recfmt = htole16(c->recfmt),
					.qid = htole16(c->qid),
					.sqsize = htole16(c->sqsize),
					.cattr = c->cattr,
					.kato = htole32(c->kato) };
	struct nvmf_connect_data data = c->data;
	struct nvme_sqe sqe;
	uint64_t res = 0;
	uint16_t status;

	data.cntlid = htole16(c->cntlid);
	memcpy(&sqe, &cmd, sizeof(sqe));
	status = hp_status(h, hp_cmd(h, &sqe, &data, sizeof(data)), NULL, 0, &res);
	if (!status)
		h->cntlid = (uint16_t)res;
	if (result)
		*result = res;
	return status;
}

uint16_t hp_prop_set(struct hp *h, uint32_t offset, uint8_t attrib, uint64_t value)
{
	struct nvmf_property_cmd cmd = {
		.opcode = NVMF_OPCODE, .fctype = NVMF_PROPERTY_SET, .attrib = attrib, .offset = htole32(offset), .value = htole64(value)
	};
	struct nvme_sqe sqe;

	memcpy(&sqe, &cmd, sizeof(sqe));
	return hp_status(h, hp_cmd(h, &sqe, NULL, 0), NULL, 0, NULL);
}

uint16_t hp_prop_get(struct hp *h, uint32_t offset, uint8_t attrib, uint64_t *value)
{
	struct nvmf_property_cmd cmd = { .opcode = NVMF_OPCODE, .fctype = NVMF_PROPERTY_GET, .attrib = attrib, .offset = htole32(offset) };
	struct nvme_sqe sqe;

	memcpy(&sqe, &cmd, sizeof(sqe));
	return hp_status(h, hp_cmd(h, &sqe, NULL, 0), NULL, 0, value);
}

void hp_admin(struct hp *h, uint16_t port, uint8_t dgst, uint8_t hpda)
{
	struct hp_connect c;
	uint64_t v = 0;
	int i;

	hp_open(h, port);
	hp_ic(h, dgst, hpda);
	hp_connect_init(&c, 0, 0xffff);
	assert_int_equal(hp_connect(h, &c, NULL), 0);
	assert_int_equal(hp_prop_set(h, 0x14, 0, 0x460001), 0);
	for (i = 0; i < 100 && !(v & 1); i++)
		assert_int_equal(hp_prop_get(h, 0x1c, 0, &v), 0);
	assert_int_equal(v & 1, 1);
}

void hp_io_queue(struct hp *h, uint16_t port, const struct hp *admin, uint16_t qid, uint8_t dgst, uint8_t hpda)
{
	struct hp_connect c;

	hp_open(h, port);
	hp_ic(h, dgst, hpda);
	hp_connect_init(&c, qid, admin->cntlid);
	assert_int_equal(hp_connect(h, &c, NULL), 0);
}

void hp_sqe_rw(struct nvme_sqe *sqe, uint8_t opcode, uint32_t nsid, uint64_t slba, uint32_t nlb)
{
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = opcode;
	sqe->nsid = htole32(nsid);
	sqe->cdw10 = htole32((uint32_t)slba);
	sqe->cdw11 = htole32((uint32_t)(slba >> 32));
	sqe->cdw12 = htole32((nlb - 1) & 0xffff);
}

uint16_t hp_read(struct hp *h, uint32_t nsid, uint64_t slba, uint32_t nlb, void *buf)
{
	struct nvme_sqe sqe;

	hp_sqe_rw(&sqe, nvme_cmd_read, nsid, slba, nlb);
	return hp_status(h, hp_cmd(h, &sqe, NULL, nlb * 512), buf, nlb * 512, NULL);
}

uint16_t hp_write(struct hp *h, uint32_t nsid, uint64_t slba, uint32_t nlb, const void *buf, bool in_capsule)
{
	uint32_t len = nlb * 512, done = 0;
	struct nvme_sqe sqe;
	struct hp_pdu in;
	uint16_t cid;

	hp_sqe_rw(&sqe, nvme_cmd_write, nsid, slba, nlb);
	cid = hp_cmd(h, &sqe, in_capsule ? buf : NULL, len);
	while (!in_capsule && done < len) {
		uint32_t off, left;

		assert_true(hp_recv(h, &in));
		if (in.pdu.hdr.type == NVME_TCP_RSP)
			return le16toh(in.pdu.rsp.cqe.status) >> 1;
		assert_int_equal(in.pdu.hdr.type, NVME_TCP_R2T);
		assert_int_equal(le16toh(in.pdu.r2t.cccid), cid);
		off = le32toh(in.pdu.r2t.r2to);
		left = le32toh(in.pdu.r2t.r2tl);
		assert_int_equal(off, done);
		while (left) {
			uint32_t n = min_u32(left, h->maxh2cdata);
			struct nvme_tcp_data d = { .hdr = { .type = NVME_TCP_H2C_DATA, .flags = n == left ? NVME_TCP_F_LAST : 0 },
						   .cccid = htole16(cid),
						   .ttag = in.pdu.r2t.ttag,
						   .datao = htole32(off),
						   .datal = htole32(n) };

			hp_send_pdu(h, &d, sizeof(d), (const uint8_t *)buf + off, n, false);
			off += n;
			left -= n;
		}
		done = off;
	}
	return hp_status(h, cid, NULL, 0, NULL);
}
