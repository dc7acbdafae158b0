/* SPDX-License-Identifier: BSD-3-Clause */
/* Connecting to all that discovery services tell, over a transport without a network. */
#include "host_fake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/wave.h"

#define DC	       "192.0.2.1"
#define NR_RECORDS_MAX 512

/* What discovery services tell, by their address. */
static struct service {
	const char *traddr;
	struct nvmf_disc_log_entry records[NR_RECORDS_MAX];
	uint64_t nr;
	uint32_t nr_visits;
} services[8];
static size_t nr_services;
static uint32_t nr_setting_up, most_setting_up, nr_io_connects;

static const char *traddr_of(const struct fake_queue *fq)
{
	return fq->q.ctrl->p.traddr;
}

static struct service *service_at(const char *traddr)
{
	size_t i;

	for (i = 0; i < nr_services; i++)
		if (!strcmp(services[i].traddr, traddr))
			return &services[i];
	return NULL;
}

static struct service *service(const char *traddr)
{
	struct service *s = service_at(traddr);

	if (s)
		return s;
	services[nr_services] = (struct service){ .traddr = traddr };
	return &services[nr_services++];
}

static struct nvmf_disc_log_entry *record(const char *at, uint8_t subtype, const char *traddr, const char *trsvcid, const char *subnqn)
{
	struct service *s = service(at);
	struct nvmf_disc_log_entry *e = &s->records[s->nr++];

	*e = (struct nvmf_disc_log_entry){ .trtype = NVMF_TRTYPE_TCP, .adrfam = NVMF_ADDR_FAMILY_IP4, .subtype = subtype };
	if (strchr(traddr, ':'))
		e->adrfam = NVMF_ADDR_FAMILY_IP6;
	memcpy(e->traddr, traddr, strlen(traddr));
	memcpy(e->trsvcid, trsvcid, strlen(trsvcid));
	memcpy(e->subnqn, subnqn, strlen(subnqn));
	return e;
}

static struct nvmf_disc_log_entry *subsystem(const char *at, unsigned int i)
{
	char traddr[32], subnqn[64];

	snprintf(traddr, sizeof(traddr), "198.51.100.%u", i % 250);
	snprintf(subnqn, sizeof(subnqn), "nqn.2014-08.org.example:%u", i);
	return record(at, NVME_NQN_NVME, traddr, "4420", subnqn);
}

static void referral(const char *at, const char *to)
{
	record(at, NVME_NQN_DISC, to, "8009", NVMF_DISC_NQN);
}

static enum fake_answer tell_log(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	uint64_t offset = le32toh(req->sqe.cdw12);
	struct service *s = service_at(traddr_of(fq));
	struct nvmf_discovery_log hdr = { .genctr = htole64(1), .numrec = htole64(s ? s->nr : 0) };

	if (!s)
		return fake_status(cqe, 0x4109, 0);
	s->nr_visits += !offset && le32toh(req->sqe.cdw10) & 1 << 15; /* the first header */
	if (offset)
		fake_put(req, (uint8_t *)s->records + offset - 1024, req->data_len);
	else
		fake_put(req, &hdr, sizeof(hdr));
	return FAKE_ANSWERED;
}

static enum fake_answer on_cmd(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	if (req->sqe.opcode == NVMF_OPCODE && fake_fctype(req) == NVMF_CONNECT) {
		nr_setting_up--;
		nr_io_connects += fq->q.qid != 0;
	}
	if (!fq->q.qid && req->sqe.opcode == nvme_admin_get_log_page)
		return tell_log(f, fq, req, cqe);
	return FAKE_DEFAULT;
}

static int on_state(struct fake *f, uint16_t qid, enum queue_state state)
{
	if (state == QUEUE_NEW && ++nr_setting_up > most_setting_up)
		most_setting_up = nr_setting_up;
	return 0;
}

static struct fake *f;
static struct nvof_wave *wave;
static int nr_cbs, wave_status;
static bool free_in_cb;

static int begin(void **state)
{
	memset(services, 0, sizeof(services));
	nr_services = nr_setting_up = most_setting_up = nr_io_connects = 0;
	wave = NULL;
	nr_cbs = 0;
	free_in_cb = false;
	f = fake_new();
	f->on_cmd = on_cmd;
	f->on_state = on_state;
	return 0;
}

/* Ctrls that a test leaves behind go with the ctx; nothing else is left. */
static int end(void **state)
{
	nvof_wave_free(wave);
	while (!cds_list_empty(&f->ctx->ctrls))
		nvof_ctrl_free(cds_list_first_entry(&f->ctx->ctrls, struct nvof_ctrl, link));
	assert_true(cds_list_empty(&f->ctx->waves));
	fake_free(f);
	return 0;
}

static void wave_cb(void *arg, struct nvof_wave *w, int status)
{
	nr_cbs++;
	wave_status = status;
	if (free_in_cb) {
		nvof_wave_free(w);
		wave = NULL;
	}
}

static void opts_init(struct nvof_connect_all_opts *o, struct nvof_connect_opts *c)
{
	fake_opts(f, c);
	c->traddr = DC;
	c->subsysnqn = NULL;
	c->event = NULL;
	c->nr_io_queues = 8;
	nvof_connect_all_opts_init(o);
	o->connect = c;
}

static void wait_for_wave(void)
{
	while (!nr_cbs)
		nvof_ctx_poll(f->ctx, 1000000);
	assert_int_equal(nr_cbs, 1);
}

static void go(const struct nvof_connect_all_opts *o)
{
	nvof_wave_free(wave);
	nr_cbs = 0;
	assert_int_equal(nvof_connect_all(f->ctx, o, wave_cb, NULL, &wave), 0);
	assert_int_equal(nr_cbs, 0); /* never from inside */
	wait_for_wave();
}

static void go_plain(void)
{
	struct nvof_connect_all_opts o;
	struct nvof_connect_opts c;

	opts_init(&o, &c);
	go(&o);
}

static const struct nvof_wave_result *result(size_t i)
{
	const struct nvof_wave_result *r = nvof_wave_result(wave, i);

	assert_non_null(r);
	return r;
}

static void assert_outcome(size_t i, enum nvof_outcome outcome, const char *reason)
{
	const struct nvof_wave_result *r = result(i);

	if (r->outcome != outcome)
		fail_msg("record %zu is %s (%s), not %s", i, nvof_outcome_name(r->outcome), r->reason, nvof_outcome_name(outcome));
	assert_contains(r->reason, reason);
	assert_true(!*r->reason == !*reason);
	assert_int_equal(!!r->status, outcome == NVOF_OUTCOME_FAILED);
	assert_int_equal(!!r->ctrl, outcome == NVOF_OUTCOME_CONNECTED || outcome == NVOF_OUTCOME_ALREADY);
	assert_true(r->end_us >= r->start_us);
}

static void a_hundred_ctrls_with_eight_queues_are_one_wave(void **state)
{
	unsigned int i;

	for (i = 0; i < 100; i++)
		subsystem(DC, i);
	go_plain();
	assert_int_equal(wave_status, 0);
	assert_int_equal(nvof_wave_nr_results(wave), 100);
	assert_int_equal(nvof_wave_count(wave, NVOF_OUTCOME_CONNECTED), 100);
	for (i = 0; i < 100; i++) {
		assert_outcome(i, NVOF_OUTCOME_CONNECTED, "");
		assert_int_equal(nvof_ctrl_state(result(i)->ctrl), NVOF_CTRL_LIVE);
		assert_int_equal(nvof_ctrl_nr_io_queues(result(i)->ctrl), 8);
		assert_string_equal(nvof_ctrl_subsysnqn(result(i)->ctrl), result(i)->entry->subnqn);
		assert_string_equal(result(i)->service, DC ":8009");
	}
	assert_int_equal(nr_io_connects, 800);
	assert_int_equal(most_setting_up, 800);
	/* The discovery ctrl is gone, the results' ctrls stay when the results go. */
	assert_int_equal(f->nr_endpoints, 100);
	nvof_wave_free(wave);
	wave = NULL;
	assert_int_equal(f->nr_endpoints, 100);
}

static void setup_concurrency_limits_the_wave(void **state)
{
	static const unsigned int limits[] = { 1, 3, 20 };
	struct nvof_connect_all_opts o;
	struct nvof_connect_opts c;
	unsigned int i, j;

	for (j = 0; j < ARRAY_SIZE(limits); j++) {
		for (i = 0; i < 30; i++)
			subsystem(DC, i);
		opts_init(&o, &c);
		c.setup_concurrency = limits[j];
		go(&o);
		assert_int_equal(nvof_wave_count(wave, NVOF_OUTCOME_CONNECTED), 30);
		assert_int_equal(most_setting_up, limits[j]);
		end(NULL);
		begin(NULL);
	}
}

static enum fake_answer refuse_some(struct fake *fake, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	bool connect = req->sqe.opcode == NVMF_OPCODE && fake_fctype(req) == NVMF_CONNECT;

	if (connect && !strcmp(traddr_of(fq), "198.51.100.3"))
		return fake_status(cqe, 0x184 | 0x4000, 0);
	if (connect && !strcmp(traddr_of(fq), "198.51.100.5") && fq->q.qid == 6)
		return FAKE_CLOSE;
	if (!strcmp(traddr_of(fq), "198.51.100.7"))
		return FAKE_HOLD;
	return on_cmd(fake, fq, req, cqe);
}

static void one_that_fails_stops_no_other(void **state)
{
	struct nvof_connect_all_opts o;
	struct nvof_connect_opts c;
	unsigned int i;

	for (i = 0; i < 10; i++)
		subsystem(DC, i);
	f->on_cmd = refuse_some;
	opts_init(&o, &c);
	c.connect_tmo_ms = 2500;
	go(&o);
	assert_int_equal(wave_status, 0);
	assert_string_equal(nvof_wave_errmsg(wave), "");
	assert_outcome(3, NVOF_OUTCOME_FAILED, "Connect Invalid Host");
	assert_int_equal(result(3)->status, 0x4184);
	assert_outcome(5, NVOF_OUTCOME_FAILED, "connect qid 6 (connect) to 192.0.2.7:4420");
	assert_outcome(7, NVOF_OUTCOME_FAILED, "no answer to Connect within 2500 ms");
	assert_int_equal(result(7)->status, -ETIMEDOUT);
	assert_int_equal(nvof_wave_count(wave, NVOF_OUTCOME_CONNECTED), 7);
	assert_int_equal(f->nr_endpoints, 7);
	assert_int_equal(f->nr_queues_alive, 7 * 9);
}

/* C050 */
static void services_that_refer_to_one_another_are_visited_once(void **state)
{
	subsystem(DC, 1);
	referral(DC, "192.0.2.2");
	referral(DC, DC);
	referral("192.0.2.2", DC);
	subsystem("192.0.2.2", 2);
	referral("192.0.2.2", "192.0.2.3");
	referral("192.0.2.3", "192.0.2.2");
	subsystem("192.0.2.3", 3);
	go_plain();
	assert_int_equal(wave_status, 0);
	assert_int_equal(service(DC)->nr_visits, 1);
	assert_int_equal(service("192.0.2.2")->nr_visits, 1);
	assert_int_equal(service("192.0.2.3")->nr_visits, 1);
	assert_int_equal(nvof_wave_count(wave, NVOF_OUTCOME_CONNECTED), 3);
	assert_int_equal(nvof_wave_count(wave, NVOF_OUTCOME_FOLLOWED), 2);
	assert_outcome(2, NVOF_OUTCOME_SKIPPED, "visited already");
	assert_int_equal(nvof_wave_count(wave, NVOF_OUTCOME_SKIPPED), 3);
	assert_int_equal(f->nr_endpoints, 3);
}

static void referrals_are_followed_so_deep(void **state)
{
	static const char *const at[] = { DC, "192.0.2.2", "192.0.2.3", "192.0.2.4" };
	struct nvof_connect_all_opts o;
	struct nvof_connect_opts c;
	unsigned int depth, i;

	for (depth = 0; depth < 4; depth++) {
		for (i = 0; i < ARRAY_SIZE(at); i++) {
			subsystem(at[i], i);
			if (i + 1 < ARRAY_SIZE(at))
				referral(at[i], at[i + 1]);
		}
		opts_init(&o, &c);
		o.max_depth = depth;
		go(&o);
		assert_int_equal(nvof_wave_count(wave, NVOF_OUTCOME_CONNECTED), depth + 1);
		assert_int_equal(nvof_wave_count(wave, NVOF_OUTCOME_FOLLOWED), depth);
		if (depth < 3) {
			assert_outcome(2 * depth + 1, NVOF_OUTCOME_SKIPPED, "not followed so deep");
			assert_int_equal(result(2 * depth)->depth, depth);
		}
		end(NULL);
		begin(NULL);
	}
}

static void a_referral_that_leads_nowhere_fails_alone(void **state)
{
	referral(DC, "192.0.2.2");
	subsystem(DC, 1);
	go_plain(); /* there is no log at 192.0.2.2 */
	assert_int_equal(wave_status, 0);
	assert_outcome(0, NVOF_OUTCOME_FAILED, "read the discovery log of 192.0.2.2:8009: ");
	assert_outcome(1, NVOF_OUTCOME_CONNECTED, "");
}

/* C056 */
static void what_is_connected_already_is_no_failure(void **state)
{
	struct nvof_ctrl *ctrl;
	unsigned int i, round;

	for (i = 0; i < 5; i++)
		subsystem(DC, i);
	go_plain();
	assert_int_equal(nvof_wave_count(wave, NVOF_OUTCOME_CONNECTED), 5);
	ctrl = result(2)->ctrl;
	for (round = 0; round < 2; round++) {
		go_plain();
		assert_int_equal(wave_status, 0);
		assert_int_equal(nvof_wave_count(wave, NVOF_OUTCOME_ALREADY), 5);
		assert_ptr_equal(result(2)->ctrl, ctrl);
		assert_int_equal(f->nr_endpoints, 5);
	}
	/* One that is gone is connected to again, those that are there are left alone. */
	nvof_ctrl_free(ctrl);
	go_plain();
	assert_int_equal(nvof_wave_count(wave, NVOF_OUTCOME_ALREADY), 4);
	assert_outcome(2, NVOF_OUTCOME_CONNECTED, "");
}

static void each_record_gets_as_many_ctrls_as_were_asked_for(void **state)
{
	struct nvof_connect_all_opts o;
	struct nvof_connect_opts c;
	struct nvof_wave *none;
	unsigned int nr, i, round;

	subsystem(DC, 0);
	subsystem(DC, 1);
	for (nr = 1; nr <= 3; nr++) {
		opts_init(&o, &c);
		o.duplicate_connect = nr;
		for (round = 0; round < 2; round++) {
			unsigned int there = round ? nr : nr - 1;

			go(&o);
			assert_int_equal(wave_status, 0);
			assert_int_equal(nvof_wave_nr_results(wave), 2 * nr);
			for (i = 0; i < 2 * nr; i++) /* those that are there come first */
				assert_outcome(i, i % nr < there ? NVOF_OUTCOME_ALREADY : NVOF_OUTCOME_CONNECTED, "");
			assert_ptr_equal(result(0)->entry, result(nr - 1)->entry);
			assert_int_equal(f->nr_endpoints, 2 * nr);
		}
	}
	opts_init(&o, &c);
	o.duplicate_connect = 65;
	assert_int_equal(nvof_connect_all_sync(f->ctx, &o, &none), -EINVAL);
	assert_string_equal(nvof_ctx_errmsg(f->ctx), "duplicate_connect 65: at most 64");
}

/* C061 C062 */
static void already_connected_means_the_same_host_address_and_source(void **state)
{
	struct nvof_connect_all_opts o;
	struct nvof_connect_opts c;

	record(DC, NVME_NQN_NVME, "2001:db8::7", "4420", "nqn.2014-08.org.example:a");
	opts_init(&o, &c);
	go(&o);
	assert_outcome(0, NVOF_OUTCOME_CONNECTED, "");
	service(DC)->nr = 0;
	record(DC, NVME_NQN_NVME, "2001:DB8:0:0::7", "", "nqn.2014-08.org.example:a"); /* other spelling, port by default */
	go(&o);
	assert_outcome(0, NVOF_OUTCOME_ALREADY, "");
	c.hostnqn = "nqn.2014-08.org.example:another-host";
	go(&o);
	assert_outcome(0, NVOF_OUTCOME_CONNECTED, "");
	c.host_traddr = "2001:db8::1";
	go(&o);
	assert_outcome(0, NVOF_OUTCOME_CONNECTED, "");
	go(&o);
	assert_outcome(0, NVOF_OUTCOME_ALREADY, "");
	service(DC)->nr = 0;
	record(DC, NVME_NQN_NVME, "2001:db8::7", "4421", "nqn.2014-08.org.example:a");
	record(DC, NVME_NQN_NVME, "2001:db8::7", "4420", "nqn.2014-08.org.example:ab"); /* C147: the other's name is its beginning */
	go(&o);
	assert_outcome(0, NVOF_OUTCOME_CONNECTED, "");
	assert_outcome(1, NVOF_OUTCOME_CONNECTED, "");
}

/* C052 C055 */
static void what_is_not_for_this_host_is_skipped_with_its_reason(void **state)
{
	record(DC, NVME_NQN_CURR, DC, "8009", NVMF_DISC_NQN);
	subsystem(DC, 1)->trtype = NVMF_TRTYPE_RDMA;
	subsystem(DC, 2)->trtype = NVMF_TRTYPE_FC;
	subsystem(DC, 3)->trtype = 0x7f;
	subsystem(DC, 4)->adrfam = 0x7f;
	subsystem(DC, 5)->subtype = 9;
	subsystem(DC, 6)->treq = NVMF_TREQ_REQUIRED;
	memset(subsystem(DC, 7)->subnqn, 'x', 256);
	subsystem(DC, 8);
	subsystem(DC, 8);
	subsystem(DC, 9)->treq = NVMF_TREQ_NOT_REQUIRED | NVMF_TREQ_DISABLE_SQFLOW;
	go_plain();
	assert_int_equal(wave_status, 0);
	assert_outcome(0, NVOF_OUTCOME_SKIPPED, "the discovery service itself");
	assert_outcome(1, NVOF_OUTCOME_SKIPPED, "transport is not in this build");
	assert_outcome(2, NVOF_OUTCOME_SKIPPED, "transport is not in this build");
	assert_outcome(3, NVOF_OUTCOME_SKIPPED, "transport is not in this build");
	assert_outcome(4, NVOF_OUTCOME_SKIPPED, "not an IP address");
	assert_outcome(5, NVOF_OUTCOME_SKIPPED, "type is unknown");
	assert_outcome(6, NVOF_OUTCOME_SKIPPED, "demands TLS");
	assert_outcome(7, NVOF_OUTCOME_SKIPPED, "longer than 223 bytes");
	assert_outcome(8, NVOF_OUTCOME_CONNECTED, "");
	assert_outcome(9, NVOF_OUTCOME_SKIPPED, "an earlier record says the same");
	assert_outcome(10, NVOF_OUTCOME_CONNECTED, "");
	assert_int_equal(service(DC)->nr_visits, 1);
	assert_int_equal(f->nr_endpoints, 2);
}

static void a_link_local_address_is_on_the_link_of_its_service(void **state)
{
	struct nvof_connect_all_opts o;
	struct nvof_connect_opts c;

	record("fe80::1%eth7", NVME_NQN_NVME, "fe80::2", "4420", "nqn.2014-08.org.example:a");
	record("fe80::1%eth7", NVME_NQN_NVME, "2001:db8::2", "4420", "nqn.2014-08.org.example:a");
	opts_init(&o, &c);
	c.traddr = "fe80::1%eth7";
	go(&o);
	assert_contains(nvof_ctrl_address(result(0)->ctrl), "traddr=fe80::2%eth7,");
	assert_contains(nvof_ctrl_address(result(1)->ctrl), "traddr=2001:db8::2,");
}

/* C016 C065 */
static void ctrls_take_over_the_source_and_not_the_keep_alive(void **state)
{
	struct nvof_connect_all_opts o;
	struct nvof_connect_opts c;

	subsystem(DC, 1);
	opts_init(&o, &c);
	c.host_traddr = "192.0.2.99";
	c.host_iface = "eth7";
	go(&o);
	assert_string_equal(result(0)->ctrl->p.link.host_traddr, "192.0.2.99");
	assert_string_equal(result(0)->ctrl->p.link.host_iface, "eth7");
	assert_int_equal(nvof_ctrl_kato_ms(result(0)->ctrl), 5000);
	c.keep_alive_tmo_ms = 7000;
	c.host_iface = NULL;
	go(&o);
	assert_int_equal(nvof_ctrl_kato_ms(result(0)->ctrl), 7000);
}

/* C053 */
static void a_service_with_a_name_of_its_own_has_no_io_queues(void **state)
{
	struct nvof_connect_all_opts o;
	struct nvof_connect_opts c;

	f->id.cntrltype = NVME_CTRL_CNTRLTYPE_DISCOVERY;
	record(DC, NVME_NQN_DISC, "192.0.2.2", "8009", "nqn.2014-08.org.example:discovery");
	record("192.0.2.2", NVME_NQN_DISC, "192.0.2.2", "8009", NVMF_DISC_NQN); /* itself under its other name */
	opts_init(&o, &c);
	go(&o);
	assert_outcome(0, NVOF_OUTCOME_FOLLOWED, "");
	assert_outcome(1, NVOF_OUTCOME_SKIPPED, "visited already");
	assert_int_equal(nr_io_connects, 0);
}

static unsigned int nr_mismatch_warnings;

static void count_warnings(void *arg, int level, const char *msg)
{
	nr_mismatch_warnings += strstr(msg, "differs from") != NULL;
}

static void an_unusual_host_id_is_told_once_not_for_each_ctrl(void **state)
{
	struct nvof_connect_all_opts o;
	struct nvof_connect_opts c;
	unsigned int i;

	for (i = 0; i < 20; i++)
		subsystem(DC, i);
	f->ctx->log = (struct log){ .fn = count_warnings, .level = NVOF_LOG_WARN };
	nr_mismatch_warnings = 0;
	opts_init(&o, &c);
	c.hostid = "99999999-bbbb-cccc-dddd-eeeeeeeeeeee";
	go(&o);
	assert_int_equal(nvof_wave_count(wave, NVOF_OUTCOME_CONNECTED), 20);
	assert_true(nr_mismatch_warnings >= 1 && nr_mismatch_warnings <= 2);
}

static void a_first_log_that_cannot_be_read_is_the_status(void **state)
{
	struct nvof_connect_all_opts o;
	struct nvof_connect_opts c;
	struct nvof_wave *none;

	go_plain();
	assert_int_equal(wave_status, 0x4109);
	assert_contains(nvof_wave_errmsg(wave), "read the discovery log of 192.0.2.1:8009");
	assert_int_equal(nvof_wave_nr_results(wave), 0);
	assert_null(nvof_wave_result(wave, 0));
	opts_init(&o, &c);
	assert_int_equal(nvof_connect_all_sync(f->ctx, &o, &none), 0x4109);
	assert_null(none);
	assert_contains(nvof_ctx_errmsg(f->ctx), "read the discovery log");
	c.traddr = "192.0.2.1";
	c.trsvcid = "0";
	assert_int_equal(nvof_connect_all(f->ctx, &o, wave_cb, NULL, &none), -EINVAL);
	assert_contains(nvof_ctx_errmsg(f->ctx), "trsvcid '0'");
	o.size = 1000;
	assert_int_equal(nvof_connect_all(f->ctx, &o, wave_cb, NULL, &none), -EINVAL);
	assert_null(none);
}

static void an_empty_log_is_a_wave_of_nothing(void **state)
{
	service(DC);
	go_plain();
	assert_int_equal(wave_status, 0);
	assert_int_equal(nvof_wave_nr_results(wave), 0);
	assert_int_equal(f->nr_endpoints, 0);
}

static void fill_for_cancel(struct nvof_connect_all_opts *o, struct nvof_connect_opts *c, unsigned int concurrency)
{
	unsigned int i;

	for (i = 0; i < 6; i++)
		subsystem(DC, i);
	referral(DC, "192.0.2.2");
	subsystem("192.0.2.2", 7);
	opts_init(o, c);
	c->nr_io_queues = 2;
	c->setup_concurrency = concurrency;
}

/* After any number of turns, with all at once and with few. */
static void freed_at_any_time_it_ends_once_and_leaves_nothing(void **state)
{
	struct nvof_connect_all_opts o;
	struct nvof_connect_opts c;
	unsigned int turns, t, concurrency;

	for (turns = 0; turns < 120; turns++) {
		for (concurrency = 0; concurrency < 3; concurrency++) {
			fill_for_cancel(&o, &c, concurrency);
			assert_int_equal(nvof_connect_all(f->ctx, &o, wave_cb, NULL, &wave), 0);
			for (t = 0; t < turns && !nr_cbs; t++)
				nvof_ctx_poll(f->ctx, 1000);
			if (nr_cbs) {
				assert_int_equal(wave_status, 0);
				end(NULL);
			} else if (turns % 2) {
				nvof_wave_free(wave);
				wave = NULL;
				assert_int_equal(nr_cbs, 1);
				assert_int_equal(wave_status, -ECANCELED);
				fake_poll_ms(f, 1);
				assert_int_equal(f->nr_endpoints, 0);
				end(NULL);
			} else {
				/* The ctx goes, and all that is in it. */
				struct nvof_ctx *ctx = f->ctx;

				nvof_ctx_free(ctx);
				wave = NULL;
				assert_int_equal(nr_cbs, 1);
				assert_int_equal(wave_status, -ECANCELED);
				assert_int_equal(f->nr_endpoints, 0);
				assert_int_equal(f->nr_queues_alive, 0);
				assert_int_equal(nvof_ctx_new(NULL, &f->ctx), 0);
				fake_free(f);
			}
			begin(NULL);
		}
	}
}

static unsigned int free_at;

/* Gives the whole up from a callback, when so many ctrls are there. */
static void free_on_event(void *arg, struct nvof_ctrl *ctrl, const struct nvof_event *event)
{
	if (event->type == NVOF_EVENT_STATE && nvof_ctrl_state(ctrl) == NVOF_CTRL_LIVE && wave && !free_at--) {
		nvof_wave_free(wave);
		wave = NULL;
		assert_int_equal(nr_cbs, 0);
	}
}

static void freed_from_a_callback_it_ends_with_the_turn(void **state)
{
	struct nvof_connect_all_opts o;
	struct nvof_connect_opts c;
	unsigned int i, concurrency;

	for (i = 0; i < 6; i++) {
		for (concurrency = 0; concurrency < 3; concurrency++) {
			fill_for_cancel(&o, &c, concurrency);
			c.event = free_on_event;
			free_at = i;
			assert_int_equal(nvof_connect_all(f->ctx, &o, wave_cb, NULL, &wave), 0);
			wait_for_wave();
			assert_int_equal(wave_status, -ECANCELED);
			assert_null(wave);
			fake_poll_ms(f, 1);
			assert_int_equal(f->nr_endpoints, 0);
			end(NULL);
			begin(NULL);
		}
	}
}

static void its_own_callback_may_free_it(void **state)
{
	subsystem(DC, 1);
	free_in_cb = true;
	go_plain();
	assert_int_equal(wave_status, 0);
	assert_null(wave);
	assert_int_equal(f->nr_endpoints, 1);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_hundred_ctrls_with_eight_queues_are_one_wave),
		TEST(setup_concurrency_limits_the_wave),
		TEST(one_that_fails_stops_no_other),
		TEST(services_that_refer_to_one_another_are_visited_once),
		TEST(referrals_are_followed_so_deep),
		TEST(a_referral_that_leads_nowhere_fails_alone),
		TEST(what_is_connected_already_is_no_failure),
		TEST(each_record_gets_as_many_ctrls_as_were_asked_for),
		TEST(already_connected_means_the_same_host_address_and_source),
		TEST(what_is_not_for_this_host_is_skipped_with_its_reason),
		TEST(a_link_local_address_is_on_the_link_of_its_service),
		TEST(ctrls_take_over_the_source_and_not_the_keep_alive),
		TEST(a_service_with_a_name_of_its_own_has_no_io_queues),
		TEST(an_unusual_host_id_is_told_once_not_for_each_ctrl),
		TEST(a_first_log_that_cannot_be_read_is_the_status),
		TEST(an_empty_log_is_a_wave_of_nothing),
		TEST(freed_at_any_time_it_ends_once_and_leaves_nothing),
		TEST(freed_from_a_callback_it_ends_with_the_turn),
		TEST(its_own_callback_may_free_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
