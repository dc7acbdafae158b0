/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a namespace's blocks live.  One small interface; offsets and lengths are bytes, checked against the size and the block size by
 * the caller.  submit() may be called from any I/O thread at once for different ios; done() runs on the thread of io->loop, from inside
 * submit() or later, exactly once.
 */
#ifndef NVOF_TARGET_BACKEND_H
#define NVOF_TARGET_BACKEND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"
#include "base/loop.h"

enum backend_op { BACKEND_READ, BACKEND_WRITE, BACKEND_FLUSH, BACKEND_DISCARD, BACKEND_ZERO };

struct backend;

struct backend_io {
	enum backend_op op;
	bool fua;     /* WRITE, ZERO: on stable media before done */
	bool dealloc; /* ZERO: may punch a hole */
	uint64_t offset, len;
	const struct iovec *iov; /* READ, WRITE: len bytes; the io's until done */
	uint32_t iovcnt;
	struct loop *loop;				 /* done() runs on its thread */
	void (*done)(struct backend_io *io, int status); /* 0, negative errno, or a positive NVMe status */
	struct loop_work work;				 /* the backend's, to get back to the loop */
	struct backend *backend;
	int result;
	struct cds_list_head link;
};

struct backend_ops {
	const char *name; /* "mem", "file", "null": the word before the colon of --ns */
	/* arg: what stands behind the colon ("64M", "PATH").  block_size: the namespace's.  0 or -errno with a sentence. */
	int (*open)(const char *arg, uint32_t block_size, bool readonly, struct backend **b, struct error *err);
	void (*close)(struct backend *b); /* no io under way */
	/* Bytes, now; whole blocks.  May be a system call: for open, resize and status, not for each I/O. */
	uint64_t (*size)(struct backend *b);
	void (*submit)(struct backend *b, struct backend_io *io);
	/* Optional: memory that holds [offset, offset + len) and may be sent from until the namespace reference is put: zero-copy reads. */
	bool (*map)(struct backend *b, uint64_t offset, uint64_t len, struct iovec *iov, uint32_t *iovcnt /* in: room; out: used */);
	bool map_is_const;    /* what map() gives never changes */
	bool map_is_writable; /* what is put there, in whole blocks, is written: nothing else is to be done for a WRITE */
	/* Optional.  0 or -errno with a sentence.  Safe beside I/O inside the smaller of both sizes.  size 0: take what is there now (a
	 * file that grew); size() then tells. */
	int (*resize)(struct backend *b, uint64_t size, struct error *err);
	bool volatile_cache; /* the ctrl reports VWC when any of its backends has one */
};

struct backend {
	const struct backend_ops *ops;
	/* Set by open and resize: what the owner shall know although it worked ("the last 100 bytes are not used ..."), for the log.  ""
	 * else. */
	char notice[192];
	/* Set by open: tells these contents from others that may stand in the same place later; part of the namespace's default
	 * identifiers.  "": there are no contents. */
	char contents[80];
	/* Set by open: somebody else writes to these contents, as far as that can be told. */
	bool shared;
};

extern const struct backend_ops *const target_backends[]; /* NULL-terminated; in backend/registry.c */
/* "mem:64M", "file:PATH" ...: finds the backend and opens it.  0 or -errno with a sentence. */
int backend_open(const char *spec, uint32_t block_size, bool readonly, struct backend **b, struct error *err);
/* NULL is fine.  No io under way. */
void backend_close(struct backend *b);

#endif
