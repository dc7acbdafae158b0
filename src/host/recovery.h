/* SPDX-License-Identifier: BSD-3-Clause */
/* Reconnecting: from the loss of a queue until the ctrl is LIVE again or given up. */
#ifndef NVOF_HOST_RECOVERY_H
#define NVOF_HOST_RECOVERY_H

#include "base/error.h"
#include "base/loop.h"
#include "base/util.h"

struct nvof_ctrl;
struct host_queue;

#define SETTLE_LOOK_NS (1 * NSEC_PER_MSEC) /* how often it is asked */

struct recovery {
	bool on;
	bool settling;	      /* LIVE again, but what was held has not gone out yet */
	uint32_t nr_attempts; /* begun */
	uint64_t since;	      /* ns: the loss */
	uint64_t back;	      /* ns: when it was over */
	struct error cause;   /* why the ctrl was lost */
	struct timer retry;   /* the next attempt */
	struct timer fail_io; /* fast_io_fail_tmo */
	struct timer settle;  /* LIVE, and old connections are waited for */
};

void recovery_setup(struct nvof_ctrl *ctrl);
/* A queue that was set up failed; q->err says why. */
void ctrl_queue_lost(struct nvof_ctrl *ctrl, struct host_queue *q);
/* The ctrl is lost as a whole: reset, or given up.  err's contents are taken. */
void ctrl_lost(struct nvof_ctrl *ctrl, struct error *err);
/* Nothing of a connection that was given up can reach the ctrl any more. */
bool ctrl_settled(const struct nvof_ctrl *ctrl);
/* An attempt ended; err's contents are taken.  The next one follows, or the end. */
void recovery_attempt_failed(struct nvof_ctrl *ctrl, struct error *err);
/* The ctrl is LIVE again. */
void recovery_done(struct nvof_ctrl *ctrl);
/* And its namespaces are known again: what was held may go out. */
void recovery_namespaces_known(struct nvof_ctrl *ctrl);
/* No more attempts: the ctrl is being deleted. */
void recovery_stop(struct nvof_ctrl *ctrl);

#endif
