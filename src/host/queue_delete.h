/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fabrics Disconnect (Base 2.0 section 6.2) on all I/O queues together, where the ctrl supports it (Identify Controller, OFCS): when it has
 * answered it is through with the queue.  One time-out for all of them.
 */
#ifndef NVOF_HOST_QUEUE_DELETE_H
#define NVOF_HOST_QUEUE_DELETE_H

#include "base/async_domain.h"
#include "base/loop.h"

struct nvof_ctrl;
struct host_queue;

struct queue_delete {
	bool running;
	struct async_domain domain;
	struct timer timeout;
	struct loop_defer done_work;
};

void queue_delete_setup(struct nvof_ctrl *ctrl);
/* queue_delete_done() follows at the end of this turn or later. */
void queue_delete_start(struct nvof_ctrl *ctrl);
void queue_delete_stop(struct nvof_ctrl *ctrl);
/* A queue failed meanwhile. */
void queue_delete_lost(struct host_queue *q);
/* disconnect.c's: all were answered, or the time is over.  The queues are still to be stopped. */
void queue_delete_done(struct nvof_ctrl *ctrl);

#endif
