/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/ns_scan_ops.h"

#include <errno.h>
#include <stdlib.h>

#include "host/ctrl.h"
#include "host/ns_identify.h"
#include "host/ns_map.h"

#define SPARE_SLOTS 2 /* the admin queue is everybody's */
#define AGAIN_NS    (5 * NSEC_PER_MSEC)
#define NR_TRIES    5 /* the pauses between them double */

static void look(struct scan_op *op);

static void op_end(struct scan_op *op)
{
	struct nvof_ctrl *ctrl = op->scan->ctrl;

	timer_cancel(ctrl->loop, &op->timer);
	/* Else it is decided with the others, by ns_apply(). */
	if (op->scan->stopped)
		ns_hush_end(&op->hush);
	async_op_end(&op->op, NULL);
}

static void identified(void *arg, int status, struct nvof_ns *fresh, uint64_t asked)
{
	struct scan_op *op = arg;
	struct ns_scan *s = op->scan;

	op->asked = false;
	if (s->stopped || s->ctrl->state != NVOF_CTRL_LIVE) {
		ns_free(fresh);
		op->found->status = -ECANCELED;
		op_end(op);
		return;
	}
	if (ns_status_passing(status) && (status == -EAGAIN || ++op->nr_tries < NR_TRIES)) {
		timer_set(s->ctrl->loop, &op->timer, clock_ns() + (AGAIN_NS << op->nr_tries));
		return;
	}
	op->found->status = status;
	op->found->fresh = fresh;
	op->found->asked = asked;
	ns_confirm(s->ctrl, op->found);
	op_end(op);
}

static void again(struct timer *t)
{
	look(container_of(t, struct scan_op, timer));
}

static void scan_ask(struct scan_op *op)
{
	struct nvof_ctrl *ctrl = op->scan->ctrl;
	int ret = ns_identify(ctrl, op->found->nsid, op->hush.loud ? op->hush.ns : NULL, identified, op);

	op->asked = !ret;
	if (ret == -EAGAIN) {
		timer_set(ctrl->loop, &op->timer, clock_ns() + AGAIN_NS);
	} else if (ret) {
		op->found->status = ret;
		op_end(op);
	}
}

static void now_quiet(struct ns_hush *h)
{
	scan_ask(container_of(h, struct scan_op, hush));
}

static void look(struct scan_op *op)
{
	if (!ns_hush(&op->hush, op->scan->ctrl, op->found->nsid, now_quiet))
		scan_ask(op);
}

static void scan_start(struct async_op *async)
{
	struct scan_op *op = container_of(async, struct scan_op, op);
	if (op->unlisted) {
		op->found->status = -ENODEV;
		op->found->asked = op->scan->asked;
		op_end(op);
	} else {
		look(op);
	}
}

/* One that was asked ends with its answer: the admin queue, which is being stopped, ends it. */
static void scan_cancel(struct async_op *async)
{
	struct scan_op *op = container_of(async, struct scan_op, op);

	if (op->asked)
		return;
	op->found->status = -ECANCELED;
	op_end(op);
}

static void domain_done(struct async_domain *domain)
{
	struct ns_scan *s = container_of(domain, struct ns_scan, domain);

	s->ended(s, 0);
}

static void later(struct timer *t)
{
	struct ns_scan *s = container_of(t, struct ns_scan, later);

	s->later_fn(s);
}

void ns_scan_later(struct ns_scan *s, void (*fn)(struct ns_scan *s))
{
	s->later_fn = fn;
	timer_set(s->ctrl->loop, &s->later, clock_ns() + AGAIN_NS);
}

void ns_scan_ops_init(struct ns_scan *s)
{
	uint32_t free_slots = s->ctrl->admin_tags.limit;

	timer_init(&s->later, later);
	async_domain_init(&s->domain, free_slots > SPARE_SLOTS + 1 ? free_slots - SPARE_SLOTS : 1, domain_done);
}

void ns_scan_ops_free(struct ns_scan *s)
{
	size_t i;

	for (i = 0; i < s->nr; i++) {
		timer_cancel(s->ctrl->loop, &s->ops[i].timer);
		ns_hush_end(&s->ops[i].hush);
		ns_free(s->found[i].fresh);
		error_clear(&s->ops[i].op.err);
	}
	timer_cancel(s->ctrl->loop, &s->later);
	free(s->ops);
	free(s->found);
	free(s);
}

int ns_scan_alloc(struct ns_scan *s, size_t room)
{
	s->ops = calloc(room + 1, sizeof(*s->ops));
	s->found = calloc(room + 1, sizeof(*s->found));
	s->room = room;
	return s->ops && s->found ? 0 : -ENOMEM;
}

void ns_scan_add(struct ns_scan *s, uint32_t nsid, bool unlisted)
{
	struct scan_op *op = &s->ops[s->nr];

	if (s->nr == s->room)
		return;
	s->found[s->nr].nsid = nsid;
	op->scan = s;
	op->found = &s->found[s->nr++];
	op->found->hush = &op->hush;
	op->unlisted = unlisted;
	op->op.start = scan_start;
	op->op.cancel = scan_cancel;
	timer_init(&op->timer, again);
}

void ns_scan_hold(struct ns_scan *s, struct nvof_ns *ns)
{
	size_t i;

	for (i = 0; i < s->nr && !s->applying; i++)
		if (s->found[i].nsid == ns->nsid && s->ops[i].asked)
			ns_hush_hold(&s->ops[i].hush, ns);
}

void ns_scan_run(struct ns_scan *s)
{
	size_t i;

	for (i = 0; i < s->nr; i++)
		async_domain_add(&s->domain, &s->ops[i].op);
	async_domain_close(&s->domain);
}

void ns_scan_apply(struct ns_scan *s)
{
	size_t i;

	s->applying = true;
	ns_apply(s->ctrl, s->found, s->nr, s->look);
	for (i = 0; i < s->nr; i++)
		s->found[i].fresh = NULL; /* the table's now */
}

void ns_scan_cancel(struct ns_scan *s)
{
	if (timer_armed(&s->later)) {
		timer_cancel(s->ctrl->loop, &s->later);
		s->ended(s, -ECANCELED);
		return;
	}
	async_domain_cancel(&s->domain, -ECANCELED);
}
