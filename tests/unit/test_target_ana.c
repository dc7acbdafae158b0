// SPDX-License-Identifier: BSD-3-Clause
/* Asymmetric namespace access as a host of two ports sees it: states, log page, event, and how I/O ends. */
#include "target_host.h"

#include <errno.h>
#include <string.h>

#define PORT_A	    "fakenet:192.0.2.1:4420"
#define PORT_B	    "fakenet:192.0.2.2:4420"
#define ST_ANA(sc)  NVME_STATUS(NVME_SCT_PATH, NVME_SC_ANA_##sc)
#define ANA_CONFIG  (1u << 11)
#define LSP_SHIFT   8
#define MEMBERS_MAX 300

static struct nvof_target *t;
static struct th_queue *admin_a, *admin_b, *io_a, *io_b;
static _Alignas(8) uint8_t page[8192], data[4096];

static struct th_queue *connect_by(const char *spec, uint16_t qid, uint16_t *cntlid)
{
	struct th_queue *q = th_open_port(th_port(t, spec));
	struct th_connect c = qid ? th_connect_io(qid, *cntlid) : th_connect_admin();
	struct th_cpl cpl = th_connect(q, &c);

	assert_status(cpl, 0);
	if (!qid) {
		*cntlid = (uint16_t)cpl.dw0;
		assert_status(th_property_set(q, NVME_REG_CC, TH_CC_EN), 0);
	}
	return q;
}

static uint32_t add_ns(uint32_t anagrpid)
{
	struct nvof_target_ns_opts o;
	uint32_t nsid;

	nvof_target_ns_opts_init(&o);
	o.backend = "mem:1M";
	o.anagrpid = anagrpid;
	assert_int_equal(nvof_target_add_ns(t, SUBNQN, &o, &nsid), 0);
	return nsid;
}

/* Namespaces 1 and 3 are in group 1, 2 in group 5. */
static int setup(void **state)
{
	uint16_t a, b;

	t = th_target(2);
	th_add_subsys(t, SUBNQN);
	add_ns(1);
	add_ns(5);
	add_ns(0);
	assert_int_equal(nvof_target_listen(t, PORT_A, NULL, 0), 0);
	assert_int_equal(nvof_target_listen_ana(t, PORT_B, &(struct nvof_ana_group){ 5, NVOF_ANA_INACCESSIBLE }, 1, NULL, 0), 0);
	admin_a = connect_by(PORT_A, 0, &a);
	admin_b = connect_by(PORT_B, 0, &b);
	io_a = connect_by(PORT_A, 1, &a);
	io_b = connect_by(PORT_B, 1, &b);
	memset(page, 0xa5, sizeof(page));
	return 0;
}

static int teardown(void **state)
{
	th_close(io_a);
	th_close(io_b);
	th_close(admin_a);
	th_close(admin_b);
	nvof_target_free(t);
	return 0;
}

static uint16_t io_status(struct th_queue *q, uint8_t opcode, uint32_t nsid)
{
	return th_cmd(q, th_rw(opcode, nsid, 0, 1), data, 512).status;
}

static void identify_tells_of_groups(void **state)
{
	struct nvme_id_ctrl *ctrl = (void *)page;
	struct nvme_id_ns *ns = (void *)page;

	assert_status(th_identify(admin_a, NVME_IDENTIFY_CNS_CTRL, 0, page), 0);
	assert_int_equal(ctrl->cmic, 0xb);
	assert_int_equal(le32toh(ctrl->oaes) & ANA_CONFIG, ANA_CONFIG);
	assert_int_equal(ctrl->anacap, 0x5f);
	assert_int_equal(ctrl->anatt, 10);
	assert_int_equal(le32toh(ctrl->anagrpmax), 128);
	assert_int_equal(le32toh(ctrl->nanagrpid), 128);
	assert_status(th_identify(admin_a, NVME_IDENTIFY_CNS_NS, 2, page), 0);
	assert_int_equal(le32toh(ns->anagrpid), 5);
	assert_int_equal(ns->nmic & 1, 1);
	assert_int_equal(le64toh(ns->nuse), 2048);
}

static void both_ports_show_the_same_namespace(void **state)
{
	uint8_t other[4096];

	assert_status(th_identify(admin_a, NVME_IDENTIFY_CNS_NS_DESC_LIST, 2, page), 0);
	assert_status(th_identify(admin_b, NVME_IDENTIFY_CNS_NS_DESC_LIST, 2, other), 0);
	assert_memory_equal(page, other, sizeof(other));
}

static void what_is_inaccessible_has_no_utilization(void **state)
{
	struct nvme_id_ns *ns = (void *)page;

	assert_status(th_identify(admin_b, NVME_IDENTIFY_CNS_NS, 2, page), 0);
	assert_int_equal(le64toh(ns->nuse), 0);
	assert_int_equal(le64toh(ns->nsze), 2048);
	assert_status(th_identify(admin_b, NVME_IDENTIFY_CNS_NS, 1, page), 0);
	assert_int_equal(le64toh(ns->nuse), 2048);
}

static void io_meets_the_state_of_its_port_and_group(void **state)
{
	static const struct {
		enum nvof_ana_state state;
		uint16_t status;
	} want[] = { { NVOF_ANA_OPTIMIZED, 0 },
		     { NVOF_ANA_NON_OPTIMIZED, 0 },
		     { NVOF_ANA_INACCESSIBLE, ST_ANA(INACCESSIBLE) },
		     { NVOF_ANA_PERSISTENT_LOSS, ST_ANA(PERSISTENT_LOSS) },
		     { NVOF_ANA_CHANGE, ST_ANA(TRANSITION) },
		     { NVOF_ANA_OPTIMIZED, 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		assert_int_equal(nvof_target_set_ana(t, PORT_B, 5, want[i].state), 0);
		assert_int_equal(io_status(io_b, nvme_cmd_write, 2), want[i].status);
		assert_int_equal(io_status(io_b, nvme_cmd_read, 2), want[i].status);
		assert_status(th_cmd(io_b, th_sqe(nvme_cmd_flush, 2, 0, 0, 0), NULL, 0), want[i].status);
		assert_status(th_cmd(io_b, th_sqe(nvme_cmd_dsm, 2, 0, 4, 0), data, 16), want[i].status);
		assert_int_equal(io_status(io_b, nvme_cmd_read, 1), 0);
		assert_int_equal(io_status(io_a, nvme_cmd_read, 2), 0);
	}
}

static void io_in_flight_ends_as_it_would_have(void **state)
{
	struct th_cmd *cmd = th_send_slow(io_a, th_rw(nvme_cmd_write, 1, 0, 8), data, 4096);

	th_sync(io_a);
	assert_int_equal(nvof_target_set_ana(t, PORT_A, 1, NVOF_ANA_INACCESSIBLE), 0);
	assert_int_equal(io_status(io_a, nvme_cmd_read, 1), ST_ANA(INACCESSIBLE));
	th_release(cmd);
	assert_status(th_wait(cmd), 0);
}

static void check_log(struct th_queue *q, uint8_t state_of_5)
{
	struct nvme_ana_log *log = (void *)page;
	struct nvme_ana_group_desc *first = log->descs, *second;

	assert_status(th_get_log(q, NVME_LOG_LID_ANA, false, 0, page, 4096), 0);
	assert_int_equal(le16toh(log->ngrps), 2);
	assert_int_equal(le32toh(first->grpid), 1);
	assert_int_equal(first->state, NVME_ANA_STATE_OPTIMIZED);
	assert_int_equal(le32toh(first->nnsids), 2);
	assert_int_equal(le32toh(first->nsids[0]), 1);
	assert_int_equal(le32toh(first->nsids[1]), 3);
	second = (void *)&first->nsids[2];
	assert_int_equal(le32toh(second->grpid), 5);
	assert_int_equal(second->state, state_of_5);
	assert_int_equal(le32toh(second->nnsids), 1);
	assert_int_equal(le32toh(second->nsids[0]), 2);
}

static void the_log_has_groups_with_members_and_the_states_of_the_port(void **state)
{
	check_log(admin_a, NVME_ANA_STATE_OPTIMIZED);
	check_log(admin_b, NVME_ANA_STATE_INACCESSIBLE);
}

static void groups_only_leaves_the_namespaces_out(void **state)
{
	struct nvme_ana_log *log = (void *)page;
	struct nvme_sqe sqe =
		th_sqe(nvme_admin_get_log_page, TARGET_NSID_ALL, NVME_LOG_LID_ANA | 1 << LSP_SHIFT | (80 / 4 - 1) << 16, 0, 0);

	assert_status(th_cmd(admin_a, sqe, page, 80), 0);
	assert_int_equal(le16toh(log->ngrps), 2);
	assert_int_equal(log->descs[0].nnsids, 0);
	assert_int_equal(le32toh(log->descs[1].grpid), 5);
	sqe.cdw12 = htole32(84);
	assert_status(th_cmd(admin_a, sqe, page, 80), ST(INVALID_FIELD));
}

static void a_log_of_many_groups_is_the_same_in_pieces(void **state)
{
	static _Alignas(8) uint8_t whole[8192], part[64];
	size_t size;

	for (uint32_t i = 0; i < MEMBERS_MAX; i++)
		add_ns(1 + i % ANA_GRPID_MAX);
	size = 16 + ANA_GRPID_MAX * 32 + (MEMBERS_MAX + 3) * 4;
	assert_status(th_get_log(admin_a, NVME_LOG_LID_ANA, true, 0, whole, 8192), 0);
	assert_int_equal(le16toh(((struct nvme_ana_log *)whole)->ngrps), ANA_GRPID_MAX);
	for (size_t at = 0; at < size; at += sizeof(part)) {
		assert_status(th_get_log(admin_a, NVME_LOG_LID_ANA, true, at, part, sizeof(part)), 0);
		assert_memory_equal(part, whole + at, sizeof(part));
	}
	assert_status(th_get_log(admin_a, NVME_LOG_LID_ANA, true, size + 4, part, sizeof(part)), ST(INVALID_FIELD));
}

static uint64_t change_count(void)
{
	assert_status(th_get_log(admin_a, NVME_LOG_LID_ANA, true, 0, page, 16), 0);
	return le64toh(((struct nvme_ana_log *)page)->chgcnt);
}

static void the_change_count_moves_when_the_log_does(void **state)
{
	uint64_t before = change_count();

	assert_int_equal(nvof_target_set_ana(t, PORT_A, 1, NVOF_ANA_OPTIMIZED), 0);
	assert_int_equal(change_count(), before);
	assert_int_equal(nvof_target_set_ana(t, PORT_A, 1, NVOF_ANA_NON_OPTIMIZED), 0);
	assert_true(change_count() > before);
	before = change_count();
	add_ns(7);
	assert_true(change_count() > before);
}

static struct th_cmd *aer(struct th_queue *q)
{
	return th_send(q, th_sqe(nvme_admin_async_event, 0, 0, 0, 0), NULL, 0);
}

static void a_change_is_told_once_until_the_log_is_read(void **state)
{
	struct th_cmd *mine, *second, *other;
	struct th_cpl cpl;

	assert_status(th_set_feature(admin_a, NVME_FEAT_FID_ASYNC_EVENT, ANA_CONFIG), 0);
	assert_status(th_set_feature(admin_b, NVME_FEAT_FID_ASYNC_EVENT, ANA_CONFIG), 0);
	mine = aer(admin_a);
	second = aer(admin_a);
	other = aer(admin_b);
	assert_int_equal(nvof_target_set_ana(t, PORT_A, 77, NVOF_ANA_CHANGE), 0); /* no members: nothing to tell */
	assert_true(th_held(mine));
	assert_int_equal(nvof_target_set_ana(t, PORT_A, 5, NVOF_ANA_NON_OPTIMIZED), 0);
	cpl = th_wait(mine);
	assert_int_equal(cpl.dw0, 0x2 | 0x03 << 8 | 0x0c << 16);
	assert_int_equal(nvof_target_set_ana(t, PORT_A, 5, NVOF_ANA_INACCESSIBLE), 0);
	assert_true(th_held(second));
	assert_status(th_get_log(admin_a, NVME_LOG_LID_ANA, true, 0, page, 4096), 0); /* retained */
	assert_true(th_held(second));
	assert_status(th_get_log(admin_a, NVME_LOG_LID_ANA, false, 0, page, 4096), 0);
	assert_status(th_wait(second), 0);
	assert_true(th_held(other)); /* another port's */
	th_close(admin_b);
	th_wait(other);
	admin_b = th_open_port(th_port(t, PORT_B));
}

static void who_did_not_ask_is_not_told(void **state)
{
	struct th_cmd *cmd = aer(admin_a);

	assert_status(th_set_feature(admin_a, NVME_FEAT_FID_ASYNC_EVENT, 0), 0);
	assert_int_equal(nvof_target_set_ana(t, PORT_A, 1, NVOF_ANA_INACCESSIBLE), 0);
	assert_true(th_held(cmd));
	assert_status(th_set_feature(admin_a, NVME_FEAT_FID_ASYNC_EVENT, ANA_CONFIG), 0);
	assert_status(th_wait(cmd), 0);
}

static void what_there_is_not_is_refused(void **state)
{
	struct nvof_target_ns_opts o;

	assert_int_equal(nvof_target_set_ana(t, PORT_A, 0, NVOF_ANA_OPTIMIZED), -EINVAL);
	assert_int_equal(nvof_target_set_ana(t, PORT_A, 129, NVOF_ANA_OPTIMIZED), -EINVAL);
	th_assert_errmsg(t, "ANA group 129: want 1 to 128");
	assert_int_equal(nvof_target_set_ana(t, PORT_A, 1, (enum nvof_ana_state)5), -EINVAL);
	th_assert_errmsg(t, "state 5 is none");
	assert_int_equal(nvof_target_set_ana(t, "fakenet:192.0.2.9:4420", 1, NVOF_ANA_OPTIMIZED), -ENOENT);
	th_assert_errmsg(t, "not listening there");
	assert_int_equal(nvof_target_listen_ana(t, "fakenet:192.0.2.3:4420", &(struct nvof_ana_group){ 0, NVOF_ANA_CHANGE }, 1, NULL, 0),
			 -EINVAL);
	nvof_target_ns_opts_init(&o);
	o.backend = "mem:1M";
	o.anagrpid = 129;
	assert_int_equal(nvof_target_add_ns(t, SUBNQN, &o, NULL), -EINVAL);
	th_assert_errmsg(t, "ANA group 129");
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(identify_tells_of_groups),
		T(both_ports_show_the_same_namespace),
		T(what_is_inaccessible_has_no_utilization),
		T(io_meets_the_state_of_its_port_and_group),
		T(io_in_flight_ends_as_it_would_have),
		T(the_log_has_groups_with_members_and_the_states_of_the_port),
		T(groups_only_leaves_the_namespaces_out),
		T(a_log_of_many_groups_is_the_same_in_pieces),
		T(the_change_count_moves_when_the_log_does),
		T(a_change_is_told_once_until_the_log_is_read),
		T(who_did_not_ask_is_not_told),
		T(what_there_is_not_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
