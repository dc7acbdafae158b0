/* SPDX-License-Identifier: BSD-3-Clause */
/* Namespaces that go: what is under way has its time, ends once, and new I/O is refused by name. */
#include "ns_model.h"

#include <errno.h>
#include <string.h>

#define NR_NS 40

static struct io_end {
	int nr, status;
} ends[NR_NS];
static uint8_t buf[4096];
static struct nvof_ns *ns[NR_NS];
static int nr_removed, removed_status;

static void io_cb(void *arg, const struct nvof_cpl *cpl)
{
	struct io_end *e = arg;

	e->nr++;
	e->status = cpl->status;
}

static void removed(void *arg, int status)
{
	nr_removed++;
	removed_status = status;
}

static void disconnected(void *arg, struct nvof_ctrl *ctrl, int status)
{
	nr_removed++;
	removed_status = status;
}

/* Reads are answered when the test says so; aborts as it wants. */
static struct {
	enum fake_answer (*other)(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe);
	struct host_req *reads[NR_NS];
	uint32_t nr_reads;
	bool no_abort, aborts_work;
	uint32_t nr_aborts;
} io;

static void complete_read(uint32_t i, int status)
{
	fake_complete(io.reads[i], status, 0);
	io.reads[i] = io.reads[--io.nr_reads];
}

/* That of namespace i + 1. */
static void complete_of(uint32_t i)
{
	uint32_t k;

	for (k = 0; le32toh(io.reads[k]->sqe.nsid) != i + 1; k++)
		assert_true(k + 1 < io.nr_reads);
	complete_read(k, 0);
}

static enum fake_answer abort_one(struct host_req *req, struct nvme_cqe *cqe)
{
	uint32_t cdw10 = le32toh(req->sqe.cdw10), i;

	io.nr_aborts++;
	if (io.no_abort)
		return FAKE_HOLD;
	for (i = 0; i < io.nr_reads && io.aborts_work; i++)
		if (io.reads[i]->cid == cdw10 >> 16 && io.reads[i]->queue->qid == (cdw10 & 0xffff)) {
			complete_read(i, 0x007);
			return fake_status(cqe, 0, 0);
		}
	return fake_status(cqe, 0, 1);
}

static enum fake_answer hold_reads(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	if (fq->q.qid && req->sqe.opcode == nvme_cmd_read) {
		io.reads[io.nr_reads++] = req;
		return FAKE_HOLD;
	}
	if (!fq->q.qid && req->sqe.opcode == nvme_admin_abort_cmd)
		return abort_one(req, cqe);
	return io.other(f, fq, req, cqe);
}

static unsigned int concurrency, timeout_ms;
static int loss_ms;

static void options(struct nvof_connect_opts *o)
{
	o->nr_io_queues = 4;
	o->removal_concurrency = concurrency;
	o->remove_timeout_ms = timeout_ms;
	o->ctrl_loss_tmo_ms = loss_ms;
	o->reconnect_delay_ms = 1;
}

/* A ctrl with one read in flight on each of its namespaces. */
static struct model *with_reads(unsigned int nr_at_once, unsigned int tmo_ms, int loss_tmo_ms)
{
	struct model *m;
	uint32_t i;

	concurrency = nr_at_once;
	timeout_ms = tmo_ms;
	loss_ms = loss_tmo_ms;
	m = model_new(NR_NS, options);
	memset(&io, 0, sizeof(io));
	memset(ends, 0, sizeof(ends));
	nr_removed = 0;
	io.other = m->f->on_cmd;
	m->f->on_cmd = hold_reads;
	assert_int_equal(nvof_ns_scan_sync(m->f->ctrl), 0);
	m->nr_told = 0;
	for (i = 0; i < NR_NS; i++) {
		ns[i] = nvof_ns_get(m->f->ctrl, i + 1);
		assert_int_equal(nvof_read(nvof_ctrl_hctx(m->f->ctrl, i % 4), ns[i], 0, 1, buf, 0, io_cb, &ends[i]), 0);
	}
	fake_poll_ms(m->f, 2);
	assert_int_equal(io.nr_reads, NR_NS);
	return m;
}

static int read_again(struct model *m, uint32_t i)
{
	return nvof_read(nvof_ctrl_hctx(m->f->ctrl, i % 4), ns[i], 0, 1, buf, 0, io_cb, &ends[i]);
}

static void close_all(struct model *m)
{
	uint32_t i;

	for (i = 0; i < NR_NS; i++) {
		assert_int_equal(ends[i].nr, 1);
		nvof_ns_close(ns[i]);
	}
	model_free(m);
}

static void a_disconnect_lets_all_reads_end(void **state)
{
	struct model *m = with_reads(0, 5000, 0);
	uint32_t i;

	assert_int_equal(nvof_ctrl_disconnect(m->f->ctrl, disconnected, NULL), 0);
	assert_int_equal(read_again(m, 0), -ENOTCONN);
	fake_poll_ms(m->f, 2);
	/* All are gone from the table and told, in order, while their reads go on. */
	assert_null(nvof_ns_next(m->f->ctrl, 0));
	assert_int_equal(m->nr_told, NR_NS);
	for (i = 0; i < NR_NS; i++) {
		assert_int_equal(m->told[i].type, NVOF_EVENT_NS_REMOVED);
		assert_int_equal(m->told[i].nsid, i + 1);
		assert_int_equal(nvof_ns_status(ns[i]), -ENODEV);
	}
	while (io.nr_reads) {
		assert_int_equal(nr_removed, 0);
		complete_read(io.nr_reads / 2, 0);
		fake_poll_ms(m->f, 0);
	}
	while (!nr_removed)
		fake_poll_ms(m->f, 1);
	assert_int_equal(removed_status, 0);
	for (i = 0; i < NR_NS; i++)
		assert_int_equal(ends[i].status, 0);
	close_all(m);
}

static void what_does_not_end_in_time_is_aborted_with_the_queues(void **state)
{
	struct model *m = with_reads(0, 50, 0);
	struct nvof_disconnect_times t;
	uint32_t i;

	for (i = 0; i < 10; i++)
		complete_read(0, 0);
	assert_int_equal(nvof_ctrl_disconnect_sync(m->f->ctrl), 0);
	assert_int_equal(io.nr_aborts, 0);
	for (i = 0; i < NR_NS; i++)
		assert_int_equal(ends[i].status, i < 10 || ends[i].status == 0 ? ends[i].status : -ECANCELED);
	nvof_ctrl_disconnect_times(m->f->ctrl, &t);
	assert_true(t.namespaces_us >= 50000 && t.total_us >= t.namespaces_us + t.queues_us - 1);
	close_all(m);
}

/* The serial way: the next one goes on until its turn comes. */
static void one_after_the_other_serves_those_that_wait(void **state)
{
	struct model *m = with_reads(1, 5000, 0);
	uint32_t i;

	assert_int_equal(nvof_ctrl_disconnect(m->f->ctrl, disconnected, NULL), 0);
	for (i = 0; i < NR_NS; i++) {
		fake_poll_ms(m->f, 1);
		assert_int_equal(m->nr_told, i + 1);
		assert_int_equal(read_again(m, i), -ENODEV);
		if (i + 1 < NR_NS) {
			struct nvof_ns *next = nvof_ns_next(m->f->ctrl, 0);

			assert_ptr_equal(next, ns[i + 1]);
			nvof_ns_close(next);
			assert_int_equal(nvof_ns_status(ns[i + 1]), 0);
			assert_int_equal(nvof_flush(nvof_ctrl_hctx(m->f->ctrl, 0), ns[i + 1], io_cb, &(struct io_end){ 0 }), 0);
			fake_poll_ms(m->f, 0);
		}
		complete_of(i);
	}
	while (!nr_removed)
		fake_poll_ms(m->f, 1);
	close_all(m);
}

static void one_namespace_goes_and_the_others_stay(void **state)
{
	struct model *m = with_reads(0, 5000, 0);

	assert_int_equal(nvof_ns_remove(ns[7], removed, NULL), 0);
	assert_int_equal(nvof_ns_remove(ns[7], removed, NULL), -ENODEV);
	assert_int_equal(read_again(m, 7), -ENODEV);
	assert_null(nvof_ns_get(m->f->ctrl, 8));
	fake_poll_ms(m->f, 10);
	assert_int_equal(nr_removed, 0);
	assert_int_equal(m->nr_told, 1);
	complete_of(7);
	fake_poll_ms(m->f, 2);
	assert_int_equal(nr_removed, 1);
	assert_int_equal(removed_status, 0);
	assert_int_equal(ends[7].status, 0);
	assert_int_equal(nvof_ctrl_state(m->f->ctrl), NVOF_CTRL_LIVE);
	complete_of(8);
	ends[8].nr = 0;
	assert_int_equal(read_again(m, 8), 0);
	fake_poll_ms(m->f, 1);
	while (io.nr_reads)
		complete_read(0, 0);
	assert_int_equal(ends[8].nr, 1);
	/* It is there still: another look finds it, as another object. */
	assert_int_equal(nvof_ns_scan_sync(m->f->ctrl), 0);
	assert_int_equal(nvof_ns_status(ns[7]), -ENODEV);
	nvof_ns_close(ns[7]);
	ns[7] = nvof_ns_get(m->f->ctrl, 8);
	assert_non_null(ns[7]);
	assert_int_equal(nvof_ns_status(ns[7]), 0);
	close_all(m);
}

static void io_that_stays_is_aborted_at_the_ctrl(void **state)
{
	struct model *m = with_reads(0, 20, 0);

	io.aborts_work = true;
	assert_int_equal(nvof_ns_remove(ns[7], removed, NULL), 0);
	while (!nr_removed)
		fake_poll_ms(m->f, 1);
	assert_int_equal(io.nr_aborts, 1);
	assert_int_equal(ends[7].status, 0x007);
	assert_int_equal(ends[6].nr + ends[8].nr, 0);
	while (io.nr_reads)
		complete_read(0, 0);
	assert_int_equal(nvof_ctrl_state(m->f->ctrl), NVOF_CTRL_LIVE);
	close_all(m);
}

/* A buffer is the caller's again only when no socket can reach it: without an answer the connection goes. */
static void without_any_answer_the_queue_is_given_up(void **state)
{
	int recovers;

	for (recovers = 0; recovers < 2; recovers++) {
		struct model *m = with_reads(0, 20, recovers ? -1 : 0);
		struct nvof_ctrl_stats stats = { 0 };
		uint32_t i;

		io.no_abort = recovers; /* or "not aborted" */
		assert_int_equal(nvof_ns_remove(ns[7], removed, NULL), 0);
		fake_poll_ms(m->f, 100);
		assert_int_equal(ends[7].nr, 0);
		assert_int_equal(io.nr_aborts, 1);
		if (recovers)
			fake_fail_queue(m->f, 0, -ETIMEDOUT, "the Abort was not answered");
		while (!nr_removed)
			nvof_ctx_poll(m->f->ctx, 10000);
		assert_int_equal(ends[7].nr, 1);
		assert_int_equal(ends[7].status, recovers ? -ENODEV : -ETIMEDOUT);
		io.nr_reads = 0;
		io.no_abort = false;
		if (!recovers) {
			assert_contains(nvof_ctrl_errmsg(m->f->ctrl), "namespace 8, which is gone");
			close_all(m);
			continue;
		}
		while (!stats.nr_reconnects) {
			fake_poll_ms(m->f, 1);
			nvof_ctrl_stats(m->f->ctrl, &stats);
		}
		/* The others' reads are sent again. */
		for (i = 0; i < 1000 && io.nr_reads < NR_NS - 1; i++)
			fake_poll_ms(m->f, 1);
		assert_int_equal(io.nr_reads, NR_NS - 1);
		while (io.nr_reads)
			complete_read(0, 0);
		close_all(m);
	}
}

static enum fake_answer silent(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	return FAKE_HOLD;
}

static void namespaces_go_while_their_ctrl_is_reconnected(void **state)
{
	int single;

	for (single = 0; single < 2; single++) {
		struct model *m = with_reads(0, 5000, -1);
		uint32_t i;

		m->f->on_cmd = silent;
		fake_fail_queue(m->f, 2, -ECONNRESET, "the peer closed the connection");
		fake_poll_ms(m->f, 5);
		assert_int_equal(nvof_ctrl_state(m->f->ctrl), NVOF_CTRL_CONNECTING);
		assert_int_equal(read_again(m, 3), 0);
		ends[3].nr = -1; /* it has two */
		if (single) {
			assert_int_equal(nvof_ns_remove(ns[5], removed, NULL), 0);
			fake_poll_ms(m->f, 2);
			assert_int_equal(nr_removed, 1);
			assert_int_equal(ends[5].status, -ENODEV);
			assert_int_equal(ends[4].nr, 0);
			nr_removed = 0;
		}
		assert_int_equal(nvof_ctrl_disconnect(m->f->ctrl, disconnected, NULL), 0);
		fake_poll_ms(m->f, 3);
		assert_int_equal(nr_removed, 1);
		for (i = 0; i < NR_NS; i++)
			assert_int_equal(ends[i].status, single && i == 5 ? -ENODEV : -ECANCELED);
		assert_int_equal(nvof_ctrl_state(m->f->ctrl), NVOF_CTRL_DEAD);
		assert_int_equal(m->nr_told, NR_NS);
		close_all(m);
	}
}

static void what_the_target_removes_is_refused_and_waited_for(void **state)
{
	struct model *m = with_reads(0, 5000, 0);
	uint32_t i;

	for (i = 1; i <= NR_NS / 2; i++) {
		model_remove(m, i);
		m->changed[i - 1] = htole32(i);
	}
	assert_true(model_event(m));
	/* Their I/O is waited for before it is asked what they are now. */
	fake_poll_ms(m->f, 5);
	assert_int_equal(m->nr_told, 0);
	while (io.nr_reads)
		complete_read(0, 0x400b);
	for (i = 0; i < 2000 && m->nr_told < NR_NS / 2; i++)
		fake_poll_ms(m->f, 1);
	assert_int_equal(m->nr_told, NR_NS / 2);
	assert_int_equal(read_again(m, 0), -ENODEV);
	assert_int_equal(nvof_ctrl_state(m->f->ctrl), NVOF_CTRL_LIVE);
	close_all(m);
}

static void a_ctrl_freed_in_the_middle_ends_everything(void **state)
{
	struct model *m = with_reads(1, 5000, 0);
	uint32_t i;

	assert_int_equal(nvof_ns_remove(ns[0], removed, NULL), 0);
	assert_int_equal(nvof_ns_remove(ns[1], removed, NULL), 0);
	fake_poll_ms(m->f, 2);
	nvof_ctrl_free(m->f->ctrl);
	m->f->ctrl = NULL;
	assert_int_equal(nr_removed, 2);
	assert_int_equal(removed_status, -ECANCELED);
	for (i = 0; i < NR_NS; i++) {
		assert_int_equal(ends[i].nr, 1);
		assert_int_equal(ends[i].status, -ECANCELED);
	}
	model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_disconnect_lets_all_reads_end),
		cmocka_unit_test(what_does_not_end_in_time_is_aborted_with_the_queues),
		cmocka_unit_test(one_after_the_other_serves_those_that_wait),
		cmocka_unit_test(one_namespace_goes_and_the_others_stay),
		cmocka_unit_test(io_that_stays_is_aborted_at_the_ctrl),
		cmocka_unit_test(without_any_answer_the_queue_is_given_up),
		cmocka_unit_test(namespaces_go_while_their_ctrl_is_reconnected),
		cmocka_unit_test(what_the_target_removes_is_refused_and_waited_for),
		cmocka_unit_test(a_ctrl_freed_in_the_middle_ends_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
