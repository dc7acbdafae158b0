/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of namespaces: filled by a scan, kept right by events and after reconnects. */
#include "ns_model.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int nr_scans, scan_status;

static void scanned(void *arg, int status)
{
	nr_scans++;
	scan_status = status;
}

static struct model *scanned_model(uint32_t nr, void (*more)(struct nvof_connect_opts *o))
{
	struct model *m = model_new(nr, more);

	nr_scans = 0;
	assert_int_equal(nvof_ns_scan_sync(m->f->ctrl), 0);
	return m;
}

static void recovering(struct nvof_connect_opts *o)
{
	o->ctrl_loss_tmo_ms = -1;
	o->reconnect_delay_ms = 1;
	o->remove_timeout_ms = 60000;
}

/* The table has exactly what the target has, in order. */
static void check_table(struct model *m)
{
	struct nvof_ns *ns;
	uint32_t nsid = 0;
	uint8_t uuid[16];
	size_t i;

	for (i = 0; i < m->nr; i++) {
		if (!m->ns[i].nr_blocks || m->ns[i].status)
			continue;
		ns = nvof_ns_next(m->f->ctrl, nsid);
		assert_non_null(ns);
		nsid = nvof_ns_nsid(ns);
		assert_int_equal(nsid, m->ns[i].nsid);
		assert_int_equal(nvof_ns_nr_blocks(ns), m->ns[i].nr_blocks);
		assert_int_equal(nvof_ns_status(ns), 0);
		nvof_ns_uuid(ns, uuid);
		assert_int_equal(uuid[0], m->ns[i].uuid);
		nvof_ns_close(ns);
		ns = nvof_ns_get(m->f->ctrl, nsid);
		assert_non_null(ns);
		nvof_ns_close(ns);
	}
	assert_null(nvof_ns_next(m->f->ctrl, nsid));
}

static void until_told(struct model *m, enum nvof_event_type type, uint32_t nsid)
{
	int i;

	for (i = 0; i < 5000 && !model_times(m, type, nsid); i++)
		fake_poll_ms(m->f, 1);
	assert_int_equal(model_times(m, type, nsid), 1);
}

/* C081, C173: 1500 namespaces with gaps and ids up to the highest, answers in random order, many under way. */
static void namespaces_are_told_in_order_whatever_order_the_answers_have(void **state)
{
	static const uint32_t high[] = { 70000, 100000, 0xfffffff0, 0xfffffffd, 0xfffffffe };
	unsigned int seed;
	size_t i;

	for (seed = 1; seed <= 5; seed++) {
		struct model *m = model_new(1400, NULL);

		for (i = 0; i < 100; i++)
			model_add(m, 2000 + (uint32_t)i * 37);
		for (i = 0; i < ARRAY_SIZE(high); i++)
			model_add(m, high[i]);
		m->hold = true;
		m->seed = seed;
		nr_scans = 0;
		assert_int_equal(nvof_ns_scan(m->f->ctrl, scanned, NULL), 0);
		while (!nr_scans) {
			model_answer(m);
			nvof_ctx_poll(m->f->ctx, 0);
		}
		assert_int_equal(scan_status, 0);
		assert_true(m->max_held >= 24);
		assert_int_equal(m->nr_told, m->nr);
		for (i = 0; i < m->nr; i++) {
			assert_int_equal(m->told[i].type, NVOF_EVENT_NS_ADDED);
			assert_int_equal(m->told[i].nsid, m->ns[i].nsid);
		}
		check_table(m);
		model_free(m);
	}
}

/* Each page is full, and its ids ascend. */
static enum fake_answer endless(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	uint32_t page[1024], after = le32toh(req->sqe.nsid), i;

	if (fq->q.qid || req->sqe.opcode != nvme_admin_identify || (uint8_t)le32toh(req->sqe.cdw10) != NVME_IDENTIFY_CNS_NS_ACTIVE_LIST)
		return FAKE_DEFAULT;
	for (i = 0; i < ARRAY_SIZE(page); i++)
		page[i] = htole32(after + 1 + i);
	fake_put(req, page, sizeof(page));
	f->nr_log_cmds++;
	return FAKE_ANSWERED;
}

static void a_list_without_end_is_refused(void **state)
{
	static const struct {
		uint32_t nn, now, pages; /* NN at the connect, and later */
		const char *words;
	} t[] = { { 1, 1, 1, "has no end: 1024 so far, the last one 1024, and NN is 1 " },
		  { 4, 5000, 5, "has no end: 5120 so far, the last one 5120, and NN is 5000 " },
		  { 0, 0, 1025, "1049600 so far" },
		  { UINT32_MAX, UINT32_MAX, 1025, "and NN is 4294967295 (1048576 at most are read)" } };
	size_t i, nr;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct fake *f = fake_new();
		uint32_t *nsids;

		f->id.nn = htole32(t[i].nn);
		f->on_cmd = endless;
		assert_int_equal(fake_connect(f, 1), 0);
		f->id.nn = htole32(t[i].now);
		assert_int_equal(nvof_ns_list_sync(f->ctrl, &nsids, &nr), -EPROTO);
		assert_null(nsids);
		assert_contains(nvof_ctx_errmsg(f->ctx), t[i].words);
		assert_int_equal(f->nr_log_cmds, t[i].pages);
		assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_LIVE);
		fake_free(f);
	}
}

/* Linux's target says 1024 whatever the ids are, and an NN from before namespaces were added is too small. */
static void ids_above_nn_are_listed(void **state)
{
	struct model *m = model_new(0, NULL);
	uint32_t *nsids, i;
	size_t nr;

	m->f->ctrl->init.id->nn = htole32(1);
	m->f->id.nn = htole32(3000);
	for (i = 0; i < 2500; i++)
		model_add(m, 70000 + i);
	assert_int_equal(nvof_ns_list_sync(m->f->ctrl, &nsids, &nr), 0);
	assert_int_equal(nr, 2500);
	free(nsids);
	model_free(m);
}

/* C073 */
static void namespaces_that_vanish_during_the_scan_are_left_out(void **state)
{
	struct model *m = model_new(300, NULL);
	uint32_t nsid = 3;

	m->hold = true;
	nr_scans = 0;
	assert_int_equal(nvof_ns_scan(m->f->ctrl, scanned, NULL), 0);
	while (!nr_scans) {
		if (nsid < 300) {
			if (nsid % 2)
				model_remove(m, nsid);
			else
				model_find(m, nsid)->nr_blocks = 0; /* told by zeroes */
			nsid += 3;
		}
		model_answer(m);
		nvof_ctx_poll(m->f->ctx, 0);
	}
	assert_int_equal(scan_status, 0);
	/* What was identified before it went is corrected by the event. */
	m->hold = false;
	m->changed[0] = htole32(UINT32_MAX);
	assert_true(model_event(m));
	fake_poll_ms(m->f, 20);
	check_table(m);
	assert_int_equal(nvof_ctrl_state(m->f->ctrl), NVOF_CTRL_LIVE);
	model_free(m);
}

/* C074: an event every few answers; each is followed by a look at the log, one at a time. */
static void events_during_the_first_scan_are_not_lost(void **state)
{
	struct model *m = model_new(500, NULL);
	uint32_t i, nr_events = 0;

	m->hold = true;
	nr_scans = 0;
	assert_int_equal(nvof_ns_scan(m->f->ctrl, scanned, NULL), 0);
	for (i = 0; !nr_scans; i++) {
		if (i % 50 == 25 && i < 1000) {
			/* After its answer, most likely: only the log tells. */
			model_find(m, 1 + i / 50)->nr_blocks += 7;
			m->changed[nr_events % 1024] = htole32(1 + i / 50);
			model_add(m, 1000 + i);
			m->changed[nr_events % 1024 + 1] = htole32(1000 + i);
			nr_events += 2 * model_event(m);
		}
		model_answer(m);
		nvof_ctx_poll(m->f->ctx, 0);
		assert_int_equal(m->nr_logs, 0);
	}
	assert_true(nr_events >= 20);
	for (i = 0; i < 500; i++) {
		model_answer(m);
		nvof_ctx_poll(m->f->ctx, 0);
	}
	/* Coalesced: one look at the log for all that came during the scan. */
	assert_int_equal(m->nr_logs, 1);
	check_table(m);
	model_free(m);
}

static struct nvof_ns *opened_ns;
static int nr_opened, open_status;

static void opened(void *arg, int status, struct nvof_ns *ns)
{
	nr_opened++;
	open_status = status;
	opened_ns = ns;
}

static void event_comes(struct model *m)
{
	fake_poll_ms(m->f, 2);
	assert_true(model_event(m));
}

/* Whoever waits for a look gets it; and neither looks nor events take all the time there is. */
static void events_that_never_end_keep_nobody_waiting(void **state)
{
	struct model *m = model_new(5, NULL);
	struct nvof_ctrl_stats stats;
	uint64_t start = clock_ns(), most;
	int i;

	fake_poll_ms(m->f, 2);
	m->storm = true;
	nr_opened = nr_scans = 0;
	assert_int_equal(nvof_ns_open(m->f->ctrl, 2, opened, NULL), 0);
	assert_true(model_event(m));
	for (i = 0; i < 200 && !nr_opened; i++)
		nvof_ctx_poll(m->f->ctx, 0);
	assert_int_equal(nr_opened, 1);
	assert_int_equal(open_status, 0);
	nvof_ns_close(opened_ns);
	assert_int_equal(nvof_ns_scan(m->f->ctrl, scanned, NULL), 0);
	for (i = 0; i < 500 && !nr_scans; i++)
		nvof_ctx_poll(m->f->ctx, 0);
	assert_int_equal(nr_scans, 1);
	assert_int_equal(scan_status, 0);
	while (clock_ns() - start < 600 * NSEC_PER_MSEC)
		nvof_ctx_poll(m->f->ctx, 1000);
	nvof_ctrl_stats(m->f->ctrl, &stats);
	most = 64 + (clock_ns() - start) / (250 * NSEC_PER_MSEC) + 2;
	assert_in_range(stats.nr_events, 64, most);
	assert_in_range(m->nr_logs, 1, most);
	/* What changes last is known in the end. */
	model_find(m, 3)->nr_blocks = 77;
	until_told(m, NVOF_EVENT_NS_RESIZED, 3);
	check_table(m);
	model_free(m);
}

/* The second look at a namespace that is opened is the last one: the rest is a scan's. */
static void what_changes_while_it_is_looked_at_again_is_found(void **state)
{
	struct model *m = model_new(3, NULL);

	nr_opened = 0;
	m->hold = true;
	assert_int_equal(nvof_ns_open(m->f->ctrl, 2, opened, NULL), 0);
	event_comes(m);
	while (m->nr_identifies < 3) { /* CNS 00h, 03h; and 00h again */
		model_answer(m);
		nvof_ctx_poll(m->f->ctx, 0);
	}
	model_answer(m); /* its size, as it is now */
	fake_poll_ms(m->f, 2);
	model_find(m, 2)->nr_blocks = 4711;
	event_comes(m);
	while (!nr_opened) {
		model_answer(m);
		nvof_ctx_poll(m->f->ctx, 0);
	}
	assert_int_equal(open_status, 0);
	assert_int_not_equal(nvof_ns_nr_blocks(opened_ns), 4711);
	m->hold = false;
	while (m->nr_held)
		model_answer(m);
	until_told(m, NVOF_EVENT_NS_RESIZED, 2);
	assert_int_equal(nvof_ns_nr_blocks(opened_ns), 4711);
	assert_true(m->nr_logs >= 1); /* else the ctrl would not tell what comes next */
	nvof_ns_close(opened_ns);
	model_free(m);
}

/* A ctrl that keeps to the rules tells of no further change before the log is read. */
static void a_change_before_anybody_looks_is_no_last_one(void **state)
{
	struct model *m = model_new(3, NULL);

	event_comes(m);
	fake_poll_ms(m->f, 2);
	assert_int_equal(m->nr_logs, 0);
	assert_int_equal(nvof_ns_scan_sync(m->f->ctrl), 0);
	assert_int_equal(m->nr_logs, 1);
	check_table(m);
	model_free(m);

	m = model_new(3, NULL);
	nr_opened = 0;
	event_comes(m);
	fake_poll_ms(m->f, 2);
	assert_int_equal(nvof_ns_open(m->f->ctrl, 2, opened, NULL), 0);
	while (!nr_opened)
		nvof_ctx_poll(m->f->ctx, 0);
	assert_int_equal(open_status, 0);
	fake_poll_ms(m->f, 2);
	assert_int_equal(m->nr_logs, 1);
	nvof_ns_close(opened_ns);
	model_free(m);
}

/* C070 */
static void the_changed_list_is_taken_as_it_comes(void **state)
{
	struct model *m = scanned_model(20, NULL);
	uint32_t lists = m->nr_lists, identifies = m->nr_identifies;

	/* Unsorted, twice the same, one that is not active, one that can't be. */
	model_add(m, 50);
	model_remove(m, 7);
	model_find(m, 3)->nr_blocks = 5;
	m->changed[0] = htole32(50), m->changed[1] = htole32(3), m->changed[2] = htole32(7), m->changed[3] = htole32(3);
	m->changed[4] = htole32(900);
	assert_true(model_event(m));
	fake_poll_ms(m->f, 10);
	check_table(m);
	assert_int_equal(m->nr_lists, lists);
	assert_int_equal(m->nr_identifies, identifies + 6); /* two each for 3 and 50, one each for 7 and 900 */
	assert_int_equal(model_times(m, NVOF_EVENT_NS_RESIZED, 3), 1);
	assert_int_equal(model_times(m, NVOF_EVENT_NS_REMOVED, 7), 1);
	assert_int_equal(model_times(m, NVOF_EVENT_NS_ADDED, 50), 1);
	/* More than fit, and none at all: all are looked at. */
	model_add(m, 60);
	m->changed[0] = htole32(UINT32_MAX);
	assert_true(model_event(m));
	fake_poll_ms(m->f, 10);
	assert_int_equal(m->nr_lists, lists + 1);
	check_table(m);
	model_add(m, 61);
	assert_true(model_event(m));
	fake_poll_ms(m->f, 10);
	assert_int_equal(m->nr_lists, lists + 2);
	check_table(m);
	assert_int_equal(m->nr_told, 20 + 5);
	model_free(m);
}

static struct io_end {
	int nr, status;
} ends[8];
static uint8_t bufs[8][4096];

static void io_cb(void *arg, const struct nvof_cpl *cpl)
{
	struct io_end *e = arg;

	e->nr++;
	e->status = cpl->status;
}

static int read_one(struct model *m, struct nvof_ns *ns, int i)
{
	ends[i] = (struct io_end){ 0 };
	return nvof_read(nvof_ctrl_hctx(m->f->ctrl, 0), ns, 0, 1, bufs[i], 0, io_cb, &ends[i]);
}

static void another_namespace_with_the_same_id_is_another_one(void **state)
{
	struct model *m = scanned_model(3, NULL);
	struct nvof_ns *old = nvof_ns_get(m->f->ctrl, 2), *ns;
	uint32_t before;

	assert_int_equal(read_one(m, old, 0), 0);
	fake_poll_ms(m->f, 2);
	assert_int_equal(ends[0].status, 0);
	before = m->f->nr_io_cmds;
	model_find(m, 2)->uuid = 9;
	m->changed[0] = htole32(2);
	assert_true(model_event(m));
	until_told(m, NVOF_EVENT_NS_REPLACED, 2);
	assert_int_equal(read_one(m, old, 0), -ESTALE);
	assert_int_equal(nvof_ns_status(old), -ESTALE);
	assert_int_equal(nvof_flush(nvof_ctrl_hctx(m->f->ctrl, 0), old, io_cb, &ends[0]), -ESTALE);
	assert_int_equal(m->f->nr_io_cmds, before);
	ns = nvof_ns_get(m->f->ctrl, 2);
	assert_ptr_not_equal(ns, old);
	assert_int_equal(read_one(m, ns, 1), 0);
	fake_poll_ms(m->f, 2);
	assert_int_equal(ends[1].status, 0);
	nvof_ns_close(ns);
	nvof_ns_close(old);
	check_table(m);
	model_free(m);
}

/* I/O that is submitted while it is not known what has this id now waits, and goes only to the namespace it was meant for. */
static void io_waits_while_its_namespace_is_looked_at(void **state)
{
	struct model *m = scanned_model(3, NULL);
	struct nvof_ns *ns = nvof_ns_get(m->f->ctrl, 2);
	uint32_t before = m->f->nr_io_cmds;
	int another;

	for (another = 0; another < 2; another++) {
		m->hold = true;
		if (another)
			model_find(m, 2)->uuid = 9;
		m->changed[0] = htole32(2);
		assert_true(model_event(m));
		while (!m->nr_held)
			fake_poll_ms(m->f, 1);
		assert_int_equal(read_one(m, ns, 0), 0);
		fake_poll_ms(m->f, 5);
		assert_int_equal(ends[0].nr, 0);
		assert_int_equal(m->f->nr_io_cmds, before);
		m->hold = false;
		while (m->nr_held)
			model_answer(m);
		fake_poll_ms(m->f, 5);
		assert_int_equal(ends[0].nr, 1);
		assert_int_equal(ends[0].status, another ? -ESTALE : 0);
		assert_int_equal(m->f->nr_io_cmds, before + 1 - (uint32_t)another);
		before = m->f->nr_io_cmds;
	}
	nvof_ns_close(ns);
	model_free(m);
}

static void lose(struct model *m)
{
	struct nvof_ctrl_stats stats;
	uint64_t before;

	nvof_ctrl_stats(m->f->ctrl, &stats);
	before = stats.nr_reconnects;
	fake_fail_queue(m->f, 1, -ECONNRESET, "the peer closed the connection");
	while (stats.nr_reconnects == before) {
		fake_poll_ms(m->f, 1);
		nvof_ctrl_stats(m->f->ctrl, &stats);
	}
}

static void a_reconnect_finds_what_changed_meanwhile(void **state)
{
	struct model *m = scanned_model(10, recovering);
	struct nvof_ns *kept = nvof_ns_get(m->f->ctrl, 4);

	model_find(m, 4)->nr_blocks = 4000;
	model_find(m, 5)->uuid = 7;
	model_add(m, 99);
	lose(m);
	until_told(m, NVOF_EVENT_NS_ADDED, 99);
	until_told(m, NVOF_EVENT_NS_RESIZED, 4);
	until_told(m, NVOF_EVENT_NS_REPLACED, 5);
	assert_ptr_equal(kept, nvof_ns_get(m->f->ctrl, 4));
	nvof_ns_close(kept);
	assert_int_equal(read_one(m, kept, 0), 0);
	fake_poll_ms(m->f, 2);
	assert_int_equal(ends[0].status, 0);
	nvof_ns_close(kept);
	check_table(m);
	assert_int_equal(m->nr_told, 10 + 3);
	model_free(m);
}

/* A refusal that may pass says nothing about the namespace. */
static void a_passing_error_after_a_reconnect_is_no_end(void **state)
{
	static const int passing[] = { 0x006, 0x082, 0x122 }; /* internal error; not ready; something command specific */
	size_t i;

	for (i = 0; i < ARRAY_SIZE(passing); i++) {
		struct model *m = scanned_model(3, recovering);
		struct nvof_ns *ns = nvof_ns_get(m->f->ctrl, 2), *other = nvof_ns_get(m->f->ctrl, 3);

		model_find(m, 2)->status = passing[i];
		lose(m);
		assert_int_equal(read_one(m, ns, 0), 0);
		assert_int_equal(read_one(m, other, 1), 0);
		while (!ends[1].nr)
			fake_poll_ms(m->f, 1);
		assert_int_equal(ends[1].status, 0); /* others need not wait for it */
		assert_int_equal(ends[0].nr, 0);
		model_find(m, 2)->status = 0;
		while (!ends[0].nr)
			fake_poll_ms(m->f, 1);
		assert_int_equal(ends[0].status, 0);
		assert_int_equal(m->nr_told, 3);
		nvof_ns_close(ns);
		nvof_ns_close(other);
		check_table(m);
		model_free(m);
	}
}

/* C082: the ctrl is back before its namespaces are. */
static void a_namespace_that_comes_later_than_its_ctrl_goes_on(void **state)
{
	struct model *m = scanned_model(3, recovering);
	struct nvof_ns *ns = nvof_ns_get(m->f->ctrl, 2), *gone = nvof_ns_get(m->f->ctrl, 3);
	struct model_ns was = *model_find(m, 2);
	uint64_t start = clock_ns();

	model_remove(m, 2);
	model_remove(m, 3);
	lose(m);
	assert_int_equal(read_one(m, ns, 0), 0);
	assert_int_equal(read_one(m, gone, 1), 0);
	fake_poll_ms(m->f, 50);
	assert_int_equal(ends[0].nr + ends[1].nr, 0);
	model_add(m, 2);
	*model_find(m, 2) = was;
	while (!ends[0].nr)
		fake_poll_ms(m->f, 1);
	assert_int_equal(ends[0].status, 0);
	assert_int_equal(nvof_ns_status(ns), 0);
	/* The other one stays away: that has an end. */
	assert_int_equal(ends[1].nr, 0);
	m->f->ctrl->p.remove_timeout_ms = 300;
	while (!ends[1].nr)
		fake_poll_ms(m->f, 1);
	assert_int_equal(ends[1].status, -ENODEV);
	assert_true(clock_ns() - start >= 300 * NSEC_PER_MSEC);
	until_told(m, NVOF_EVENT_NS_REMOVED, 3);
	assert_int_equal(model_times(m, NVOF_EVENT_NS_REMOVED, 2), 0);
	nvof_ns_close(ns);
	nvof_ns_close(gone);
	check_table(m);
	model_free(m);
}

/* The first scan, and one under way when the ctrl is lost, at each point of it. */
static void a_scan_survives_the_loss_of_its_ctrl(void **state)
{
	int answers;

	for (answers = 0; answers < 60; answers += 7) {
		struct model *m = model_new(100, recovering);
		int i;

		m->hold = true;
		nr_scans = 0;
		assert_int_equal(nvof_ns_scan(m->f->ctrl, scanned, NULL), 0);
		for (i = 0; i < answers; i++) {
			model_answer(m);
			nvof_ctx_poll(m->f->ctx, 0);
		}
		m->nr_held = 0;
		m->hold = false;
		lose(m);
		while (!nr_scans)
			fake_poll_ms(m->f, 1);
		assert_int_equal(nr_scans, 1);
		assert_int_equal(scan_status, 0);
		check_table(m);
		assert_int_equal(m->nr_told, 100);
		model_free(m);
	}
}

static void a_scan_ends_with_its_ctrl(void **state)
{
	int how, answers;

	for (how = 0; how < 3; how++)
		for (answers = 0; answers < 50; answers += 7) {
			struct model *m = model_new(100, NULL);
			int i;

			m->hold = true;
			nr_scans = 0;
			assert_int_equal(nvof_ns_scan(m->f->ctrl, scanned, NULL), 0);
			assert_int_equal(nvof_ns_scan(m->f->ctrl, scanned, NULL), 0);
			for (i = 0; i < answers; i++) {
				model_answer(m);
				nvof_ctx_poll(m->f->ctx, 0);
			}
			if (how == 0) {
				nvof_ctrl_free(m->f->ctrl);
				m->f->ctrl = NULL;
			} else if (how == 1) {
				assert_int_equal(nvof_ctrl_disconnect_sync(m->f->ctrl), 0);
			} else {
				fake_fail_queue(m->f, 0, -ECONNRESET, "gone");
				fake_poll_ms(m->f, 2);
			}
			assert_int_equal(nr_scans, 2);
			assert_true(scan_status < 0);
			model_free(m);
		}
}

/* ---- other threads look ---- */

struct looker {
	pthread_t thread;
	struct nvof_ctrl *ctrl;
	bool over;
	uint64_t nr_seen;
};

static void *look_around(void *arg)
{
	struct looker *l = arg;

	while (!__atomic_load_n(&l->over, __ATOMIC_ACQUIRE)) {
		struct nvof_ns *ns;
		uint32_t nsid = 0;

		while ((ns = nvof_ns_next(l->ctrl, nsid))) {
			uint8_t uuid[16];

			if (nvof_ns_nsid(ns) <= nsid)
				return NULL;
			nsid = nvof_ns_nsid(ns);
			nvof_ns_uuid(ns, uuid);
			l->nr_seen += nvof_ns_nr_blocks(ns) || nvof_ns_status(ns);
			nvof_ns_close(ns);
		}
		ns = nvof_ns_get(l->ctrl, 5);
		nvof_ns_close(ns);
	}
	return l;
}

static void any_thread_may_look_namespaces_up_while_they_change(void **state)
{
	struct model *m = scanned_model(50, NULL);
	struct looker l[3];
	uint32_t i, k;

	for (i = 0; i < ARRAY_SIZE(l); i++) {
		l[i] = (struct looker){ .ctrl = m->f->ctrl };
		assert_int_equal(pthread_create(&l[i].thread, NULL, look_around, &l[i]), 0);
	}
	/* More events than these are slowed down. */
	for (i = 0; i < 50; i++) {
		for (k = 0; k < 30; k++) {
			uint32_t nsid = 1 + (i * 7 + k * 11) % 60;
			struct model_ns *ns = model_find(m, nsid);

			if (!ns)
				model_add(m, nsid);
			else if ((i + k) % 3 == 0)
				model_remove(m, nsid);
			else if ((i + k) % 3 == 1)
				ns->uuid++;
			else
				ns->nr_blocks++;
			m->changed[k] = htole32(nsid);
		}
		while (!model_event(m))
			fake_poll_ms(m->f, 1);
		m->nr_told = 0;
		fake_poll_ms(m->f, 1);
	}
	fake_poll_ms(m->f, 10);
	check_table(m);
	for (i = 0; i < ARRAY_SIZE(l); i++) {
		void *ret;

		__atomic_store_n(&l[i].over, true, __ATOMIC_RELEASE);
		pthread_join(l[i].thread, &ret);
		assert_non_null(ret);
		assert_true(l[i].nr_seen > 0);
	}
	model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(namespaces_are_told_in_order_whatever_order_the_answers_have),
		cmocka_unit_test(a_list_without_end_is_refused),
		cmocka_unit_test(ids_above_nn_are_listed),
		cmocka_unit_test(namespaces_that_vanish_during_the_scan_are_left_out),
		cmocka_unit_test(events_during_the_first_scan_are_not_lost),
		cmocka_unit_test(events_that_never_end_keep_nobody_waiting),
		cmocka_unit_test(what_changes_while_it_is_looked_at_again_is_found),
		cmocka_unit_test(a_change_before_anybody_looks_is_no_last_one),
		cmocka_unit_test(the_changed_list_is_taken_as_it_comes),
		cmocka_unit_test(another_namespace_with_the_same_id_is_another_one),
		cmocka_unit_test(io_waits_while_its_namespace_is_looked_at),
		cmocka_unit_test(a_reconnect_finds_what_changed_meanwhile),
		cmocka_unit_test(a_passing_error_after_a_reconnect_is_no_end),
		cmocka_unit_test(a_namespace_that_comes_later_than_its_ctrl_goes_on),
		cmocka_unit_test(a_scan_survives_the_loss_of_its_ctrl),
		cmocka_unit_test(a_scan_ends_with_its_ctrl),
		cmocka_unit_test(any_thread_may_look_namespaces_up_while_they_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
