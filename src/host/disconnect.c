/* SPDX-License-Identifier: BSD-3-Clause */
/* Disconnect: refuse new I/O at once; at the end of the turn close the I/O queues, tell the ctrl, close the admin queue. */
#include <errno.h>

#include "host/ctrl.h"
#include "host/queue_setup.h"

void ctrl_disconnect_end(struct nvof_ctrl *ctrl)
{
	if (!ctrl->disconnecting)
		return;
	ctrl->disconnecting = false;
	if (ctrl->disconnect_cb)
		ctrl->disconnect_cb(ctrl->disconnect_arg, ctrl, ctrl->disconnect_status);
}

static void disconnect_close(struct nvof_ctrl *ctrl, int status)
{
	ctrl->disconnect_status = status;
	ctrl_stop(ctrl, -ECANCELED);
	ctrl_set_state(ctrl, NVOF_CTRL_DEAD, "disconnected");
	ctrl_disconnect_end(ctrl);
	ctrl_tell_state(ctrl);
}

void ctrl_shutdown_done(struct nvof_ctrl *ctrl, int status)
{
	disconnect_close(ctrl, status);
}

void ctrl_disconnect_admin_lost(struct nvof_ctrl *ctrl)
{
	if (ctrl->connecting || ctrl->recovery.on)
		return; /* disconnect_work or free_work is to come */
	disconnect_close(ctrl, 0);
}

static void disconnect_work(struct loop_defer *d)
{
	struct nvof_ctrl *ctrl = container_of(d, struct nvof_ctrl, disconnect_work);
	struct error err = { 0 };
	bool reconnecting;

	if (ctrl->freeing)
		return; /* that ends the disconnect as well */
	if (ctrl->connecting) {
		error_set(&err, -ECANCELED, "connect to %s: disconnected before it was done", ctrl->p.where);
		ctrl_connect_failed(ctrl, &err);
	}
	if (ctrl->state == NVOF_CTRL_DEAD) {
		ctrl_disconnect_end(ctrl);
		return;
	}
	reconnecting = ctrl->recovery.on;
	recovery_stop(ctrl);
	if (reconnecting) {
		/* There is nobody to say good-bye to. */
		queue_batch_free(ctrl->batch);
		ctrl->batch = NULL;
		disconnect_close(ctrl, 0);
		return;
	}
	keep_alive_stop(ctrl);
	cmd_timer_stop(ctrl);
	ctrl_stop_io(ctrl, -ECANCELED);
	ctrl_shutdown_start(ctrl);
}

void ctrl_disconnect_setup(struct nvof_ctrl *ctrl)
{
	loop_defer_init(&ctrl->disconnect_work, disconnect_work);
}

int nvof_ctrl_disconnect(struct nvof_ctrl *ctrl, nvof_connect_cb *cb, void *arg)
{
	if (ctrl->disconnecting || ctrl->freeing)
		return -EALREADY;
	ctrl->disconnecting = true;
	ctrl->disconnect_cb = cb;
	ctrl->disconnect_arg = arg;
	ctrl->disconnect_status = 0;
	ctrl_refuse_io(ctrl);
	ctrl_set_state(ctrl, NVOF_CTRL_DELETING, "asked to disconnect");
	loop_defer(ctrl->loop, &ctrl->disconnect_work);
	return 0;
}
