/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target core of the test's own, so that a transport's target half is tested alone: it answers at once or when told to, and counts.
 * With it a raw-PDU host on a socket.  Everything runs on the test's thread: whoever waits turns the loop.
 */
#ifndef NVOF_TESTS_FAKE_TARGET_H
#define NVOF_TESTS_FAKE_TARGET_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/tcp.h"
#include "transport/target_ops.h"

extern const struct target_transport tcp_target_transport;

enum {
	FT_FLUSH = 0x00,
	FT_WRITE = 0x01,
	FT_READ = 0x02,
	FT_RESULT = 0x0c,      /* answers with result 0x1234 */
	FT_READ_ERR = 0x12,    /* a read that fails with 0281h after it was begun */
	FT_READ_RESULT = 0x22, /* a read whose CQE has a result */
	FT_BAD = 0xc3,	       /* refused with 02h before any data */
};

#define FT_MAX_LEN (8u << 20)

struct fake {
	struct loop *loop;
	struct target_listener *listener;
	struct target_link_params params;
	struct log log; /* of the queues; silent unless a test sets it */
	uint16_t port;
	struct target_queue *q; /* of the last connection; NULL when freed */
	bool hold;		/* requests wait for ft_release() */
	bool hold_accept, hold_icreq;
	struct target_req *held[64];
	unsigned int nr_held;
	unsigned int nr_conns, nr_freed, nr_closed, nr_fatal;
	unsigned int nr_begun, nr_executed, nr_rejected, nr_responded, nr_ended;
	uint16_t last_status; /* of the last reject */
	char why[256];
	uint8_t *data;	  /* what reads give and writes store: byte i is at [i] of every command */
	uint32_t written; /* bytes of the last write that was executed */
	uint32_t piece;	  /* iovec length of reads and writes; 0: one piece */
	uint32_t block;	  /* not 0: writes of whole blocks go straight to data; piece is a multiple of it */
};

extern struct fake ft;

int ft_setup(void **state);
int ft_teardown(void **state); /* everything that began has ended, every connection was freed */
void ft_turn(void);
void ft_release(void); /* answers what is held */

/* The host on the other side. */
struct raw {
	int fd;
	bool hdgst, ddgst;
	uint8_t hpda;
	uint16_t next_cid;
	uint8_t *buf; /* received, not looked at yet */
	size_t have, room;
	bool eof;
};

struct raw_pdu {
	union nvme_tcp_pdu pdu;
	uint8_t *data; /* C2HData: free() it */
	uint32_t data_len;
};

void raw_open(struct raw *r);
void raw_close(struct raw *r);
void raw_send(struct raw *r, const void *bytes, size_t len);
/* A PDU with right lengths and digests. */
void raw_send_pdu(struct raw *r, const void *hdr, const void *data, uint32_t len, bool bad_ddgst);
size_t raw_build_pdu(const struct raw *r, uint8_t *out, const void *hdr, const void *data, uint32_t len, bool bad_ddgst);
/* False: the target has closed. */
bool raw_recv(struct raw *r, struct raw_pdu *in);
void raw_icreq(struct raw *r, uint16_t pfv, uint8_t hpda, uint8_t dgst);
void raw_ready(struct raw *r, uint8_t hpda, uint8_t dgst); /* opens; ICReq, ICResp */
struct nvme_tcp_cmd raw_cmd(struct raw *r, uint8_t opcode, uint8_t sgl_type, uint32_t len);
/* Sends a command without data, in capsule data if given. */
uint16_t raw_command(struct raw *r, uint8_t opcode, uint8_t sgl_type, uint32_t len, const void *data, uint32_t data_len);
/* The next PDU is the response to cid; returns its status. */
uint16_t raw_response(struct raw *r, uint16_t cid);
/* The data of a read and its response. */
void raw_expect_read(struct raw *r, uint16_t cid, uint32_t len);
/* C2HTermReq, then the end. */
void raw_expect_term(struct raw *r, uint16_t fes, uint32_t fei);
void raw_expect_end(struct raw *r);
/* The connection still serves. */
void raw_expect_alive(struct raw *r);
struct nvme_tcp_data raw_h2c(uint16_t cid, uint16_t ttag, uint32_t off, uint32_t len, bool last);
/* The next PDU is an R2T for cid. */
struct nvme_tcp_r2t raw_r2t(struct raw *r, uint16_t cid);

#endif
