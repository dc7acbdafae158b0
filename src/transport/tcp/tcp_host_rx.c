/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes to completions.  Small PDUs come by the staging buffer, many in one recv; the payload of a large C2HData PDU is received straight
 * into the caller's memory, with the staging buffer as the last iovec for what follows it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/tcp/tcp_host.h"

#define RX_TURN TCP_HOST_STAGING
#define RX_IOV	64
#define RX_TAIL 512 /* behind a large payload: the header of what follows; more of it would be copied once more */

static void rx_peer_terminated(struct tcp_queue *tq)
{
	const struct nvme_tcp_term *term = &tq->rx.pdu.term;
	uint16_t fes = le16toh(term->fes);
	uint32_t fei;

	memcpy(&fei, term->fei, sizeof(fei));
	tq->dead = true;
	host_queue_failed(&tq->q, -ECONNRESET, "the target terminated the connection: %s (FES %02xh, FEI %u)", nvme_tcp_fes_name(fes), fes,
			  le32toh(fei));
}

/* Before its last byte was sent no request can have an answer: what came is not about it. */
struct host_req *tcp_host_rx_lookup(struct tcp_queue *tq, uint16_t cid, const char *what)
{
	struct host_req *req = host_queue_req(&tq->q, cid);

	if (req && to_tcp_req(req)->capsule_sent)
		return req;
	tcp_host_terminate(tq, NVME_TCP_FES_INVALID_HDR, tq->rx.pdu.hdr.type == NVME_TCP_RSP ? 20 : 8, -EPROTO,
			   "%s for command id %u, which is not outstanding", what, cid);
	return NULL;
}

/* A success that can't be one: a read would hand out old bytes, a write would be lost. */
static void rx_too_little(struct tcp_queue *tq, const struct host_req *req)
{
	const struct tcp_req *tr = (const struct tcp_req *)req->priv;
	bool reads = req->dir == DATA_FROM_CTRL;

	tcp_host_terminate(tq, NVME_TCP_FES_SEQUENCE, 0, -EPROTO,
			   "command id %u (opcode %02xh) ended with success, but %u of %u bytes of %s", req->cid, req->sqe.opcode,
			   reads ? tr->moved : tcp_host_r2t_asked(tr), req->data_len, reads ? "data came" : "its data were asked for");
}

static void rx_finish(struct tcp_queue *tq, struct host_req *req, const struct nvme_cqe *cqe)
{
	struct tcp_req *tr = to_tcp_req(req);
	bool failed = cqe->status >> 1;

	if (tcp_host_tx_busy(tq, req)) {
		tcp_host_terminate(tq, NVME_TCP_FES_SEQUENCE, 0, -EPROTO, "response for command id %u before all its data was sent",
				   req->cid);
		return;
	}
	if (unlikely(!failed && tr->moved != req->data_len)) {
		rx_too_little(tq, req);
		return;
	}
	tq->nr_out--;
	if (!failed && tr->digest_bad)
		host_req_fail(req, NVME_STATUS(NVME_SCT_GENERIC, NVME_SC_TRAN_TPORT_ERROR));
	else
		host_req_complete(req, cqe);
}

static void rx_response(struct tcp_queue *tq)
{
	/* A copy: the callback may lead to the next PDU's bytes only after return, but the CQE must not change under its owner. */
	struct nvme_cqe cqe = tq->rx.pdu.rsp.cqe;
	struct host_req *req = tcp_host_rx_lookup(tq, le16toh(cqe.cid), "response");

	if (req)
		rx_finish(tq, req, &cqe);
}

/* The header of a C2HData PDU: is it data that we wait for? */
static void rx_data_begin(struct tcp_queue *tq)
{
	const struct nvme_tcp_data *data = &tq->rx.pdu.data;
	uint32_t off = le32toh(data->datao), len = le32toh(data->datal);
	uint8_t flags = data->hdr.flags;
	struct host_req *req = tcp_host_rx_lookup(tq, le16toh(data->cccid), "C2HData");
	struct tcp_req *tr;

	if (!req)
		return;
	tr = to_tcp_req(req);
	if (req->dir != DATA_FROM_CTRL || tr->last_seen) {
		tcp_host_terminate(tq, NVME_TCP_FES_SEQUENCE, 8, -EPROTO, "C2HData for command id %u, %s", req->cid,
				   tr->last_seen ? "whose last data had come" : "which reads nothing");
		return;
	}
	if (off != tr->moved || len > req->data_len - tr->moved) {
		tcp_host_terminate(tq, NVME_TCP_FES_RANGE, 12, -EPROTO, "C2HData for command id %u brings bytes %u..+%u, wanted %u..%u",
				   req->cid, off, len, tr->moved, req->data_len);
		return;
	}
	if (flags & NVME_TCP_F_SUCCESS && (!(flags & NVME_TCP_F_LAST) || !tq->q.sqflow_off)) {
		tcp_host_terminate(tq, NVME_TCP_FES_INVALID_HDR, 1, -EPROTO, "C2HData for command id %u has SUCCESS %s", req->cid,
				   flags & NVME_TCP_F_LAST ? "although SQ flow control is on" : "without LAST");
		return;
	}
	tr->last_seen = flags & NVME_TCP_F_LAST;
	tq->rx_req = req;
	tq->rx_off = off;
}

static void rx_data_end(struct tcp_queue *tq, bool digest_ok)
{
	struct host_req *req = tq->rx_req;
	struct tcp_req *tr = to_tcp_req(req);
	struct nvme_cqe cqe = { 0 };

	tq->rx_req = NULL;
	tr->moved += tq->rx.data_len;
	if (!digest_ok)
		tr->digest_bad = true;
	if (tq->rx.pdu.hdr.flags & NVME_TCP_F_SUCCESS) {
		cqe.cid = htole16(req->cid);
		rx_finish(tq, req, &cqe);
	}
}

static void rx_pdu(struct tcp_queue *tq)
{
	switch (tq->rx.pdu.hdr.type) {
	case NVME_TCP_C2H_DATA:
		rx_data_begin(tq);
		/* A PDU without payload has no RX_END. */
		if (!tq->dead && !tq->rx.data_len)
			rx_data_end(tq, true);
		break;
	case NVME_TCP_RSP:
		rx_response(tq);
		break;
	case NVME_TCP_R2T:
		tcp_host_r2t_received(tq);
		break;
	case NVME_TCP_ICRESP:
		tcp_host_ic_received(tq);
		break;
	default: /* C2HTermReq: the parser lets no other through */
		rx_peer_terminated(tq);
		break;
	}
}

/* A piece of payload from the staging buffer to its place. */
static void rx_copy(struct tcp_queue *tq, const uint8_t *data, size_t len)
{
	struct iovec iov[RX_IOV];
	uint32_t used, i;

	while (len) {
		tcp_req_iov(tq->rx_req, tq->rx_off + tq->rx.data_done, (uint32_t)len, iov, RX_IOV, &used);
		for (i = 0; i < used; i++) {
			nvme_tcp_rx_payload_copy(&tq->rx, iov[i].iov_base, data, iov[i].iov_len);
			data += iov[i].iov_len;
			len -= iov[i].iov_len;
		}
	}
}

static void rx_parse(struct tcp_queue *tq, const uint8_t *data, size_t len)
{
	struct nvme_tcp_rx_event ev;

	while (!tq->dead) {
		size_t n = nvme_tcp_rx(&tq->rx, data, len, &ev);

		data += n;
		len -= n;
		switch (ev.type) {
		case RX_NONE:
			return;
		case RX_PDU:
			rx_pdu(tq);
			break;
		case RX_DATA:
			if (tq->rx_req)
				rx_copy(tq, ev.data, ev.len);
			else /* the PDU that ended the peer's C2HTermReq */
				nvme_tcp_rx_payload_inplace(&tq->rx, ev.data, ev.len);
			break;
		case RX_END:
			if (tq->rx_req)
				rx_data_end(tq, ev.digest_ok);
			break;
		case RX_ERROR:
			tcp_host_terminate(tq, ev.fes, ev.fei, -EPROTO, "%s PDU: %s", nvme_tcp_type_name(tq->rx.pdu.hdr.type), ev.what);
			return;
		}
	}
}

/* The rest of a large payload straight into its place.  Returns the iovecs used; *len: payload bytes they take. */
static uint32_t rx_direct_iov(struct tcp_queue *tq, struct iovec *iov, uint32_t *len)
{
	uint32_t used = 0;

	*len = 0;
	if (tq->rx_req && tq->rx.data_len >= TCP_HOST_DIRECT_MIN)
		*len = tcp_req_iov(tq->rx_req, tq->rx_off + tq->rx.data_done, nvme_tcp_rx_payload_left(&tq->rx), iov, RX_IOV - 1, &used);
	return used;
}

/* One recv.  *full: there may be more. */
static ssize_t rx_once(struct tcp_queue *tq, bool *full)
{
	uint8_t *staging = tq->staging;
	struct iovec iov[RX_IOV];
	uint32_t direct, used = rx_direct_iov(tq, iov, &direct), i;
	struct msghdr msg = { .msg_iov = iov };
	size_t left, tail = used ? RX_TAIL : TCP_HOST_STAGING;
	ssize_t n;

	if (used) {
		iov[used] = (struct iovec){ staging, tail };
		msg.msg_iovlen = used + 1;
		n = recvmsg(tq->fd, &msg, 0);
	} else {
		n = recv(tq->fd, staging, tail, 0);
	}
	if (n <= 0)
		return n;
	*full = (size_t)n == direct + tail;
	left = (size_t)n;
	for (i = 0; i < used && left; i++) {
		size_t part = min_size(iov[i].iov_len, left);

		nvme_tcp_rx_payload_inplace(&tq->rx, iov[i].iov_base, part);
		left -= part;
	}
	/* Also with nothing left: the payload may just have become whole. */
	rx_parse(tq, staging, left);
	return n;
}

/*
 * What answers make room for is sent at the end of a turn, so a turn receives only so much.  Else both ends come to take turns, each
 * waiting for all that the other has.
 */
bool tcp_host_rx_run(struct tcp_queue *tq)
{
	bool full = true;
	size_t got = 0;
	ssize_t n;

	while (full && !tq->dead && got < RX_TURN) {
		n = rx_once(tq, &full);
		if (n > 0) {
			got += (size_t)n;
			continue;
		}
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		tcp_host_lost(tq, n < 0 ? errno : 0, "receive");
		return true;
	}
	return got;
}

/* ---- staging of I/O threads ---- */

struct staging {
	struct loop_ext ext;
	uint8_t buf[TCP_HOST_STAGING];
};

static void staging_free(struct loop_ext *ext)
{
	free(container_of(ext, struct staging, ext));
}

int tcp_host_thread_staging(struct loop *loop, uint8_t **staging)
{
	static const char key;
	struct loop_ext *ext = loop_ext_find(loop, &key);
	struct staging *s;

	if (!ext) {
		s = malloc(sizeof(*s));
		if (!s)
			return -ENOMEM;
		ext = &s->ext;
		*ext = (struct loop_ext){ .key = &key, .free = staging_free };
		loop_ext_add(loop, ext);
	}
	*staging = container_of(ext, struct staging, ext)->buf;
	return 0;
}
