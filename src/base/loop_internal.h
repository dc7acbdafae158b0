/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the event loop share.  For loop*.c alone. */
#ifndef NVOF_BASE_LOOP_INTERNAL_H
#define NVOF_BASE_LOOP_INTERNAL_H

#include <stdatomic.h>
#include <sys/epoll.h>

#include "base/loop.h"
#include "base/util.h"

#define LOOP_BATCH	     64				/* events of one epoll_wait */
#define LOOP_HOT_MAX	     2				/* with more hot descriptors epoll is cheaper than trying each */
#define LOOP_EPOLL_EVERY     32				/* so many looks at hot descriptors alone, then epoll is asked */
#define LOOP_EPOLL_EVERY_OUT 2				/* the same while somebody waits for EPOLLOUT, which only epoll tells */
#define LOOP_HOT_NS	     (200 * NSEC_PER_USEC)	/* without work for so long a descriptor is cold */
#define LOOP_HOT_FRESH	     (UINT64_MAX - LOOP_HOT_NS) /* hot_ns: heated between turns, counts from the next one on */

#define LOOP_SLOT_NONE	UINT32_MAX
#define LOOP_SLOT_EVENT (UINT32_MAX - 1) /* the eventfd of loop_post() */
#define LOOP_SLOT_TIMER (UINT32_MAX - 2) /* the timerfd */

/*
 * epoll's data is (gen << 32 | slot).  Deleting a loop_fd frees its slot and moves the generation on, so an event of the same batch that
 * was meant for it meets an empty slot or a newer generation, even when descriptor and memory were reused meanwhile.
 */
struct loop_slot {
	struct loop_fd *lf; /* NULL: free */
	uint32_t gen;
	uint32_t next_free;
};

/*
 * key <= timer->deadline: a deadline that moves later leaves the heap alone until the key comes up.  Entries of one key fire in the order
 * in which they got it, so that what is delayed by one time is not turned round.
 */
struct loop_heap_entry {
	uint64_t key;
	uint64_t order;
	struct timer *timer;
};

struct loop {
	int epfd, evfd, tfd;
	uint64_t now;
	bool in_turn;
	bool running; /* inside loop_run() */
	bool armed;   /* loop_prepare_wait() said: sleep */

	struct loop_slot *slots;
	uint32_t nr_slots, free_slot, nr_fds, nr_want_out;
	struct cds_list_head hot; /* of loop_fd, the longest idle first */
	uint32_t nr_hot;
	uint32_t looks; /* at hot descriptors, since epoll was asked */

	struct loop_heap_entry *heap; /* heap[1..nr_timers] */
	uint32_t nr_timers, heap_size;
	uint64_t timer_order;  /* of the key given last */
	uint64_t tfd_deadline; /* what the timerfd is armed for; 0: not armed */

	struct loop_work *ready; /* taken from posted, oldest first: their cbs run in this turn */
	struct cds_list_head deferred;
	struct cds_list_head exts; /* of loop_ext */

	uint64_t spin_ns;
	uint64_t last_work;  /* when the spin's time began */
	bool worked;	     /* since last_work was set */
	uint32_t spin_fails; /* in a row */
	bool no_pwait2;

	struct epoll_event events[LOOP_BATCH];

	/* Written by other threads: on a cache line of their own. */
	_Alignas(64) _Atomic(struct loop_work *) posted; /* newest first */
	atomic_bool asleep;
	atomic_bool stop;
};

/* loop_fd.c */
int loop_fds_init(struct loop *loop);
void loop_fds_exit(struct loop *loop);
int loop_watch_internal(struct loop *loop, int fd, uint32_t slot);
void loop_cool(struct loop *loop);
int loop_hot_round(struct loop *loop);
int loop_dispatch(struct loop *loop, int nr_events);
int loop_ask_epoll(struct loop *loop);
int loop_look(struct loop *loop);

/* loop_timer.c */
uint64_t loop_timer_next(struct loop *loop); /* UINT64_MAX: none */
int loop_timers_run(struct loop *loop);

/* loop_work.c */
int loop_posted_run(struct loop *loop);
int loop_deferred_run(struct loop *loop);
bool loop_sleep_begin(struct loop *loop);
void loop_sleep_end(struct loop *loop);
static inline bool loop_has_posted(struct loop *loop)
{
	return loop->ready || atomic_load_explicit(&loop->posted, memory_order_relaxed) != NULL;
}

/* loop_wait.c */
void loop_arm_timerfd(struct loop *loop, uint64_t deadline_ns);
bool loop_may_spin(const struct loop *loop);
int loop_wait(struct loop *loop, int64_t timeout_ns);

#endif
