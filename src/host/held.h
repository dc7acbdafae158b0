/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests that wait for the ctrl to come back: those that were under way when a connection was lost, and those submitted since.  They keep
 * their slots, so that no more can gather than could be under way, and are sent in order when the ctrl is LIVE again.
 */
#ifndef NVOF_HOST_HELD_H
#define NVOF_HOST_HELD_H

#include "transport/host_ops.h"

#define HELD_MAX_RETRIES 5 /* connections that a request may see die */

struct held {
	bool on; /* nothing is sent now */
	struct cds_list_head list;
	struct loop_defer work; /* sends what there is room for */
	struct timer settle;	/* something waits, and old connections are waited for */
};

void held_setup(struct nvof_ctrl *ctrl);
/* From now on requests are held, those of hctxs to come as well. */
void held_begin(struct nvof_ctrl *ctrl);
/* Nothing is sent any more until one of the next two. */
void held_stop(struct nvof_ctrl *ctrl);
/* The ctrl is LIVE and has its queues: what was held is sent, as far as there is room, and the rest as room comes. */
void held_release(struct nvof_ctrl *ctrl);

/* It is to be sent again when there is room; of a LIVE ctrl, or held_resume() follows. */
void held_again(struct nvof_ctrl *ctrl, struct host_req *req);
/* 0: it will complete; -ENOTCONN: it can't be kept, and is still the caller's. */
int held_add(struct nvof_ctrl *ctrl, struct host_req *req);
/* What is in flight in these slots on q (NULL: any queue) waits for the next connection, or ends with status when it may not.  The queues
 * are stopped. */
void held_take_inflight(struct nvof_ctrl *ctrl, struct host_tags *tags, const struct host_queue *q, int status);
/* A hctx may have a queue for what waits. */
void held_resume(struct nvof_ctrl *ctrl);
/* Ends those of one namespace (NULL: all) with a negative errno. */
void held_end(struct nvof_ctrl *ctrl, const struct nvof_ns *ns, int status);

#endif
