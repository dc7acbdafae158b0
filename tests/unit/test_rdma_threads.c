/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The RDMA host half on I/O threads, on a device that is not there: data by registered memory and by bounce blocks, connections and devices
 * that go while a thread has their queues, and that nothing of it is left.
 */
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_verbs.h"
#include "host/ctrl.h"
#include "host/ctx.h"
#include "host/queue.h"
#include "transport/rdma/rdma_host.h"

#define NR_REQS	   32
#define NR_Q	   4
#define NR_THREADS 2
#define UNIT	   16384

struct world;

struct slot {
	struct world *w;
	uint8_t *buf;
	uint32_t len;
	unsigned int nr_ended;
	_Alignas(16) char req[sizeof(struct host_req) + sizeof(struct rdma_req)];
};

struct world {
	struct nvof_ctx ctx;
	struct nvof_ctrl ctrl;
	struct host_endpoint *ep;
	struct rdma_queue *rqs[NR_Q]; /* NULL: stopped */
	struct slot slots[NR_Q][NR_REQS];
	uint8_t *arena;
	unsigned int nr_done, nr_failed;
};

static struct host_req *to_req(struct slot *s)
{
	return (struct host_req *)s->req;
}

/* ---- the core around it ---- */

static void lost(struct loop_defer *d)
{
	struct host_queue *q = container_of(d, struct host_queue, fail_work);

	container_of(q->ctrl, struct world, ctrl)->nr_failed++;
}

static struct rdma_queue *queue_new(struct world *w, uint16_t qid)
{
	struct host_queue *q = rdma_host_transport.queue_alloc(w->ep);
	struct rdma_queue *rq = to_rdma_queue(q);
	struct error err = { 0 };

	q->ops = &rdma_host_transport;
	q->ctrl = &w->ctrl;
	q->loop = w->ctrl.loop;
	q->log = &w->ctx.log;
	q->qid = qid;
	q->nr_cids = q->queue_size = rq->nr_slots = NR_REQS;
	q->state = QUEUE_LIVE;
	snprintf(q->peer, sizeof(q->peer), "the peer");
	loop_defer_init(&q->fail_work, lost);
	rq->id = fake_verbs_id(&rq->owner);
	rq->established = true;
	assert_int_equal(rdma_host_qp_new(rq, &err), 0);
	return rq;
}

static struct world *world_new(void)
{
	struct world *w = aligned_alloc(64, (sizeof(*w) + 63) & ~(size_t)63);
	struct host_link_params p = { .traddr = "192.0.2.7", .trsvcid = "4420", .nr_io_threads = NR_THREADS };
	struct error err = { 0 };

	memset(w, 0, sizeof(*w));
	fake_verbs.silent = fake_verbs.broken = false;
	fake_verbs.mr_limit = 0;
	assert_int_equal(loop_new(&w->ctrl.loop), 0);
	w->ctx.loop = w->ctrl.loop;
	w->ctrl.ctx = &w->ctx;
	w->ctrl.nr_own_hctx = NR_Q;
	CDS_INIT_LIST_HEAD(&w->ctrl.held.list);
	p.log = &w->ctx.log;
	assert_int_equal(rdma_host_transport.endpoint_new(&p, w->ctrl.loop, &w->ep, &err), 0);
	assert_int_equal(io_threads_start(&w->ctrl.io, NR_THREADS, &(struct cpu_list){ 0 }, 0, &err), 0);
	w->arena = malloc((size_t)NR_Q * NR_REQS * UNIT);
	for (unsigned int i = 0; i < NR_Q; i++) {
		w->rqs[i] = queue_new(w, (uint16_t)(i + 1));
		for (unsigned int k = 0; k < NR_REQS; k++)
			w->slots[i][k] = (struct slot){ .w = w, .buf = w->arena + (i * NR_REQS + k) * (size_t)UNIT };
		assert_int_equal(io_port_give(&w->rqs[i]->q), 0);
	}
	return w;
}

/* What is under way on it is the core's to end.  Returns how much that is. */
static unsigned int stop(struct world *w, unsigned int i)
{
	struct host_queue *q = &w->rqs[i]->q;
	unsigned int nr = 0;

	queue_stop(q);
	for (unsigned int k = 0; k < NR_REQS; k++) {
		struct host_req *req = to_req(&w->slots[i][k]);

		if (!req->active)
			continue;
		queue_req_off(req);
		w->slots[i][k].nr_ended++;
		nr++;
	}
	queue_free(q);
	w->rqs[i] = NULL;
	return nr;
}

static void world_free(struct world *w)
{
	for (unsigned int i = 0; i < NR_Q; i++)
		if (w->rqs[i])
			stop(w, i);
	io_threads_stop(&w->ctrl.io);
	rdma_host_transport.endpoint_free(w->ep);
	assert_int_equal(fake_verbs.nr_pds, 0);
	assert_int_equal(fake_verbs.nr_mrs, 0);
	assert_int_equal(fake_verbs.nr_cqs, 0);
	assert_int_equal(fake_verbs.nr_qps, 0);
	assert_int_equal(fake_verbs.nr_bad, 0);
	mem_regions_free(&w->ctx.regions);
	loop_turn(w->ctrl.loop, 0);
	loop_free(w->ctrl.loop);
	free(w->arena);
	free(w);
}

static bool all_are(const uint8_t *buf, size_t len, uint8_t byte)
{
	return *buf == byte && !memcmp(buf, buf + 1, len - 1);
}

static void ended(struct host_req *req, int status, const struct nvme_cqe *cqe)
{
	struct slot *s = req->arg;

	assert_int_equal(status, 0);
	assert_null(req->region);
	assert_true(all_are(s->buf, s->len, fake_verbs_byte(req->cid)));
	s->nr_ended++;
	s->w->nr_done++;
}

static int submit(struct world *w, unsigned int q, unsigned int k, uint32_t len)
{
	struct slot *s = &w->slots[q][k];
	struct host_req *req = to_req(s);
	bool writes = (k + s->nr_ended) % 2;

	memset(s->buf, writes ? fake_verbs_byte((uint16_t)k) : 0, len);
	s->len = len;
	req->cid = (uint16_t)k;
	req->sqe.opcode = writes ? nvme_cmd_write : nvme_cmd_read;
	req->dir = writes ? DATA_TO_CTRL : DATA_FROM_CTRL;
	req->one = (struct iovec){ s->buf, len };
	req->iov = &req->one;
	req->iovcnt = 1;
	req->data_len = len;
	req->done = ended;
	req->arg = s;
	return queue_submit(&w->rqs[q]->q, req);
}

static unsigned int submit_free(struct world *w, unsigned int q)
{
	unsigned int nr = 0;

	for (unsigned int k = 0; k < NR_REQS; k++)
		if (!to_req(&w->slots[q][k])->active && !submit(w, q, k, k % 3 ? 4096 : UNIT))
			nr++;
	return nr;
}

static void turn(struct world *w)
{
	loop_turn(w->ctrl.loop, NSEC_PER_MSEC);
}

static void run_until(struct world *w, unsigned int nr_done)
{
	for (int i = 0; w->nr_done < nr_done; i++) {
		assert_true(i < 100000);
		turn(w);
	}
}

static void wait_all(struct world *w)
{
	for (unsigned int i = 0; i < NR_Q; i++)
		for (int t = 0; w->rqs[i]->q.nr_inflight; t++) {
			assert_true(t < 100000);
			turn(w);
		}
}

/* What the communication manager tells, on the ctx's thread as always. */
static void tell(struct rdma_queue *rq, enum rdma_cm_event_type type)
{
	rq->owner.event(&rq->owner, &(struct rdma_event){ .type = type, .id = rq->id });
}

/* ---- */

static void data_goes_there_and_back(void **state)
{
	struct world *w = world_new();
	unsigned int nr = 0;

	for (unsigned int round = 0; round < 300; round++) {
		for (unsigned int i = 0; i < NR_Q; i++)
			nr += submit_free(w, i);
		run_until(w, w->nr_done + 40);
	}
	run_until(w, nr);
	assert_int_equal(w->nr_failed, 0);
	world_free(w);
}

/* The application registers and takes back memory while threads are at work; what is under way stays. */
static void registered_memory_comes_and_goes(void **state)
{
	struct world *w = world_new();
	uint8_t *half = w->arena + (size_t)2 * NR_REQS * UNIT; /* of queues 2 and 3 */
	for (unsigned int round = 0; round < 200; round++) {
		assert_int_equal(mem_regions_add(&w->ctx.regions, half, (size_t)2 * NR_REQS * UNIT), 0);
		for (unsigned int i = 0; i < NR_Q; i++)
			if (submit_free(w, i) && i >= 2)
				assert_int_equal(mem_regions_remove(&w->ctx.regions, half), -EBUSY);
		while (mem_regions_remove(&w->ctx.regions, half) == -EBUSY)
			turn(w);
		assert_int_equal(w->ctx.regions.nr, 0);
		for (unsigned int i = 0; i < NR_Q; i++)
			submit_free(w, i);
	}
	wait_all(w);
	world_free(w);
}

/* Memory that is registered is the device's to use: no block is registered for it. */
static void registered_memory_is_not_copied(void **state)
{
	struct world *w = world_new();
	size_t before = fake_verbs.mr_bytes, arena = (size_t)NR_Q * NR_REQS * UNIT;

	assert_int_equal(mem_regions_add(&w->ctx.regions, w->arena, arena), 0);
	for (unsigned int i = 0; i < NR_Q; i++)
		submit_free(w, i);
	wait_all(w);
	assert_int_equal(fake_verbs.mr_bytes, before + arena);
	world_free(w);
}

/* ---- connections that go ---- */

static void a_closed_connection_ends_its_queue_alone(void **state)
{
	for (unsigned int round = 0; round < 100; round++) {
		struct world *w = world_new();
		struct rdma_queue *rq = w->rqs[1];

		for (unsigned int i = 0; i < NR_Q; i++)
			submit_free(w, i);
		run_until(w, round % 20);
		submit_free(w, 1);
		tell(rq, RDMA_CM_EVENT_DISCONNECTED);
		tell(rq, RDMA_CM_EVENT_TIMEWAIT_EXIT);
		assert_int_equal(rq->q.state, QUEUE_FAILED);
		assert_int_equal(rq->q.err.code, -ECONNRESET);
		assert_non_null(strstr(error_msg(&rq->q.err), "qid 2 to the peer: the peer closed the connection"));
		turn(w);
		assert_int_equal(w->nr_failed, 1);
		stop(w, 1);
		w->rqs[1] = queue_new(w, 2); /* set up again, while the others go on */
		assert_int_equal(io_port_give(&w->rqs[1]->q), 0);
		submit_free(w, 1);
		wait_all(w);
		assert_int_equal(w->nr_failed, 1);
		world_free(w);
	}
}

/* The thread's completions say it and the ctx's events do: one failure. */
static void both_sides_may_find_out(void **state)
{
	for (unsigned int round = 0; round < 100; round++) {
		struct world *w = world_new();

		for (unsigned int i = 0; i < NR_Q; i++)
			submit_free(w, i);
		run_until(w, 5);
		fake_verbs.broken = true;
		for (unsigned int i = 0; i < NR_Q; i++)
			submit_free(w, i);
		loop_prepare_wait(w->ctrl.loop); /* sends */
		usleep(round * 10);
		for (unsigned int i = 0; i < NR_Q; i++)
			tell(w->rqs[i], RDMA_CM_EVENT_DISCONNECTED);
		for (int t = 0; w->nr_failed < NR_Q; t++) {
			assert_true(t < 10000);
			turn(w);
		}
		turn(w);
		assert_int_equal(w->nr_failed, NR_Q);
		world_free(w);
	}
}

static void a_device_goes_with_the_last_of_its_queues(void **state)
{
	for (unsigned int round = 0; round < 100; round++) {
		struct world *w = world_new();

		mem_regions_add(&w->ctx.regions, w->arena, (size_t)NR_REQS * UNIT);
		for (unsigned int i = 0; i < NR_Q; i++)
			submit_free(w, i);
		run_until(w, round);
		for (unsigned int i = 0; i < NR_Q; i++) {
			tell(w->rqs[i], RDMA_CM_EVENT_DEVICE_REMOVAL);
			assert_non_null(strstr(error_msg(&w->rqs[i]->q.err), "the RDMA device fake0 is being removed"));
		}
		for (unsigned int i = 0; i < NR_Q; i++) {
			assert_int_equal(fake_verbs.nr_pds, 1);
			stop(w, i);
		}
		assert_int_equal(fake_verbs.nr_pds, 0);
		assert_int_equal(fake_verbs.nr_mrs, 0);
		world_free(w);
	}
}

/* ---- bounce blocks ---- */

static void blocks_of_a_stopped_queue_go_back_to_its_thread(void **state)
{
	struct world *w = world_new();
	size_t most = 0;

	for (unsigned int round = 0; round < 50; round++) {
		fake_verbs.silent = true;
		submit_free(w, 0);
		loop_prepare_wait(w->ctrl.loop); /* sends */
		usleep(1000);
		stop(w, 0);
		fake_verbs.silent = false;
		w->rqs[0] = queue_new(w, 1);
		assert_int_equal(io_port_give(&w->rqs[0]->q), 0);
		submit_free(w, 0);
		submit_free(w, NR_THREADS); /* of the same thread */
		wait_all(w);
		if (round == 2)
			most = fake_verbs.mr_bytes;
		assert_true(round < 2 || fake_verbs.mr_bytes == most);
	}
	world_free(w);
}

/* Each has its share of the limit, and waits for blocks of its own where it is used up. */
static void threads_share_the_limit_out(void **state)
{
	struct world *w = world_new();
	uint32_t len = 4u << 20;
	uint8_t *buf = malloc(len);

	fake_verbs.silent = true;
	for (unsigned int i = 0; i < NR_Q; i++) {
		for (unsigned int k = 0; k < NR_REQS; k += 2) { /* they read, and so nobody looks into the buffer */
			w->slots[i][k].buf = buf;
			assert_int_equal(submit(w, i, k, len), 0);
		}
	}
	for (int t = 0; t < 10000 && fake_verbs.mr_bytes < RDMA_HOST_BOUNCE; t++)
		turn(w);
	for (int t = 0; t < 20; t++)
		turn(w);
	assert_true(fake_verbs.mr_bytes >= RDMA_HOST_BOUNCE);
	assert_true(fake_verbs.mr_bytes <= RDMA_HOST_BOUNCE + (4u << 20)); /* and what the capsules are in */
	assert_int_equal(w->nr_failed, 0);
	world_free(w);
	free(buf);
}

/* What the first leaves is less than a whole slab. */
static void a_thread_makes_do_with_what_others_left(void **state)
{
	struct world *w = world_new();

	fake_verbs.mr_limit = fake_verbs.mr_bytes + NR_REQS * UNIT + 100000;
	for (unsigned int i = 0; i < NR_THREADS; i++) {
		for (unsigned int k = 0; k < NR_REQS; k++)
			assert_int_equal(submit(w, i, k, UNIT), 0);
		wait_all(w);
	}
	assert_int_equal(w->nr_done, NR_THREADS * NR_REQS);
	assert_int_equal(w->nr_failed, 0);
	world_free(w);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_goes_there_and_back),
		cmocka_unit_test(registered_memory_comes_and_goes),
		cmocka_unit_test(registered_memory_is_not_copied),
		cmocka_unit_test(a_closed_connection_ends_its_queue_alone),
		cmocka_unit_test(both_sides_may_find_out),
		cmocka_unit_test(a_device_goes_with_the_last_of_its_queues),
		cmocka_unit_test(blocks_of_a_stopped_queue_go_back_to_its_thread),
		cmocka_unit_test(threads_share_the_limit_out),
		cmocka_unit_test(a_thread_makes_do_with_what_others_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
