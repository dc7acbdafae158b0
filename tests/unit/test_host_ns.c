/* SPDX-License-Identifier: BSD-3-Clause */
/* Namespaces: lists of any length, and what can be opened. */
#include "host_fake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t nr_lists, poison;

static enum fake_answer count_lists(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	if (fq->q.qid || req->sqe.opcode != nvme_admin_identify || (le32toh(req->sqe.cdw10) & 0xff) != NVME_IDENTIFY_CNS_NS_ACTIVE_LIST)
		return FAKE_DEFAULT;
	nr_lists++;
	return FAKE_DEFAULT;
}

/* C071 */
static void the_list_is_exact_whatever_its_length(void **state)
{
	static const uint32_t nr[] = { 0, 1, 1023, 1024, 1025, 2048, 3000 }, lists[] = { 1, 1, 1, 2, 2, 3, 3 };
	size_t i, j, n;

	for (i = 0; i < ARRAY_SIZE(nr); i++) {
		struct fake *f = fake_new();
		uint32_t *nsids;

		f->nr_ns = nr[i];
		f->ns_step = 33; /* gaps up to nsid 99000 */
		f->on_cmd = count_lists;
		nr_lists = 0;
		assert_int_equal(fake_connect(f, 1), 0);
		assert_int_equal(nvof_ns_list_sync(f->ctrl, &nsids, &n), 0);
		assert_int_equal(n, nr[i]);
		for (j = 0; j < n; j++)
			assert_int_equal(nsids[j], (j + 1) * 33);
		assert_int_equal(nr_lists, lists[i]);
		free(nsids);
		fake_free(f);
	}
}

static enum fake_answer bad_list(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	uint32_t list[1024], i;

	if (fq->q.qid || req->sqe.opcode != nvme_admin_identify || (le32toh(req->sqe.cdw10) & 0xff) != NVME_IDENTIFY_CNS_NS_ACTIVE_LIST)
		return FAKE_DEFAULT;
	for (i = 0; i < 1024; i++)
		list[i] = htole32(i + 1);
	if (poison == 1)
		list[7] = htole32(7); /* not ascending */
	if (poison == 2 && nr_lists++ > 50)
		fail_msg("asked in circles"); /* the same page again and again */
	fake_put(req, list, sizeof(list));
	return FAKE_ANSWERED;
}

static void a_list_that_leads_in_circles_is_refused(void **state)
{
	struct fake *f = fake_new();
	uint32_t *nsids;
	size_t n;

	f->on_cmd = bad_list;
	assert_int_equal(fake_connect(f, 1), 0);
	for (poison = 1; poison <= 2; poison++) {
		nr_lists = 0;
		assert_int_equal(nvof_ns_list_sync(f->ctrl, &nsids, &n), -EPROTO);
		assert_contains(nvof_ctx_errmsg(f->ctx), "not in ascending order");
		assert_null(nsids);
	}
	fake_free(f);
}

/* C072: a short answer leaves no old bytes behind. */
static enum fake_answer short_list(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	uint32_t nsid = htole32(7);

	if (fq->q.qid || req->sqe.opcode != nvme_admin_identify || (le32toh(req->sqe.cdw10) & 0xff) != NVME_IDENTIFY_CNS_NS_ACTIVE_LIST)
		return FAKE_DEFAULT;
	fake_put(req, &nsid, sizeof(nsid));
	return FAKE_ANSWERED;
}

static void a_ctrl_that_sends_less_than_a_page_has_fewer_namespaces(void **state)
{
	struct fake *f = fake_new();
	uint32_t *nsids;
	size_t n;

	f->on_cmd = short_list;
	assert_int_equal(fake_connect(f, 1), 0);
	assert_int_equal(nvof_ns_list_sync(f->ctrl, &nsids, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(nsids[0], 7);
	free(nsids);
	fake_free(f);
}

static void identifiers_come_from_the_descriptors(void **state)
{
	struct fake *f = fake_new();
	static const uint8_t uuid[16] = { 1, 2, 3 }, nguid[16] = { 9, 8, 7 }, eui64[8] = { 5, 5 };
	uint8_t got[16], *d = f->desc;
	struct nvof_ns *ns;

	memcpy(f->id_ns.nguid, "0123456789abcdef", 16);
	memcpy(f->id_ns.eui64, eui64, 8);
	d[0] = NVME_NIDT_NGUID, d[1] = 16;
	memcpy(d + 4, nguid, 16);
	d[20] = NVME_NIDT_UUID, d[21] = 16;
	memcpy(d + 24, uuid, 16);
	d[40] = NVME_NIDT_EUI64, d[41] = 200; /* runs past the list's end: ignored */
	assert_int_equal(fake_connect(f, 1), 0);
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 3, &ns), 0);
	nvof_ns_uuid(ns, got);
	assert_memory_equal(got, uuid, 16);
	nvof_ns_nguid(ns, got);
	assert_memory_equal(got, nguid, 16);
	nvof_ns_eui64(ns, got);
	assert_memory_equal(got, eui64, 8);
	assert_int_equal(nvof_ns_nsid(ns), 3);
	nvof_ns_close(ns);
	fake_free(f);
}

static bool no_descriptors;

static enum fake_answer refuse_descriptors(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	if (!no_descriptors || fq->q.qid || req->sqe.opcode != nvme_admin_identify ||
	    (uint8_t)le32toh(req->sqe.cdw10) != NVME_IDENTIFY_CNS_NS_DESC_LIST)
		return FAKE_DEFAULT;
	return fake_status(cqe, NVME_SC_INVALID_FIELD | 0x4000, 0);
}

/* Refused each time in between: it comes and goes.  Without its UUID it could be taken for another one. */
static void a_ctrl_that_has_given_descriptors_has_them_for_each_namespace(void **state)
{
	struct fake *f = fake_new();
	struct nvof_ns *ns;

	f->on_cmd = refuse_descriptors;
	f->desc[0] = NVME_NIDT_UUID, f->desc[1] = 16, f->desc[4] = 1;
	no_descriptors = true;
	assert_int_equal(fake_connect(f, 1), 0);
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 1, &ns), 0); /* one that may have none at all */
	nvof_ns_close(ns);
	no_descriptors = false;
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 2, &ns), 0);
	nvof_ns_close(ns);
	no_descriptors = true;
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 3, &ns), -ENODEV);
	assert_null(ns);
	fake_free(f);
}

/* C073, C079 */
static void what_can_t_be_used_is_refused_with_the_reason(void **state)
{
	struct fake *f = fake_new();
	struct nvof_ns *ns;

	assert_int_equal(fake_connect(f, 1), 0);
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 5, &ns), -ENODEV); /* status 0Bh */
	assert_null(ns);
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 0, &ns), -EINVAL);
	assert_int_equal(nvof_ns_open_sync(f->ctrl, UINT32_MAX, &ns), -EINVAL);
	f->id_ns.lbaf[1].ds = 9;
	f->id_ns.lbaf[1].ms = htole16(8);
	f->id_ns.nlbaf = 1;
	f->id_ns.flbas = 1;
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 1, &ns), -ENOTSUP);
	assert_contains(nvof_ctrl_errmsg(f->ctrl), "512+8 bytes with metadata in a separate buffer");
	f->id_ns.flbas = 0x11;
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 1, &ns), -ENOTSUP);
	assert_contains(nvof_ctrl_errmsg(f->ctrl), "extended");
	f->id_ns.flbas = 0;
	f->id_ns.lbaf[0].ds = 3;
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 1, &ns), -ENOTSUP);
	f->id_ns.lbaf[0].ds = 200;
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 1, &ns), -ENOTSUP);
	f->id_ns.lbaf[0].ds = 18; /* 256 KiB, above MDTS */
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 1, &ns), -ENOTSUP);
	assert_contains(nvof_ctrl_errmsg(f->ctrl), "MDTS");
	f->id_ns.lbaf[0].ds = 9;
	f->desc[0] = NVME_NIDT_CSI, f->desc[1] = 1, f->desc[4] = 2;
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 1, &ns), -ENOTSUP);
	assert_contains(nvof_ctrl_errmsg(f->ctrl), "command set 2");
	memset(f->desc, 0, sizeof(f->desc));
	f->id_ns.nsze = f->id_ns.ncap = 0; /* inactive, told by zeroes */
	assert_int_equal(nvof_ns_open_sync(f->ctrl, 1, &ns), -ENODEV);
	assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_LIVE);
	fake_free(f);
}

static int nr_ns_cbs, ns_status;
static void ns_cb(void *arg, int status, struct nvof_ns *ns)
{
	nr_ns_cbs++;
	ns_status = status;
}

static void list_cb(void *arg, int status, const uint32_t *nsids, size_t nr)
{
	nr_ns_cbs++;
	ns_status = status;
}

static void opening_and_listing_end_with_the_ctrl(void **state)
{
	int freed, turns;

	for (freed = 0; freed < 2; freed++) {
		for (turns = 0; turns < 6; turns++) {
			struct fake *f = fake_new();
			int i;

			f->nr_ns = 5000;
			assert_int_equal(fake_connect(f, 1), 0);
			nr_ns_cbs = 0;
			assert_int_equal(nvof_ns_open(f->ctrl, 1, ns_cb, NULL), 0);
			assert_int_equal(nvof_ns_list(f->ctrl, list_cb, NULL), 0);
			for (i = 0; i < turns; i++)
				nvof_ctx_poll(f->ctx, 0);
			if (freed) {
				nvof_ctrl_free(f->ctrl);
				f->ctrl = NULL;
			} else {
				fake_fail_queue(f, 0, -ECONNRESET, "gone");
				fake_poll_ms(f, 2);
			}
			assert_int_equal(nr_ns_cbs, 2);
			fake_free(f);
		}
	}
}

static void an_id_that_none_can_have_is_named(void **state)
{
	static const uint32_t nsids[] = { 0, UINT32_MAX };
	struct fake *f = fake_new();
	struct nvof_ns *ns;
	char part[64];
	size_t i;

	assert_int_equal(fake_connect(f, 1), 0);
	for (i = 0; i < ARRAY_SIZE(nsids); i++) {
		assert_int_equal(nvof_ns_open_sync(f->ctrl, nsids[i], &ns), -EINVAL);
		snprintf(part, sizeof(part), "open namespace %u at ", nsids[i]);
		assert_contains(nvof_ctx_errmsg(f->ctx), part);
		assert_contains(nvof_ctx_errmsg(f->ctx), "ids from 1 to 4294967294");
	}
	fake_free(f);
}

/* ---- a scan: many namespaces opened at once, answers in any order, late, with events in between ---- */

#define SCAN_NS 500

struct scan {
	struct fake *f;
	struct host_req *held[SCAN_NS * 2];
	uint32_t nr_held, max_held;
	int nr_ended, nr_events;
	struct nvof_ns *ns[SCAN_NS + 1];
	unsigned int seed;
	uint32_t gone; /* nsid that is deleted meanwhile */
};
static struct scan scan;

static bool is_ns_identify(const struct fake_queue *fq, const struct host_req *req)
{
	uint8_t cns = (uint8_t)le32toh(req->sqe.cdw10);

	return !fq->q.qid && req->sqe.opcode == nvme_admin_identify &&
	       (cns == NVME_IDENTIFY_CNS_NS || cns == NVME_IDENTIFY_CNS_NS_DESC_LIST);
}

static enum fake_answer hold_identify(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	if (!is_ns_identify(fq, req))
		return FAKE_DEFAULT;
	scan.held[scan.nr_held++] = req;
	if (scan.nr_held > scan.max_held)
		scan.max_held = scan.nr_held;
	return FAKE_HOLD;
}

static void scan_opened(void *arg, int status, struct nvof_ns *ns)
{
	uint32_t nsid = (uint32_t)(uintptr_t)arg;

	scan.nr_ended++;
	assert_int_equal(status, nsid == scan.gone ? -ENODEV : 0);
	assert_null(scan.ns[nsid]);
	scan.ns[nsid] = ns;
}

static void answer_one_of_them(void)
{
	uint32_t i = (scan.seed = scan.seed * 1103515245 + 12345) >> 8, nsid;
	struct host_req *req;

	i %= scan.nr_held;
	req = scan.held[i];
	scan.held[i] = scan.held[--scan.nr_held];
	nsid = le32toh(req->sqe.nsid);
	if (nsid == scan.gone) {
		fake_complete(req, 0x400b, 0);
		return;
	}
	if ((le32toh(req->sqe.cdw10) & 0xff) == NVME_IDENTIFY_CNS_NS) {
		scan.f->id_ns.nsze = scan.f->id_ns.ncap = htole64(1000 + nsid);
		fake_put(req, &scan.f->id_ns, sizeof(scan.f->id_ns));
	}
	fake_complete(req, 0, 0);
}

static void an_event_comes(void)
{
	struct host_req *aer = scan.f->aer;

	if (!aer)
		return; /* not asked for again yet */
	scan.f->aer = NULL;
	scan.nr_events++;
	fake_complete(aer, 0, 0x040002);
}

/* As many at once as the admin queue holds: then it says so. */
static int open_one(struct fake *f, uint32_t nsid)
{
	int ret = nvof_ns_open(f->ctrl, nsid, scan_opened, (void *)(uintptr_t)nsid);

	assert_true(ret == 0 || ret == -EAGAIN);
	return ret;
}

/* C074, C081, C173, C073: whatever order the answers come in, each namespace is what its own answer said. */
static void a_scan_of_many_keeps_them_apart_while_events_come(void **state)
{
	unsigned int seed;

	for (seed = 1; seed <= 4; seed++) {
		struct fake *f = fake_new();
		uint32_t *nsids, i, next = 0;
		int events;
		size_t n;

		memset(&scan, 0, sizeof(scan));
		scan.f = f;
		scan.seed = seed;
		scan.gone = seed * 7;
		f->nr_ns = SCAN_NS;
		assert_int_equal(fake_connect(f, 1), 0);
		assert_int_equal(nvof_ns_list_sync(f->ctrl, &nsids, &n), 0);
		assert_int_equal(n, SCAN_NS);
		events = f->nr_events;
		f->on_cmd = hold_identify;
		for (i = 0; i < n; i++)
			assert_int_equal(nsids[i], i + 1); /* NSID order */
		for (i = 0; scan.nr_ended < SCAN_NS; i++) {
			while (next < n && !open_one(f, nsids[next]))
				next++;
			if (scan.nr_held)
				answer_one_of_them();
			if (i % 5 == 0)
				an_event_comes();
			nvof_ctx_poll(f->ctx, 0);
		}
		/* Many at once, not one round trip after the other. */
		assert_true(scan.max_held >= 16);
		assert_true(scan.nr_events > 10);
		assert_int_equal(f->nr_events, events + scan.nr_events);
		for (i = 1; i <= SCAN_NS; i++) {
			if (i != scan.gone)
				assert_int_equal(nvof_ns_nr_blocks(scan.ns[i]), 1000 + i);
			nvof_ns_close(scan.ns[i]);
		}
		assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_LIVE);
		f->on_cmd = NULL;
		free(nsids);
		fake_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_list_is_exact_whatever_its_length),
		cmocka_unit_test(a_list_that_leads_in_circles_is_refused),
		cmocka_unit_test(a_ctrl_that_sends_less_than_a_page_has_fewer_namespaces),
		cmocka_unit_test(identifiers_come_from_the_descriptors),
		cmocka_unit_test(a_ctrl_that_has_given_descriptors_has_them_for_each_namespace),
		cmocka_unit_test(what_can_t_be_used_is_refused_with_the_reason),
		cmocka_unit_test(opening_and_listing_end_with_the_ctrl),
		cmocka_unit_test(an_id_that_none_can_have_is_named),
		cmocka_unit_test(a_scan_of_many_keeps_them_apart_while_events_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
