/* SPDX-License-Identifier: BSD-3-Clause */
/* What happens when a queue that worked is lost: the one place that decides between giving up and (later) reconnecting. */
#include <errno.h>

#include "host/ctrl.h"

static void ctrl_lost(struct nvof_ctrl *ctrl, struct error *err)
{
	int code = err->code < 0 ? err->code : -ECONNRESET;

	error_move(&ctrl->err, err);
	log_warn(&ctrl->ctx->log, "%s at %s is lost: %s", ctrl->p.subsysnqn, ctrl->p.where, error_msg(&ctrl->err));
	ctrl_set_state(ctrl, NVOF_CTRL_RESETTING, "lost");
	ctrl_stop(ctrl, code);
	/* Reconnecting begins here: RESETTING -> CONNECTING, with the same queue set-up as the first connect. */
	ctrl_set_state(ctrl, NVOF_CTRL_DELETING, "no recovery");
	ctrl_set_state(ctrl, NVOF_CTRL_DEAD, "lost");
	ctrl_tell_state(ctrl);
}

void ctrl_queue_lost(struct nvof_ctrl *ctrl, struct host_queue *q)
{
	struct error err = { 0 };

	error_move(&err, &q->err);
	switch (ctrl->state) {
	case NVOF_CTRL_CONNECTING:
		ctrl_connect_failed(ctrl, &err);
		break;
	case NVOF_CTRL_LIVE:
		ctrl_lost(ctrl, &err);
		break;
	case NVOF_CTRL_DELETING:
		/* The other end may close as soon as it knows.  I/O queues are stopped by now or will be. */
		if (q == ctrl->admin)
			ctrl_disconnect_admin_lost(ctrl);
		break;
	default:
		break;
	}
	error_clear(&err);
}
