/* SPDX-License-Identifier: BSD-3-Clause */
#include "peer/target_peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
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

#define PEER_IN_MAX (4u << 20)

/* ---- life ---- */

static void note_warning(void *arg, enum nvof_log_level level, const char *msg)
{
	struct peer *p = arg;

	if (level == NVOF_LOG_WARN && !p->nr_warnings++)
		snprintf(p->warning, sizeof(p->warning), "%s", msg);
}

struct peer *peer_new(void)
{
	struct peer *p = calloc(1, sizeof(*p));
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct nvof_ctx_opts opts;
	socklen_t len = sizeof(sin);
	int one = 1;

	assert_non_null(p);
	nvof_ctx_opts_init(&opts);
	opts.spin_us = 0;
	opts.log = note_warning;
	opts.log_arg = p;
	opts.log_level = NVOF_LOG_WARN;
	assert_int_equal(nvof_ctx_new(&opts, &p->ctx), 0);
	p->lfd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_true(p->lfd >= 0);
	setsockopt(p->lfd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	assert_int_equal(bind(p->lfd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(listen(p->lfd, PEER_CONNS), 0);
	assert_int_equal(getsockname(p->lfd, (struct sockaddr *)&sin, &len), 0);
	snprintf(p->port, sizeof(p->port), "%u", ntohs(sin.sin_port));
	p->script = (struct peer_script){
		.dgst = -1,
		.maxh2cdata = 128 * 1024,
		.fail_qid = 0,
		.sqflow_off_granted = true,
		.grant = 64,
		.cntrltype = NVME_CTRL_CNTRLTYPE_IO,
		.ioccsz = 4 + 8192 / 16,
		.mdts = 0,
		.ns_blocks = 1 << 20,
		.lba_shift = 9,
		.mqes = 127,
	};
	return p;
}

static void conn_close(struct peer_conn *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	free(c->in);
	c->in = NULL;
	c->in_len = 0;
}

void peer_free(struct peer *p)
{
	int i;

	nvof_ctrl_free(p->ctrl);
	nvof_ctx_free(p->ctx);
	for (i = 0; i < p->nr_conns; i++)
		conn_close(&p->conns[i]);
	for (i = 0; i < p->nr_held; i++)
		peer_pdu_clear(&p->held[i]);
	close(p->lfd);
	free(p);
}

void peer_pdu_clear(struct peer_pdu *pdu)
{
	free(pdu->data);
	pdu->data = NULL;
}

struct peer_conn *peer_conn_of(struct peer *p, uint16_t qid)
{
	int i;

	for (i = p->nr_conns - 1; i >= 0; i--)
		if (p->conns[i].fd >= 0 && p->conns[i].connected && p->conns[i].qid == qid)
			return &p->conns[i];
	fail_msg("no connection with qid %u", qid);
	return NULL;
}

/* ---- sending ---- */

void peer_sends_raw(struct peer_conn *c, const void *bytes, size_t len)
{
	const uint8_t *b = bytes;
	struct pollfd pfd = { .fd = c->fd, .events = POLLOUT };

	while (len && c->fd >= 0) {
		ssize_t n = send(c->fd, b, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN) {
			nvof_ctx_poll(c->p->ctx, 0);
			poll(&pfd, 1, 1);
			continue;
		}
		if (n < 0)
			return; /* the host closed: the test sees that elsewhere */
		b += n;
		len -= (size_t)n;
	}
}

void peer_sends_pdu(struct peer_conn *c, const void *pdu, size_t hlen, const void *data, size_t data_len, bool bad_ddgst)
{
	uint8_t *buf = malloc(hlen + data_len + 8 + 256);
	struct nvme_tcp_hdr *hdr = (struct nvme_tcp_hdr *)buf;
	size_t len = hlen;
	uint32_t crc;

	assert_non_null(buf);
	memcpy(buf, pdu, hlen);
	hdr->hlen = (uint8_t)hlen;
	hdr->pdo = data_len ? (uint8_t)(hlen + (c->hdgst ? 4 : 0)) : 0;
	hdr->flags |= (c->hdgst ? NVME_TCP_F_HDGST : 0) | (data_len && c->ddgst ? NVME_TCP_F_DDGST : 0);
	hdr->plen = htole32((uint32_t)(hlen + (c->hdgst ? 4 : 0) + data_len + (data_len && c->ddgst ? 4 : 0)));
	if (c->hdgst) {
		crc = htole32(crc32c(0, buf, hlen));
		memcpy(buf + len, &crc, 4);
		len += 4;
	}
	if (data_len) {
		memcpy(buf + len, data, data_len);
		len += data_len;
		if (c->ddgst) {
			crc = htole32(crc32c(0, data, data_len) ^ (bad_ddgst ? 1 : 0));
			memcpy(buf + len, &crc, 4);
			len += 4;
		}
	}
	peer_sends_raw(c, buf, len);
	free(buf);
}

void peer_sends_cqe(struct peer_conn *c, uint16_t cid, uint16_t status, uint64_t result)
{
	struct nvme_tcp_rsp rsp = {
		.hdr.type = NVME_TCP_RSP,
		.cqe = { .result = htole64(result), .cid = cid, .status = htole16((uint16_t)(status << 1)), .sqid = htole16(c->qid) }
	};

	peer_sends_pdu(c, &rsp, sizeof(rsp), NULL, 0, false);
}

static void sends_c2h(struct peer_conn *c, uint16_t cid, uint32_t off, const void *data, uint32_t len, uint8_t flags, bool bad)
{
	struct nvme_tcp_data pdu = {
		.hdr = { .type = NVME_TCP_C2H_DATA, .flags = flags }, .cccid = cid, .datao = htole32(off), .datal = htole32(len)
	};

	peer_sends_pdu(c, &pdu, sizeof(pdu), data, len, bad);
}

void peer_sends_c2h(struct peer_conn *c, uint16_t cid, uint32_t off, const void *data, uint32_t len, uint8_t flags)
{
	sends_c2h(c, cid, off, data, len, flags, false);
}

void peer_sends_c2h_bad_digest(struct peer_conn *c, uint16_t cid, uint32_t off, const void *data, uint32_t len, uint8_t flags)
{
	sends_c2h(c, cid, off, data, len, flags, true);
}

void peer_sends_r2t(struct peer_conn *c, uint16_t cid, uint16_t ttag, uint32_t off, uint32_t len)
{
	struct nvme_tcp_r2t pdu = {
		.hdr.type = NVME_TCP_R2T, .cccid = cid, .ttag = htole16(ttag), .r2to = htole32(off), .r2tl = htole32(len)
	};

	peer_sends_pdu(c, &pdu, sizeof(pdu), NULL, 0, false);
}

void peer_sends_term(struct peer_conn *c, uint16_t fes, uint32_t fei, uint32_t extra)
{
	uint8_t buf[512] = { 0 };
	struct nvme_tcp_term *term = (struct nvme_tcp_term *)buf;

	term->hdr = (struct nvme_tcp_hdr){ .type = NVME_TCP_C2H_TERM, .hlen = 24, .plen = htole32(24 + extra) };
	term->fes = htole16(fes);
	fei = htole32(fei);
	memcpy(term->fei, &fei, 4);
	peer_sends_raw(c, buf, min_size(24 + extra, sizeof(buf)));
}

void peer_closes(struct peer_conn *c)
{
	conn_close(c);
}

void peer_resets(struct peer_conn *c)
{
	struct linger l = { .l_onoff = 1 };

	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	conn_close(c);
}

/* ---- the default script ---- */

static void script_icreq(struct peer_pdu *in)
{
	struct peer_script *s = &in->c->p->script;
	struct nvme_tcp_ic resp = { .hdr = { .type = NVME_TCP_ICRESP, .hlen = sizeof(resp), .plen = htole32(sizeof(resp)) } };

	resp.pfv = htole16(s->pfv);
	resp.pda = s->cpda;
	resp.dgst = s->dgst < 0 ? in->pdu.ic.dgst : (uint8_t)s->dgst;
	resp.maxval = htole32(s->maxh2cdata);
	peer_sends_raw(in->c, &resp, sizeof(resp));
	in->c->ic_done = true;
	in->c->hdgst = resp.dgst & 1;
	in->c->ddgst = resp.dgst & 2;
}

static void script_connect(struct peer_pdu *in)
{
	const struct nvmf_connect_cmd *cmd = (void *)&in->pdu.cmd.sqe;
	struct peer_script *s = &in->c->p->script;
	struct nvme_tcp_rsp rsp = { .hdr.type = NVME_TCP_RSP, .cqe = { .cid = cmd->cid, .dw0 = htole32(1) } };

	in->c->qid = le16toh(cmd->qid);
	if (s->connect_status && in->c->qid >= s->fail_qid) {
		rsp.cqe.status = htole16((uint16_t)(s->connect_status << 1));
		rsp.cqe.dw0 = htole32(s->connect_dw0);
	} else {
		in->c->connected = true;
		if (cmd->cattr & NVMF_CATTR_DISABLE_SQFLOW && s->sqflow_off_granted)
			rsp.cqe.sqhd = 0xffff;
	}
	peer_sends_pdu(in->c, &rsp, sizeof(rsp), NULL, 0, false);
}

static void script_property(struct peer_pdu *in, bool set)
{
	const struct nvmf_property_cmd *cmd = (void *)&in->pdu.cmd.sqe;
	struct peer *p = in->c->p;
	uint64_t val = 0;

	switch (le32toh(cmd->offset)) {
	case 0x00: /* CAP: MQES, CQR, TO 1 s, CSS NVM */
		val = p->script.mqes | UINT64_C(1) << 16 | UINT64_C(2) << 24 | UINT64_C(1) << 37;
		break;
	case 0x08: /* VS 1.4 */
		val = 0x10400;
		break;
	case 0x14:
		if (set)
			p->cc = (uint32_t)le64toh(cmd->value);
		val = p->cc;
		break;
	case 0x1c: /* CSTS: RDY, SHST complete */
		val = (p->cc & 1 && !p->script.csts_never_ready) | (p->cc >> 14 & 3 ? 2 << 2 : 0);
		break;
	}
	peer_sends_cqe(in->c, cmd->cid, 0, set ? 0 : val);
}

static void script_identify(struct peer_pdu *in)
{
	const struct nvme_sqe *sqe = &in->pdu.cmd.sqe;
	struct peer_script *s = &in->c->p->script;
	_Alignas(8) uint8_t buf[4096] = { 0 };
	struct nvme_id_ctrl *id = (void *)buf;
	struct nvme_id_ns *ns = (void *)buf;
	uint32_t one = htole32(1);

	switch (le32toh(sqe->cdw10) & 0xff) {
	case 0x00:
		ns->nsze = ns->ncap = ns->nuse = htole64(s->ns_blocks);
		ns->lbaf[0].ds = s->lba_shift;
		break;
	case 0x01:
		id->ver = htole32(0x10400);
		id->mdts = s->mdts;
		id->cntlid = htole16(1);
		id->sqes = 0x66;
		id->cqes = 0x44;
		id->maxcmd = htole16(128);
		id->nn = htole32(1);
		id->oncs = htole16(0x8d); /* compare, DSM, write zeroes, verify */
		id->kas = htole16(10);
		id->sgls = htole32(1 | 1 << 20);
		id->ioccsz = htole32(s->ioccsz);
		id->iorcsz = htole32(1);
		id->msdbd = 1;
		id->cntrltype = s->cntrltype;
		strcpy((char *)id->subnqn, "nqn.2024-01.org.example:peer");
		break;
	case 0x02:
		if (le32toh(sqe->nsid) < 1)
			memcpy(buf, &one, sizeof(one));
		break;
	}
	peer_sends_c2h(in->c, sqe->cid, 0, buf, sizeof(buf), NVME_TCP_F_LAST);
	peer_sends_cqe(in->c, sqe->cid, 0, 0);
}

static void script_admin(struct peer_pdu *in)
{
	const struct nvme_sqe *sqe = &in->pdu.cmd.sqe;
	struct peer_script *s = &in->c->p->script;
	uint32_t n = s->grant - 1;

	switch (sqe->opcode) {
	case nvme_admin_identify:
		script_identify(in);
		break;
	case nvme_admin_set_features:
		peer_sends_cqe(in->c, sqe->cid, s->features_status, (le32toh(sqe->cdw10) & 0xff) == 7 ? (n | n << 16) : 0);
		break;
	case nvme_admin_async_event:
		break; /* kept, as a ctrl does */
	default:
		peer_sends_cqe(in->c, sqe->cid, 0, 0);
		break;
	}
}

static void peer_hold(struct peer *p, struct peer_pdu *in)
{
	assert_true(p->nr_held < PEER_HELD);
	p->held[p->nr_held++] = *in;
	in->data = NULL;
}

static void script_pdu(struct peer *p, struct peer_pdu *in)
{
	const struct nvme_sqe *sqe = &in->pdu.cmd.sqe;
	uint32_t fei;

	if (p->hook && p->hook(p, in))
		return;
	switch (in->pdu.hdr.type) {
	case NVME_TCP_ICREQ:
		script_icreq(in);
		break;
	case NVME_TCP_H2C_TERM:
		in->c->term_fes = le16toh(in->pdu.term.fes);
		memcpy(&fei, in->pdu.term.fei, 4);
		in->c->term_fei = le32toh(fei);
		break;
	case NVME_TCP_CMD:
		if (sqe->opcode == NVMF_OPCODE && sqe->nsid % 256 == NVMF_CONNECT)
			script_connect(in);
		else if (sqe->opcode == NVMF_OPCODE)
			script_property(in, sqe->nsid % 256 == NVMF_PROPERTY_SET);
		else if (in->c->qid == 0)
			script_admin(in);
		else
			peer_hold(p, in);
		break;
	default:
		peer_hold(p, in);
		break;
	}
}

/* ---- receiving ---- */

static void conn_parse(struct peer_conn *c)
{
	while (c->fd >= 0 && c->in_len >= sizeof(struct nvme_tcp_hdr)) {
		struct nvme_tcp_hdr *hdr = (struct nvme_tcp_hdr *)c->in;
		uint32_t plen = le32toh(hdr->plen), hlen = hdr->hlen, off;
		struct peer_pdu in = { .c = c };
		bool ddgst;

		assert_true(plen >= hlen && hlen >= sizeof(*hdr) && hlen <= sizeof(in.pdu) && plen <= PEER_IN_MAX);
		if (c->in_len < plen)
			return;
		memcpy(&in.pdu, c->in, hlen);
		if (hdr->flags & NVME_TCP_F_HDGST && hdr->type != NVME_TCP_H2C_TERM) {
			uint32_t crc;

			memcpy(&crc, c->in + hlen, 4);
			assert_int_equal(le32toh(crc), crc32c(0, c->in, hlen));
		}
		off = hdr->pdo ? hdr->pdo : hlen + (hdr->flags & NVME_TCP_F_HDGST ? 4 : 0);
		if (hdr->type == NVME_TCP_H2C_TERM)
			off = hlen;
		ddgst = hdr->flags & NVME_TCP_F_DDGST && plen > off;
		in.data_len = plen - off - (ddgst ? 4 : 0);
		if (in.data_len) {
			in.data = malloc(in.data_len);
			assert_non_null(in.data);
			memcpy(in.data, c->in + off, in.data_len);
		}
		if (ddgst) {
			uint32_t crc;

			memcpy(&crc, c->in + plen - 4, 4);
			assert_int_equal(le32toh(crc), crc32c(0, in.data, in.data_len));
		}
		memmove(c->in, c->in + plen, c->in_len - plen);
		c->in_len -= plen;
		script_pdu(c->p, &in);
		peer_pdu_clear(&in);
	}
}

static void conn_receive(struct peer_conn *c)
{
	ssize_t n;

	if (c->fd < 0 || c->closed_by_host)
		return;
	if (!c->in)
		c->in = malloc(PEER_IN_MAX);
	assert_non_null(c->in);
	n = recv(c->fd, c->in + c->in_len, PEER_IN_MAX - c->in_len, MSG_DONTWAIT);
	if (n > 0) {
		c->in_len += (size_t)n;
		conn_parse(c);
	} else if (n == 0 || errno != EAGAIN) {
		c->closed_by_host = true;
	}
}

static void peer_accepts(struct peer *p)
{
	int fd, one = 1;

	while ((fd = accept4(p->lfd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct peer_conn *c;

		assert_true(p->nr_conns < PEER_CONNS);
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		c = &p->conns[p->nr_conns];
		*c = (struct peer_conn){ .p = p, .fd = fd, .index = p->nr_conns++, .qid = 0xffff };
		if (p->accept_hook)
			p->accept_hook(p, c);
	}
}

bool peer_run_until(struct peer *p, bool (*cond)(void *arg), void *arg, unsigned int ms)
{
	uint64_t end = clock_ns() + ms * NSEC_PER_MSEC;
	int turns, i;

	/* On a busy machine time passes without us: what is due takes some turns, however long they last. */
	for (turns = 0;; turns++) {
		nvof_ctx_poll(p->ctx, 200);
		peer_accepts(p);
		for (i = 0; i < p->nr_conns; i++)
			conn_receive(&p->conns[i]);
		if (cond && cond(arg))
			return true;
		if (clock_ns() > end && turns >= 30)
			return false;
	}
}

void peer_run_ms(struct peer *p, unsigned int ms)
{
	peer_run_until(p, NULL, NULL, ms);
}

struct want {
	struct peer *p;
	uint8_t type, opcode;
	int found;
};

static bool want_held(void *arg)
{
	struct want *w = arg;

	for (w->found = 0; w->found < w->p->nr_held; w->found++) {
		const union nvme_tcp_pdu *pdu = &w->p->held[w->found].pdu;

		if (pdu->hdr.type == w->type && (w->type != NVME_TCP_CMD || pdu->cmd.sqe.opcode == w->opcode))
			return true;
	}
	return false;
}

static struct peer_pdu peer_takes(struct peer *p, uint8_t type, uint8_t opcode)
{
	struct want w = { p, type, opcode, 0 };
	struct peer_pdu pdu;

	if (!peer_run_until(p, want_held, &w, 20000))
		fail_msg("the host did not send %s %02xh within 20 s", nvme_tcp_type_name(type), opcode);
	pdu = p->held[w.found];
	memmove(&p->held[w.found], &p->held[w.found + 1], (size_t)(--p->nr_held - w.found) * sizeof(pdu));
	return pdu;
}

struct peer_pdu peer_gets(struct peer *p, uint8_t opcode)
{
	return peer_takes(p, NVME_TCP_CMD, opcode);
}

struct peer_pdu peer_gets_h2c(struct peer *p)
{
	return peer_takes(p, NVME_TCP_H2C_DATA, 0);
}

/* ---- connecting ---- */

void peer_connect_opts(struct peer *p, struct nvof_connect_opts *opts)
{
	nvof_connect_opts_init(opts);
	opts->transport = "tcp";
	opts->traddr = "127.0.0.1";
	opts->trsvcid = p->port;
	opts->subsysnqn = "nqn.2024-01.org.example:peer";
	opts->hostnqn = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-4333-8444-555555555555";
	opts->nr_io_queues = 1;
	opts->connect_tmo_ms = 5000;
	opts->keep_alive_tmo_ms = 0;
}

static void connect_done(void *arg, struct nvof_ctrl *ctrl, int status)
{
	struct peer *p = arg;

	(void)ctrl;
	assert_false(p->connect_done);
	p->connect_done = true;
	p->connect_status = status;
}

static bool connect_is_done(void *arg)
{
	return ((struct peer *)arg)->connect_done;
}

int peer_connect(struct peer *p, const struct nvof_connect_opts *opts)
{
	struct nvof_connect_opts def;
	int ret;

	if (!opts) {
		peer_connect_opts(p, &def);
		opts = &def;
	}
	p->connect_done = false;
	ret = nvof_ctrl_connect(p->ctx, opts, connect_done, p, &p->ctrl);
	if (ret)
		return ret;
	if (!peer_run_until(p, connect_is_done, p, opts->connect_tmo_ms + 15000))
		fail_msg("the connect never ended");
	return p->connect_status;
}

void peer_live(struct peer *p, const struct nvof_connect_opts *opts)
{
	int status = peer_connect(p, opts);

	if (status)
		fail_msg("connect: %d: %s", status, p->ctrl ? nvof_ctrl_errmsg(p->ctrl) : nvof_ctx_errmsg(p->ctx));
	assert_int_equal(nvof_ctrl_state(p->ctrl), NVOF_CTRL_LIVE);
}
