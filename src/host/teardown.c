/* SPDX-License-Identifier: BSD-3-Clause */
/* All queues stop together, then every command ends once, then the memory goes.  Never from inside a completion. */
#include "host/ctrl.h"
#include "host/hctx.h"
#include "host/queue.h"
#include "host/tags.h"

void ctrl_refuse_io(struct nvof_ctrl *ctrl)
{
	uint32_t i;

	for (i = 0; i < ctrl->nr_hctx; i++)
		ctrl->hctxs[i]->live = false;
}

static void hctx_stop_queues(struct nvof_hctx *hctx)
{
	uint32_t i;

	for (i = 0; i < hctx->nr_queues; i++)
		queue_stop(hctx->queues[i]);
}

static void hctx_free_queues(struct nvof_hctx *hctx)
{
	while (hctx->nr_queues)
		queue_free(hctx->queues[--hctx->nr_queues]);
}

void ctrl_stop_io(struct nvof_ctrl *ctrl, int status)
{
	uint32_t i;

	ctrl_refuse_io(ctrl);
	ctrl->nr_live_queues = 0;
	for (i = 0; i < ctrl->nr_hctx; i++)
		hctx_stop_queues(ctrl->hctxs[i]);
	/* Callbacks run from here on; what they submit is refused. */
	for (i = 0; i < ctrl->nr_hctx; i++)
		hctx_end_inflight(ctrl->hctxs[i], status);
	for (i = 0; i < ctrl->nr_hctx; i++)
		hctx_free_queues(ctrl->hctxs[i]);
}

void ctrl_stop(struct nvof_ctrl *ctrl, int status)
{
	struct host_queue *admin = ctrl->admin;
	uint32_t i;

	ctrl_init_stop(ctrl);
	keep_alive_stop(ctrl);
	cmd_timer_stop(ctrl);
	ctrl_shutdown_stop(ctrl);
	ctrl_refuse_io(ctrl);
	for (i = 0; i < ctrl->nr_hctx; i++)
		hctx_stop_queues(ctrl->hctxs[i]);
	if (admin)
		queue_stop(admin);
	ctrl_stop_io(ctrl, status);
	if (!admin)
		return;
	/* Kept while its commands end: they are told to nobody but their owners. */
	tags_end_inflight(&ctrl->admin_tags, NULL, status);
	ctrl->admin = NULL;
	queue_free(admin);
}
