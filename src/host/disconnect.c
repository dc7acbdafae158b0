/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Disconnect: refuse new I/O at once; at the end of the turn remove all namespaces, which waits for their I/O; close the I/O queues, tell
 * the ctrl, close the admin queue.
 */
#include <errno.h>

#include "host/ctrl.h"
#include "host/ns_missing.h"
#include "host/ns_remove.h"
#include "host/ns_scan.h"
#include "host/queue_batch.h"
#include "host/subsystem.h"

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
	ctrl->disconnect_end = clock_ns();
	ctrl->disconnect_status = status;
	ctrl_stop(ctrl, -ECANCELED);
	ctrl_set_state(ctrl, NVOF_CTRL_DEAD, "disconnected");
	/* Who is told that it is over may free the ctrl, and with it what tells when the rest is settled. */
	if (!path_has_unsettled(ctrl->path))
		ctrl_disconnect_end(ctrl);
	ctrl_tell_state(ctrl);
}

void ctrl_shutdown_done(struct nvof_ctrl *ctrl, int status)
{
	disconnect_close(ctrl, status);
}

/* The I/O queues close, and then the ctrl is told; without a ctrl that hears it all is over. */
void ctrl_namespaces_gone(struct nvof_ctrl *ctrl)
{
	if (ctrl->state != NVOF_CTRL_DELETING || ctrl->freeing)
		return; /* it was lost */
	ctrl->namespaces_gone = clock_ns();
	if (ctrl->disconnect_silent) {
		disconnect_close(ctrl, 0);
		return;
	}
	keep_alive_stop(ctrl);
	cmd_timer_stop(ctrl);
	queue_delete_start(ctrl);
}

void queue_delete_done(struct nvof_ctrl *ctrl)
{
	ctrl_stop_io(ctrl, -ECANCELED);
	ctrl_shutdown_start(ctrl);
}

/* Nobody is there any more: what is under way ends here, and namespaces have nothing to wait for. */
static void disconnect_alone(struct nvof_ctrl *ctrl)
{
	ctrl->disconnect_silent = true;
	ctrl_stop(ctrl, -ECANCELED);
	if (ctrl->namespaces_gone)
		disconnect_close(ctrl, 0);
	else
		ns_remove_all(ctrl);
}

/* The other end may close as soon as it knows. */
void ctrl_disconnect_queue_lost(struct nvof_ctrl *ctrl, struct host_queue *q)
{
	if (ctrl->connecting || ctrl->recovery.on || ctrl->freeing)
		return; /* disconnect_work or free_work is to come */
	if (q == ctrl->admin)
		disconnect_alone(ctrl);
	else if (ctrl->namespaces_gone)
		queue_delete_lost(q);
	else
		ctrl_stop_io(ctrl, -ECANCELED);
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
	ns_scan_stop(ctrl);
	ns_missing_stop(ctrl);
	ns_scan_end(ctrl, -ECANCELED);
	if (reconnecting) {
		queue_batch_free(ctrl->batch);
		ctrl->batch = NULL;
		disconnect_alone(ctrl);
		return;
	}
	ns_remove_all(ctrl);
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
	ctrl->disconnect_start = clock_ns();
	/* The serial way refuses it one namespace after the other. */
	if (!ctrl->p.removal_concurrency)
		ctrl_refuse_io(ctrl);
	ctrl_set_state(ctrl, NVOF_CTRL_DELETING, "asked to disconnect");
	loop_defer(ctrl->loop, &ctrl->disconnect_work);
	return 0;
}

void nvof_ctrl_disconnect_times(const struct nvof_ctrl *ctrl, struct nvof_disconnect_times *times)
{
	*times = (struct nvof_disconnect_times){ 0 };
	if (!ctrl->disconnect_end || !ctrl->namespaces_gone)
		return;
	times->total_us = (double)(ctrl->disconnect_end - ctrl->disconnect_start) / NSEC_PER_USEC;
	times->namespaces_us = (double)(ctrl->namespaces_gone - ctrl->disconnect_start) / NSEC_PER_USEC;
	times->queues_us = (double)(ctrl->disconnect_end - ctrl->namespaces_gone) / NSEC_PER_USEC;
}
