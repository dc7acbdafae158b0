/* SPDX-License-Identifier: BSD-3-Clause */
/* The TCP target half: from accept to ICResp. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/util.h"
#include "fake_target.h"

static void digests_are_granted_when_asked_for_and_offered(void **state)
{
	struct raw r;
	uint8_t dgst;

	for (dgst = 0; dgst < 16; dgst++) {
		ft.params.hdr_digest_ok = dgst & 4;
		ft.params.data_digest_ok = dgst & 8;
		raw_ready(&r, 0, dgst & 3);
		assert_int_equal(r.hdgst, (dgst & 1) && (dgst & 4));
		assert_int_equal(r.ddgst, (dgst & 2) && (dgst & 8));
		raw_expect_alive(&r);
		raw_close(&r);
	}
}

static void an_unknown_pfv_is_refused(void **state)
{
	struct raw r;

	raw_open(&r);
	raw_icreq(&r, 1, 0, 0);
	raw_expect_term(&r, NVME_TCP_FES_UNSUPPORTED, 8);
	raw_close(&r);
}

/* C099 */
static void hpda_above_31_is_refused(void **state)
{
	static const uint8_t bad[] = { 32, 255 };
	struct raw r;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		raw_open(&r);
		raw_icreq(&r, 0, bad[i], 0);
		raw_expect_term(&r, NVME_TCP_FES_INVALID_HDR, 10);
		raw_close(&r);
	}
}

/* C106 */
static void a_command_before_icreq_is_out_of_sequence(void **state)
{
	struct raw r;

	raw_open(&r);
	raw_command(&r, FT_READ, NVME_SGL_TRANSPORT, 4096, NULL, 0);
	raw_expect_term(&r, NVME_TCP_FES_SEQUENCE, 0);
	assert_int_equal(ft.nr_begun, 0);
	raw_close(&r);
}

static void h2c_data_before_icreq_is_out_of_sequence(void **state)
{
	struct nvme_tcp_data h2c = raw_h2c(1, 0xffff, 0, 4, true);
	struct raw r;

	raw_open(&r);
	raw_send_pdu(&r, &h2c, "data", 4, false);
	raw_expect_term(&r, NVME_TCP_FES_SEQUENCE, 0);
	raw_close(&r);
}

static void a_second_icreq_is_out_of_sequence(void **state)
{
	struct raw r;

	raw_ready(&r, 0, 0);
	raw_icreq(&r, 0, 0, 0);
	raw_expect_term(&r, NVME_TCP_FES_SEQUENCE, 0);
	raw_close(&r);
}

static void bytes_that_follow_icreq_at_once_are_out_of_sequence(void **state)
{
	struct nvme_tcp_ic ic[2] = { { .hdr = { NVME_TCP_ICREQ, 0, sizeof(ic[0]), 0, htole32(sizeof(ic[0])) } } };
	struct raw r;

	ic[1] = ic[0];
	raw_open(&r);
	raw_send(&r, ic, sizeof(ic));
	raw_expect_term(&r, NVME_TCP_FES_SEQUENCE, 0);
	raw_close(&r);
}

static void bad_common_headers_name_the_field(void **state)
{
	static const struct {
		struct nvme_tcp_hdr hdr;
		uint16_t fes;
		uint32_t fei;
	} rows[] = {
		{ { 0x0a, 0, 128, 0, 128 }, NVME_TCP_FES_INVALID_HDR, 0 },
		{ { NVME_TCP_ICRESP, 0, 128, 0, 128 }, NVME_TCP_FES_INVALID_HDR, 0 },
		{ { NVME_TCP_ICREQ, 0, 127, 0, 128 }, NVME_TCP_FES_INVALID_HDR, 2 },
		{ { NVME_TCP_ICREQ, 0, 0, 0, 128 }, NVME_TCP_FES_INVALID_HDR, 2 },
		{ { NVME_TCP_ICREQ, 0, 255, 0, 128 }, NVME_TCP_FES_INVALID_HDR, 2 },
		{ { NVME_TCP_ICREQ, 0, 128, 0, 127 }, NVME_TCP_FES_INVALID_HDR, 4 },
		{ { NVME_TCP_ICREQ, 0, 128, 0, UINT32_MAX }, NVME_TCP_FES_INVALID_HDR, 4 },
	};
	struct raw r;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		raw_open(&r);
		raw_send(&r, &rows[i].hdr, sizeof(rows[i].hdr));
		raw_expect_term(&r, rows[i].fes, rows[i].fei);
		raw_close(&r);
	}
}

static void a_host_may_leave_at_any_byte_of_the_set_up(void **state)
{
	struct nvme_tcp_ic ic = { .hdr = { NVME_TCP_ICREQ, 0, sizeof(ic), 0, htole32(sizeof(ic)) } };
	struct raw r;
	size_t n;

	for (n = 0; n <= sizeof(ic); n += 16) {
		raw_open(&r);
		raw_send(&r, &ic, n);
		ft_turn();
		raw_close(&r);
		assert_null(ft.q);
	}
}

static void nothing_is_read_while_a_fault_holds_the_connection(void **state)
{
	struct raw_pdu in;
	struct raw r;

	ft.hold_accept = ft.hold_icreq = true;
	raw_open(&r);
	raw_icreq(&r, 0, 0, 0);
	while (!ft.q || !ft.q->go)
		ft_turn();
	ft.q->go(ft.q);
	ft.q->go = NULL;
	while (!ft.q->go)
		ft_turn();
	assert_int_equal(recv(r.fd, &in, sizeof(in), MSG_DONTWAIT), -1);
	ft.q->go(ft.q);
	assert_true(raw_recv(&r, &in));
	assert_int_equal(in.pdu.hdr.type, NVME_TCP_ICRESP);
	raw_expect_alive(&r);
	raw_close(&r);
}

static void a_held_connection_ends_when_the_host_leaves(void **state)
{
	struct raw r;
	int point;

	for (point = 0; point < 2; point++) {
		ft.hold_accept = point == 0;
		ft.hold_icreq = point == 1;
		raw_open(&r);
		if (point == 1)
			raw_icreq(&r, 0, 0, 0);
		while (!ft.q || !ft.q->go)
			ft_turn();
		raw_close(&r);
		assert_null(ft.q);
	}
}

static void a_held_connection_can_be_closed(void **state)
{
	struct raw r;

	ft.hold_accept = true;
	raw_open(&r);
	while (!ft.q || !ft.q->go)
		ft_turn();
	ft.q->ops->queue_close(ft.q);
	ft.q->ops->queue_close(ft.q);
	ft.q->go(ft.q); /* too late */
	raw_expect_end(&r);
	raw_close(&r);
}

/* Accepting pauses without burning the CPU, and goes on when there are descriptors again. */
static void a_listener_survives_running_out_of_descriptors(void **state)
{
	struct rlimit old, none;
	struct raw_pdu in;
	struct raw r;
	int i, n = 0;

	raw_open(&r);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (i = 0; i < 5; i++)
		n += loop_turn(ft.loop, 10 * NSEC_PER_MSEC);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_true(n < 5);
	assert_int_equal(ft.nr_conns, 0);
	raw_icreq(&r, 0, 0, 0);
	assert_true(raw_recv(&r, &in));
	raw_expect_alive(&r);
	raw_close(&r);
}

static void addresses_that_cannot_be_listened_on_are_named(void **state)
{
	struct target_listener *l;
	struct error err = { 0 };
	char svc[8];

	snprintf(svc, sizeof(svc), "%u", ft.port);
	assert_int_equal(tcp_target_transport.listen(NULL, ft.loop, "127.0.0.1", svc, &l, &err), -EADDRINUSE);
	assert_non_null(strstr(error_msg(&err), "127.0.0.1:"));
	error_clear(&err);
	assert_int_equal(tcp_target_transport.listen(NULL, ft.loop, "192.0.2.1", "0", &l, &err), -EADDRNOTAVAIL);
	assert_non_null(strstr(error_msg(&err), "192.0.2.1"));
	error_clear(&err);
	assert_int_equal(tcp_target_transport.listen(NULL, ft.loop, "127.0.0.1", "65536", &l, &err), -EINVAL);
	error_clear(&err);
}

static void ipv6_is_listened_on_alone(void **state)
{
	struct target_listener *l, *l4;
	struct error err = { 0 };
	char addr[64], svc[16];
	uint8_t adrfam;
	int ret = tcp_target_transport.listen(NULL, ft.loop, "::", "0", &l, &err);

	if (ret == -EAFNOSUPPORT || ret == -EADDRNOTAVAIL) {
		print_message("# this machine has no IPv6\n");
		skip();
	}
	assert_int_equal(ret, 0);
	tcp_target_transport.listener_addr(l, addr, sizeof(addr), svc, sizeof(svc), &adrfam);
	assert_string_equal(addr, "::");
	assert_int_equal(adrfam, NVMF_ADDR_FAMILY_IP6);
	/* IPv4 with the same port is somebody else's. */
	assert_int_equal(tcp_target_transport.listen(NULL, ft.loop, "0.0.0.0", svc, &l4, &err), 0);
	tcp_target_transport.unlisten(l4);
	tcp_target_transport.unlisten(l);
}

#define T(f) cmocka_unit_test_setup_teardown(f, ft_setup, ft_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(digests_are_granted_when_asked_for_and_offered),
		T(an_unknown_pfv_is_refused),
		T(hpda_above_31_is_refused),
		T(a_command_before_icreq_is_out_of_sequence),
		T(h2c_data_before_icreq_is_out_of_sequence),
		T(a_second_icreq_is_out_of_sequence),
		T(bytes_that_follow_icreq_at_once_are_out_of_sequence),
		T(bad_common_headers_name_the_field),
		T(a_host_may_leave_at_any_byte_of_the_set_up),
		T(nothing_is_read_while_a_fault_holds_the_connection),
		T(a_held_connection_ends_when_the_host_leaves),
		T(a_held_connection_can_be_closed),
		T(a_listener_survives_running_out_of_descriptors),
		T(addresses_that_cannot_be_listened_on_are_named),
		T(ipv6_is_listened_on_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
