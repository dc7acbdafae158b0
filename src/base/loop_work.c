/* SPDX-License-Identifier: BSD-3-Clause */
/* Work for the loop: posted by other threads, or put off to the end of the turn. */
#include <assert.h>
#include <unistd.h>

#include "base/loop_internal.h"

/* Deferred work may defer more (a failed queue's requests are sent again elsewhere): so many rounds of it belong to one turn. */
#define DEFER_ROUNDS 4

void loop_work_init(struct loop_work *w, void (*cb)(struct loop_work *w))
{
	*w = (struct loop_work){ .cb = cb };
}

/*
 * asleep and the two things a sleeper must not miss (posted, stop) are each written before the other is read, all sequentially
 * consistent: either the loop sees the news before it sleeps, or the poster sees that it sleeps.
 */
static void wake(struct loop *loop)
{
	uint64_t one = 1;
	ssize_t ret;

	if (!atomic_load(&loop->asleep) || !atomic_exchange(&loop->asleep, false))
		return;
	ret = write(loop->evfd, &one, sizeof(one));
	(void)ret; /* can't fail: the counter never comes near its limit */
}

/*
 * A stack with one pop-all: many producers, one consumer, no lock.  liburcu's wfcqueue would do as well, but its assembler is invisible
 * to ThreadSanitizer.
 */
void loop_post(struct loop *loop, struct loop_work *w)
{
	struct loop_work *first = atomic_load_explicit(&loop->posted, memory_order_relaxed);

	do {
		w->next = first;
	} while (!atomic_compare_exchange_weak(&loop->posted, &first, w));
	wake(loop);
}

void loop_stop(struct loop *loop)
{
	atomic_store(&loop->stop, true);
	wake(loop);
}

/* Moves what was posted behind what is ready. */
static void take_posted(struct loop *loop)
{
	struct loop_work *w, *next, *in_order = NULL, **end = &loop->ready;

	for (w = atomic_exchange(&loop->posted, NULL); w; w = next) {
		next = w->next;
		w->next = in_order;
		in_order = w;
	}
	while (*end)
		end = &(*end)->next;
	*end = in_order;
}

int loop_posted_run(struct loop *loop)
{
	struct loop_work *w;
	int n = 0;

	if (!loop_has_posted(loop))
		return 0;
	take_posted(loop);
	for (; (w = loop->ready); n++) {
		loop->ready = w->next;
		w->cb(w); /* w may be gone or posted again now */
	}
	return n;
}

bool loop_work_cancel(struct loop *loop, struct loop_work *w)
{
	struct loop_work **p;

	take_posted(loop);
	for (p = &loop->ready; *p; p = &(*p)->next) {
		if (*p == w) {
			*p = w->next;
			return true;
		}
	}
	return false;
}

/* From here on posters write the eventfd.  False: there is news already, nobody is to sleep. */
bool loop_sleep_begin(struct loop *loop)
{
	atomic_store(&loop->asleep, true);
	if (!atomic_load(&loop->posted) && !loop->ready && !(loop->running && atomic_load(&loop->stop)))
		return true;
	loop_sleep_end(loop);
	return false;
}

void loop_sleep_end(struct loop *loop)
{
	atomic_store_explicit(&loop->asleep, false, memory_order_relaxed);
}

void loop_defer_init(struct loop_defer *d, void (*cb)(struct loop_defer *d))
{
	*d = (struct loop_defer){ .cb = cb };
}

void loop_defer(struct loop *loop, struct loop_defer *d)
{
	if (d->pending)
		return;
	d->pending = true;
	cds_list_add_tail(&d->link, &loop->deferred);
}

void loop_defer_cancel(struct loop_defer *d)
{
	if (!d->pending)
		return;
	d->pending = false;
	cds_list_del(&d->link);
}

int loop_deferred_run(struct loop *loop)
{
	struct loop_defer *d;
	int n = 0, round;

	for (round = 0; round < DEFER_ROUNDS && !cds_list_empty(&loop->deferred); round++) {
		CDS_LIST_HEAD(now);

		cds_list_splice(&loop->deferred, &now);
		CDS_INIT_LIST_HEAD(&loop->deferred);
		while (!cds_list_empty(&now)) {
			d = cds_list_first_entry(&now, struct loop_defer, link);
			loop_defer_cancel(d);
			d->cb(d);
			n++;
		}
	}
	return n;
}
