// SPDX-License-Identifier: BSD-3-Clause
/* The end of service: in good order (drain) or at once (free). */
#include <errno.h>

#include "target/target.h"

/* On each thread: commands that come from now on are kept unanswered, and a queue closes when what it was working on has ended. */
static void thread_drain(void *arg)
{
	struct target_thread *th = arg;
	struct target_queue *q, *next;

	cds_list_for_each_entry_safe (q, next, &th->queues, link) {
		q->draining = true;
		if (target_queue_drained(q))
			target_queue_close(q);
	}
}

static void thread_close_all(void *arg)
{
	struct target_thread *th = arg;
	struct target_queue *q, *next;

	cds_list_for_each_entry_safe (q, next, &th->queues, link)
		target_queue_close(q);
}

/* On each thread: how many queues have a command in hand that is not answered yet. */
static void thread_count_busy(void *arg)
{
	struct target_thread *th = arg;
	const struct target_queue *q;

	th->nr_busy = 0;
	cds_list_for_each_entry (q, &th->queues, link)
		th->nr_busy += q->nr_active != q->nr_parked;
}

static void nothing(void *arg) {}

static void on_all_threads(struct nvof_target *t, void (*fn)(void *arg))
{
	for (unsigned int i = 0; i < t->nr_threads; i++)
		if (t->threads[i].started)
			target_thread_call(&t->threads[i], fn, &t->threads[i]);
}

static bool any_busy(struct nvof_target *t)
{
	bool busy = false;

	on_all_threads(t, thread_count_busy);
	for (unsigned int i = 0; i < t->nr_threads; i++)
		busy |= t->threads[i].started && t->threads[i].nr_busy;
	return busy;
}

/* True when the last queue went before the deadline (0: no deadline). */
static bool wait_for_queues(struct nvof_target *t, uint64_t deadline_ns)
{
	struct timespec ts = { .tv_sec = (time_t)(deadline_ns / NSEC_PER_SEC), .tv_nsec = (long)(deadline_ns % NSEC_PER_SEC) };
	int ret = 0;

	pthread_mutex_lock(&t->lock);
	while (t->nr_queues && !ret)
		ret = deadline_ns ? pthread_cond_timedwait(&t->changed, &t->lock, &ts) : pthread_cond_wait(&t->changed, &t->lock);
	pthread_mutex_unlock(&t->lock);
	return !ret;
}

int target_shut(struct nvof_target *t, unsigned int tmo_ms)
{
	struct target_port *port, *next;
	int ret = 0;

	pthread_mutex_lock(&t->lock);
	__atomic_store_n(&t->draining, true, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&t->lock);
	cds_list_for_each_entry_safe (port, next, &t->ports, link)
		target_port_stop(port);
	on_all_threads(t, tmo_ms ? thread_drain : thread_close_all);
	if (tmo_ms && !wait_for_queues(t, clock_ns() + tmo_ms * NSEC_PER_MSEC)) {
		/* What is left without a command only waits for its host to close its side, and not for long. */
		ret = any_busy(t) ? -ETIMEDOUT : 0;
		on_all_threads(t, thread_close_all);
	}
	wait_for_queues(t, 0);
	on_all_threads(t, nothing); /* works that were posted to ctrls have run after this */
	return ret;
}
