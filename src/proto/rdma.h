/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes of the NVMe RDMA transport (NVMe RDMA Transport Specification 1.0): the private data of connection management messages (section
 * 3.1) and keyed SGLs (section 3.2).
 */
#ifndef NVOF_PROTO_RDMA_H
#define NVOF_PROTO_RDMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cmd.h"

#define NVME_RDMA_CM_REQ_LEN	32
#define NVME_RDMA_CM_ACCEPT_LEN 32
#define NVME_RDMA_CM_REJECT_LEN 4
#define NVME_RDMA_KEYED_LEN_MAX 0xffffffu /* a keyed SGL descriptor's length has 24 bits */
#define NVME_RDMA_SGL_MAX	16	  /* keyed descriptors of one command that we understand */

/* Why a connection is refused (STS). */
enum nvme_rdma_cm_status {
	NVME_RDMA_CM_INVALID_LEN = 0x01,
	NVME_RDMA_CM_INVALID_RECFMT = 0x02,
	NVME_RDMA_CM_INVALID_QID = 0x03,
	NVME_RDMA_CM_INVALID_HSQSIZE = 0x04,
	NVME_RDMA_CM_INVALID_HRQSIZE = 0x05,
	NVME_RDMA_CM_NO_RSC = 0x06,
	NVME_RDMA_CM_INVALID_IRD = 0x07,
	NVME_RDMA_CM_INVALID_ORD = 0x08,
	NVME_RDMA_CM_INVALID_CNTLID = 0x09,
};
const char *nvme_rdma_cm_status_name(uint16_t sts); /* "invalid HSQSIZE"; "unknown status" */

struct nvme_rdma_cm_req {
	uint16_t qid;
	uint16_t hrqsize; /* 1's based: receive work requests the host keeps posted */
	uint16_t hsqsize; /* 0's based: entries of its submission queue */
	uint16_t cntlid;  /* I/O queues; FFFFh or 0 otherwise */
};

void nvme_rdma_cm_req_build(const struct nvme_rdma_cm_req *req, uint8_t wire[NVME_RDMA_CM_REQ_LEN]);
/* 0, or the status to refuse it with.  Bytes beyond the message are padding of the CM. */
uint16_t nvme_rdma_cm_req_parse(const void *wire, size_t len, struct nvme_rdma_cm_req *req);

void nvme_rdma_cm_accept_build(uint16_t crqsize, uint8_t wire[NVME_RDMA_CM_ACCEPT_LEN]);
/* NULL, or what is wrong with it. */
const char *nvme_rdma_cm_accept_parse(const void *wire, size_t len, uint16_t *crqsize);

void nvme_rdma_cm_reject_build(uint16_t sts, uint8_t wire[NVME_RDMA_CM_REJECT_LEN]);
bool nvme_rdma_cm_reject_parse(const void *wire, size_t len, uint16_t *sts); /* false: none of ours */

/* ---- SGLs ---- */

struct nvme_rdma_seg {
	uint64_t addr;
	uint32_t len, key;
};

/* Where the data of a command is. */
struct nvme_rdma_sgl {
	uint32_t len; /* all of it */
	bool in_capsule;
	uint32_t nr; /* of seg, when it is not in the capsule */
	struct nvme_rdma_seg seg[NVME_RDMA_SGL_MAX];
	bool invalidate; /* the host wants inv_key to be invalidated with the response */
	uint32_t inv_key;
};

void nvme_rdma_keyed_build(struct nvme_sgl_desc *sgl, uint64_t addr, uint32_t len, uint32_t key, bool invalidate);
/*
 * data, data_len: what the capsule brought behind the SQE; max_nr: as many keyed descriptors as were offered (MSDBD).  0 or an NVMe status.
 */
uint16_t nvme_rdma_sgl_parse(const struct nvme_sqe *sqe, const uint8_t *data, uint32_t data_len, uint32_t max_nr,
			     struct nvme_rdma_sgl *sgl);

#endif
