/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Destroys connection ids on a thread of its own: the kernel may make the caller wait for many seconds (seen with Linux 6.12, after peers
 * that ended in the middle of something), and a loop has others to serve.  Owns the event channel, which ids need to the last.
 */
#ifndef NVOF_TRANSPORT_RDMA_REAPER_H
#define NVOF_TRANSPORT_RDMA_REAPER_H

#include <rdma/rdma_cma.h>

struct rdma_reaper;

/* Takes the channel over.  NULL: no memory, it is still the caller's. */
struct rdma_reaper *rdma_reaper_new(struct rdma_event_channel *channel);
/* The id has no queue pair, and nobody's context, any more.  Never blocks. */
void rdma_reaper_take(struct rdma_reaper *r, struct rdma_cm_id *id);
/* Waits a little for what is left; what takes longer ends by itself. */
void rdma_reaper_free(struct rdma_reaper *r);

#endif
