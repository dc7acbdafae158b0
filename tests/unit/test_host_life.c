/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a ctrl: loss, disconnect, free, from outside and from callbacks; keep alive, events, time-outs. */
#include "host_fake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct io_end {
	struct fake *f;
	int nr, status;
	int what; /* for the callback to do */
};
enum { DO_NOTHING, DO_FREE, DO_DISCONNECT, DO_SUBMIT, DO_BLOCK };

static uint8_t buf[4096];
static struct nvof_ns *ns;

static void end_cb(void *arg, struct nvof_ctrl *ctrl, int status);

static void io_cb(void *arg, const struct nvof_cpl *cpl)
{
	struct io_end *e = arg;
	struct nvof_ctrl *ctrl = e->f ? e->f->ctrl : NULL;

	e->nr++;
	e->status = cpl->status;
	switch (e->what) {
	case DO_FREE:
		nvof_ctrl_free(ctrl);
		nvof_ctrl_free(ctrl); /* harmless */
		e->f->ctrl = NULL;
		break;
	case DO_DISCONNECT:
		nvof_ctrl_disconnect(ctrl, end_cb, e->f);
		break;
	case DO_SUBMIT:
		assert_int_equal(nvof_read(nvof_ctrl_hctx(ctrl, 0), ns, 0, 1, buf, 0, io_cb, e), -ENOTCONN);
		assert_int_equal(nvof_identify(ctrl, 1, 0, 0, 0, buf, io_cb, e), -ENOTCONN);
		break;
	case DO_BLOCK:
		assert_int_equal(nvof_identify_sync(ctrl, 1, 0, buf), -EDEADLK);
		assert_int_equal(nvof_ctx_poll(ctrl->ctx, 0), -EDEADLK);
		assert_int_equal(nvof_ctx_poll(ctrl->ctx, -1), -EDEADLK);
		assert_false(nvof_ctx_prepare_wait(ctrl->ctx));
		break;
	default:
		break;
	}
}

static int nr_ends, end_status;

static void end_cb(void *arg, struct nvof_ctrl *ctrl, int status)
{
	nr_ends++;
	end_status = status;
}

static enum fake_answer hold_io(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	return fq->q.qid && req->sqe.opcode == nvme_cmd_read ? FAKE_HOLD : FAKE_DEFAULT;
}

/* A LIVE ctrl with n reads that the target never answers, spread over its queues. */
static struct fake *with_reads(unsigned int nr_queues, struct io_end *e, int n)
{
	struct fake *f = fake_new();
	int i;

	nr_ends = 0;
	f->on_cmd = hold_io;
	assert_int_equal(fake_connect(f, nr_queues), 0);
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 1, &ns), 0);
	for (i = 0; i < n; i++) {
		e[i] = (struct io_end){ .f = f };
		assert_int_equal(nvof_read(nvof_ctrl_hctx(f->ctrl, (unsigned int)i % nr_queues), ns, 0, 1, buf, 0, io_cb, &e[i]), 0);
	}
	fake_poll_ms(f, 2);
	return f;
}

static void check_all(const struct io_end *e, int n, int status)
{
	int i;

	for (i = 0; i < n; i++) {
		assert_int_equal(e[i].nr, 1);
		assert_int_equal(e[i].status, status);
	}
}

static void a_lost_queue_ends_every_command_once_and_the_ctrl(void **state)
{
	static const uint16_t qids[] = { 0, 1, 4 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(qids); i++) {
		struct io_end e[40];
		struct fake *f = with_reads(4, e, 40);
		int events = f->nr_events;
		char part[64];

		fake_fail_queue(f, qids[i], -ECONNRESET, "the peer closed the connection");
		fake_fail_queue(f, qids[i], -EIO, "again"); /* the first counts */
		assert_int_equal(e[0].nr, 0);
		fake_poll_ms(f, 2);
		check_all(e, 40, -ECONNRESET);
		assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_DEAD);
		assert_int_equal(f->nr_events, events + 2); /* its state, and that the namespace is gone */
		assert_int_equal(f->last_event, NVOF_EVENT_NS_REMOVED);
		snprintf(part, sizeof(part), "qid %u to 192.0.2.7:4420: the peer closed", qids[i]);
		assert_contains(nvof_ctrl_errmsg(f->ctrl), part);
		assert_int_equal(f->nr_queues_alive, 0);
		assert_int_equal(nvof_ctrl_nr_io_queues(f->ctrl), 0);
		assert_int_equal(nvof_read(nvof_ctrl_hctx(f->ctrl, 0), ns, 0, 1, buf, 0, io_cb, NULL), -ENOTCONN);
		assert_int_equal(nvof_read_sync(nvof_ctrl_hctx(f->ctrl, 0), ns, 0, 1, buf, 0), -ENOTCONN);
		assert_contains(nvof_ctx_errmsg(f->ctx), "the peer closed");
		assert_int_equal(nvof_ctrl_disconnect_sync(f->ctrl), 0);
		fake_free(f);
	}
}

static void callbacks_of_a_lost_ctrl_may_do_anything(void **state)
{
	int what;

	for (what = DO_FREE; what <= DO_BLOCK; what++) {
		struct io_end e[8];
		struct fake *f = with_reads(2, e, 8);
		int i;

		e[3].what = what;
		fake_fail_queue(f, 1, -ECONNRESET, "gone");
		fake_poll_ms(f, 3);
		check_all(e, 8, -ECONNRESET);
		if (what == DO_DISCONNECT)
			assert_int_equal(nr_ends, 1);
		for (i = 0; i < 8; i++)
			assert_int_equal(e[i].nr, 1);
		fake_free(f);
	}
}

static void callbacks_of_a_live_ctrl_may_free_or_disconnect_it(void **state)
{
	int what;

	for (what = DO_FREE; what <= DO_DISCONNECT; what++) {
		struct io_end e[8];
		struct fake *f = with_reads(2, e, 8);
		struct io_end w = { .f = f, .what = what };

		assert_int_equal(nvof_write(nvof_ctrl_hctx(f->ctrl, 0), ns, 0, 1, buf, 0, io_cb, &w), 0);
		while (what == DO_DISCONNECT && !nr_ends)
			nvof_ctx_poll(f->ctx, 1000);
		fake_poll_ms(f, 3);
		check_all(&w, 1, 0);
		check_all(e, 8, -ECANCELED);
		if (what == DO_DISCONNECT) {
			assert_int_equal(nr_ends, 1);
			assert_int_equal(end_status, 0);
			assert_true(f->shutdown);
		}
		fake_free(f);
	}
}

static void free_ends_what_is_in_flight_from_inside(void **state)
{
	struct io_end e[8];
	struct fake *f = with_reads(2, e, 8);

	e[0].what = DO_SUBMIT;
	e[1].what = DO_FREE; /* again, from inside: harmless */
	nvof_ctrl_free(f->ctrl);
	check_all(e, 8, -ECANCELED);
	f->ctrl = NULL;
	fake_free(f);
}

static void freeing_the_ctx_closes_what_is_left(void **state)
{
	struct io_end e[8];
	struct fake *f = with_reads(2, e, 8);
	struct nvof_connect_opts o;
	struct nvof_ctrl *second;

	fake_opts(f, &o);
	assert_int_equal(nvof_ctrl_connect(f->ctx, &o, fake_connect_cb, f, &second), 0);
	nvof_ctx_poll(f->ctx, 0);
	nvof_ctx_free(f->ctx);
	check_all(e, 8, -ECANCELED);
	assert_int_equal(f->connect_status, -ECANCELED);
	assert_int_equal(f->nr_connect_cbs, 2);
	assert_int_equal(f->nr_queues_alive, 0);
	free(f->disk);
	free(f);
}

static void disconnect_is_told_to_the_ctrl_and_cancels_io(void **state)
{
	struct io_end e[8];
	struct fake *f = with_reads(2, e, 8);

	assert_int_equal(nvof_ctrl_disconnect(f->ctrl, end_cb, f), 0);
	assert_int_equal(nvof_ctrl_disconnect(f->ctrl, end_cb, f), -EALREADY);
	assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_DELETING);
	assert_int_equal(nvof_read(nvof_ctrl_hctx(f->ctrl, 0), ns, 0, 1, buf, 0, io_cb, NULL), -ENOTCONN);
	assert_int_equal(e[0].nr, 0);
	while (!nr_ends)
		nvof_ctx_poll(f->ctx, 1000);
	check_all(e, 8, -ECANCELED);
	assert_int_equal(nr_ends, 1);
	assert_int_equal(end_status, 0);
	assert_true(f->shutdown);
	assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_DEAD);
	assert_int_equal(nvof_ctrl_disconnect_sync(f->ctrl), 0);
	fake_free(f);
}

static enum fake_answer silent(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	return FAKE_HOLD;
}

/* C091 */
static void a_stuck_target_holds_a_disconnect_for_five_seconds_at_most(void **state)
{
	struct io_end e[4];
	struct fake *f = with_reads(1, e, 4);
	uint64_t now = clock_ns();

	f->on_cmd = silent;
	assert_int_equal(nvof_ctrl_disconnect(f->ctrl, end_cb, f), 0);
	fake_poll_ms(f, 1);
	/* Its reads have their time, new ones are refused. */
	assert_int_equal(e[0].nr, 0);
	assert_int_equal(nvof_read(nvof_ctrl_hctx(f->ctrl, 0), ns, 0, 1, buf, 0, io_cb, NULL), -ENOTCONN);
	while (!e[0].nr)
		nvof_ctx_poll(f->ctx, 1000000);
	assert_true(clock_ns() - now >= 2 * NSEC_PER_SEC);
	assert_int_equal(nr_ends, 0);
	check_all(e, 4, -ECANCELED);
	assert_in_range(f->ctrl->shutdown.timeout.deadline - now, 5 * NSEC_PER_SEC, 5 * NSEC_PER_SEC + (clock_ns() - now));
	timer_set(f->ctx->loop, &f->ctrl->shutdown.timeout, 0);
	while (!nr_ends)
		nvof_ctx_poll(f->ctx, 1000000);
	assert_int_equal(end_status, -ETIMEDOUT);
	assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_DEAD);
	fake_free(f);
}

static enum fake_answer close_on_shutdown(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	return FAKE_CLOSE;
}

static void a_target_that_closes_when_it_hears_of_the_shutdown_is_fine(void **state)
{
	struct io_end e[4];
	struct fake *f = with_reads(1, e, 4);

	f->on_cmd = close_on_shutdown;
	assert_int_equal(nvof_ctrl_disconnect_sync(f->ctrl), 0);
	assert_string_equal(nvof_ctrl_errmsg(f->ctrl), "");
	fake_free(f);
}

static void a_connect_under_way_can_be_disconnected_or_freed_at_any_moment(void **state)
{
	int turns, freed;

	for (freed = 0; freed < 2; freed++) {
		for (turns = 0; turns < 40; turns++) {
			struct fake *f = fake_new();
			struct nvof_connect_opts o;
			int i;

			nr_ends = 0;
			fake_opts(f, &o);
			o.nr_io_queues = 3;
			o.setup_concurrency = 1;
			assert_int_equal(nvof_ctrl_connect(f->ctx, &o, fake_connect_cb, f, &f->ctrl), 0);
			for (i = 0; i < turns; i++)
				nvof_ctx_poll(f->ctx, 0);
			if (freed) {
				nvof_ctrl_free(f->ctrl);
				f->ctrl = NULL;
			} else {
				assert_int_equal(nvof_ctrl_disconnect(f->ctrl, end_cb, f), 0);
				while (!nr_ends)
					nvof_ctx_poll(f->ctx, 1000);
				assert_int_equal(nr_ends, 1);
			}
			assert_int_equal(f->nr_connect_cbs, 1);
			assert_true(f->connect_status == 0 || f->connect_status == -ECANCELED);
			assert_int_equal(f->nr_queues_alive, 0);
			fake_free(f);
		}
	}
}

static void free_in_connect_cb(void *arg, struct nvof_ctrl *ctrl, int status)
{
	struct fake *f = arg;

	f->nr_connect_cbs++;
	f->connect_status = status;
	nvof_ctrl_free(ctrl);
	f->ctrl = NULL;
}

static void the_connect_callback_may_free_the_ctrl(void **state)
{
	int fail;

	for (fail = 0; fail < 2; fail++) {
		struct fake *f = fake_new();
		struct nvof_connect_opts o;

		fake_opts(f, &o);
		if (fail)
			f->on_cmd = close_on_shutdown;
		assert_int_equal(nvof_ctrl_connect(f->ctx, &o, free_in_connect_cb, f, &f->ctrl), 0);
		while (!f->nr_connect_cbs)
			nvof_ctx_poll(f->ctx, 1000);
		fake_poll_ms(f, 2);
		assert_int_equal(f->connect_status, fail ? -ECONNRESET : 0);
		assert_int_equal(f->nr_queues_alive, 0);
		fake_free(f);
	}
}

static void a_command_without_answer_costs_the_ctrl_and_is_named(void **state)
{
	struct fake *f = fake_new();
	struct nvof_connect_opts o;
	struct io_end e = { 0 };

	f->on_cmd = hold_io;
	fake_opts(f, &o);
	o.io_tmo_ms = 80;
	assert_int_equal(fake_connect_opts(f, &o), 0);
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 1, &ns), 0);
	assert_int_equal(nvof_read(nvof_ctrl_hctx(f->ctrl, 0), ns, 0, 1, buf, 0, io_cb, &e), 0);
	while (!e.nr)
		nvof_ctx_poll(f->ctx, 100000);
	assert_int_equal(e.status, -ETIMEDOUT);
	assert_contains(nvof_ctrl_errmsg(f->ctrl), "command opcode 02h cid ");
	assert_contains(nvof_ctrl_errmsg(f->ctrl), "on qid 1 was not answered within 80 ms");
	assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_DEAD);
	fake_free(f);
}

static void an_application_that_was_away_finds_its_commands_in_time(void **state)
{
	struct fake *f = fake_new();
	struct nvof_connect_opts o;
	struct timespec away = { .tv_nsec = 200 * 1000 * 1000 };
	struct io_end e = { 0 };

	fake_opts(f, &o);
	o.io_tmo_ms = 50;
	o.keep_alive_tmo_ms = 100;
	assert_int_equal(fake_connect_opts(f, &o), 0);
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 1, &ns), 0);
	assert_int_equal(nvof_read(nvof_ctrl_hctx(f->ctrl, 0), ns, 0, 1, buf, 0, io_cb, &e), 0);
	nanosleep(&away, NULL);
	fake_poll_ms(f, 3);
	check_all(&e, 1, 0);
	assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_LIVE);
	fake_free(f);
}

static void an_event_request_never_times_out(void **state)
{
	struct fake *f = fake_new();
	struct nvof_connect_opts o;

	fake_opts(f, &o);
	o.io_tmo_ms = 20;
	assert_int_equal(fake_connect_opts(f, &o), 0);
	fake_poll_ms(f, 100);
	assert_non_null(f->aer);
	assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_LIVE);
	fake_free(f);
}

static void events_are_told_by_kind_and_asked_for_again(void **state)
{
	static const struct {
		uint32_t dw0;
		int type;
	} t[] = { { 0x040002, NVOF_EVENT_NS_CHANGED }, { 0x0c0302, NVOF_EVENT_ANA_CHANGED }, { 0x70f002, NVOF_EVENT_DISC_CHANGED },
		  { 0x000102, NVOF_EVENT_OTHER },      { 0x010300, NVOF_EVENT_OTHER },	     { 0x020001, NVOF_EVENT_OTHER } };
	struct fake *f = fake_new();
	struct nvof_ctrl_stats stats;
	struct host_req *aer;
	size_t i;

	assert_int_equal(fake_connect(f, 1), 0);
	fake_poll_ms(f, 2);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		int events = f->nr_events;

		aer = f->aer;
		assert_non_null(aer);
		f->aer = NULL;
		fake_complete(aer, 0, t[i].dw0);
		assert_int_equal(f->nr_events, events + 1);
		assert_int_equal(f->last_event, t[i].type);
		fake_poll_ms(f, 2);
	}
	nvof_ctrl_stats(f->ctrl, &stats);
	assert_int_equal(stats.nr_events, ARRAY_SIZE(t));
	aer = f->aer;
	f->aer = NULL;
	fake_complete(aer, 0x105, 0); /* limit exceeded: not asked again */
	fake_poll_ms(f, 2);
	assert_null(f->aer);
	assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_LIVE);
	fake_free(f);
}

static struct fake *with_kato(int kato_ms, bool traffic_based)
{
	struct fake *f = fake_new();
	struct nvof_connect_opts o;

	fake_opts(f, &o);
	o.keep_alive_tmo_ms = kato_ms;
	if (traffic_based)
		f->id.ctratt = htole32(NVME_CTRL_CTRATT_TBKAS);
	assert_int_equal(fake_connect_opts(f, &o), 0);
	return f;
}

static void an_idle_ctrl_is_kept_alive(void **state)
{
	struct fake *f = with_kato(60, false);
	struct nvof_ctrl_stats stats;

	while (f->nr_keep_alives < 4)
		nvof_ctx_poll(f->ctx, 100000);
	nvof_ctrl_stats(f->ctrl, &stats);
	assert_int_equal(stats.nr_keep_alives, f->nr_keep_alives);
	fake_free(f);
	f = with_kato(0, false);
	fake_poll_ms(f, 100);
	assert_int_equal(f->nr_keep_alives, 0);
	fake_free(f);
}

/* The keep alive's timer looks now. */
static void keep_alive_looks(struct fake *f)
{
	timer_set(f->ctx->loop, &f->ctrl->ka.timer, 0);
	fake_poll_ms(f, 1);
}

static void with_traffic_based_keep_alive_traffic_is_enough(void **state)
{
	struct fake *f = with_kato(60000, true);
	uint32_t i;

	assert_int_equal(nvof_ns_open_sync(f->ctrl, 1, &ns), 0);
	for (i = 0; i < 5; i++) {
		assert_int_equal(nvof_read_sync(nvof_ctrl_hctx(f->ctrl, 0), ns, 0, 1, buf, 0), 0);
		keep_alive_looks(f);
		assert_int_equal(f->nr_keep_alives, 0);
	}
	for (i = 1; i <= 3; i++) {
		keep_alive_looks(f);
		assert_int_equal(f->nr_keep_alives, i);
	}
	fake_free(f);
	f = with_kato(60000, false);
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 1, &ns), 0);
	keep_alive_looks(f);
	assert_int_equal(f->nr_keep_alives, 1); /* traffic or not */
	fake_free(f);
}

/* C024 */
static void a_ctrl_that_does_not_answer_keep_alive_is_given_up(void **state)
{
	uint64_t start = clock_ns();
	struct fake *f = with_kato(100, false);

	f->on_cmd = silent;
	while (nvof_ctrl_state(f->ctrl) == NVOF_CTRL_LIVE)
		nvof_ctx_poll(f->ctx, 100000);
	assert_true(clock_ns() - start >= 90 * NSEC_PER_MSEC);
	assert_contains(nvof_ctrl_errmsg(f->ctrl), "Keep Alive was not answered within");
	assert_contains(nvof_ctrl_errmsg(f->ctrl), "(KATO 100 ms)");
	fake_free(f);
}

static enum fake_answer refuse_keep_alive(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	if (fq->q.qid || req->sqe.opcode != nvme_admin_keep_alive)
		return FAKE_DEFAULT;
	f->nr_keep_alives++;
	return fake_status(cqe, 0x4001, 0);
}

/* C063 */
static void a_ctrl_without_keep_alive_is_left_in_peace(void **state)
{
	struct fake *f = with_kato(20, false);

	f->on_cmd = refuse_keep_alive;
	f->nr_keep_alives = 0; /* on a busy machine one may have gone out, and been answered, before */
	fake_poll_ms(f, 100);
	assert_int_equal(f->nr_keep_alives, 1);
	assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_LIVE);
	fake_free(f);
}

/* C092 */
static void connect_and_disconnect_leave_nothing_behind(void **state)
{
	struct fake *f = fake_new();
	int i;

	for (i = 0; i < 300; i++) {
		f->enabled = f->shutdown = false;
		assert_int_equal(fake_connect(f, 4), 0);
		assert_int_equal(nvof_ctrl_disconnect_sync(f->ctrl), 0);
		nvof_ctrl_free(f->ctrl);
	}
	f->ctrl = NULL;
	fake_free(f);
}

static uint32_t nr_deletes, shut_before;
static uint16_t deaf; /* a queue whose Disconnect is not answered; 0xffff: none is */

static enum fake_answer see_delete(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	if (req->sqe.opcode != NVMF_OPCODE || fake_fctype(req) != NVMF_DISCONNECT)
		return FAKE_DEFAULT;
	assert_true(fq->q.qid > 0);
	nr_deletes++;
	shut_before += f->shutdown;
	return deaf == 0xffff || deaf == fq->q.qid ? FAKE_HOLD : fake_status(cqe, fq->q.qid == 2 ? 0x4002 : 0, 0);
}

static struct fake *with_deletes(uint16_t who_is_deaf)
{
	struct fake *f = fake_new();

	nr_deletes = shut_before = 0;
	deaf = who_is_deaf;
	f->id.ofcs = htole16(NVME_CTRL_OFCS_DISCONNECT);
	f->on_cmd = see_delete;
	assert_int_equal(fake_connect(f, 64), 0);
	return f;
}

static void every_io_queue_is_deleted_before_the_shutdown(void **state)
{
	struct fake *f = with_deletes(0);

	assert_int_equal(nvof_ctrl_disconnect_sync(f->ctrl), 0);
	assert_int_equal(nr_deletes, 64);
	assert_int_equal(shut_before, 0);
	assert_true(f->shutdown);
	fake_free(f);
}

static void queues_that_do_not_answer_cost_one_time_out(void **state)
{
	static const uint16_t who[] = { 5, 0xffff };
	struct fake *f;
	uint64_t start, ms;
	size_t i;

	for (i = 0; i < 2; i++) {
		f = with_deletes(who[i]);
		start = clock_ns();
		assert_int_equal(nvof_ctrl_disconnect_sync(f->ctrl), 0);
		ms = (clock_ns() - start) / NSEC_PER_MSEC;
		assert_true(ms >= 900 && ms < 10000);
		assert_int_equal(nr_deletes, 64);
		assert_true(f->shutdown);
		fake_free(f);
	}
}

static void a_queue_lost_while_it_is_deleted_holds_up_nobody(void **state)
{
	struct fake *f = with_deletes(7);
	int i;

	assert_int_equal(nvof_ctrl_disconnect(f->ctrl, NULL, NULL), 0);
	for (i = 0; i < 50 && nr_deletes < 64; i++)
		fake_poll_ms(f, 1);
	/* The time-out is none of what ends it. */
	assert_true(timer_armed(&f->ctrl->queue_delete.timeout));
	timer_set(f->ctx->loop, &f->ctrl->queue_delete.timeout, clock_ns() + 3600 * NSEC_PER_SEC);
	fake_fail_queue(f, 7, -ECONNRESET, "the peer closed the connection");
	for (i = 0; i < 500 && nvof_ctrl_state(f->ctrl) != NVOF_CTRL_DEAD; i++)
		fake_poll_ms(f, 1);
	assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_DEAD);
	fake_free(f);
}

static void a_ctrl_freed_while_queues_are_deleted_leaves_nothing(void **state)
{
	struct fake *f = with_deletes(0xffff);

	assert_int_equal(nvof_ctrl_disconnect(f->ctrl, NULL, NULL), 0);
	fake_poll_ms(f, 5);
	nvof_ctrl_free(f->ctrl);
	f->ctrl = NULL;
	fake_free(f);
}

static void a_ctrl_without_the_command_does_not_get_it(void **state)
{
	struct fake *f = fake_new();

	nr_deletes = 0;
	f->on_cmd = see_delete;
	assert_int_equal(fake_connect(f, 4), 0);
	assert_int_equal(nvof_ctrl_disconnect_sync(f->ctrl), 0);
	assert_int_equal(nr_deletes, 0);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lost_queue_ends_every_command_once_and_the_ctrl),
		cmocka_unit_test(callbacks_of_a_lost_ctrl_may_do_anything),
		cmocka_unit_test(callbacks_of_a_live_ctrl_may_free_or_disconnect_it),
		cmocka_unit_test(free_ends_what_is_in_flight_from_inside),
		cmocka_unit_test(freeing_the_ctx_closes_what_is_left),
		cmocka_unit_test(disconnect_is_told_to_the_ctrl_and_cancels_io),
		cmocka_unit_test(a_stuck_target_holds_a_disconnect_for_five_seconds_at_most),
		cmocka_unit_test(a_target_that_closes_when_it_hears_of_the_shutdown_is_fine),
		cmocka_unit_test(a_connect_under_way_can_be_disconnected_or_freed_at_any_moment),
		cmocka_unit_test(the_connect_callback_may_free_the_ctrl),
		cmocka_unit_test(a_command_without_answer_costs_the_ctrl_and_is_named),
		cmocka_unit_test(an_application_that_was_away_finds_its_commands_in_time),
		cmocka_unit_test(an_event_request_never_times_out),
		cmocka_unit_test(events_are_told_by_kind_and_asked_for_again),
		cmocka_unit_test(an_idle_ctrl_is_kept_alive),
		cmocka_unit_test(with_traffic_based_keep_alive_traffic_is_enough),
		cmocka_unit_test(a_ctrl_that_does_not_answer_keep_alive_is_given_up),
		cmocka_unit_test(a_ctrl_without_keep_alive_is_left_in_peace),
		cmocka_unit_test(connect_and_disconnect_leave_nothing_behind),
		cmocka_unit_test(every_io_queue_is_deleted_before_the_shutdown),
		cmocka_unit_test(queues_that_do_not_answer_cost_one_time_out),
		cmocka_unit_test(a_queue_lost_while_it_is_deleted_holds_up_nobody),
		cmocka_unit_test(a_ctrl_freed_while_queues_are_deleted_leaves_nothing),
		cmocka_unit_test(a_ctrl_without_the_command_does_not_get_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
