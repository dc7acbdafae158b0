/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The initialisation of a ctrl on its LIVE admin queue (Base 2.0 section 3.5.2): a table of steps, one command each.  A step that does not
 * need the answer to the one before it is sent together with it: each exchange less is a round trip less.  When both have been answered the
 * next step follows; CSTS.RDY may be asked for again a little later; the rest is the failure of the admin queue with a sentence.  The last
 * steps and the set-up of the I/O queues wait for each other's end only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/admin.h"
#include "host/ctrl.h"
#include "host/queue.h"

#define READY_RETRY_MIN (1 * NSEC_PER_MSEC)
#define READY_RETRY_MAX (100 * NSEC_PER_MSEC)

enum init_next { INIT_NEXT, INIT_AGAIN, INIT_FAILED };

struct init_step {
	const char *what;
	bool (*wanted)(const struct nvof_ctrl *ctrl); /* NULL: always */
	struct nvme_sqe (*build)(struct nvof_ctrl *ctrl);
	enum init_next (*answer)(struct nvof_ctrl *ctrl, uint64_t result);
	bool reads_identify;
	const void *data; /* that it takes along */
	uint32_t data_len;
	bool with_last; /* sent together with the step before it */
	bool with_io;	/* the set-up of the I/O queues does not wait for it, only the ctrl does */
	/* A refusal need not be the end: NULL when it is. */
	enum init_next (*refused)(struct nvof_ctrl *ctrl, int status);
};

static struct nvme_sqe cap_build(struct nvof_ctrl *ctrl)
{
	return sqe_property_get(NVME_REG_CAP, true);
}

static enum init_next cap_answer(struct nvof_ctrl *ctrl, uint64_t result)
{
	uint32_t entries = (uint32_t)NVME_CAP_MQES(result) + 1;

	ctrl->init.cap = result;
	if (entries < 2 && !ctrl->p.is_discovery) {
		queue_fail(ctrl->admin, -EPROTO, "Property Get CAP: MQES 0: queues of one entry are of no use");
		return INIT_FAILED;
	}
	if (ctrl->queue_size > entries) {
		log_info(&ctrl->ctx->log, "queue size %u -> %u: the ctrl's CAP.MQES", ctrl->queue_size, entries);
		ctrl->queue_size = entries;
	}
	return INIT_NEXT;
}

static struct nvme_sqe vs_build(struct nvof_ctrl *ctrl)
{
	return sqe_property_get(NVME_REG_VS, false);
}

static enum init_next vs_answer(struct nvof_ctrl *ctrl, uint64_t result)
{
	ctrl->vs = (uint32_t)result;
	return INIT_NEXT;
}

static struct nvme_sqe enable_build(struct nvof_ctrl *ctrl)
{
	uint64_t cap = ctrl->init.cap;
	uint32_t css = NVME_CC_CSS_NVM;

	/* CAP.TO counts 500 ms and may be 0; the kernel allows one unit more, so do we. */
	ctrl->init.ready_deadline = clock_ns() + (NVME_CAP_TO(cap) + 1) * 500 * NSEC_PER_MSEC;
	ctrl->init.retry_ns = READY_RETRY_MIN;
	if (!(NVME_CAP_CSS(cap) & NVME_CAP_CSS_NVM) && NVME_CAP_CSS(cap) & NVME_CAP_CSS_ADMIN)
		css = NVME_CC_CSS_ADMIN;
	ctrl->init.cc = NVME_SET(1, CC_EN) | NVME_SET(css, CC_CSS) | NVME_SET((uint32_t)NVME_CAP_MPSMIN(cap), CC_MPS) |
			NVME_SET(NVME_CC_AMS_RR, CC_AMS) | NVME_SET(6, CC_IOSQES) | NVME_SET(4, CC_IOCQES);
	return sqe_property_set(NVME_REG_CC, false, ctrl->init.cc);
}

static struct nvme_sqe csts_build(struct nvof_ctrl *ctrl)
{
	return sqe_property_get(NVME_REG_CSTS, false);
}

static enum init_next csts_answer(struct nvof_ctrl *ctrl, uint64_t result)
{
	if (NVME_CSTS_CFS(result)) {
		queue_fail(ctrl->admin, -EIO, "the ctrl reports a fatal error while it is enabled (CSTS.CFS)");
		return INIT_FAILED;
	}
	if (NVME_CSTS_RDY(result))
		return INIT_NEXT;
	if (clock_ns() < ctrl->init.ready_deadline)
		return INIT_AGAIN;
	queue_fail(ctrl->admin, -ETIMEDOUT, "the ctrl did not become ready (CSTS.RDY) within the %u ms of its CAP.TO",
		   ((unsigned int)NVME_CAP_TO(ctrl->init.cap) + 1) * 500);
	return INIT_FAILED;
}

static struct nvme_sqe identify_build(struct nvof_ctrl *ctrl)
{
	memset(ctrl->init.id, 0, sizeof(*ctrl->init.id));
	return sqe_identify(NVME_IDENTIFY_CNS_CTRL, 0, 0, 0);
}

static enum init_next identify_answer(struct nvof_ctrl *ctrl, uint64_t result)
{
	return ctrl_check_identify(ctrl) ? INIT_FAILED : INIT_NEXT;
}

static bool is_io_ctrl(const struct nvof_ctrl *ctrl)
{
	return !ctrl->p.is_discovery;
}

static struct nvme_sqe queues_build(struct nvof_ctrl *ctrl)
{
	uint32_t n = ctrl->p.nr_io_queues - 1;

	return sqe_features(nvme_admin_set_features, NVME_FEAT_FID_NUM_QUEUES, 0, n << 16 | n);
}

/* Both counts are 0's based, and a ctrl may grant more than was asked for (C036). */
static enum init_next queues_answer(struct nvof_ctrl *ctrl, uint64_t result)
{
	uint32_t granted = min_u32((uint32_t)result & 0xffff, (uint32_t)result >> 16) + 1;

	ctrl->nr_granted = min_u32(granted, ctrl->p.nr_io_queues);
	if (ctrl->nr_granted < ctrl->p.nr_io_queues)
		log_info(&ctrl->ctx->log, "%u I/O queues asked for, %u granted", ctrl->p.nr_io_queues, ctrl->nr_granted);
	return INIT_NEXT;
}

static enum init_next queues_refused(struct nvof_ctrl *ctrl, int status)
{
	ctrl->init.queues_status = status;
	return INIT_NEXT;
}

/* With both answers: a discovery service may have a name of its own, and has no I/O queues whatever it says.  False: the connect fails. */
static bool queues_known(struct nvof_ctrl *ctrl)
{
	char text[150];

	if (ctrl->p.is_discovery)
		ctrl->nr_granted = 0;
	else if (ctrl->init.queues_status) /* there is no other way to grant none: the answer's counts start at one */
		queue_fail(ctrl->admin, ctrl->init.queues_status, "no I/O queues were granted: Set Features (Number of Queues): %s",
			   nvof_status_str(ctrl->init.queues_status, text, sizeof(text)));
	return ctrl->p.is_discovery || !ctrl->init.queues_status;
}

/* Base 2.0 section 5.27.1.18: without it the ctrl tells no retry delays. */
static bool has_retry_delays(const struct nvof_ctrl *ctrl)
{
	const struct nvme_id_ctrl *id = ctrl->init.id;

	return id->crdt1 || id->crdt2 || id->crdt3;
}

static const struct nvme_feat_host_behavior behavior = { .acre = NVME_ENABLE_ACRE };

static struct nvme_sqe behavior_build(struct nvof_ctrl *ctrl)
{
	return sqe_features(nvme_admin_set_features, NVME_FEAT_FID_HOST_BEHAVIOR, 0, 0);
}

static enum init_next behavior_refused(struct nvof_ctrl *ctrl, int status)
{
	char text[150];

	log_info(&ctrl->ctx->log, "%s at %s: no retry delays: Set Features (Host Behavior Support): %s", ctrl->p.subsysnqn, ctrl->p.where,
		 nvof_status_str(status, text, sizeof(text)));
	return INIT_NEXT;
}

static bool wants_events(const struct nvof_ctrl *ctrl)
{
	return aer_supported(ctrl);
}

static struct nvme_sqe events_build(struct nvof_ctrl *ctrl)
{
	return sqe_features(nvme_admin_set_features, NVME_FEAT_FID_ASYNC_EVENT, 0, aer_supported(ctrl));
}

static enum init_next events_refused(struct nvof_ctrl *ctrl, int status)
{
	char text[150];

	log_warn(&ctrl->ctx->log, "%s at %s: events can't be configured: %s", ctrl->p.subsysnqn, ctrl->p.where,
		 nvof_status_str(status, text, sizeof(text)));
	return INIT_NEXT;
}

static const struct init_step init_steps[] = {
	{ .what = "Property Get CAP", .build = cap_build, .answer = cap_answer },
	{ .what = "Property Get VS", .build = vs_build, .answer = vs_answer, .with_last = true },
	{ .what = "Property Set CC (enable)", .build = enable_build },
	{ .what = "Property Get CSTS", .build = csts_build, .answer = csts_answer, .with_last = true },
	{ .what = "Identify Controller", .build = identify_build, .answer = identify_answer, .reads_identify = true },
	{ .what = "Set Features (Number of Queues)",
	  .wanted = is_io_ctrl,
	  .build = queues_build,
	  .answer = queues_answer,
	  .refused = queues_refused,
	  .with_last = true },
	{ .what = "Set Features (Asynchronous Event Configuration)",
	  .wanted = wants_events,
	  .build = events_build,
	  .refused = events_refused,
	  .with_io = true },
	{ .what = "Set Features (Host Behavior Support)",
	  .wanted = has_retry_delays,
	  .build = behavior_build,
	  .refused = behavior_refused,
	  .data = &behavior,
	  .data_len = sizeof(behavior),
	  .with_last = true,
	  .with_io = true },
};

static void init_end(struct nvof_ctrl *ctrl)
{
	ctrl_init_stop(ctrl);
	ctrl_init_done(ctrl);
}

static void init_send_from(struct nvof_ctrl *ctrl, unsigned int step);

static bool step_wanted(const struct nvof_ctrl *ctrl, unsigned int step)
{
	return !init_steps[step].wanted || init_steps[step].wanted(ctrl);
}

static void init_again(struct nvof_ctrl *ctrl, unsigned int step)
{
	struct ctrl_init *init = &ctrl->init;

	init->again = step;
	timer_set(ctrl->loop, &init->retry, clock_ns() + init->retry_ns);
	init->retry_ns = min_u64(init->retry_ns * 2, READY_RETRY_MAX);
}

static unsigned int slot_of(unsigned int step)
{
	return step % 2 ? ADMIN_SLOT_INIT : ADMIN_SLOT_CTL;
}

/* One of those under way.  Two at most are, and they are neighbours. */
static unsigned int step_of(const struct nvof_ctrl *ctrl, const struct host_req *req)
{
	unsigned int step;

	for (step = 0; !(ctrl->init.waiting & 1u << step) || slot_of(step) != req->cid; step++)
		;
	return step;
}

static void init_answered(struct host_req *req, int status, const struct nvme_cqe *cqe)
{
	struct nvof_ctrl *ctrl = req->arg;
	struct ctrl_init *init = &ctrl->init;
	enum init_next next = INIT_NEXT;
	const struct init_step *step;
	unsigned int at;
	char text[150];

	if (!init->running || ctrl->admin->state != QUEUE_LIVE)
		return; /* the connect has failed already */
	at = step_of(ctrl, req);
	step = &init_steps[at];
	if (status && step->refused) {
		next = step->refused(ctrl, status);
	} else if (status) {
		queue_fail(ctrl->admin, status, "%s: %s", step->what, nvof_status_str(status, text, sizeof(text)));
		return;
	} else if (step->answer) {
		next = step->answer(ctrl, cqe ? le64toh(cqe->result) : 0);
	}
	if (next == INIT_AGAIN)
		init_again(ctrl, at);
	if (next != INIT_NEXT)
		return;
	init->waiting &= ~(1u << at);
	if (!init->waiting)
		init_send_from(ctrl, init->next);
}

static void init_send(struct nvof_ctrl *ctrl, unsigned int at)
{
	const struct init_step *step = &init_steps[at];
	struct nvme_sqe sqe = step->build(ctrl);
	int ret;

	ctrl->init.waiting |= 1u << at;
	if (step->reads_identify)
		ret = admin_submit_slot(ctrl, slot_of(at), &sqe, DATA_FROM_CTRL, ctrl->init.id, sizeof(*ctrl->init.id), init_answered);
	else
		ret = admin_submit_slot(ctrl, slot_of(at), &sqe, DATA_TO_CTRL, (void *)(uintptr_t)step->data, step->data_len,
					init_answered);
	if (ret)
		queue_fail(ctrl->admin, ret, "%s can't be sent: %s", step->what, strerror(-ret));
}

/* The next step that is wanted, and the one that goes with it. */
static void init_send_from(struct nvof_ctrl *ctrl, unsigned int step)
{
	while (step < ARRAY_SIZE(init_steps) && !step_wanted(ctrl, step))
		step++;
	if (!ctrl->init.granted && (step == ARRAY_SIZE(init_steps) || init_steps[step].with_io)) {
		ctrl->init.granted = true;
		if (queues_known(ctrl))
			ctrl_init_granted(ctrl);
		if (ctrl->admin->state != QUEUE_LIVE)
			return;
	}
	if (step == ARRAY_SIZE(init_steps)) {
		init_end(ctrl);
		return;
	}
	ctrl->init.next = step + 1;
	if (step + 1 < ARRAY_SIZE(init_steps) && init_steps[step + 1].with_last) {
		ctrl->init.next = step + 2;
		if (step_wanted(ctrl, step + 1)) {
			ctrl->init.waiting = 1u << (step + 1); /* the first may be answered before the second is sent */
			init_send(ctrl, step);
			init_send(ctrl, step + 1);
			return;
		}
	}
	init_send(ctrl, step);
}

static void init_retry(struct timer *t)
{
	struct nvof_ctrl *ctrl = container_of(t, struct nvof_ctrl, init.retry);

	init_send(ctrl, ctrl->init.again);
}

void ctrl_init_setup(struct nvof_ctrl *ctrl)
{
	timer_init(&ctrl->init.retry, init_retry);
}

void ctrl_init_start(struct nvof_ctrl *ctrl)
{
	struct ctrl_init *init = &ctrl->init;

	init->running = true;
	init->granted = false;
	init->queues_status = 0;
	init->waiting = 0;
	ctrl->gives_descriptors = false; /* it may have become another one */
	init->span = timeline_begin(ctrl, 0, "init");
	if (!init->id)
		init->id = malloc(sizeof(*init->id));
	if (!init->id) {
		queue_fail(ctrl->admin, -ENOMEM, "no memory");
		return;
	}
	init_send_from(ctrl, 0);
}

void ctrl_init_stop(struct nvof_ctrl *ctrl)
{
	if (!ctrl->init.running)
		return;
	ctrl->init.running = false;
	timer_cancel(ctrl->loop, &ctrl->init.retry);
	timeline_end(ctrl, ctrl->init.span);
}

void ctrl_init_timeout(struct nvof_ctrl *ctrl, uint32_t tmo_ms)
{
	if (timer_armed(&ctrl->init.retry))
		queue_fail(ctrl->admin, -ETIMEDOUT, "the ctrl did not become ready (CSTS.RDY) within %u ms", tmo_ms);
	else
		queue_fail(ctrl->admin, -ETIMEDOUT, "no answer to %s within %u ms", init_steps[__builtin_ctz(ctrl->init.waiting)].what,
			   tmo_ms);
}
