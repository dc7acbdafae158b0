/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/hctx_pick.h"

#include "host/hctx.h"

#define SHALLOW_REQS  4
#define SHALLOW_BYTES (256 * 1024)
#define LARGE_BYTES   (64 * 1024)  /* nothing is gained by sending such requests together */
#define FIRST_BYTES   (512 * 1024) /* the first queue has no more of small requests */
#define FIRST_NS      (500 * NSEC_PER_USEC)
#define SPLIT_BYTES   (512 * 1024) /* requests from this length on are split */
#define PIECE_BYTES   (128 * 1024) /* none smaller */

static bool queue_full(const struct host_queue *q)
{
	return q->nr_inflight + 1 >= q->queue_size;
}

/* Few requests, few bytes.  The request that is to be sent is busy already. */
static bool hctx_shallow(const struct nvof_hctx *hctx, const struct host_req *req)
{
	uint64_t bytes = req->data_len;
	uint32_t i;

	if (hctx->tags->nr_busy > SHALLOW_REQS)
		return false;
	for (i = 0; i < hctx->nr_queues; i++)
		bytes += hctx->queues[i]->bytes_inflight;
	return bytes <= SHALLOW_BYTES;
}

static void pace_watch(struct host_queue *q, const struct host_req *req)
{
	q->pace.watched = req;
	q->pace.since = clock_ns();
	q->pace.bytes = q->bytes_inflight + req->data_len;
}

void queue_pace_seen(struct host_queue *q)
{
	struct queue_pace *p = &q->pace;
	double now = (double)(clock_ns() - p->since) / (double)(p->bytes ? p->bytes : 1);

	p->watched = NULL;
	p->ns_per_byte = p->ns_per_byte > 0 ? p->ns_per_byte + (now - p->ns_per_byte) / 4 : now;
}

/* It would be through with this and all before it soon, and nothing says that it is stuck. */
static bool queue_soon(const struct host_queue *q, const struct host_req *req)
{
	uint64_t bytes = q->bytes_inflight + req->data_len;

	if (q->pace.watched && loop_now(q->ctrl->loop) > q->pace.since + FIRST_NS)
		return false;
	return bytes <= FIRST_BYTES && (double)bytes * q->pace.ns_per_byte <= FIRST_NS;
}

static struct host_queue *least_bytes(const struct nvof_hctx *hctx)
{
	struct host_queue *best = NULL;
	uint32_t i;

	for (i = 0; i < hctx->nr_queues; i++) {
		struct host_queue *q = hctx->queues[i];

		if (!queue_full(q) && (!best || q->bytes_inflight < best->bytes_inflight ||
				       (q->bytes_inflight == best->bytes_inflight && q->nr_inflight < best->nr_inflight)))
			best = q;
	}
	return best;
}

static struct host_queue *round_robin(struct nvof_hctx *hctx)
{
	uint32_t i;

	for (i = 0; i < hctx->nr_queues; i++) {
		struct host_queue *q = hctx->queues[hctx->next++ % hctx->nr_queues];

		if (!queue_full(q))
			return q;
	}
	return NULL;
}

/* Small requests that gain from being sent and answered together, as long as the first queue keeps up. */
static bool first_is_best(const struct nvof_hctx *hctx, const struct host_req *req)
{
	struct host_queue *first = hctx->queues[0];

	if (queue_full(first) || req->data_len >= LARGE_BYTES)
		return false;
	if (hctx_shallow(hctx, req))
		return true;
	if (!queue_soon(first, req))
		return false;
	if (!first->pace.watched)
		pace_watch(first, req);
	return true;
}

struct host_queue *hctx_pick_from_group(struct nvof_hctx *hctx, const struct host_req *req)
{
	struct host_queue *first = hctx->queues[0];

	if (hctx->ctrl->p.policy == NVOF_POLICY_ROUND_ROBIN)
		return hctx_shallow(hctx, req) && !queue_full(first) ? first : round_robin(hctx);
	return first_is_best(hctx, req) ? first : least_bytes(hctx);
}

uint32_t hctx_piece_of_group(const struct nvof_hctx *hctx, uint32_t nlb, uint32_t max_nlb, unsigned int shift)
{
	uint64_t len = (uint64_t)nlb << shift;
	uint32_t piece;

	if (len < SPLIT_BYTES || hctx->tags->nr_busy >= hctx->nr_queues)
		return max_nlb;
	piece = (nlb + hctx->nr_queues - 1) / hctx->nr_queues;
	if (((uint64_t)piece << shift) < PIECE_BYTES)
		piece = PIECE_BYTES >> shift;
	return min_u32(piece, max_nlb);
}
