/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asynchronous events (Base 2.0 section 5.2).  One Asynchronous Event Request is always with the ctrl, which keeps further events until the
 * next comes.  A kind of event comes again only after its log was read with RAE 0 (C046): whoever gets the event reads the log.
 *
 * A ctrl may answer each request at once.  So after a burst the next request waits: nothing is lost by that, as the ctrl keeps what it has
 * to tell, and neither looks at namespaces and logs nor the events themselves can take all of our time.
 */
#include "host/admin.h"
#include "host/ctrl.h"
#include "host/ns_scan.h"

#define AER_TYPE(dw0) ((dw0)&7)
#define AER_INFO(dw0) ((dw0) >> 8 & 0xff)

#define EVENT_BURST    64		     /* events in a row that are asked for without a pause */
#define EVENT_PAUSE_NS (250 * NSEC_PER_MSEC) /* for each one beyond, and until the burst has one more again */

static void aer_next(struct nvof_ctrl *ctrl);

uint32_t aer_supported(const struct nvof_ctrl *ctrl)
{
	const uint32_t ours = NVME_CTRL_OAES_NA | NVME_CTRL_OAES_FA | NVME_CTRL_OAES_ANA | (uint32_t)NVME_CTRL_OAES_DL;

	return le32toh(ctrl->init.id->oaes) & ours;
}

static enum nvof_event_type event_type(uint32_t dw0)
{
	if (AER_TYPE(dw0) != NVME_AER_NOTICE)
		return NVOF_EVENT_OTHER;
	switch (AER_INFO(dw0)) {
	case NVME_AER_NOTICE_NS_CHANGED:
		return NVOF_EVENT_NS_CHANGED;
	case NVME_AER_NOTICE_ANA:
		return NVOF_EVENT_ANA_CHANGED;
	case NVME_AER_NOTICE_DISC_CHANGED:
		return NVOF_EVENT_DISC_CHANGED;
	default:
		return NVOF_EVENT_OTHER;
	}
}

static void aer_answered(struct host_req *req, int status, const struct nvme_cqe *cqe)
{
	struct nvof_ctrl *ctrl = req->arg;
	uint32_t dw0 = cqe ? le32toh(cqe->dw0) : 0;
	char text[150];

	if (ctrl->state != NVOF_CTRL_LIVE || status < 0)
		return;
	if (status) {
		/* Asking again at once would be refused again: over and over. */
		log_warn(&ctrl->ctx->log, "%s at %s refuses to tell events: %s", ctrl->p.subsysnqn, ctrl->p.where,
			 nvof_status_str(status, text, sizeof(text)));
		return;
	}
	ctrl->stats.nr_events++;
	log_info(&ctrl->ctx->log, "%s at %s: event type %u info %02xh log %02xh", ctrl->p.subsysnqn, ctrl->p.where, AER_TYPE(dw0),
		 AER_INFO(dw0), dw0 >> 16 & 0xff);
	aer_next(ctrl);
	if (event_type(dw0) == NVOF_EVENT_NS_CHANGED)
		ns_scan_event(ctrl);
	ctrl_tell_event(ctrl, event_type(dw0), dw0);
}

static void aer_send(struct nvof_ctrl *ctrl)
{
	struct nvme_sqe sqe = { .opcode = nvme_admin_async_event };
	int ret = admin_submit_slot(ctrl, ADMIN_SLOT_AER, &sqe, DATA_NONE, NULL, 0, aer_answered);

	if (ret)
		log_warn(&ctrl->ctx->log, "%s at %s: no events: the request can't be sent (%d)", ctrl->p.subsysnqn, ctrl->p.where, ret);
}

/* aer.calm: when the burst is whole again. */
static void aer_next(struct nvof_ctrl *ctrl)
{
	uint64_t now = clock_ns(), room = EVENT_BURST * EVENT_PAUSE_NS;

	ctrl->aer.calm = (ctrl->aer.calm > now ? ctrl->aer.calm : now) + EVENT_PAUSE_NS;
	if (ctrl->aer.calm <= now + room)
		aer_send(ctrl);
	else
		timer_set(ctrl->loop, &ctrl->aer.pause, ctrl->aer.calm - room);
}

static void pause_over(struct timer *t)
{
	struct nvof_ctrl *ctrl = container_of(t, struct nvof_ctrl, aer.pause);

	if (ctrl->state == NVOF_CTRL_LIVE)
		aer_send(ctrl);
}

void aer_setup(struct nvof_ctrl *ctrl)
{
	timer_init(&ctrl->aer.pause, pause_over);
}

void aer_stop(struct nvof_ctrl *ctrl)
{
	timer_cancel(ctrl->loop, &ctrl->aer.pause);
}

void aer_start(struct nvof_ctrl *ctrl)
{
	if (aer_supported(ctrl))
		aer_send(ctrl);
}
