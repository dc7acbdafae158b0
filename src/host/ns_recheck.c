/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/ns_recheck.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/async_domain.h"
#include "host/ctrl.h"
#include "host/held.h"
#include "host/ns.h"

#define RECHECK_AT_ONCE 8 /* the admin queue is everybody's */
#define AGAIN_NS	(5 * NSEC_PER_MSEC)

struct recheck {
	struct async_op op;
	struct ns_recheck *all;
	struct timer again; /* the admin queue was full */
	uint32_t nsid;
	bool asked; /* an answer is to come, which will find us through the op's state */
};

struct ns_recheck {
	struct nvof_ctrl *ctrl;
	struct async_domain domain;
	struct loop_defer done_work;
	uint32_t nr;
	bool stopped;
	struct recheck each[];
};

static bool same_namespace(const struct nvof_ns *a, const struct nvof_ns *b)
{
	return a->shift == b->shift && !memcmp(a->uuid, b->uuid, sizeof(a->uuid)) && !memcmp(a->nguid, b->nguid, sizeof(a->nguid)) &&
	       !memcmp(a->eui64, b->eui64, sizeof(a->eui64));
}

/* fresh: what the ctrl shows under this id now; NULL: nothing. */
static void update_handles(struct nvof_ctrl *ctrl, uint32_t nsid, const struct nvof_ns *fresh)
{
	struct nvof_ns *ns;
	bool gone = false;

	cds_list_for_each_entry (ns, &ctrl->namespaces, link) {
		if (ns->nsid != nsid || ns == fresh || ns->gone)
			continue;
		if (fresh && same_namespace(ns, fresh)) {
			ns->id = fresh->id;
			ns->nr_blocks = fresh->nr_blocks;
			ns->max_nlb = fresh->max_nlb;
			ns->max_zeroes_nlb = fresh->max_zeroes_nlb;
			ns->max_verify_nlb = fresh->max_verify_nlb;
			continue;
		}
		log_warn(&ctrl->ctx->log, "%s at %s: namespace %u is %s since the reconnect: its I/O ends", ctrl->p.subsysnqn,
			 ctrl->p.where, nsid, fresh ? "another one" : "gone");
		ns->gone = gone = true;
		ns->nr_blocks = 0;
	}
	if (gone)
		held_end(ctrl, nsid, -ENODEV);
}

static void all_done(struct loop_defer *d)
{
	struct ns_recheck *all = container_of(d, struct ns_recheck, done_work);
	struct nvof_ctrl *ctrl = all->ctrl;
	bool stopped = all->stopped;

	if (ctrl->recheck == all)
		ctrl->recheck = NULL;
	free(all);
	if (!stopped)
		ns_recheck_done(ctrl);
}

static void domain_done(struct async_domain *domain)
{
	struct ns_recheck *all = container_of(domain, struct ns_recheck, domain);

	loop_defer(all->ctrl->loop, &all->done_work);
}

static void identified(void *arg, int status, struct nvof_ns *fresh)
{
	struct recheck *r = arg;
	struct ns_recheck *all = r->all;
	struct nvof_ctrl *ctrl = all->ctrl;

	r->asked = false;
	if (all->stopped || ctrl->state != NVOF_CTRL_LIVE) {
		nvof_ns_close(fresh);
		async_op_end(&r->op, NULL);
		return;
	}
	if (status == -EAGAIN) {
		timer_set(ctrl->loop, &r->again, clock_ns() + AGAIN_NS);
		return;
	}
	/* Any other refusal: what is not known to be the same namespace is not written to. */
	update_handles(ctrl, r->nsid, fresh);
	nvof_ns_close(fresh);
	async_op_end(&r->op, NULL);
}

static void ask(struct recheck *r)
{
	struct nvof_ctrl *ctrl = r->all->ctrl;
	int ret = nvof_ns_open(ctrl, r->nsid, identified, r);

	r->asked = !ret;
	if (ret == -EAGAIN) {
		timer_set(ctrl->loop, &r->again, clock_ns() + AGAIN_NS);
	} else if (ret) {
		update_handles(ctrl, r->nsid, NULL);
		async_op_end(&r->op, NULL);
	}
}

static void ask_again(struct timer *t)
{
	ask(container_of(t, struct recheck, again));
}

static void recheck_start(struct async_op *op)
{
	ask(container_of(op, struct recheck, op));
}

/* One that was asked ends with its answer: the admin queue, which is being stopped, ends it. */
static void recheck_cancel(struct async_op *op)
{
	struct recheck *r = container_of(op, struct recheck, op);

	if (r->asked)
		return;
	timer_cancel(r->all->ctrl->loop, &r->again);
	async_op_end(op, NULL);
}

static bool is_listed(const struct ns_recheck *all, uint32_t nsid)
{
	uint32_t i;

	for (i = 0; i < all->nr; i++)
		if (all->each[i].nsid == nsid)
			return true;
	return false;
}

static void list_open_ones(struct ns_recheck *all)
{
	struct nvof_ns *ns;

	cds_list_for_each_entry (ns, &all->ctrl->namespaces, link) {
		struct recheck *r = &all->each[all->nr];

		if (ns->gone || is_listed(all, ns->nsid))
			continue;
		r->all = all;
		r->nsid = ns->nsid;
		r->op.start = recheck_start;
		r->op.cancel = recheck_cancel;
		timer_init(&r->again, ask_again);
		all->nr++;
	}
}

void ns_recheck_start(struct nvof_ctrl *ctrl)
{
	struct ns_recheck *all;
	struct nvof_ns *ns;
	size_t nr = 0;
	uint32_t i;

	cds_list_for_each_entry (ns, &ctrl->namespaces, link)
		nr++;
	all = calloc(1, sizeof(*all) + nr * sizeof(all->each[0]));
	if (!all) {
		host_queue_failed(ctrl->admin, -ENOMEM, "no memory for a look at %zu namespaces", nr);
		return;
	}
	all->ctrl = ctrl;
	ctrl->recheck = all;
	loop_defer_init(&all->done_work, all_done);
	list_open_ones(all);
	async_domain_init(&all->domain, RECHECK_AT_ONCE, domain_done);
	for (i = 0; i < all->nr; i++)
		async_domain_add(&all->domain, &all->each[i].op);
	async_domain_close(&all->domain);
}

void ns_recheck_stop(struct nvof_ctrl *ctrl)
{
	struct ns_recheck *all = ctrl->recheck;

	if (!all)
		return;
	all->stopped = true;
	async_domain_cancel(&all->domain, -ECANCELED);
}

void ns_recheck_free(struct nvof_ctrl *ctrl)
{
	if (!ctrl->recheck)
		return;
	loop_defer_cancel(&ctrl->recheck->done_work);
	free(ctrl->recheck);
	ctrl->recheck = NULL;
}
