/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A scripted NVMe/TCP target for tests of the host: it answers the set-up of a ctrl by itself in a sane way, sends whatever raw PDUs a test
 * asks for, and lets a hook take over any PDU at any state.  One thread: everything runs inside peer_run_until(), which also drives the
 * host's ctx.
 *
 * It has its own small PDU reader on purpose: a mistake in the library's parser must not hide itself.
 */
#ifndef NVOF_TESTS_TARGET_PEER_H
#define NVOF_TESTS_TARGET_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include <nvof/nvof.h>

#include "proto/tcp.h"

#define PEER_CONNS 80
#define PEER_HELD  300

struct peer;

struct peer_conn {
	struct peer *p;
	int fd;	   /* -1: closed */
	int index; /* in order of accept */
	bool ic_done, connected;
	bool hdgst, ddgst;
	uint16_t qid; /* by its Connect; 0xffff before */
	uint8_t *in;  /* bytes received and not yet used */
	size_t in_len;
	bool closed_by_host;
	uint32_t term_fes; /* of the H2CTermReq that came; 0: none */
	uint32_t term_fei;
};

/* What arrived: a whole PDU.  pdu: header; data: its payload (without padding and digest). */
struct peer_pdu {
	struct peer_conn *c;
	union nvme_tcp_pdu pdu;
	uint8_t *data;
	uint32_t data_len;
};

/* Answers of the default script. */
struct peer_script {
	/* ICResp */
	uint16_t pfv;
	uint8_t cpda;
	int dgst; /* -1: as asked */
	uint32_t maxh2cdata;
	/* Connect: status (SCT << 8 | SC | DNR ...) and dword 0 on qid >= fail_qid */
	uint16_t connect_status;
	uint32_t connect_dw0;
	uint16_t fail_qid;
	bool sqflow_off_granted;
	/* Set Features 07h: I/O queues granted, 1's based; 0 means "zero granted" can't be said: see features_status */
	uint32_t grant;
	uint16_t features_status;
	/* Identify */
	uint8_t cntrltype;
	uint32_t ioccsz;
	uint8_t mdts;
	uint64_t ns_blocks;
	uint8_t lba_shift;
	uint16_t mqes; /* 0's based */
	bool csts_never_ready;
};

struct peer {
	struct nvof_ctx *ctx;
	struct nvof_ctrl *ctrl; /* of peer_connect() */
	int lfd;
	char port[8];
	struct peer_script script;
	struct peer_conn conns[PEER_CONNS];
	int nr_conns;
	/* Asked for each whole PDU before the default script; true: handled, the script does nothing. */
	bool (*hook)(struct peer *p, struct peer_pdu *pdu);
	/* Asked right after accept; true: the script leaves this connection alone (silent). */
	bool (*accept_hook)(struct peer *p, struct peer_conn *c);
	void *arg;
	/* Commands of LIVE I/O queues and held admin commands wait here for the test. */
	struct peer_pdu held[PEER_HELD];
	int nr_held;
	/* peer_connect() */
	bool connect_done;
	int connect_status;
	uint32_t cc;
	/* what the host library has warned of */
	unsigned int nr_warnings;
	char warning[512]; /* the first one */
};

/* Listens on a free port of 127.0.0.1; makes a ctx. */
struct peer *peer_new(void);
void peer_free(struct peer *p);

/* Fills in transport, address, subsysnqn and hostnqn; the test changes what it wants. */
void peer_connect_opts(struct peer *p, struct nvof_connect_opts *opts);
/* Connects with opts (NULL: defaults, 1 I/O queue) and runs until it succeeded or failed; returns the status. */
int peer_connect(struct peer *p, const struct nvof_connect_opts *opts);
/* The same, and it must succeed. */
void peer_live(struct peer *p, const struct nvof_connect_opts *opts);

/* Drives both sides until cond(arg) or ms milliseconds have passed; returns cond's last answer. */
bool peer_run_until(struct peer *p, bool (*cond)(void *arg), void *arg, unsigned int ms);
void peer_run_ms(struct peer *p, unsigned int ms);

/* The next I/O (or held) command with that opcode, taken out of held; waits for it up to 20 s, then fails the test.  Free data with
 * peer_pdu_clear(). */
struct peer_pdu peer_gets(struct peer *p, uint8_t opcode);
/* The next H2CData PDU. */
struct peer_pdu peer_gets_h2c(struct peer *p);
void peer_pdu_clear(struct peer_pdu *pdu);

struct peer_conn *peer_conn_of(struct peer *p, uint16_t qid);

/* Sends; header and data digests are added as negotiated on c.  Raw: the bytes as they are. */
void peer_sends_raw(struct peer_conn *c, const void *bytes, size_t len);
void peer_sends_pdu(struct peer_conn *c, const void *pdu, size_t hlen, const void *data, size_t data_len, bool bad_ddgst);
void peer_sends_cqe(struct peer_conn *c, uint16_t cid, uint16_t status, uint64_t result);
void peer_sends_c2h(struct peer_conn *c, uint16_t cid, uint32_t off, const void *data, uint32_t len, uint8_t flags);
void peer_sends_c2h_bad_digest(struct peer_conn *c, uint16_t cid, uint32_t off, const void *data, uint32_t len, uint8_t flags);
void peer_sends_r2t(struct peer_conn *c, uint16_t cid, uint16_t ttag, uint32_t off, uint32_t len);
void peer_sends_term(struct peer_conn *c, uint16_t fes, uint32_t fei, uint32_t extra);
void peer_closes(struct peer_conn *c);
void peer_resets(struct peer_conn *c); /* RST */

#endif
