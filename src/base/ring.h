/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring of entries of a fixed size between one thread that puts and one that takes.  No lock, no waiting: a full or empty ring is told at
 * once.  Each side may move to another thread when something else (a message, a join) orders the two.
 */
#ifndef NVOF_BASE_RING_H
#define NVOF_BASE_RING_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
	unsigned char *mem;
	uint32_t mask;
	size_t entry_size;
	/* Each side's count, and what it saw last of the other's: it looks there only when that says full or empty. */
	_Alignas(64) _Atomic(uint32_t) put;
	uint32_t seen_taken;
	_Alignas(64) _Atomic(uint32_t) taken;
	uint32_t seen_put;
};

/* For at least nr entries (1 .. 2^31).  0 or -ENOMEM. */
int ring_init(struct ring *r, uint32_t nr, size_t entry_size);
void ring_free(struct ring *r); /* a zeroed one is fine */

/* ---- the side that puts ---- */

/* Where the next entry goes: fill it in, then ring_put().  NULL: full. */
static inline void *ring_room(struct ring *r)
{
	uint32_t put = atomic_load_explicit(&r->put, memory_order_relaxed);

	if (put - r->seen_taken > r->mask) {
		r->seen_taken = atomic_load_explicit(&r->taken, memory_order_acquire);
		if (put - r->seen_taken > r->mask)
			return NULL;
	}
	return r->mem + (put & r->mask) * r->entry_size;
}

static inline void ring_put(struct ring *r)
{
	atomic_store_explicit(&r->put, atomic_load_explicit(&r->put, memory_order_relaxed) + 1, memory_order_release);
}

/* ---- the side that takes ---- */

/* The oldest entry, which stays until ring_drop().  NULL: empty. */
static inline void *ring_first(struct ring *r)
{
	uint32_t taken = atomic_load_explicit(&r->taken, memory_order_relaxed);

	if (taken == r->seen_put) {
		r->seen_put = atomic_load_explicit(&r->put, memory_order_acquire);
		if (taken == r->seen_put)
			return NULL;
	}
	return r->mem + (taken & r->mask) * r->entry_size;
}

static inline void ring_drop(struct ring *r)
{
	atomic_store_explicit(&r->taken, atomic_load_explicit(&r->taken, memory_order_relaxed) + 1, memory_order_release);
}

/* How many are there now. */
static inline uint32_t ring_pending(struct ring *r)
{
	r->seen_put = atomic_load_explicit(&r->put, memory_order_acquire);
	return r->seen_put - atomic_load_explicit(&r->taken, memory_order_relaxed);
}

#endif
