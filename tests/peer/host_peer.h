/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A scripted NVMe/TCP host for tests of the target: a blocking socket, raw PDUs, and the few steps of a set-up ready made.  Every receive
 * ends after 20 s with a failed test.  It has its own PDU reader on purpose.
 */
#ifndef NVOF_TESTS_HOST_PEER_H
#define NVOF_TESTS_HOST_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include <nvof/target.h>

#include "proto/tcp.h"

#define HP_NQN	   "nqn.2024-01.org.example:disk"
#define HP_HOSTNQN "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-4333-8444-555555555555"

/* A target with one subsystem (HP_NQN) and one 64 MiB mem namespace that listens on 127.0.0.1. */
struct hp_target {
	struct nvof_target *t;
	char addr[64];
	uint16_t port;
};
void hp_target_start(struct hp_target *ht, const struct nvof_target_opts *opts);
void hp_target_stop(struct hp_target *ht);

struct hp {
	int fd;
	bool hdgst, ddgst;
	uint8_t hpda, cpda;
	uint32_t maxh2cdata;
	uint16_t cntlid;
	uint16_t next_cid;
};

/* A received PDU. */
struct hp_pdu {
	union nvme_tcp_pdu pdu;
	uint8_t *data; /* free() it */
	uint32_t data_len;
};

void hp_open(struct hp *h, uint16_t port);
void hp_close(struct hp *h);

void hp_send_raw(struct hp *h, const void *bytes, size_t len);
/* Fills in lengths, PDO, digests as negotiated. */
void hp_send_pdu(struct hp *h, const void *pdu, size_t hlen, const void *data, size_t len, bool bad_ddgst);
/* false: the target closed. */
bool hp_recv(struct hp *h, struct hp_pdu *in);
/* The target closes (whatever it sends before is thrown away); returns the FES of a C2HTermReq on the way, 0: none. */
uint16_t hp_expect_closed(struct hp *h, uint32_t *fei);

void hp_icreq(struct hp *h, uint16_t pfv, uint8_t hpda, uint8_t dgst, uint32_t maxr2t);
/* ICReq and a good ICResp. */
void hp_ic(struct hp *h, uint8_t dgst, uint8_t hpda);

/* Sends a command with an SGL for len bytes: in capsule when data is not NULL.  Returns its cid (CPU order). */
uint16_t hp_cmd(struct hp *h, struct nvme_sqe *sqe, const void *data, uint32_t len);
/* The response to cid; C2HData on the way goes to buf.  Returns the status; *result may be NULL. */
uint16_t hp_status(struct hp *h, uint16_t cid, void *buf, uint32_t len, uint64_t *result);

struct hp_connect {
	uint16_t qid, sqsize, cntlid, recfmt;
	uint32_t kato;
	uint8_t cattr;
	struct nvmf_connect_data data;
};
void hp_connect_init(struct hp_connect *c, uint16_t qid, uint16_t cntlid);
uint16_t hp_connect(struct hp *h, const struct hp_connect *c, uint64_t *result);

uint16_t hp_prop_set(struct hp *h, uint32_t offset, uint8_t attrib, uint64_t value);
uint16_t hp_prop_get(struct hp *h, uint32_t offset, uint8_t attrib, uint64_t *value);
/* Admin queue up to CSTS.RDY, cntlid known. */
void hp_admin(struct hp *h, uint16_t port, uint8_t dgst, uint8_t hpda);
/* An I/O queue of that ctrl. */
void hp_io_queue(struct hp *h, uint16_t port, const struct hp *admin, uint16_t qid, uint8_t dgst, uint8_t hpda);

/* Read and write by the book; status. */
uint16_t hp_read(struct hp *h, uint32_t nsid, uint64_t slba, uint32_t nlb, void *buf);
uint16_t hp_write(struct hp *h, uint32_t nsid, uint64_t slba, uint32_t nlb, const void *buf, bool in_capsule);
void hp_sqe_rw(struct nvme_sqe *sqe, uint8_t opcode, uint32_t nsid, uint64_t slba, uint32_t nlb);

#endif
