/* SPDX-License-Identifier: BSD-3-Clause */
/* A ctrl that is lost and comes back: I/O meanwhile, counts that change, attempts and their end. */
#include "host_fake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NR_IOS 200

struct io_end {
	int nr, status;
};

static struct io_end ends[NR_IOS];
static uint8_t bufs[NR_IOS][512];
static struct nvof_ns *ns;
static bool hold;	  /* reads are not answered */
static uint32_t longest;  /* bytes of a read that came */
static uint32_t refusals; /* so many admin Connects are refused, */
static int refuse_with;
static int end_status, nr_ends;

static void io_cb(void *arg, const struct nvof_cpl *cpl)
{
	struct io_end *e = arg;

	e->nr++;
	e->status = cpl->status;
}

static void end_cb(void *arg, struct nvof_ctrl *ctrl, int status)
{
	nr_ends++;
	end_status = status;
}

static enum fake_answer on_cmd(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	if (!fq->q.qid && req->sqe.opcode == NVMF_OPCODE && fake_fctype(req) == NVMF_CONNECT && refusals) {
		refusals--;
		return fake_status(cqe, refuse_with, 0);
	}
	if (fq->q.qid && req->sqe.opcode == nvme_cmd_read)
		longest = max_u32(longest, req->data_len);
	return hold && fq->q.qid && req->sqe.opcode == nvme_cmd_read ? FAKE_HOLD : FAKE_DEFAULT;
}

/* A LIVE ctrl that is reconnected to, with an open namespace. */
static struct fake *live(unsigned int nr_queues, int loss_ms, unsigned int delay_ms, void (*more)(struct nvof_connect_opts *o))
{
	struct fake *f = fake_new();
	struct nvof_connect_opts o;

	memset(ends, 0, sizeof(ends));
	hold = false;
	refusals = 0;
	nr_ends = 0;
	f->on_cmd = on_cmd;
	fake_opts(f, &o);
	o.nr_io_queues = nr_queues;
	o.ctrl_loss_tmo_ms = loss_ms;
	o.reconnect_delay_ms = delay_ms;
	if (more)
		more(&o);
	assert_int_equal(fake_connect_opts(f, &o), 0);
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 1, &ns), 0);
	return f;
}

static void read_one(struct fake *f, unsigned int hctx, int i, int expect)
{
	assert_int_equal(nvof_read(nvof_ctrl_hctx(f->ctrl, hctx), ns, (uint64_t)i, 1, bufs[i], 0, io_cb, &ends[i]), expect);
}

static void break_off(struct fake *f, uint16_t qid)
{
	fake_fail_queue(f, qid, -ECONNRESET, "the peer closed the connection");
}

static void wait_state(struct fake *f, enum nvof_ctrl_state state)
{
	int i;

	for (i = 0; i < 2000 && nvof_ctrl_state(f->ctrl) != state; i++)
		fake_poll_ms(f, 1);
	assert_int_equal(nvof_ctrl_state(f->ctrl), state);
	fake_poll_ms(f, 3);
}

static void wait_ended(struct fake *f, int from, int to)
{
	int i, ms;

	for (i = from; i < to; i++)
		for (ms = 0; ms < 2000 && !ends[i].nr; ms++)
			fake_poll_ms(f, 1);
}

static void check_ended(int from, int to, int status)
{
	int i;

	for (i = from; i < to; i++) {
		assert_int_equal(ends[i].nr, 1);
		assert_int_equal(ends[i].status, status);
	}
}

static void fill_disk(struct fake *f)
{
	size_t i;

	for (i = 0; i < NR_IOS * 512; i++)
		f->disk[i] = (uint8_t)(i / 512 + i % 251);
}

static void check_data(const struct fake *f, int from, int to)
{
	int i;

	for (i = from; i < to; i++)
		assert_memory_equal(bufs[i], f->disk + i * 512, 512);
}

static void io_survives_the_loss_of_any_queue(void **state)
{
	static const uint16_t qids[] = { 0, 1, 4 };
	size_t k;
	int i;

	for (k = 0; k < ARRAY_SIZE(qids); k++) {
		struct fake *f = live(4, 10000, 1, NULL);
		struct nvof_ctrl_stats stats;

		fill_disk(f);
		hold = true;
		for (i = 0; i < 100; i++)
			read_one(f, (unsigned int)i % 4, i, 0);
		fake_poll_ms(f, 2);
		hold = false;
		break_off(f, qids[k]);
		fake_poll_ms(f, 1);
		/* Submitted while it is away, or just back: all the same. */
		for (; i < 120; i++)
			read_one(f, (unsigned int)i % 4, i, 0);
		wait_state(f, NVOF_CTRL_LIVE);
		check_ended(0, 120, 0);
		check_data(f, 0, 120);
		nvof_ctrl_stats(f->ctrl, &stats);
		assert_int_equal(stats.nr_reconnects, 1);
		assert_int_equal(stats.nr_retries, 100);
		assert_string_equal(nvof_ctrl_errmsg(f->ctrl), "");
		assert_int_equal(nvof_ctrl_nr_io_queues(f->ctrl), 4);
		fake_free(f);
	}
}

static void splits_and_other_commands_survive_as_well(void **state)
{
	struct fake *f = live(1, 10000, 1, NULL);
	struct nvof_hctx *hctx = nvof_ctrl_hctx(f->ctrl, 0);
	size_t len = 4u << 20, i;
	uint8_t *data = malloc(len);

	for (i = 0; i < len; i++)
		data[i] = (uint8_t)(i * 7 + i / 4096);
	assert_int_equal(nvof_write(hctx, ns, 0, (uint32_t)(len / 512), data, 0, io_cb, &ends[0]), 0);
	assert_int_equal(nvof_flush(hctx, ns, io_cb, &ends[1]), 0);
	assert_int_equal(nvof_write_zeroes(hctx, ns, 8192, 10, 0, io_cb, &ends[2]), 0);
	break_off(f, 1);
	wait_state(f, NVOF_CTRL_LIVE);
	for (i = 0; i < 100 && !ends[0].nr; i++)
		fake_poll_ms(f, 1);
	check_ended(0, 3, 0);
	assert_memory_equal(f->disk, data, len);
	free(data);
	fake_free(f);
}

static void a_passthru_is_not_sent_twice(void **state)
{
	struct fake *f = live(1, 10000, 1, NULL);
	struct nvof_cmd cmd = { .opcode = nvme_cmd_read, .nsid = 1 };

	hold = true;
	assert_int_equal(nvof_io_passthru(nvof_ctrl_hctx(f->ctrl, 0), &cmd, NVOF_DIR_FROM_CTRL, bufs[0], 512, io_cb, &ends[0]), 0);
	fake_poll_ms(f, 2);
	break_off(f, 1);
	fake_poll_ms(f, 1);
	check_ended(0, 1, -ECONNRESET);
	wait_state(f, NVOF_CTRL_LIVE);
	check_ended(0, 1, -ECONNRESET);
	fake_free(f);
}

static uint32_t granted(uint32_t n)
{
	return (n - 1) << 16 | (n - 1);
}

/* C038 */
static void the_number_of_queues_may_change_each_time(void **state)
{
	static const uint32_t counts[] = { 3, 8, 1, 16, 2, 16, 5 };
	struct fake *f = fake_new();
	struct nvof_connect_opts o;
	unsigned int nr_hctx = 8, i, k, round;
	int n;

	memset(ends, 0, sizeof(ends));
	hold = false;
	refusals = 0;
	f->on_cmd = on_cmd;
	fill_disk(f);
	fake_opts(f, &o);
	o.nr_io_queues = 16;
	o.queue_size = 8;
	o.ctrl_loss_tmo_ms = -1;
	o.reconnect_delay_ms = 1;
	f->queues_scripted = true;
	f->queues_result = granted(8);
	assert_int_equal(fake_connect_opts(f, &o), 0);
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 1, &ns), 0);
	assert_int_equal(nvof_ctrl_nr_hctx(f->ctrl), 8);
	for (round = 0; round < 10; round++) {
		for (k = 0; k < ARRAY_SIZE(counts); k++) {
			memset(ends, 0, sizeof(ends));
			memset(bufs, 0, sizeof(bufs));
			n = 0;
			/* Every hctx is full when the connection goes: with 7 of its own slots, or its share of another's. */
			hold = true;
			for (i = 0; i < nr_hctx; i++)
				while (nvof_hctx_nr_free(nvof_ctrl_hctx(f->ctrl, i)))
					read_one(f, i, n++, 0);
			fake_poll_ms(f, 2);
			hold = false;
			f->max_out = 0;
			f->queues_result = granted(counts[k]);
			break_off(f, (uint16_t)(k % 2));
			wait_state(f, NVOF_CTRL_LIVE);
			assert_int_equal(nvof_ctrl_nr_io_queues(f->ctrl), counts[k]);
			nr_hctx = nr_hctx > counts[k] ? nr_hctx : counts[k];
			assert_int_equal(nvof_ctrl_nr_hctx(f->ctrl), nr_hctx);
			for (i = 0; i < 30; i++)
				fake_poll_ms(f, 1);
			check_ended(0, n, 0);
			check_data(f, 0, n);
			assert_true(f->max_out <= 7);
			/* And each hctx still works. */
			for (i = 0; i < nr_hctx; i++) {
				ends[i] = (struct io_end){ 0 };
				read_one(f, i, (int)i, 0);
				fake_poll_ms(f, 1);
			}
			check_ended(0, (int)nr_hctx, 0);
		}
	}
	fake_free(f);
}

static void queues_may_become_smaller(void **state)
{
	struct fake *f = live(1, 10000, 1, NULL);
	int i;

	fill_disk(f);
	hold = true;
	for (i = 0; i < 127; i++)
		read_one(f, 0, i, 0);
	read_one(f, 0, 127, -EAGAIN);
	fake_poll_ms(f, 2);
	hold = false;
	f->max_out = 0;
	f->cap = (f->cap & ~UINT64_C(0xffff)) | 7; /* MQES: 8 entries */
	break_off(f, 1);
	wait_state(f, NVOF_CTRL_LIVE);
	for (i = 0; i < 100; i++)
		fake_poll_ms(f, 1);
	check_ended(0, 127, 0);
	check_data(f, 0, 127);
	assert_int_equal(f->max_out, 7);
	assert_int_equal(nvof_hctx_nr_free(nvof_ctrl_hctx(f->ctrl, 0)), 7);
	fake_free(f);
}

/* One command, one that was in parts already, and one of several pieces of memory; through queues that are smaller now, too. */
static void what_waits_goes_in_smaller_parts_when_mdts_is_smaller(void **state)
{
	static const uint32_t nlb[] = { 256, 2048, 256, 200 };
	int mqes, k;

	for (mqes = 127; mqes > 0; mqes = mqes / 8 - 1) {
		struct fake *f = live(1, 10000, 1, NULL);
		struct nvof_hctx *h = nvof_ctrl_hctx(f->ctrl, 0);
		uint8_t *buf[4];
		struct iovec iov[3];

		fill_disk(f);
		hold = true;
		for (k = 0; k < 4; k++)
			buf[k] = calloc(nlb[k], 512);
		iov[0] = (struct iovec){ buf[2], 1000 };
		iov[1] = (struct iovec){ buf[2] + 1000, 100000 };
		iov[2] = (struct iovec){ buf[2] + 101000, 256 * 512 - 101000 };
		for (k = 0; k < 4; k++)
			assert_int_equal(k == 2 ? nvof_readv(h, ns, 5, nlb[k], iov, 3, 0, io_cb, &ends[k])
						: nvof_read(h, ns, 5, nlb[k], buf[k], 0, io_cb, &ends[k]),
					 0);
		fake_poll_ms(f, 2);
		assert_int_equal(longest, 128 << 10);
		hold = false;
		longest = 0;
		f->id.mdts = 3;
		f->cap = (f->cap & ~UINT64_C(0xffff)) | (uint64_t)mqes;
		break_off(f, 1);
		wait_state(f, NVOF_CTRL_LIVE);
		fake_poll_ms(f, 100);
		check_ended(0, 4, 0);
		for (k = 0; k < 4; k++) {
			assert_memory_equal(buf[k], f->disk + 5 * 512, nlb[k] * 512);
			free(buf[k]);
		}
		assert_int_equal(longest, 32 << 10);
		fake_free(f);
	}
}

/* What is left of one that was begun with the larger limit; and a loss in the middle of the smaller parts. */
static void parts_of_parts_survive_another_loss(void **state)
{
	struct fake *f = live(1, 10000, 1, NULL);
	uint8_t *buf = calloc(4096, 512);
	int i;

	fill_disk(f);
	hold = true;
	assert_int_equal(nvof_read(nvof_ctrl_hctx(f->ctrl, 0), ns, 0, 4096, buf, 0, io_cb, &ends[0]), 0);
	fake_poll_ms(f, 2);
	for (i = 0; i < 3; i++) {
		f->id.mdts = (uint8_t)(4 - i);
		longest = 0;
		break_off(f, 1);
		wait_state(f, NVOF_CTRL_LIVE);
		fake_poll_ms(f, 5);
		assert_int_equal(longest, 4096 << f->id.mdts);
	}
	hold = false;
	break_off(f, 0);
	wait_state(f, NVOF_CTRL_LIVE);
	fake_poll_ms(f, 100);
	check_ended(0, 1, 0);
	assert_memory_equal(buf, f->disk, 4096 * 512);
	free(buf);
	fake_free(f);
}

static void no_more_io_gathers_than_could_be_under_way(void **state)
{
	struct fake *f = live(1, -1, 100000, NULL);
	int i;

	refusals = 1;
	refuse_with = 0x181; /* busy */
	break_off(f, 1);
	fake_poll_ms(f, 5);
	assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_CONNECTING);
	for (i = 0; i < 127; i++)
		read_one(f, 0, i, 0);
	read_one(f, 0, i, -EAGAIN);
	assert_int_equal(nvof_hctx_nr_free(nvof_ctrl_hctx(f->ctrl, 0)), 0);
	nvof_ctrl_free(f->ctrl);
	f->ctrl = NULL;
	check_ended(0, 127, -ECANCELED);
	fake_free(f);
}

static int fail_qid, fail_state, fail_how;

static int fail_at(struct fake *f, uint16_t qid, enum queue_state state)
{
	if (qid != fail_qid || (int)state != fail_state)
		return 0;
	fail_qid = -1; /* once */
	return fail_how;
}

static enum fake_answer fail_connect(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	if (fq->q.qid == fail_qid && fail_state == QUEUE_CONNECT && req->sqe.opcode == NVMF_OPCODE && fake_fctype(req) == NVMF_CONNECT) {
		fail_qid = -1;
		return fail_how == 1 ? FAKE_HOLD : fail_how == 2 ? fake_status(cqe, 0x181, 0) : FAKE_CLOSE;
	}
	return on_cmd(f, fq, req, cqe);
}

/* C027.  Refusal, silence, close: at every queue and in every state the next attempt follows, nothing is lost or left behind. */
static void an_attempt_may_fail_anywhere(void **state)
{
	static const int hows[] = { -ECONNREFUSED, 1, 2 };
	static const int states[] = { QUEUE_NEW, QUEUE_RESOLVE, QUEUE_LINK, QUEUE_ICREQ, QUEUE_CONNECT };
	size_t s, h;
	int qid, i;

	for (s = 0; s < ARRAY_SIZE(states); s++)
		for (h = 0; h < ARRAY_SIZE(hows); h++)
			for (qid = 0; qid <= 4; qid++) {
				struct fake *f;

				if (states[s] != QUEUE_CONNECT && hows[h] == 2)
					continue;
				if (states[s] == QUEUE_NEW && hows[h] > 0)
					continue;
				fail_qid = -1;
				f = live(4, -1, 1, NULL);
				f->ctrl->p.connect_tmo_ms = 20; /* of each attempt from now on */
				f->on_state = fail_at;
				f->on_cmd = fail_connect;
				hold = true;
				for (i = 0; i < 20; i++)
					read_one(f, (unsigned int)i % 4, i, 0);
				fake_poll_ms(f, 2);
				hold = false;
				fail_qid = qid;
				fail_state = states[s];
				fail_how = hows[h];
				break_off(f, 2);
				fake_poll_ms(f, 1);
				wait_state(f, NVOF_CTRL_LIVE);
				assert_int_equal(fail_qid, -1);
				check_ended(0, 20, 0);
				fake_free(f);
			}
}

static uint64_t ms_since(uint64_t start)
{
	return (clock_ns() - start) / NSEC_PER_MSEC;
}

/* C025: one at once, then one after each delay, the last when the time is over. */
static void attempts_last_as_long_as_they_were_told(void **state)
{
	static const struct {
		int loss_ms;
		unsigned int delay_ms;
		uint32_t least, most; /* attempts.  On a busy machine a delay may be longer than it was meant to be. */
	} t[] = { { 600, 10000, 2, 2 }, { 600, 200, 2, 4 }, { 1, 1, 1, 2 } };
	struct nvof_recovery info;
	size_t k;

	for (k = 0; k < ARRAY_SIZE(t); k++) {
		struct fake *f = live(1, t[k].loss_ms, t[k].delay_ms, NULL);
		uint64_t start = clock_ns();

		hold = true;
		read_one(f, 0, 0, 0);
		refusals = 1000;
		refuse_with = 0x181;
		break_off(f, 0);
		fake_poll_ms(f, 1);
		if (nvof_ctrl_recovery(f->ctrl, &info))
			assert_true(info.nr_attempts >= 1 && info.left_ms <= t[k].loss_ms);
		wait_state(f, NVOF_CTRL_DEAD);
		assert_true(ms_since(start) >= (uint64_t)t[k].loss_ms);
		assert_false(nvof_ctrl_recovery(f->ctrl, &info));
		assert_in_range(1000 - refusals, t[k].least, t[k].most);
		assert_contains(nvof_ctrl_errmsg(f->ctrl), t[k].least > 1 ? " attempts to reconnect within" : "to reconnect within");
		assert_contains(nvof_ctrl_errmsg(f->ctrl), "qid 0 to 192.0.2.7:4420: the peer closed the connection; ");
		assert_contains(nvof_ctrl_errmsg(f->ctrl), "Busy");
		assert_int_equal(ends[0].nr, 1);
		assert_true(ends[0].status < 0);
		read_one(f, 0, 1, -ENOTCONN);
		fake_free(f);
	}
}

static unsigned int nr_attempt_events;

static void note_attempt(void *arg, struct nvof_ctrl *ctrl, const struct nvof_event *event)
{
	struct nvof_recovery info;

	if (event->type != NVOF_EVENT_ATTEMPT)
		return;
	nr_attempt_events++;
	assert_true(nvof_ctrl_recovery(ctrl, &info));
	assert_int_equal(info.nr_attempts, nr_attempt_events);
	assert_int_equal(info.status, 0x181);
	assert_contains(nvof_ctrl_errmsg(ctrl), "Busy");
}

static void each_attempt_that_fails_is_told(void **state)
{
	struct fake *f = live(2, -1, 1, NULL);

	f->ctrl->p.event = note_attempt;
	nr_attempt_events = 0;
	hold = true;
	read_one(f, 0, 0, 0);
	refusals = 5;
	refuse_with = 0x181;
	break_off(f, 0);
	hold = false;
	fake_poll_ms(f, 1);
	wait_state(f, NVOF_CTRL_LIVE);
	assert_int_equal(nr_attempt_events, 5);
	check_ended(0, 1, 0);
	fake_free(f);
}

static enum fake_answer drop_identify_ns(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	return !fq->q.qid && req->sqe.opcode == nvme_admin_identify && req->sqe.nsid ? FAKE_CLOSE : on_cmd(f, fq, req, cqe);
}

/* How often it came back within the 200 ms that it has. */
static uint32_t comes_and_goes(void)
{
	struct fake *f = live(1, 200, 20, NULL);
	struct nvof_ctrl_stats stats;
	uint64_t start = clock_ns();
	int i;

	hold = true;
	read_one(f, 0, 0, 0);
	fake_poll_ms(f, 1);
	f->on_cmd = drop_identify_ns;
	break_off(f, 1);
	for (i = 0; i < 5000 && nvof_ctrl_state(f->ctrl) != NVOF_CTRL_DEAD; i++)
		fake_poll_ms(f, 1);
	assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_DEAD);
	assert_true(ms_since(start) >= 200);
	nvof_ctrl_stats(f->ctrl, &stats);
	assert_true(stats.nr_reconnects >= 1 && stats.nr_reconnects <= 12);
	assert_int_equal(ends[0].nr, 1);
	fake_free(f);
	return (uint32_t)stats.nr_reconnects;
}

/* A ctrl that comes back and goes at once, again and again: one loss, with a delay between attempts, and an end. */
static void a_ctrl_that_comes_and_goes_is_one_loss(void **state)
{
	/* A machine that stands still for all of the time does so not each time. */
	assert_true(comes_and_goes() >= 2 || comes_and_goes() >= 2 || comes_and_goes() >= 2 || comes_and_goes() >= 2);
}

/* C033 */
static void a_refusal_for_good_ends_it_and_a_busy_ctrl_is_tried_again(void **state)
{
	struct fake *f = live(1, 100000, 1, NULL);

	refusals = 20;
	refuse_with = 0x181;
	break_off(f, 1);
	fake_poll_ms(f, 1);
	wait_state(f, NVOF_CTRL_LIVE);
	assert_int_equal(refusals, 0);

	refusals = 1000;
	refuse_with = 0x4184; /* invalid host, DNR */
	break_off(f, 1);
	wait_state(f, NVOF_CTRL_DEAD);
	assert_int_equal(refusals, 999);
	assert_contains(nvof_ctrl_errmsg(f->ctrl), "is not allowed to connect");
	fake_free(f);
}

static void fail_fast(struct nvof_connect_opts *o)
{
	o->fast_io_fail_tmo_ms = 60000;
}

/* As long as it was told to wait at most is over. */
static void no_more_time(struct fake *f)
{
	assert_true(timer_armed(&f->ctrl->recovery.fail_io));
	assert_in_range(f->ctrl->recovery.fail_io.deadline - f->ctrl->recovery.since, 60 * NSEC_PER_SEC, 60 * NSEC_PER_SEC);
	timer_set(f->ctx->loop, &f->ctrl->recovery.fail_io, 0);
}

static void io_waits_no_longer_than_it_was_told(void **state)
{
	struct fake *f = live(2, -1, 2, fail_fast);

	hold = true;
	read_one(f, 0, 0, 0);
	fake_poll_ms(f, 1);
	refusals = UINT32_MAX;
	refuse_with = 0x181;
	break_off(f, 1);
	fake_poll_ms(f, 1);
	read_one(f, 1, 1, 0);
	assert_int_equal(ends[0].nr + ends[1].nr, 0);
	no_more_time(f);
	wait_ended(f, 0, 2);
	check_ended(0, 2, -ECONNRESET);
	read_one(f, 0, 2, -ENOTCONN);
	refusals = 0;
	hold = false;
	wait_state(f, NVOF_CTRL_LIVE);
	read_one(f, 0, 2, 0);
	fake_poll_ms(f, 1);
	check_ended(2, 3, 0);
	fake_free(f);
}

static enum fake_answer ignore_identify_ns(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	return !fq->q.qid && req->sqe.opcode == nvme_admin_identify && req->sqe.nsid ? FAKE_HOLD : on_cmd(f, fq, req, cqe);
}

/* LIVE, but the namespaces are not known again yet. */
static void io_waits_no_longer_for_a_ctrl_that_is_not_ready_either(void **state)
{
	struct fake *f = live(1, -1, 1, fail_fast);

	hold = true;
	read_one(f, 0, 0, 0);
	fake_poll_ms(f, 1);
	f->on_cmd = ignore_identify_ns;
	break_off(f, 1);
	fake_poll_ms(f, 1);
	wait_state(f, NVOF_CTRL_LIVE);
	assert_int_equal(ends[0].nr, 0);
	no_more_time(f);
	wait_ended(f, 0, 1);
	check_ended(0, 1, -ECONNRESET);
	read_one(f, 0, 1, -ENOTCONN);
	fake_free(f);
}

static void a_command_that_kills_the_ctrl_is_given_up_in_the_end(void **state)
{
	struct fake *f = live(1, -1, 1, NULL);
	int i;

	hold = true;
	read_one(f, 0, 0, 0);
	for (i = 0; i < 6; i++) {
		fake_poll_ms(f, 2);
		assert_int_equal(ends[0].nr, 0);
		break_off(f, 1);
		fake_poll_ms(f, 1);
		wait_state(f, NVOF_CTRL_LIVE);
	}
	check_ended(0, 1, -ECONNRESET);
	fake_free(f);
}

/* Until the ctrl was lost and came back nr times, and what it was asked then is answered. */
static void wait_reconnects(struct fake *f, unsigned int nr)
{
	struct nvof_ctrl_stats stats;
	int i;

	for (i = 0; i < 5000; i++) {
		nvof_ctrl_stats(f->ctrl, &stats);
		if (stats.nr_reconnects == nr)
			break;
		fake_poll_ms(f, 1);
	}
	assert_int_equal(stats.nr_reconnects, nr);
	fake_poll_ms(f, 3);
}

static void in_time(struct nvof_connect_opts *o)
{
	o->io_tmo_ms = 100;
}

static void a_command_that_is_not_answered_resets_the_ctrl_and_is_sent_again(void **state)
{
	struct fake *f = live(1, -1, 1, in_time);

	hold = true;
	read_one(f, 0, 0, 0);
	fake_poll_ms(f, 5);
	hold = false;
	wait_reconnects(f, 1);
	check_ended(0, 1, 0);
	/* Time-outs count after a reconnect, too. */
	hold = true;
	read_one(f, 0, 1, 0);
	fake_poll_ms(f, 5);
	hold = false;
	wait_reconnects(f, 2);
	check_ended(1, 2, 0);
	fake_free(f);
}

static void reset_is_for_those_who_recover(void **state)
{
	struct fake *f = live(2, 0, 1, NULL);
	assert_int_equal(nvof_ctrl_reset(f->ctrl), -ENOTSUP);
	fake_free(f);
	f = live(2, 1000, 1, NULL);
	hold = true;
	read_one(f, 0, 0, 0);
	fake_poll_ms(f, 1);
	hold = false;
	assert_int_equal(nvof_ctrl_reset(f->ctrl), 0);
	assert_int_equal(nvof_ctrl_reset(f->ctrl), 0);
	wait_reconnects(f, 1);
	check_ended(0, 1, 0);
	nvof_ctrl_disconnect_sync(f->ctrl);
	assert_int_equal(nvof_ctrl_reset(f->ctrl), -ENOTCONN);
	fake_free(f);
}

static void little_patience(struct nvof_connect_opts *o)
{
	o->remove_timeout_ms = 1;
}

/* After each number of milliseconds into the outage; and from inside the event that tells of it. */
static void it_can_be_disconnected_or_freed_at_any_time(void **state)
{
	unsigned int ms, how;
	int i;

	for (how = 0; how < 2; how++)
		for (ms = 0; ms < 12; ms++) {
			struct fake *f = live(3, -1, 4, little_patience);

			hold = true;
			for (i = 0; i < 9; i++)
				read_one(f, (unsigned int)i % 3, i, 0);
			fake_poll_ms(f, 1);
			refusals = ms % 3;
			refuse_with = 0x181;
			break_off(f, 1);
			if (ms)
				fake_poll_ms(f, ms);
			if (how) {
				assert_int_equal(nvof_ctrl_disconnect(f->ctrl, end_cb, NULL), 0);
				for (i = 0; i < 2000 && !nr_ends; i++)
					fake_poll_ms(f, 1);
				assert_int_equal(nr_ends, 1);
				assert_int_equal(end_status, 0);
				assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_DEAD);
			} else {
				nvof_ctrl_free(f->ctrl);
				f->ctrl = NULL;
			}
			check_ended(0, 9, -ECANCELED);
			fake_free(f);
		}
}

static void on_event_free(void *arg, struct nvof_ctrl *ctrl, const struct nvof_event *event)
{
	struct fake *f = arg;

	if (event->type == NVOF_EVENT_STATE && nvof_ctrl_state(ctrl) == NVOF_CTRL_RESETTING) {
		nvof_ctrl_free(ctrl);
		f->ctrl = NULL;
	}
}

static struct fake *event_fake;

static void free_on_event(struct nvof_connect_opts *o)
{
	event_fake = o->event_arg;
	o->event = on_event_free;
}

static void it_can_be_freed_when_the_loss_is_told(void **state)
{
	struct fake *f = live(2, -1, 1, free_on_event);

	hold = true;
	read_one(f, 0, 0, 0);
	fake_poll_ms(f, 1);
	break_off(f, 0);
	fake_poll_ms(f, 5);
	assert_null(f->ctrl);
	check_ended(0, 1, -ECANCELED);
	assert_ptr_equal(event_fake, f);
	fake_free(f);
}

static void another_namespace_under_the_same_id_is_not_written_to(void **state)
{
	static const uint8_t uuid_a[] = { NVME_NIDT_UUID, 16, 0, 0, 1 }, uuid_b[] = { NVME_NIDT_UUID, 16, 0, 0, 2 };
	struct fake *f = fake_new();
	struct nvof_connect_opts o;
	struct nvof_ns *twin;
	uint32_t before;

	memset(ends, 0, sizeof(ends));
	refusals = 0;
	hold = false;
	f->on_cmd = on_cmd;
	memcpy(f->desc, uuid_a, sizeof(uuid_a));
	fake_opts(f, &o);
	o.ctrl_loss_tmo_ms = -1;
	o.reconnect_delay_ms = 1;
	assert_int_equal(fake_connect_opts(f, &o), 0);
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 1, &ns), 0);
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 1, &twin), 0);
	/* The same again: goes on, with the size it has now. */
	f->id_ns.nsze = htole64(100);
	break_off(f, 1);
	fake_poll_ms(f, 1);
	wait_state(f, NVOF_CTRL_LIVE);
	assert_int_equal(nvof_ns_nr_blocks(ns), 100);
	assert_int_equal(nvof_ns_nr_blocks(twin), 100);
	read_one(f, 0, 0, 0);
	fake_poll_ms(f, 1);
	check_ended(0, 1, 0);

	hold = true;
	ends[0] = (struct io_end){ 0 };
	read_one(f, 0, 0, 0);
	fake_poll_ms(f, 1);
	hold = false;
	memcpy(f->desc, uuid_b, sizeof(uuid_b));
	before = f->nr_io_cmds;
	break_off(f, 1);
	fake_poll_ms(f, 1);
	wait_state(f, NVOF_CTRL_LIVE);
	check_ended(0, 1, -ESTALE);
	assert_int_equal(f->nr_io_cmds, before);
	read_one(f, 0, 1, -ESTALE);
	assert_int_equal(nvof_flush(nvof_ctrl_hctx(f->ctrl, 0), twin, io_cb, &ends[2]), -ESTALE);
	/* Opened anew it is another one. */
	nvof_ns_close(ns);
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 1, &ns), 0);
	read_one(f, 0, 3, 0);
	fake_poll_ms(f, 1);
	check_ended(3, 4, 0);
	fake_free(f);
}

static void the_loss_of_a_ctrl_just_come_back_is_dealt_with(void **state)
{
	struct fake *f = live(2, -1, 1, NULL);
	int i, k;

	for (k = 0; k < 40; k++) {
		hold = true;
		memset(ends, 0, sizeof(ends));
		for (i = 0; i < 10; i++)
			read_one(f, (unsigned int)i % 2, i, 0);
		fake_poll_ms(f, 1);
		hold = false;
		break_off(f, 1);
		/* Again, while namespaces are looked at or what was held is sent. */
		for (i = 0; i < 200 && nvof_ctrl_state(f->ctrl) != NVOF_CTRL_CONNECTING; i++)
			nvof_ctx_poll(f->ctx, 0);
		for (i = 0; i < 2000 && nvof_ctrl_state(f->ctrl) != NVOF_CTRL_LIVE; i++)
			nvof_ctx_poll(f->ctx, 0);
		for (i = 0; i < k / 4; i++)
			nvof_ctx_poll(f->ctx, 0);
		break_off(f, (uint16_t)(k % 3));
		fake_poll_ms(f, 1);
		wait_state(f, NVOF_CTRL_LIVE);
		check_ended(0, 10, 0);
	}
	fake_free(f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(io_survives_the_loss_of_any_queue),
		cmocka_unit_test(splits_and_other_commands_survive_as_well),
		cmocka_unit_test(a_passthru_is_not_sent_twice),
		cmocka_unit_test(the_number_of_queues_may_change_each_time),
		cmocka_unit_test(queues_may_become_smaller),
		cmocka_unit_test(what_waits_goes_in_smaller_parts_when_mdts_is_smaller),
		cmocka_unit_test(parts_of_parts_survive_another_loss),
		cmocka_unit_test(no_more_io_gathers_than_could_be_under_way),
		cmocka_unit_test(an_attempt_may_fail_anywhere),
		cmocka_unit_test(attempts_last_as_long_as_they_were_told),
		cmocka_unit_test(each_attempt_that_fails_is_told),
		cmocka_unit_test(a_ctrl_that_comes_and_goes_is_one_loss),
		cmocka_unit_test(a_refusal_for_good_ends_it_and_a_busy_ctrl_is_tried_again),
		cmocka_unit_test(io_waits_no_longer_than_it_was_told),
		cmocka_unit_test(io_waits_no_longer_for_a_ctrl_that_is_not_ready_either),
		cmocka_unit_test(a_command_that_kills_the_ctrl_is_given_up_in_the_end),
		cmocka_unit_test(a_command_that_is_not_answered_resets_the_ctrl_and_is_sent_again),
		cmocka_unit_test(reset_is_for_those_who_recover),
		cmocka_unit_test(it_can_be_disconnected_or_freed_at_any_time),
		cmocka_unit_test(it_can_be_freed_when_the_loss_is_told),
		cmocka_unit_test(another_namespace_under_the_same_id_is_not_written_to),
		cmocka_unit_test(the_loss_of_a_ctrl_just_come_back_is_dealt_with),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
