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
	bool failover; /* of a subsystem's I/O: what this ctrl can't do now another one may */
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

/* Its blocks are slba and nlb; flush and dataset management have other things there (cdw10 and cdw11). */
static inline bool io_has_range(const struct io *io)
{
	return io->opcode != nvme_cmd_flush && io->opcode != nvme_cmd_dsm;
}

/* Blocks that one command may carry now: a reconnect may have brought other limits. */
static inline uint32_t io_limit(const struct nvof_ns *ns, uint8_t opcode)
{
	switch (opcode) {
	case nvme_cmd_read:
	case nvme_cmd_write:
	case nvme_cmd_compare:
		return ns->max_nlb;
	case nvme_cmd_write_zeroes:
		return ns->max_zeroes_nlb;
	case nvme_cmd_verify:
		return ns->max_verify_nlb;
	default:
		return UINT32_MAX; /* no blocks */
	}
}

/* io, by a hctx of its namespace's ctrl; buf: its data when it has no iov.  max_nlb is set.  0 or why not, as nvof_read(). */
int io_start(struct nvof_hctx *hctx, struct io *io, void *buf);

#endif
