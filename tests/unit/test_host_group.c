/* SPDX-License-Identifier: BSD-3-Clause */
/* Several queues per hctx: how they are shared out, one tag set, and which queue a request takes. */
#include "host_fake.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define MAX_IOS 4096

static struct nvof_ns *ns;
static struct host_req *out[MAX_IOS]; /* held by the fake target, in order */
static uint16_t out_qid[MAX_IOS];
static int nr_out;
static bool hold;
static uint16_t stuck; /* a queue that answers nothing; 0: none */
static int ended[MAX_IOS], status_of[MAX_IOS], nr_ended;
static uint8_t *bufs;

static void io_cb(void *arg, const struct nvof_cpl *cpl)
{
	intptr_t i = (intptr_t)arg;

	ended[i]++;
	status_of[i] = cpl->status;
	nr_ended++;
}

static enum fake_answer on_cmd(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	if (!fq->q.qid || req->sqe.opcode != nvme_cmd_read || (!hold && fq->q.qid != stuck))
		return FAKE_DEFAULT;
	out[nr_out] = req;
	out_qid[nr_out++] = fq->q.qid;
	return FAKE_HOLD;
}

static struct fake *live(unsigned int nr_queues, unsigned int per_hctx, enum nvof_policy policy, unsigned int granted, int loss_ms)
{
	struct fake *f = fake_new();
	struct nvof_connect_opts o;

	nr_out = nr_ended = 0;
	hold = false;
	stuck = 0;
	memset(ended, 0, sizeof(ended));
	f->on_cmd = on_cmd;
	fake_opts(f, &o);
	o.nr_io_queues = nr_queues;
	o.queues_per_hctx = per_hctx;
	o.policy = policy;
	o.queue_size = 8;
	o.ctrl_loss_tmo_ms = loss_ms;
	o.reconnect_delay_ms = 1;
	f->queues_scripted = granted;
	f->queues_result = (granted - 1) * 0x10001u;
	assert_int_equal(fake_connect_opts(f, &o), 0);
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 1, &ns), 0);
	return f;
}

static void read_at(struct fake *f, unsigned int hctx, intptr_t i, uint32_t nlb)
{
	assert_int_equal(nvof_read(nvof_ctrl_hctx(f->ctrl, hctx), ns, (uint64_t)i, nlb, bufs + i * 512, 0, io_cb, (void *)i), 0);
}

static unsigned int on_queue(uint16_t qid)
{
	unsigned int n = 0;
	int i;

	for (i = 0; i < nr_out; i++)
		n += out_qid[i] == qid;
	return n;
}

static void release(struct fake *f)
{
	int i, n = nr_out;

	hold = false;
	nr_out = 0;
	for (i = 0; i < n; i++) {
		fake_put(out[i], f->disk + (size_t)le32toh(out[i]->sqe.cdw10) * 512, out[i]->data_len);
		fake_complete(out[i], 0, 0);
	}
}

static void all_ended_well(int n)
{
	int i;

	for (i = 0; i < n; i++) {
		assert_int_equal(ended[i], 1);
		assert_int_equal(status_of[i], 0);
	}
}

static void queues_are_shared_out_and_the_first_hctxs_get_the_rest(void **state)
{
	static const struct {
		unsigned int queues, per_hctx, granted, nr_hctx, of[4];
	} cases[] = {
		{ 8, 4, 0, 2, { 4, 4 } }, { 7, 3, 0, 2, { 4, 3 } },	  { 2, 4, 0, 1, { 2 } },
		{ 16, 16, 5, 1, { 5 } },  { 9, 2, 0, 4, { 3, 2, 2, 2 } }, { 4, 1, 0, 4, { 1, 1, 1, 1 } },
		{ 31, 16, 0, 1, { 31 } }, { 12, 4, 11, 2, { 6, 5 } },	  { 3, 3, 1, 1, { 1 } },
	};
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fake *f = live(cases[i].queues, cases[i].per_hctx, NVOF_POLICY_LEAST_BYTES, cases[i].granted, 0);

		assert_int_equal(nvof_ctrl_nr_hctx(f->ctrl), cases[i].nr_hctx);
		for (k = 0; k < cases[i].nr_hctx; k++) {
			struct nvof_hctx *h = nvof_ctrl_hctx(f->ctrl, k);

			assert_int_equal(h->nr_queues, cases[i].of[k]);
			assert_int_equal(nvof_hctx_nr_free(h), 7 * cases[i].of[k]);
		}
		fake_free(f);
	}
}

static void by_default_there_is_a_hctx_for_each_cpu(void **state)
{
	cpu_set_t cpus;
	struct fake *f;

	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	f = live(0, 3, NVOF_POLICY_LEAST_BYTES, 0, 0);
	assert_int_equal(nvof_ctrl_nr_hctx(f->ctrl), CPU_COUNT(&cpus));
	assert_int_equal(nvof_ctrl_nr_io_queues(f->ctrl), 3 * CPU_COUNT(&cpus));
	fake_free(f);
}

static void group_sizes_out_of_range_are_refused(void **state)
{
	struct fake *f = fake_new();
	struct nvof_connect_opts o;

	fake_opts(f, &o);
	o.queues_per_hctx = 0;
	assert_int_equal(nvof_ctrl_connect(f->ctx, &o, NULL, NULL, &f->ctrl), -EINVAL);
	assert_contains(nvof_ctx_errmsg(f->ctx), "queues_per_hctx 0");
	o.queues_per_hctx = 17;
	assert_int_equal(nvof_ctrl_connect(f->ctx, &o, NULL, NULL, &f->ctrl), -EINVAL);
	o.queues_per_hctx = 16;
	o.policy = (enum nvof_policy)7;
	assert_int_equal(nvof_ctrl_connect(f->ctx, &o, NULL, NULL, &f->ctrl), -EINVAL);
	assert_contains(nvof_ctx_errmsg(f->ctx), "policy 7");
	fake_free(f);
}

static void a_shallow_hctx_stays_on_one_queue(void **state)
{
	enum nvof_policy policy;
	int i, k;

	for (policy = NVOF_POLICY_LEAST_BYTES; policy <= NVOF_POLICY_ROUND_ROBIN; policy++) {
		struct fake *f = live(4, 4, policy, 0, 0);

		hold = true;
		for (k = 0; k < 8; k++) {
			for (i = 0; i < 4; i++)
				read_at(f, 0, i, 8);
			fake_poll_ms(f, 1);
			assert_int_equal(nr_out, 4);
			assert_int_equal(on_queue(1), 4);
			release(f);
			memset(ended, 0, sizeof(ended));
			hold = true;
		}
		fake_free(f);
	}
}

static void a_full_group_holds_what_its_queues_hold_under_different_ids(void **state)
{
	enum nvof_policy policy;
	bool seen[256];
	int i, n;

	for (policy = NVOF_POLICY_LEAST_BYTES; policy <= NVOF_POLICY_ROUND_ROBIN; policy++) {
		struct fake *f = live(7, 3, policy, 0, 0);

		hold = true;
		for (i = 0; i < 28; i++)
			read_at(f, 0, i, 1);
		assert_int_equal(nvof_read(nvof_ctrl_hctx(f->ctrl, 0), ns, 0, 1, bufs, 0, io_cb, NULL), -EAGAIN);
		fake_poll_ms(f, 1);
		n = nr_out;
		assert_int_equal(n, 28);
		memset(seen, 0, sizeof(seen));
		for (i = 0; i < n; i++) {
			assert_false(seen[out[i]->cid]);
			seen[out[i]->cid] = true;
			assert_int_equal(out_qid[i] % 2, 1); /* 1, 3, 5 and 7 are the first hctx's */
		}
		assert_true(f->max_out <= 7);
		release(f);
		all_ended_well(28);
		fake_free(f);
	}
}

static void round_robin_takes_turns(void **state)
{
	struct fake *f = live(4, 4, NVOF_POLICY_ROUND_ROBIN, 0, 0);
	uint16_t qid;
	int i;

	hold = true;
	for (i = 0; i < 4 + 20; i++)
		read_at(f, 0, i, 1);
	fake_poll_ms(f, 1);
	assert_int_equal(on_queue(1), 4 + 3); /* the shallow ones first; then it is full */
	for (qid = 2; qid <= 4; qid++)
		assert_true(on_queue(qid) >= 5 && on_queue(qid) <= 7);
	release(f);
	fake_free(f);
}

static void large_requests_go_to_the_queue_with_the_fewest_bytes(void **state)
{
	struct fake *f = live(4, 4, NVOF_POLICY_LEAST_BYTES, 0, 0);
	uint16_t qid;
	int i;

	hold = true;
	/* One block keeps the hctx from being alone, so that nothing is split. */
	for (i = 0; i < 4; i++)
		read_at(f, 0, i, 1);
	for (; i < 4 + 16; i++)
		read_at(f, 0, i, 256);
	fake_poll_ms(f, 1);
	assert_int_equal(nr_out, 20);
	for (qid = 1; qid <= 4; qid++)
		assert_true(on_queue(qid) >= 4 && on_queue(qid) <= 7);
	release(f);
	all_ended_well(20);
	fake_free(f);
}

static void a_queue_that_is_stuck_is_relieved(void **state)
{
	struct fake *f = live(4, 4, NVOF_POLICY_LEAST_BYTES, 0, 0);
	int i;

	stuck = 1;
	for (i = 0; i < 6; i++)
		read_at(f, 0, i, 1);
	fake_poll_ms(f, 5);
	assert_int_equal(on_queue(1), 6); /* nobody could know */
	assert_int_equal(nr_ended, 0);
	for (; i < 100; i++) {
		read_at(f, 0, i, 1);
		fake_poll_ms(f, 1);
	}
	assert_true(nr_ended >= 93); /* all but those six go on; one more at most finds its way there */
	stuck = 0;
	release(f);
	all_ended_well(100);
	fake_free(f);
}

static void a_large_request_that_is_alone_uses_all_queues(void **state)
{
	struct fake *f = live(4, 4, NVOF_POLICY_LEAST_BYTES, 0, 0);
	struct iovec iov[2] = { { bufs, 300000 }, { bufs + 300000, (2048 * 512) - 300000 } };
	uint16_t qid;
	size_t i;

	for (i = 0; i < 2048 * 512; i++)
		f->disk[i] = (uint8_t)(i / 512 + i % 253);
	hold = true;
	read_at(f, 0, 0, 2048);
	fake_poll_ms(f, 1);
	for (qid = 1; qid <= 4; qid++)
		assert_int_equal(on_queue(qid), 2); /* 8 commands of 128 KiB, the MDTS */
	release(f);
	fake_poll_ms(f, 1);
	all_ended_well(1);
	assert_memory_equal(bufs, f->disk, 2048 * 512);
	memset(bufs, 0, 2048 * 512);
	memset(ended, 0, sizeof(ended));
	assert_int_equal(nvof_readv(nvof_ctrl_hctx(f->ctrl, 0), ns, 0, 2048, iov, 2, 0, io_cb, NULL), 0);
	fake_poll_ms(f, 5);
	all_ended_well(1);
	assert_memory_equal(bufs, f->disk, 2048 * 512);
	fake_free(f);
}

static void small_requests_are_not_split(void **state)
{
	struct fake *f = live(4, 4, NVOF_POLICY_LEAST_BYTES, 0, 0);

	hold = true;
	read_at(f, 0, 0, 256);
	fake_poll_ms(f, 1);
	assert_int_equal(nr_out, 1);
	release(f);
	fake_free(f);
}

static void groups_change_with_what_a_reconnect_grants(void **state)
{
	static const unsigned int counts[] = { 8, 3, 9, 1, 16, 5, 12 };
	struct fake *f = live(16, 3, NVOF_POLICY_LEAST_BYTES, 8, -1);
	unsigned int k, h, round, nr_hctx;
	int n, i;

	for (i = 0; i < 1024 * 512; i++)
		f->disk[i] = (uint8_t)(i / 512 + i % 251);
	for (round = 0; round < 5; round++) {
		for (k = 0; k < ARRAY_SIZE(counts); k++) {
			memset(ended, 0, sizeof(ended));
			memset(bufs, 0, 1024 * 512);
			nr_out = n = 0;
			hold = true;
			nr_hctx = nvof_ctrl_nr_hctx(f->ctrl);
			for (h = 0; h < nr_hctx; h++)
				while (nvof_hctx_nr_free(nvof_ctrl_hctx(f->ctrl, h)))
					read_at(f, h, n++, 1);
			fake_poll_ms(f, 2);
			hold = false;
			f->max_out = 0;
			f->queues_result = (counts[k] - 1) * 0x10001u;
			fake_fail_queue(f, (uint16_t)(k % 2), -ECONNRESET, "the peer closed the connection");
			for (i = 0; i < 2000 && (i < 10 || nvof_ctrl_state(f->ctrl) != NVOF_CTRL_LIVE); i++)
				fake_poll_ms(f, 1);
			for (i = 0; i < 40; i++)
				fake_poll_ms(f, 1);
			assert_int_equal(nvof_ctrl_nr_io_queues(f->ctrl), counts[k]);
			all_ended_well(n);
			for (i = 0; i < n; i++)
				assert_memory_equal(bufs + i * 512, f->disk + i * 512, 512);
			assert_true(f->max_out <= 7);
		}
	}
	fake_free(f);
}

static int setup(void **state)
{
	bufs = calloc(1, 4u << 20);
	return bufs ? 0 : -1;
}

static int teardown(void **state)
{
	free(bufs);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queues_are_shared_out_and_the_first_hctxs_get_the_rest),
		cmocka_unit_test(by_default_there_is_a_hctx_for_each_cpu),
		cmocka_unit_test(group_sizes_out_of_range_are_refused),
		cmocka_unit_test(a_shallow_hctx_stays_on_one_queue),
		cmocka_unit_test(a_full_group_holds_what_its_queues_hold_under_different_ids),
		cmocka_unit_test(round_robin_takes_turns),
		cmocka_unit_test(large_requests_go_to_the_queue_with_the_fewest_bytes),
		cmocka_unit_test(a_queue_that_is_stuck_is_relieved),
		cmocka_unit_test(a_large_request_that_is_alone_uses_all_queues),
		cmocka_unit_test(small_requests_are_not_split),
		cmocka_unit_test(groups_change_with_what_a_reconnect_grants),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
