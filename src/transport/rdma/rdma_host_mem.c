/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a command's data lies for the device.  Memory that the caller registered (nvof_buf_register()) is used as it is; all other memory
 * is copied through bounce buffers: registering it for each command would cost more than the copy, and keeping it registered without the
 * caller's knowledge is wrong as soon as it is unmapped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/rdma/rdma_host.h"

bool rdma_host_in_capsule(const struct rdma_queue *rq, const struct host_req *req)
{
	return req->dir == DATA_TO_CTRL && req->data_len && req->data_len <= rq->q.inline_len;
}

/* All pieces in one region, and as few as a descriptor or a capsule takes. */
static bool place_in_region(const struct host_req *req, uint32_t max_pieces, struct rdma_place *place)
{
	const struct ibv_mr *mr = container_of(req->mem, const struct rdma_host_region, attach)->mr;
	size_t skip = req->iov_skip, left = req->data_len;
	uint32_t i, n = 0;

	for (i = 0; left; i++, skip = 0) {
		size_t len = min_size(req->iov[i].iov_len - skip, left);
		char *base = (char *)req->iov[i].iov_base + skip;

		if (!len)
			continue;
		if (!mem_region_holds(req->region, base, len))
			return false;
		left -= len;
		if (n && place->sge[n - 1].addr + place->sge[n - 1].length == (uintptr_t)base) {
			place->sge[n - 1].length += (uint32_t)len;
			continue;
		}
		if (n == max_pieces)
			return false;
		place->sge[n++] = (struct ibv_sge){ .addr = (uintptr_t)base, .length = (uint32_t)len, .lkey = mr->lkey };
	}
	place->nr_sge = n;
	place->rkey = mr->rkey;
	return true;
}

/* ---- bounce buffers ---- */

static struct rdma_host_pool *find_pool(struct rdma_host_dev *dev, const struct loop *loop)
{
	size_t share = RDMA_HOST_BOUNCE / dev->ep->p.nr_io_threads;
	struct rdma_host_pool *p;

	cds_list_for_each_entry (p, &dev->pools, link)
		if (p->loop == loop)
			return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->loop = loop;
	rdma_pool_init(&p->pool, dev->pd, RDMA_HOST_ACCESS, share > RDMA_POOL_MAX_LEN ? share : RDMA_POOL_MAX_LEN);
	cds_list_add(&p->link, &dev->pools);
	return p;
}

struct rdma_pool *rdma_host_thread_pool(struct rdma_host_dev *dev, const struct loop *loop)
{
	struct rdma_host_pool *p;

	pthread_mutex_lock(&dev->lock);
	p = find_pool(dev, loop);
	pthread_mutex_unlock(&dev->lock);
	return p ? &p->pool : NULL;
}

void rdma_host_pools_free(struct rdma_host_dev *dev)
{
	struct rdma_host_pool *p, *next;

	cds_list_for_each_entry_safe (p, next, &dev->pools, link) {
		rdma_pool_exit(&p->pool);
		free(p);
	}
	rdma_pool_exit(&dev->pool);
}

static void copy(const struct host_req *req, char *bounce, bool to_bounce)
{
	size_t skip = req->iov_skip, left = req->data_len;
	uint32_t i;

	for (i = 0; left; i++, skip = 0) {
		size_t len = min_size(req->iov[i].iov_len - skip, left);
		char *base = (char *)req->iov[i].iov_base + skip;

		memcpy(to_bounce ? bounce : base, to_bounce ? base : bounce, len);
		bounce += len;
		left -= len;
	}
}

int rdma_host_place(struct rdma_queue *rq, struct host_req *req, bool in_capsule, struct rdma_place *place)
{
	char hint[96];
	int ret;

	*place = (struct rdma_place){ 0 };
	if (!req->data_len)
		return 0;
	if (req->region && place_in_region(req, in_capsule ? min_u32(rq->dev->max_sge - 1, RDMA_HOST_MAX_SGE - 1) : 1, place))
		return 0;
	ret = rdma_pool_get(rq->pool, req->data_len, &place->bounce);
	if (ret == -ENOMEM) {
		rdma_memlock_hint(ret, hint, sizeof(hint));
		rdma_host_lost(rq, ret, "register a buffer of %u bytes: %s%s", req->data_len, strerror(-ret), hint);
	}
	if (ret)
		return ret;
	if (req->dir == DATA_TO_CTRL)
		copy(req, place->bounce->mem, true);
	place->nr_sge = 1;
	place->sge[0] = (struct ibv_sge){ .addr = (uintptr_t)place->bounce->mem, .length = req->data_len, .lkey = place->bounce->lkey };
	place->rkey = place->bounce->rkey;
	return 0;
}

void rdma_host_unplace(struct rdma_queue *rq, struct host_req *req, struct rdma_place *place, bool do_copy)
{
	if (!place->bounce)
		return;
	if (do_copy && req->dir == DATA_FROM_CTRL)
		copy(req, place->bounce->mem, false);
	rdma_pool_put(rq->pool, place->bounce);
	place->bounce = NULL;
}
