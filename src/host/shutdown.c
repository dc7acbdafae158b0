/* SPDX-License-Identifier: BSD-3-Clause */
/* Shutdown notification (Base 2.0 section 3.6): CC.SHN, then CSTS.SHST until it is complete.  A peer that is stuck holds a disconnect for 5
 * s (C091).
 */
#include <errno.h>

#include "host/admin.h"
#include "host/ctrl.h"

#define SHUTDOWN_TMO	   (5 * NSEC_PER_SEC) /* since the disconnect began */
#define SHUTDOWN_TMO_MIN   (1 * NSEC_PER_SEC)
#define SHUTDOWN_RETRY_MIN (1 * NSEC_PER_MSEC)
#define SHUTDOWN_RETRY_MAX (100 * NSEC_PER_MSEC)

static void shutdown_end(struct nvof_ctrl *ctrl, int status)
{
	ctrl_shutdown_stop(ctrl);
	ctrl_shutdown_done(ctrl, status);
}

/* The end must not come from inside a completion: it closes the admin queue.  The timer's next turn is soon enough. */
static void shutdown_end_soon(struct nvof_ctrl *ctrl, int status)
{
	ctrl->disconnect_status = status;
	timer_cancel(ctrl->loop, &ctrl->shutdown.retry);
	timer_set(ctrl->loop, &ctrl->shutdown.timeout, 0);
}

static void csts_answered(struct host_req *req, int status, const struct nvme_cqe *cqe)
{
	struct nvof_ctrl *ctrl = req->arg;
	struct ctrl_shutdown *sd = &ctrl->shutdown;

	if (!sd->running)
		return;
	/* A ctrl that refuses the question is not asked again. */
	if (status || NVME_CSTS_SHST(le64toh(cqe->result)) == NVME_CSTS_SHST_CMPLT) {
		shutdown_end_soon(ctrl, 0);
		return;
	}
	timer_set(ctrl->loop, &sd->retry, clock_ns() + sd->retry_ns);
	sd->retry_ns = min_u64(sd->retry_ns * 2, SHUTDOWN_RETRY_MAX);
}

static void csts_ask(struct nvof_ctrl *ctrl)
{
	struct nvme_sqe sqe = sqe_property_get(NVME_REG_CSTS, false);

	if (admin_submit_slot(ctrl, ADMIN_SLOT_CTL, &sqe, DATA_NONE, NULL, 0, csts_answered))
		shutdown_end_soon(ctrl, 0);
}

static void shn_answered(struct host_req *req, int status, const struct nvme_cqe *cqe)
{
	struct nvof_ctrl *ctrl = req->arg;

	if (!ctrl->shutdown.running)
		return;
	if (status)
		shutdown_end_soon(ctrl, 0);
	else
		csts_ask(ctrl);
}

static void shutdown_retry(struct timer *t)
{
	csts_ask(container_of(t, struct nvof_ctrl, shutdown.retry));
}

static void shutdown_timeout(struct timer *t)
{
	struct nvof_ctrl *ctrl = container_of(t, struct nvof_ctrl, shutdown.timeout);

	shutdown_end(ctrl, ctrl->disconnect_status);
}

void ctrl_shutdown_setup(struct nvof_ctrl *ctrl)
{
	timer_init(&ctrl->shutdown.retry, shutdown_retry);
	timer_init(&ctrl->shutdown.timeout, shutdown_timeout);
}

void ctrl_shutdown_start(struct nvof_ctrl *ctrl)
{
	struct nvme_sqe sqe = sqe_property_set(NVME_REG_CC, false, ctrl->init.cc | NVME_SET(NVME_CC_SHN_NORMAL, CC_SHN));

	ctrl->shutdown.running = true;
	ctrl->shutdown.retry_ns = SHUTDOWN_RETRY_MIN;
	ctrl->disconnect_status = -ETIMEDOUT; /* unless an answer comes */
	timer_set(ctrl->loop, &ctrl->shutdown.timeout, max_u64(ctrl->disconnect_start + SHUTDOWN_TMO, clock_ns() + SHUTDOWN_TMO_MIN));
	if (admin_submit_slot(ctrl, ADMIN_SLOT_CTL, &sqe, DATA_NONE, NULL, 0, shn_answered))
		shutdown_end_soon(ctrl, 0);
}

void ctrl_shutdown_stop(struct nvof_ctrl *ctrl)
{
	ctrl->shutdown.running = false;
	timer_cancel(ctrl->loop, &ctrl->shutdown.retry);
	timer_cancel(ctrl->loop, &ctrl->shutdown.timeout);
}
