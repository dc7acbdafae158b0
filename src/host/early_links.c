/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/early_links.h"

#include <errno.h>
#include <string.h>

#include "host/ctrl.h"
#include "host/queue_batch.h"

#define EARLY_LINKS_MAX 128

/* What this peer is known to want; the other ctrls of the ctx may have found out. */
static bool wants_plain_order(struct nvof_ctrl *ctrl)
{
	struct nvof_ctrl *c;

	cds_list_for_each_entry (c, &ctrl->ctx->ctrls, link)
		if (c->plain_order && c->p.ops == ctrl->p.ops && !strcmp(c->p.where, ctrl->p.where))
			return true;
	return false;
}

void early_links_start(struct nvof_ctrl *ctrl, void (*done)(struct nvof_ctrl *ctrl, struct queue_batch *b))
{
	const struct ctrl_params *p = &ctrl->p;
	/* As many as it granted before; without experience not so many that it would hurt to close them. */
	uint32_t nr = min_u32(p->nr_io_queues, ctrl->nr_granted ? ctrl->nr_granted : EARLY_LINKS_MAX);

	if (!nr || p->is_discovery || !p->ops->early_links || p->no_early_links || p->setup_concurrency == 1 || wants_plain_order(ctrl))
		return;
	if (ctrl->setup_limit && ctrl->setup_limit->max)
		return; /* links that wait would keep others from what they need */
	ctrl->batch = queue_batch_new(ctrl, 1, p->nr_io_queues, done);
	if (ctrl->batch)
		queue_batch_begin_early(ctrl->batch, p->setup_concurrency, nr);
}

/* The connect goes well all the same, and takes longer than it might: worth one word, not one for each queue. */
void early_links_objection(struct nvof_ctrl *ctrl, const struct error *err)
{
	const struct log *log = &ctrl->ctx->log;

	if (ctrl->told_objection)
		log_info(log, "an early link failed: %s", error_msg(err));
	else
		log_warn(log,
			 "%s at %s: an early link failed, it is made again when the ctrl is initialised (no_early_links avoids that): %s",
			 ctrl->p.subsysnqn, ctrl->p.where, error_msg(err));
	ctrl->told_objection = true;
}

void early_links_blame(struct nvof_ctrl *ctrl)
{
	ctrl->plain_order |= ctrl->batch && ctrl->batch->objected;
}

bool early_links_retry(struct nvof_ctrl *ctrl, const struct error *err)
{
	uint64_t now = clock_ns(), end = ctrl->connect_timer.deadline, start = ctrl->timeline.start;
	struct error again = { 0 };

	if (!ctrl->batch || !ctrl->batch->objected || ctrl->state != NVOF_CTRL_CONNECTING || !timer_armed(&ctrl->connect_timer) ||
	    end <= now)
		return false;
	log_warn(&ctrl->ctx->log, "%s at %s: once more without early links: %s", ctrl->p.subsysnqn, ctrl->p.where, error_msg(err));
	queue_batch_free(ctrl->batch);
	ctrl->batch = NULL;
	ctrl_stop(ctrl, -ECONNRESET);
	if (ctrl_connect_begin(ctrl, (uint32_t)((end - now) / NSEC_PER_MSEC), &again)) {
		error_clear(&again);
		return false;
	}
	ctrl->timeline.start = start;
	return true;
}
