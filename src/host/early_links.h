/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links of the I/O queues that will be asked for, made while the admin queue initialises the ctrl.  One after the other is one after the
 * other in every respect, so with setup_concurrency 1 there are none; and a peer that does not like them is not asked again.
 */
#ifndef NVOF_HOST_EARLY_LINKS_H
#define NVOF_HOST_EARLY_LINKS_H

#include <stdbool.h>

#include "base/error.h"

struct nvof_ctrl;
struct queue_batch;

/* ctrl->batch is set when there are any; done as for queue_batch_new(). */
void early_links_start(struct nvof_ctrl *ctrl, void (*done)(struct nvof_ctrl *ctrl, struct queue_batch *b));
/* The peer has closed or refused one, or the way to it has: said once. */
void early_links_objection(struct nvof_ctrl *ctrl, const struct error *err);
/* Remembers whether the peer has closed or refused one. */
void early_links_blame(struct nvof_ctrl *ctrl);
/*
 * The connect failed.  When early links may be why, a first one is begun again without them in the time that is left (a reconnect is
 * anyway): true.
 */
bool early_links_retry(struct nvof_ctrl *ctrl, const struct error *err);

#endif
