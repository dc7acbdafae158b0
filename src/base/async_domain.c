/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/async_domain.h"

#include <assert.h>
#include <errno.h>

#include "base/util.h"

void async_domain_init(struct async_domain *d, uint32_t concurrency, void (*done)(struct async_domain *d))
{
	*d = (struct async_domain){ .concurrency = concurrency, .done = done };
	CDS_INIT_LIST_HEAD(&d->waiting);
	CDS_INIT_LIST_HEAD(&d->running);
	CDS_INIT_LIST_HEAD(&d->ended);
}

void async_limit_init(struct async_limit *limit, uint32_t max)
{
	*limit = (struct async_limit){ .max = max };
	CDS_INIT_LIST_HEAD(&limit->line);
}

void async_domain_share(struct async_domain *d, struct async_limit *limit)
{
	assert(!d->nr_ops);
	d->limit = limit;
}

/* Errors that a cancel brought about do not count as the first one while there is another. */
static bool is_consequence_of_cancel(const struct async_domain *d, int code)
{
	return d->cancelled && (code == d->cancel_code || code == -ECANCELED);
}

/* The one door to ASYNC_ENDED. */
static void op_set_ended(struct async_op *op)
{
	struct async_domain *d = op->domain;

	if (op->state == ASYNC_RUNNING) {
		d->nr_running--;
		if (d->limit)
			d->limit->nr_running--;
	}
	cds_list_del(&op->link);
	cds_list_add_tail(&op->link, &d->ended);
	op->state = ASYNC_ENDED;
	d->nr_ended++;
	if (!op->err.code)
		return;
	d->nr_failed++;
	if (!d->first_failed && !is_consequence_of_cancel(d, op->err.code))
		d->first_failed = op;
}

static void line_leave(struct async_domain *d)
{
	if (d->in_line)
		cds_list_del(&d->limit_link);
	d->in_line = false;
}

static void end_waiting(struct async_domain *d)
{
	struct async_op *op;

	line_leave(d);
	while (!cds_list_empty(&d->waiting)) {
		op = cds_list_first_entry(&d->waiting, struct async_op, link);
		error_set(&op->err, d->cancel_code, "cancelled before it began");
		op_set_ended(op);
	}
}

static void start_one(struct async_domain *d, struct async_op *op)
{
	cds_list_del(&op->link);
	cds_list_add_tail(&op->link, &d->running);
	op->state = ASYNC_RUNNING;
	d->nr_running++;
	if (d->limit)
		d->limit->nr_running++;
	d->starting = op;
	op->start(op);
	d->starting = NULL;
	/* A cancel from inside start() left this one out: it was not yet in a state to be cancelled. */
	if (d->cancelled && op->state == ASYNC_RUNNING && op->cancel)
		op->cancel(op);
}

static bool limit_has_room(const struct async_limit *limit)
{
	return !limit || !limit->max || limit->nr_running < limit->max;
}

/* There is an operation to start and room for it.  Without room in the shared limit the domain joins its line. */
static bool can_start(struct async_domain *d)
{
	if (cds_list_empty(&d->waiting)) {
		line_leave(d);
		return false;
	}
	if (d->concurrency && d->nr_running >= d->concurrency)
		return false;
	if (limit_has_room(d->limit))
		return true;
	if (!d->in_line && d->limit->served == d)
		cds_list_add(&d->limit_link, &d->limit->line); /* it keeps its place */
	else if (!d->in_line)
		cds_list_add_tail(&d->limit_link, &d->limit->line);
	d->in_line = true;
	return false;
}

/*
 * Everything that may start operations or run done ends up here.  pumping makes the outermost call the only one that does so: an
 * operation that ends inside start() or cancel() is merely counted.
 */
static void pump(struct async_domain *d)
{
	if (d->pumping)
		return;
	d->pumping = true;
	for (;;) {
		if (d->cancelled)
			end_waiting(d);
		if (!can_start(d))
			break;
		start_one(d, cds_list_first_entry(&d->waiting, struct async_op, link));
	}
	d->pumping = false;
	if (d->closed && d->nr_ended == d->nr_ops && !d->done_called) {
		d->done_called = true;
		d->done(d); /* may have freed d */
	}
}

/* An operation of some domain ended: those in line go on.  As with pump(), only the outermost call works. */
static void limit_serve(struct async_limit *limit)
{
	if (!limit || limit->served)
		return;
	while (!cds_list_empty(&limit->line) && limit_has_room(limit)) {
		limit->served = cds_list_first_entry(&limit->line, struct async_domain, limit_link);
		line_leave(limit->served);
		pump(limit->served);
	}
	limit->served = NULL;
}

void async_domain_add(struct async_domain *d, struct async_op *op)
{
	assert(!d->closed && op->state != ASYNC_WAITING && op->state != ASYNC_RUNNING);
	op->domain = d;
	op->state = ASYNC_WAITING;
	error_clear(&op->err);
	cds_list_add_tail(&op->link, &d->waiting);
	d->nr_ops++;
	pump(d);
}

void async_domain_close(struct async_domain *d)
{
	d->closed = true;
	pump(d);
}

void async_domain_cancel(struct async_domain *d, int code)
{
	CDS_LIST_HEAD(asked);
	struct async_op *op;
	bool outermost = !d->pumping;

	if (d->cancelled || d->done_called)
		return;
	assert(code);
	d->cancelled = true;
	d->cancel_code = code;
	d->pumping = true;
	end_waiting(d);
	/* A cancel() may end its own and other operations: each is taken off the list before it is asked, so that it is asked once. */
	while (!cds_list_empty(&d->running)) {
		op = cds_list_first_entry(&d->running, struct async_op, link);
		cds_list_del(&op->link);
		cds_list_add_tail(&op->link, &asked);
		if (op->cancel && op != d->starting)
			op->cancel(op);
	}
	cds_list_splice(&asked, &d->running);
	if (!outermost)
		return;
	d->pumping = false;
	pump(d);
}

void async_op_end(struct async_op *op, struct error *err)
{
	struct async_domain *d = op->domain;
	struct async_limit *limit = d->limit;

	assert(op->state == ASYNC_RUNNING);
	if (err)
		error_move(&op->err, err);
	op_set_ended(op);
	/* What has begun first goes on first: the domain's own, before those in line. */
	pump(d);
	limit_serve(limit);
}

const struct error *async_domain_first_error(const struct async_domain *d)
{
	const struct async_op *op;

	if (d->first_failed)
		return &d->first_failed->err;
	if (!d->nr_failed)
		return NULL;
	cds_list_for_each_entry (op, &d->ended, link)
		if (op->err.code)
			return &op->err;
	return NULL;
}

void async_op_reset(struct async_op *op)
{
	assert(op->state != ASYNC_WAITING && op->state != ASYNC_RUNNING);
	error_clear(&op->err);
	op->state = ASYNC_IDLE;
	op->domain = NULL;
}

void async_domain_forget(struct async_op *op)
{
	struct async_domain *d = op->domain;

	assert(op->state == ASYNC_ENDED);
	cds_list_del(&op->link);
	d->nr_ops--;
	d->nr_ended--;
	if (op->err.code)
		d->nr_failed--;
	if (d->first_failed == op)
		d->first_failed = NULL;
	async_op_reset(op);
}
