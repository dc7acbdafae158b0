/* SPDX-License-Identifier: BSD-3-Clause */
/* What the I/O commands share: their state in target_req.scratch, from execute to the answer. */
#ifndef NVOF_TARGET_IO_H
#define NVOF_TARGET_IO_H

#include "target/target.h"

#define DSM_RANGES_MAX 256

struct io_state {
	struct backend_io io;
	/* commands of several steps (io_steps.c) */
	bool (*next)(struct target_req *req, struct io_state *st); /* sets up io; false: that was all */
	uint16_t status;
	bool inside, came; /* inside submit(); done() came meanwhile */
	uint32_t i;
	uint64_t pos;
	struct iovec iov;
	void *buf; /* from the thread's pool, buf_len bytes; given back at the end */
	size_t buf_len;
};
static_assert(sizeof(struct io_state) <= sizeof(((struct target_req *)0)->scratch), "state of an I/O command");

static inline struct io_state *io_state(struct target_req *req)
{
	return (struct io_state *)req->scratch;
}

static inline struct target_req *io_req(struct backend_io *io)
{
	return container_of((void *)container_of(io, struct io_state, io), struct target_req, scratch);
}

/* Ranges of a Dataset Management command. */
static inline uint32_t target_dsm_nr(const struct target_req *req)
{
	return (le32toh(req->sqe.cdw10) & 0xff) + 1;
}

uint16_t target_io_status(enum backend_op op, int result);
/* One operation of the backend, then the answer. */
void target_io_submit(struct target_req *req, struct backend_io io);
void target_compare(struct target_req *req, uint64_t slba);
void target_verify(struct target_req *req, uint64_t slba, uint64_t nlb);
void target_dsm(struct target_req *req);

#endif
