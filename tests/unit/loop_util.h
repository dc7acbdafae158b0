/* SPDX-License-Identifier: BSD-3-Clause */
/* A pipe whose read end is watched, for the tests of the loop. */
#ifndef NVOF_TESTS_LOOP_UTIL_H
#define NVOF_TESTS_LOOP_UTIL_H

#include <fcntl.h>
#include <unistd.h>

#include "base/loop_internal.h"

struct watched {
	struct loop_fd lf;
	int fds[2];
	uint32_t calls, bytes;
	uint32_t last_events;
	void (*then)(struct watched *w); /* from inside the callback */
	struct watched *other;
};

static inline bool watched_cb(struct loop_fd *lf, uint32_t events)
{
	struct watched *w = container_of(lf, struct watched, lf);
	char buf[64];
	ssize_t n;

	w->calls++;
	w->last_events = events;
	n = read(w->fds[0], buf, sizeof(buf));
	if (n > 0)
		w->bytes += (uint32_t)n;
	if (w->then)
		w->then(w);
	return n > 0; /* w may be gone */
}

static inline void watched_open(struct watched *w)
{
	*w = (struct watched){ 0 };
	assert_int_equal(pipe2(w->fds, O_NONBLOCK | O_CLOEXEC), 0);
}

static inline void watch(struct loop *loop, struct watched *w)
{
	watched_open(w);
	assert_int_equal(loop_fd_add(loop, &w->lf, w->fds[0], EPOLLIN, watched_cb), 0);
}

static inline void unwatch(struct watched *w)
{
	loop_fd_del(&w->lf);
	close(w->fds[0]);
	close(w->fds[1]);
}

static inline void feed(struct watched *w)
{
	assert_int_equal(write(w->fds[1], "x", 1), 1);
}

/* However long the test is held up: w stays hot. */
static inline void keep_hot(struct watched *w)
{
	assert_true(w->lf.hot);
	w->lf.hot_ns = clock_ns() + 3600 * NSEC_PER_SEC;
}

static inline int new_loop(void **state)
{
	struct loop *loop;

	if (loop_new(&loop))
		return -1;
	*state = loop;
	return 0;
}

static inline int free_loop(void **state)
{
	loop_free(*state);
	return 0;
}

#endif
