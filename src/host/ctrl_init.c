/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The initialisation of a ctrl on its LIVE admin queue (Base 2.0 section 3.5.2): a table of steps, one command each.  An answer leads to
 * the next step, to the same one again a little later (CSTS.RDY), or to the failure of the admin queue with a sentence.
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
	/* A refusal need not be the end: NULL when it is. */
	enum init_next (*refused)(struct nvof_ctrl *ctrl, int status);
};

static void init_send(struct nvof_ctrl *ctrl);

static struct nvme_sqe cap_build(struct nvof_ctrl *ctrl)
{
	return sqe_property_get(NVME_REG_CAP, true);
}

static enum init_next cap_answer(struct nvof_ctrl *ctrl, uint64_t result)
{
	uint32_t entries = (uint32_t)NVME_CAP_MQES(result) + 1;

	ctrl->init.cap = result;
	if (entries < 2 && !ctrl->p.is_discovery) {
		host_queue_failed(ctrl->admin, -EPROTO, "Property Get CAP: MQES 0: queues of one entry are of no use");
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

	if (!(NVME_CAP_CSS(cap) & NVME_CAP_CSS_NVM) && NVME_CAP_CSS(cap) & NVME_CAP_CSS_ADMIN)
		css = NVME_CC_CSS_ADMIN;
	ctrl->init.cc = NVME_SET(1, CC_EN) | NVME_SET(css, CC_CSS) | NVME_SET((uint32_t)NVME_CAP_MPSMIN(cap), CC_MPS) |
			NVME_SET(NVME_CC_AMS_RR, CC_AMS) | NVME_SET(6, CC_IOSQES) | NVME_SET(4, CC_IOCQES);
	return sqe_property_set(NVME_REG_CC, false, ctrl->init.cc);
}

static enum init_next enable_answer(struct nvof_ctrl *ctrl, uint64_t result)
{
	/* CAP.TO counts 500 ms and may be 0; the kernel allows one unit more, so do we. */
	ctrl->init.ready_deadline = clock_ns() + (NVME_CAP_TO(ctrl->init.cap) + 1) * 500 * NSEC_PER_MSEC;
	ctrl->init.retry_ns = READY_RETRY_MIN;
	return INIT_NEXT;
}

static struct nvme_sqe csts_build(struct nvof_ctrl *ctrl)
{
	return sqe_property_get(NVME_REG_CSTS, false);
}

static enum init_next csts_answer(struct nvof_ctrl *ctrl, uint64_t result)
{
	if (NVME_CSTS_CFS(result)) {
		host_queue_failed(ctrl->admin, -EIO, "the ctrl reports a fatal error while it is enabled (CSTS.CFS)");
		return INIT_FAILED;
	}
	if (NVME_CSTS_RDY(result))
		return INIT_NEXT;
	if (clock_ns() < ctrl->init.ready_deadline)
		return INIT_AGAIN;
	host_queue_failed(ctrl->admin, -ETIMEDOUT, "the ctrl did not become ready (CSTS.RDY) within the %u ms of its CAP.TO",
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

/* There is no other way to grant none: the answer's counts start at one. */
static enum init_next queues_refused(struct nvof_ctrl *ctrl, int status)
{
	char text[150];

	host_queue_failed(ctrl->admin, status, "no I/O queues were granted: Set Features (Number of Queues): %s",
			  nvof_status_str(status, text, sizeof(text)));
	return INIT_FAILED;
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
	{ .what = "Property Get VS", .build = vs_build, .answer = vs_answer },
	{ .what = "Property Set CC (enable)", .build = enable_build, .answer = enable_answer },
	{ .what = "Property Get CSTS", .build = csts_build, .answer = csts_answer },
	{ .what = "Identify Controller", .build = identify_build, .answer = identify_answer, .reads_identify = true },
	{ .what = "Set Features (Number of Queues)",
	  .wanted = is_io_ctrl,
	  .build = queues_build,
	  .answer = queues_answer,
	  .refused = queues_refused },
	{ .what = "Set Features (Asynchronous Event Configuration)",
	  .wanted = wants_events,
	  .build = events_build,
	  .refused = events_refused },
};

static void init_end(struct nvof_ctrl *ctrl)
{
	ctrl_init_stop(ctrl);
	ctrl_init_done(ctrl);
}

static void init_advance(struct nvof_ctrl *ctrl)
{
	struct ctrl_init *init = &ctrl->init;

	do {
		if (++init->step == ARRAY_SIZE(init_steps)) {
			init_end(ctrl);
			return;
		}
	} while (init_steps[init->step].wanted && !init_steps[init->step].wanted(ctrl));
	init_send(ctrl);
}

static void init_again(struct nvof_ctrl *ctrl)
{
	struct ctrl_init *init = &ctrl->init;

	timer_set(ctrl->loop, &init->retry, clock_ns() + init->retry_ns);
	init->retry_ns = min_u64(init->retry_ns * 2, READY_RETRY_MAX);
}

static void init_answered(struct host_req *req, int status, const struct nvme_cqe *cqe)
{
	struct nvof_ctrl *ctrl = req->arg;
	const struct init_step *step = &init_steps[ctrl->init.step];
	enum init_next next = INIT_NEXT;
	char text[150];

	if (!ctrl->init.running || ctrl->admin->state != QUEUE_LIVE)
		return; /* the connect has failed already */
	if (status && step->refused) {
		next = step->refused(ctrl, status);
	} else if (status) {
		host_queue_failed(ctrl->admin, status, "%s: %s", step->what, nvof_status_str(status, text, sizeof(text)));
		return;
	} else if (step->answer) {
		next = step->answer(ctrl, cqe ? le64toh(cqe->result) : 0);
	}
	if (next == INIT_NEXT)
		init_advance(ctrl);
	else if (next == INIT_AGAIN)
		init_again(ctrl);
}

static void init_send(struct nvof_ctrl *ctrl)
{
	const struct init_step *step = &init_steps[ctrl->init.step];
	struct nvme_sqe sqe = step->build(ctrl);
	int ret;

	if (step->reads_identify)
		ret = admin_submit_slot(ctrl, ADMIN_SLOT_CTL, &sqe, DATA_FROM_CTRL, ctrl->init.id, sizeof(*ctrl->init.id), init_answered);
	else
		ret = admin_submit_slot(ctrl, ADMIN_SLOT_CTL, &sqe, DATA_NONE, NULL, 0, init_answered);
	if (ret)
		host_queue_failed(ctrl->admin, ret, "%s can't be sent: %s", step->what, strerror(-ret));
}

static void init_retry(struct timer *t)
{
	init_send(container_of(t, struct nvof_ctrl, init.retry));
}

void ctrl_init_setup(struct nvof_ctrl *ctrl)
{
	timer_init(&ctrl->init.retry, init_retry);
}

void ctrl_init_start(struct nvof_ctrl *ctrl)
{
	struct ctrl_init *init = &ctrl->init;

	init->running = true;
	init->step = 0;
	init->span = timeline_begin(ctrl, 0, "init");
	if (!init->id)
		init->id = malloc(sizeof(*init->id));
	if (!init->id) {
		host_queue_failed(ctrl->admin, -ENOMEM, "no memory");
		return;
	}
	init_send(ctrl);
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
		host_queue_failed(ctrl->admin, -ETIMEDOUT, "the ctrl did not become ready (CSTS.RDY) within %u ms", tmo_ms);
	else
		host_queue_failed(ctrl->admin, -ETIMEDOUT, "no answer to %s within %u ms", init_steps[ctrl->init.step].what, tmo_ms);
}
