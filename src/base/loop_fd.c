/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop's descriptors: slots that make deletion safe, and the list of hot ones. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/loop_internal.h"

static uint64_t slot_data(const struct loop *loop, uint32_t slot)
{
	return (uint64_t)loop->slots[slot].gen << 32 | slot;
}

int loop_fds_init(struct loop *loop)
{
	loop->free_slot = LOOP_SLOT_NONE;
	CDS_INIT_LIST_HEAD(&loop->hot);
	loop->epfd = epoll_create1(EPOLL_CLOEXEC);
	return loop->epfd < 0 ? -errno : 0;
}

void loop_fds_exit(struct loop *loop)
{
	assert(!loop->nr_fds);
	free(loop->slots);
	if (loop->epfd >= 0)
		close(loop->epfd);
}

int loop_watch_internal(struct loop *loop, int fd, uint32_t slot)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = slot };

	return epoll_ctl(loop->epfd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static int slots_grow(struct loop *loop)
{
	uint32_t i, nr = loop->nr_slots ? loop->nr_slots * 2 : 16;
	struct loop_slot *slots = realloc(loop->slots, nr * sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (i = nr; i-- > loop->nr_slots;) {
		slots[i] = (struct loop_slot){ .next_free = loop->free_slot };
		loop->free_slot = i;
	}
	loop->slots = slots;
	loop->nr_slots = nr;
	return 0;
}

static void count_want_out(struct loop *loop, uint32_t events, int by)
{
	if (events & EPOLLOUT)
		loop->nr_want_out += (uint32_t)by;
}

int loop_fd_add(struct loop *loop, struct loop_fd *lf, int fd, uint32_t events, loop_fd_fn *cb)
{
	struct epoll_event ev = { .events = events };
	uint32_t slot;

	if (loop->free_slot == LOOP_SLOT_NONE && slots_grow(loop))
		return -ENOMEM;
	slot = loop->free_slot;
	ev.data.u64 = slot_data(loop, slot);
	if (epoll_ctl(loop->epfd, EPOLL_CTL_ADD, fd, &ev))
		return -errno;
	loop->free_slot = loop->slots[slot].next_free;
	loop->slots[slot].lf = lf;
	loop->nr_fds++;
	count_want_out(loop, events, 1);
	*lf = (struct loop_fd){ .loop = loop, .cb = cb, .fd = fd, .events = events, .slot = (int)slot };
	return 0;
}

static void fd_cool(struct loop_fd *lf)
{
	if (!lf->hot)
		return;
	cds_list_del(&lf->hot_link);
	lf->hot = false;
	lf->loop->nr_hot--;
}

void loop_fd_mod(struct loop_fd *lf, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.u64 = slot_data(lf->loop, (uint32_t)lf->slot) };
	int ret;

	if (lf->events == events)
		return;
	ret = epoll_ctl(lf->loop->epfd, EPOLL_CTL_MOD, lf->fd, &ev);
	assert(!ret); /* fails only for a descriptor that was closed before it was deleted */
	(void)ret;
	count_want_out(lf->loop, lf->events, -1);
	count_want_out(lf->loop, events, 1);
	lf->events = events;
	if (!(events & EPOLLIN))
		fd_cool(lf);
}

void loop_fd_del(struct loop_fd *lf)
{
	struct loop *loop = lf->loop;
	struct loop_slot *slot;

	if (!loop)
		return;
	fd_cool(lf);
	epoll_ctl(loop->epfd, EPOLL_CTL_DEL, lf->fd, NULL);
	slot = &loop->slots[lf->slot];
	slot->lf = NULL;
	slot->gen++;
	slot->next_free = loop->free_slot;
	loop->free_slot = (uint32_t)lf->slot;
	loop->nr_fds--;
	count_want_out(loop, lf->events, -1);
	lf->loop = NULL;
}

static void fd_mark_hot(struct loop_fd *lf, uint64_t now)
{
	struct loop *loop = lf->loop;

	if (!(lf->events & EPOLLIN))
		return;
	lf->hot_ns = now;
	if (lf->hot) {
		cds_list_del(&lf->hot_link);
	} else {
		lf->hot = true;
		loop->nr_hot++;
	}
	cds_list_add_tail(&lf->hot_link, &loop->hot);
}

void loop_fd_heat(struct loop_fd *lf)
{
	struct loop *loop = lf->loop;

	if (!loop)
		return;
	/* Between turns the loop's clock stands still, and asking the time for each request would cost more than the rest of this. */
	fd_mark_hot(lf, loop->in_turn ? loop->now : LOOP_HOT_FRESH);
	loop->worked = true;
}

/* Takes descriptors that did nothing for long off the hot list. */
void loop_cool(struct loop *loop)
{
	struct loop_fd *lf;

	while (loop->nr_hot) {
		lf = cds_list_first_entry(&loop->hot, struct loop_fd, hot_link);
		if (lf->hot_ns == LOOP_HOT_FRESH)
			lf->hot_ns = loop->now;
		if (loop->now < lf->hot_ns + LOOP_HOT_NS)
			return;
		fd_cool(lf);
	}
}

/* Calls lf's callback, after which lf may be gone. */
static bool fd_call(struct loop *loop, struct loop_fd *lf, uint32_t events)
{
	uint32_t slot = (uint32_t)lf->slot, gen = loop->slots[slot].gen;

	if (!lf->cb(lf, events))
		return false;
	if (loop->slots[slot].gen == gen && (events & EPOLLIN))
		fd_mark_hot(lf, loop->now);
	return true;
}

/* Tries every hot descriptor once.  Those that did work go to the end of the list, so the longest idle stays first. */
int loop_hot_round(struct loop *loop)
{
	CDS_LIST_HEAD(round);
	CDS_LIST_HEAD(missed);
	struct loop_fd *lf;
	int n = 0;

	cds_list_splice(&loop->hot, &round);
	CDS_INIT_LIST_HEAD(&loop->hot);
	while (!cds_list_empty(&round)) {
		lf = cds_list_first_entry(&round, struct loop_fd, hot_link);
		cds_list_del(&lf->hot_link);
		cds_list_add_tail(&lf->hot_link, &missed);
		n += fd_call(loop, lf, EPOLLIN | LOOP_TRY);
	}
	cds_list_splice(&missed, &loop->hot);
	return n;
}

static void drain(int fd)
{
	uint64_t count;
	ssize_t ret;

	ret = read(fd, &count, sizeof(count)); /* EAGAIN: somebody was faster, which is as good */
	(void)ret;
}

int loop_dispatch(struct loop *loop, int nr_events)
{
	int i, n = 0;

	for (i = 0; i < nr_events; i++) {
		uint32_t slot = (uint32_t)loop->events[i].data.u64, gen = (uint32_t)(loop->events[i].data.u64 >> 32);

		if (slot == LOOP_SLOT_EVENT) {
			drain(loop->evfd);
		} else if (slot == LOOP_SLOT_TIMER) {
			drain(loop->tfd);
			loop->tfd_deadline = 0;
		} else if (loop->slots[slot].lf && loop->slots[slot].gen == gen) {
			n += fd_call(loop, loop->slots[slot].lf, loop->events[i].events);
		}
	}
	return n;
}

int loop_ask_epoll(struct loop *loop)
{
	loop->looks = 0;
	return loop_dispatch(loop, epoll_wait(loop->epfd, loop->events, LOOP_BATCH, 0));
}

/* Whatever is ready now, at the lowest price. */
int loop_look(struct loop *loop)
{
	uint32_t every = loop->nr_want_out ? LOOP_EPOLL_EVERY_OUT : LOOP_EPOLL_EVERY;

	loop_cool(loop);
	if (!loop->nr_hot || loop->nr_hot > LOOP_HOT_MAX || loop->looks >= every)
		return loop_ask_epoll(loop);
	loop->looks++;
	return loop_hot_round(loop);
}
