/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/io_port.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ring.h"
#include "host/ctrl.h"
#include "host/io_thread.h"
#include "host/queue.h"

#define NO_ROOM_NS NSEC_PER_MSEC /* the transport takes nothing now: the next try, unless an answer comes first */

/* The end of a request on its way back. */
struct port_end {
	struct host_req *req;
	int status;
	bool has_cqe;
	struct nvme_cqe cqe;
};

struct io_port {
	struct host_queue *q;
	struct io_thread *thread;

	/* the ctx's thread */
	struct loop *home;
	bool recalled;
	struct loop_defer kick;	    /* requests were put: tell the thread */
	struct loop_work ends_work; /* posted by the thread: there are ends, */
	struct loop_work fail_work; /* and the queue can't go on */

	/* the I/O thread */
	struct host_req **reqs; /* under way, by cid; q->reqs */
	bool attached, failed, no_room;
	struct loop_defer tell;	      /* ends were put: tell the ctx */
	struct timer again;	      /* no_room */
	struct loop_work take_work;   /* posted by the ctx's thread: the queue is yours, */
	struct loop_work submit_work; /* there are requests, */
	struct loop_work recall_work; /* come back */
	struct error err;	      /* why it failed; the ctx's after fail_work was posted */

	/* between the two.  A cid is in one of the rings at most once, so they are never full */
	struct ring submits; /* of struct host_req * */
	struct ring ends;    /* of struct port_end */
	bool back;	     /* under thread->lock: the answer to recall_work */
	/* The work is posted, and its callback has not begun to look at the ring. */
	_Alignas(64) atomic_bool submits_told;
	_Alignas(64) atomic_bool ends_told;
};

bool io_port_is_here(const struct io_port *p)
{
	return pthread_equal(pthread_self(), p->thread->thread);
}

/* ---- on the I/O thread ---- */

static void fail(struct io_port *p, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void fail(struct io_port *p, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	io_port_failed(p, code, fmt, ap);
	va_end(ap);
}

void io_port_failed(struct io_port *p, int code, const char *fmt, va_list ap)
{
	if (p->failed)
		return;
	p->failed = true;
	error_vset(&p->err, code, fmt, ap);
	loop_post(p->home, &p->fail_work);
}

/* A request that the transport does not take is first in the ring still. */
static bool submit_one(struct io_port *p, struct host_req *req)
{
	int ret;

	p->reqs[req->cid] = req;
	ret = p->q->ops->submit(p->q, req);
	if (ret != -EAGAIN)
		return true; /* with any other error the queue has failed, and the request ends with it */
	p->reqs[req->cid] = NULL;
	p->no_room = true;
	timer_set(p->thread->loop, &p->again, clock_ns() + NO_ROOM_NS);
	return false;
}

static void submit_all(struct io_port *p)
{
	struct host_req **first;

	p->no_room = false;
	while (p->attached && !p->failed && (first = ring_first(&p->submits)) && submit_one(p, *first))
		ring_drop(&p->submits);
}

static void submit_work(struct loop_work *w)
{
	struct io_port *p = container_of(w, struct io_port, submit_work);

	atomic_exchange(&p->submits_told, false); /* before the ring is read: what is put later is told again */
	submit_all(p);
}

static void submit_again(struct timer *t)
{
	submit_all(container_of(t, struct io_port, again));
}

static void take_work(struct loop_work *w)
{
	struct io_port *p = container_of(w, struct io_port, take_work);
	int ret = p->q->ops->queue_attach(p->q);

	p->attached = !ret;
	if (ret)
		fail(p, ret, "its I/O thread can't take it: %s", strerror(-ret));
}

void io_port_ended(struct io_port *p, struct host_req *req, int status, const struct nvme_cqe *cqe)
{
	struct port_end *end = ring_room(&p->ends);

	assert(end && p->reqs[req->cid] == req);
	p->reqs[req->cid] = NULL;
	end->req = req;
	end->status = status;
	end->has_cqe = cqe;
	if (cqe)
		end->cqe = *cqe;
	ring_put(&p->ends);
	loop_defer(p->thread->loop, &p->tell);
}

/* The end of a turn: one message for all that ended in it. */
static void tell(struct loop_defer *d)
{
	struct io_port *p = container_of(d, struct io_port, tell);

	if (!atomic_exchange(&p->ends_told, true))
		loop_post(p->home, &p->ends_work);
	if (p->no_room)
		submit_all(p);
}

static void recall_work(struct loop_work *w)
{
	struct io_port *p = container_of(w, struct io_port, recall_work);
	struct io_thread *t = p->thread;

	loop_work_cancel(t->loop, &p->submit_work);
	loop_defer_cancel(&p->tell);
	timer_cancel(t->loop, &p->again);
	if (p->attached)
		p->q->ops->queue_detach(p->q);
	pthread_mutex_lock(&t->lock);
	p->back = true; /* p is gone when the lock is released */
	pthread_cond_signal(&t->back);
	pthread_mutex_unlock(&t->lock);
}

/* ---- on the ctx's thread ---- */

static void take_ends(struct io_port *p)
{
	uint32_t nr;

	/* Callbacks submit again; the ends of that are for the next turn. */
	for (nr = ring_pending(&p->ends); nr; nr--) {
		struct port_end end = *(struct port_end *)ring_first(&p->ends);

		ring_drop(&p->ends);
		if (end.has_cqe)
			queue_req_complete(end.req, &end.cqe);
		else
			queue_req_fail(end.req, end.status);
	}
}

static void ends_work(struct loop_work *w)
{
	struct io_port *p = container_of(w, struct io_port, ends_work);

	atomic_exchange(&p->ends_told, false); /* before the ring is read: what is put later is told again */
	take_ends(p);
}

static void fail_work(struct loop_work *w)
{
	struct io_port *p = container_of(w, struct io_port, fail_work);

	take_ends(p); /* what was answered before; ends_work may be posted still */
	queue_fail(p->q, p->err.code, "%s", error_msg(&p->err));
}

static void kick_now(struct io_port *p)
{
	if (!atomic_exchange(&p->submits_told, true))
		loop_post(p->thread->loop, &p->submit_work);
}

static void kick(struct loop_defer *d)
{
	kick_now(container_of(d, struct io_port, kick));
}

void io_port_submit(struct io_port *p, struct host_req *req)
{
	struct host_req **room = ring_room(&p->submits);

	assert(room);
	*room = req;
	ring_put(&p->submits);
	/* As a queue without a thread does: the first one at once, what follows with the turn. */
	if (p->q->nr_inflight == 1)
		kick_now(p);
	else
		loop_defer(p->home, &p->kick);
}

static void port_free(struct io_port *p)
{
	ring_free(&p->submits);
	ring_free(&p->ends);
	error_clear(&p->err);
	free(p->reqs);
	free(p);
}

static struct io_port *port_new(struct host_queue *q)
{
	struct io_port *p = aligned_alloc(_Alignof(struct io_port), sizeof(*p));

	if (!p)
		return NULL;
	*p = (struct io_port){ .q = q, .home = q->loop, .reqs = calloc(q->nr_cids, sizeof(*p->reqs)) };
	if (!p->reqs || ring_init(&p->submits, q->nr_cids, sizeof(struct host_req *)) ||
	    ring_init(&p->ends, q->nr_cids, sizeof(struct port_end))) {
		port_free(p);
		return NULL;
	}
	loop_defer_init(&p->kick, kick);
	loop_work_init(&p->ends_work, ends_work);
	loop_work_init(&p->fail_work, fail_work);
	loop_defer_init(&p->tell, tell);
	timer_init(&p->again, submit_again);
	loop_work_init(&p->take_work, take_work);
	loop_work_init(&p->submit_work, submit_work);
	loop_work_init(&p->recall_work, recall_work);
	return p;
}

/* The queues of a hctx go to different threads: its burst is to use them all.  So do the first queues of the hctxs. */
static struct io_thread *choose(const struct host_queue *q)
{
	struct nvof_ctrl *ctrl = q->ctrl;

	return &ctrl->io.threads[((q->qid - 1u) % ctrl->nr_own_hctx + q->place) % ctrl->io.nr];
}

int io_port_give(struct host_queue *q)
{
	struct io_port *p = port_new(q);

	assert(q->state == QUEUE_LIVE && !q->nr_inflight && !q->port);
	if (!p)
		return -ENOMEM;
	q->ops->queue_detach(q);
	p->thread = choose(q);
	p->thread->nr_ports++;
	q->port = p;
	q->reqs = p->reqs;
	q->loop = p->thread->loop;
	loop_post(q->loop, &p->take_work);
	return 0;
}

void io_port_recall(struct host_queue *q)
{
	struct io_port *p = q->port;

	if (!p || p->recalled)
		return;
	p->recalled = true;
	loop_defer_cancel(&p->kick);
	loop_post(p->thread->loop, &p->recall_work);
}

void io_port_take_back(struct host_queue *q)
{
	struct io_port *p = q->port;

	if (!p)
		return;
	io_port_recall(q);
	pthread_mutex_lock(&p->thread->lock);
	while (!p->back)
		pthread_cond_wait(&p->thread->back, &p->thread->lock);
	pthread_mutex_unlock(&p->thread->lock);
	loop_work_cancel(p->home, &p->ends_work);
	loop_work_cancel(p->home, &p->fail_work);
	p->thread->nr_ports--;
	q->loop = p->home;
	q->reqs = NULL;
	q->port = NULL;
	port_free(p);
}
