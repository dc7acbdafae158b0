/* SPDX-License-Identifier: BSD-3-Clause */
/* One I/O as its user asked for it, and how a command is made from it. */
#ifndef NVOF_HOST_IO_H
#define NVOF_HOST_IO_H

#include "host/hctx.h"
#include "host/ns.h"

#define NVME_RW_FUA  (1u << 30)
#define NVME_RW_LR   (1u << 31)
#define NVME_RW_DEAC (1u << 25)

struct io {
	struct nvof_ns *ns;
	uint64_t slba;
	uint32_t nlb;
	uint32_t max_nlb; /* blocks that one command may carry */
	uint32_t control; /* bits of dword 12 beside NLB */
	uint8_t opcode;
	enum data_dir dir;
	const struct iovec *iov; /* NULL: no data */
	uint32_t iovcnt;
	nvof_cb *cb;
	void *arg;
};

static inline void io_fill_sqe(const struct io *io, uint64_t slba, uint32_t nlb, struct nvme_sqe *sqe)
{
	*sqe = (struct nvme_sqe){
		.opcode = io->opcode,
		.flags = NVME_SQE_PSDT_SGL,
		.nsid = io->ns->nsid_le,
		.cdw10 = htole32((uint32_t)slba),
		.cdw11 = htole32((uint32_t)(slba >> 32)),
		.cdw12 = htole32((nlb - 1) | io->control),
	};
}

#endif
