/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keep alive (Base 2.0 section 3.9).  A command goes out half a KATO after the last answer and has another half to be answered, so a dead
 * link is noticed within one KATO (C024); while other commands are still answered it has one KATO.  With traffic-based keep alive any
 * command counts: nothing is sent while there is traffic, and the timer looks twice as often, as traffic may have stopped just after a
 * look.
 */
#include <errno.h>

#include "host/admin.h"
#include "host/ctrl.h"
#include "host/queue.h"
#include "host/tags.h"

static uint64_t kato_ns(const struct nvof_ctrl *ctrl)
{
	return ctrl->p.kato_ms * NSEC_PER_MSEC;
}

static void ka_set(struct nvof_ctrl *ctrl, uint64_t delay)
{
	ctrl->ka.due = clock_ns() + delay;
	timer_set(ctrl->loop, &ctrl->ka.timer, ctrl->ka.due);
}

static void ka_wait(struct nvof_ctrl *ctrl)
{
	ctrl->traffic = false;
	ka_set(ctrl, kato_ns(ctrl) / (ctrl->ka.traffic_based ? 4 : 2));
}

static void ka_answered(struct host_req *req, int status, const struct nvme_cqe *cqe)
{
	struct nvof_ctrl *ctrl = req->arg;
	char text[150];

	ctrl->ka.inflight = false;
	if (!ctrl->ka.running)
		return;
	if (status) {
		/* A ctrl without keep alive runs no timer (C063). */
		log_warn(&ctrl->ctx->log, "%s at %s refuses Keep Alive, which stops: %s", ctrl->p.subsysnqn, ctrl->p.where,
			 nvof_status_str(status, text, sizeof(text)));
		keep_alive_stop(ctrl);
		return;
	}
	ka_wait(ctrl);
}

static void ka_send(struct nvof_ctrl *ctrl)
{
	struct nvme_sqe sqe = { .opcode = nvme_admin_keep_alive };

	ctrl->traffic = false;
	/* Without room now: the next look tries again. */
	if (!admin_submit_slot(ctrl, ADMIN_SLOT_KEEP_ALIVE, &sqe, DATA_NONE, NULL, 0, ka_answered)) {
		ctrl->ka.inflight = true;
		ctrl->ka.sent = clock_ns();
		ctrl->stats.nr_keep_alives++;
	}
	ka_set(ctrl, kato_ns(ctrl) / 2);
}

static void ka_timer(struct timer *t)
{
	struct nvof_ctrl *ctrl = container_of(t, struct nvof_ctrl, ka.timer);
	uint64_t now = clock_ns();
	bool traffic = ctrl->traffic;

	if (!ctrl->ka.inflight) {
		if (ctrl->ka.traffic_based && traffic)
			ka_wait(ctrl);
		else
			ka_send(ctrl);
		return;
	}
	/* We were away ourselves (a stopped process, a busy application): what the ctrl sent meanwhile is still to be read. */
	if (now - ctrl->ka.due > kato_ns(ctrl) / 4) {
		ka_set(ctrl, kato_ns(ctrl) / 4);
		return;
	}
	if (traffic && now - ctrl->ka.sent < kato_ns(ctrl)) {
		ctrl->traffic = false;
		ka_set(ctrl, ctrl->ka.sent + kato_ns(ctrl) - now);
		return;
	}
	queue_fail(ctrl->admin, -ETIMEDOUT, "Keep Alive was not answered within %u ms (KATO %u ms)",
		   (unsigned int)((now - ctrl->ka.sent) / NSEC_PER_MSEC), ctrl->p.kato_ms);
}

void keep_alive_setup(struct nvof_ctrl *ctrl)
{
	timer_init(&ctrl->ka.timer, ka_timer);
}

void keep_alive_start(struct nvof_ctrl *ctrl)
{
	if (!ctrl->p.kato_ms)
		return;
	ctrl->ka.running = true;
	ka_wait(ctrl);
}

void keep_alive_stop(struct nvof_ctrl *ctrl)
{
	ctrl->ka.running = false;
	timer_cancel(ctrl->loop, &ctrl->ka.timer);
}
