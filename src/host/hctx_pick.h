/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which queue of its hctx a request takes.
 *
 * Both policies stay on one queue, the first, while the hctx is shallow: what is sent and received together costs least, and low depth
 * loses nothing.  Beyond that:
 *
 *   round-robin  one after the other.
 *   least-bytes  for small requests the first queue as long as it would be through with all it has within a moment, which is measured;
 *                then, and for large requests, the queue that has the fewest bytes in flight.  So a fast connection keeps its large
 *                batches, while slow, capped and stalled ones are relieved by the others.
 */
#ifndef NVOF_HOST_HCTX_PICK_H
#define NVOF_HOST_HCTX_PICK_H

#include <nvof/nvof.h>

#include "transport/host_ops.h"

/* Of a group of two or more.  NULL: all are full. */
struct host_queue *hctx_pick_from_group(struct nvof_hctx *hctx, const struct host_req *req);
/* The request that was watched has ended. */
void queue_pace_seen(struct host_queue *q);

/*
 * Blocks of one command when nlb blocks are to be moved, at most max_nlb: a large request that is alone is split over the queues of its
 * group.
 */
uint32_t hctx_piece_of_group(const struct nvof_hctx *hctx, uint32_t nlb, uint32_t max_nlb, unsigned int shift);

#endif
