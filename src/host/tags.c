/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/queue.h"
#include "host/tags.h"

#define CACHE_LINE 64

int tags_init(struct host_tags *tags, uint32_t nr_free, uint32_t nr_reserved, size_t priv_size)
{
	size_t stride = (sizeof(struct host_req) + priv_size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;

	memset(tags, 0, sizeof(*tags));
	tags->free_head = TAG_NONE;
	tags->slots = aligned_alloc(CACHE_LINE, stride * (nr_free + nr_reserved));
	if (!tags->slots)
		return -ENOMEM;
	tags->stride = stride;
	tags->limit = tags->nr_slots = nr_free;
	tags->nr_cids = nr_free + nr_reserved;
	while (tags->nr_tags < nr_reserved)
		tags_grow(tags);
	return 0;
}

struct host_req *tags_grow(struct host_tags *tags)
{
	uint32_t i = tags->nr_tags++;
	struct host_req *req = host_tags_req(tags, i);

	memset(req, 0, tags->stride);
	req->cid = (uint16_t)i;
	req->tags = tags;
	return req;
}

void tags_free(struct host_tags *tags)
{
	free(tags->slots);
	memset(tags, 0, sizeof(*tags));
	tags->free_head = TAG_NONE;
}

void tags_end_inflight(struct host_tags *tags, const struct host_queue *q, int status)
{
	uint32_t i;

	for (i = 0; i < tags->nr_tags; i++) {
		struct host_req *req = host_tags_req(tags, i);

		if (req->active && (!q || req->queue == q))
			host_req_fail(req, status);
	}
}
