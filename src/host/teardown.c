/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All queues stop together, then every command ends once or is held for the next connection, then the memory goes.  Never from inside a
 * completion.
 */
#include "host/ctrl.h"
#include "host/hctx.h"
#include "host/ns_missing.h"
#include "host/ns_open.h"
#include "host/ns_scan.h"
#include "host/queue.h"
#include "host/renew.h"
#include "host/split.h"
#include "host/tags.h"

void ctrl_refuse_io(struct nvof_ctrl *ctrl)
{
	uint32_t i;

	for (i = 0; i < ctrl->nr_hctx; i++)
		ctrl->hctxs[i]->live = false;
}

void ctrl_accept_io(struct nvof_ctrl *ctrl)
{
	uint32_t i;

	for (i = 0; i < ctrl->nr_hctx; i++)
		ctrl->hctxs[i]->live = true;
}

/* Their I/O threads let go of them together. */
static void hctx_recall_queues(struct nvof_hctx *hctx)
{
	uint32_t i;

	for (i = 0; i < hctx->nr_queues; i++)
		io_port_recall(hctx->queues[i]);
}

static void hctx_stop_queues(struct nvof_hctx *hctx)
{
	uint32_t i;

	for (i = 0; i < hctx->nr_queues; i++)
		queue_stop(hctx->queues[i]);
}

static void hctx_free_queues(struct nvof_hctx *hctx)
{
	if (hctx->borrowed)
		hctx->nr_queues = 0;
	hctx->borrowed = false;
	while (hctx->nr_queues)
		queue_free(hctx->queues[--hctx->nr_queues]);
}

/* What is under way on them will be sent again. */
static void mark_resend(struct nvof_ctrl *ctrl)
{
	uint32_t i, j;

	for (i = 0; i < ctrl->nr_hctx; i++)
		for (j = 0; j < ctrl->hctxs[i]->nr_queues; j++)
			ctrl->hctxs[i]->queues[j]->resend = true;
}

static void stop_io_queues(struct nvof_ctrl *ctrl)
{
	uint32_t i;

	if (ctrl->path)
		mark_resend(ctrl); /* by another path */
	ctrl->nr_live_queues = 0;
	renew_stop(ctrl);
	held_stop(ctrl);
	for (i = 0; i < ctrl->nr_hctx; i++)
		hctx_recall_queues(ctrl->hctxs[i]);
	for (i = 0; i < ctrl->nr_hctx; i++)
		hctx_stop_queues(ctrl->hctxs[i]);
}

static void free_io_queues(struct nvof_ctrl *ctrl)
{
	uint32_t i;

	for (i = 0; i < ctrl->nr_hctx; i++)
		hctx_free_queues(ctrl->hctxs[i]);
}

void ctrl_end_io(struct nvof_ctrl *ctrl, int status)
{
	uint32_t i;

	ctrl_refuse_io(ctrl);
	for (i = 0; i < ctrl->nr_hctx; i++)
		tags_end_inflight(&ctrl->hctxs[i]->own, NULL, status);
	held_end(ctrl, NULL, status);
	for (i = 0; i < ctrl->nr_hctx; i++)
		split_end_stalled(ctrl->hctxs[i], NULL, status);
}

void ctrl_stop_io(struct nvof_ctrl *ctrl, int status)
{
	ctrl_refuse_io(ctrl);
	stop_io_queues(ctrl);
	/* Callbacks run from here on; what they submit is refused. */
	ctrl_end_io(ctrl, status);
	free_io_queues(ctrl);
}

/* What runs beside the queues. */
static void stop_helpers(struct nvof_ctrl *ctrl)
{
	timer_cancel(ctrl->loop, &ctrl->recovery.settle);
	ns_scan_stop(ctrl);
	ns_missing_stop(ctrl);
	ctrl_init_stop(ctrl);
	queue_delete_stop(ctrl);
	keep_alive_stop(ctrl);
	aer_stop(ctrl);
	cmd_timer_stop(ctrl);
	ctrl_shutdown_stop(ctrl);
}

/* Its commands are told to nobody but their owners. */
static void free_admin(struct nvof_ctrl *ctrl, struct host_queue *admin, int status)
{
	if (!admin)
		return;
	tags_end_inflight(&ctrl->admin_tags, NULL, status);
	ns_open_stop(ctrl, status);
	ctrl->admin = NULL;
	queue_free(admin);
}

void ctrl_stop(struct nvof_ctrl *ctrl, int status)
{
	struct host_queue *admin = ctrl->admin;

	stop_helpers(ctrl);
	ctrl_refuse_io(ctrl);
	stop_io_queues(ctrl);
	if (admin)
		queue_stop(admin);
	ctrl_stop_io(ctrl, status);
	free_admin(ctrl, admin, status);
}

void ctrl_suspend(struct nvof_ctrl *ctrl, int status)
{
	struct host_queue *admin = ctrl->admin;
	uint32_t i;

	stop_helpers(ctrl);
	held_begin(ctrl);
	mark_resend(ctrl);
	stop_io_queues(ctrl);
	if (admin)
		queue_stop(admin);
	for (i = 0; i < ctrl->nr_hctx; i++)
		held_take_inflight(ctrl, &ctrl->hctxs[i]->own, NULL, status);
	free_io_queues(ctrl);
	free_admin(ctrl, admin, status);
}
