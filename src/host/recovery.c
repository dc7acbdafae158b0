/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What happens when a ctrl that worked is lost: it is given up, or set up again by the code of the first connect.
 *
 * LIVE -> RESETTING (queues are stopped together, I/O is held) -> CONNECTING (attempts: one at once, then one every reconnect_delay) ->
 * LIVE (namespaces are looked at again, and when nothing of the old connections can arrive any more what was held is sent).  ctrl_loss_tmo
 * bounds the attempts, fast_io_fail_tmo how long I/O waits.  A refusal that says "do not retry" ends it at once.
 */
#include "host/recovery.h"

#include <errno.h>
#include <string.h>

#include "host/ctrl.h"
#include "host/hctx.h"
#include "host/ns_remove.h"
#include "host/ns_scan.h"
#include "host/queue_batch.h"
#include "host/renew.h"

#define ATTEMPT_MIN_MS 1000

bool ctrl_recovers(const struct nvof_ctrl *ctrl)
{
	return ctrl->p.ctrl_loss_tmo_ms && (ctrl->state == NVOF_CTRL_LIVE || ctrl->recovery.on);
}

static uint64_t waited_ms(const struct nvof_ctrl *ctrl)
{
	return (clock_ns() - ctrl->recovery.since) / NSEC_PER_MSEC;
}

/* Until ctrl_loss_tmo is over. */
static uint64_t left_ms(const struct nvof_ctrl *ctrl)
{
	uint64_t waited = waited_ms(ctrl);

	if (ctrl->p.ctrl_loss_tmo_ms < 0)
		return UINT64_MAX;
	return waited < (uint64_t)ctrl->p.ctrl_loss_tmo_ms ? (uint64_t)ctrl->p.ctrl_loss_tmo_ms - waited : 0;
}

void recovery_stop(struct nvof_ctrl *ctrl)
{
	struct recovery *r = &ctrl->recovery;

	r->on = r->settling = false;
	timer_cancel(ctrl->loop, &r->retry);
	timer_cancel(ctrl->loop, &r->fail_io);
	timer_cancel(ctrl->loop, &r->settle);
	error_clear(&r->cause);
}

/* err: why there is no (further) attempt; its contents are taken. */
static void give_up(struct nvof_ctrl *ctrl, struct error *err)
{
	int code = err->code < 0 ? err->code : -ECONNRESET;

	recovery_stop(ctrl);
	error_clear(&ctrl->err);
	error_move(&ctrl->err, err);
	log_warn(&ctrl->ctx->log, "%s at %s is lost: %s", ctrl->p.subsysnqn, ctrl->p.where, error_msg(&ctrl->err));
	ctrl_set_state(ctrl, NVOF_CTRL_DELETING, "no recovery");
	ctrl_stop(ctrl, code);
	ctrl_set_state(ctrl, NVOF_CTRL_DEAD, "lost");
	ns_scan_end(ctrl, code);
	ctrl_tell_state(ctrl);
	ns_remove_all(ctrl);
}

static void attempt(struct nvof_ctrl *ctrl)
{
	/* No longer than there is time left, but the last one needs some, too. */
	uint64_t left = left_ms(ctrl), tmo_ms = min_u64(ctrl->p.connect_tmo_ms, left < ATTEMPT_MIN_MS ? ATTEMPT_MIN_MS : left);
	struct error err = { 0 };

	ctrl->recovery.nr_attempts++;
	if (ctrl_connect_begin(ctrl, (uint32_t)tmo_ms, &err))
		recovery_attempt_failed(ctrl, &err);
	error_clear(&err);
}

static void retry_now(struct timer *t)
{
	attempt(container_of(t, struct nvof_ctrl, recovery.retry));
}

static void fail_io(struct timer *t)
{
	struct nvof_ctrl *ctrl = container_of(t, struct nvof_ctrl, recovery.fail_io);

	log_warn(&ctrl->ctx->log, "%s at %s: not back within %d ms: I/O fails", ctrl->p.subsysnqn, ctrl->p.where,
		 ctrl->p.fast_io_fail_tmo_ms);
	ctrl_end_io(ctrl, -ECONNRESET);
}

/* The next attempt, or the end.  err: why there is none now; its contents are taken, unless it is the ctrl's own. */
static void retry_later(struct nvof_ctrl *ctrl, struct error *err)
{
	struct recovery *r = &ctrl->recovery;
	uint64_t left = left_ms(ctrl), next = min_u64(left, ctrl->p.reconnect_delay_ms);
	struct error all = { 0 };

	if ((err->code > 0 && err->code & NVME_STATUS_DNR) || !left) {
		error_set(&all, err->code, "%s; %u attempt%s to reconnect within %u ms failed, the last: %s", error_msg(&r->cause),
			  r->nr_attempts, r->nr_attempts == 1 ? "" : "s", (unsigned int)waited_ms(ctrl), error_msg(err));
		error_clear(err);
		give_up(ctrl, &all);
		return;
	}
	log_info(&ctrl->ctx->log, "%s at %s: attempt %u failed, the next in %u ms: %s", ctrl->p.subsysnqn, ctrl->p.where, r->nr_attempts,
		 (unsigned int)next, error_msg(err));
	if (err != &ctrl->err) {
		error_clear(&ctrl->err);
		error_move(&ctrl->err, err);
	}
	timer_set(ctrl->loop, &r->retry, clock_ns() + next * NSEC_PER_MSEC);
}

void recovery_attempt_failed(struct nvof_ctrl *ctrl, struct error *err)
{
	timer_cancel(ctrl->loop, &ctrl->connect_timer);
	queue_batch_free(ctrl->batch);
	ctrl->batch = NULL;
	ctrl_suspend(ctrl, err->code < 0 ? err->code : -ECONNRESET);
	retry_later(ctrl, err);
	if (ctrl->recovery.on)
		ctrl_tell_event(ctrl, NVOF_EVENT_ATTEMPT, 0);
}

/* Was it only back for a moment?  Then this is still the same loss: its time goes on, and so does the delay between attempts. */
static bool same_loss(const struct nvof_ctrl *ctrl)
{
	const struct recovery *r = &ctrl->recovery;

	return r->settling || (r->back && clock_ns() - r->back < ctrl->p.reconnect_delay_ms * NSEC_PER_MSEC);
}

/* From the end of a turn.  err's contents are taken. */
static void recovery_start(struct nvof_ctrl *ctrl, struct error *err)
{
	struct recovery *r = &ctrl->recovery;
	int code = err->code < 0 ? err->code : -ECONNRESET;
	bool same = same_loss(ctrl);

	if (!same) {
		r->nr_attempts = 0;
		r->since = clock_ns();
	}
	r->settling = false;
	log_warn(&ctrl->ctx->log, "%s at %s is lost, and is connected to again: %s", ctrl->p.subsysnqn, ctrl->p.where, error_msg(err));
	ctrl_set_state(ctrl, NVOF_CTRL_RESETTING, error_msg(err));
	timer_cancel(ctrl->loop, &r->settle);
	r->on = true;
	error_copy(&ctrl->err, err);
	error_move(&r->cause, err);
	if (ctrl->p.fast_io_fail_tmo_ms >= 0)
		timer_set(ctrl->loop, &r->fail_io, r->since + (uint64_t)ctrl->p.fast_io_fail_tmo_ms * NSEC_PER_MSEC);
	ctrl_suspend(ctrl, code);
	ctrl_tell_state(ctrl);
	/* A callback may have begun to disconnect. */
	if (!ctrl_set_state(ctrl, NVOF_CTRL_CONNECTING, "reconnecting"))
		return;
	if (same)
		retry_later(ctrl, &ctrl->err);
	else
		attempt(ctrl);
}

void recovery_done(struct nvof_ctrl *ctrl)
{
	timer_cancel(ctrl->loop, &ctrl->connect_timer);
	/* fast_io_fail_tmo goes on: I/O still waits. */
	ctrl->recovery.on = false;
	ctrl->recovery.settling = true;
	error_clear(&ctrl->recovery.cause);
	error_clear(&ctrl->err);
	ctrl->stats.nr_reconnects++;
	ns_scan_reconnected(ctrl);
}

static void recovered(struct nvof_ctrl *ctrl)
{
	log_warn(&ctrl->ctx->log, "%s at %s is back after %u ms, with %u I/O queues", ctrl->p.subsysnqn, ctrl->p.where,
		 (unsigned int)waited_ms(ctrl), ctrl->nr_live_queues);
	recovery_stop(ctrl);
	ctrl->recovery.back = clock_ns();
	ctrl_accept_io(ctrl);
	held_release(ctrl);
}

bool ctrl_settled(const struct nvof_ctrl *ctrl)
{
	const struct host_transport *ops = ctrl->p.ops;

	return !ops->settled || ops->settled(ctrl->ep);
}

/* What was held goes out when nothing of before can reach the ctrl any more. */
static void release_when_settled(struct nvof_ctrl *ctrl)
{
	if (ctrl->state != NVOF_CTRL_LIVE)
		return;
	if (!ctrl_settled(ctrl))
		timer_set(ctrl->loop, &ctrl->recovery.settle, clock_ns() + SETTLE_LOOK_NS);
	else
		recovered(ctrl);
}

static void settle_look(struct timer *t)
{
	release_when_settled(container_of(t, struct nvof_ctrl, recovery.settle));
}

void recovery_namespaces_known(struct nvof_ctrl *ctrl)
{
	release_when_settled(ctrl);
}

void ctrl_lost(struct nvof_ctrl *ctrl, struct error *err)
{
	if (ctrl->p.ctrl_loss_tmo_ms) {
		recovery_start(ctrl, err);
		return;
	}
	ctrl_set_state(ctrl, NVOF_CTRL_RESETTING, "lost");
	give_up(ctrl, err);
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
		if (!renew_queue(ctrl, q, &err))
			ctrl_lost(ctrl, &err);
		break;
	case NVOF_CTRL_DELETING:
		ctrl_disconnect_queue_lost(ctrl, q);
		break;
	default:
		break;
	}
	error_clear(&err);
}

static void reset_work(struct loop_defer *d)
{
	struct nvof_ctrl *ctrl = container_of(d, struct nvof_ctrl, reset_work);
	struct error err = { 0 };

	if (ctrl->state != NVOF_CTRL_LIVE)
		return;
	error_set(&err, -ECONNRESET, "reset of %s at %s was asked for", ctrl->p.subsysnqn, ctrl->p.where);
	recovery_start(ctrl, &err);
	error_clear(&err);
}

int nvof_ctrl_reset(struct nvof_ctrl *ctrl)
{
	if (ctrl->state != NVOF_CTRL_LIVE || ctrl->freeing)
		return -ENOTCONN;
	if (!ctrl->p.ctrl_loss_tmo_ms)
		return -ENOTSUP;
	loop_defer(ctrl->loop, &ctrl->reset_work);
	return 0;
}

bool nvof_ctrl_recovery(const struct nvof_ctrl *ctrl, struct nvof_recovery *info)
{
	const struct recovery *r = &ctrl->recovery;
	uint64_t now = clock_ns();

	if (!r->on)
		return false;
	*info = (struct nvof_recovery){
		.nr_attempts = r->nr_attempts,
		.next_ms =
			timer_armed(&r->retry) && r->retry.deadline > now ? (unsigned int)((r->retry.deadline - now) / NSEC_PER_MSEC) : 0,
		.left_ms = ctrl->p.ctrl_loss_tmo_ms < 0 ? -1 : (int)left_ms(ctrl),
		.status = ctrl->err.code,
	};
	return true;
}

void recovery_setup(struct nvof_ctrl *ctrl)
{
	timer_init(&ctrl->recovery.retry, retry_now);
	timer_init(&ctrl->recovery.fail_io, fail_io);
	timer_init(&ctrl->recovery.settle, settle_look);
	loop_defer_init(&ctrl->reset_work, reset_work);
}
