/* SPDX-License-Identifier: BSD-3-Clause */
#include "hosts.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "target/target.h"

/* ---- what the target owes ---- */

static struct hosts_cmd *cmd_find(struct hosts_link *l, uint16_t cid)
{
	for (int i = 0; i < HOSTS_CMDS; i++)
		if (l->cmds[i].used && l->cmds[i].cid == cid)
			return &l->cmds[i];
	return NULL;
}

/* A capsule left for the target. */
static void sent_cmd(struct hosts_link *l)
{
	const struct nvme_sqe *sqe = &l->to.pdu.cmd.sqe;
	struct hosts_cmd *c = NULL;

	for (int i = 0; i < HOSTS_CMDS && !c; i++)
		if (!l->cmds[i].used)
			c = &l->cmds[i];
	/* The same id twice: whose an answer is can't be told. */
	if (!c || cmd_find(l, le16toh(sqe->cid))) {
		l->muddled = true;
		return;
	}
	*c = (struct hosts_cmd){ .used = true,
				 .cid = le16toh(sqe->cid),
				 .in_capsule = l->to.data_len,
				 .connect = sqe->opcode == NVMF_OPCODE && ((const struct nvmf_connect_cmd *)sqe)->fctype == NVMF_CONNECT,
				 .event = !l->qid && sqe->opcode == nvme_admin_async_event,
				 .qid = le16toh(((const struct nvmf_connect_cmd *)sqe)->qid),
				 .sgl_len = le32toh(sqe->sgl.length) };
}

static void sent_icreq(struct hosts_link *l)
{
	l->muddled = l->greeted;
	if (!l->greeted)
		l->from.pda = l->to.pdu.ic.pda;
	l->greeted = true;
}

static void sent_data(struct hosts_link *l)
{
	const struct nvme_tcp_data *d = &l->to.pdu.data;
	struct hosts_cmd *c = cmd_find(l, le16toh(d->cccid));

	/* What the target must refuse ends in its closing the connection. */
	if (!c || !c->r2t || c->ttag != le16toh(d->ttag) || le32toh(d->datao) != c->off || le32toh(d->datal) > c->left) {
		l->muddled = true;
		return;
	}
	c->off += le32toh(d->datal);
	c->left -= le32toh(d->datal);
	if (!c->left)
		c->r2t = false;
}

/* Follows what is sent, as the target must. */
static void sent(struct hosts_link *l, const uint8_t *p, size_t len)
{
	struct nvme_tcp_rx_event ev;
	size_t n;

	while (!l->muddled) {
		n = nvme_tcp_rx(&l->to, p, len, &ev);
		p += n;
		len -= n;
		if (ev.type == RX_NONE)
			return;
		if (ev.type == RX_ERROR)
			l->muddled = true;
		else if (ev.type == RX_DATA)
			nvme_tcp_rx_payload_inplace(&l->to, ev.data, ev.len);
		else if (ev.type == RX_PDU && l->to.pdu.hdr.type == NVME_TCP_CMD)
			sent_cmd(l);
		else if (ev.type == RX_PDU && l->to.pdu.hdr.type == NVME_TCP_H2C_DATA)
			sent_data(l);
		else if (ev.type == RX_PDU && l->to.pdu.hdr.type == NVME_TCP_ICREQ)
			sent_icreq(l);
		else if (ev.type == RX_PDU)
			l->muddled = true;
	}
}

static void got_answer(struct hosts *h, struct hosts_link *l, uint16_t cid)
{
	struct hosts_cmd *c = cmd_find(l, cid);

	if (l->muddled)
		return;
	SIM_CHECK(c, "an answer to command %u that is not outstanding", cid);
	SIM_CHECK(!c->r2t || h->faulty, "command %u is answered before its data came", cid);
	c->used = false;
}

static void got_rsp(struct hosts *h, struct hosts_link *l)
{
	const struct nvme_cqe *cqe = &l->from.pdu.rsp.cqe;
	struct hosts_cmd *c = cmd_find(l, le16toh(cqe->cid));

	if (c && c->connect && !(le16toh(cqe->status) >> 1)) {
		SIM_CHECK(!l->connected, "a second Connect succeeded");
		l->connected = true;
		l->qid = c->qid;
		if (!l->qid)
			h->cntlid = (uint16_t)le32toh(cqe->dw0);
	}
	got_answer(h, l, le16toh(cqe->cid));
}

static void got_r2t(struct hosts_link *l)
{
	const struct nvme_tcp_r2t *r2t = &l->from.pdu.r2t;
	struct hosts_cmd *c = cmd_find(l, le16toh(r2t->cccid));

	if (l->muddled)
		return;
	SIM_CHECK(c && !c->in_capsule, "an R2T for command %u", le16toh(r2t->cccid));
	SIM_CHECK(!c->r2t, "a second R2T at once for command %u", c->cid);
	SIM_CHECK(le32toh(r2t->r2to) <= c->sgl_len && le32toh(r2t->r2tl) <= c->sgl_len - le32toh(r2t->r2to) && r2t->r2tl,
		  "an R2T for bytes %u..+%u of %u", le32toh(r2t->r2to), le32toh(r2t->r2tl), c->sgl_len);
	c->r2t = true;
	c->ttag = le16toh(r2t->ttag);
	c->off = le32toh(r2t->r2to);
	c->left = le32toh(r2t->r2tl);
}

static void got_data(struct hosts *h, struct hosts_link *l)
{
	const struct nvme_tcp_data *d = &l->from.pdu.data;
	struct hosts_cmd *c = cmd_find(l, le16toh(d->cccid));

	if (l->muddled)
		return;
	SIM_CHECK(c, "data for command %u that is not outstanding", le16toh(d->cccid));
	SIM_CHECK(le32toh(d->datao) == c->c2h_done && le32toh(d->datal) <= c->sgl_len - c->c2h_done, "bytes %u..+%u of %u after %u",
		  le32toh(d->datao), le32toh(d->datal), c->sgl_len, c->c2h_done);
	c->c2h_done += le32toh(d->datal);
	if (d->hdr.flags & NVME_TCP_F_SUCCESS)
		got_answer(h, l, c->cid);
}

static void got_pdu(struct hosts *h, struct hosts_link *l)
{
	switch (l->from.pdu.hdr.type) {
	case NVME_TCP_ICRESP:
		nvme_tcp_rx_negotiated(&l->from, l->from.pdu.ic.dgst & 1, l->from.pdu.ic.dgst & 2);
		nvme_tcp_rx_negotiated(&l->to, l->from.pdu.ic.dgst & 1, l->from.pdu.ic.dgst & 2);
		l->out.hdgst = l->from.pdu.ic.dgst & 1;
		l->out.ddgst = l->from.pdu.ic.dgst & 2;
		l->out.pda = l->from.pdu.ic.pda;
		break;
	case NVME_TCP_RSP:
		got_rsp(h, l);
		break;
	case NVME_TCP_R2T:
		got_r2t(l);
		break;
	case NVME_TCP_C2H_DATA:
		got_data(h, l);
		break;
	default:
		l->muddled = true; /* it was told so */
		break;
	}
}

static void got(struct hosts *h, struct hosts_link *l, const uint8_t *p, size_t len)
{
	struct nvme_tcp_rx_event ev;
	size_t n;

	for (;;) {
		n = nvme_tcp_rx(&l->from, p, len, &ev);
		p += n;
		len -= n;
		if (ev.type == RX_NONE)
			return;
		SIM_CHECK(ev.type != RX_ERROR, "the target sent what no host takes: %s", ev.what);
		if (ev.type == RX_PDU)
			got_pdu(h, l);
		else if (ev.type == RX_DATA)
			nvme_tcp_rx_payload_inplace(&l->from, ev.data, ev.len);
		else
			SIM_CHECK(ev.digest_ok, "the target's data digest is wrong");
	}
}

/* Returns how much came. */
static size_t link_read(struct hosts *h, struct hosts_link *l)
{
	size_t all = 0;
	ssize_t n;

	while (l->fd >= 0 && !l->deaf && !l->closed) {
		n = recv(l->fd, h->buf, sizeof(h->buf), MSG_DONTWAIT);
		if (n > 0) {
			got(h, l, h->buf, (size_t)n);
			all += (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			break;
		} else {
			l->closed = true;
		}
	}
	return all;
}

/* The target may have more to say once there is room again. */
size_t hosts_read(struct hosts *h)
{
	size_t all = 0, some;

	do {
		some = 0;
		for (int i = 0; i < HOSTS_MAX; i++)
			some += link_read(h, &h->links[i]);
		if (some)
			sim_settle();
		all += some;
	} while (some > (h->sndbuf ? 0 : 64u << 10));
	return all;
}

/* ---- sending ---- */

static void send_bytes(struct hosts *h, struct hosts_link *l, const uint8_t *p, size_t len)
{
	/* Not too many pieces: each costs turns of the loop. */
	size_t piece = h->cut ? h->cut + len / 32 : len;

	while (len && l->fd >= 0) {
		size_t part = min_size(piece, len);
		ssize_t n = send(l->fd, p, part, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n <= 0) { /* it is closed, or it does not read */
			l->muddled = true;
			return;
		}
		sent(l, p, (size_t)n);
		p += n;
		len -= (size_t)n;
		if (len)
			sim_settle();
	}
}

/* The PDU built last, with the changes asked for. */
static void send_pdu(struct hosts *h)
{
	struct hosts_link *l = h->cur;
	uint8_t hlen = l->out.buf[2];

	for (; h->nr_xors; h->nr_xors--) {
		uint16_t pos = h->xors[h->nr_xors - 1].pos;

		if (pos < l->out.len)
			l->out.buf[pos] ^= h->xors[h->nr_xors - 1].val;
	}
	if (h->reseal && l->out.hdgst && l->out.len >= hlen + 4u)
		seal_header(l->out.buf, hlen);
	h->reseal = false;
	send_bytes(h, l, l->out.buf, l->out.len);
	l->out.len = 0;
}

/* sqe's cid and SGL are filled in here.  data NULL: len bytes that come later, or go the other way. */
static void send_cmd(struct hosts *h, const struct nvme_sqe *sqe, const void *data, uint32_t len)
{
	struct nvme_tcp_cmd cmd = { .sqe = *sqe };

	cmd.sqe.flags |= NVME_SQE_PSDT_SGL;
	cmd.sqe.cid = htole16(h->cur->next_cid++);
	if (sqe->opcode != NVMF_OPCODE || data)
		cmd.sqe.sgl = (struct nvme_sgl_desc){ .length = htole32(len), .type = data ? NVME_SGL_OFFSET : NVME_SGL_TRANSPORT };
	put_pdu(&h->cur->out, NVME_TCP_CMD, &cmd, sizeof(cmd), 0, data, data ? len : 0);
	send_pdu(h);
}

static void do_open(struct hosts *h, struct nvof_target *t)
{
	struct hosts_link *l = h->cur;

	for (int i = 0; i < HOSTS_MAX; i++)
		if (h->links[i].fd < 0)
			l = &h->links[i];
	if (l->fd >= 0)
		return;
	free(l->out.buf);
	*l = (struct hosts_link){ .fd = sim_open(t, h->sndbuf) };
	nvme_tcp_rx_init(&l->from, NVME_TCP_HOST, 0, 2 << 20);
	nvme_tcp_rx_init(&l->to, NVME_TCP_CTRL, h->cpda, h->max_data);
	h->cur = l;
}

static void do_icreq(struct hosts *h, uint8_t dgst, uint8_t hpda)
{
	struct nvme_tcp_ic ic = { .pda = hpda, .dgst = dgst };

	put_pdu(&h->cur->out, NVME_TCP_ICREQ, &ic, sizeof(ic), 0, NULL, 0);
	send_pdu(h);
}

/* how: bit 0 an I/O queue, bit 1 no SQ flow control, bit 2 every field from the input. */
static void do_connect(struct hosts *h, struct sim_input *in, uint8_t how)
{
	bool io = how & 1;
	struct nvmf_connect_cmd cmd = {
		.opcode = NVMF_OPCODE,
		.fctype = NVMF_CONNECT,
		.qid = htole16(io ? h->next_qid : 0),
		.sqsize = htole16(io ? 15 : 31),
		.cattr = how & 2 ? NVMF_CATTR_DISABLE_SQFLOW : 0,
	};
	struct nvmf_connect_data data = { .cntlid = htole16(io ? h->cntlid : 0xffff), .hostid = { 1, 2, 3 } };
	struct nvme_sqe sqe;

	strcpy(data.subsysnqn, h->subnqn);
	strcpy(data.hostnqn, HOSTS_NQN);
	if (how & 4) {
		cmd.qid = htole16(sim_u8(in));
		cmd.sqsize = htole16(sim_u16(in));
		cmd.kato = htole32(sim_u16(in));
		if (sim_u8(in) & 1)
			strcpy(data.subsysnqn, NVMF_DISC_NQN);
	}
	if (io)
		h->next_qid = h->next_qid % 4 + 1;
	memcpy(&sqe, &cmd, sizeof(sqe));
	send_cmd(h, &sqe, &data, sizeof(data));
}

static void do_property(struct hosts *h, struct sim_input *in, uint8_t how)
{
	static const uint32_t cc[] = { 0x460001, 0, 0x464001, 0x460000 };
	struct nvmf_property_cmd cmd = { .opcode = NVMF_OPCODE };
	struct nvme_sqe sqe;

	if (how < 4) {
		cmd.fctype = NVMF_PROPERTY_SET;
		cmd.offset = htole32(NVME_REG_CC);
		cmd.value = htole64(cc[how]);
	} else if (how < 6) {
		cmd.fctype = how == 4 ? NVMF_PROPERTY_GET : NVMF_PROPERTY_SET;
		cmd.attrib = sim_u8(in);
		cmd.offset = htole32(sim_u8(in));
		cmd.value = htole64(sim_u32(in));
	} else {
		cmd.fctype = how == 6 ? NVMF_DISCONNECT : sim_u8(in);
	}
	memcpy(&sqe, &cmd, sizeof(sqe));
	send_cmd(h, &sqe, NULL, 0);
}

static void do_admin(struct hosts *h, struct sim_input *in, uint8_t how)
{
	static const uint8_t opcodes[] = { nvme_admin_identify,	    nvme_admin_get_log_page, nvme_admin_get_features,
					   nvme_admin_set_features, nvme_admin_async_event,  nvme_admin_abort_cmd,
					   nvme_admin_keep_alive };
	struct nvme_sqe sqe = { .opcode = how < 7 ? opcodes[how] : sim_u8(in) };
	uint8_t len = 0;

	if (how != 4 && how != 6) {
		sqe.nsid = htole32(sim_u8(in));
		sqe.cdw10 = htole32(sim_u32(in));
		len = sim_u8(in);
	}
	if (how == 1 || how == 3)
		sqe.cdw11 = htole32(sim_u32(in));
	send_cmd(h, &sqe, NULL, len == 255 ? 4096 : len * 4u);
}

/* how: bits 1:0 read, write, another, any; bit 2 data in capsule. */
static void do_io(struct hosts *h, struct sim_input *in, uint8_t how)
{
	static const uint8_t others[] = { nvme_cmd_flush, nvme_cmd_compare, nvme_cmd_write_zeroes, nvme_cmd_dsm, nvme_cmd_verify };
	uint8_t what = sim_u8(in), nsid = what & 3, slba = sim_u8(in), nlb = sim_u8(in);
	struct nvme_sqe sqe = { .nsid = htole32(nsid), .cdw10 = htole32(slba), .cdw12 = htole32(nlb) };
	uint32_t len = (nlb + 1u) << (nsid == 2 ? 12 : 9);

	switch (how & 3) {
	case 0:
		sqe.opcode = nvme_cmd_read;
		break;
	case 1:
		sqe.opcode = nvme_cmd_write;
		break;
	case 2:
		sqe.opcode = others[(what >> 2) % ARRAY_SIZE(others)];
		sqe.cdw11 = htole32(sqe.opcode == nvme_cmd_dsm ? what >> 5 : 0);
		if (sqe.opcode == nvme_cmd_dsm)
			len = (slba + 1u) * 16;
		else if (sqe.opcode != nvme_cmd_compare)
			len = 0;
		break;
	default:
		sqe.opcode = sim_u8(in);
		len = sim_u16(in);
		break;
	}
	if (how & 4)
		len = min_u32(len, 8192);
	send_cmd(h, &sqe, how & 4 && len ? h->buf : NULL, len);
}

/* Data for the oldest R2T.  how: bit 0 a part of it, bit 1 LAST is a lie, bit 2 the offset is. */
static void do_data(struct hosts *h, struct sim_input *in, uint8_t how)
{
	uint32_t len, part = how & 1 ? sim_u16(in) : UINT32_MAX;
	struct hosts_cmd *c = NULL;
	struct nvme_tcp_data d = { 0 };

	for (int i = 0; i < HOSTS_CMDS && !c; i++)
		if (h->cur->cmds[i].used && h->cur->cmds[i].r2t)
			c = &h->cur->cmds[i];
	if (!c)
		return;
	len = min_u32(min_u32(c->left, part), min_u32(h->max_data, sizeof(h->buf)));
	d.cccid = htole16(c->cid);
	d.ttag = htole16(c->ttag);
	d.datao = htole32(c->off + (how & 4));
	d.datal = htole32(len);
	put_pdu(&h->cur->out, NVME_TCP_H2C_DATA, &d, sizeof(d), !(how & 2) == (len == c->left) ? NVME_TCP_F_LAST : 0, h->buf, len);
	send_pdu(h);
}

static void do_close(struct hosts *h, uint8_t how)
{
	struct hosts_link *l = h->cur;

	l->muddled = true;
	if (how & 1) {
		shutdown(l->fd, SHUT_WR);
		return;
	}
	close(l->fd);
	l->fd = -1;
}

/* From nothing to an enabled ctrl's queue.  how: bits 1:0 the digests, bit 2 an I/O queue. */
static void do_up(struct hosts *h, struct nvof_target *t, struct sim_input *in, uint8_t how)
{
	do_open(h, t);
	do_icreq(h, how & 3, 0);
	sim_settle();
	hosts_read(h);
	do_connect(h, in, how >> 2 | 2);
	sim_settle();
	hosts_read(h);
	if (!(how & 4))
		do_property(h, in, 0);
}

static void do_xor(struct hosts *h, struct sim_input *in, uint8_t how)
{
	h->reseal |= how & 1;
	if (h->nr_xors == HOSTS_XORS)
		return;
	h->xors[h->nr_xors].pos = how & 2 ? sim_u16(in) : sim_u8(in);
	h->xors[h->nr_xors++].val = sim_u8(in);
}

static void do_wait(struct sim_input *in, uint8_t how)
{
	static const uint64_t unit[] = { 10 * NSEC_PER_USEC, NSEC_PER_MSEC, 50 * NSEC_PER_MSEC, NSEC_PER_SEC };

	sim_advance((sim_u8(in) + 1) * unit[how & 3]);
}

void hosts_step(struct hosts *h, struct nvof_target *t, struct sim_input *in, uint8_t what, uint8_t how)
{
	const uint8_t *p;
	size_t got;

	switch (what) {
	case 0:
		do_up(h, t, in, how);
		return;
	case 1:
		do_open(h, t);
		return;
	case 2:
		h->cur = &h->links[how % HOSTS_MAX];
		return;
	case 3:
		do_wait(in, how);
		return;
	case 4:
		do_xor(h, in, how);
		return;
	case 5:
		h->cut = how ? sim_u8(in) : 0;
		return;
	default:
		break;
	}
	if (h->cur->fd < 0)
		return;
	switch (what) {
	case 6:
		do_icreq(h, how & 3, how & 4 ? sim_u8(in) : 0);
		break;
	case 7:
		do_connect(h, in, how);
		break;
	case 8:
		do_property(h, in, how);
		break;
	case 9:
		do_admin(h, in, how);
		break;
	case 10:
		do_io(h, in, how);
		break;
	case 11:
		do_data(h, in, how);
		break;
	case 12:
		do_close(h, how);
		break;
	case 13:
		h->cur->deaf = how & 1;
		break;
	default:
		p = sim_bytes(in, how == 7 ? sim_u8(in) : how + 1u, &got);
		send_bytes(h, h->cur, p, got);
		break;
	}
}

/* ---- beginning and end ---- */

struct hosts *hosts_new(const char *subnqn)
{
	struct hosts *h = calloc(1, sizeof(*h));

	h->subnqn = subnqn;
	h->next_qid = 1;
	for (int i = 0; i < HOSTS_MAX; i++)
		h->links[i].fd = -1;
	h->cur = &h->links[0];
	return h;
}

static bool data_awaited(const struct hosts *h)
{
	for (int i = 0; i < HOSTS_MAX; i++)
		for (int j = 0; j < HOSTS_CMDS; j++)
			if (h->links[i].cmds[j].used && h->links[i].cmds[j].r2t)
				return true;
	return false;
}

/* Long enough for everything that the target itself waits for. */
void hosts_check(struct hosts *h)
{
	int quiet = 0;

	for (int i = 0; i < HOSTS_MAX; i++)
		h->links[i].deaf = false;
	while (quiet < 3) {
		sim_advance(700 * NSEC_PER_MSEC);
		sim_settle();
		quiet = hosts_read(h) ? 0 : quiet + 1;
	}
	/* Who waits for a buffer waits for the hosts that have one and do not bring the data. */
	if (h->faulty || (h->few_buffers && data_awaited(h)))
		return;
	for (int i = 0; i < HOSTS_MAX; i++) {
		struct hosts_link *l = &h->links[i];

		if (l->fd < 0 || l->closed || l->muddled || l->to.data_len != l->to.data_done)
			continue;
		for (int j = 0; j < HOSTS_CMDS; j++) {
			struct hosts_cmd *c = &l->cmds[j];

			SIM_CHECK(!c->used || c->event || c->r2t, "command %u was never answered", c->cid);
		}
	}
}

void hosts_free(struct hosts *h)
{
	for (int i = 0; i < HOSTS_MAX; i++) {
		if (h->links[i].fd >= 0)
			close(h->links[i].fd);
		free(h->links[i].out.buf);
	}
	free(h);
}
