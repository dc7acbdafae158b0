/* SPDX-License-Identifier: BSD-3-Clause */
/* The event loop: its life and its turn.  Descriptors, timers, work and waiting have a file each (loop_*.c). */
#include "base/loop.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/loop_internal.h"

static int wakers_init(struct loop *loop)
{
	int ret;

	loop->evfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (loop->evfd < 0)
		return -errno;
	loop->tfd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (loop->tfd < 0)
		return -errno;
	ret = loop_watch_internal(loop, loop->evfd, LOOP_SLOT_EVENT);
	return ret ? ret : loop_watch_internal(loop, loop->tfd, LOOP_SLOT_TIMER);
}

int loop_new(struct loop **loopp)
{
	struct loop *loop = aligned_alloc(_Alignof(struct loop), sizeof(*loop));
	int ret;

	*loopp = NULL;
	if (!loop)
		return -ENOMEM;
	memset(loop, 0, sizeof(*loop));
	loop->epfd = loop->evfd = loop->tfd = -1;
	CDS_INIT_LIST_HEAD(&loop->deferred);
	CDS_INIT_LIST_HEAD(&loop->exts);
	loop->now = clock_ns();
	ret = loop_fds_init(loop);
	if (!ret)
		ret = wakers_init(loop);
	if (ret) {
		loop_free(loop);
		return ret;
	}
	*loopp = loop;
	return 0;
}

void loop_ext_add(struct loop *loop, struct loop_ext *ext)
{
	assert(!loop_ext_find(loop, ext->key));
	cds_list_add(&ext->link, &loop->exts);
}

struct loop_ext *loop_ext_find(const struct loop *loop, const void *key)
{
	struct loop_ext *ext;

	cds_list_for_each_entry (ext, &loop->exts, link) {
		if (ext->key == key)
			return ext;
	}
	return NULL;
}

void loop_free(struct loop *loop)
{
	struct loop_ext *ext, *next;

	if (!loop)
		return;
	cds_list_for_each_entry_safe (ext, next, &loop->exts, link)
		ext->free(ext);
	assert(!loop->in_turn && !loop->nr_timers && cds_list_empty(&loop->deferred) && !loop_has_posted(loop));
	if (loop->evfd >= 0)
		close(loop->evfd);
	if (loop->tfd >= 0)
		close(loop->tfd);
	loop_fds_exit(loop);
	free(loop->heap);
	free(loop);
}

static void turn_begin(struct loop *loop)
{
	assert(!loop->in_turn);
	loop->in_turn = true;
	if (loop->armed) {
		loop->armed = false;
		loop_sleep_end(loop);
	}
	loop->now = clock_ns();
	if (loop->worked) {
		loop->worked = false;
		loop->last_work = loop->now;
	}
}

/* Nothing to do but what epoll may know: the wait will ask it.  Hot descriptors are tried only by those who would try again. */
static bool may_wait_at_once(struct loop *loop)
{
	return (!loop->nr_hot || !loop_may_spin(loop)) && cds_list_empty(&loop->deferred) && loop_timer_next(loop) > loop->now;
}

int loop_turn(struct loop *loop, int64_t timeout_ns)
{
	int n;

	turn_begin(loop);
	n = loop_posted_run(loop);
	if (n || !timeout_ns || !may_wait_at_once(loop))
		n += loop_look(loop);
	n += loop_timers_run(loop);
	n += loop_deferred_run(loop);
	if (!n && timeout_ns) {
		n = loop_wait(loop, timeout_ns);
		n += loop_posted_run(loop);
		n += loop_timers_run(loop);
		n += loop_deferred_run(loop);
	}
	if (n)
		loop->worked = true;
	loop->in_turn = false;
	return n;
}

void loop_run(struct loop *loop)
{
	loop->running = true;
	while (!atomic_exchange(&loop->stop, false))
		loop_turn(loop, -1);
	loop->running = false;
}

int loop_pollfd(const struct loop *loop)
{
	return loop->epfd;
}

bool loop_prepare_wait(struct loop *loop)
{
	uint64_t next;

	if (loop_deferred_run(loop)) {
		loop->worked = true;
		return false;
	}
	loop->now = clock_ns();
	next = loop_timer_next(loop);
	if (next <= loop->now)
		return false;
	loop_arm_timerfd(loop, next);
	/* The descriptor that wakes the sleeper may be a cold one: the next turn must ask epoll. */
	loop->looks = UINT32_MAX;
	loop->armed = loop_sleep_begin(loop);
	return loop->armed;
}

uint64_t loop_now(const struct loop *loop)
{
	return loop->now;
}

void loop_set_spin(struct loop *loop, uint64_t spin_ns)
{
	loop->spin_ns = spin_ns;
	loop->spin_fails = 0;
}
