/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The TCP transport's host half, inside.  tcp_host.c: endpoint, life of a queue; tcp_host_link.c: connect and ICReq/ICResp; tcp_host_tx.c:
 * requests to bytes; tcp_host_rx.c: bytes to completions; tcp_host_r2t.c: what a ctrl asks for; tcp_host_old.c: connections that were given
 * up.
 */
#ifndef NVOF_TRANSPORT_TCP_HOST_H
#define NVOF_TRANSPORT_TCP_HOST_H

#include "proto/tcp_rx.h"
#include "transport/host_ops.h"
#include "transport/inet/inet_addr.h"
#include "transport/inet/inet_old.h"
#include "transport/inet/inet_peer.h"
#include "transport/tcp/tcp_sock.h"

#define TCP_HOST_MAXR2T	     4		  /* R2Ts of one command we keep at once */
#define TCP_HOST_AHEAD	     8		  /* pieces of one command that may be asked for before what is in front of them */
#define TCP_HOST_STAGING     (256 * 1024) /* receive buffer: many small PDUs in one recv */
#define TCP_HOST_DIRECT_MIN  (32 * 1024)  /* data PDUs from this size on are received straight into the caller's memory */
#define TCP_HOST_MAX_C2HDATA (16u << 20)  /* a single C2HData PDU longer than this is an attack, not data */

/* A burst of PDUs on its way into one sendmsg. */
#define TCP_TX_BUF     (16 * 1024)
#define TCP_TX_IOV     256
#define TCP_TX_HDR_MAX (128 + 2 * NVME_TCP_DIGEST_LEN) /* longest header with padding, and a data digest */

struct tcp_r2t {
	uint32_t off, left;
	uint16_t ttag;
};

/* Bytes of a write that were asked for before those in front of them. */
struct tcp_piece {
	uint32_t off, end;
};

/* The transport's part of a host_req. */
struct tcp_req {
	struct cds_list_head link; /* tq->pending: a capsule or R2Ts to answer */
	bool pending;
	bool capsule_sent; /* staged at least */
	bool in_capsule;   /* its data travels with the capsule */
	bool digest_bad;   /* some C2HData failed its digest */
	bool last_seen;	   /* C2HData with LAST came */
	uint8_t nr_r2t;
	struct tcp_r2t r2t[TCP_HOST_MAXR2T]; /* oldest first */
	uint32_t moved;			     /* its first bytes: so many came as C2HData, were asked for, or are in the capsule */
	uint32_t nr_ahead;		     /* of a write whose bytes are asked for out of order: ahead[] */
	uint64_t stage_gen;		     /* the burst its data was last staged in */
	uint32_t stage_end;		     /* index in tx.iov behind its data there */
	struct tcp_piece ahead[TCP_HOST_AHEAD];
};

/* Payload that a PDU under way still needs. */
struct tcp_tx_data {
	struct host_req *req; /* NULL: none */
	uint32_t off, left;
	uint32_t crc;
};

struct tcp_tx {
	struct cds_list_head pending; /* tcp_req.link */
	uint32_t first, count;	      /* iov[first..count) is staged and not sent */
	uint32_t buf_used;
	struct tcp_tx_data data;
	uint64_t gen; /* of the burst: all of one burst leaves before the next is staged */
	bool blocked; /* the socket was full: wait for EPOLLOUT */
	/* What is staged; not initialised, the last of tcp_queue. */
	struct iovec iov[TCP_TX_IOV];
	uint8_t buf[TCP_TX_BUF];
};

struct tcp_endpoint {
	struct host_link_params p;
	struct inet_peer peer;
	struct inet_olds olds; /* tcp_host_old.c */
	uint8_t *staging;      /* one queue at a time receives, and leaves nothing behind in it */
};
/* The generic code calls it host_endpoint. */
static inline struct tcp_endpoint *to_tcp_endpoint(struct host_endpoint *ep)
{
	return (struct tcp_endpoint *)ep;
}

struct tcp_queue {
	struct host_queue q;
	struct tcp_endpoint *ep;
	struct inet_waiter wait;
	int fd; /* -1: none */
	struct loop_fd lf;
	struct loop_defer flush;
	uint8_t *staging; /* the endpoint's, or its I/O thread's */
	bool linking;	  /* connect() is under way */
	bool linked;	  /* the IC exchange is over */
	bool dead;	  /* failed or stopped: touch nothing any more */
	bool closed;	  /* by the peer, or broken: nothing reaches it any more */
	uint8_t cpda;	  /* alignment the ctrl asked for, 0's based dwords */
	uint32_t maxh2cdata;
	uint32_t nr_out; /* requests handed to submit() and not ended */
	struct nvme_tcp_rx rx;
	struct host_req *rx_req; /* whose data is being received */
	uint32_t rx_off;	 /* where in its data this PDU's payload begins */
	struct tcp_tx tx;	 /* last: its end is not initialised */
};
static inline struct tcp_queue *to_tcp_queue(struct host_queue *q)
{
	return container_of(q, struct tcp_queue, q);
}
static inline struct tcp_req *to_tcp_req(struct host_req *req)
{
	return (struct tcp_req *)req->priv;
}

/* link */
void tcp_host_link_start(struct tcp_queue *tq);
bool tcp_host_link_event(struct tcp_queue *tq, uint32_t events);
void tcp_host_ic_received(struct tcp_queue *tq);
bool tcp_host_event(struct loop_fd *lf, uint32_t events);

/* tx */
void tcp_host_tx_init(struct tcp_tx *tx);
void tcp_host_tx_add(struct tcp_queue *tq, struct host_req *req);
void tcp_host_tx_flush(struct tcp_queue *tq);
/* Bytes of req are still on their way out. */
bool tcp_host_tx_busy(const struct tcp_queue *tq, struct host_req *req);
/* Says goodbye with the reason, as far as the socket takes it, and fails the queue. */
void tcp_host_terminate(struct tcp_queue *tq, uint16_t fes, uint32_t fei, int code, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
void tcp_host_lost(struct tcp_queue *tq, int err, const char *doing);

extern const struct host_transport tcp_host_transport;

/* old: takes fd over; whether all that were taken over are settled */
void tcp_host_old_keep(struct tcp_endpoint *ep, int fd);
bool tcp_host_settled(struct host_endpoint *hep);

/* r2t */
void tcp_host_r2t_received(struct tcp_queue *tq);
/* Bytes of a write that were asked for. */
uint32_t tcp_host_r2t_asked(const struct tcp_req *tr);

/* rx */
/* Whom the PDU that came is about; NULL: about no command, and the connection is over. */
struct host_req *tcp_host_rx_lookup(struct tcp_queue *tq, uint16_t cid, const char *what);
/* The staging buffer that the queues on an I/O thread's loop share.  0 or -ENOMEM. */
int tcp_host_thread_staging(struct loop *loop, uint8_t **staging);
bool tcp_host_rx_run(struct tcp_queue *tq);

/*
 * The part [off, off + len) of req's data as iovecs: at most room of them.  Returns how many bytes they cover.
 */
uint32_t tcp_req_iov(const struct host_req *req, uint32_t off, uint32_t len, struct iovec *iov, uint32_t room, uint32_t *used);

#endif
