/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/rdma/rdma_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

#define SLAB_LEN ((size_t)512 * 1024)

struct slab {
	struct cds_list_head link;
	struct ibv_mr *mr;
	void *mem;
	struct rdma_buf bufs[];
};

static size_t class_len(uint32_t class)
{
	return (size_t)1 << (RDMA_POOL_MIN_SHIFT + 2 * class);
}

void rdma_pool_init(struct rdma_pool *pool, struct ibv_pd *pd, int access, size_t limit)
{
	memset(pool, 0, sizeof(*pool));
	pool->pd = pd;
	pool->access = access;
	pool->limit = limit;
	CDS_INIT_LIST_HEAD(&pool->slabs);
}

static void slab_free(struct slab *s)
{
	if (s->mr)
		ibv_dereg_mr(s->mr);
	free(s->mem);
	free(s);
}

void rdma_pool_exit(struct rdma_pool *pool)
{
	struct slab *s, *next;

	if (!pool->pd)
		return;
	cds_list_for_each_entry_safe (s, next, &pool->slabs, link)
		slab_free(s);
	pool->pd = NULL;
}

static struct slab *slab_new(struct rdma_pool *pool, size_t all, uint32_t nr)
{
	struct slab *s = calloc(1, sizeof(*s) + nr * sizeof(s->bufs[0]));

	if (!s)
		return NULL;
	if (!posix_memalign(&s->mem, (size_t)1 << RDMA_POOL_MIN_SHIFT, all))
		s->mr = ibv_reg_mr(pool->pd, s->mem, all, pool->access);
	if (s->mr)
		return s;
	slab_free(s);
	return NULL;
}

/* Where little memory may be locked a smaller slab may do. */
static int pool_grow(struct rdma_pool *pool, uint32_t class)
{
	size_t len = class_len(class), all = len > SLAB_LEN ? len : SLAB_LEN;
	struct slab *s;
	uint32_t i, nr;

	while (!(s = slab_new(pool, all, (uint32_t)(all / len))) && all > len)
		all /= 2;
	if (!s)
		return -ENOMEM;
	nr = (uint32_t)(all / len);
	for (i = nr; i-- > 0;) {
		s->bufs[i] = (struct rdma_buf){ .mem = (char *)s->mem + i * len, .lkey = s->mr->lkey, .rkey = s->mr->rkey, .class = class };
		s->bufs[i].next = pool->free[class];
		pool->free[class] = &s->bufs[i];
	}
	cds_list_add(&s->link, &pool->slabs);
	pool->size += all;
	return 0;
}

void rdma_pool_return(struct rdma_pool *pool, struct rdma_buf *buf)
{
	buf->next = atomic_load_explicit(&pool->returned, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&pool->returned, &buf->next, buf, memory_order_release, memory_order_relaxed))
		;
}

static void take_returned(struct rdma_pool *pool)
{
	struct rdma_buf *buf = atomic_exchange_explicit(&pool->returned, NULL, memory_order_acquire), *next;

	for (; buf; buf = next) {
		next = buf->next;
		rdma_pool_put(pool, buf);
	}
}

static struct rdma_buf *take(struct rdma_pool *pool, uint32_t class)
{
	struct rdma_buf *buf;

	if (unlikely(!pool->free[class]))
		take_returned(pool);
	buf = pool->free[class];
	if (buf) {
		pool->free[class] = buf->next;
		pool->nr_used[class]++;
	}
	return buf;
}

static bool one_comes_back(const struct rdma_pool *pool, uint32_t class)
{
	for (; class < RDMA_POOL_NR_CLASSES; class ++)
		if (pool->nr_used[class])
			return true;
	return false;
}

static uint32_t class_of(size_t len)
{
	uint32_t class = 0;

	while (class_len(class) < len)
		class ++;
	return class;
}

int rdma_pool_get_kept(struct rdma_pool *pool, size_t len, struct rdma_buf **buf)
{
	uint32_t class;
	int ret = 0;

	if (len > RDMA_POOL_MAX_LEN)
		return -EINVAL;
	class = class_of(len);
	*buf = take(pool, class);
	if (!*buf) {
		ret = pool_grow(pool, class);
		*buf = ret ? NULL : take(pool, class);
	}
	if (*buf) {
		(*buf)->kept = true;
		pool->nr_used[class]--;
	}
	return ret;
}

/* A larger block than asked for, or the promise that one comes back. */
static int make_do(struct rdma_pool *pool, uint32_t class, struct rdma_buf **buf, int otherwise)
{
	uint32_t c;

	for (c = class + 1; c < RDMA_POOL_NR_CLASSES && !*buf; c++)
		*buf = take(pool, c);
	if (*buf)
		return 0;
	return one_comes_back(pool, class) ? -EAGAIN : otherwise;
}

int rdma_pool_get(struct rdma_pool *pool, size_t len, struct rdma_buf **buf)
{
	uint32_t class;
	int ret;

	if (len > RDMA_POOL_MAX_LEN)
		return -EINVAL;
	class = class_of(len);
	*buf = take(pool, class);
	if (*buf)
		return 0;
	if (class && pool->size + class_len(class) > pool->limit) {
		ret = make_do(pool, class, buf, -ENOMEM);
		if (ret != -ENOMEM)
			return ret;
	}
	ret = pool_grow(pool, class);
	if (!ret) {
		*buf = take(pool, class);
		return 0;
	}
	/* No memory, or no more of it may be locked: this is the limit, then. */
	pool->limit = pool->size;
	return make_do(pool, class, buf, ret);
}
