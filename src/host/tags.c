/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/queue.h"
#include "host/tags.h"

#define CACHE_LINE 64

int tags_init(struct host_tags *tags, uint32_t nr_free, uint32_t nr_reserved, size_t priv_size)
{
	uint32_t i, nr = nr_free + nr_reserved;
	size_t stride = (sizeof(struct host_req) + priv_size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;

	memset(tags, 0, sizeof(*tags));
	tags->slots = aligned_alloc(CACHE_LINE, stride * nr);
	if (!tags->slots)
		return -ENOMEM;
	memset(tags->slots, 0, stride * nr);
	tags->stride = stride;
	tags->nr_tags = nr;
	tags->free_head = nr_free ? 0 : TAG_NONE;
	for (i = 0; i < nr; i++) {
		struct host_req *req = host_tags_req(tags, i);

		req->cid = (uint16_t)i;
		req->next_free = i + 1 < nr_free ? i + 1 : TAG_NONE;
	}
	return 0;
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
