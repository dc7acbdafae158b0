/* SPDX-License-Identifier: BSD-3-Clause */
/* The TCP target half: what it sends, and how a connection ends. */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/util.h"
#include "fake_target.h"

#include "transport/tcp/tcp_target.h"

static void do_read(struct raw *r, uint32_t len)
{
	raw_expect_read(r, raw_command(r, FT_READ, NVME_SGL_TRANSPORT, len, NULL, 0), len);
}

/* C099 */
static void reads_are_aligned_as_the_host_asked(void **state)
{
	static const uint8_t hpda[] = { 0, 1, 2, 15, 31 };
	static const uint32_t sizes[] = { 1, 512, 4096, 131072, 1 << 20, (1 << 20) + 512, 5 << 20 };
	struct raw r;
	uint8_t dgst;
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(hpda); i++) {
		for (dgst = 0; dgst < 4; dgst++) {
			raw_ready(&r, hpda[i], dgst);
			for (j = 0; j < ARRAY_SIZE(sizes); j++)
				do_read(&r, sizes[j]);
			raw_close(&r);
		}
	}
}

static void answers_of_many_pieces_leave_whole(void **state)
{
	static const uint32_t pieces[] = { 1, 3, 100, 511, 4096 };
	struct raw r;
	uint8_t dgst;
	size_t i;

	for (dgst = 0; dgst < 4; dgst += 3) {
		raw_ready(&r, 1, dgst);
		for (i = 0; i < ARRAY_SIZE(pieces); i++) {
			ft.piece = pieces[i];
			do_read(&r, min_u32(pieces[i] * 3000, 5 << 20));
		}
		raw_close(&r);
	}
}

static void success_rides_on_the_data_when_nothing_else_is_to_be_said(void **state)
{
	static const struct {
		uint8_t opcode;
		bool sqflow_off, success;
	} rows[] = {
		{ FT_READ, true, true },
		{ FT_READ, false, false },
		{ FT_READ_RESULT, true, false },
	};
	struct raw_pdu in;
	struct raw r;
	size_t i;

	raw_ready(&r, 0, 0);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		uint16_t cid = raw_command(&r, rows[i].opcode, NVME_SGL_TRANSPORT, 512, NULL, 0);

		ft.q->sqflow_off = rows[i].sqflow_off;
		assert_true(raw_recv(&r, &in));
		assert_int_equal(in.pdu.hdr.type, NVME_TCP_C2H_DATA);
		assert_true(in.pdu.hdr.flags & NVME_TCP_F_LAST);
		assert_int_equal(!!(in.pdu.hdr.flags & NVME_TCP_F_SUCCESS), rows[i].success);
		free(in.data);
		if (rows[i].success)
			continue;
		assert_true(raw_recv(&r, &in));
		assert_int_equal(in.pdu.hdr.type, NVME_TCP_RSP);
		assert_int_equal(le16toh(in.pdu.rsp.cqe.cid), cid);
		assert_int_equal(le64toh(in.pdu.rsp.cqe.result), rows[i].opcode == FT_READ_RESULT ? 0x1234 : 0);
	}
	raw_expect_alive(&r);
	raw_close(&r);
}

static void a_failed_read_sends_no_data(void **state)
{
	struct raw r;
	uint16_t cid;

	raw_ready(&r, 0, 3);
	ft.q->sqflow_off = true;
	cid = raw_command(&r, FT_READ_ERR, NVME_SGL_TRANSPORT, 4096, NULL, 0);
	assert_int_equal(raw_response(&r, cid), 0x281);
	raw_close(&r);
}

static uint32_t data_segments_out(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
	return info.tcpi_data_segs_out;
}

/* With Nagle off each send is a segment of its own. */
static void a_burst_is_answered_by_one_send(void **state)
{
	uint32_t before;
	uint8_t out[32 * 128];
	size_t len = 0;
	struct raw r;
	int i;

	raw_ready(&r, 0, 0);
	before = data_segments_out(to_tt_conn(ft.q)->fd);
	for (i = 0; i < 32; i++) {
		struct nvme_tcp_cmd cmd = raw_cmd(&r, FT_FLUSH, NVME_SGL_TRANSPORT, 0);

		len += raw_build_pdu(&r, out + len, &cmd, NULL, 0, false);
	}
	raw_send(&r, out, len);
	for (i = 0; i < 100 && ft.nr_responded < 32; i++)
		loop_turn(ft.loop, NSEC_PER_MSEC);
	assert_int_equal(recv(r.fd, out, sizeof(out), MSG_DONTWAIT), 32 * 24);
	assert_int_equal(data_segments_out(to_tt_conn(ft.q)->fd) - before, 1);
	raw_close(&r);
}

/* Answers that come later, from other places, wait for the end of the turn. */
static void answers_of_one_turn_leave_by_one_send(void **state)
{
	uint32_t before;
	struct raw r;
	uint16_t cid;
	int i;

	ft.hold = true;
	raw_ready(&r, 0, 0);
	cid = raw_command(&r, FT_FLUSH, NVME_SGL_TRANSPORT, 0, NULL, 0);
	for (i = 1; i < 20; i++)
		raw_command(&r, FT_FLUSH, NVME_SGL_TRANSPORT, 0, NULL, 0);
	while (ft.nr_held < 20)
		ft_turn();
	before = data_segments_out(to_tt_conn(ft.q)->fd);
	ft_release();
	for (i = 0; i < 20; i++)
		assert_int_equal(raw_response(&r, (uint16_t)(cid + i)), 0);
	assert_int_equal(data_segments_out(to_tt_conn(ft.q)->fd) - before, 1);
	ft.hold = false;
	raw_close(&r);
}

/* C111 */
static void partial_sends_are_resumed_without_spinning(void **state)
{
	uint16_t cid[32];
	struct raw r;
	uint8_t dgst;
	int i, small = 4096;

	for (dgst = 0; dgst < 4; dgst += 3) {
		raw_ready(&r, 0, dgst);
		assert_int_equal(setsockopt(to_tt_conn(ft.q)->fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
		for (i = 0; i < 32; i++)
			cid[i] = raw_command(&r, FT_READ, NVME_SGL_TRANSPORT, 32 << 10, NULL, 0);
		for (i = 0; i < 20; i++)
			loop_turn(ft.loop, 20 * NSEC_PER_MSEC);
		/* Now the socket is full: nothing happens until the host reads. */
		assert_int_equal(loop_turn(ft.loop, 50 * NSEC_PER_MSEC), 0);
		assert_true(ft.nr_ended < ft.nr_begun);
		for (i = 0; i < 32; i++)
			raw_expect_read(&r, cid[i], 32 << 10);
		raw_expect_alive(&r);
		raw_close(&r);
	}
}

static void what_was_answered_leaves_before_an_orderly_close(void **state)
{
	uint16_t cid[8];
	struct raw r;
	int i, small = 4096;

	raw_ready(&r, 0, 0);
	setsockopt(to_tt_conn(ft.q)->fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	for (i = 0; i < 8; i++)
		cid[i] = raw_command(&r, FT_READ, NVME_SGL_TRANSPORT, 64 << 10, NULL, 0);
	while (ft.nr_responded < 8)
		ft_turn();
	ft.q->ops->queue_close(ft.q);
	raw_command(&r, FT_READ, NVME_SGL_TRANSPORT, 512, NULL, 0); /* too late: not even begun */
	for (i = 0; i < 8; i++)
		raw_expect_read(&r, cid[i], 64 << 10);
	raw_expect_end(&r);
	assert_int_equal(ft.nr_begun, 8);
	raw_close(&r);
	assert_non_null(strstr(ft.why, "closed by the target"));
}

static void a_host_that_reads_nothing_cannot_hold_up_the_close(void **state)
{
	struct raw r;
	int i;

	raw_ready(&r, 0, 0);
	for (i = 0; i < 16; i++)
		raw_command(&r, FT_READ, NVME_SGL_TRANSPORT, 4 << 20, NULL, 0);
	while (ft.nr_responded < 16)
		ft_turn();
	ft.q->ops->queue_close(ft.q);
	for (i = 0; i < 3000 && ft.q; i++)
		ft_turn();
	assert_null(ft.q);
	raw_close(&r);
}

/* A close with unread input would reset the connection, and the reset would overtake the reason. */
static void the_reason_arrives_although_the_host_goes_on_sending(void **state)
{
	uint8_t *junk = calloc(1, 1 << 20);
	struct nvme_tcp_cmd cmd;
	struct raw_pdu in;
	struct raw r;

	raw_ready(&r, 0, 0);
	cmd = raw_cmd(&r, FT_READ, NVME_SGL_TRANSPORT, 512);
	memcpy(junk, &cmd, sizeof(cmd)); /* PLEN 0 */
	raw_send(&r, junk, 1 << 20);
	assert_true(raw_recv(&r, &in));
	assert_int_equal(in.pdu.hdr.type, NVME_TCP_C2H_TERM);
	/* With the header at fault attached. */
	assert_int_equal(le32toh(in.pdu.hdr.plen), 24 + 72);
	assert_int_equal(in.pdu.raw[24], NVME_TCP_CMD);
	raw_close(&r);
	free(junk);
}

static void requests_in_the_core_end_after_the_host_has_gone(void **state)
{
	struct raw r;
	int how;

	for (how = 0; how < 2; how++) {
		struct linger rst = { .l_onoff = 1 };

		ft.hold = true;
		raw_ready(&r, 0, 0);
		raw_command(&r, FT_READ, NVME_SGL_TRANSPORT, 4096, NULL, 0);
		raw_command(&r, FT_WRITE, NVME_SGL_TRANSPORT, 4096, NULL, 0); /* its R2T is never answered */
		raw_command(&r, FT_WRITE, NVME_SGL_TRANSPORT, 4096, NULL, 0);
		while (ft.nr_held < 1 || ft.q->nr_active < 3)
			ft_turn();
		if (how)
			setsockopt(r.fd, SOL_SOCKET, SO_LINGER, &rst, sizeof(rst));
		raw_close(&r);
		while (!ft.q->closed)
			ft_turn();
		assert_int_equal(ft.q->nr_active, 1);
		ft_turn();
		assert_non_null(ft.q);
		ft_release();
		ft_turn();
		assert_null(ft.q);
		ft.hold = false;
	}
}

static void a_host_that_terminates_is_believed(void **state)
{
	struct nvme_tcp_term term = { .hdr = { NVME_TCP_H2C_TERM, 0, 24, 0, htole32(24) }, .fes = htole16(NVME_TCP_FES_RANGE) };
	struct raw r;

	raw_ready(&r, 0, 3);
	raw_send(&r, &term, sizeof(term));
	raw_expect_end(&r);
	raw_close(&r);
	assert_non_null(strstr(ft.why, "FES 04h"));
}

static void a_host_may_vanish_in_the_middle_of_data(void **state)
{
	uint8_t *data = calloc(1, 65536), *out = malloc(70000);
	static const uint32_t cut[] = { 1, 8, 71, 72, 73, 40000, 65600 };
	struct nvme_tcp_cmd cmd;
	struct raw r;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cut); i++) {
		raw_ready(&r, 0, 2);
		cmd = raw_cmd(&r, FT_WRITE, NVME_SGL_OFFSET, 65536);
		raw_build_pdu(&r, out, &cmd, data, 65536, false);
		raw_send(&r, out, cut[i]);
		ft_turn();
		raw_close(&r);
		assert_null(ft.q);
		assert_int_equal(ft.nr_executed, 0);
	}
	free(out);
	free(data);
}

#define T(f) cmocka_unit_test_setup_teardown(f, ft_setup, ft_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(reads_are_aligned_as_the_host_asked),
		T(answers_of_many_pieces_leave_whole),
		T(success_rides_on_the_data_when_nothing_else_is_to_be_said),
		T(a_failed_read_sends_no_data),
		T(a_burst_is_answered_by_one_send),
		T(answers_of_one_turn_leave_by_one_send),
		T(partial_sends_are_resumed_without_spinning),
		T(what_was_answered_leaves_before_an_orderly_close),
		T(a_host_that_reads_nothing_cannot_hold_up_the_close),
		T(the_reason_arrives_although_the_host_goes_on_sending),
		T(requests_in_the_core_end_after_the_host_has_gone),
		T(a_host_that_terminates_is_believed),
		T(a_host_may_vanish_in_the_middle_of_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
