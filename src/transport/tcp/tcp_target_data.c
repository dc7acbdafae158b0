/* SPDX-License-Identifier: BSD-3-Clause */
/* Write data: R2Ts that ask for it, and H2CData that brings it. */
#include "transport/tcp/tcp_target.h"

#define TRANSIENT_TRANSPORT NVME_STATUS(NVME_SCT_GENERIC, NVME_SC_TRAN_TPORT_ERROR)

/* ---- R2T and H2CData ---- */

/* Usually one R2T for all the data of a command. */
void slot_r2t_next(struct tt_conn *c, struct tt_slot *s)
{
	s->r2t_end = s->rx_done + min_u32(s->req.data_len - s->rx_done, c->r2t_max);
	s->state = SLOT_R2T;
	tx_add(c, &s->tx, TX_R2T);
}

/* C106, C105: which request a H2CData PDU is for, and whether its bytes are those that were asked for. */
void conn_h2c_data(struct tt_conn *c)
{
	const struct nvme_tcp_data *data = &c->rx.pdu.data;
	uint32_t ttag = le16toh(data->ttag), off = le32toh(data->datao), len = le32toh(data->datal);
	struct tt_slot *s;

	if (ttag >= c->nr_used) {
		conn_terminate(c, NVME_TCP_FES_INVALID_HDR, offsetof(struct nvme_tcp_data, ttag), "TTAG %u is of no R2T", ttag);
		return;
	}
	s = slot_at(c, ttag);
	if (s->state != SLOT_H2C) {
		conn_terminate(c, NVME_TCP_FES_SEQUENCE, 0, "TTAG %u is of no R2T that is outstanding", ttag);
		return;
	}
	if (data->cccid != s->req.sqe.cid) {
		conn_terminate(c, NVME_TCP_FES_INVALID_HDR, offsetof(struct nvme_tcp_data, cccid), "CCCID %u, but the R2T was for %u",
			       le16toh(data->cccid), le16toh(s->req.sqe.cid));
		return;
	}
	if (len > c->params->maxh2cdata) {
		conn_terminate(c, NVME_TCP_FES_LIMIT, 0, "%u bytes, but MAXH2CDATA is %u", len, c->params->maxh2cdata);
		return;
	}
	if (off != s->rx_done || len > s->r2t_end - s->rx_done) {
		conn_terminate(c, NVME_TCP_FES_RANGE, 0, "bytes %u..+%u, but those to come are %u..%u", off, len, s->rx_done, s->r2t_end);
		return;
	}
	if (!!(data->hdr.flags & NVME_TCP_F_LAST) != (off + len == s->r2t_end)) {
		conn_terminate(c, NVME_TCP_FES_INVALID_HDR, offsetof(struct nvme_tcp_hdr, flags),
			       "LAST_PDU is %s on bytes %u..+%u of R2T ..%u", data->hdr.flags & NVME_TCP_F_LAST ? "set" : "clear", off, len,
			       s->r2t_end);
		return;
	}
	if (c->rx.data_len)
		c->rx_slot = s;
}

static void slot_data_complete(struct tt_slot *s)
{
	s->state = SLOT_CORE;
	if (s->digest_bad)
		target_req_reject(&s->req, TRANSIENT_TRANSPORT); /* C123: nothing is written, the queue goes on */
	else
		target_req_execute(&s->req);
}

void conn_payload_end(struct tt_conn *c, bool digest_ok)
{
	struct tt_slot *s = c->rx_slot;

	c->rx_slot = NULL;
	if (!s)
		return;
	if (!digest_ok) {
		s->digest_bad = true;
		log_info(c->q.log, "tcp %s: data digest error in the data of command id %u", c->q.peer, le16toh(s->req.sqe.cid));
	}
	if (s->state == SLOT_CAPSULE)
		slot_data_complete(s);
	else if (s->rx_done < s->r2t_end)
		return; /* more PDUs of this R2T follow */
	else if (s->rx_done == s->req.data_len || s->digest_bad)
		slot_data_complete(s);
	else
		slot_r2t_next(c, s);
}
