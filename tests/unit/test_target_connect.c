// SPDX-License-Identifier: BSD-3-Clause
/* Fabrics Connect, as the target answers it. */
#include "target_host.h"

#include <stdio.h>
#include <string.h>

#define INVALID_PARAM ST_CMD(CONNECT_INVALID_PARAM)
#define IATTR_DATA    0x10000u

static struct nvof_target *t;

static int setup(void **state)
{
	t = th_target(2);
	th_add_subsys(t, SUBNQN);
	th_add_ns(t, SUBNQN, "null:1M");
	return 0;
}

static int teardown(void **state)
{
	assert_true(cds_list_empty(&target_subsys_find(t, SUBNQN)->ctrls)); /* no test leaves a ctrl behind */
	nvof_target_free(t);
	return 0;
}

/* A Connect with these data must be refused with Invalid Parameters that point at where. */
static void refused_at(const struct th_connect *c, const struct nvmf_connect_data *data, uint32_t where)
{
	struct th_queue *q = th_open(t);
	struct nvmf_connect_data copy = *data;
	struct th_cpl cpl = th_cmd(q, th_connect_sqe(c), &copy, sizeof(copy));

	assert_status(cpl, INVALID_PARAM);
	assert_int_equal(cpl.dw0, where);
	th_close(q);
}

static void refused(const struct th_connect *c, uint16_t status, uint32_t where)
{
	struct th_queue *q = th_open(t);
	struct th_cpl cpl = th_connect(q, c);

	assert_status(cpl, status);
	assert_int_equal(cpl.dw0, where);
	th_close(q);
}

static void no_ctrl_is_left(void)
{
	assert_int_equal(target_subsys_find(t, SUBNQN)->nr_ctrls, 0);
}

/* C001 */
static void host_identity_that_is_no_identity_is_refused_by_field(void **state)
{
	struct th_connect c = th_connect_admin();
	struct nvmf_connect_data good, data;

	th_connect_data(&c, &good);
	data = good;
	memset(data.hostnqn, 0, sizeof(data.hostnqn));
	refused_at(&c, &data, IATTR_DATA | 512);
	data = good;
	strcpy(data.hostnqn, "2014-08.org.nvmexpress:uuid:5f0ab5ea-1f20-4a8e-9a3c-6c1f2b1d0e11");
	refused_at(&c, &data, IATTR_DATA | 512);
	data = good;
	memset(data.hostnqn + strlen(data.hostnqn), 'x', 224 - strlen(data.hostnqn));
	memset(data.hostnqn + 224, 0xff, 32);
	refused_at(&c, &data, IATTR_DATA | 512);
	data = good;
	memset(data.hostnqn + strlen(data.hostnqn), 'x', 256 - strlen(data.hostnqn));
	refused_at(&c, &data, IATTR_DATA | 512);
	data = good;
	memset(data.hostid, 0, sizeof(data.hostid));
	refused_at(&c, &data, IATTR_DATA | 0);
	no_ctrl_is_left();
}

static void log_keep(void *arg, enum nvof_log_level level, const char *msg)
{
	snprintf(arg, 400, "%s", msg);
}

static void the_log_says_which_field_and_the_status_in_words(void **state)
{
	struct th_connect c = th_connect_admin();
	struct nvmf_connect_data data;
	struct nvof_target_opts opts;
	struct nvof_target *saved = t;
	char told[400] = "";

	nvof_target_opts_init(&opts);
	opts.log = log_keep;
	opts.log_arg = told;
	opts.log_level = NVOF_LOG_WARN;
	t = th_target_opts(&opts);
	th_connect_data(&c, &data);
	memset(data.hostnqn, 'x', sizeof(data.hostnqn));
	refused_at(&c, &data, IATTR_DATA | 512);
	assert_non_null(
		strstr(told, "Connect qid 0 refused: Connect Invalid Parameters (sct 1 sc 82h, DNR): hostnqn: the NQN is not terminated"));
	th_connect_data(&c, &data);
	memset(data.subsysnqn, 'x', sizeof(data.subsysnqn));
	refused_at(&c, &data, IATTR_DATA | 256);
	assert_non_null(strstr(told, "subsysnqn: the NQN is not terminated"));
	c.recfmt = 1;
	refused(&c, ST_CMD(CONNECT_FORMAT), 0);
	assert_non_null(strstr(told, "h, DNR): unknown record format"));
	nvof_target_free(t);
	t = saved;
}

/* C150 */
static void each_refusal_has_its_status_and_field(void **state)
{
	struct th_connect c = th_connect_admin();

	c.recfmt = 1;
	refused(&c, ST_CMD(CONNECT_FORMAT), 0);
	c = th_connect_admin();
	c.subnqn = "nqn.2024-01.org.example:nobody";
	refused(&c, INVALID_PARAM, IATTR_DATA | 256);
	c.subnqn = "disks";
	refused(&c, INVALID_PARAM, IATTR_DATA | 256);
	c = th_connect_admin();
	c.sqsize = 0;
	refused(&c, INVALID_PARAM, 44);
	c.sqsize = 1024; /* 0's based: MQES is 1023 */
	refused(&c, INVALID_PARAM, 44);
	c = th_connect_admin();
	c.cntlid = 1;
	refused(&c, INVALID_PARAM, IATTR_DATA | 16);
	c = th_connect_admin();
	c.sqsize = 666; /* the transport has no memory for it */
	refused(&c, NVME_STATUS(NVME_SCT_CMD_SPECIFIC, NVME_SC_CONNECT_CTRL_BUSY), 0);
	no_ctrl_is_left();
}

static void a_connect_that_is_fused_or_has_prps_is_refused(void **state)
{
	static const uint8_t flags[] = { 0, NVME_SQE_PSDT_SGL | 1, NVME_SQE_PSDT_SGL | 2, 0x80, 0xc0 };
	struct th_connect c = th_connect_admin();
	struct nvmf_connect_data data;

	for (size_t i = 0; i < sizeof(flags); i++) {
		struct th_queue *q = th_open(t);
		struct nvme_sqe sqe = th_connect_sqe(&c);

		th_connect_data(&c, &data);
		sqe.flags = flags[i];
		assert_status(th_cmd(q, sqe, &data, sizeof(data)), ST(INVALID_FIELD));
		th_close(q);
	}
	no_ctrl_is_left();
}

/* MQES is about I/O queues: an admin queue may have 32 entries, as the discovery log says. */
static void small_io_queues_leave_the_admin_queue_its_size(void **state)
{
	struct th_connect c = th_connect_admin();
	struct nvof_target_opts opts;
	struct nvof_target *small;
	struct th_queue *admin, *q;
	uint16_t cntlid;

	nvof_target_opts_init(&opts);
	opts.max_queue_size = 16;
	small = th_target_opts(&opts);
	th_add_subsys(small, SUBNQN);
	admin = th_admin(small, &cntlid);
	assert_int_equal(th_property_get(admin, NVME_REG_CAP, true) & 0xffff, 15);
	q = th_open(small);
	c.sqsize = 32;
	assert_status(th_connect(q, &c), INVALID_PARAM);
	c = th_connect_io(1, cntlid);
	c.sqsize = 16;
	assert_status(th_connect(q, &c), INVALID_PARAM);
	c.sqsize = 15;
	assert_status(th_connect(q, &c), 0);
	th_close(q);
	th_close(admin);
	nvof_target_free(small);
}

static void a_host_that_is_not_on_the_list_is_an_invalid_host(void **state)
{
	struct th_connect c = th_connect_admin();
	struct th_queue *q;

	assert_int_equal(nvof_target_allow_any_host(t, SUBNQN, false), 0);
	refused(&c, ST_CMD(CONNECT_INVALID_HOST), 0);
	assert_int_equal(nvof_target_allow_host(t, SUBNQN, HOSTNQN), 0);
	q = th_admin(t, NULL);
	/* Taking it off the list ends its association. */
	assert_int_equal(nvof_target_disallow_host(t, SUBNQN, HOSTNQN), 0);
	th_wait_closed(q);
	th_close(q);
	refused(&c, ST_CMD(CONNECT_INVALID_HOST), 0);
	assert_int_equal(nvof_target_allow_any_host(t, SUBNQN, true), 0);
}

static void an_io_queue_must_match_its_admin_queue(void **state)
{
	uint16_t cntlid;
	struct th_queue *admin = th_admin(t, &cntlid), *io;
	struct th_connect c = th_connect_io(1, cntlid + 1);

	refused(&c, INVALID_PARAM, IATTR_DATA | 16);
	c = th_connect_io(1, cntlid);
	c.hostnqn = "nqn.2014-08.org.nvmexpress:uuid:5f0ab5ea-1f20-4a8e-9a3c-6c1f2b1d0e12";
	refused(&c, INVALID_PARAM, IATTR_DATA | 512);
	c = th_connect_io(1, cntlid);
	c.hostid[0] ^= 1;
	refused(&c, INVALID_PARAM, IATTR_DATA | 0);
	c = th_connect_io(129, cntlid);
	refused(&c, INVALID_PARAM, 42);
	c = th_connect_io(1, cntlid);
	c.sqsize = 0;
	refused(&c, INVALID_PARAM, 44);
	io = th_io(t, 1, cntlid);
	th_close(io);
	th_close(admin);
}

/* C018 */
static void an_io_queue_by_another_port_is_refused(void **state)
{
	struct th_connect c;
	struct th_queue *admin, *q;
	uint16_t cntlid;

	assert_int_equal(nvof_target_listen(t, "fakenet:192.0.2.7:4420", NULL, 0), 0);
	admin = th_admin(t, &cntlid);
	c = th_connect_io(1, cntlid);
	q = th_open_port(th_port(t, "fakenet:192.0.2.7:4420"));
	assert_status(th_connect(q, &c), INVALID_PARAM);
	th_close(q);
	q = th_open_port(th_port(t, "fake"));
	assert_status(th_connect(q, &c), 0);
	th_close(q);
	th_close(admin);
	assert_int_equal(nvof_target_unlisten(t, "fakenet:192.0.2.7:4420"), 0);
}

/* C005 */
static void a_queue_id_is_free_again_at_once(void **state)
{
	uint16_t cntlid;
	struct th_queue *admin = th_admin(t, &cntlid);
	struct th_queue *io = th_io(t, 1, cntlid);

	for (int i = 0; i < 1000; i++) {
		struct th_queue *next = th_open(t);
		struct th_connect c = th_connect_io(1, cntlid);
		struct nvmf_connect_data data;
		struct th_cmd *cmd;

		/* The Connect may well be looked at before the end of the old connection is. */
		th_connect_data(&c, &data);
		cmd = th_send(next, th_connect_sqe(&c), &data, sizeof(data));
		th_close(io);
		assert_status(th_wait(cmd), 0);
		io = next;
	}
	th_close(io);
	th_close(admin);
}

static void a_queue_id_that_stays_in_use_is_refused(void **state)
{
	uint16_t cntlid;
	struct th_queue *admin = th_admin(t, &cntlid), *io = th_io(t, 1, cntlid);
	struct th_connect c = th_connect_io(1, cntlid);

	refused(&c, INVALID_PARAM, 42);
	th_close(io);
	th_close(admin);
}

static void a_second_connect_on_a_queue_is_a_sequence_error(void **state)
{
	struct th_queue *q = th_admin(t, NULL);
	struct th_connect c = th_connect_admin();

	assert_status(th_connect(q, &c), ST(CMD_SEQ_ERROR));
	th_close(q);
}

/* Both were taken in before either could be carried out. */
static void two_connects_under_way_make_one_ctrl(void **state)
{
	struct th_connect c = th_connect_admin();
	struct th_queue *q = th_open(t);
	struct nvmf_connect_data data[2];
	struct th_cmd *cmd[2];

	for (int i = 0; i < 2; i++) {
		th_connect_data(&c, &data[i]);
		cmd[i] = th_send_slow(q, th_connect_sqe(&c), &data[i], sizeof(data[i]));
	}
	th_release(cmd[0]);
	assert_status(th_wait(cmd[0]), 0);
	th_release(cmd[1]);
	assert_status(th_wait(cmd[1]), ST(CMD_SEQ_ERROR));
	assert_int_equal(target_subsys_find(t, SUBNQN)->nr_ctrls, 1);
	th_close(q);
	no_ctrl_is_left();
}

static void nothing_but_connect_comes_first(void **state)
{
	struct th_queue *q = th_open(t);
	uint8_t page[4096];

	assert_status(th_identify(q, NVME_IDENTIFY_CNS_CTRL, 0, page), ST(CMD_SEQ_ERROR));
	assert_status(th_cmd(q, th_property_get_sqe(NVME_REG_CAP, true), NULL, 0), ST(CMD_SEQ_ERROR));
	th_close(q);
}

static void nothing_but_fabrics_commands_before_enable(void **state)
{
	struct th_connect c = th_connect_admin();
	struct th_queue *q = th_open(t);
	struct th_cpl cpl = th_connect(q, &c);
	struct th_connect io = th_connect_io(1, (uint16_t)cpl.dw0);
	uint8_t page[4096];

	assert_status(cpl, 0);
	assert_status(th_identify(q, NVME_IDENTIFY_CNS_CTRL, 0, page), ST(CMD_SEQ_ERROR));
	refused(&io, ST(CMD_SEQ_ERROR), 0);
	th_close(q);
}

static void connect_data_of_another_length_is_refused(void **state)
{
	struct th_connect c = th_connect_admin();
	struct th_queue *q = th_open(t);
	uint8_t data[2048] = { 0 };

	assert_status(th_cmd(q, th_connect_sqe(&c), data, 512), ST(SGL_INVALID_DATA));
	assert_status(th_cmd(q, th_connect_sqe(&c), data, 2048), ST(SGL_INVALID_DATA));
	assert_status(th_cmd(q, th_connect_sqe(&c), data, 0), ST(SGL_INVALID_DATA));
	assert_status(th_connect(q, &c), 0);
	th_close(q);
}

static void sq_flow_control_is_turned_off_when_asked(void **state)
{
	uint16_t cntlid;
	struct th_queue *admin = th_admin(t, &cntlid), *io = th_open(t);
	struct th_connect c = th_connect_io(1, cntlid);
	struct th_cpl cpl;

	c.cattr = NVMF_CATTR_DISABLE_SQFLOW;
	cpl = th_connect(io, &c);
	assert_status(cpl, 0);
	assert_int_equal(cpl.sqhd, 0xffff);
	assert_true(th_core(io)->sqflow_off);
	th_close(io);
	th_close(admin);
}

static void sqhd_goes_round_with_the_queue(void **state)
{
	uint16_t cntlid;
	struct th_queue *admin = th_admin(t, &cntlid), *io = th_open(t);
	struct th_connect c = th_connect_io(1, cntlid);
	struct th_cpl cpl;

	c.sqsize = 3;
	cpl = th_connect(io, &c);
	assert_int_equal(cpl.sqhd, 1);
	for (int i = 2; i < 10; i++) {
		cpl = th_cmd(io, th_sqe(nvme_cmd_flush, 1, 0, 0, 0), NULL, 0);
		assert_status(cpl, 0);
		assert_int_equal(cpl.sqhd, i % 4);
		assert_int_equal(cpl.sqid, 1);
	}
	th_close(io);
	th_close(admin);
}

/* ---- queues that are overfilled: C039 ---- */

/* An association whose I/O queue holds four commands; a fault keeps them. */
struct small {
	struct th_queue *admin, *io;
};

static struct small small_open(void)
{
	uint16_t cntlid;
	struct small a = { .admin = th_admin(t, &cntlid), .io = th_open(t) };
	struct th_connect c = th_connect_io(1, cntlid);

	c.sqsize = 3;
	assert_status(th_connect(a.io, &c), 0);
	assert_int_equal(nvof_target_add_fault(t, "on=io,ignore"), 0);
	return a;
}

static void small_is_lost(struct small a, struct th_cmd **cmds, int nr)
{
	th_wait_closed(a.io);
	th_wait_closed(a.admin);
	for (int i = 0; i < nr; i++)
		assert_status(th_wait(cmds[i]), 0xffff);
	nvof_target_clear_faults(t);
	th_close(a.io);
	th_close(a.admin);
}

static void a_host_that_overfills_its_queue_loses_its_association(void **state)
{
	struct small a = small_open();
	struct th_cmd *cmd[6];

	for (int i = 0; i < 4; i++)
		cmd[i] = th_send(a.io, th_sqe(nvme_cmd_flush, 1, 0, 0, 0), NULL, 0);
	th_sync(a.io);
	assert_false(th_closed(a.io)); /* as many as it has entries: one more than allowed, which older kernels do */
	for (int i = 4; i < 6; i++)
		cmd[i] = th_send(a.io, th_sqe(nvme_cmd_flush, 1, 0, 0, 0), NULL, 0);
	small_is_lost(a, cmd, 6);
}

static void overfill(uint32_t waiting, int nr_kept, struct nvme_sqe last, int last_status)
{
	struct small a = small_open();
	struct th_cmd *cmd[5];

	th_core(a.io)->nr_waiting = waiting; /* its thread sleeps */
	for (int i = 0; i < nr_kept - 1; i++)
		cmd[i] = th_send(a.io, th_sqe(nvme_cmd_flush, 1, 0, 0, 0), NULL, 0);
	if (last_status)
		assert_status(th_cmd(a.io, last, NULL, 0), last_status);
	cmd[nr_kept - 1] = th_send(a.io, th_sqe(nvme_cmd_flush, 1, 0, 0, 0), NULL, 0);
	th_sync(a.io);
	assert_false(th_closed(a.io));
	cmd[nr_kept] = th_send(a.io, last, NULL, 0);
	small_is_lost(a, cmd, nr_kept + 1);
}

static void bad_sgls_overfill_a_queue_like_any_command(void **state)
{
	struct nvme_sqe bad = th_sqe(nvme_cmd_flush, 1, 0, 0, 0);

	bad.sgl.type = NVME_SGL_TRANSPORT;
	overfill(0, 4, bad, 0x4011);
}

static void what_waits_in_the_transport_counts_like_any_command(void **state)
{
	overfill(2, 2, th_sqe(nvme_cmd_flush, 1, 0, 0, 0), 0);
}

/* ---- ids and ends ---- */

static void ctrl_ids_are_unique_and_rest_before_they_come_again(void **state)
{
	struct th_queue *a, *b;
	uint16_t id_a, id_b, id_c;

	a = th_admin(t, &id_a);
	b = th_admin(t, &id_b);
	assert_int_not_equal(id_a, id_b);
	th_close(a);
	a = th_admin(t, &id_c);
	assert_int_not_equal(id_c, id_a);
	assert_int_not_equal(id_c, id_b);
	th_close(a);
	th_close(b);
}

static void a_subsystem_out_of_ctrl_ids_is_busy(void **state)
{
	struct nvof_subsys_opts opts;
	struct th_connect c = th_connect_admin();
	struct th_queue *q[2];
	uint16_t cntlid;

	nvof_subsys_opts_init(&opts);
	opts.cntlid_min = 5;
	opts.cntlid_max = 6;
	c.subnqn = "nqn.2024-01.org.example:small";
	assert_int_equal(nvof_target_add_subsys(t, c.subnqn, &opts), 0);
	for (int i = 0; i < 2; i++) {
		q[i] = th_admin_to(t, c.subnqn, &cntlid);
		assert_int_equal(cntlid, 5 + i);
	}
	refused(&c, NVME_STATUS(NVME_SCT_CMD_SPECIFIC, NVME_SC_CONNECT_CTRL_BUSY), 0);
	th_close(q[0]);
	q[0] = th_admin_to(t, c.subnqn, &cntlid);
	assert_int_equal(cntlid, 5);
	th_close(q[0]);
	th_close(q[1]);
	assert_int_equal(nvof_target_remove_subsys(t, c.subnqn), 0);
}

static void losing_the_admin_queue_closes_the_io_queues(void **state)
{
	struct th_queue *admin, *io[4];
	uint16_t cntlid;

	admin = th_admin(t, &cntlid);
	for (int i = 0; i < 4; i++)
		io[i] = th_io(t, (uint16_t)(i + 1), cntlid);
	th_close(admin);
	for (int i = 0; i < 4; i++) {
		th_wait_closed(io[i]);
		th_close(io[i]);
	}
}

static void disconnect_closes_that_io_queue_alone(void **state)
{
	struct nvmf_disconnect_cmd cmd = { .opcode = NVMF_OPCODE, .flags = NVME_SQE_PSDT_SGL, .fctype = NVMF_DISCONNECT };
	struct th_queue *admin, *io[2];
	struct nvme_sqe sqe;
	uint16_t cntlid;

	admin = th_admin(t, &cntlid);
	for (int i = 0; i < 2; i++)
		io[i] = th_io(t, (uint16_t)(i + 1), cntlid);
	memcpy(&sqe, &cmd, sizeof(sqe));
	assert_status(th_cmd(admin, sqe, NULL, 0), ST_CMD(DISCONNECT_INVALID_QTYPE));
	assert_status(th_cmd(io[0], sqe, NULL, 0), 0);
	th_wait_closed(io[0]);
	th_close(io[0]);
	assert_status(th_cmd(io[1], th_sqe(nvme_cmd_flush, 1, 0, 0, 0), NULL, 0), 0);
	io[0] = th_io(t, 1, cntlid);
	for (int i = 0; i < 2; i++)
		th_close(io[i]);
	th_close(admin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_identity_that_is_no_identity_is_refused_by_field),
		cmocka_unit_test(each_refusal_has_its_status_and_field),
		cmocka_unit_test(the_log_says_which_field_and_the_status_in_words),
		cmocka_unit_test(a_connect_that_is_fused_or_has_prps_is_refused),
		cmocka_unit_test(small_io_queues_leave_the_admin_queue_its_size),
		cmocka_unit_test(a_host_that_is_not_on_the_list_is_an_invalid_host),
		cmocka_unit_test(an_io_queue_must_match_its_admin_queue),
		cmocka_unit_test(an_io_queue_by_another_port_is_refused),
		cmocka_unit_test(a_queue_id_is_free_again_at_once),
		cmocka_unit_test(a_queue_id_that_stays_in_use_is_refused),
		cmocka_unit_test(a_second_connect_on_a_queue_is_a_sequence_error),
		cmocka_unit_test(two_connects_under_way_make_one_ctrl),
		cmocka_unit_test(nothing_but_connect_comes_first),
		cmocka_unit_test(nothing_but_fabrics_commands_before_enable),
		cmocka_unit_test(connect_data_of_another_length_is_refused),
		cmocka_unit_test(sq_flow_control_is_turned_off_when_asked),
		cmocka_unit_test(sqhd_goes_round_with_the_queue),
		cmocka_unit_test(a_host_that_overfills_its_queue_loses_its_association),
		cmocka_unit_test(bad_sgls_overfill_a_queue_like_any_command),
		cmocka_unit_test(what_waits_in_the_transport_counts_like_any_command),
		cmocka_unit_test(ctrl_ids_are_unique_and_rest_before_they_come_again),
		cmocka_unit_test(a_subsystem_out_of_ctrl_ids_is_busy),
		cmocka_unit_test(losing_the_admin_queue_closes_the_io_queues),
		cmocka_unit_test(disconnect_closes_that_io_queue_alone),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
