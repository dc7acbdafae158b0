/* SPDX-License-Identifier: BSD-3-Clause */
/* Connecting: what goes out, what a target may answer, and what is said when it does not work. */
#include "host_fake.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static void a_connect_brings_up_every_queue_and_tells_once(void **state)
{
	struct fake *f = fake_new();

	assert_int_equal(fake_connect(f, 16), 0);
	assert_int_equal(f->nr_connect_cbs, 1);
	assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_LIVE);
	assert_int_equal(nvof_ctrl_nr_io_queues(f->ctrl), 16);
	assert_int_equal(nvof_ctrl_nr_hctx(f->ctrl), 16);
	assert_int_equal(f->nr_connects, 17);
	assert_string_equal(nvof_ctrl_errmsg(f->ctrl), "");
	assert_string_equal(nvof_ctrl_address(f->ctrl), "traddr=192.0.2.7,trsvcid=4420,src_addr=192.0.2.1");
	assert_string_equal(nvof_ctrl_hostid(f->ctrl), "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee");
	fake_free(f);
}

static uint16_t seen_sqsize[2], seen_cntlid[2];
static uint8_t seen_cattr[2];
static uint32_t seen_kato[2];

static enum fake_answer look_at_connect(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	struct nvmf_connect_cmd *cmd = (struct nvmf_connect_cmd *)&req->sqe;
	struct nvmf_connect_data data;
	unsigned int i = fq->q.qid ? 1 : 0;

	if (cmd->opcode != NVMF_OPCODE || cmd->fctype != NVMF_CONNECT)
		return FAKE_DEFAULT;
	fake_get(req, &data, sizeof(data));
	assert_string_equal(data.hostnqn, FAKE_HOSTNQN);
	assert_string_equal(data.subsysnqn, FAKE_SUBNQN);
	assert_int_equal(data.hostid[0], 0xaa);
	assert_int_equal(le16toh(cmd->qid), fq->q.qid);
	seen_sqsize[i] = le16toh(cmd->sqsize);
	seen_cattr[i] = cmd->cattr;
	seen_kato[i] = le32toh(cmd->kato);
	seen_cntlid[i] = le16toh(data.cntlid);
	return FAKE_DEFAULT;
}

/* C065 */
static void connect_says_what_the_specification_asks_for(void **state)
{
	struct fake *f = fake_new();

	f->on_cmd = look_at_connect;
	assert_int_equal(fake_connect(f, 1), 0);
	assert_int_equal(seen_sqsize[0], 31);
	assert_int_equal(seen_sqsize[1], 127);
	assert_int_equal(seen_cattr[0], 0);
	assert_int_equal(seen_cattr[1], NVMF_CATTR_DISABLE_SQFLOW);
	assert_int_equal(seen_kato[0], 5000);
	assert_int_equal(seen_kato[1], 0);
	assert_int_equal(seen_cntlid[0], 0xffff);
	assert_int_equal(seen_cntlid[1], 7);
	fake_free(f);
}

/* C064, C065 */
static void a_discovery_ctrl_has_no_io_queues_and_its_own_keep_alive(void **state)
{
	struct fake *f = fake_new();
	struct nvof_connect_opts o;

	fake_opts(f, &o);
	o.subsysnqn = NULL;
	assert_int_equal(fake_connect_opts(f, &o), 0);
	assert_int_equal(nvof_ctrl_nr_io_queues(f->ctrl), 0);
	assert_int_equal(nvof_ctrl_kato_ms(f->ctrl), 30000);
	assert_string_equal(nvof_ctrl_subsysnqn(f->ctrl), NVMF_DISC_NQN);
	assert_contains(nvof_ctrl_address(f->ctrl), "trsvcid=8009");
	assert_null(nvof_ctrl_hctx(f->ctrl, 0));
	fake_free(f);
}

/* C036 */
static void the_granted_number_of_queues_is_used(void **state)
{
	static const struct {
		uint32_t asked, result, live;
	} t[] = { { 16, 15 << 16 | 15, 16 }, { 16, 62 << 16 | 9, 10 }, { 16, 0, 1 }, { 4, 0xffffffff, 4 }, { 4, 0xffff, 1 } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct fake *f = fake_new();

		f->queues_scripted = true;
		f->queues_result = t[i].result;
		assert_int_equal(fake_connect(f, t[i].asked), 0);
		assert_int_equal(nvof_ctrl_nr_io_queues(f->ctrl), t[i].live);
		assert_int_equal(f->nr_connects, t[i].live + 1);
		fake_free(f);
	}
}

static enum fake_answer refuse_queues(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	if (req->sqe.opcode != nvme_admin_set_features || fq->q.qid)
		return FAKE_DEFAULT;
	return fake_status(cqe, 0x4006, 0);
}

/* C035 */
static void the_default_number_of_queues_is_that_of_usable_cpus(void **state)
{
	struct fake *f = fake_new();
	cpu_set_t before, one;
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(fake_connect(f, 0), 0);
	assert_int_equal(nvof_ctrl_nr_io_queues(f->ctrl), CPU_COUNT(&before));
	nvof_ctrl_free(f->ctrl);
	while (!CPU_ISSET(cpu, &before))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(fake_connect(f, 0), 0);
	assert_int_equal(nvof_ctrl_nr_io_queues(f->ctrl), 1);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	fake_free(f);
}

static void no_queues_granted_is_an_error_by_name(void **state)
{
	struct fake *f = fake_new();

	f->on_cmd = refuse_queues;
	assert_int_equal(fake_connect(f, 4), 0x4006);
	assert_contains(nvof_ctrl_errmsg(f->ctrl), "no I/O queues were granted");
	assert_contains(nvof_ctrl_errmsg(f->ctrl), "Number of Queues");
	assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_DEAD);
	fake_free(f);
}

/* C039 */
static void the_queue_size_obeys_mqes_and_maxcmd(void **state)
{
	struct fake *f = fake_new();

	f->cap = (f->cap & ~UINT64_C(0xffff)) | 31;
	assert_int_equal(fake_connect(f, 1), 0);
	assert_int_equal(nvof_ctrl_queue_size(f->ctrl), 32);
	assert_int_equal(nvof_hctx_nr_free(nvof_ctrl_hctx(f->ctrl, 0)), 31);
	fake_free(f);

	f = fake_new();
	f->id.maxcmd = htole16(16);
	assert_int_equal(fake_connect(f, 1), 0);
	assert_int_equal(nvof_ctrl_queue_size(f->ctrl), 16);
	fake_free(f);
}

static int refuse_status;
static uint32_t refuse_dw0;
static uint16_t refuse_qid;

static enum fake_answer refuse_connect(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	if (req->sqe.opcode != NVMF_OPCODE || fake_fctype(req) != NVMF_CONNECT || fq->q.qid != refuse_qid)
		return FAKE_DEFAULT;
	return fake_status(cqe, refuse_status, refuse_dw0);
}

/* C150 */
static void each_refusal_of_connect_has_its_own_words(void **state)
{
	static const struct {
		int status;
		uint32_t dw0;
		const char *words[3];
	} t[] = {
		{ 0x006, 0, { "Internal", "sct 0 sc 06h" } },
		{ 0x4180, 0, { "Incompatible Format", "record format", "DNR" } },
		{ 0x181, 0, { "Controller Busy", "tried again" } },
		{ 0x4182, 1 << 16 | 256, { "Invalid Parameters", "subsysnqn", FAKE_SUBNQN } },
		{ 0x4182, 1 << 16 | 512, { "Invalid Parameters", "hostnqn", FAKE_HOSTNQN } },
		{ 0x4182, 1 << 16, { "Invalid Parameters", "hostid", "aaaaaaaa-" } },
		{ 0x4182, 44, { "Invalid Parameters", "sqsize" } },
		{ 0x4182, 0, { "Invalid Parameters", "does not say" } },
		{ 0x183, 0, { "Restart Discovery", "discovery log" } },
		{ 0x4184, 0, { "Invalid Host", "not allowed", FAKE_HOSTNQN } },
		{ 0x4191, 0, { "Authentication", "demands" } },
	};
	char seen[ARRAY_SIZE(t)][512];
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct fake *f = fake_new();

		refuse_qid = i % 2;
		refuse_status = t[i].status;
		refuse_dw0 = t[i].dw0;
		f->on_cmd = refuse_connect;
		assert_int_equal(fake_connect(f, 1), t[i].status);
		snprintf(seen[i], sizeof(seen[i]), "%s", nvof_ctrl_errmsg(f->ctrl));
		assert_contains(seen[i],
				refuse_qid ? "connect qid 1 (connect) to 192.0.2.7:4420: " : "connect qid 0 (connect) to 192.0.2.7:4420: ");
		for (j = 0; j < 3 && t[i].words[j]; j++)
			assert_contains(seen[i], t[i].words[j]);
		for (j = 0; j < i; j++)
			assert_string_not_equal(seen[i] + 40, seen[j] + 40);
		fake_free(f);
	}
}

/* C134 in part */
static void a_target_that_demands_authentication_is_named(void **state)
{
	struct fake *f = fake_new();

	refuse_qid = 0;
	refuse_status = 0;
	refuse_dw0 = 2 << 16 | 7;
	f->on_cmd = refuse_connect;
	assert_int_equal(fake_connect(f, 1), -ENOTSUP);
	assert_contains(nvof_ctrl_errmsg(f->ctrl), "demands authentication");
	fake_free(f);
}

static uint16_t fail_qid;
static enum queue_state fail_state;
static int fail_code; /* 1: silence */

static int fail_in_state(struct fake *f, uint16_t qid, enum queue_state state)
{
	return qid == fail_qid && state == fail_state ? fail_code : 0;
}

static enum fake_answer fail_in_connect(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	if (req->sqe.opcode != NVMF_OPCODE || fake_fctype(req) != NVMF_CONNECT || fq->q.qid != fail_qid || fail_state != QUEUE_CONNECT)
		return FAKE_DEFAULT;
	return fail_code == 1 ? FAKE_HOLD : FAKE_CLOSE;
}

static void check_failed(struct fake *f, int status, const char *state_name)
{
	char part[64];

	assert_int_equal(f->nr_connect_cbs, 1);
	assert_int_equal(f->connect_status, status);
	assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_DEAD);
	assert_int_equal(f->nr_queues_alive, 0);
	snprintf(part, sizeof(part), "connect qid %u (%s) to ", fail_qid, state_name);
	assert_contains(nvof_ctrl_errmsg(f->ctrl), part);
}

/* C027 in part: whatever the state and the queue, all of it ends, is freed, and the first error is told. */
static void a_failure_at_any_queue_in_any_state_undoes_everything(void **state)
{
	static const struct {
		enum queue_state state;
		const char *name;
	} s[] = { { QUEUE_RESOLVE, "resolve" }, { QUEUE_LINK, "link" }, { QUEUE_ICREQ, "icreq" }, { QUEUE_CONNECT, "connect" } };
	static const uint16_t qids[] = { 0, 1, 5, 8 };
	static const uint32_t concurrency[] = { 0, 1, 3 };
	size_t i, j, k;

	for (i = 0; i < ARRAY_SIZE(s); i++) {
		for (j = 0; j < ARRAY_SIZE(qids); j++) {
			for (k = 0; k < ARRAY_SIZE(concurrency); k++) {
				struct fake *f = fake_new();
				struct nvof_connect_opts o;

				fail_qid = qids[j];
				fail_state = s[i].state;
				fail_code = -ECONNRESET;
				f->on_state = fail_in_state;
				f->on_cmd = fail_in_connect;
				fake_opts(f, &o);
				o.nr_io_queues = 8;
				o.setup_concurrency = concurrency[k];
				fake_connect_opts(f, &o);
				check_failed(f, -ECONNRESET, s[i].name);
				fake_free(f);
			}
		}
	}
}

/* Connects, lets things go as far as they go, and lets the time of the connect be over: no test waits for a clock. */
static int connect_until_time_is_over(struct fake *f, const struct nvof_connect_opts *o)
{
	assert_int_equal(nvof_ctrl_connect(f->ctx, o, fake_connect_cb, f, &f->ctrl), 0);
	fake_poll_ms(f, 1);
	if (!f->nr_connect_cbs)
		timer_set(f->ctx->loop, &f->ctrl->connect_timer, 0);
	while (!f->nr_connect_cbs)
		nvof_ctx_poll(f->ctx, 1000000);
	return f->connect_status;
}

/* C011, C013 */
static void silence_ends_at_the_connect_timeout_and_names_what_was_awaited(void **state)
{
	static const struct {
		enum queue_state state;
		const char *name, *words;
	} s[] = {
		{ QUEUE_RESOLVE, "resolve", "the address did not resolve within 20000 ms" },
		{ QUEUE_LINK, "link", "no answer to the connection request within 20000 ms" },
		{ QUEUE_ICREQ, "icreq", "no ICResp within 20000 ms" },
		{ QUEUE_CONNECT, "connect", "no answer to Connect within 20000 ms" },
	};
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(s); i++) {
		for (j = 0; j < 2; j++) {
			struct fake *f = fake_new();
			struct nvof_connect_opts o;

			fail_qid = j ? 3 : 0;
			fail_state = s[i].state;
			fail_code = 1;
			f->on_state = fail_in_state;
			f->on_cmd = fail_in_connect;
			fake_opts(f, &o);
			o.nr_io_queues = 4;
			o.connect_tmo_ms = 20000;
			connect_until_time_is_over(f, &o);
			check_failed(f, -ETIMEDOUT, s[i].name);
			assert_contains(nvof_ctrl_errmsg(f->ctrl), s[i].words);
			fake_free(f);
		}
	}
}

/* Queues that are LIVE already, or the admin queue, may be lost while others are still on their way. */
static void a_queue_lost_behind_the_others_back_fails_the_connect(void **state)
{
	uint16_t qid;

	for (qid = 0; qid <= 1; qid++) {
		struct fake *f = fake_new();
		struct nvof_connect_opts o;

		fail_qid = 3;
		fail_state = QUEUE_ICREQ;
		fail_code = 1;
		f->on_state = fail_in_state;
		fake_opts(f, &o);
		o.nr_io_queues = 4;
		assert_int_equal(nvof_ctrl_connect(f->ctx, &o, fake_connect_cb, f, &f->ctrl), 0);
		while (!f->queues[1] || f->queues[1]->q.state != QUEUE_LIVE)
			nvof_ctx_poll(f->ctx, 1000);
		fake_fail_queue(f, qid, -ECONNRESET, "the peer closed the connection");
		while (!f->nr_connect_cbs)
			nvof_ctx_poll(f->ctx, 1000);
		assert_int_equal(f->connect_status, -ECONNRESET);
		assert_contains(nvof_ctrl_errmsg(f->ctrl), qid ? "connect qid 1 (connect) to 192.0.2.7:4420: the peer closed"
							       : "connect qid 0 (live) to 192.0.2.7:4420: the peer closed");
		assert_int_equal(f->nr_queues_alive, 0);
		assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_DEAD);
		fake_free(f);
	}
}

static int fail_start(struct fake *f, uint16_t qid, enum queue_state state)
{
	return qid == 2 && state == QUEUE_NEW ? -EMFILE : 0;
}

static void a_queue_that_can_t_even_start_fails_the_connect(void **state)
{
	struct fake *f = fake_new();

	f->on_state = fail_start;
	assert_int_equal(fake_connect(f, 4), -EMFILE);
	assert_contains(nvof_ctrl_errmsg(f->ctrl), "connect qid 2 to 192.0.2.7:4420: Too many open files");
	fake_free(f);
}

static uint8_t init_opcode;
static uint32_t init_offset;
static enum fake_answer init_answer;

static enum fake_answer disturb_init(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	const struct nvmf_property_cmd *prop = (const struct nvmf_property_cmd *)&req->sqe;

	if (req->sqe.opcode != init_opcode || fq->q.qid)
		return FAKE_DEFAULT;
	if (init_opcode == NVMF_OPCODE && (fake_fctype(req) == NVMF_CONNECT || le32toh(prop->offset) != init_offset))
		return FAKE_DEFAULT;
	if (init_answer == FAKE_ANSWERED)
		fake_status(cqe, 0x4002, 0);
	return init_answer;
}

static void each_step_of_the_initialisation_is_named_when_it_fails(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t offset;
		const char *what;
	} t[] = {
		{ NVMF_OPCODE, NVME_REG_CAP, "Property Get CAP" }, { NVMF_OPCODE, NVME_REG_VS, "Property Get VS" },
		{ NVMF_OPCODE, NVME_REG_CC, "Property Set CC" },   { NVMF_OPCODE, NVME_REG_CSTS, "Property Get CSTS" },
		{ nvme_admin_identify, 0, "Identify Controller" }, { nvme_admin_set_features, 0, "Set Features (Number of Queues)" },
	};
	static const enum fake_answer answers[] = { FAKE_ANSWERED, FAKE_HOLD, FAKE_CLOSE };
	static const int status[] = { 0x4002, -ETIMEDOUT, -ECONNRESET };
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		for (j = 0; j < ARRAY_SIZE(answers); j++) {
			struct fake *f = fake_new();
			struct nvof_connect_opts o;

			init_opcode = t[i].opcode;
			init_offset = t[i].offset;
			init_answer = answers[j];
			f->on_cmd = disturb_init;
			fake_opts(f, &o);
			o.connect_tmo_ms = 20000;
			assert_int_equal(connect_until_time_is_over(f, &o), status[j]);
			assert_contains(nvof_ctrl_errmsg(f->ctrl), "connect qid 0 (init) to 192.0.2.7:4420: ");
			if (answers[j] != FAKE_CLOSE)
				assert_contains(nvof_ctrl_errmsg(f->ctrl), t[i].what);
			assert_int_equal(f->nr_queues_alive, 0);
			fake_free(f);
		}
	}
}

/* Set Features (held_fid) waits for the test, or is refused. */
static uint8_t held_fid;
static enum fake_answer held_answer;
static struct host_req *held_req;

static enum fake_answer hold_feature(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	if (fq->q.qid || req->sqe.opcode != nvme_admin_set_features || (uint8_t)le32toh(req->sqe.cdw10) != held_fid)
		return FAKE_DEFAULT;
	held_req = req;
	if (held_answer == FAKE_ANSWERED)
		fake_status(cqe, 0x4002, 0);
	return held_answer;
}

/* Four I/O queues, all LIVE, and the configuration of events not answered yet. */
static struct fake *waiting_for_events(unsigned int tmo_ms)
{
	struct fake *f = fake_new();
	struct nvof_connect_opts o;

	held_fid = NVME_FEAT_FID_ASYNC_EVENT;
	held_answer = FAKE_HOLD;
	f->on_cmd = hold_feature;
	fake_opts(f, &o);
	o.nr_io_queues = 4;
	o.connect_tmo_ms = tmo_ms;
	assert_int_equal(nvof_ctrl_connect(f->ctx, &o, fake_connect_cb, f, &f->ctrl), 0);
	for (uint16_t qid = 1; qid <= 4; qid++)
		while (!f->queues[qid] || f->queues[qid]->q.state != QUEUE_LIVE)
			nvof_ctx_poll(f->ctx, 1000);
	fake_poll_ms(f, 5);
	assert_int_equal(f->nr_connect_cbs, 0);
	assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_CONNECTING);
	return f;
}

static void io_queues_do_not_wait_for_the_events_but_the_ctrl_does(void **state)
{
	struct fake *f = waiting_for_events(20000);

	fake_complete(held_req, 0, 0);
	while (!f->nr_connect_cbs)
		nvof_ctx_poll(f->ctx, 1000);
	assert_int_equal(f->connect_status, 0);
	assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_LIVE);
	assert_int_equal(nvof_ctrl_nr_io_queues(f->ctrl), 4);
	fake_free(f);
}

static void a_queue_lost_while_the_events_are_waited_for_fails_the_connect_at_once(void **state)
{
	uint16_t qid;

	for (qid = 0; qid <= 4; qid += 2) {
		struct fake *f = waiting_for_events(60000);

		fake_fail_queue(f, qid, -ECONNRESET, "the peer closed the connection");
		fake_poll_ms(f, 5);
		assert_int_equal(f->nr_connect_cbs, 1);
		assert_int_equal(f->connect_status, -ECONNRESET);
		assert_contains(nvof_ctrl_errmsg(f->ctrl), !qid	      ? "connect qid 0 (init) to 192.0.2.7:4420: the peer closed"
							   : qid == 2 ? "connect qid 2 (connect) to 192.0.2.7:4420: the peer closed"
								      : "connect qid 4 (connect) to 192.0.2.7:4420: the peer closed");
		assert_int_equal(f->nr_queues_alive, 0);
		assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_DEAD);
		fake_free(f);
	}
}

static void events_that_are_never_configured_end_at_the_time_out(void **state)
{
	struct fake *f = waiting_for_events(20000);

	timer_set(f->ctx->loop, &f->ctrl->connect_timer, 0);
	while (!f->nr_connect_cbs)
		nvof_ctx_poll(f->ctx, 1000);
	assert_int_equal(f->connect_status, -ETIMEDOUT);
	assert_contains(nvof_ctrl_errmsg(f->ctrl), "no answer to Set Features (Asynchronous Event Configuration) within 20000 ms");
	fake_free(f);
}

static void the_number_of_queues_is_asked_for_together_with_identify(void **state)
{
	struct fake *f = fake_new();
	struct nvof_connect_opts o;

	init_opcode = nvme_admin_identify;
	init_answer = FAKE_HOLD;
	f->on_cmd = disturb_init;
	fake_opts(f, &o);
	assert_int_equal(nvof_ctrl_connect(f->ctx, &o, fake_connect_cb, f, &f->ctrl), 0);
	while (!f->ctrl->nr_granted)
		nvof_ctx_poll(f->ctx, 1000);
	assert_null(f->queues[1]);
	fake_free(f);
}

/* C053: what it is stands in its Identify data, and that comes no sooner than what it says about queues. */
static void a_discovery_service_with_a_name_of_its_own_has_no_io_queues_whatever_it_says(void **state)
{
	static const enum fake_answer answers[] = { FAKE_DEFAULT, FAKE_ANSWERED };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		struct fake *f = fake_new();

		f->id.cntrltype = NVME_CTRL_CNTRLTYPE_DISCOVERY;
		held_fid = NVME_FEAT_FID_NUM_QUEUES;
		held_answer = answers[i];
		held_req = NULL;
		f->on_cmd = hold_feature;
		assert_int_equal(fake_connect(f, 4), 0);
		assert_non_null(held_req);
		assert_int_equal(nvof_ctrl_nr_io_queues(f->ctrl), 0);
		assert_int_equal(f->nr_queues_alive, 1);
		fake_free(f);
	}
}

static void a_ctrl_may_take_its_time_to_become_ready(void **state)
{
	struct fake *f = fake_new();

	f->csts_polls = 5;
	assert_int_equal(fake_connect(f, 1), 0);
	assert_int_equal(f->csts_polls, 0);
	fake_free(f);
}

static void a_ctrl_that_never_becomes_ready_is_given_up_after_its_own_limit(void **state)
{
	struct fake *f = fake_new();

	f->csts_polls = UINT32_MAX;
	f->cap &= ~((uint64_t)0xff << 24); /* TO 0: 500 ms */
	assert_int_equal(fake_connect(f, 1), -ETIMEDOUT);
	assert_contains(nvof_ctrl_errmsg(f->ctrl), "did not become ready (CSTS.RDY) within the 500 ms");
	fake_free(f);
}

/* C103 */
static void identify_is_held_against_what_we_can_work_with(void **state)
{
	struct fake *f;
	uint32_t i;

	for (i = 0; i < 4; i++) {
		f = fake_new();
		f->id.ioccsz = htole32(i);
		assert_int_equal(fake_connect(f, 1), -EPROTO);
		assert_contains(nvof_ctrl_errmsg(f->ctrl), "IOCCSZ");
		fake_free(f);
	}
	f = fake_new();
	f->id.icdoff = htole16(1);
	assert_int_equal(fake_connect(f, 1), -ENOTSUP);
	assert_contains(nvof_ctrl_errmsg(f->ctrl), "ICDOFF 1");
	fake_free(f);
	f = fake_new();
	f->id.sqes = 0x77;
	assert_int_equal(fake_connect(f, 1), -ENOTSUP);
	assert_contains(nvof_ctrl_errmsg(f->ctrl), "SQES 77h");
	fake_free(f);
	f = fake_new();
	f->id.cntlid = htole16(9);
	assert_int_equal(fake_connect(f, 1), -EPROTO);
	assert_contains(nvof_ctrl_errmsg(f->ctrl), "CNTLID 0009h, but Connect said 0007h");
	fake_free(f);
}

/* C008: this host has no use for ANA, so a ctrl whose numbers disagree is not refused for them. */
static void mnan_and_nn_that_disagree_are_no_reason_to_refuse(void **state)
{
	static const uint32_t mnan[] = { 1024, 0, UINT32_MAX };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mnan); i++) {
		struct fake *f = fake_new();

		f->id.cmic = NVME_CTRL_CMIC_MULTI_ANA_REPORTING;
		f->id.nn = htole32(4);
		f->id.mnan = htole32(mnan[i]);
		f->id.anagrpmax = htole32(1);
		f->id.nanagrpid = htole32(1);
		assert_int_equal(fake_connect(f, 1), 0);
		fake_free(f);
	}
}

/* C103 */
static void in_capsule_data_follows_ioccsz(void **state)
{
	static const uint32_t ioccsz[] = { 4, 260 }, len[] = { 0, 4096 };
	size_t i;

	for (i = 0; i < 2; i++) {
		struct fake *f = fake_new();

		f->id.ioccsz = htole32(ioccsz[i]);
		assert_int_equal(fake_connect(f, 1), 0);
		assert_int_equal(f->queues[1]->q.inline_len, len[i]);
		assert_int_equal(f->queues[0]->q.inline_len, 8192);
		fake_free(f);
	}
}

static void the_timeline_names_every_state_of_every_queue_in_order(void **state)
{
	static const char *const admin[] = { "resolve", "link", "icreq", "connect", "init" };
	struct fake *f = fake_new();
	const struct nvof_span *s;
	struct nvof_setup_times times;
	size_t n, i;

	assert_int_equal(fake_connect(f, 2), 0);
	n = nvof_ctrl_timeline(f->ctrl, &s);
	assert_int_equal(n, 5 + 2 * 4);
	for (i = 0; i < n; i++) {
		assert_int_equal(s[i].qid, i < 5 ? 0 : 1 + (i - 5) / 4);
		assert_string_equal(s[i].state, admin[i < 5 ? i : (i - 5) % 4]);
		assert_true(s[i].end_us >= s[i].start_us && s[i].start_us >= 0);
	}
	nvof_ctrl_setup_times(f->ctrl, &times);
	assert_true(times.admin_us > 0 && times.total_us >= times.admin_us);
	fake_free(f);
}

/* C012 in part: nothing is left behind, however often. */
static void a_refused_connection_can_be_tried_a_thousand_times(void **state)
{
	struct fake *f = fake_new();
	int i;

	fail_qid = 0;
	fail_state = QUEUE_LINK;
	fail_code = -ECONNREFUSED;
	f->on_state = fail_in_state;
	for (i = 0; i < 1000; i++) {
		assert_int_equal(fake_connect(f, 4), -ECONNREFUSED);
		nvof_ctrl_free(f->ctrl);
	}
	f->ctrl = NULL;
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connect_brings_up_every_queue_and_tells_once),
		cmocka_unit_test(connect_says_what_the_specification_asks_for),
		cmocka_unit_test(a_discovery_ctrl_has_no_io_queues_and_its_own_keep_alive),
		cmocka_unit_test(the_granted_number_of_queues_is_used),
		cmocka_unit_test(the_default_number_of_queues_is_that_of_usable_cpus),
		cmocka_unit_test(no_queues_granted_is_an_error_by_name),
		cmocka_unit_test(the_queue_size_obeys_mqes_and_maxcmd),
		cmocka_unit_test(each_refusal_of_connect_has_its_own_words),
		cmocka_unit_test(a_target_that_demands_authentication_is_named),
		cmocka_unit_test(a_failure_at_any_queue_in_any_state_undoes_everything),
		cmocka_unit_test(silence_ends_at_the_connect_timeout_and_names_what_was_awaited),
		cmocka_unit_test(a_queue_lost_behind_the_others_back_fails_the_connect),
		cmocka_unit_test(a_queue_that_can_t_even_start_fails_the_connect),
		cmocka_unit_test(each_step_of_the_initialisation_is_named_when_it_fails),
		cmocka_unit_test(io_queues_do_not_wait_for_the_events_but_the_ctrl_does),
		cmocka_unit_test(a_queue_lost_while_the_events_are_waited_for_fails_the_connect_at_once),
		cmocka_unit_test(events_that_are_never_configured_end_at_the_time_out),
		cmocka_unit_test(the_number_of_queues_is_asked_for_together_with_identify),
		cmocka_unit_test(a_discovery_service_with_a_name_of_its_own_has_no_io_queues_whatever_it_says),
		cmocka_unit_test(a_ctrl_may_take_its_time_to_become_ready),
		cmocka_unit_test(a_ctrl_that_never_becomes_ready_is_given_up_after_its_own_limit),
		cmocka_unit_test(identify_is_held_against_what_we_can_work_with),
		cmocka_unit_test(mnan_and_nn_that_disagree_are_no_reason_to_refuse),
		cmocka_unit_test(in_capsule_data_follows_ioccsz),
		cmocka_unit_test(the_timeline_names_every_state_of_every_queue_in_order),
		cmocka_unit_test(a_refused_connection_can_be_tried_a_thousand_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
