/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data buffers of one loop thread: page-aligned (O_DIRECT), in power-of-two sizes, kept for reuse up to a limit, given back to the system
 * when they were not needed for a while.
 */
#ifndef NVOF_TARGET_BUFS_H
#define NVOF_TARGET_BUFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

#define BUFS_MIN_SHIFT	12
#define BUFS_NR_CLASSES 16 /* 4 KiB .. 128 MiB */

struct buf_free {
	struct buf_free *next;
};

struct bufs {
	struct loop *loop;
	size_t keep_max; /* bytes kept for reuse at most */
	size_t use_max;	 /* bytes in use from which on I/O waits; only what asks first keeps to it */
	size_t kept, in_use;
	struct {
		struct buf_free *head;
		uint32_t nr, low; /* low: the fewest kept since the timer last looked: not needed */
	} classes[BUFS_NR_CLASSES];
	struct timer timer; /* armed only while something is kept */
};

void bufs_init(struct bufs *b, struct loop *loop, size_t keep_max, size_t use_max);
void bufs_exit(struct bufs *b);
/* At least len bytes, *room says how many; NULL: no memory or len beyond the largest class.  Contents are undefined. */
void *bufs_get(struct bufs *b, size_t len, size_t *room);
void bufs_put(struct bufs *b, void *buf, size_t room); /* room: as bufs_get() said */

#endif
