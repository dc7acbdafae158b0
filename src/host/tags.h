/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tag set: the request slots that the queues of one hctx (or the admin queue) share.
 *
 * The first slots are reserved: they never enter the free list and belong to the core's own commands (Connect, keep alive ...), which
 * therefore always find room, however busy the users are (C009).
 *
 * A slot's memory is touched when it is used for the first time: hundreds of idle queues cost no page faults while they connect.
 */
#ifndef NVOF_HOST_TAGS_H
#define NVOF_HOST_TAGS_H

#include "transport/host_ops.h"

#define TAG_NONE UINT32_MAX

/* 0 or -ENOMEM. */
int tags_init(struct host_tags *tags, uint32_t nr_free, uint32_t nr_reserved, size_t priv_size);
void tags_free(struct host_tags *tags); /* a zeroed one is fine */

/* The i-th reserved slot. */
static inline struct host_req *tags_reserved(const struct host_tags *tags, uint32_t i)
{
	return host_tags_req(tags, i);
}

/* The next slot that was never used. */
struct host_req *tags_grow(struct host_tags *tags);

/* NULL: all are busy. */
static inline struct host_req *tags_get(struct host_tags *tags)
{
	struct host_req *req;

	if (unlikely(tags->nr_busy >= tags->limit))
		return NULL;
	if (likely(tags->free_head != TAG_NONE)) {
		req = host_tags_req(tags, tags->free_head);
		tags->free_head = req->next_free;
	} else {
		req = tags_grow(tags);
	}
	tags->nr_busy++;
	return req;
}

static inline void tags_put(struct host_req *req)
{
	struct host_tags *tags = req->tags;

	req->next_free = tags->free_head;
	tags->free_head = req->cid;
	tags->nr_busy--;
}

/* At most nr busy from now on (those that are there stay). */
static inline void tags_set_limit(struct host_tags *tags, uint32_t nr)
{
	tags->limit = min_u32(nr, tags->nr_slots);
}

/* Ends every request in flight on q (NULL: on any queue), whose transport has stopped, with a negative errno. */
void tags_end_inflight(struct host_tags *tags, const struct host_queue *q, int status);

#endif
