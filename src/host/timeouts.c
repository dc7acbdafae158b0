/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command deadlines: one coarse timer per ctrl, armed while commands are under way.
 *
 * A deadline is a number of ticks, not a time: submitting reads no clock, and an application that did not poll for a while does not find
 * all its commands late at once: however long it was away, that was one tick.
 */
#include <errno.h>

#include "host/ctrl.h"
#include "host/hctx.h"
#include "host/queue.h"

#define TICKS	 8 /* of a time-out: a command is given up after 1 to 1 1/8 of it */
#define TICK_MIN (2 * NSEC_PER_MSEC)

static void give_up(struct nvof_ctrl *ctrl, struct host_req *req)
{
	uint8_t opcode = req->sqe.opcode;

	queue_fail(req->queue, -ETIMEDOUT, "command opcode %02xh cid %u on qid %u was not answered within %u ms", opcode, req->cid,
		   req->queue->qid, ctrl->p.io_tmo_ms);
}

/* True while commands are under way that may become late. */
static bool check_tags(struct nvof_ctrl *ctrl, const struct host_tags *tags)
{
	uint32_t i;

	if (!tags->nr_busy)
		return false;
	for (i = 0; i < tags->nr_tags; i++) {
		struct host_req *req = host_tags_req(tags, i);

		if (req->active && req->deadline && req->deadline <= ctrl->cmd_timer.tick) {
			give_up(ctrl, req);
			return true;
		}
	}
	return true;
}

static void tick(struct timer *t)
{
	struct nvof_ctrl *ctrl = container_of(t, struct nvof_ctrl, cmd_timer.timer);
	struct cmd_timer *ct = &ctrl->cmd_timer;
	bool busy;
	uint32_t i;

	ct->tick++;
	ct->deadline++;
	busy = check_tags(ctrl, &ctrl->admin_tags);
	for (i = 0; i < ctrl->nr_hctx; i++)
		busy |= check_tags(ctrl, &ctrl->hctxs[i]->own);
	ct->ticking = busy;
	if (busy)
		timer_set(ctrl->loop, &ct->timer, clock_ns() + ct->tick_ns);
}

void cmd_timer_setup(struct nvof_ctrl *ctrl)
{
	timer_init(&ctrl->cmd_timer.timer, tick);
}

void cmd_timer_init(struct nvof_ctrl *ctrl)
{
	struct cmd_timer *ct = &ctrl->cmd_timer;

	if (!ctrl->p.io_tmo_ms) {
		ct->ticking = true; /* never armed */
		return;
	}
	ct->ticking = false;
	ct->tick_ns = ctrl->p.io_tmo_ms * NSEC_PER_MSEC / TICKS;
	if (ct->tick_ns < TICK_MIN)
		ct->tick_ns = TICK_MIN;
	/* The tick under way is not a whole one. */
	ct->deadline = ct->tick + TICKS + 1;
}

void cmd_timer_arm(struct nvof_ctrl *ctrl)
{
	ctrl->cmd_timer.ticking = true;
	timer_set(ctrl->loop, &ctrl->cmd_timer.timer, clock_ns() + ctrl->cmd_timer.tick_ns);
}

void cmd_timer_stop(struct nvof_ctrl *ctrl)
{
	timer_cancel(ctrl->loop, &ctrl->cmd_timer.timer);
	ctrl->cmd_timer.ticking = true;
}
