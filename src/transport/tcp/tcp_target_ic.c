/* SPDX-License-Identifier: BSD-3-Clause */
/* ICReq and ICResp: what both ends ask of one another, before the first capsule. */
#include <string.h>
#include <sys/epoll.h>

#include "base/tsan.h"
#include "transport/tcp/tcp_target.h"

#define DGST_HDR  1
#define DGST_DATA 2

uint32_t conn_icresp_build(const struct tt_conn *c, struct nvme_tcp_ic *ic)
{
	memset(ic, 0, sizeof(*ic));
	ic->hdr.type = NVME_TCP_ICRESP;
	ic->hdr.hlen = sizeof(*ic);
	ic->hdr.plen = htole32(sizeof(*ic));
	ic->pda = c->params->cpda;
	ic->dgst = (c->hdgst ? DGST_HDR : 0) | (c->ddgst ? DGST_DATA : 0);
	ic->maxval = htole32(c->params->maxh2cdata);
	return sizeof(*ic);
}

static void icreq_go(struct target_queue *q)
{
	struct tt_conn *c = to_tt_conn(q);

	if (c->state != CONN_IC_HELD)
		return;
	conn_enter(c, CONN_READY);
	nvme_tcp_rx_negotiated(&c->rx, c->hdgst, c->ddgst);
	loop_fd_mod(&c->lf, EPOLLIN);
	tx_add(c, &c->icresp, TX_ICRESP);
}

void conn_icreq(struct tt_conn *c)
{
	const struct nvme_tcp_ic *ic = &c->rx.pdu.ic;

	if (c->state != CONN_ICREQ) {
		conn_terminate(c, NVME_TCP_FES_SEQUENCE, 0, "a second ICReq");
		return;
	}
	if (ic->pfv) {
		conn_terminate(c, NVME_TCP_FES_UNSUPPORTED, offsetof(struct nvme_tcp_ic, pfv), "PFV %u, and only 0 is known",
			       le16toh(ic->pfv));
		return;
	}
	/* C099 */
	if (ic->pda > NVME_TCP_PDA_MAX) {
		conn_terminate(c, NVME_TCP_FES_INVALID_HDR, offsetof(struct nvme_tcp_ic, pda), "HPDA %u is above %u", ic->pda,
			       NVME_TCP_PDA_MAX);
		return;
	}
	c->hpda = ic->pda;
	c->hdgst = ic->dgst & DGST_HDR && c->params->hdr_digest_ok;
	c->ddgst = ic->dgst & DGST_DATA && c->params->data_digest_ok;
	c->q.stable_data = c->ddgst;
	/* Two hosts that write one block at once are no race of ours; the thread sanitizer would see one for as long as the block comes. */
	c->q.writes_in_place = !c->ddgst && !tsan_is_on();
	/* One R2T at a time for each command keeps to any MAXR2T. */
	conn_enter(c, CONN_IC_HELD);
	target_link_point(&c->q, TARGET_LINK_ICREQ, icreq_go);
	if (c->state == CONN_IC_HELD)
		loop_fd_mod(&c->lf, EPOLLRDHUP);
}
