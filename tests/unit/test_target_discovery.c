// SPDX-License-Identifier: BSD-3-Clause
/* The discovery subsystem: who is told of what, in any slices, and when it changes. */
#include "target_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OTHERHOST "nqn.2014-08.org.nvmexpress:uuid:5f0ab5ea-1f20-4a8e-9a3c-6c1f2b1d0e99"

static struct nvof_target *t;
static _Alignas(8) uint8_t buf[1 << 17];

static int setup(void **state)
{
	t = th_target(1);
	return 0;
}

static int teardown(void **state)
{
	nvof_target_free(t);
	return 0;
}

static const struct nvmf_discovery_log *read_log(struct th_queue *q)
{
	memset(buf, 0xa5, sizeof(buf));
	assert_status(th_get_log(q, NVME_LOG_LID_DISCOVER, false, 0, buf, sizeof(buf)), 0);
	return (const void *)buf;
}

static struct th_queue *discover(struct target_port *port, const char *hostnqn)
{
	struct th_queue *q = th_open_port(port);
	struct th_connect c = th_connect_admin();

	c.subnqn = NVMF_DISC_NQN;
	c.hostnqn = hostnqn;
	assert_status(th_connect(q, &c), 0);
	assert_status(th_property_set(q, NVME_REG_CC, TH_CC_EN), 0);
	return q;
}

/* C044 */
static void a_target_without_subsystems_has_an_empty_log(void **state)
{
	struct th_queue *q = discover(th_port(t, "fake"), HOSTNQN);
	const struct nvmf_discovery_log *log = read_log(q);

	assert_int_equal(le64toh(log->numrec), 0);
	assert_int_not_equal(le64toh(log->genctr), 0);
	assert_int_equal(log->recfmt, 0);
	th_close(q);
}

static void an_entry_says_how_to_reach_its_subsystem(void **state)
{
	char addr[128];
	const struct nvmf_disc_log_entry *e;
	struct th_queue *q;

	th_add_subsys(t, SUBNQN);
	assert_int_equal(nvof_target_listen(t, "fakenet:192.0.2.7:0", addr, sizeof(addr)), 0);
	assert_string_equal(addr, "fakenet:192.0.2.7:40001");
	q = discover(th_port(t, "fakenet:192.0.2.7:0"), HOSTNQN);
	assert_int_equal(le64toh(read_log(q)->numrec), 1);
	e = read_log(q)->entries;
	assert_int_equal(e->trtype, NVMF_TRTYPE_TCP);
	assert_int_equal(e->adrfam, NVMF_ADDR_FAMILY_IP4);
	assert_int_equal(e->subtype, NVME_NQN_NVME);
	assert_int_equal(le16toh(e->cntlid), 0xffff);
	assert_int_equal(le16toh(e->asqsz), 32);
	assert_int_equal(le16toh(e->portid), th_port(t, "fakenet:192.0.2.7:0")->portid);
	assert_string_equal(e->subnqn, SUBNQN);
	assert_memory_equal(e->traddr, "192.0.2.7", 9);
	assert_memory_equal(e->trsvcid, "40001", 5);
	th_close(q);
}

static void a_wildcard_listener_is_told_by_the_address_the_host_came_in_by(void **state)
{
	const struct nvmf_disc_log_entry *e;
	struct th_queue *q;

	th_add_subsys(t, SUBNQN);
	assert_int_equal(nvof_target_listen(t, "fakenet:[::]:4420", NULL, 0), 0);
	q = discover(th_port(t, "fakenet:[::]:4420"), HOSTNQN);
	e = read_log(q)->entries;
	assert_memory_equal(e->traddr, "192.0.2.7", 9); /* what the fake transport says of its own end */
	assert_int_equal(e->adrfam, NVMF_ADDR_FAMILY_IP4);
	th_set_local(q, "[2001:db8::1]:4420");
	e = read_log(q)->entries;
	assert_memory_equal(e->traddr, "2001:db8::1", 11);
	assert_int_equal(e->adrfam, NVMF_ADDR_FAMILY_IP6);
	th_close(q);
}

static void a_host_is_told_only_of_what_it_may_use(void **state)
{
	struct th_queue *mine = discover(th_port(t, "fake"), HOSTNQN), *other = discover(th_port(t, "fake"), OTHERHOST);

	th_add_subsys(t, SUBNQN);
	th_add_subsys(t, SUBNQN "2");
	assert_int_equal(nvof_target_allow_any_host(t, SUBNQN, false), 0);
	assert_int_equal(nvof_target_allow_host(t, SUBNQN, HOSTNQN), 0);
	assert_int_equal(le64toh(read_log(mine)->numrec), 2);
	assert_int_equal(le64toh(read_log(other)->numrec), 1);
	assert_string_equal(read_log(other)->entries[0].subnqn, SUBNQN "2");
	th_close(mine);
	th_close(other);
}

static void a_port_tells_of_the_subsystems_it_offers(void **state)
{
	struct target_port_opts opts = { .portid = 7 };
	struct target_port *port;
	struct error err = { 0 };
	struct th_connect c = th_connect_admin();
	struct th_queue *q;

	th_add_subsys(t, SUBNQN);
	th_add_subsys(t, SUBNQN "2");
	target_api_enter(t);
	assert_int_equal(target_listen(t, "fakenet:192.0.2.7:4420", &opts, &port, &err), 0);
	assert_int_equal(target_port_add_subsys(port, SUBNQN "2", &err), 0);
	assert_int_equal(target_port_add_subsys(port, SUBNQN "2", &err), -EEXIST);
	target_api_leave(t, 0, &err);
	q = discover(port, HOSTNQN);
	assert_int_equal(le64toh(read_log(q)->numrec), 1);
	assert_string_equal(read_log(q)->entries[0].subnqn, SUBNQN "2");
	assert_int_equal(le16toh(read_log(q)->entries[0].portid), 7);
	th_close(q);
	/* What it does not offer can't be connected to. */
	q = th_open_port(port);
	assert_status(th_connect(q, &c), ST_CMD(CONNECT_INVALID_PARAM));
	c.subnqn = SUBNQN "2";
	assert_status(th_connect(q, &c), 0);
	assert_int_equal(nvof_target_remove_subsys(t, SUBNQN "2"), 0);
	th_wait_closed(q);
	th_close(q);
}

/* C043: whatever slices a host reads in, together they are the log. */
static void slices_of_the_log_fit_together(void **state)
{
	static const uint32_t slices[] = { 4, 16, 1020, 1024, 1028, 4096, 20000 };
	struct th_queue *q = discover(th_port(t, "fake"), HOSTNQN);
	uint8_t *whole = malloc(sizeof(buf));
	size_t len = 1024 * 61;
	char nqn[100];

	for (int i = 0; i < 60; i++) {
		snprintf(nqn, sizeof(nqn), "%s-%d", SUBNQN, i);
		th_add_subsys(t, nqn);
	}
	read_log(q);
	memcpy(whole, buf, sizeof(buf));
	for (size_t s = 0; s < ARRAY_SIZE(slices); s++) {
		memset(buf, 0xa5, sizeof(buf));
		for (uint32_t off = 0; off < len; off += slices[s])
			if (slices[s] >= 1020 || off < 2048) /* small ones: the head and the first entry */
				assert_status(th_get_log(q, NVME_LOG_LID_DISCOVER, true, off, buf + off, slices[s]), 0);
		assert_memory_equal(buf, whole, slices[s] >= 1020 ? len : 2048);
	}
	/* Far beyond the end: zeroes. */
	assert_status(th_get_log(q, NVME_LOG_LID_DISCOVER, true, UINT64_MAX - 4095, buf, 4096), 0);
	assert_int_equal(buf[0], 0);
	free(whole);
	th_close(q);
}

static void referrals_are_told_as_discovery_subsystems(void **state)
{
	struct th_queue *q = discover(th_port(t, "fake"), HOSTNQN);
	const struct nvmf_disc_log_entry *e;

	assert_int_equal(nvof_target_add_referral(t, "tcp", "2001:db8::2", "8009"), 0);
	assert_int_equal(nvof_target_add_referral(t, "TCP", "2001:DB8::2", "8009"), -EEXIST);
	assert_int_equal(nvof_target_add_referral(t, "tcp", "2001:db8:0:0:0::2", "8009"), -EEXIST); /* C062 */
	assert_int_equal(nvof_target_add_referral(t, "tcp", "192.0.2.9", "0"), -EINVAL);
	th_assert_errmsg(t, "1 to 65535");
	assert_int_equal(nvof_target_add_referral(t, "tpc", "192.0.2.9", "8009"), -EINVAL);
	th_assert_errmsg(t, "tpc");
	assert_int_equal(le64toh(read_log(q)->numrec), 1);
	e = read_log(q)->entries;
	assert_int_equal(e->subtype, NVME_NQN_DISC);
	assert_int_equal(e->adrfam, NVMF_ADDR_FAMILY_IP6);
	assert_string_equal(e->subnqn, NVMF_DISC_NQN);
	assert_memory_equal(e->traddr, "2001:db8::2", 11);
	assert_int_equal(nvof_target_remove_referral(t, "tcp", "2001:db8:0::2", "8009"), 0);
	assert_int_equal(nvof_target_remove_referral(t, "tcp", "2001:db8::2", "8009"), -ENOENT);
	assert_int_equal(le64toh(read_log(q)->numrec), 0);
	th_close(q);
}

/* C046 */
static void every_change_moves_the_generation_and_is_told(void **state)
{
	struct th_queue *q = discover(th_port(t, "fake"), HOSTNQN);
	uint64_t gen = le64toh(read_log(q)->genctr);

	th_set_feature(q, NVME_FEAT_FID_ASYNC_EVENT, 1u << 31);
	for (int i = 0; i < 3; i++) {
		struct th_cmd *aer = th_send(q, th_sqe(nvme_admin_async_event, 0, 0, 0, 0), NULL, 0);
		struct th_cpl cpl;

		assert_true(th_held(aer));
		if (i < 2)
			th_add_subsys(t, i ? SUBNQN "2" : SUBNQN);
		else
			assert_int_equal(nvof_target_remove_subsys(t, SUBNQN), 0);
		cpl = th_wait(aer);
		assert_status(cpl, 0);
		assert_int_equal(cpl.dw0, NVME_AER_NOTICE | NVME_AER_NOTICE_DISC_CHANGED << 8 | NVME_LOG_LID_DISCOVER << 16);
		assert_true(le64toh(read_log(q)->genctr) > gen);
		gen = le64toh(read_log(q)->genctr);
	}
	th_close(q);
}

static void a_discovery_ctrl_is_one_and_has_no_io(void **state)
{
	struct th_queue *q = discover(th_port(t, "fake"), HOSTNQN), *io;
	const struct nvme_id_ctrl *id = (const void *)buf;
	struct th_connect c = th_connect_io(1, 1);

	assert_status(th_identify(q, NVME_IDENTIFY_CNS_CTRL, 0, buf), 0);
	assert_int_equal(id->cntrltype, NVME_CTRL_CNTRLTYPE_DISCOVERY);
	assert_string_equal(id->subnqn, NVMF_DISC_NQN);
	assert_int_equal(le32toh(id->oaes), 1u << 31);
	assert_int_not_equal(id->lpa & NVME_CTRL_LPA_EXTENDED, 0);
	c.cntlid = le16toh(id->cntlid);
	c.subnqn = NVMF_DISC_NQN;
	io = th_open(t);
	assert_status(th_connect(io, &c), ST_CMD(CONNECT_INVALID_PARAM));
	assert_status(th_identify(q, NVME_IDENTIFY_CNS_NS_ACTIVE_LIST, 0, buf), ST(INVALID_FIELD));
	assert_status(th_get_log(q, NVME_LOG_LID_SMART, false, 0, buf, 512), ST_CMD(INVALID_LOG_PAGE));
	assert_status(th_set_feature(q, NVME_FEAT_FID_NUM_QUEUES, 0), ST(INVALID_FIELD));
	th_close(io);
	th_close(q);
}

static void discovery_ctrls_have_ids_of_their_own(void **state)
{
	struct th_queue *a = discover(th_port(t, "fake"), HOSTNQN), *b = discover(th_port(t, "fake"), HOSTNQN);

	assert_int_not_equal(th_core(a)->ctrl->cntlid, th_core(b)->ctrl->cntlid);
	th_close(a);
	th_close(b);
}

/* C063, C064 */
static void a_persistent_discovery_ctrl_lives_as_long_as_it_says_so(void **state)
{
	struct th_connect c = th_connect_admin();
	struct th_queue *quiet = discover(th_port(t, "fake"), HOSTNQN), *lively = th_open(t), *silent = th_open(t);

	c.subnqn = NVMF_DISC_NQN;
	c.kato = 60000;
	assert_status(th_connect(lively, &c), 0);
	assert_status(th_connect(silent, &c), 0);
	th_property_set(lively, NVME_REG_CC, TH_CC_EN);
	for (int i = 0; i < 2; i++) {
		assert_status(th_cmd(lively, th_sqe(nvme_admin_keep_alive, 0, 0, 0, 0), NULL, 0), 0);
		th_kato_passes(lively);
		th_kato_passes(silent); /* the Connect was traffic */
	}
	th_wait_closed(silent);
	assert_false(th_closed(lively));
	assert_false(th_closed(quiet)); /* KATO 0: no timer */
	th_close(lively);
	th_close(quiet);
	th_close(silent);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_target_without_subsystems_has_an_empty_log),
		TEST(an_entry_says_how_to_reach_its_subsystem),
		TEST(a_wildcard_listener_is_told_by_the_address_the_host_came_in_by),
		TEST(a_host_is_told_only_of_what_it_may_use),
		TEST(a_port_tells_of_the_subsystems_it_offers),
		TEST(slices_of_the_log_fit_together),
		TEST(referrals_are_told_as_discovery_subsystems),
		TEST(every_change_moves_the_generation_and_is_told),
		TEST(a_discovery_ctrl_is_one_and_has_no_io),
		TEST(discovery_ctrls_have_ids_of_their_own),
		TEST(a_persistent_discovery_ctrl_lives_as_long_as_it_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
