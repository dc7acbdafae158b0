/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A queue's way to an I/O thread and back, with a transport that does what a test says: who calls what on which thread, and that each
 * request ends once or is still there when the queue is taken back, at whatever moment that is.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/ctrl.h"
#include "host/ctx.h"
#include "host/queue.h"

#define NR_REQS 32
#define NR_Q	6

struct world;

struct fq {
	struct host_queue q;
	struct world *w;
	/* the thread's, or the ctx's while it has the queue */
	struct host_req *held[NR_REQS];
	unsigned int nr_held;
	struct loop_defer answer;
	pthread_t at;
	/* looked at by both */
	atomic_uint nr_attached, nr_detached, nr_submits;
	bool stopped;
};

struct world {
	struct nvof_ctx ctx;
	struct nvof_ctrl ctrl;
	pthread_t me;
	struct fq *fqs[NR_Q];
	/* what the transport does; set while no queue is away, or atomic */
	int attach_ret;
	atomic_bool silent;	/* answers nothing */
	atomic_uint no_room;	/* so many submits are refused */
	atomic_uint fail_after; /* so many answers, then the connection breaks; 0: never */
	/* what the core was told */
	unsigned int nr_ended[NR_Q * NR_REQS];
	unsigned int nr_done, nr_failed, nr_done_at_failure;
	int last_status;
	char reqs[NR_Q * NR_REQS][sizeof(struct host_req) + 64] __attribute__((aligned(16)));
};

static struct fq *to_fq(struct host_queue *q)
{
	return container_of(q, struct fq, q);
}

static struct host_req *req_of(struct world *w, unsigned int q, unsigned int i)
{
	return (struct host_req *)w->reqs[q * NR_REQS + i];
}

/* ---- the transport ---- */

static void t_answer(struct loop_defer *d)
{
	struct fq *fq = container_of(d, struct fq, answer);
	struct world *w = fq->w;

	assert_true(pthread_equal(pthread_self(), fq->at));
	while (fq->nr_held && !w->silent) {
		struct host_req *req = fq->held[--fq->nr_held];
		uint16_t cid = req->cid; /* when it has ended it may be used again at once */
		struct nvme_cqe cqe = { .cid = htole16(cid), .status = htole16(cid << 1) };

		assert_ptr_equal(host_queue_req(&fq->q, cid), req);
		if (cid & 1)
			host_req_complete(req, &cqe);
		else
			host_req_fail(req, cid);
		assert_null(host_queue_req(&fq->q, cid));
		if (w->fail_after && !--w->fail_after) {
			host_queue_failed(&fq->q, -EPIPE, "broken by the test");
			host_queue_failed(&fq->q, -EIO, "only the first counts");
			return;
		}
	}
}

static int t_submit(struct host_queue *q, struct host_req *req)
{
	struct fq *fq = to_fq(q);
	unsigned int n = fq->w->no_room;

	assert_true(pthread_equal(pthread_self(), fq->at));
	if (n) {
		fq->w->no_room = n - 1;
		return -EAGAIN;
	}
	fq->held[fq->nr_held++] = req;
	fq->nr_submits++;
	loop_defer(q->loop, &fq->answer);
	return 0;
}

static void t_detach(struct host_queue *q)
{
	struct fq *fq = to_fq(q);

	assert_true(pthread_equal(pthread_self(), fq->at));
	loop_defer_cancel(&fq->answer);
	fq->nr_detached++;
	fq->at = fq->w->me;
}

static int t_attach(struct host_queue *q)
{
	struct fq *fq = to_fq(q);

	assert_false(pthread_equal(pthread_self(), fq->w->me));
	if (fq->w->attach_ret)
		return fq->w->attach_ret;
	fq->at = pthread_self();
	fq->nr_attached++;
	return 0;
}

static void t_stop(struct host_queue *q)
{
	struct fq *fq = to_fq(q);

	assert_true(pthread_equal(pthread_self(), fq->w->me));
	assert_true(pthread_equal(fq->at, fq->w->me));
	assert_ptr_equal(q->loop, fq->w->ctrl.loop);
	assert_null(q->port);
	fq->stopped = true;
}

static void t_free(struct host_queue *q)
{
	free(to_fq(q));
}

static const struct host_transport transport = {
	.name = "test",
	.submit = t_submit,
	.queue_detach = t_detach,
	.queue_attach = t_attach,
	.queue_stop = t_stop,
	.queue_free = t_free,
};

/* ---- the core around it ---- */

static void lost(struct loop_defer *d)
{
	struct host_queue *q = container_of(d, struct host_queue, fail_work);
	struct world *w = to_fq(q)->w;

	assert_true(pthread_equal(pthread_self(), w->me));
	assert_int_equal(q->state, QUEUE_FAILED);
	w->nr_failed++;
	w->nr_done_at_failure = w->nr_done;
}

static void ended(struct host_req *req, int status, const struct nvme_cqe *cqe)
{
	struct world *w = req->arg;

	assert_true(pthread_equal(pthread_self(), w->me));
	assert_int_equal(status, req->cid);
	assert_int_equal(cqe != NULL, req->cid & 1);
	++*(unsigned int *)req->owner;
	w->nr_done++;
	w->last_status = status;
}

static struct fq *fq_new(struct world *w, uint16_t qid)
{
	struct fq *fq = calloc(1, sizeof(*fq));

	fq->w = w;
	fq->at = w->me;
	fq->q = (struct host_queue){ .ops = &transport,
				     .ctrl = &w->ctrl,
				     .loop = w->ctrl.loop,
				     .log = &w->ctx.log,
				     .qid = qid,
				     .nr_cids = NR_REQS,
				     .state = QUEUE_LIVE };
	snprintf(fq->q.peer, sizeof(fq->q.peer), "the peer");
	loop_defer_init(&fq->q.fail_work, lost);
	loop_defer_init(&fq->answer, t_answer);
	return fq;
}

static struct world *world_new(unsigned int nr_threads)
{
	struct world *w = aligned_alloc(64, (sizeof(*w) + 63) & ~(size_t)63);
	struct error err = { 0 };

	memset(w, 0, sizeof(*w));
	w->me = pthread_self();
	assert_int_equal(loop_new(&w->ctrl.loop), 0);
	w->ctx.loop = w->ctrl.loop;
	w->ctrl.ctx = &w->ctx;
	w->ctrl.nr_own_hctx = NR_Q;
	CDS_INIT_LIST_HEAD(&w->ctrl.held.list);
	assert_int_equal(io_threads_start(&w->ctrl.io, nr_threads, &(struct cpu_list){ 0 }, 0, &err), 0);
	for (unsigned int i = 0; i < NR_Q; i++)
		w->fqs[i] = fq_new(w, (uint16_t)(i + 1));
	return w;
}

/* Everything that is under way is the core's to end. */
static unsigned int stop(struct world *w, unsigned int i)
{
	struct host_queue *q = &w->fqs[i]->q;
	unsigned int nr = 0;

	queue_stop(q);
	for (unsigned int k = 0; k < NR_REQS; k++) {
		struct host_req *req = req_of(w, i, k);

		if (!req->active)
			continue;
		nr++;
		req->active = false;
		q->nr_inflight--;
		w->nr_ended[i * NR_REQS + k]++;
	}
	assert_true(w->fqs[i]->stopped);
	assert_int_equal(q->nr_inflight, 0);
	return nr;
}

static void world_free(struct world *w)
{
	for (unsigned int i = 0; i < NR_Q; i++) {
		if (!w->fqs[i]->stopped)
			stop(w, i);
		queue_free(&w->fqs[i]->q);
	}
	for (unsigned int i = 0; i < w->ctrl.io.nr; i++)
		assert_int_equal(w->ctrl.io.threads[i].nr_ports, 0);
	io_threads_stop(&w->ctrl.io);
	loop_turn(w->ctrl.loop, 0);
	loop_free(w->ctrl.loop);
	free(w);
}

static void submit(struct world *w, unsigned int q, unsigned int i)
{
	struct host_req *req = req_of(w, q, i);

	assert_false(req->active);
	req->cid = (uint16_t)i;
	req->done = ended;
	req->arg = w;
	req->owner = &w->nr_ended[q * NR_REQS + i];
	assert_int_equal(queue_submit(&w->fqs[q]->q, req), 0);
}

static void give(struct world *w, unsigned int i)
{
	assert_int_equal(io_port_give(&w->fqs[i]->q), 0);
}

static void give_and_wait(struct world *w, unsigned int i)
{
	give(w, i);
	while (!w->fqs[i]->nr_attached)
		usleep(100);
}

static void run_until(struct world *w, unsigned int nr_done)
{
	for (int i = 0; w->nr_done < nr_done; i++) {
		assert_true(i < 100000);
		loop_turn(w->ctrl.loop, 10 * (int64_t)NSEC_PER_MSEC);
	}
	assert_int_equal(w->nr_done, nr_done);
}

/* ---- there and back ---- */

static void a_queue_goes_to_its_thread_and_comes_back(void **state)
{
	struct world *w = world_new(2);

	for (unsigned int i = 0; i < NR_Q; i++)
		give_and_wait(w, i);
	assert_int_equal(w->ctrl.io.threads[0].nr_ports, NR_Q / 2);
	assert_int_equal(w->ctrl.io.threads[1].nr_ports, NR_Q / 2);
	for (unsigned int i = 0; i < NR_Q; i++) {
		assert_int_equal(stop(w, i), 0);
		assert_int_equal(w->fqs[i]->nr_attached, 1);
		assert_int_equal(w->fqs[i]->nr_detached, 2); /* from the ctx's loop, and from the thread's */
	}
	world_free(w);
}

static void the_queues_of_a_hctx_go_to_different_threads(void **state)
{
	struct world *w = world_new(3);

	/* Two hctxs with three queues each. */
	w->ctrl.nr_own_hctx = 2;
	for (unsigned int i = 0; i < NR_Q; i++) {
		w->fqs[i]->q.place = i / 2;
		give(w, i);
	}
	for (unsigned int i = 0; i < NR_Q; i++)
		for (unsigned int k = 0; k < i; k++)
			assert_int_equal(i % 2 == k % 2 && w->fqs[i]->q.loop == w->fqs[k]->q.loop, 0);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(w->ctrl.io.threads[i].nr_ports, 2);
	world_free(w);
}

static void requests_go_there_and_their_ends_come_back(void **state)
{
	struct world *w = world_new(2);
	unsigned int nr = 0;

	for (unsigned int i = 0; i < NR_Q; i++)
		give(w, i);
	for (unsigned int round = 0; round < 500; round++) {
		for (unsigned int i = 0; i < NR_Q; i++)
			for (unsigned int k = 0; k < 1 + round % NR_REQS; k++, nr++)
				submit(w, i, k);
		run_until(w, nr);
	}
	for (unsigned int i = 0; i < NR_Q; i++)
		assert_int_equal(stop(w, i), 0);
	world_free(w);
}

static void sleepers_are_woken(void **state)
{
	struct world *w = world_new(1);

	give_and_wait(w, 0);
	for (unsigned int n = 1; n <= 20; n++) {
		usleep(2000); /* the thread sleeps by now */
		submit(w, 0, 3);
		while (w->nr_done < n)
			loop_turn(w->ctrl.loop, -1); /* and so do we */
	}
	world_free(w);
}

static void a_descriptor_tells_of_ends(void **state)
{
	struct world *w = world_new(1);

	give_and_wait(w, 0);
	submit(w, 0, 1);
	submit(w, 0, 2);
	while (w->nr_done < 2) {
		if (loop_prepare_wait(w->ctrl.loop)) {
			struct epoll_event ev;

			assert_int_equal(epoll_wait(loop_pollfd(w->ctrl.loop), &ev, 1, 10000), 1);
		}
		loop_turn(w->ctrl.loop, 0);
	}
	world_free(w);
}

static void a_transport_without_room_is_asked_again(void **state)
{
	struct world *w = world_new(1);

	give_and_wait(w, 0);
	w->no_room = 3; /* nothing is under way whose end would bring room */
	submit(w, 0, 0);
	submit(w, 0, 1);
	run_until(w, 2);
	assert_int_equal(w->no_room, 0);
	for (unsigned int k = 0; k < NR_REQS; k++) {
		if (k % 4 == 0)
			w->no_room = 2;
		submit(w, 0, k);
		loop_turn(w->ctrl.loop, 0);
	}
	run_until(w, 2 + NR_REQS);
	world_free(w);
}

/* ---- failures ---- */

static void an_attach_that_fails_is_a_queue_that_failed(void **state)
{
	struct world *w = world_new(1);

	w->attach_ret = -ENOSPC;
	give(w, 0);
	submit(w, 0, 0);
	submit(w, 0, 1);
	while (!w->nr_failed)
		loop_turn(w->ctrl.loop, -1);
	assert_int_equal(w->fqs[0]->q.err.code, -ENOSPC);
	assert_non_null(strstr(error_msg(&w->fqs[0]->q.err), "qid 1 to the peer: its I/O thread can't take it: No space left"));
	assert_int_equal(queue_submit(&w->fqs[0]->q, req_of(w, 0, 5)), -ENOTCONN);
	assert_int_equal(stop(w, 0), 2);
	assert_int_equal(w->fqs[0]->nr_detached, 1);
	assert_int_equal(w->nr_done, 0);
	world_free(w);
}

static void what_was_answered_before_a_failure_is_told_before_it(void **state)
{
	struct world *w = world_new(1);

	give_and_wait(w, 0);
	w->fail_after = 5;
	for (unsigned int k = 0; k < 12; k++)
		submit(w, 0, k);
	while (!w->nr_failed)
		loop_turn(w->ctrl.loop, -1);
	assert_int_equal(w->nr_done_at_failure, 5);
	assert_int_equal(w->fqs[0]->q.err.code, -EPIPE);
	assert_non_null(strstr(error_msg(&w->fqs[0]->q.err), "broken by the test"));
	assert_int_equal(stop(w, 0), 7);
	loop_turn(w->ctrl.loop, 0);
	assert_int_equal(w->nr_failed, 1);
	world_free(w);
}

static void the_core_may_fail_a_queue_that_is_away(void **state)
{
	struct world *w = world_new(1);

	w->silent = true;
	give_and_wait(w, 0);
	submit(w, 0, 0);
	loop_turn(w->ctrl.loop, 0);
	queue_fail(&w->fqs[0]->q, -ETIMEDOUT, "late");
	loop_turn(w->ctrl.loop, 0);
	assert_int_equal(w->nr_failed, 1);
	assert_int_equal(stop(w, 0), 1);
	world_free(w);
}

/* What it hears of the connection on the ctx's thread. */
static void the_transport_may_fail_a_queue_that_is_away(void **state)
{
	for (unsigned int n = 0; n < 100; n++) {
		struct world *w = world_new(1);

		w->silent = n % 2;
		w->fail_after = n % 2 ? 0 : 1; /* the thread finds out as well */
		give(w, 0);
		submit(w, 0, 0);
		submit(w, 0, 1);
		if (n % 3)
			loop_turn(w->ctrl.loop, 0);
		host_queue_failed(&w->fqs[0]->q, -ECONNRESET, "heard of");
		assert_int_equal(w->fqs[0]->q.state, QUEUE_FAILED);
		while (!w->nr_failed)
			loop_turn(w->ctrl.loop, 0);
		loop_turn(w->ctrl.loop, NSEC_PER_MSEC / 10);
		assert_int_equal(w->nr_failed, 1);
		stop(w, 0);
		assert_int_equal(w->nr_ended[0] + w->nr_ended[1], 2);
		world_free(w);
	}
}

/* ---- taken back at any moment ---- */

static void taken_back_before_it_arrived(void **state)
{
	for (unsigned int n = 0; n < 200; n++) {
		struct world *w = world_new(1);

		if (n % 3 == 1)
			w->attach_ret = -ENOMEM;
		give(w, 0);
		if (n % 2)
			submit(w, 0, 0);
		stop(w, 0);
		assert_int_equal(w->nr_done, 0);
		loop_turn(w->ctrl.loop, 0);
		assert_int_equal(w->nr_failed, 0);
		world_free(w);
	}
}

static void what_was_not_told_is_still_under_way(void **state)
{
	struct world *w = world_new(1);

	give_and_wait(w, 0);
	for (unsigned int k = 0; k < NR_REQS; k++)
		submit(w, 0, k);
	loop_prepare_wait(w->ctrl.loop); /* sends */
	while (w->fqs[0]->nr_submits < NR_REQS)
		usleep(100);
	usleep(2000); /* all is answered, and nobody has looked */
	assert_int_equal(stop(w, 0), NR_REQS);
	loop_turn(w->ctrl.loop, 0);
	assert_int_equal(w->nr_done, 0);
	world_free(w);
}

static void an_untold_failure_is_forgotten(void **state)
{
	struct world *w = world_new(1);

	give_and_wait(w, 0);
	w->fail_after = 1;
	submit(w, 0, 0);
	while (w->fail_after)
		usleep(100);
	usleep(2000);
	assert_int_equal(stop(w, 0), 1);
	loop_turn(w->ctrl.loop, 0);
	assert_int_equal(w->nr_failed, 0);
	world_free(w);
}

static void many_queues_are_taken_back_together(void **state)
{
	struct world *w = world_new(3);

	w->silent = true;
	for (unsigned int i = 0; i < NR_Q; i++) {
		give(w, i);
		submit(w, i, i);
	}
	for (unsigned int i = 0; i < NR_Q; i++) {
		io_port_recall(&w->fqs[i]->q);
		io_port_recall(&w->fqs[i]->q);
	}
	for (unsigned int i = 0; i < NR_Q; i++)
		assert_int_equal(stop(w, i), 1);
	world_free(w);
}

static void whenever_it_is_taken_back_each_request_ends_once(void **state)
{
	unsigned int seed = 7;

	for (unsigned int round = 0; round < 300; round++) {
		struct world *w = world_new(2);
		unsigned int sent[NR_Q * NR_REQS] = { 0 };

		w->fail_after = round % 5 == 0 ? 20 : 0;
		w->no_room = round % 7 == 0 ? 3 : 0;
		for (unsigned int i = 0; i < NR_Q; i++)
			give(w, i);
		for (unsigned int n = rand_r(&seed) % 150; n; n--) {
			unsigned int i = rand_r(&seed) % NR_Q, k = rand_r(&seed) % NR_REQS;

			if (!req_of(w, i, k)->active && w->fqs[i]->q.state == QUEUE_LIVE) {
				submit(w, i, k);
				sent[i * NR_REQS + k]++;
			}
			if (n % 8 == 0)
				loop_turn(w->ctrl.loop, 0);
		}
		for (unsigned int i = 0; i < NR_Q; i++)
			stop(w, i);
		assert_memory_equal(sent, w->nr_ended, sizeof(sent));
		world_free(w);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_queue_goes_to_its_thread_and_comes_back),
		cmocka_unit_test(the_queues_of_a_hctx_go_to_different_threads),
		cmocka_unit_test(requests_go_there_and_their_ends_come_back),
		cmocka_unit_test(sleepers_are_woken),
		cmocka_unit_test(a_descriptor_tells_of_ends),
		cmocka_unit_test(a_transport_without_room_is_asked_again),
		cmocka_unit_test(an_attach_that_fails_is_a_queue_that_failed),
		cmocka_unit_test(what_was_answered_before_a_failure_is_told_before_it),
		cmocka_unit_test(the_core_may_fail_a_queue_that_is_away),
		cmocka_unit_test(the_transport_may_fail_a_queue_that_is_away),
		cmocka_unit_test(taken_back_before_it_arrived),
		cmocka_unit_test(what_was_not_told_is_still_under_way),
		cmocka_unit_test(an_untold_failure_is_forgotten),
		cmocka_unit_test(many_queues_are_taken_back_together),
		cmocka_unit_test(whenever_it_is_taken_back_each_request_ends_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
