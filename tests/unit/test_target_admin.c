// SPDX-License-Identifier: BSD-3-Clause
/* Properties, Identify, log pages, features, events, Abort and Keep Alive, as the target answers them. */
#include "target_host.h"

#include <stdlib.h>
#include <string.h>

static struct nvof_target *t;
static struct th_queue *admin;
static uint16_t cntlid;
static _Alignas(8) uint8_t page[8192];

static int setup(void **state)
{
	t = th_target_with(2, "mem:1M");
	admin = th_admin(t, &cntlid);
	memset(page, 0xa5, sizeof(page)); /* C072: what the target does not write shows */
	return 0;
}

static int teardown(void **state)
{
	th_close(admin);
	nvof_target_free(t);
	return 0;
}

/* ---- properties ---- */

static void properties_are_readable_in_their_own_size_only(void **state)
{
	assert_int_equal(th_property_get(admin, NVME_REG_CAP, true) & 0x1ffff, 1023 | 1 << 16);
	assert_int_equal(NVME_CAP_CSS(th_property_get(admin, NVME_REG_CAP, true)), NVME_CAP_CSS_NVM);
	assert_int_equal(th_property_get(admin, NVME_REG_VS, false), 0x10400);
	assert_int_equal(th_property_get(admin, NVME_REG_CC, false), TH_CC_EN);
	assert_status(th_cmd(admin, th_property_get_sqe(NVME_REG_CAP, false), NULL, 0), ST(INVALID_FIELD));
	assert_status(th_cmd(admin, th_property_get_sqe(NVME_REG_VS, true), NULL, 0), ST(INVALID_FIELD));
	assert_status(th_cmd(admin, th_property_get_sqe(0x999, false), NULL, 0), ST(INVALID_FIELD));
	assert_status(th_property_set(admin, NVME_REG_CAP, 1), ST(INVALID_FIELD));
	assert_status(th_property_set(admin, 0x999, 1), ST(INVALID_FIELD));
}

/* C019 */
static void reserved_bits_of_cc_are_ignored(void **state)
{
	assert_status(th_property_set(admin, NVME_REG_CC, 0), 0);
	assert_int_equal(th_property_get(admin, NVME_REG_CSTS, false), 0);
	assert_status(th_property_set(admin, NVME_REG_CC, TH_CC_EN | 0xfe000000), 0);
	assert_int_equal(th_property_get(admin, NVME_REG_CSTS, false), CSTS_RDY);
	assert_int_equal(th_property_get(admin, NVME_REG_CC, false), TH_CC_EN);
}

static void a_page_size_that_is_not_offered_is_fatal(void **state)
{
	assert_status(th_property_set(admin, NVME_REG_CC, 0), 0);
	assert_status(th_property_set(admin, NVME_REG_CC, TH_CC_EN | 5 << 7), 0);
	assert_int_equal(th_property_get(admin, NVME_REG_CSTS, false), CSTS_CFS);
	/* A reset mends it. */
	assert_status(th_property_set(admin, NVME_REG_CC, 0), 0);
	assert_status(th_property_set(admin, NVME_REG_CC, TH_CC_EN), 0);
	assert_int_equal(th_property_get(admin, NVME_REG_CSTS, false), CSTS_RDY);
}

static void shutdown_closes_io_queues_and_says_when_it_is_done(void **state)
{
	struct th_queue *io = th_io(t, 1, cntlid);

	assert_status(th_property_set(admin, NVME_REG_CC, TH_CC_EN | NVME_CC_SHN_NORMAL << 14), 0);
	assert_int_equal(th_property_get(admin, NVME_REG_CSTS, false) & CSTS_SHST, CSTS_SHST_DONE);
	th_wait_closed(io);
	th_close(io);
	assert_false(th_closed(admin));
}

/* ---- identify ---- */

static void identify_ctrl_says_what_hosts_insist_on(void **state)
{
	const struct nvme_id_ctrl *id = (void *)page;

	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_CTRL, 0, page), 0);
	assert_int_equal(le16toh(id->cntlid), cntlid);
	assert_string_equal(id->subnqn, SUBNQN);
	assert_memory_equal(id->mn, "nvof      ", 10);
	assert_int_equal(id->mdts, 8);				 /* 1 MiB */
	assert_int_equal(le32toh(id->ioccsz), (64 + 8192) / 16); /* what the transport takes, not what was configured */
	assert_int_equal(le32toh(id->iorcsz), 1);
	assert_int_equal(id->icdoff, 0);
	assert_int_not_equal(le16toh(id->kas), 0);
	assert_int_not_equal(le32toh(id->sgls) & NVME_CTRL_SGLS_SUPPORTED, 0);
	assert_int_equal(le16toh(id->maxcmd), 1024); /* entries of the largest I/O queue */
	assert_int_equal(id->cntrltype, NVME_CTRL_CNTRLTYPE_IO);
	assert_int_equal(id->sqes, 0x66);
	assert_int_equal(id->cqes, 0x44);
	assert_int_equal(id->cmic & NVME_CTRL_CMIC_MULTI_ANA_REPORTING, NVME_CTRL_CMIC_MULTI_ANA_REPORTING);
	assert_int_not_equal(le32toh(id->ctratt) & NVME_CTRL_CTRATT_TBKAS, 0);
	assert_true(le32toh(id->mnan) <= le32toh(id->nn)); /* C008 */
	assert_int_equal(id->vwc & 1, 0);		   /* memory has no volatile cache of its own */
}

static void identify_ns_has_size_format_and_ids(void **state)
{
	const struct nvme_id_ns *id = (void *)page;
	uint8_t uuid[16], nguid[16];

	target_ids_default(SUBNQN, 1, th_ns(t, SUBNQN, 1)->backend->contents, uuid, nguid);
	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_NS, 1, page), 0);
	assert_int_equal(le64toh(id->nsze), 2048);
	assert_int_equal(le64toh(id->ncap), 2048);
	assert_int_equal(id->lbaf[0].ds, 9);
	assert_int_equal(id->flbas, 0);
	assert_int_equal(le16toh(id->npwg), 7); /* C166 */
	assert_memory_equal(id->nguid, nguid, 16);
}

/* C072 */
static void an_inactive_namespace_identifies_as_zeroes(void **state)
{
	static const uint8_t zeroes[4096];

	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_NS, 7, page), 0);
	assert_memory_equal(page, zeroes, 4096);
	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_NS, 0, page), ST(INVALID_NS));
	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_NS, 1025, page), ST(INVALID_NS));
	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_NS, TARGET_NSID_ALL, page), ST(INVALID_NS));
}

/* C076 */
static void descriptors_are_for_active_namespaces_only(void **state)
{
	const struct nvme_ns_id_desc *d = (void *)page;
	uint8_t uuid[16], nguid[16];

	target_ids_default(SUBNQN, 1, th_ns(t, SUBNQN, 1)->backend->contents, uuid, nguid);
	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_NS_DESC_LIST, 1, page), 0);
	assert_int_equal(d->nidt, NVME_NIDT_UUID);
	assert_int_equal(d->nidl, 16);
	assert_memory_equal(d->nid, uuid, 16);
	d = (void *)(page + 20);
	assert_int_equal(d->nidt, NVME_NIDT_NGUID);
	assert_memory_equal(d->nid, nguid, 16);
	d = (void *)(page + 40);
	assert_int_equal(d->nidt, NVME_NIDT_CSI);
	assert_int_equal(d->nid[0], NVME_CSI_NVM);
	assert_int_equal(page[45], 0); /* the list ends */
	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_NS_DESC_LIST, 2, page), ST(INVALID_FIELD));
	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_NS_DESC_LIST, 0, page), ST(INVALID_NS));
	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_NS_DESC_LIST, 5000, page), ST(INVALID_NS));
	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_NS_DESC_LIST, TARGET_NSID_ALL, page), ST(INVALID_NS));
}

/* C104 */
static void identify_takes_buffers_of_any_length(void **state)
{
	struct nvme_sqe sqe = th_sqe(nvme_admin_identify, 0, NVME_IDENTIFY_CNS_CTRL, 0, 0);
	struct th_cpl cpl = th_cmd(admin, sqe, page, 8192);

	assert_status(cpl, 0);
	assert_int_equal(cpl.len, 4096);
	assert_int_equal(page[4096], 0xa5);
	cpl = th_cmd(admin, sqe, page, 512);
	assert_status(cpl, 0);
	assert_int_equal(cpl.len, 512);
	assert_status(th_cmd(admin, sqe, NULL, 0), ST(SGL_INVALID_DATA));
}

static void structures_that_are_not_offered_are_an_invalid_field(void **state)
{
	static const uint8_t cns[] = { 0x04, 0x09, 0x0a, 0x10, 0x13, 0x17, 0x1c, 0xff };

	for (size_t i = 0; i < sizeof(cns); i++)
		assert_status(th_identify(admin, cns[i], 1, page), ST(INVALID_FIELD));
	/* Another command set than NVM's. */
	assert_status(th_cmd(admin, th_sqe(nvme_admin_identify, 1, NVME_IDENTIFY_CNS_CSI_NS, NVME_CSI_ZNS << 24, 0), page, 4096),
		      ST(INVALID_FIELD));
	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_CSI_NS, 1, page), 0);
	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_CSI_CTRL, 0, page), 0);
	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_CSI_INDEPENDENT_ID_NS, 1, page), 0);
}

static void admin_commands_that_do_not_exist_are_an_invalid_opcode(void **state)
{
	static const uint8_t opcodes[] = { nvme_admin_create_sq, nvme_admin_delete_cq, nvme_admin_format_nvm, nvme_admin_ns_mgmt, 0xc0 };

	for (size_t i = 0; i < sizeof(opcodes); i++)
		assert_status(th_cmd(admin, th_sqe(opcodes[i], 0, 0, 0, 0), NULL, 0), ST(INVALID_OPCODE));
	/* C115: no command moves data both ways. */
	assert_status(th_cmd(admin, th_sqe(0x0b, 0, 0, 0, 0), page, 512), ST(INVALID_FIELD));
}

static void prps_and_fused_commands_are_refused(void **state)
{
	struct nvme_sqe sqe = th_sqe(nvme_admin_identify, 0, NVME_IDENTIFY_CNS_CTRL, 0, 0);

	sqe.flags = 0;
	assert_status(th_cmd(admin, sqe, page, 4096), ST(INVALID_FIELD));
	sqe.flags = NVME_SQE_PSDT_SGL | 1;
	assert_status(th_cmd(admin, sqe, page, 4096), ST(INVALID_FIELD));
	sqe = th_property_get_sqe(NVME_REG_CSTS, false);
	sqe.flags |= 2;
	assert_status(th_cmd(admin, sqe, NULL, 0), ST(INVALID_FIELD));
}

/* ---- logs ---- */

static void logs_have_their_sizes_and_end_in_zeroes(void **state)
{
	struct nvme_smart_log *smart = (void *)page;
	struct nvme_cmd_effects_log *effects = (void *)page;

	assert_status(th_get_log(admin, NVME_LOG_LID_SMART, false, 0, page, 512), 0);
	assert_int_equal(smart->avail_spare, 100);
	assert_status(th_get_log(admin, NVME_LOG_LID_ERROR, false, 0, page, 4096), 0);
	assert_int_equal(page[100], 0);
	assert_status(th_get_log(admin, NVME_LOG_LID_FW_SLOT, false, 0, page, 512), 0);
	assert_memory_equal(page + 8, TARGET_FIRMWARE, strlen(TARGET_FIRMWARE));
	assert_status(th_get_log(admin, NVME_LOG_LID_CMD_EFFECTS, false, 0, page, 4096), 0);
	assert_int_equal(le32toh(effects->iocs[nvme_cmd_write]), NVME_CMD_EFFECTS_CSUPP | NVME_CMD_EFFECTS_LBCC);
	assert_int_equal(effects->iocs[nvme_cmd_copy], 0);
	/* The second half of it. */
	assert_status(th_get_log(admin, NVME_LOG_LID_CMD_EFFECTS, false, 1024, page, 1024), 0);
	assert_int_equal(((uint32_t *)page)[nvme_cmd_read], htole32(NVME_CMD_EFFECTS_CSUPP));
}

static void bad_log_requests_are_refused(void **state)
{
	assert_status(th_get_log(admin, 0x06, false, 0, page, 512), ST_CMD(INVALID_LOG_PAGE));
	assert_status(th_get_log(admin, NVME_LOG_LID_PERSISTENT_EVENT, false, 0, page, 512), ST_CMD(INVALID_LOG_PAGE));
	assert_status(th_get_log(admin, NVME_LOG_LID_DISCOVER, false, 0, page, 512), ST_CMD(INVALID_LOG_PAGE));
	assert_status(th_get_log(admin, NVME_LOG_LID_SMART, false, 2, page, 512), ST(INVALID_FIELD));
	assert_status(th_get_log(admin, NVME_LOG_LID_SMART, false, 516, page, 512), ST(INVALID_FIELD));
	assert_status(th_get_log(admin, NVME_LOG_LID_SMART, false, UINT64_MAX - 3, page, 512), ST(INVALID_FIELD));
	/* NUMD asks for more than the buffer holds; for 16 GiB. */
	assert_status(th_cmd(admin, th_sqe(nvme_admin_get_log_page, 0, NVME_LOG_LID_SMART | 127u << 16, 0, 0), page, 256),
		      ST(SGL_INVALID_DATA));
	assert_status(th_cmd(admin, th_sqe(nvme_admin_get_log_page, 0, NVME_LOG_LID_SMART | 0xffffu << 16, 0xffff, 0), page, 4096),
		      ST(INVALID_FIELD));
}

/* ---- features ---- */

static void the_number_of_queues_is_negotiated(void **state)
{
	struct th_connect c;
	struct th_queue *io;
	struct th_cpl cpl;

	cpl = th_set_feature(admin, NVME_FEAT_FID_NUM_QUEUES, 3 | 5 << 16);
	assert_status(cpl, 0);
	assert_int_equal(cpl.dw0, 3 | 3 << 16);
	c = th_connect_io(5, cntlid);
	io = th_open(t);
	assert_status(th_connect(io, &c), ST_CMD(CONNECT_INVALID_PARAM));
	c.qid = 4;
	assert_status(th_connect(io, &c), 0);
	/* Too late to ask again. */
	assert_status(th_set_feature(admin, NVME_FEAT_FID_NUM_QUEUES, 7 | 7 << 16), ST(CMD_SEQ_ERROR));
	th_close(io);
	assert_int_equal(th_set_feature(admin, NVME_FEAT_FID_NUM_QUEUES, 999 | 999 << 16).dw0, 127 | 127 << 16);
	assert_int_equal(th_get_feature(admin, NVME_FEAT_FID_NUM_QUEUES).dw0, 127 | 127 << 16);
	assert_status(th_set_feature(admin, NVME_FEAT_FID_NUM_QUEUES, 0xffff), ST(INVALID_FIELD));
}

static void features_are_read_back_and_end_with_a_reset(void **state)
{
	assert_status(th_set_feature(admin, NVME_FEAT_FID_TEMP_THRESH, 0x157), 0);
	assert_int_equal(th_get_feature(admin, NVME_FEAT_FID_TEMP_THRESH).dw0, 0x157);
	assert_status(th_set_feature(admin, NVME_FEAT_FID_ASYNC_EVENT, 0x100), 0);
	assert_int_equal(th_get_feature(admin, NVME_FEAT_FID_ASYNC_EVENT).dw0, 0x100);
	assert_int_equal(th_set_feature(admin, NVME_FEAT_FID_KATO, 1500).dw0, 2000); /* rounded up to KAS */
	assert_int_equal(th_get_feature(admin, NVME_FEAT_FID_KATO).dw0, 2000);
	assert_status(th_set_feature(admin, NVME_FEAT_FID_KATO, 0), 0);
	assert_status(th_cmd(admin, th_sqe(nvme_admin_set_features, 0, NVME_FEAT_FID_TEMP_THRESH | 1u << 31, 1, 0), NULL, 0),
		      ST_CMD(FEATURE_NOT_SAVEABLE));
	th_property_set(admin, NVME_REG_CC, 0);
	th_property_set(admin, NVME_REG_CC, TH_CC_EN);
	assert_int_equal(th_get_feature(admin, NVME_FEAT_FID_TEMP_THRESH).dw0, 0);
	assert_int_equal(th_get_feature(admin, NVME_FEAT_FID_ASYNC_EVENT).dw0, 0);
}

static void features_with_data_bring_and_take_it(void **state)
{
	uint8_t behavior[512] = { 1 }, hostid[16] = { 0 };
	static const uint8_t want[16] = { 1, 2, 3 };

	assert_status(th_cmd(admin, th_sqe(nvme_admin_set_features, 0, NVME_FEAT_FID_HOST_BEHAVIOR, 0, 0), behavior, 512), 0);
	assert_status(th_cmd(admin, th_sqe(nvme_admin_get_features, 0, NVME_FEAT_FID_HOST_BEHAVIOR, 0, 0), page, 512), 0);
	assert_memory_equal(page, behavior, 512);
	assert_status(th_cmd(admin, th_sqe(nvme_admin_get_features, 0, NVME_FEAT_FID_HOST_ID, 1, 0), hostid, 16), 0);
	assert_memory_equal(hostid, want, 16);
	assert_status(th_cmd(admin, th_sqe(nvme_admin_get_features, 0, NVME_FEAT_FID_HOST_ID, 0, 0), hostid, 8), ST(INVALID_FIELD));
	assert_status(th_set_feature(admin, NVME_FEAT_FID_HOST_ID, 0), ST(CMD_SEQ_ERROR));
	assert_status(th_get_feature(admin, 0x1f), ST(INVALID_FIELD));
	assert_status(th_set_feature(admin, NVME_FEAT_FID_VOLATILE_WC, 1), ST(INVALID_FIELD)); /* no cache here */
}

/* ---- events and abort ---- */

/* C118 */
static void event_requests_beyond_the_limit_are_refused_and_a_reset_forgets_the_others(void **state)
{
	struct nvme_sqe aer = th_sqe(nvme_admin_async_event, 0, 0, 0, 0);
	struct th_cmd *held[4];

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 4; i++)
			held[i] = th_send(admin, aer, NULL, 0);
		for (int i = 0; i < 2; i++)
			assert_status(th_cmd(admin, aer, NULL, 0), ST_CMD(ASYNC_LIMIT));
		for (int i = 0; i < 4; i++)
			assert_true(th_held(held[i]));
		th_property_set(admin, NVME_REG_CC, 0);
		th_property_set(admin, NVME_REG_CC, TH_CC_EN);
		for (int i = 0; i < 4; i++)
			assert_status(th_wait(held[i]), ST_RETRY(ABORT_QUEUE));
	}
}

/* C116 */
static void abort_touches_what_it_names_and_nothing_else(void **state)
{
	struct nvme_sqe aer = th_sqe(nvme_admin_async_event, 0, 0, 0, 0);
	struct th_cmd *a = th_send(admin, aer, NULL, 0), *b = th_send(admin, aer, NULL, 0);
	struct th_cpl cpl;
	uint32_t cid_b;

	th_sync(admin);
	cid_b = le16toh(target_ctrl_find(target_subsys_find(t, SUBNQN), cntlid)->aers[1]->sqe.cid);
	for (int i = 0; i < 8; i++) { /* more than ACL + 1, but each has ended before the next one comes */
		cpl = th_cmd(admin, th_sqe(nvme_admin_abort_cmd, 0, 0x7777u << 16, 0, 0), NULL, 0);
		assert_status(cpl, 0);
		assert_int_equal(cpl.dw0, 1);
	}
	cpl = th_cmd(admin, th_sqe(nvme_admin_abort_cmd, 0, cid_b << 16 | 99, 0, 0), NULL, 0);
	assert_status(cpl, 0);
	assert_int_equal(cpl.dw0, 1);
	assert_true(th_held(a));
	assert_true(th_held(b));
	cpl = th_cmd(admin, th_sqe(nvme_admin_abort_cmd, 0, cid_b << 16, 0, 0), NULL, 0);
	assert_status(cpl, 0);
	assert_int_equal(cpl.dw0, 0);
	assert_status(th_wait(b), ST_RETRY(ABORT_REQ));
	assert_true(th_held(a));
	th_property_set(admin, NVME_REG_CC, 0);
	th_wait(a);
}

/* C068, C070 */
static void a_namespace_change_is_told_once_until_the_log_is_read(void **state)
{
	struct nvme_sqe aer = th_sqe(nvme_admin_async_event, 0, 0, 0, 0);
	uint32_t *list = (uint32_t *)page;
	struct th_cmd *first, *second;
	struct th_cpl cpl;

	th_set_feature(admin, NVME_FEAT_FID_ASYNC_EVENT, 1 << 8);
	first = th_send(admin, aer, NULL, 0);
	second = th_send(admin, aer, NULL, 0);
	th_add_ns(t, SUBNQN, "null:1M");
	cpl = th_wait(first);
	assert_status(cpl, 0);
	assert_int_equal(cpl.dw0, NVME_AER_NOTICE | NVME_AER_NOTICE_NS_CHANGED << 8 | NVME_LOG_LID_CHANGED_NS << 16);
	th_add_ns(t, SUBNQN, "null:1M");
	assert_true(th_held(second)); /* masked */
	assert_status(th_get_log(admin, NVME_LOG_LID_CHANGED_NS, true, 0, page, 4096), 0);
	assert_int_equal(list[0], htole32(2));
	assert_int_equal(list[1], htole32(3));
	assert_int_equal(list[2], 0);
	assert_true(th_held(second)); /* RAE 1 keeps it masked */
	assert_status(th_get_log(admin, NVME_LOG_LID_CHANGED_NS, false, 0, page, 4096), 0);
	assert_int_equal(list[1], htole32(3));
	/* The change that came while masked is told now. */
	cpl = th_wait(second);
	assert_status(cpl, 0);
	assert_status(th_get_log(admin, NVME_LOG_LID_CHANGED_NS, false, 0, page, 4096), 0);
	assert_int_equal(list[0], 0);
}

static void a_host_that_did_not_ask_for_events_gets_none(void **state)
{
	struct th_cmd *aer = th_send(admin, th_sqe(nvme_admin_async_event, 0, 0, 0, 0), NULL, 0);

	th_add_ns(t, SUBNQN, "null:1M");
	assert_true(th_held(aer));
	/* Asking late brings the one that was missed. */
	th_set_feature(admin, NVME_FEAT_FID_ASYNC_EVENT, 1 << 8);
	assert_status(th_wait(aer), 0);
}

/* C070 */
static void more_changed_namespaces_than_fit_are_told_as_all(void **state)
{
	uint32_t *list = (uint32_t *)page;

	for (int i = 0; i < 1025; i++)
		th_add_ns(t, SUBNQN, "null:1M");
	assert_status(th_get_log(admin, NVME_LOG_LID_CHANGED_NS, false, 0, page, 4096), 0);
	assert_int_equal(list[0], TARGET_NSID_ALL);
	assert_int_equal(list[1], 0);
	assert_int_equal(nvof_target_remove_ns(t, SUBNQN, 1000), 0);
	assert_status(th_get_log(admin, NVME_LOG_LID_CHANGED_NS, false, 0, page, 4096), 0);
	assert_int_equal(list[0], htole32(1000));
	assert_int_equal(list[1], 0);
}

/* ---- keep alive ---- */

static void keep_alive_is_answered(void **state)
{
	assert_status(th_cmd(admin, th_sqe(nvme_admin_keep_alive, 0, 0, 0, 0), NULL, 0), 0);
}

/* C028 */
static void a_silent_host_loses_its_ctrl(void **state)
{
	struct th_connect c = th_connect_admin();
	struct th_queue *q = th_open(t), *io, *again;
	struct th_cpl cpl;

	c.kato = 1; /* rounded up to one second */
	cpl = th_connect(q, &c);
	th_property_set(q, NVME_REG_CC, TH_CC_EN);
	io = th_io(t, 1, (uint16_t)cpl.dw0);
	/* The same host comes back before its old association has run out: it is let in at once. */
	again = th_open(t);
	c.kato = 0;
	assert_status(th_connect(again, &c), 0);
	assert_false(th_closed(q));
	th_wait_closed(q);
	th_wait_closed(io);
	th_close(io);
	th_close(q);
	assert_false(th_closed(again));
	assert_false(th_closed(admin)); /* KATO 0: no timer */
	th_close(again);
	assert_int_equal(target_subsys_find(t, SUBNQN)->nr_ctrls, 1);
}

/* C030 */
static void any_command_keeps_a_ctrl_alive(void **state)
{
	struct th_connect c = th_connect_admin();
	struct th_queue *q = th_open(t), *io;
	struct th_cpl cpl;

	c.kato = 60000;
	cpl = th_connect(q, &c);
	th_property_set(q, NVME_REG_CC, TH_CC_EN);
	io = th_io(t, 1, (uint16_t)cpl.dw0);
	for (int i = 0; i < 5; i++) {
		assert_status(th_cmd(io, th_sqe(nvme_cmd_flush, 1, 0, 0, 0), NULL, 0), 0);
		th_kato_passes(q);
		assert_false(th_closed(q));
	}
	th_kato_passes(q);
	th_wait_closed(q);
	th_close(io);
	th_close(q);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(properties_are_readable_in_their_own_size_only),
		TEST(reserved_bits_of_cc_are_ignored),
		TEST(a_page_size_that_is_not_offered_is_fatal),
		TEST(shutdown_closes_io_queues_and_says_when_it_is_done),
		TEST(identify_ctrl_says_what_hosts_insist_on),
		TEST(identify_ns_has_size_format_and_ids),
		TEST(an_inactive_namespace_identifies_as_zeroes),
		TEST(descriptors_are_for_active_namespaces_only),
		TEST(identify_takes_buffers_of_any_length),
		TEST(structures_that_are_not_offered_are_an_invalid_field),
		TEST(admin_commands_that_do_not_exist_are_an_invalid_opcode),
		TEST(prps_and_fused_commands_are_refused),
		TEST(logs_have_their_sizes_and_end_in_zeroes),
		TEST(bad_log_requests_are_refused),
		TEST(the_number_of_queues_is_negotiated),
		TEST(features_are_read_back_and_end_with_a_reset),
		TEST(features_with_data_bring_and_take_it),
		TEST(event_requests_beyond_the_limit_are_refused_and_a_reset_forgets_the_others),
		TEST(abort_touches_what_it_names_and_nothing_else),
		TEST(a_namespace_change_is_told_once_until_the_log_is_read),
		TEST(a_host_that_did_not_ask_for_events_gets_none),
		TEST(more_changed_namespaces_than_fit_are_told_as_all),
		TEST(keep_alive_is_answered),
		TEST(a_silent_host_loses_its_ctrl),
		TEST(any_command_keeps_a_ctrl_alive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
