/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's connection: a closed loop of qd requests.  A request that ends is sent again, to a random place. */
#ifndef NVOF_BENCH_LIMIT_CONN_H
#define NVOF_BENCH_LIMIT_CONN_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/hist.h"
#include "limit.h"

struct conn_opts {
	int port;
	const char *congestion;
	unsigned int qd;
	uint32_t size;
	bool write, digest;  /* digest: what was read is summed, as the server does (-g) */
	uint64_t area_len;   /* the server's */
	uint32_t min_direct; /* data of at least this size goes straight to its buffer; 0: never */
	uint32_t tail;	     /* staging behind it in the same recvmsg */
};

struct conn {
	struct conn_opts o;
	int fd;
	uint64_t now, rng;
	uint8_t *bufs; /* qd of them */
	uint64_t *sent_at, *offset;
	bool *flying;
	/* Capsules to send: ring[head..tail), head_sent bytes of the first are gone. */
	struct capsule *ring;
	uint16_t *ring_cid;
	unsigned int ring_len, head, tail;
	uint32_t head_sent;
	struct iovec *iov;
	/* The answer that is being received. */
	struct answer hdr;
	uint32_t hdr_len, left, crc;
	uint8_t *dst, *staging;
	/* What was measured. */
	uint64_t done, nr_sends, nr_recvs;
	struct hist lat;
};

void conn_init(struct conn *c, const struct conn_opts *o);
void conn_start(struct conn *c); /* puts all requests in flight */
void conn_reset_stats(struct conn *c);
/* Sends what is queued.  Return: false when the socket is full. */
bool conn_flush(struct conn *c);
/* One recv.  Return: bytes, 0 when there was nothing; *filled: the socket may have more. */
ssize_t conn_recv(struct conn *c, bool *filled);

#endif
