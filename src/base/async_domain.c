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

/* Errors that a cancel brought about do not count as the first one while there is another. */
static bool is_consequence_of_cancel(const struct async_domain *d, int code)
{
	return d->cancelled && (code == d->cancel_code || code == -ECANCELED);
}

/* The one door to ASYNC_ENDED. */
static void op_set_ended(struct async_op *op)
{
	struct async_domain *d = op->domain;

	if (op->state == ASYNC_RUNNING)
		d->nr_running--;
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

static void end_waiting(struct async_domain *d)
{
	struct async_op *op;

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
	d->starting = op;
	op->start(op);
	d->starting = NULL;
	/* A cancel from inside start() left this one out: it was not yet in a state to be cancelled. */
	if (d->cancelled && op->state == ASYNC_RUNNING && op->cancel)
		op->cancel(op);
}

static bool has_room(const struct async_domain *d)
{
	return !d->concurrency || d->nr_running < d->concurrency;
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
		if (cds_list_empty(&d->waiting) || !has_room(d))
			break;
		start_one(d, cds_list_first_entry(&d->waiting, struct async_op, link));
	}
	d->pumping = false;
	if (d->closed && d->nr_ended == d->nr_ops && !d->done_called) {
		d->done_called = true;
		d->done(d); /* may have freed d */
	}
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

	assert(op->state == ASYNC_RUNNING);
	if (err)
		error_move(&op->err, err);
	op_set_ended(op);
	pump(d);
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
