/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop's timers: a binary heap by deadline, where deadlines that move later cost nothing until they come up. */
#include <assert.h>
#include <stdlib.h>

#include "base/loop_internal.h"

static void place(struct loop *loop, uint32_t pos, struct loop_heap_entry e)
{
	loop->heap[pos] = e;
	e.timer->pos = pos;
}

static bool before(const struct loop_heap_entry *a, const struct loop_heap_entry *b)
{
	return a->key != b->key ? a->key < b->key : a->order < b->order;
}

static void give_key(struct loop *loop, struct loop_heap_entry *e)
{
	e->key = e->timer->deadline;
	e->order = ++loop->timer_order;
}

static void sift_up(struct loop *loop, uint32_t pos)
{
	struct loop_heap_entry e = loop->heap[pos];

	for (; pos > 1 && before(&e, &loop->heap[pos / 2]); pos /= 2)
		place(loop, pos, loop->heap[pos / 2]);
	place(loop, pos, e);
}

static void sift_down(struct loop *loop, uint32_t pos)
{
	struct loop_heap_entry e = loop->heap[pos];
	uint32_t child;

	for (; (child = pos * 2) <= loop->nr_timers; pos = child) {
		if (child < loop->nr_timers && before(&loop->heap[child + 1], &loop->heap[child]))
			child++;
		if (!before(&loop->heap[child], &e))
			break;
		place(loop, pos, loop->heap[child]);
	}
	place(loop, pos, e);
}

static void heap_grow(struct loop *loop)
{
	uint32_t size = loop->heap_size ? loop->heap_size * 2 : 16;
	struct loop_heap_entry *heap = realloc(loop->heap, size * sizeof(*heap));

	if (!heap)
		abort();
	loop->heap = heap;
	loop->heap_size = size;
}

void timer_init(struct timer *t, void (*cb)(struct timer *t))
{
	*t = (struct timer){ .cb = cb };
}

void timer_set(struct loop *loop, struct timer *t, uint64_t deadline_ns)
{
	/* Never due in the turn that armed it: a callback that arms its own timer for the past must not hold the turn for ever. */
	t->deadline = deadline_ns > loop->now ? deadline_ns : loop->now + 1;
	if (t->pos) {
		if (t->deadline < loop->heap[t->pos].key) {
			give_key(loop, &loop->heap[t->pos]);
			sift_up(loop, t->pos);
		}
		return;
	}
	if (loop->nr_timers + 1 >= loop->heap_size)
		heap_grow(loop);
	place(loop, ++loop->nr_timers, (struct loop_heap_entry){ .timer = t });
	give_key(loop, &loop->heap[t->pos]);
	sift_up(loop, t->pos);
}

void timer_cancel(struct loop *loop, struct timer *t)
{
	uint32_t pos = t->pos;

	if (!pos)
		return;
	assert(loop->heap[pos].timer == t);
	t->pos = 0;
	if (pos == loop->nr_timers--)
		return;
	place(loop, pos, loop->heap[loop->nr_timers + 1]);
	sift_up(loop, pos);
	sift_down(loop, pos);
}

/* The earliest deadline.  Keys that lag behind their deadlines are brought up to date on the way. */
uint64_t loop_timer_next(struct loop *loop)
{
	while (loop->nr_timers) {
		struct loop_heap_entry *top = &loop->heap[1];

		if (top->key == top->timer->deadline)
			return top->key;
		give_key(loop, top);
		sift_down(loop, 1);
	}
	return UINT64_MAX;
}

int loop_timers_run(struct loop *loop)
{
	int n = 0;

	while (loop->nr_timers && loop->heap[1].key <= loop->now && loop_timer_next(loop) <= loop->now) {
		struct timer *t = loop->heap[1].timer;

		timer_cancel(loop, t);
		t->cb(t);
		n++;
	}
	return n;
}
