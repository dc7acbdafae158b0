/* SPDX-License-Identifier: BSD-3-Clause */
/* The ctrl's end, and what it tells about itself. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/ctrl.h"
#include "host/hctx.h"
#include "host/queue_batch.h"
#include "host/subsystem.h"
#include "host/tags.h"

static void ctrl_release(struct nvof_ctrl *ctrl)
{
	uint32_t i;

	ns_set_free(ctrl);
	for (i = 0; i < ctrl->nr_hctx; i++)
		hctx_free(ctrl->hctxs[i]);
	free(ctrl->hctxs);
	tags_free(&ctrl->admin_tags);
	io_threads_leave(ctrl->ctx, &ctrl->io);
	io_threads_stop(&ctrl->io);
	if (ctrl->ep)
		ctrl->p.ops->endpoint_free(ctrl->ep);
	cds_list_del(&ctrl->link);
	free(ctrl->init.id);
	free(ctrl->timeline.spans);
	free(ctrl->address);
	error_clear(&ctrl->err);
	error_clear(&ctrl->op_err);
	ctrl_params_clear(&ctrl->p);
	free(ctrl);
}

void ctrl_destroy(struct nvof_ctrl *ctrl)
{
	struct nvof_ctx *ctx = ctrl->ctx;

	/* User callbacks run from in here: what they start is refused, what they free waits. */
	ctx->busy++;
	ctrl->freeing = true;
	loop_defer_cancel(&ctrl->free_work);
	loop_defer_cancel(&ctrl->disconnect_work);
	loop_defer_cancel(&ctrl->reset_work);
	recovery_stop(ctrl);
	ctrl_set_state(ctrl, NVOF_CTRL_DELETING, "freed");
	queue_batch_free(ctrl->batch);
	ctrl->batch = NULL;
	timer_cancel(ctrl->loop, &ctrl->connect_timer);
	ctrl_stop(ctrl, -ECANCELED);
	ctrl_connect_end(ctrl, -ECANCELED);
	ns_set_cancel(ctrl);
	ctrl_set_state(ctrl, NVOF_CTRL_DEAD, "freed");
	ctrl->disconnect_status = 0;
	ctrl_disconnect_end(ctrl);
	subsystem_leave(ctrl);
	ctx->busy--;
	loop_defer_cancel(&ctrl->held.work);
	ctrl_release(ctrl);
}

void nvof_ctrl_free(struct nvof_ctrl *ctrl)
{
	if (!ctrl || ctrl->freeing)
		return;
	if (!ctrl->ctx->busy) {
		ctrl_destroy(ctrl);
		return;
	}
	/* A transport may be in the middle of this ctrl's queue. */
	ctrl->freeing = true;
	ctrl_refuse_io(ctrl);
	ctrl_set_state(ctrl, NVOF_CTRL_DELETING, "freed");
	loop_defer(ctrl->loop, &ctrl->free_work);
}

const char *nvof_ctrl_errmsg(const struct nvof_ctrl *ctrl)
{
	if (ctrl->err.code)
		return error_msg(&ctrl->err);
	return ctrl->op_err.code ? error_msg(&ctrl->op_err) : "";
}

const struct nvme_id_ctrl *nvof_ctrl_id(const struct nvof_ctrl *ctrl)
{
	return ctrl->init_done_us ? ctrl->init.id : NULL;
}

uint16_t nvof_ctrl_cntlid(const struct nvof_ctrl *ctrl)
{
	return ctrl->cntlid;
}

unsigned int nvof_ctrl_nr_io_queues(const struct nvof_ctrl *ctrl)
{
	return ctrl->nr_live_queues;
}

unsigned int nvof_ctrl_queue_size(const struct nvof_ctrl *ctrl)
{
	return ctrl->queue_size;
}

const char *nvof_ctrl_address(const struct nvof_ctrl *ctrl)
{
	return ctrl->address ? ctrl->address : "";
}

const char *nvof_ctrl_hostnqn(const struct nvof_ctrl *ctrl)
{
	return ctrl->p.hostnqn;
}

const char *nvof_ctrl_hostid(const struct nvof_ctrl *ctrl)
{
	return ctrl->p.hostid_text;
}

const char *nvof_ctrl_subsysnqn(const struct nvof_ctrl *ctrl)
{
	return ctrl->p.subsysnqn;
}

unsigned int nvof_ctrl_kato_ms(const struct nvof_ctrl *ctrl)
{
	return ctrl->p.kato_ms;
}

size_t nvof_ctrl_max_transfer(const struct nvof_ctrl *ctrl)
{
	return ctrl->max_transfer;
}

void nvof_ctrl_stats(const struct nvof_ctrl *ctrl, struct nvof_ctrl_stats *stats)
{
	*stats = ctrl->stats;
}

void nvof_ctrl_setup_times(const struct nvof_ctrl *ctrl, struct nvof_setup_times *times)
{
	*times = (struct nvof_setup_times){
		.total_us = ctrl->live_us,
		.admin_us = ctrl->init_done_us,
		.io_queues_us = ctrl->live_us > ctrl->init_done_us ? ctrl->live_us - ctrl->init_done_us : 0,
	};
}
