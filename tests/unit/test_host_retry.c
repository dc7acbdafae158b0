/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands that the ctrl wants to see again: when, how often, and what becomes of them when the ctrl goes. */
#include "host_fake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INTERRUPTED 0x21
#define NOT_READY   0x82
#define DNR	    0x4000
#define CRD(n)	    ((n) << 11)

static struct nvof_ns *ns;
static int statuses[8], nr_statuses, at; /* what reads are answered with, one after the other; then success */
static uint64_t came[16];
static int nr_came, nr_ended, end_status;
static bool acre;
static uint8_t buf[4u << 20];

static void io_cb(void *arg, const struct nvof_cpl *cpl)
{
	nr_ended++;
	end_status = cpl->status;
}

static enum fake_answer on_cmd(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	uint8_t byte[512];

	if (!fq->q.qid && req->sqe.opcode == nvme_admin_set_features && (le32toh(req->sqe.cdw10) & 0xff) == NVME_FEAT_FID_HOST_BEHAVIOR) {
		assert_int_equal(req->data_len, 512);
		fake_get(req, byte, sizeof(byte));
		acre = byte[0] == NVME_ENABLE_ACRE;
		return fake_status(cqe, 0, 0);
	}
	if (!fq->q.qid || req->sqe.opcode != nvme_cmd_read)
		return FAKE_DEFAULT;
	if (nr_came < 16)
		came[nr_came] = clock_ns();
	nr_came++;
	return at < nr_statuses ? fake_status(cqe, statuses[at++], 0) : FAKE_DEFAULT;
}

static struct fake *live(const int *answers, int nr, int loss_ms)
{
	struct fake *f = fake_new();
	struct nvof_connect_opts o;

	memcpy(statuses, answers, (size_t)nr * sizeof(*answers));
	nr_statuses = nr;
	at = nr_came = nr_ended = end_status = 0;
	acre = false;
	f->on_cmd = on_cmd;
	f->id.crdt1 = htole16(3);
	f->id.crdt2 = htole16(1);
	fake_opts(f, &o);
	o.ctrl_loss_tmo_ms = loss_ms;
	o.reconnect_delay_ms = 1;
	assert_int_equal(fake_connect_opts(f, &o), 0);
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 1, &ns), 0);
	return f;
}

static void wait_end(struct fake *f, unsigned int ms)
{
	uint64_t end = clock_ns() + ms * NSEC_PER_MSEC;

	while (!nr_ended && clock_ns() < end)
		fake_poll_ms(f, 1);
}

static void read_blocks(struct fake *f, uint32_t nlb)
{
	assert_int_equal(nvof_read(nvof_ctrl_hctx(f->ctrl, 0), ns, 0, nlb, buf, 0, io_cb, NULL), 0);
}

/* C032 */
static void the_ctrl_says_when_it_wants_the_command_again(void **state)
{
	static const int answers[] = { INTERRUPTED | CRD(1), INTERRUPTED | CRD(2), INTERRUPTED | CRD(3), INTERRUPTED };
	struct fake *f = live(answers, 4, 0);
	struct nvof_ctrl_stats stats;

	assert_true(acre);
	read_blocks(f, 1);
	wait_end(f, 20000);
	assert_int_equal(nr_ended, 1);
	assert_int_equal(end_status, 0);
	assert_int_equal(nr_came, 5);
	assert_true(came[1] - came[0] >= 300 * NSEC_PER_MSEC);
	assert_true(came[2] - came[1] >= 100 * NSEC_PER_MSEC);
	assert_true(came[4] - came[2] < 5000 * NSEC_PER_MSEC);
	nvof_ctrl_stats(f->ctrl, &stats);
	assert_int_equal(stats.nr_retries, 4);
	fake_free(f);
}

/* C032 */
static void do_not_retry_means_it(void **state)
{
	static const int answers[] = { INTERRUPTED | CRD(1) | DNR };
	struct fake *f = live(answers, 1, 0);

	read_blocks(f, 1);
	wait_end(f, 20000);
	assert_int_equal(nr_came, 1);
	assert_int_equal(end_status, INTERRUPTED | CRD(1) | DNR);
	fake_free(f);
}

static void other_statuses_are_the_callers(void **state)
{
	static const int answers[] = { 0x281 };
	struct fake *f = live(answers, 1, 0);

	read_blocks(f, 1);
	wait_end(f, 20000);
	assert_int_equal(nr_came, 1);
	assert_int_equal(end_status, 0x281);
	fake_free(f);
}

static void there_is_an_end_to_it(void **state)
{
	static const int answers[] = { NOT_READY, NOT_READY, NOT_READY, NOT_READY, NOT_READY, NOT_READY, NOT_READY, NOT_READY };
	struct fake *f = live(answers, 8, 0);

	read_blocks(f, 1);
	wait_end(f, 20000);
	assert_int_equal(nr_came, 6);
	assert_int_equal(end_status, NOT_READY);
	fake_free(f);
}

static void parts_of_a_split_are_repeated_alone(void **state)
{
	static const int answers[] = { INTERRUPTED | CRD(2) };
	struct fake *f = live(answers, 1, 0);
	size_t i;

	for (i = 0; i < 1024 * 512; i++)
		f->disk[i] = (uint8_t)(i / 512 + i % 253);
	memset(buf, 0, sizeof(buf));
	read_blocks(f, 1024);
	wait_end(f, 20000);
	assert_int_equal(nr_came, 5);
	assert_int_equal(end_status, 0);
	assert_memory_equal(buf, f->disk, 1024 * 512);
	fake_free(f);
}

static void what_waits_ends_with_the_ctrl(void **state)
{
	static const int answers[] = { INTERRUPTED | CRD(3) };
	struct fake *f = live(answers, 1, 0);

	f->ctrl->init.id->crdt3 = htole16(20);
	read_blocks(f, 1);
	fake_poll_ms(f, 5);
	assert_int_equal(nr_ended, 0);
	assert_int_equal(nvof_ctrl_disconnect_sync(f->ctrl), 0);
	assert_int_equal(nr_ended, 1);
	assert_int_equal(end_status, -ECANCELED);
	fake_free(f);
}

static void what_waits_survives_a_reconnect(void **state)
{
	static const int answers[] = { INTERRUPTED | CRD(3) };
	struct fake *f = live(answers, 1, -1);

	f->ctrl->init.id->crdt3 = htole16(20);
	read_blocks(f, 1);
	fake_poll_ms(f, 5);
	assert_int_equal(nr_ended, 0);
	fake_fail_queue(f, 1, -ECONNRESET, "the peer closed the connection");
	wait_end(f, 20000);
	assert_int_equal(nr_ended, 1);
	assert_int_equal(end_status, 0);
	assert_int_equal(nr_came, 2);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_ctrl_says_when_it_wants_the_command_again),
		cmocka_unit_test(do_not_retry_means_it),
		cmocka_unit_test(other_statuses_are_the_callers),
		cmocka_unit_test(there_is_an_end_to_it),
		cmocka_unit_test(parts_of_a_split_are_repeated_alone),
		cmocka_unit_test(what_waits_ends_with_the_ctrl),
		cmocka_unit_test(what_waits_survives_a_reconnect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
