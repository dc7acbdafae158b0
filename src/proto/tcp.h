/* SPDX-License-Identifier: BSD-3-Clause */
/* NVMe/TCP PDUs: NVM Express TCP Transport 1.0 section 3.6.  All fields little-endian. */
#ifndef NVOF_PROTO_TCP_H
#define NVOF_PROTO_TCP_H

#include <assert.h>

#include "proto/cmd.h"

enum nvme_tcp_type {
	NVME_TCP_ICREQ = 0x00,
	NVME_TCP_ICRESP = 0x01,
	NVME_TCP_H2C_TERM = 0x02,
	NVME_TCP_C2H_TERM = 0x03,
	NVME_TCP_CMD = 0x04,
	NVME_TCP_RSP = 0x05,
	NVME_TCP_H2C_DATA = 0x06,
	NVME_TCP_C2H_DATA = 0x07,
	NVME_TCP_R2T = 0x09,
};

#define NVME_TCP_F_HDGST   0x01
#define NVME_TCP_F_DDGST   0x02
#define NVME_TCP_F_LAST	   0x04 /* H2CData, C2HData */
#define NVME_TCP_F_SUCCESS 0x08 /* C2HData: no response capsule follows */

#define NVME_TCP_DIGEST_LEN	    4
#define NVME_TCP_PDA_MAX	    31 /* HPDA and CPDA are 0's based dwords */
#define NVME_TCP_MIN_MAXH2CDATA	    4096
#define NVME_TCP_ADMIN_CAPSULE_DATA 8192 /* admin and fabrics capsules may carry this much whatever IOCCSZ says */
#define NVME_TCP_TERM_MAX_PLEN	    152	 /* 24 + at most 128 bytes of the PDU at fault */

struct nvme_tcp_hdr {
	uint8_t type, flags;
	uint8_t hlen;
	uint8_t pdo;
	uint32_t plen;
};
static_assert(sizeof(struct nvme_tcp_hdr) == 8, "common header");

struct nvme_tcp_ic { /* ICReq (hpda, maxr2t) and ICResp (cpda, maxdata) */
	struct nvme_tcp_hdr hdr;
	uint16_t pfv;
	uint8_t pda;	 /* ICReq: HPDA; ICResp: CPDA */
	uint8_t dgst;	 /* bit 0 header, bit 1 data */
	uint32_t maxval; /* ICReq: MAXR2T, 0's based; ICResp: MAXH2CDATA, bytes */
	uint8_t rsvd16[112];
};
static_assert(sizeof(struct nvme_tcp_ic) == 128, "ICReq / ICResp");

struct nvme_tcp_term { /* H2CTermReq and C2HTermReq */
	struct nvme_tcp_hdr hdr;
	uint16_t fes;
	uint8_t fei[4]; /* unaligned le32 */
	uint8_t rsvd14[10];
};
static_assert(sizeof(struct nvme_tcp_term) == 24, "TermReq");

enum nvme_tcp_fes {
	NVME_TCP_FES_INVALID_HDR = 0x01,
	NVME_TCP_FES_SEQUENCE = 0x02,
	NVME_TCP_FES_HDGST = 0x03,
	NVME_TCP_FES_RANGE = 0x04, /* data transfer out of range */
	NVME_TCP_FES_LIMIT = 0x05, /* data transfer / R2T limit exceeded */
	NVME_TCP_FES_UNSUPPORTED = 0x06,
};

struct nvme_tcp_cmd {
	struct nvme_tcp_hdr hdr;
	struct nvme_sqe sqe;
};
static_assert(sizeof(struct nvme_tcp_cmd) == 72, "CapsuleCmd");

struct nvme_tcp_rsp {
	struct nvme_tcp_hdr hdr;
	struct nvme_cqe cqe;
};
static_assert(sizeof(struct nvme_tcp_rsp) == 24, "CapsuleResp");

struct nvme_tcp_data { /* H2CData and C2HData */
	struct nvme_tcp_hdr hdr;
	uint16_t cccid;
	uint16_t ttag; /* H2CData: from the R2T; C2HData: reserved */
	uint32_t datao, datal;
	uint8_t rsvd20[4];
};
static_assert(sizeof(struct nvme_tcp_data) == 24, "H2CData / C2HData");

struct nvme_tcp_r2t {
	struct nvme_tcp_hdr hdr;
	uint16_t cccid;
	uint16_t ttag;
	uint32_t r2to, r2tl;
	uint8_t rsvd20[4];
};
static_assert(sizeof(struct nvme_tcp_r2t) == 24, "R2T");

union nvme_tcp_pdu {
	struct nvme_tcp_hdr hdr;
	struct nvme_tcp_ic ic;
	struct nvme_tcp_term term;
	struct nvme_tcp_cmd cmd;
	struct nvme_tcp_rsp rsp;
	struct nvme_tcp_data data;
	struct nvme_tcp_r2t r2t;
	uint8_t raw[128 + NVME_TCP_DIGEST_LEN];
};

/* "CapsuleResp", "R2T" ...; "unknown" otherwise. */
const char *nvme_tcp_type_name(uint8_t type);
/* "Invalid PDU Header Field" ...; "unknown" otherwise (C110). */
const char *nvme_tcp_fes_name(uint16_t fes);

/*
 * Where data starts in a PDU: header, header digest, then padding up to the alignment the RECEIVER asked for
 * (pda: its HPDA or CPDA, 0's based dwords).
 */
static inline uint8_t nvme_tcp_pdo(uint8_t hlen, bool hdgst, uint8_t pda)
{
	uint32_t align = ((uint32_t)pda + 1) * 4, off = hlen + (hdgst ? NVME_TCP_DIGEST_LEN : 0);

	return (uint8_t)((off + align - 1) / align * align);
}

#endif
