// SPDX-License-Identifier: BSD-3-Clause
/* The threads that serve connections: a loop each. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "target/rcu.h"
#include "target/target.h"

#define BUFS_KEEP ((size_t)32 << 20)  /* bytes of idle buffers a thread keeps at most */
#define BUFS_USE  ((size_t)256 << 20) /* bytes of buffers in use from which on I/O of a thread waits */

/* A host that is wrong again and again must not fill a disk with what is said about it. */
#define TOLD_BURST  20
#define TOLD_WINDOW (10 * NSEC_PER_SEC)

static void *thread_main(void *arg)
{
	struct target_thread *th = arg;

	urcu_memb_register_thread();
	if (th->target->opts.poll) {
		while (!__atomic_load_n(&th->stop, __ATOMIC_ACQUIRE))
			loop_turn(th->loop, 0);
	} else {
		loop_run(th->loop);
	}
	target_still_exit(th);
	bufs_exit(&th->bufs);
	urcu_memb_unregister_thread();
	return NULL;
}

static int thread_start(struct nvof_target *t, unsigned int index, struct error *err)
{
	struct target_thread *th = &t->threads[index];
	char name[16];
	int ret;

	th->target = t;
	th->index = index;
	CDS_INIT_LIST_HEAD(&th->queues);
	th->told = (struct log_limit){ .burst = TOLD_BURST, .window_ns = TOLD_WINDOW };
	ret = loop_new(&th->loop);
	if (ret)
		return error_set(err, ret, "make the loop of I/O thread %u: %s", index, strerror(-ret));
	loop_set_spin(th->loop, (uint64_t)t->opts.spin_us * NSEC_PER_USEC);
	bufs_init(&th->bufs, th->loop, BUFS_KEEP, BUFS_USE);
	target_buf_wait_init(th);
	target_still_init(th);
	ret = thread_spawn(&th->thread, NULL, thread_main, th);
	if (ret)
		return error_set(err, ret, "start I/O thread %u: %s", index, strerror(-ret));
	th->started = true;
	snprintf(name, sizeof(name), "nvof-tgt-%u", index % 100000);
	pthread_setname_np(th->thread, name);
	return 0;
}

int target_threads_start(struct nvof_target *t, struct error *err)
{
	unsigned int nr = t->opts.io_threads;
	int ret = 0;

	t->threads = calloc(nr, sizeof(*t->threads));
	if (!t->threads)
		return error_set(err, -ENOMEM, "start %u I/O threads: out of memory", nr);
	t->nr_threads = nr;
	for (unsigned int i = 0; i < nr && !ret; i++)
		ret = thread_start(t, i, err);
	return ret;
}

void target_threads_stop(struct nvof_target *t)
{
	for (unsigned int i = 0; i < t->nr_threads; i++) {
		struct target_thread *th = &t->threads[i];

		if (!th->started)
			continue;
		__atomic_store_n(&th->stop, true, __ATOMIC_RELEASE);
		loop_stop(th->loop);
		pthread_join(th->thread, NULL);
	}
	for (unsigned int i = 0; i < t->nr_threads; i++)
		loop_free(t->threads[i].loop);
	free(t->threads);
}

static void call_run(struct loop_work *work)
{
	struct target_call *call = container_of(work, struct target_call, work);
	struct nvof_target *t = call->target;

	call->fn(call->arg);
	pthread_mutex_lock(&t->lock);
	call->done = true; /* call is the waiter's stack: gone once the lock is released */
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

void target_thread_call(struct target_thread *th, void (*fn)(void *arg), void *arg)
{
	struct nvof_target *t = th->target;
	struct target_call call = { .fn = fn, .arg = arg, .target = t };

	loop_work_init(&call.work, call_run);
	loop_post(th->loop, &call.work);
	pthread_mutex_lock(&t->lock);
	while (!call.done)
		pthread_cond_wait(&t->changed, &t->lock);
	pthread_mutex_unlock(&t->lock);
}

struct target_thread *target_thread_of(struct nvof_target *t, const struct loop *loop)
{
	for (unsigned int i = 0; i < t->nr_threads; i++)
		if (t->threads[i].loop == loop)
			return &t->threads[i];
	return NULL;
}

/* Racing callers see one another's places: the count moves before the connection does (C042). */
struct loop *target_place(struct nvof_target *t)
{
	struct target_thread *best;
	int best_nr;

	do {
		best = &t->threads[0];
		best_nr = __atomic_load_n(&best->nr_placed, __ATOMIC_RELAXED);
		for (unsigned int i = 1; i < t->nr_threads; i++) {
			int nr = __atomic_load_n(&t->threads[i].nr_placed, __ATOMIC_RELAXED);

			if (nr < best_nr) {
				best = &t->threads[i];
				best_nr = nr;
			}
		}
	} while (!__atomic_compare_exchange_n(&best->nr_placed, &best_nr, best_nr + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return best->loop;
}

void target_unplace(struct nvof_target *t, struct loop *loop)
{
	struct target_thread *th = target_thread_of(t, loop);

	if (th)
		__atomic_sub_fetch(&th->nr_placed, 1, __ATOMIC_RELAXED);
}
