/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registered memory in blocks of a few sizes, for what the device reads and writes that is not the caller's own registered memory.
 *
 * Slabs are registered when they are needed, and stay.  The total is bounded, but for blocks of the smallest size, of which there are never
 * more than commands, and for a size of which none is in use that could come back.
 *
 * A pool belongs to one thread; others may give blocks back.
 */
#ifndef NVOF_TRANSPORT_RDMA_POOL_H
#define NVOF_TRANSPORT_RDMA_POOL_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <urcu/list.h>

#define RDMA_POOL_MIN_SHIFT  12 /* 4 KiB, then 16 KiB ... 4 MiB */
#define RDMA_POOL_NR_CLASSES 6
#define RDMA_POOL_MAX_LEN    ((size_t)1 << (RDMA_POOL_MIN_SHIFT + 2 * (RDMA_POOL_NR_CLASSES - 1)))

struct rdma_buf {
	void *mem;
	uint32_t lkey, rkey;
	uint32_t class;
	bool kept; /* by a queue, for as long as it lives: nobody waits for it */
	struct rdma_buf *next;
};

struct rdma_pool {
	struct ibv_pd *pd;
	int access; /* IBV_ACCESS_* of all of it */
	size_t limit, size;
	struct cds_list_head slabs;
	struct rdma_buf *free[RDMA_POOL_NR_CLASSES];
	uint32_t nr_used[RDMA_POOL_NR_CLASSES]; /* with those in returned */
	_Atomic(struct rdma_buf *) returned;	/* by other threads; looked at when there is no free one */
};

void rdma_pool_init(struct rdma_pool *pool, struct ibv_pd *pd, int access, size_t limit);
void rdma_pool_exit(struct rdma_pool *pool); /* every block is back, or nothing can use it any more */
/* At least len bytes.  0; -EAGAIN: the limit is reached, some will come back; -ENOMEM, -EINVAL (too long): never mind the limit. */
int rdma_pool_get(struct rdma_pool *pool, size_t len, struct rdma_buf **buf);
static inline void rdma_pool_put(struct rdma_pool *pool, struct rdma_buf *buf)
{
	buf->next = pool->free[buf->class];
	pool->free[buf->class] = buf;
	pool->nr_used[buf->class] -= !buf->kept;
	buf->kept = false;
}
/* rdma_pool_put() on any thread. */
void rdma_pool_return(struct rdma_pool *pool, struct rdma_buf *buf);
/* The same as rdma_pool_get() for what a queue needs all its life: whatever the limit.  0 or -errno. */
int rdma_pool_get_kept(struct rdma_pool *pool, size_t len, struct rdma_buf **buf);

#endif
