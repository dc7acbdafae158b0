/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file or block device as a backend: what its parts share.
 *
 *   file.c        opens, sizes, chooses the engine
 *   file_op.c     one io, blocking: every case, every fallback
 *   file_pool.c   engine: threads that run file_op.c
 *   file_uring.c  engine: io_uring for the plain cases, the pool for the rest; needs liburing and a kernel that permits it
 *
 * Engines belong to a loop and serve all files of it, so that a thousand file namespaces have no more rings or threads than one.
 */
#ifndef NVOF_TARGET_BACKEND_FILE_H
#define NVOF_TARGET_BACKEND_FILE_H

#include "target/backend/common.h"

enum file_engine { FILE_ENGINE_AUTO, FILE_ENGINE_URING, FILE_ENGINE_POOL };

struct file_backend {
	struct backend b;
	char *path;
	int fd;		       /* through the page cache: takes everything */
	int fd_direct;	       /* O_DIRECT; -1: not here */
	uint32_t direct_align; /* atomic: of offset, length and memory; grows when the kernel refuses */
	uint32_t block_size;
	bool block_dev, readonly;
	bool in_memory; /* on a file system without a disk: reading and writing there is copying */
	bool no_dsync;	/* atomic: RWF_DSYNC is not supported, fdatasync() instead */
	enum file_engine engine;
	uint64_t nr_syncs; /* atomic: fdatasync() and its likes, for tests and status */
};

/* What is there now, in bytes.  0 or -errno */
int file_bytes(const struct file_backend *fb, uint64_t *bytes);
/* The descriptor for io: fd_direct when everything of it is aligned. */
int file_fd(struct file_backend *fb, const struct backend_io *io);
/* Runs io on the calling thread.  0, -errno or an NVMe status. */
int file_op_run(struct file_backend *fb, const struct backend_io *io);

void file_pool_submit(struct file_backend *fb, struct backend_io *io);
/* False: no io_uring on this loop, or nothing for it; io is untouched. */
bool file_uring_submit(struct file_backend *fb, struct backend_io *io);
/* 0, or -errno: why there is no io_uring. */
int file_uring_probe(void);

#endif
