/* SPDX-License-Identifier: BSD-3-Clause */
/* What joins the two ends: rings, wake-ups, references. */
#include <stdlib.h>
#include <string.h>

#include "transport/loop/lo_link.h"

static int ring_init(struct lo_ring *r, uint32_t nr_slots)
{
	uint32_t n = 2;

	while (n < 2 * nr_slots)
		n *= 2;
	r->msgs = malloc(n * sizeof(*r->msgs));
	r->mask = n - 1;
	return r->msgs ? 0 : -1;
}

static int end_init(struct lo_end *e, uint32_t nr_slots)
{
	pthread_mutex_init(&e->lock, NULL);
	return ring_init(&e->in, nr_slots);
}

static void end_exit(struct lo_end *e)
{
	pthread_mutex_destroy(&e->lock);
	free(e->in.msgs);
}

static void link_free(struct lo_link *l)
{
	end_exit(&l->host);
	end_exit(&l->target);
	pthread_mutex_destroy(&l->copy_lock);
	free(l->slots);
	free(l);
}

struct lo_link *lo_link_new(uint32_t nr_slots)
{
	struct lo_link *l = aligned_alloc(_Alignof(struct lo_link), sizeof(*l));

	if (!l)
		return NULL;
	memset(l, 0, sizeof(*l));
	l->slots = calloc(nr_slots, sizeof(*l->slots));
	l->nr_slots = nr_slots;
	atomic_init(&l->refs, 2);
	pthread_mutex_init(&l->copy_lock, NULL);
	if (end_init(&l->host, nr_slots) | end_init(&l->target, nr_slots) | !l->slots) {
		link_free(l);
		return NULL;
	}
	return l;
}

void lo_link_put(struct lo_link *l)
{
	if (atomic_fetch_sub(&l->refs, 1) == 1)
		link_free(l);
}

void lo_end_attach(struct lo_end *e, struct loop *loop, void (*cb)(struct loop_work *w))
{
	loop_work_init(&e->work, cb);
	pthread_mutex_lock(&e->lock);
	e->loop = loop;
	if (e->missed)
		loop_post(loop, &e->work);
	e->missed = false;
	pthread_mutex_unlock(&e->lock);
}

void lo_end_detach(struct lo_end *e)
{
	pthread_mutex_lock(&e->lock);
	if (e->loop && loop_work_cancel(e->loop, &e->work))
		e->missed = true;
	e->loop = NULL;
	pthread_mutex_unlock(&e->lock);
}

void lo_end_wake(struct lo_end *e)
{
	if (atomic_exchange(&e->posted, true))
		return;
	pthread_mutex_lock(&e->lock);
	if (e->loop)
		loop_post(e->loop, &e->work);
	else
		e->missed = true;
	pthread_mutex_unlock(&e->lock);
}

void lo_send(struct lo_end *to, enum lo_op op, uint32_t slot)
{
	uint32_t head = atomic_load_explicit(&to->in.head, memory_order_relaxed);

	to->in.msgs[head & to->in.mask] = (uint32_t)op << 16 | slot;
	atomic_store_explicit(&to->in.head, head + 1, memory_order_release);
}
