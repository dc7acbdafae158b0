// SPDX-License-Identifier: BSD-3-Clause
/*
 * A thread that stood still: its process was stopped (SIGSTOP, a frozen container), its machine was, or a call did not return.
 *
 * Commands that lie in its connections then may be old.  A host that hears nothing for the keep-alive time-out gives its ctrl up, repeats
 * over another path what changes data, and then writes something newer: carried out now, the old commands would bring old data back.  It is
 * not told either: the end of a connection may be lost, and behind a queue pair there is no order of commands and the end.  But the
 * specification says when this ctrl has expired (Base 2.0 section 3.9): when it took no command for so long.  So whoever receives looks at
 * the clock first, once for a batch, and a gap of more than the keep-alive time-out ends the association before any of it counts.
 *
 * A thread that has nothing to do does not stand still: a tick sees to it that it is seen running, TICKS times in the shortest keep-alive
 * time-out of its ctrls.  So a gap is known up to a tick, and the tick goes in favour of the host: no shorter gap than the time-out ends
 * anybody, and none that is longer by an eighth is missed.  (A host that keeps to the specification repeats nothing for twice that time.)
 * In a shorter gap hosts could not be heard: it does not count for their keep alive.  Hosts within this process stood still, too.
 */
#include "target/target.h"

#define TICKS	 8
#define TICK_MAX (5 * NSEC_PER_SEC)
#define NEVER	 (UINT64_MAX / 4)

static uint64_t kato_of(const struct target_queue *q)
{
	return __atomic_load_n(&q->ctrl->kato_ms, __ATOMIC_RELAXED) * NSEC_PER_MSEC;
}

static uint64_t tick_for(const struct target_queue *q)
{
	uint64_t kato = kato_of(q);

	return kato ? min_u64(kato / TICKS, TICK_MAX) : TICK_MAX;
}

/* For ns at least. */
static void stood_still(struct target_thread *th, uint64_t ns)
{
	struct target_queue *q;

	cds_list_for_each_entry (q, &th->queues, link) {
		if (q->closing || !q->connected)
			continue;
		if (kato_of(q) && ns > kato_of(q) && !q->ops->hosts_within)
			target_queue_fatal(q, "the target stood still for longer than the keep alive time-out");
		else if (!q->qid)
			target_kato_extend(q->ctrl, ns);
	}
}

static inline void seen(struct target_thread *th, uint64_t now)
{
	uint64_t away = now - th->seen_ns;

	th->seen_ns = now;
	if (unlikely(away > 2 * th->tick_ns))
		stood_still(th, away - th->tick_ns);
}

bool target_receives(struct target_queue *q, uint64_t now)
{
	seen(q->thread, now);
	return !q->closing;
}

void target_still_look(struct target_thread *th)
{
	seen(th, clock_boot_ns());
}

static void set_tick(struct target_thread *th, uint64_t ns)
{
	th->tick_ns = ns;
	if (ns < NEVER)
		timer_set(th->loop, &th->tick, loop_now(th->loop) + ns);
}

static void tick(struct timer *timer)
{
	struct target_thread *th = container_of(timer, struct target_thread, tick);
	const struct target_queue *q;
	uint64_t ns = NEVER;

	target_still_look(th);
	cds_list_for_each_entry (q, &th->queues, link)
		if (q->connected)
			ns = min_u64(ns, tick_for(q));
	set_tick(th, ns);
}

void target_still_watch(struct target_queue *q)
{
	struct target_thread *th = q->thread;

	target_still_look(th);
	if (tick_for(q) < th->tick_ns)
		set_tick(th, tick_for(q));
}

void target_still_init(struct target_thread *th)
{
	timer_init(&th->tick, tick);
	th->tick_ns = NEVER;
}

void target_still_exit(struct target_thread *th)
{
	timer_cancel(th->loop, &th->tick);
}
