/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NVMe/TCP receive parser: bytes in, events out.  No I/O, no clock, no allocation.  Any split of the stream gives the same events
 * (DATA chunks may be cut differently; put together they are the same bytes).
 *
 * It checks everything that can be checked without knowing the commands: type legal for this side, HLEN, PDO against HLEN / digests /
 * the alignment we asked for, PLEN against both, reserved data, digests.  Which command a PDU belongs to, and ranges, are the caller's.
 *
 * Payload is never copied here.  The caller copies (or reads from the socket straight into place) and keeps the data digest going with
 * nvme_tcp_rx_payload*(); the parser compares it with the trailer and says so in RX_END.
 */
#ifndef NVOF_PROTO_TCP_RX_H
#define NVOF_PROTO_TCP_RX_H

#include <stddef.h>

#include "proto/tcp.h"

enum nvme_tcp_side { NVME_TCP_HOST, NVME_TCP_CTRL }; /* who receives */

enum nvme_tcp_rx_event_type {
	RX_NONE,  /* all bytes eaten, nothing whole yet */
	RX_PDU,	  /* a header is whole and valid (and what pads it was eaten): rx->pdu.  Data of rx->data_len bytes follows when that is
		     not 0, then RX_END.
		     Without data, RX_END is not sent: RX_PDU is all. */
	RX_DATA,  /* ev->data, ev->len: the next payload bytes, at rx->data_done of this PDU before this chunk */
	RX_END,	  /* payload (and its digest) is whole; ev->digest_ok false: data digest error */
	RX_ERROR, /* fatal: ev->fes, ev->fei, ev->what; the stream can't go on.  rx->pdu holds what was received of the header:
		     rx->have bytes, zeroes after them. */
};

struct nvme_tcp_rx_event {
	enum nvme_tcp_rx_event_type type;
	const uint8_t *data; /* RX_DATA: inside the caller's buffer */
	size_t len;
	bool digest_ok;
	uint16_t fes;	  /* RX_ERROR */
	uint32_t fei;	  /* offset of the field at fault in the header; for HDGST the received digest */
	const char *what; /* a static sentence: "PLEN is smaller than HLEN" */
};

struct nvme_tcp_rx {
	/* set up by nvme_tcp_rx_init, changed by nvme_tcp_rx_negotiated */
	enum nvme_tcp_side side;
	bool hdgst, ddgst;
	uint8_t pda;	   /* the alignment WE asked the peer for (0's based dwords) */
	bool ic_only;	   /* until negotiated only the IC PDU (and TermReq) is legal */
	uint32_t max_data; /* largest legal data length of one PDU; larger is FES_LIMIT, in a CapsuleCmd a wrong PLEN */
	/* the PDU under way, readable by the caller from RX_PDU to the next one */
	union nvme_tcp_pdu pdu;
	uint32_t data_len, data_done;
	/* private */
	uint32_t crc;	  /* of the payload so far */
	uint32_t trailer; /* received data digest */
	uint16_t have, need;
	uint8_t state;
	bool digest_on;	   /* this PDU's payload is followed by its digest */
	uint16_t dead_fes; /* the error, told again whenever more is asked */
	uint32_t dead_fei;
	const char *dead_what;
};

/* Ready for ICReq (side CTRL) or ICResp (side HOST): no digests, IC only. */
void nvme_tcp_rx_init(struct nvme_tcp_rx *rx, enum nvme_tcp_side side, uint8_t pda, uint32_t max_data);
/* The IC exchange is over: from the next PDU on these digests apply and other PDUs are legal. */
void nvme_tcp_rx_negotiated(struct nvme_tcp_rx *rx, bool hdgst, bool ddgst);

/*
 * Eats up to len bytes; returns how many, and fills ev.  Call again with the rest until RX_NONE or RX_ERROR.
 * An event may come with 0 bytes eaten.  After RX_DATA the caller MUST account the chunk by exactly one of the payload calls below.
 */
size_t nvme_tcp_rx(struct nvme_tcp_rx *rx, const void *data, size_t len, struct nvme_tcp_rx_event *ev);

/* Account len payload bytes: copied to dst / already in place (read from the socket directly, or to be dropped). */
void nvme_tcp_rx_payload_copy(struct nvme_tcp_rx *rx, void *dst, const void *src, size_t len);
void nvme_tcp_rx_payload_inplace(struct nvme_tcp_rx *rx, const void *data, size_t len);

/* Payload bytes of the PDU under way that have not come yet: how much a direct recvmsg may place.  0 outside payload. */
static inline uint32_t nvme_tcp_rx_payload_left(const struct nvme_tcp_rx *rx)
{
	return rx->data_len - rx->data_done;
}

#endif
