/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * R2Ts: what a ctrl asks for of a write.  Their order is its own; but a byte that it never asked for, or asked for twice while it counted
 * another one, is a write that is lost.  So it is known which they were: what is asked for in order is one number.
 */
#include <errno.h>

#include "transport/tcp/tcp_host.h"

uint32_t tcp_host_r2t_asked(const struct tcp_req *tr)
{
	uint32_t sum = tr->moved, i;

	for (i = 0; i < tr->nr_ahead; i++)
		sum += tr->ahead[i].end - tr->ahead[i].off;
	return sum;
}

/* What lies ahead may follow the first bytes now. */
static void join(struct tcp_req *tr)
{
	uint32_t i = 0;

	while (i < tr->nr_ahead) {
		if (tr->ahead[i].off != tr->moved) {
			i++;
			continue;
		}
		tr->moved = tr->ahead[i].end;
		tr->ahead[i] = tr->ahead[--tr->nr_ahead];
		i = 0;
	}
}

static const char *take_ahead(struct tcp_req *tr, uint32_t off, uint32_t end)
{
	uint32_t i;

	for (i = 0; i < tr->nr_ahead; i++) {
		struct tcp_piece *p = &tr->ahead[i];

		if (p->end == off || p->off == end) {
			*p = (struct tcp_piece){ p->end == off ? p->off : off, p->end == off ? end : p->end };
			return NULL;
		}
	}
	if (tr->nr_ahead == TCP_HOST_AHEAD)
		return "with too many gaps between them";
	tr->ahead[tr->nr_ahead++] = (struct tcp_piece){ off, end };
	return NULL;
}

/* Bytes off..end are asked for: NULL, or why they can't be. */
static const char *take(struct tcp_req *tr, uint32_t off, uint32_t end)
{
	bool again = off < tr->moved;
	uint32_t i;

	for (i = 0; i < tr->nr_ahead; i++)
		again |= off < tr->ahead[i].end && tr->ahead[i].off < end;
	if (again)
		return "some of which were asked for before";
	if (off != tr->moved)
		return take_ahead(tr, off, end);
	tr->moved = end;
	join(tr);
	return NULL;
}

void tcp_host_r2t_received(struct tcp_queue *tq)
{
	const struct nvme_tcp_r2t *r2t = &tq->rx.pdu.r2t;
	uint32_t off = le32toh(r2t->r2to), len = le32toh(r2t->r2tl);
	struct host_req *req = tcp_host_rx_lookup(tq, le16toh(r2t->cccid), "R2T");
	struct tcp_req *tr;
	const char *why;

	if (!req)
		return;
	tr = to_tcp_req(req);
	if (req->dir != DATA_TO_CTRL || tr->in_capsule) {
		tcp_host_terminate(tq, NVME_TCP_FES_SEQUENCE, 8, -EPROTO, "R2T for command id %u, which has no data to send", req->cid);
		return;
	}
	if (!len || off > req->data_len || len > req->data_len - off) {
		tcp_host_terminate(tq, NVME_TCP_FES_RANGE, 12, -EPROTO, "R2T for command id %u asks for bytes %u..+%u of %u", req->cid, off,
				   len, req->data_len);
		return;
	}
	why = take(tr, off, off + len);
	if (why) {
		tcp_host_terminate(tq, NVME_TCP_FES_RANGE, 12, -EPROTO, "R2T for command id %u asks for bytes %u..+%u of %u, %s", req->cid,
				   off, len, req->data_len, why);
		return;
	}
	if (tr->nr_r2t == TCP_HOST_MAXR2T) {
		tcp_host_terminate(tq, NVME_TCP_FES_LIMIT, 8, -EPROTO, "more than %u R2Ts outstanding for command id %u", TCP_HOST_MAXR2T,
				   req->cid);
		return;
	}
	tr->r2t[tr->nr_r2t++] = (struct tcp_r2t){ .off = off, .left = len, .ttag = r2t->ttag };
	if (!tr->pending) {
		tr->pending = true;
		cds_list_add_tail(&tr->link, &tq->tx.pending);
	}
	loop_defer(tq->q.loop, &tq->flush);
}
