/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The TCP transport's target half, inside.
 *
 * tcp_target_listen.c: the listener.  tcp_target_life.c: a connection from accept to its end.  tcp_target_ic.c: ICReq and ICResp.
 * tcp_target_rx.c: bytes to PDUs.  tcp_target_cmd.c: command capsules and request slots.  tcp_target_data.c: R2T and H2CData;
 * tcp_target_place.c: where their data goes.
 * tcp_target_tx.c: what waits to be sent, in one sendmsg; tcp_target_pdu.c: its bytes.
 *
 * No function below frees the connection or calls target_queue_closed() from inside: the end comes as deferred work of the loop
 * (conn_finish), so callers may go on touching the connection until their turn is over.
 */
#ifndef NVOF_TRANSPORT_TCP_TARGET_H
#define NVOF_TRANSPORT_TCP_TARGET_H

#include "proto/tcp_rx.h"
#include "transport/target_ops.h"
#include "transport/tcp/tcp_sock.h"

#define TT_FIRST_SLOTS 40	     /* before Connect: an admin queue of the hosts in use (32 entries), with some room */
#define TT_STAGING     (256 * 1024)  /* many small PDUs in one recv; on the stack of whoever receives, nothing stays in it */
#define TT_TAIL	       512	     /* behind a payload that goes straight to its place: the header of what follows */
#define TT_DIRECT_MIN  (32 * 1024)   /* H2CData and capsule payloads from this size on go straight to their place */
#define TT_RX_TURN     (1024 * 1024) /* bytes of one connection per turn: the others want theirs */
#define TT_TX_TURN     (4 * 1024 * 1024)
#define TT_C2H_MAX     (1024 * 1024)	     /* payload of one C2HData PDU: hosts want few */
#define TT_IOV_MAX     1024		     /* UIO_MAXIOV: pieces of one sendmsg */
#define TT_HDR_ROOM    (32 * 1024)	     /* headers and digests of one sendmsg */
#define TT_FLUSH_NS    NSEC_PER_SEC	     /* for a peer to take the last bytes, */
#define TT_LINGER_NS   (100 * NSEC_PER_MSEC) /* and then to close */
#define TT_STILL_NS    (20 * NSEC_PER_MSEC)  /* who did not look at a socket for so long may have stood still */

/* What can stand in the send queue. */
enum tx_kind { TX_ICRESP, TX_TERM, TX_R2T, TX_RSP };

struct tx_item {
	struct tx_item *next;
	enum tx_kind kind;
};

enum slot_state {
	SLOT_FREE,
	SLOT_CAPSULE, /* its in-capsule data arrives */
	SLOT_R2T,     /* an R2T waits to be sent */
	SLOT_H2C,     /* H2CData is awaited */
	SLOT_CORE,    /* the target core has it */
	SLOT_TX,      /* its answer waits to be sent, or is on its way */
};

struct tt_slot {
	struct target_req req;
	struct tx_item tx;
	struct tt_slot *next_free;
	enum slot_state state;
	uint16_t ttag;	 /* == its index */
	bool digest_bad; /* some of its data failed the data digest: it must not be executed */
	bool crc_valid;	 /* crc is that of the payload at tx_done */
	/* receiving: bytes in place; the R2T under way ends at r2t_end; where the next byte goes */
	uint32_t rx_done, r2t_end;
	uint32_t rx_iov;
	size_t rx_iov_off;
	/* sending: payload bytes of C2HData PDUs that have left as a whole */
	uint32_t tx_done;
	uint32_t crc;
};

enum conn_state {
	CONN_NEW,     /* accepted; on its way to its loop */
	CONN_ACCEPT,  /* the accept fault point holds it; nothing is read */
	CONN_ICREQ,   /* ICReq is awaited */
	CONN_IC_HELD, /* the ICReq fault point holds it; nothing is read */
	CONN_READY,
	CONN_FLUSH,  /* ending: what is queued still leaves (bounded); what comes is thrown away */
	CONN_LINGER, /* our side is shut down; waits (bounded) for the peer to close */
	CONN_CLOSED, /* target_queue_closed() was called */
	CONN_NR_STATES,
};

struct tt_conn {
	struct target_queue q;
	enum conn_state state; /* changed by conn_enter() only */
	int fd;
	struct loop_fd lf;
	struct loop_work hand_over; /* from the listener's loop to its own */
	struct loop_defer flush, finish;
	struct timer linger;
	const struct target_link_params *params;

	/* agreed by the IC exchange */
	bool hdgst, ddgst;
	uint8_t hpda;	  /* alignment the host asked for, 0's based dwords */
	uint32_t r2t_max; /* bytes of one R2T */

	/* receive */
	struct nvme_tcp_rx rx;
	struct tt_slot *rx_slot; /* where the payload of the PDU under way goes; NULL: nowhere */
	bool in_rx;		 /* answers leave at the end of the receive batch */
	bool rx_large;		 /* the last payload was large: the next is likely to be */
	uint64_t looked_ns;	 /* when something was received, or was about to be */

	/* send */
	struct tx_item *tx_head, *tx_tail;
	uint32_t tx_off; /* bytes of the head's PDU under way that have left */
	bool tx_blocked; /* the socket is full: EPOLLOUT is awaited */
	struct tx_item icresp, term;
	struct {
		struct nvme_tcp_term pdu;
		uint8_t header[sizeof(union nvme_tcp_pdu)];
	} term_pdu;
	uint32_t term_len;

	/* request slots */
	struct tt_slot *slots, *more_slots; /* indexes from 0 / from nr_first on */
	uint32_t nr_first, nr_slots;	    /* allocated */
	uint32_t nr_used;		    /* ever used: beyond it slots are untouched memory */
	uint32_t nr_busy, max_busy;
	struct tt_slot *free_slots;

	char why[192]; /* why it ends */
};

extern const struct target_transport tcp_target_transport;

static inline struct tt_conn *to_tt_conn(struct target_queue *q)
{
	return container_of(q, struct tt_conn, q);
}
static inline struct tt_slot *to_tt_slot(struct target_req *req)
{
	return container_of(req, struct tt_slot, req);
}

/* The link is good: nothing has begun to end it. */
static inline bool conn_alive(const struct tt_conn *c)
{
	return c->state < CONN_FLUSH;
}

/* ---- life ---- */

/* fd: just accepted, non-blocking, without Nagle.  NULL: no memory, fd is still the caller's. */
struct tt_conn *conn_new(int fd, const struct target_link_params *params, const struct sockaddr *peer, socklen_t peer_len);
void conn_free(struct tt_conn *c);
/* On the thread of loop: the connection becomes the target's.  It closes itself when the target doesn't want it. */
void conn_start(struct tt_conn *c, struct target_port *port, struct loop *loop);
void conn_enter(struct tt_conn *c, enum conn_state state);
/* The peer broke the protocol: C2HTermReq with the header at fault, then the end. */
void conn_terminate(struct tt_conn *c, uint16_t fes, uint32_t fei, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* The link is broken or was closed by the peer. */
void conn_lost(struct tt_conn *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The last queued byte has left while the connection was ending. */
void conn_flushed(struct tt_conn *c);
void tcp_target_queue_close(struct target_queue *q);
void tcp_target_queue_local(const struct target_queue *q, char *text, size_t len);
void tcp_target_queue_free(struct target_queue *q);

/* ---- IC exchange ---- */

void conn_icreq(struct tt_conn *c);
uint32_t conn_icresp_build(const struct tt_conn *c, struct nvme_tcp_ic *ic);

/* ---- receive ---- */

bool conn_receive(struct tt_conn *c);
/* Reads and forgets.  Returns false when the peer has closed. */
bool conn_discard(struct tt_conn *c);

/* ---- slots and commands ---- */

int slots_init(struct tt_conn *c);
void slots_free(struct tt_conn *c);
struct tt_slot *slot_at(const struct tt_conn *c, uint32_t index); /* index < nr_used */
void slot_end(struct tt_conn *c, struct tt_slot *s);		  /* target_req_end() and back to the free ones */
/* Ends what this half holds: requests that wait for data, and answers not sent. */
void slots_end_all(struct tt_conn *c);
int tcp_target_queue_resize(struct target_queue *q, uint16_t sqsize);
void conn_capsule(struct tt_conn *c);

/* ---- data ---- */

void slot_r2t_next(struct tt_conn *c, struct tt_slot *s);
void conn_h2c_data(struct tt_conn *c);
/* The payload of the PDU under way is whole. */
void conn_payload_end(struct tt_conn *c, bool digest_ok);

/* ---- place of the data ---- */

void slot_rx_begin(struct tt_slot *s);
/* The next len bytes of s as iovecs, room of them at most; returns how many bytes they cover. */
size_t slot_rx_iov(const struct tt_slot *s, size_t len, struct iovec *iov, uint32_t room, uint32_t *used);
/* Of a request in place: how much may be received at once when so many bytes have arrived, so that it ends with a block. */
size_t slot_rx_fit(const struct tt_slot *s, size_t arrived);
/* len bytes came to iov, which is the next one of those. */
void slot_rx_advance(struct tt_slot *s, const struct iovec *iov, size_t len);

/* ---- send ---- */

void tx_add(struct tt_conn *c, struct tx_item *item, enum tx_kind kind);
void conn_flush(struct tt_conn *c);
void tcp_target_respond(struct target_req *req);
void tcp_target_bring(struct target_req *req);

/* One sendmsg in the making: pieces in order; headers are built in hdr. */
struct tx_batch {
	uint32_t nr_iov;
	uint32_t hdr_len;
	uint32_t nr_items; /* that are in it to their ends */
	bool cut;	   /* the next one is in it with a part */
	size_t len;	   /* bytes of all pieces */
	size_t skip;	   /* bytes at the front that have left already */
	struct iovec iov[TT_IOV_MAX];
	_Alignas(8) uint8_t hdr[TT_HDR_ROOM];
};

/* Adds item's PDUs from the first that has not left as a whole.  False: no room for all of it. */
bool tx_build(struct tt_conn *c, struct tx_item *item, struct tx_batch *b);
/* Bytes of the PDU of item that is next to leave, and whether it is item's last. */
size_t tx_pdu_len(const struct tt_conn *c, const struct tx_item *item, bool *last);

#endif
