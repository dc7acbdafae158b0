/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands of a removed namespace that do not end, while the ctrl goes on with its other namespaces: each gets an Abort (Base 2.0 section
 * 5.1), one at a time.  Only an answer gives a buffer back: a socket may still write into it.  So when there is none the queue fails.
 */
#include <errno.h>

#include "host/admin.h"
#include "host/hctx.h"
#include "host/ns.h"
#include "host/ns_remove.h"
#include "host/queue.h"

#define ABORT_AGAIN_NS (5 * NSEC_PER_MSEC)
#define ABORT_GRACE_MS 1000 /* for the answers of what was aborted */

static void abort_next(struct nvof_ns *ns);

/* The next command of ns from where the last look ended. */
static struct host_req *next_req(struct nvof_ns *ns)
{
	const struct nvof_ctrl *ctrl = ns->ctrl;

	for (; ns->abort_hctx < ctrl->nr_hctx; ns->abort_hctx++, ns->abort_tag = 0) {
		const struct host_tags *tags = &ctrl->hctxs[ns->abort_hctx]->own;

		while (ns->abort_tag < tags->nr_tags) {
			struct host_req *req = host_tags_req(tags, ns->abort_tag++);

			if (req->active && req->ns == ns)
				return req;
		}
	}
	return NULL;
}

static void not_even_aborted(struct timer *t)
{
	struct nvof_ns *ns = container_of(t, struct nvof_ns, overdue);
	struct host_req *req;

	ns->abort_hctx = ns->abort_tag = 0;
	req = next_req(ns);
	if (ns->ctrl->state == NVOF_CTRL_DELETING)
		ctrl_stop_io(ns->ctrl, -ECANCELED);
	else if (req)
		queue_fail(req->queue, -ETIMEDOUT,
			   "command opcode %02xh of namespace %u, which is gone, was not answered within %u ms and not aborted",
			   req->sqe.opcode, ns->nsid, ns->ctrl->p.remove_timeout_ms);
}

static void look_again(struct timer *t)
{
	struct nvof_ns *ns = container_of(t, struct nvof_ns, overdue);

	abort_next(ns);
}

static void set_timer(struct nvof_ns *ns, void (*fn)(struct timer *t), uint64_t ns_from_now)
{
	timer_init(&ns->overdue, fn);
	timer_set(ns->ctrl->loop, &ns->overdue, clock_ns() + ns_from_now);
}

static void aborted(void *arg, const struct nvof_cpl *cpl)
{
	struct nvof_ns *ns = arg;

	ns->aborting = false;
	if (cpl->status >= 0 && ns->remove_wait.on)
		abort_next(ns);
}

static void abort_next(struct nvof_ns *ns)
{
	struct host_req *req = next_req(ns);
	struct nvme_sqe sqe = { .opcode = nvme_admin_abort_cmd };
	int ret;

	if (!req) {
		set_timer(ns, not_even_aborted, ABORT_GRACE_MS * NSEC_PER_MSEC);
		return;
	}
	sqe.cdw10 = htole32((uint32_t)req->cid << 16 | req->queue->qid);
	ret = admin_submit(ns->ctrl, &sqe, DATA_NONE, NULL, 0, aborted, ns);
	ns->aborting = !ret;
	if (ret == -EAGAIN) {
		ns->abort_tag--;
		set_timer(ns, look_again, ABORT_AGAIN_NS);
	} else if (ret) {
		set_timer(ns, not_even_aborted, ABORT_GRACE_MS * NSEC_PER_MSEC);
	}
}

void ns_abort(struct nvof_ns *ns)
{
	struct nvof_ctrl *ctrl = ns->ctrl;

	log_warn(&ctrl->ctx->log, "%s at %s: I/O of namespace %u, which is gone, did not end within %u ms: it is aborted",
		 ctrl->p.subsysnqn, ctrl->p.where, ns->nsid, ctrl->p.remove_timeout_ms);
	ns->abort_hctx = ns->abort_tag = 0;
	abort_next(ns);
}
