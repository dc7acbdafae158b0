/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the discovery log of ctrls that change it, lie about it, or refuse it. */
#include "host_fake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct fake *disc_fake(uint64_t numrec)
{
	struct fake *f = fake_new();
	struct nvof_connect_opts o;
	uint64_t i;

	f->genctr = 5;
	f->numrec = numrec;
	f->records = calloc(numrec + 32, sizeof(*f->records));
	for (i = 0; i < numrec; i++) {
		struct nvmf_disc_log_entry *e = &f->records[i];

		e->trtype = NVMF_TRTYPE_TCP;
		e->adrfam = NVMF_ADDR_FAMILY_IP4;
		e->subtype = NVME_NQN_NVME;
		e->portid = htole16((uint16_t)i);
		memset(e->trsvcid, ' ', sizeof(e->trsvcid));
		memcpy(e->trsvcid, "4420", 4);
		snprintf(e->subnqn, sizeof(e->subnqn), "nqn.2014-08.org.example:%llu", (unsigned long long)i);
		memset(e->traddr, ' ', sizeof(e->traddr));
		memcpy(e->traddr, "192.0.2.9", 9);
	}
	fake_opts(f, &o);
	o.subsysnqn = NULL;
	assert_int_equal(fake_connect_opts(f, &o), 0);
	return f;
}

static void every_record_is_read_whatever_their_number(void **state)
{
	static const uint64_t nr[] = { 1, 3, 4, 12, 16, 17, 100, 1000 };
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(nr); i++) {
		struct fake *f = disc_fake(nr[i]);
		struct nvof_disc_log *log;
		char nqn[64];

		assert_int_equal(nvof_discover_sync(f->ctrl, &log), 0);
		assert_int_equal(log->genctr, 5);
		assert_int_equal(log->nr_entries, nr[i]);
		for (j = 0; j < nr[i]; j++) {
			snprintf(nqn, sizeof(nqn), "nqn.2014-08.org.example:%zu", j);
			assert_string_equal(log->entries[j].subnqn, nqn);
			assert_string_equal(log->entries[j].trsvcid, "4420");
			assert_string_equal(log->entries[j].traddr, "192.0.2.9");
			assert_null(log->entries[j].skip);
		}
		assert_int_equal(f->nr_log_rae0, 1); /* C046 */
		nvof_disc_log_free(log);
		fake_free(f);
	}
}

/* C044 */
static void an_empty_log_takes_two_commands(void **state)
{
	uint64_t genctr;

	for (genctr = 0; genctr <= 5; genctr += 5) {
		struct fake *f = disc_fake(0);
		struct nvof_disc_log *log;

		f->genctr = genctr;
		assert_int_equal(nvof_discover_sync(f->ctrl, &log), 0);
		assert_int_equal(log->nr_entries, 0);
		assert_int_equal(f->nr_log_cmds, 2);
		assert_int_equal(f->nr_log_rae0, 1);
		nvof_disc_log_free(log);
		fake_free(f);
	}
}

static int bumps;

static enum fake_answer bump(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	if (req->sqe.opcode == nvme_admin_get_log_page && le32toh(req->sqe.cdw12) && bumps > 0) {
		bumps--;
		f->genctr++;
		f->records[0].portid = htole16((uint16_t)f->genctr);
	}
	return FAKE_DEFAULT;
}

/* C043 */
static void a_log_that_changes_while_it_is_read_is_read_again(void **state)
{
	struct fake *f = disc_fake(12);
	struct nvof_disc_log *log;

	f->on_cmd = bump;
	bumps = 1;
	assert_int_equal(nvof_discover_sync(f->ctrl, &log), 0);
	assert_int_equal(log->genctr, 6);
	assert_int_equal(log->nr_entries, 12);
	assert_int_equal(log->entries[0].portid, 6);
	nvof_disc_log_free(log);
	bumps = 1000;
	assert_int_equal(nvof_discover_sync(f->ctrl, &log), -EAGAIN);
	assert_null(log);
	assert_int_equal(bumps, 1000 - 10);
	assert_contains(nvof_ctx_errmsg(f->ctx), "keeps changing: it did each of the 10 times it was read");
	fake_free(f);
}

static int refusals, refusal;
static uint64_t refuse_from;

static enum fake_answer refuse_log(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	if (req->sqe.opcode != nvme_admin_get_log_page || le32toh(req->sqe.cdw12) < refuse_from || !refusals)
		return FAKE_DEFAULT;
	refusals--;
	f->nr_log_cmds++;
	return fake_status(cqe, refusal, 0);
}

/* C047, C048 */
static void a_refused_log_is_told_with_its_status(void **state)
{
	struct fake *f = disc_fake(40);
	struct nvof_disc_log *log;

	f->on_cmd = refuse_log;
	refusals = 1000;
	refusal = 0x6002; /* Invalid Field, DNR, More: no second try */
	assert_int_equal(nvof_discover_sync(f->ctrl, &log), 0x6002);
	assert_null(log);
	assert_int_equal(f->nr_log_cmds, 1);
	assert_contains(nvof_ctx_errmsg(f->ctx), "Invalid Field");
	assert_contains(nvof_ctx_errmsg(f->ctx), "DNR");
	refusal = 0x0006;
	refuse_from = 2000; /* the second piece of the records, always: a bounded number of tries */
	refusals = 1000;
	assert_int_equal(nvof_discover_sync(f->ctrl, &log), 0x0006);
	assert_int_equal(refusals, 1000 - 4);
	refusals = 2; /* twice: it gets there */
	assert_int_equal(nvof_discover_sync(f->ctrl, &log), 0);
	assert_int_equal(log->nr_entries, 40);
	nvof_disc_log_free(log);
	fake_free(f);
}

static enum fake_answer lie(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	struct nvmf_discovery_log hdr = { .genctr = htole64(1) };

	if (req->sqe.opcode != nvme_admin_get_log_page)
		return FAKE_DEFAULT;
	f->nr_log_cmds++;
	hdr.numrec = htole64(f->numrec);
	hdr.recfmt = htole16((uint16_t)f->nr_ns);
	if (!le32toh(req->sqe.cdw12))
		fake_put(req, &hdr, sizeof(hdr));
	return FAKE_ANSWERED;
}

/* C047 */
static void sizes_in_the_header_are_not_believed(void **state)
{
	struct fake *f = disc_fake(0);
	struct nvof_disc_log *log;

	f->on_cmd = lie;
	f->nr_ns = 0;
	f->numrec = UINT64_MAX;
	assert_int_equal(nvof_discover_sync(f->ctrl, &log), -EPROTO);
	assert_contains(nvof_ctx_errmsg(f->ctx), "claims 18446744073709551615 records");
	assert_int_equal(f->nr_log_cmds, 1);
	f->numrec = 1;
	f->nr_ns = 9;
	assert_int_equal(nvof_discover_sync(f->ctrl, &log), -EPROTO);
	assert_contains(nvof_ctx_errmsg(f->ctx), "record format 9");
	fake_free(f);
}

/* C054 */
static void a_record_with_overlong_texts_is_skipped_alone(void **state)
{
	struct fake *f = disc_fake(3);
	struct nvof_disc_log *log;

	memset(f->records[1].subnqn, 'A', sizeof(f->records[1].subnqn));
	memset(f->records[1].traddr, 'A', sizeof(f->records[1].traddr));
	memset(f->records[1].trsvcid, '9', sizeof(f->records[1].trsvcid));
	assert_int_equal(nvof_discover_sync(f->ctrl, &log), 0);
	assert_int_equal(log->nr_entries, 3);
	assert_null(log->entries[0].skip);
	assert_non_null(log->entries[1].skip);
	assert_null(log->entries[2].skip);
	nvof_disc_log_free(log);
	fake_free(f);
}

/* C055 */
static void records_of_other_transports_are_shown_as_they_are(void **state)
{
	static const struct {
		uint8_t trtype, adrfam;
		const char *name;
	} t[] = {
		{ NVMF_TRTYPE_TCP, NVMF_ADDR_FAMILY_IP4, "tcp" }, { NVMF_TRTYPE_RDMA, NVMF_ADDR_FAMILY_IP6, "rdma" },
		{ NVMF_TRTYPE_FC, NVMF_ADDR_FAMILY_FC, "fc" },	  { NVMF_TRTYPE_LOOP, NVMF_ADDR_FAMILY_LOOP, "loop" },
		{ 0x7f, NVMF_ADDR_FAMILY_IP4, "unrecognized" },	  { NVMF_TRTYPE_TCP, 0x77, "tcp" },
	};
	struct fake *f = disc_fake(ARRAY_SIZE(t));
	struct nvof_disc_log *log;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		f->records[i].trtype = t[i].trtype;
		f->records[i].adrfam = t[i].adrfam;
	}
	memcpy(f->records[2].traddr, "nn-0x10000090fa1:pn-0x10000090fa2", 33);
	assert_int_equal(nvof_discover_sync(f->ctrl, &log), 0);
	assert_int_equal(log->nr_entries, ARRAY_SIZE(t));
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		assert_null(log->entries[i].skip);
		assert_int_equal(log->entries[i].trtype, t[i].trtype);
		assert_int_equal(log->entries[i].adrfam, t[i].adrfam);
		assert_string_equal(nvof_disc_trtype_name(log->entries[i].trtype), t[i].name);
	}
	assert_string_equal(log->entries[2].traddr, "nn-0x10000090fa1:pn-0x10000090fa2");
	assert_string_equal(nvof_disc_adrfam_name(0x77), "unrecognized");
	nvof_disc_log_free(log);
	fake_free(f);
}

/* C050, C052 in part: two services that name one another, and an entry that is the service itself, are only read. */
static void referrals_are_told_not_followed(void **state)
{
	struct fake *f = disc_fake(3);
	struct nvof_disc_log *log;

	f->records[0].subtype = NVME_NQN_DISC;
	f->records[1].subtype = NVME_NQN_CURR;
	assert_int_equal(nvof_discover_sync(f->ctrl, &log), 0);
	assert_int_equal(log->nr_entries, 3);
	assert_string_equal(nvof_disc_subtype_name(log->entries[0].subtype), "discovery subsystem referral");
	assert_string_equal(nvof_disc_subtype_name(log->entries[1].subtype), "current discovery subsystem");
	assert_int_equal(f->nr_endpoints, 1);
	assert_int_equal(f->nr_connects, 1);
	nvof_disc_log_free(log);
	fake_free(f);
}

static int nr_disc_cbs, disc_status;
static void disc_cb(void *arg, int status, struct nvof_disc_log *log)
{
	nr_disc_cbs++;
	disc_status = status;
	nvof_disc_log_free(log);
}

static void discovery_ends_with_the_ctrl(void **state)
{
	struct fake *f = disc_fake(100);

	nr_disc_cbs = 0;
	assert_int_equal(nvof_discover(f->ctrl, disc_cb, NULL), 0);
	assert_int_equal(nr_disc_cbs, 0);
	nvof_ctx_poll(f->ctx, 0);
	fake_fail_queue(f, 0, -ECONNRESET, "gone");
	fake_poll_ms(f, 2);
	assert_int_equal(nr_disc_cbs, 1);
	assert_true(disc_status < 0); /* that of the loss, or of the next command that could not go out */
	assert_int_equal(nvof_discover(f->ctrl, disc_cb, NULL), -ENOTCONN);
	fake_free(f);
}

static void other_logs_are_read_in_pieces(void **state)
{
	struct fake *f = disc_fake(200);
	uint8_t *buf = malloc(200 * 1024);

	assert_int_equal(nvof_get_log_sync(f->ctrl, NVME_LOG_LID_DISCOVER, 0, false, 0, 1024, buf, 200 * 1024), 0);
	assert_memory_equal(buf, f->records, 200 * 1024);
	assert_int_equal(f->nr_log_cmds, 4);
	assert_int_equal(f->nr_log_rae0, 1);
	assert_int_equal(nvof_get_log_sync(f->ctrl, 2, 0, false, 0, 0, buf, 6), -EINVAL);
	assert_int_equal(nvof_get_log_sync(f->ctrl, 2, 0, false, 0, 0, buf, 0), -EINVAL);
	assert_int_equal(nvof_get_log_sync(f->ctrl, 2, 0, false, 0, 0, buf, 512), 0x4109);
	free(buf);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_record_is_read_whatever_their_number),
		cmocka_unit_test(an_empty_log_takes_two_commands),
		cmocka_unit_test(a_log_that_changes_while_it_is_read_is_read_again),
		cmocka_unit_test(a_refused_log_is_told_with_its_status),
		cmocka_unit_test(sizes_in_the_header_are_not_believed),
		cmocka_unit_test(a_record_with_overlong_texts_is_skipped_alone),
		cmocka_unit_test(records_of_other_transports_are_shown_as_they_are),
		cmocka_unit_test(referrals_are_told_not_followed),
		cmocka_unit_test(discovery_ends_with_the_ctrl),
		cmocka_unit_test(other_logs_are_read_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
