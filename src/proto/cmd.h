/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Submission and completion queue entries and the Fabrics commands: what libnvme's nvme/types.h leaves to the kernel's headers.
 * NVM Express Base 2.0 section 3.3.3 (SQE, CQE), section 6 (Fabrics commands).  All fields little-endian.
 */
#ifndef NVOF_PROTO_CMD_H
#define NVOF_PROTO_CMD_H

#include <assert.h>
#include <endian.h>
#include <nvme/types.h>
#include <stdbool.h>
#include <stdint.h>

struct nvme_sgl_desc {
	uint64_t addr; /* offset for an in-capsule data block */
	uint32_t length;
	uint8_t rsvd[3];
	uint8_t type; /* SGL type << 4 | subtype */
};
struct nvme_keyed_sgl_desc {
	uint64_t addr;
	uint8_t length[3];
	uint8_t key[4];
	uint8_t type;
};
static_assert(sizeof(struct nvme_sgl_desc) == 16 && sizeof(struct nvme_keyed_sgl_desc) == 16, "SGL descriptor");

enum nvme_sgl_type {
	NVME_SGL_OFFSET = 0x01,	   /* data block, offset: in-capsule data */
	NVME_SGL_TRANSPORT = 0x5a, /* transport data block: TCP moves it with H2CData / C2HData */
	NVME_SGL_KEYED = 0x40,	   /* keyed data block */
	NVME_SGL_KEYED_INVALIDATE = 0x4f,
};

struct nvme_sqe {
	uint8_t opcode;
	uint8_t flags; /* FUSE 1:0, PSDT 7:6 */
	uint16_t cid;
	uint32_t nsid;
	uint32_t cdw2, cdw3;
	uint64_t mptr;
	struct nvme_sgl_desc sgl;
	uint32_t cdw10, cdw11, cdw12, cdw13, cdw14, cdw15;
};
static_assert(sizeof(struct nvme_sqe) == 64, "SQE");
#define NVME_SQE_PSDT_SGL 0x40 /* fabrics: SGLs are used for this transfer */

struct nvme_cqe {
	union {
		uint64_t result;
		struct {
			uint32_t dw0, dw1;
		};
	};
	uint16_t sqhd;
	uint16_t sqid;
	uint16_t cid;
	uint16_t status; /* bit 0 reserved (phase); 15:1 the status field */
};
static_assert(sizeof(struct nvme_cqe) == 16, "CQE");

/* Status as the API hands it out: the status field without the phase bit. */
#define NVME_STATUS(sct, sc)	 ((sct) << 8 | (sc))
#define NVME_STATUS_DNR		 0x4000
#define NVME_STATUS_MORE	 0x2000
#define NVME_STATUS_CODE(status) ((status)&0x7ff) /* SCT and SC alone */
#define NVME_STATUS_CRD(status)	 (((status) >> 11) & 3)

enum { NVMF_OPCODE = 0x7f };
enum nvmf_fctype {
	NVMF_PROPERTY_SET = 0x00,
	NVMF_CONNECT = 0x01,
	NVMF_PROPERTY_GET = 0x04,
	NVMF_AUTH_SEND = 0x05,
	NVMF_AUTH_RECV = 0x06,
	NVMF_DISCONNECT = 0x08,
};

struct nvmf_connect_cmd {
	uint8_t opcode, flags;
	uint16_t cid;
	uint8_t fctype;
	uint8_t rsvd5[19];
	struct nvme_sgl_desc sgl;
	uint16_t recfmt;
	uint16_t qid;
	uint16_t sqsize; /* 0's based */
	uint8_t cattr;
	uint8_t rsvd47;
	uint32_t kato; /* ms */
	uint8_t rsvd52[12];
};
static_assert(sizeof(struct nvmf_connect_cmd) == 64, "Connect");
#define NVMF_CATTR_DISABLE_SQFLOW 0x04

struct nvmf_property_cmd {
	uint8_t opcode, flags;
	uint16_t cid;
	uint8_t fctype;
	uint8_t rsvd5[35];
	uint8_t attrib; /* bits 2:0: 0 = 4 bytes, 1 = 8 bytes */
	uint8_t rsvd41[3];
	uint32_t offset;
	uint64_t value; /* Set only */
	uint8_t rsvd56[8];
};
static_assert(sizeof(struct nvmf_property_cmd) == 64, "Property Get/Set");

struct nvmf_disconnect_cmd {
	uint8_t opcode, flags;
	uint16_t cid;
	uint8_t fctype;
	uint8_t rsvd5[19];
	struct nvme_sgl_desc sgl;
	uint16_t recfmt;
	uint8_t rsvd42[22];
};
static_assert(sizeof(struct nvmf_disconnect_cmd) == 64, "Disconnect");

static_assert(sizeof(struct nvmf_connect_data) == 1024, "Connect data");

/* Connect's CQE dw0: success: cntlid 15:0, authreq 31:16.  Invalid Parameters: IPO 15:0, IATTR 23:16 (1: in the data). */
#define NVMF_CONNECT_IPO(dw0)	((dw0)&0xffff)
#define NVMF_CONNECT_IATTR(dw0) (((dw0) >> 16) & 1)

#define NVMF_DISC_NQN	       "nqn.2014-08.org.nvmexpress.discovery"
#define NVMF_NQN_MAX	       223 /* bytes without the NUL */
#define NVMF_CNTLID_DYNAMIC    0xffff
#define NVMF_CNTLID_STATIC_ANY 0xfffe
#define NVMF_MAX_SQSIZE_ADMIN  31 /* 0's based: 32 entries, the admin queue's size of the fabrics hosts in use */

#endif
