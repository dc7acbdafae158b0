/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a loop waits: it spins over its hot descriptors for a bounded time after its last work, then it sleeps.
 *
 * Spins that keep ending in a sleep are given up: the time between the last work and the wake-up then tells when they would pay again.
 */
#include <errno.h>
#include <sys/timerfd.h>

#include "base/loop_internal.h"

#define SPIN_FAILS_MAX 4 /* in a row: no more spinning until a sleep was short enough for a spin */

static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#endif
}

void loop_arm_timerfd(struct loop *loop, uint64_t deadline_ns)
{
	struct itimerspec its = { 0 };

	if (deadline_ns == UINT64_MAX)
		deadline_ns = 0;
	if (loop->tfd_deadline == deadline_ns)
		return;
	loop->tfd_deadline = deadline_ns;
	its.it_value.tv_sec = (time_t)(deadline_ns / NSEC_PER_SEC);
	its.it_value.tv_nsec = (long)(deadline_ns % NSEC_PER_SEC);
	timerfd_settime(loop->tfd, TFD_TIMER_ABSTIME, &its, NULL);
}

bool loop_may_spin(const struct loop *loop)
{
	return loop->spin_ns && loop->spin_fails < SPIN_FAILS_MAX && loop->now - loop->last_work < loop->spin_ns;
}

/* Returns how many callbacks did work.  0 with posted work waiting: the spin ended for that. */
static int spin(struct loop *loop, uint64_t limit)
{
	uint64_t end = min_u64(limit, loop->last_work + loop->spin_ns);
	int n;

	for (;;) {
		n = loop_look(loop);
		if (n || loop_has_posted(loop)) {
			loop->spin_fails = 0;
			return n;
		}
		loop->now = clock_ns();
		if (loop->now >= end || !cds_list_empty(&loop->deferred))
			return 0;
		if (loop->running && atomic_load_explicit(&loop->stop, memory_order_relaxed))
			return 0;
		cpu_relax();
	}
}

/* Sleeps until limit at the longest; returns what epoll_wait returned. */
static int sleep_until(struct loop *loop, uint64_t limit)
{
	struct timespec ts;
	uint64_t left = limit - loop->now;
	int ret;

	if (limit == UINT64_MAX)
		return epoll_wait(loop->epfd, loop->events, LOOP_BATCH, -1);
	if (!loop->no_pwait2) {
		ts.tv_sec = (time_t)(left / NSEC_PER_SEC);
		ts.tv_nsec = (long)(left % NSEC_PER_SEC);
		ret = epoll_pwait2(loop->epfd, loop->events, LOOP_BATCH, &ts, NULL);
		if (ret >= 0 || (errno != ENOSYS && errno != EPERM))
			return ret;
		loop->no_pwait2 = true; /* before Linux 5.11, or a sandbox that does not know it */
	}
	loop_arm_timerfd(loop, limit);
	return epoll_wait(loop->epfd, loop->events, LOOP_BATCH, -1);
}

static void judge_spin(struct loop *loop, bool spun)
{
	if (!loop->spin_ns)
		return;
	if (spun)
		loop->spin_fails++;
	else if (loop->now - loop->last_work < 2 * loop->spin_ns)
		loop->spin_fails = 0; /* the wake-up itself takes time: a spin would have met this */
}

int loop_wait(struct loop *loop, int64_t timeout_ns)
{
	uint64_t limit = UINT64_MAX;
	bool spun = false;
	int n;

	if (timeout_ns >= 0 && (uint64_t)timeout_ns < UINT64_MAX - loop->now)
		limit = loop->now + (uint64_t)timeout_ns;
	limit = min_u64(limit, loop_timer_next(loop));
	if (loop_may_spin(loop)) {
		spun = true;
		n = spin(loop, limit);
		if (n || loop_has_posted(loop))
			return n;
	}
	if (loop->now >= limit)
		return loop_ask_epoll(loop);
	if (!loop_sleep_begin(loop))
		return 0;
	loop->looks = 0;
	n = sleep_until(loop, limit);
	loop_sleep_end(loop);
	loop->now = clock_ns();
	judge_spin(loop, spun);
	return loop_dispatch(loop, n);
}
