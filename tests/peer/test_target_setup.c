/* SPDX-License-Identifier: BSD-3-Clause */
/* The target against hosts that are silent, wrong or unwelcome while they set up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "peer/host_peer.h"

static int setup(void **state)
{
	static struct hp_target ht; /* one target serves all tests: it must survive each */
	struct nvof_target_opts opts;

	nvof_target_opts_init(&opts);
	opts.io_threads = 2;
	opts.handshake_tmo_ms = 2500; /* longer than a machine stands still */
	opts.max_io_queues = 8;
	hp_target_start(&ht, &opts);
	*state = &ht;
	return 0;
}

static int teardown(void **state)
{
	hp_target_stop(*state);
	return 0;
}

static uint16_t port_of(void **state)
{
	return ((struct hp_target *)*state)->port;
}

/* After each bad host a good one is served. */
static void expect_target_serves(void **state)
{
	struct hp a, q;
	uint8_t buf[512];

	hp_admin(&a, port_of(state), 0, 0);
	hp_io_queue(&q, port_of(state), &a, 1, 0, 0);
	assert_int_equal(hp_read(&q, 1, 0, 1, buf), 0);
	hp_close(&q);
	hp_close(&a);
}

static void a_silent_host_is_closed_at_the_handshake_time_out(void **state)
{
	struct hp at_once, piece, later;

	hp_open(&at_once, port_of(state));

	/* a piece of an ICReq */
	hp_open(&piece, port_of(state));
	hp_send_raw(&piece, "\0\0\200\0\200\0", 6);

	/* after the IC exchange */
	hp_open(&later, port_of(state));
	hp_ic(&later, 0, 0);

	assert_int_equal(hp_expect_closed(&at_once, NULL), 0);
	hp_expect_closed(&piece, NULL);
	hp_expect_closed(&later, NULL);
	expect_target_serves(state);
}

static void icreq_fields_are_checked(void **state)
{
	static const struct {
		uint16_t pfv;
		uint8_t hpda, dgst;
		uint16_t fes;
		uint32_t fei;
	} bad[] = {
		{ 1, 0, 0, NVME_TCP_FES_UNSUPPORTED, 8 },
		{ 0xffff, 0, 0, NVME_TCP_FES_UNSUPPORTED, 8 },
		{ 0, 32, 0, NVME_TCP_FES_INVALID_HDR, 10 },
		{ 0, 255, 0, NVME_TCP_FES_INVALID_HDR, 10 }, /* C099 */
	};
	struct hp h;
	uint32_t fei;
	uint16_t fes;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		fei = 0;
		hp_open(&h, port_of(state));
		hp_icreq(&h, bad[i].pfv, bad[i].hpda, bad[i].dgst, 0);
		fes = hp_expect_closed(&h, &fei);
		/* An unknown version may be called an invalid field as well as an unsupported parameter. */
		if (bad[i].pfv)
			assert_true(fes == NVME_TCP_FES_UNSUPPORTED || fes == NVME_TCP_FES_INVALID_HDR);
		else
			assert_int_equal(fes, bad[i].fes);
		assert_int_equal(fei, bad[i].fei);
	}
	expect_target_serves(state);
}

static void raw_pdu(struct hp *h, uint8_t type, uint8_t hlen, uint8_t pdo, uint32_t plen, uint8_t flags)
{
	uint8_t raw[256] = { type, flags, hlen, pdo };
	uint32_t le = htole32(plen);

	memcpy(raw + 4, &le, 4);
	hp_send_raw(h, raw, sizeof(raw));
}

enum phase { BEFORE_IC, BEFORE_CONNECT, LIVE, NR_PHASES };

static void open_at(void **state, struct hp *h, struct hp *admin, enum phase phase, uint8_t dgst)
{
	admin->fd = -1;
	if (phase == LIVE) {
		hp_admin(admin, port_of(state), dgst, 0);
		hp_io_queue(h, port_of(state), admin, 1, dgst, 0);
		return;
	}
	hp_open(h, port_of(state));
	if (phase == BEFORE_CONNECT)
		hp_ic(h, dgst, 0);
}

/* C105, C106 */
static void wrong_pdus_at_each_state_end_the_queue_and_nothing_else(void **state)
{
	static const struct {
		uint8_t type, hlen, pdo;
		uint32_t plen;
	} bad[] = {
		{ 0x0a, 8, 0, 8 },
		{ 0xff, 24, 0, 24 }, /* unknown */
		{ NVME_TCP_ICRESP, 128, 0, 128 },
		{ NVME_TCP_RSP, 24, 0, 24 }, /* the ctrl's own */
		{ NVME_TCP_C2H_DATA, 24, 24, 28 },
		{ NVME_TCP_R2T, 24, 0, 24 },
		{ NVME_TCP_C2H_TERM, 24, 0, 32 },
		{ NVME_TCP_CMD, 255, 0, 255 },
		{ NVME_TCP_CMD, 0, 0, 72 },
		{ NVME_TCP_CMD, 72, 0, 71 }, /* lengths */
		{ NVME_TCP_CMD, 72, 0, 0xffffffff },
		{ NVME_TCP_CMD, 72, 8, 4096 },
		{ NVME_TCP_CMD, 72, 76, 73 },
		{ NVME_TCP_H2C_DATA, 24, 24, 0xffffffff },
		{ NVME_TCP_H2C_DATA, 24, 0, 24 + 64 },
		{ NVME_TCP_H2C_DATA, 255, 24, 255 },
		{ NVME_TCP_ICREQ, 8, 0, 8 },
		{ NVME_TCP_ICREQ, 128, 0, 127 },
		{ NVME_TCP_ICREQ, 128, 0, 0xffffffff },
		{ NVME_TCP_H2C_TERM, 24, 0, 4096 },
		{ NVME_TCP_H2C_TERM, 0, 0, 0 },
	};
	enum phase phase;
	struct hp h, admin;
	uint16_t fes;
	size_t i;

	for (phase = BEFORE_IC; phase < NR_PHASES; phase++) {
		for (i = 0; i < ARRAY_SIZE(bad); i++) {
			open_at(state, &h, &admin, phase, 0);
			raw_pdu(&h, bad[i].type, bad[i].hlen, bad[i].pdo, bad[i].plen, 0);
			fes = hp_expect_closed(&h, NULL);
			if (!fes)
				fail_msg("type %02xh hlen %u pdo %u plen %u in phase %d: no C2HTermReq", bad[i].type, bad[i].hlen,
					 bad[i].pdo, bad[i].plen, phase);
			hp_close(&admin);
		}
	}
	expect_target_serves(state);
}

/* C106 */
static void a_second_icreq_is_a_sequence_error(void **state)
{
	struct hp h;

	hp_open(&h, port_of(state));
	hp_ic(&h, 0, 0);
	hp_icreq(&h, 0, 0, 0, 0);
	assert_int_equal(hp_expect_closed(&h, NULL), NVME_TCP_FES_SEQUENCE);
}

static void a_command_before_icreq_is_refused(void **state)
{
	struct hp h;
	struct nvme_sqe sqe = { .opcode = nvme_admin_identify };

	hp_open(&h, port_of(state));
	hp_cmd(&h, &sqe, NULL, 4096);
	assert_int_not_equal(hp_expect_closed(&h, NULL), 0);
}

static void a_command_before_connect_is_answered_with_an_error(void **state)
{
	struct nvme_sqe sqe;
	struct hp h;

	hp_open(&h, port_of(state));
	hp_ic(&h, 0, 0);
	hp_sqe_rw(&sqe, nvme_cmd_read, 1, 0, 1);
	assert_int_not_equal(hp_status(&h, hp_cmd(&h, &sqe, NULL, 512), NULL, 0, NULL), 0);
	hp_close(&h);
}

static void header_digest_errors_end_the_queue(void **state)
{
	enum phase phase;
	struct hp h, admin;

	for (phase = BEFORE_CONNECT; phase < NR_PHASES; phase++) {
		uint8_t raw[76] = { NVME_TCP_CMD, NVME_TCP_F_HDGST, 72, 0, 76 };

		open_at(state, &h, &admin, phase, 3);
		memset(raw + 72, 0x55, 4);
		hp_send_raw(&h, raw, sizeof(raw));
		assert_int_equal(hp_expect_closed(&h, NULL), NVME_TCP_FES_HDGST);
		hp_close(&admin);
	}
	expect_target_serves(state);
}

/* ---- Connect ---- */

static struct hp_connect conn;

static uint16_t try_connect(void **state, uint64_t *result)
{
	uint16_t status;
	struct hp h;

	hp_open(&h, port_of(state));
	hp_ic(&h, 0, 0);
	status = hp_connect(&h, &conn, result);
	hp_close(&h);
	return status;
}

#define INVALID_PARAM (0x182 | 0x4000)

static void expect_refused(void **state, uint16_t status, int iattr, int ipo)
{
	uint64_t result = 0;
	uint16_t got = try_connect(state, &result);

	assert_int_equal(got, status);
	if (iattr >= 0) {
		assert_int_equal((result >> 16) & 0xff, iattr);
		assert_int_equal(result & 0xffff, ipo);
	}
}

/* C001, C150 */
static void connect_is_refused_with_the_field_at_fault(void **state)
{
	hp_connect_init(&conn, 0, 0xffff);
	memset(conn.data.hostnqn, 0, 256);
	expect_refused(state, INVALID_PARAM, 1, 512);

	hp_connect_init(&conn, 0, 0xffff);
	memmove(conn.data.hostnqn, conn.data.hostnqn + 4, 200);
	expect_refused(state, INVALID_PARAM, 1, 512);

	hp_connect_init(&conn, 0, 0xffff);
	memset(conn.data.hostnqn + 30, 'a', 224);
	expect_refused(state, INVALID_PARAM, 1, 512);

	hp_connect_init(&conn, 0, 0xffff);
	memset(conn.data.hostid, 0, 16);
	expect_refused(state, INVALID_PARAM, 1, 0);

	hp_connect_init(&conn, 0, 0xffff);
	strcpy(conn.data.subsysnqn, "nqn.2024-01.org.example:other");
	expect_refused(state, INVALID_PARAM, 1, 256);

	hp_connect_init(&conn, 0, 0xffff);
	memset(conn.data.subsysnqn, 'x', 256);
	expect_refused(state, INVALID_PARAM, 1, 256);

	hp_connect_init(&conn, 0, 5);
	expect_refused(state, INVALID_PARAM, 1, 16);

	hp_connect_init(&conn, 1, 0x4321); /* no such ctrl */
	expect_refused(state, INVALID_PARAM, 1, 16);

	hp_connect_init(&conn, 0, 0xffff);
	conn.recfmt = 1;
	expect_refused(state, 0x180 | 0x4000, -1, 0);

	hp_connect_init(&conn, 0, 0xffff);
	conn.sqsize = 0;
	expect_refused(state, INVALID_PARAM, 0, 44);
	expect_target_serves(state);
}

static void io_connect_is_checked_against_its_ctrl(void **state)
{
	struct hp admin, q;

	hp_admin(&admin, port_of(state), 0, 0);

	hp_connect_init(&conn, 9, admin.cntlid); /* more than granted */
	expect_refused(state, INVALID_PARAM, 0, 42);
	hp_connect_init(&conn, 1, admin.cntlid);
	conn.sqsize = 0xffff;
	expect_refused(state, INVALID_PARAM, 0, 44);
	hp_connect_init(&conn, 1, admin.cntlid);
	strcpy(conn.data.hostnqn, "nqn.2024-01.org.example:somebody-else");
	expect_refused(state, INVALID_PARAM, 1, 512);
	hp_connect_init(&conn, 1, admin.cntlid);
	conn.data.hostid[3] ^= 1;
	expect_refused(state, INVALID_PARAM, 1, 0);

	/* a qid in use */
	hp_io_queue(&q, port_of(state), &admin, 1, 0, 0);
	hp_connect_init(&conn, 1, admin.cntlid);
	expect_refused(state, INVALID_PARAM, 0, 42);
	hp_close(&q);
	hp_close(&admin);
}

/* C005 */
static void a_qid_is_free_again_as_soon_as_its_connection_closed(void **state)
{
	struct hp admin, q;
	int i;

	hp_admin(&admin, port_of(state), 0, 0);
	for (i = 0; i < 1000; i++) {
		hp_io_queue(&q, port_of(state), &admin, 1, 0, 0);
		hp_close(&q);
	}
	hp_close(&admin);
}

/* C018 */
static void an_io_queue_comes_by_its_admin_queues_listener(void **state)
{
	struct hp_target *ht = *state;
	struct hp admin;
	uint16_t first = ht->port;
	char addr[64];

	assert_int_equal(nvof_target_listen(ht->t, "tcp:127.0.0.1:0", addr, sizeof(addr)), 0);
	hp_admin(&admin, first, 0, 0);
	hp_connect_init(&conn, 1, admin.cntlid);
	ht->port = (uint16_t)atoi(strrchr(addr, ':') + 1);
	assert_int_equal(try_connect(state, NULL), INVALID_PARAM);
	ht->port = first;
	assert_int_equal(try_connect(state, NULL), 0);
	hp_close(&admin);
}

static void hosts_that_are_not_allowed_are_refused(void **state)
{
	struct hp_target *ht = *state;

	assert_int_equal(nvof_target_allow_any_host(ht->t, HP_NQN, false), 0);
	hp_connect_init(&conn, 0, 0xffff);
	assert_int_equal(try_connect(state, NULL), 0x184 | 0x4000);
	assert_int_equal(nvof_target_allow_host(ht->t, HP_NQN, HP_HOSTNQN), 0);
	assert_int_equal(try_connect(state, NULL), 0);
	assert_int_equal(nvof_target_disallow_host(ht->t, HP_NQN, HP_HOSTNQN), 0);
	assert_int_equal(nvof_target_allow_any_host(ht->t, HP_NQN, true), 0);
	expect_target_serves(state);
}

/* C019 */
static void properties_behave(void **state)
{
	uint64_t v, cap;
	struct hp_connect c;
	struct hp h;

	hp_open(&h, port_of(state));
	hp_ic(&h, 0, 0);
	hp_connect_init(&c, 0, 0xffff);
	assert_int_equal(hp_connect(&h, &c, NULL), 0);
	assert_int_equal(hp_prop_get(&h, 0x00, 1, &cap), 0);
	assert_int_equal(hp_prop_get(&h, 0x08, 0, &v), 0);
	assert_true(v >= 0x10300);
	assert_int_equal(hp_prop_get(&h, 0x00, 0, &v) & 0x7ff, 0x02); /* CAP has 8 bytes */
	assert_int_equal(hp_prop_get(&h, 0x3000, 0, &v) & 0x7ff, 0x02);
	assert_int_equal(hp_prop_set(&h, 0x3000, 0, 1) & 0x7ff, 0x02);
	/* reserved bits are ignored, EN takes effect */
	assert_int_equal(hp_prop_set(&h, 0x14, 0, 0xfe460001), 0);
	assert_int_equal(hp_prop_get(&h, 0x1c, 0, &v), 0);
	assert_int_equal(v & 1, 1);
	/* shutdown */
	assert_int_equal(hp_prop_set(&h, 0x14, 0, 0x464001), 0);
	assert_int_equal(hp_prop_get(&h, 0x1c, 0, &v), 0);
	assert_int_equal(v >> 2 & 3, 2);
	hp_close(&h);
}

static void sq_flow_control_is_disabled_only_on_request(void **state)
{
	struct hp admin, q;
	struct hp_connect c;
	struct hp_pdu in;
	struct nvme_sqe sqe;
	int off;

	hp_admin(&admin, port_of(state), 0, 0);
	for (off = 0; off < 2; off++) {
		uint8_t buf[512];
		uint16_t cid;

		hp_open(&q, port_of(state));
		hp_ic(&q, 0, 0);
		hp_connect_init(&c, (uint16_t)(1 + off), admin.cntlid);
		c.cattr = off ? NVMF_CATTR_DISABLE_SQFLOW : 0;
		assert_int_equal(hp_connect(&q, &c, NULL), 0);
		hp_sqe_rw(&sqe, nvme_cmd_read, 1, 0, 1);
		cid = hp_cmd(&q, &sqe, NULL, 512);
		assert_true(hp_recv(&q, &in));
		assert_int_equal(in.pdu.hdr.type, NVME_TCP_C2H_DATA);
		if (!off) /* C098: the flag only where no SQHD is needed */
			assert_int_equal(in.pdu.hdr.flags & NVME_TCP_F_SUCCESS, 0);
		if (!(in.pdu.hdr.flags & NVME_TCP_F_SUCCESS))
			assert_int_equal(hp_status(&q, cid, buf, 512, NULL), 0);
		free(in.data);
		hp_close(&q);
	}
	hp_close(&admin);
}

static void an_admin_queue_that_goes_takes_its_io_queues_along(void **state)
{
	struct hp admin, q[4];
	int i;

	hp_admin(&admin, port_of(state), 0, 0);
	for (i = 0; i < 4; i++)
		hp_io_queue(&q[i], port_of(state), &admin, (uint16_t)(i + 1), 0, 0);
	hp_close(&admin);
	for (i = 0; i < 4; i++)
		hp_expect_closed(&q[i], NULL);
}

static void admin_with_kato(void **state, struct hp *h)
{
	struct hp_connect c;

	hp_open(h, port_of(state));
	hp_ic(h, 0, 0);
	hp_connect_init(&c, 0, 0xffff);
	c.kato = 3000; /* longer than a machine stands still */
	assert_int_equal(hp_connect(h, &c, NULL), 0);
	assert_int_equal(hp_prop_set(h, 0x14, 0, 0x460001), 0);
}

/* A silent host is noticed within two time-outs. */
static void keep_alive_expires_and_traffic_prevents_it(void **state)
{
	struct hp silent, lively;
	uint64_t v;
	int i;

	admin_with_kato(state, &lively);
	admin_with_kato(state, &silent);
	for (i = 0; i < 13; i++) {
		struct nvme_sqe sqe = { .opcode = nvme_admin_keep_alive };

		usleep(500 * 1000);
		assert_int_equal(hp_status(&lively, hp_cmd(&lively, &sqe, NULL, 0), NULL, 0, NULL), 0);
	}
	hp_expect_closed(&silent, NULL);
	assert_int_equal(hp_prop_get(&lively, 0x1c, 0, &v), 0);
	hp_close(&lively);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_silent_host_is_closed_at_the_handshake_time_out),
		cmocka_unit_test(icreq_fields_are_checked),
		cmocka_unit_test(wrong_pdus_at_each_state_end_the_queue_and_nothing_else),
		cmocka_unit_test(a_second_icreq_is_a_sequence_error),
		cmocka_unit_test(a_command_before_icreq_is_refused),
		cmocka_unit_test(a_command_before_connect_is_answered_with_an_error),
		cmocka_unit_test(header_digest_errors_end_the_queue),
		cmocka_unit_test(connect_is_refused_with_the_field_at_fault),
		cmocka_unit_test(io_connect_is_checked_against_its_ctrl),
		cmocka_unit_test(a_qid_is_free_again_as_soon_as_its_connection_closed),
		cmocka_unit_test(an_io_queue_comes_by_its_admin_queues_listener),
		cmocka_unit_test(hosts_that_are_not_allowed_are_refused),
		cmocka_unit_test(properties_behave),
		cmocka_unit_test(sq_flow_control_is_disabled_only_on_request),
		cmocka_unit_test(an_admin_queue_that_goes_takes_its_io_queues_along),
		cmocka_unit_test(keep_alive_expires_and_traffic_prevents_it),
	};

	return cmocka_run_group_tests_name("target set-up", tests, setup, teardown);
}
