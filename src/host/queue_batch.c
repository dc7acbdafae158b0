/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/queue_batch.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "host/connect.h"
#include "host/ctrl.h"

static void batch_finish(struct loop_defer *d)
{
	struct queue_batch *b = container_of(d, struct queue_batch, finish_work);

	b->done(b->ctrl, b);
}

static void batch_domain_done(struct async_domain *domain)
{
	struct queue_batch *b = container_of(domain, struct queue_batch, domain);

	/* Its last operation may have ended in the middle of a transport's work: queues can be stopped only later. */
	if (!b->aborted)
		loop_defer(b->ctrl->loop, &b->finish_work);
}

/* What is linked beyond b->nr takes the place of what is not. */
static void use_what_is_linked(struct queue_batch *b)
{
	uint32_t i, from = b->nr;

	for (i = 0; i < b->nr; i++) {
		struct queue_setup *s = &b->setups[i];

		if (queue_setup_linked(s) || s->op.state != ASYNC_RUNNING)
			continue;
		while (from < b->nr_setups && !queue_setup_linked(&b->setups[from]))
			from++;
		if (from == b->nr_setups)
			return;
		queue_setup_replace(s, &b->setups[from]);
	}
}

static void batch_release(struct loop_defer *d)
{
	struct queue_batch *b = container_of(d, struct queue_batch, release_work);
	uint32_t i;

	use_what_is_linked(b);
	b->held = false;
	/* Surplus goes first: a peer that allows just so many connections has room for what is to come. */
	for (i = b->nr; i < b->nr_setups; i++)
		queue_setup_surplus(&b->setups[i]);
	for (i = 0; i < b->nr; i++)
		queue_setup_release(&b->setups[i]);
}

struct queue_batch *queue_batch_new(struct nvof_ctrl *ctrl, uint16_t first_qid, uint32_t nr,
				    void (*done)(struct nvof_ctrl *ctrl, struct queue_batch *b))
{
	struct queue_batch *b = calloc(1, sizeof(*b) + nr * sizeof(b->setups[0]));
	uint32_t i;

	if (!b)
		return NULL;
	b->ctrl = ctrl;
	b->done = done;
	b->nr = b->nr_setups = nr;
	loop_defer_init(&b->finish_work, batch_finish);
	loop_defer_init(&b->release_work, batch_release);
	async_domain_init(&b->domain, 0, batch_domain_done);
	connect_fill_data(ctrl, first_qid, &b->data);
	for (i = 0; i < nr; i++)
		queue_setup_init(&b->setups[i], b, (uint16_t)(first_qid + i));
	return b;
}

void queue_batch_begin(struct queue_batch *b, uint32_t concurrency)
{
	uint32_t i;

	async_domain_init(&b->domain, concurrency, batch_domain_done);
	async_domain_share(&b->domain, b->ctrl->setup_limit);
	for (i = 0; i < b->nr; i++)
		async_domain_add(&b->domain, &b->setups[i].op);
}

void queue_batch_begin_early(struct queue_batch *b, uint32_t concurrency, uint32_t nr_early)
{
	b->early = b->held = true;
	b->nr_early = nr_early;
	queue_batch_begin(b, concurrency);
}

void queue_batch_close(struct queue_batch *b)
{
	async_domain_close(&b->domain);
}

void queue_batch_start(struct queue_batch *b, uint32_t concurrency)
{
	queue_batch_begin(b, concurrency);
	queue_batch_close(b);
}

void queue_batch_give_up(struct queue_batch *b)
{
	async_domain_cancel(&b->domain, -ECANCELED);
	async_domain_close(&b->domain);
}

void queue_batch_release(struct queue_batch *b, uint32_t nr)
{
	b->nr = nr;
	loop_defer(b->ctrl->loop, &b->release_work);
}

void queue_batch_timeout(struct queue_batch *b, uint32_t tmo_ms)
{
	uint32_t i;

	for (i = 0; i < b->nr; i++)
		queue_setup_timeout(&b->setups[i], tmo_ms);
}

const struct error *queue_batch_error(const struct queue_batch *b)
{
	/* A late failure cancelled the operations that ended after it: theirs are its consequences. */
	return b->late.code ? &b->late : async_domain_first_error(&b->domain);
}

struct host_queue *queue_batch_take(struct queue_batch *b, uint32_t i)
{
	struct host_queue *q = b->setups[i].queue;

	assert(q && b->setups[i].ended);
	b->setups[i].queue = NULL;
	q->setup = NULL;
	return q;
}

void queue_batch_free(struct queue_batch *b)
{
	uint32_t i;

	if (!b)
		return;
	b->aborted = true;
	async_domain_cancel(&b->domain, -ECANCELED);
	loop_defer_cancel(&b->finish_work);
	loop_defer_cancel(&b->release_work);
	for (i = 0; i < b->nr_setups; i++)
		queue_setup_reset(&b->setups[i]);
	error_clear(&b->late);
	free(b);
}
