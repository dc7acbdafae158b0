/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event loop: file descriptors, timers, work from other threads, and work put off to the end of a turn.
 *
 * A loop belongs to one thread at a time; only loop_post() and loop_stop() may be called from any thread.  All embedded structs
 * (loop_fd, timer, loop_work, loop_defer) are the caller's memory; the loop allocates nothing per event.
 *
 * One turn: work posted by others -> descriptors -> timers -> deferred work.  Deferred work is how everything that was queued on a
 * connection during a turn leaves in one sendmsg.
 *
 * Spinning: for a bounded time after the last callback that did work the loop calls the callbacks of its hot descriptors (those that did
 * work lately) instead of sleeping in epoll_wait.  A polled loop (timeout 0) does the same: while few descriptors are hot it asks epoll
 * only now and then, so a turn costs one recv and no epoll_wait.
 */
#ifndef NVOF_BASE_LOOP_H
#define NVOF_BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <urcu/list.h>

struct loop;
struct loop_fd;
struct timer;
struct loop_work;
struct loop_defer;
struct loop_ext;

/*
 * events: EPOLLIN/OUT/ERR/HUP as epoll gave them, or EPOLLIN and LOOP_TRY when the loop is spinning and just tries (EAGAIN is then normal).
 * Returns true when it did work: a call that only met EAGAIN returns false and lets the descriptor cool down.
 * It may delete any loop_fd of the loop, its own as well, and free the memory that holds it.
 */
#define LOOP_TRY (1u << 16) /* none of epoll's */
typedef bool loop_fd_fn(struct loop_fd *lf, uint32_t events);

struct loop_fd {
	/* private to loop.c */
	struct loop *loop; /* NULL when not added */
	loop_fd_fn *cb;
	int fd;
	uint32_t events;
	int slot; /* epoll data: survives deletion inside a batch */
	bool hot;
	struct cds_list_head hot_link;
	uint64_t hot_ns; /* when it last did work */
};

struct timer {
	/* private to loop.c */
	void (*cb)(struct timer *t);
	uint64_t deadline; /* ns */
	uint32_t pos;	   /* 1's based place in the heap; 0: not armed */
};

struct loop_work {
	/* private to loop.c */
	struct loop_work *next;
	void (*cb)(struct loop_work *w);
};

struct loop_defer {
	/* private to loop.c */
	struct cds_list_head link;
	void (*cb)(struct loop_defer *d);
	bool pending;
};

/* What somebody keeps per loop for as long as the loop lives: an io_uring, a thread pool. */
struct loop_ext {
	const void *key;		    /* an address of its owner's */
	void (*free)(struct loop_ext *ext); /* from loop_free(): takes its descriptors and timers off the loop */
	/* private to loop.c */
	struct cds_list_head link;
};

/* 0 or -errno (-ENOMEM, -EMFILE ...). */
int loop_new(struct loop **loopp);
/* Frees its exts; then nothing may be added or pending any more (asserted).  NULL is fine. */
void loop_free(struct loop *loop);

/* On the loop's thread.  One ext per key. */
void loop_ext_add(struct loop *loop, struct loop_ext *ext);
struct loop_ext *loop_ext_find(const struct loop *loop, const void *key); /* NULL: none */

/* lf must not be added.  0 or -errno of epoll_ctl / -ENOMEM. */
int loop_fd_add(struct loop *loop, struct loop_fd *lf, int fd, uint32_t events, loop_fd_fn *cb);
/* Changes the events waited for; cheap when they are the same. */
void loop_fd_mod(struct loop_fd *lf, uint32_t events);
/* Fine when not added.  No callback of lf runs after this returns.  The fd stays the caller's: delete before close. */
void loop_fd_del(struct loop_fd *lf);
/* Marks lf hot although it did nothing yet: a request was just sent, an answer is near. */
void loop_fd_heat(struct loop_fd *lf);

void timer_init(struct timer *t, void (*cb)(struct timer *t));
/* (Re)arms.  deadline_ns on the loop_now() clock; a past deadline fires in the next turn.  Timers that were armed for one deadline fire in
 * the order of arming.  Aborts only if memory for the heap ran out. */
void timer_set(struct loop *loop, struct timer *t, uint64_t deadline_ns);
void timer_cancel(struct loop *loop, struct timer *t); /* fine when not armed */
static inline bool timer_armed(const struct timer *t)
{
	return t->pos != 0;
}

void loop_work_init(struct loop_work *w, void (*cb)(struct loop_work *w));
/* Any thread.  w must not be queued already; its cb runs once on the loop's thread, in order of posting.  Wakes the loop only if it
 * sleeps. */
void loop_post(struct loop *loop, struct loop_work *w);
/* On the loop's thread: w's cb will not run for what was posted so far.  The caller sees to it that nobody posts w meanwhile.  Returns
 * whether it was queued. */
bool loop_work_cancel(struct loop *loop, struct loop_work *w);

void loop_defer_init(struct loop_defer *d, void (*cb)(struct loop_defer *d));
/* cb runs once at the end of this turn (or of the next one, when called between turns).  Again while pending: nothing. */
void loop_defer(struct loop *loop, struct loop_defer *d);
void loop_defer_cancel(struct loop_defer *d);

/*
 * One turn.  timeout_ns: 0 only looks, < 0 waits for ever, else the longest sleep.  Returns the number of callbacks that did work.
 * Not to be called from inside a callback of the same loop.
 */
int loop_turn(struct loop *loop, int64_t timeout_ns);
/* Turns until loop_stop(). */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop); /* any thread; sticky: a loop_run() that starts later returns at once and clears it */

/*
 * For somebody else's event loop: becomes readable when a turn would find work.  Call loop_prepare_wait() before each sleep on it: it
 * runs deferred work, arms the timerfd for the nearest timer and tells loop_post() to wake us.  Returns false when there is work
 * already: make a turn instead of sleeping.
 */
int loop_pollfd(const struct loop *loop);
bool loop_prepare_wait(struct loop *loop);

uint64_t loop_now(const struct loop *loop); /* ns, monotonic, as of the start of the turn; clock_ns() when between turns is fine too */
/* Upper limit of the spin after the last work, in ns; 0 (default) turns it off. */
void loop_set_spin(struct loop *loop, uint64_t spin_ns);

#endif
