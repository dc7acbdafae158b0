/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tcp_pdu.h"

#define MAX_DATA 8192

static struct nvme_tcp_rx rx;
static struct stream s;
static struct nvme_tcp_rx_event ev;
static uint8_t payload[MAX_DATA];
static size_t pos; /* what was eaten of s */

static int setup(void **state)
{
	size_t i;

	s = (struct stream){ 0 };
	pos = 0;
	for (i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7 + i / 256);
	return 0;
}

static int teardown(void **state)
{
	free(s.buf);
	return 0;
}

static void start(enum nvme_tcp_side side, bool hdgst, bool ddgst, uint8_t pda)
{
	nvme_tcp_rx_init(&rx, side, pda, MAX_DATA);
	nvme_tcp_rx_negotiated(&rx, hdgst, ddgst);
	s.hdgst = hdgst;
	s.ddgst = ddgst;
	s.pda = pda;
}

/* The next event from all that is left of the stream. */
static enum nvme_tcp_rx_event_type next(void)
{
	pos += nvme_tcp_rx(&rx, s.buf + pos, s.len - pos, &ev);
	assert_true(pos <= s.len);
	return ev.type;
}

static void expect_payload(size_t len)
{
	uint8_t *copy = malloc(len);
	size_t done = 0;

	while (done < len) {
		assert_int_equal(next(), RX_DATA);
		assert_int_equal(rx.data_done, done);
		nvme_tcp_rx_payload_copy(&rx, copy + done, ev.data, ev.len);
		done += ev.len;
	}
	assert_int_equal(nvme_tcp_rx_payload_left(&rx), 0);
	assert_memory_equal(copy, payload, len);
	free(copy);
	assert_int_equal(next(), RX_END);
}

static void expect_error(uint16_t fes, uint32_t fei)
{
	assert_int_equal(next(), RX_ERROR);
	assert_int_equal(ev.fes, fes);
	assert_int_equal(ev.fei, fei);
	assert_non_null(ev.what);
	/* It stays dead, whatever comes. */
	pos = s.len;
	assert_int_equal(next(), RX_ERROR);
	assert_int_equal(ev.fes, fes);
}

static void a_host_gets_what_a_controller_sends(void **state)
{
	int digests;

	for (digests = 0; digests < 4; digests++) {
		teardown(state);
		setup(state);
		start(NVME_TCP_HOST, digests & 1, digests & 2, 0);
		put_rsp(&s, 3);
		put_data(&s, NVME_TCP_C2H_DATA, 4, NVME_TCP_F_LAST | NVME_TCP_F_SUCCESS, payload, 1000);
		put_r2t(&s, 5);
		assert_int_equal(next(), RX_PDU);
		assert_int_equal(rx.pdu.hdr.type, NVME_TCP_RSP);
		assert_int_equal(le16toh(rx.pdu.rsp.cqe.cid), 3);
		assert_true(rx.pdu.rsp.cqe.result == 0x1122334455667788);
		assert_int_equal(rx.data_len, 0);
		assert_int_equal(next(), RX_PDU);
		assert_int_equal(le16toh(rx.pdu.data.cccid), 4);
		assert_int_equal(rx.data_len, 1000);
		expect_payload(1000);
		assert_true(ev.digest_ok);
		assert_int_equal(next(), RX_PDU);
		assert_int_equal(le32toh(rx.pdu.r2t.r2tl), 4096);
		assert_int_equal(next(), RX_NONE);
		assert_int_equal(pos, s.len);
	}
}

static void a_controller_gets_what_a_host_sends(void **state)
{
	int digests;

	for (digests = 0; digests < 4; digests++) {
		teardown(state);
		setup(state);
		start(NVME_TCP_CTRL, digests & 1, digests & 2, 0);
		put_cmd(&s, 1, NULL, 0);
		put_cmd(&s, 2, payload, 4096);
		put_data(&s, NVME_TCP_H2C_DATA, 3, NVME_TCP_F_LAST, payload, 1);
		put_term(&s, NVME_TCP_H2C_TERM, payload, 24);
		assert_int_equal(next(), RX_PDU);
		assert_int_equal(le16toh(rx.pdu.cmd.sqe.cid), 1);
		assert_int_equal(rx.data_len, 0);
		assert_int_equal(next(), RX_PDU);
		assert_int_equal(le16toh(rx.pdu.cmd.sqe.cid), 2);
		assert_int_equal(rx.data_len, 4096);
		expect_payload(4096);
		assert_true(ev.digest_ok);
		assert_int_equal(next(), RX_PDU);
		expect_payload(1);
		assert_true(ev.digest_ok);
		assert_int_equal(next(), RX_PDU);
		assert_int_equal(rx.pdu.hdr.type, NVME_TCP_H2C_TERM);
		expect_payload(24);
		assert_true(ev.digest_ok); /* there is none */
		assert_int_equal(next(), RX_NONE);
	}
}

static void initialisation_comes_first_and_digests_after_it(void **state)
{
	int side;

	for (side = NVME_TCP_HOST; side <= NVME_TCP_CTRL; side++) {
		teardown(state);
		setup(state);
		nvme_tcp_rx_init(&rx, side, 0, MAX_DATA);
		put_ic(&s, side == NVME_TCP_HOST ? NVME_TCP_ICRESP : NVME_TCP_ICREQ);
		s.hdgst = s.ddgst = true;
		if (side == NVME_TCP_HOST)
			put_rsp(&s, 9);
		else
			put_cmd(&s, 9, payload, 64);
		assert_int_equal(next(), RX_PDU);
		assert_int_equal(le32toh(rx.pdu.ic.maxval), 4096);
		nvme_tcp_rx_negotiated(&rx, true, true);
		assert_int_equal(next(), RX_PDU);
		if (side == NVME_TCP_CTRL)
			expect_payload(64);
		assert_true(side == NVME_TCP_HOST || ev.digest_ok);
	}
}

/* C099: the data begins at a multiple of what the receiver asked for, digests or not. */
static void data_begins_where_the_receiver_wants_it(void **state)
{
	static const uint8_t pdas[] = { 0, 1, 2, 15, 31 };
	size_t i, digests;
	uint8_t pda;

	for (i = 0; i < ARRAY_SIZE(pdas); i++) {
		for (digests = 0; digests < 4; digests++) {
			pda = pdas[i];
			teardown(state);
			setup(state);
			start(NVME_TCP_CTRL, digests & 1, digests & 2, pda);
			put_cmd(&s, 1, payload, 4096);
			put_data(&s, NVME_TCP_H2C_DATA, 3, 0, payload, 8192);
			assert_int_equal(next(), RX_PDU);
			assert_int_equal(rx.pdu.hdr.pdo % ((pda + 1) * 4), 0);
			expect_payload(4096);
			assert_true(ev.digest_ok);
			assert_int_equal(next(), RX_PDU);
			expect_payload(8192);
			assert_true(ev.digest_ok);
			assert_int_equal(next(), RX_NONE);
		}
	}
}

/* C099 */
static void misaligned_data_is_refused(void **state)
{
	start(NVME_TCP_CTRL, false, false, 31);
	s.pda = 3;
	put_cmd(&s, 1, payload, 512);
	expect_error(NVME_TCP_FES_INVALID_HDR, 3);
}

static size_t put_any(uint8_t type)
{
	switch (type) {
	case NVME_TCP_ICREQ:
	case NVME_TCP_ICRESP:
		return put_ic(&s, type);
	case NVME_TCP_H2C_TERM:
	case NVME_TCP_C2H_TERM:
		return put_term(&s, type, payload, 32);
	case NVME_TCP_CMD:
		return put_cmd(&s, 1, payload, 512);
	case NVME_TCP_RSP:
		return put_rsp(&s, 1);
	case NVME_TCP_H2C_DATA:
	case NVME_TCP_C2H_DATA:
		return put_data(&s, type, 1, NVME_TCP_F_LAST, payload, 512);
	default:
		return put_r2t(&s, 1);
	}
}

static enum nvme_tcp_side receiver_of(uint8_t type)
{
	return type & 1 ? NVME_TCP_HOST : NVME_TCP_CTRL;
}

static void start_for(uint8_t type, bool hdgst, bool ddgst)
{
	start(receiver_of(type), hdgst, ddgst, 0);
	if (type <= NVME_TCP_ICRESP)
		nvme_tcp_rx_init(&rx, receiver_of(type), 0, MAX_DATA);
}

static const uint8_t all_types[] = { 0, 1, 2, 3, 4, 5, 6, 7, 9 };

/* C105 */
static void a_wrong_length_is_refused_by_its_field_in_every_type(void **state)
{
	static const struct {
		uint8_t hlen;
		uint32_t plen;
		uint32_t fei;
	} damages[] = {
		{ 255, 0, 2 },	      { 0, 0, 2 },    { 1, 0, 2 },    { 23, 0, 2 },    { 25, 0, 2 },   { 73, 0, 2 },
		{ 0, UINT32_MAX, 2 }, { 0x42, 7, 4 }, { 0x42, 8, 4 }, { 0x42, 23, 4 }, { 0x42, 0, 4 }, { 0x42, UINT32_MAX, 4 },
	};
	size_t i, j, digests;

	for (i = 0; i < ARRAY_SIZE(all_types); i++) {
		for (j = 0; j < ARRAY_SIZE(damages); j++) {
			for (digests = 0; digests < 4; digests++) {
				bool is_data = all_types[i] == NVME_TCP_H2C_DATA || all_types[i] == NVME_TCP_C2H_DATA;
				struct nvme_tcp_hdr *hdr;

				teardown(state);
				setup(state);
				start_for(all_types[i], digests & 1, digests & 2);
				put_any(all_types[i]);
				hdr = (struct nvme_tcp_hdr *)s.buf;
				if (damages[j].hlen != 0x42) /* 42h stands for the right one */
					hdr->hlen = damages[j].hlen;
				if (damages[j].fei == 4)
					hdr->plen = htole32(damages[j].plen);
				if (digests & 1 && all_types[i] > NVME_TCP_C2H_TERM && damages[j].hlen == 0x42)
					seal_header(s.buf, hdr->hlen);
				if (is_data && damages[j].plen == UINT32_MAX && damages[j].fei == 4)
					expect_error(NVME_TCP_FES_INVALID_HDR, 16); /* DATAL says otherwise */
				else
					expect_error(NVME_TCP_FES_INVALID_HDR, damages[j].fei);
			}
		}
	}
}

/* C105 */
static void a_data_offset_inside_the_header_is_refused(void **state)
{
	static const uint8_t types[] = { NVME_TCP_CMD, NVME_TCP_H2C_DATA, NVME_TCP_C2H_DATA };
	size_t i, pdo, digests;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		for (digests = 0; digests < 2; digests++) {
			for (pdo = 0; pdo < 256; pdo++) {
				size_t hlen = types[i] == NVME_TCP_CMD ? 72 : 24, full = hlen + digests * 4;

				teardown(state);
				setup(state);
				start_for(types[i], digests, false);
				put_any(types[i]);
				((struct nvme_tcp_hdr *)s.buf)->pdo = (uint8_t)pdo;
				if (digests)
					seal_header(s.buf, hlen);
				if (pdo < full || pdo % 4)
					expect_error(NVME_TCP_FES_INVALID_HDR, 3);
				else if (types[i] != NVME_TCP_CMD && pdo != full)
					expect_error(NVME_TCP_FES_INVALID_HDR, 16); /* less data than DATAL says */
				else
					assert_int_equal(next(), RX_PDU);
			}
		}
	}
}

static void data_must_not_vanish_behind_its_offset(void **state)
{
	start(NVME_TCP_CTRL, false, true, 0);
	put_cmd(&s, 1, payload, 8);
	((struct nvme_tcp_hdr *)s.buf)->pdo = 80; /* nothing but the digest is left */
	expect_error(NVME_TCP_FES_INVALID_HDR, 4);
}

/* C105 */
static void unknown_types_are_refused(void **state)
{
	uint32_t type;
	int side, negotiated;

	for (type = 0; type < 256; type++) {
		if (type <= NVME_TCP_C2H_DATA || type == NVME_TCP_R2T)
			continue;
		for (side = 0; side < 2; side++) {
			for (negotiated = 0; negotiated < 2; negotiated++) {
				teardown(state);
				setup(state);
				start(side, false, false, 0);
				if (!negotiated)
					nvme_tcp_rx_init(&rx, side, 0, MAX_DATA);
				put_rsp(&s, 1);
				s.buf[0] = (uint8_t)type;
				expect_error(NVME_TCP_FES_INVALID_HDR, 0);
			}
		}
	}
}

static void types_of_the_other_direction_are_refused(void **state)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all_types); i++) {
		teardown(state);
		setup(state);
		start_for(all_types[i], false, false);
		rx.side = !rx.side;
		put_any(all_types[i]);
		expect_error(NVME_TCP_FES_INVALID_HDR, 0);
	}
}

/* C106 */
static void nothing_but_initialisation_is_legal_before_it(void **state)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all_types); i++) {
		teardown(state);
		setup(state);
		start_for(all_types[i], false, false);
		nvme_tcp_rx_init(&rx, receiver_of(all_types[i]), 0, MAX_DATA);
		put_any(all_types[i]);
		if (all_types[i] <= NVME_TCP_C2H_TERM)
			assert_int_equal(next(), RX_PDU);
		else
			expect_error(NVME_TCP_FES_SEQUENCE, 0);
	}
}

/* C106 */
static void a_second_initialisation_is_refused(void **state)
{
	start(NVME_TCP_CTRL, false, false, 0);
	put_ic(&s, NVME_TCP_ICREQ);
	expect_error(NVME_TCP_FES_SEQUENCE, 0);
	teardown(state);
	setup(state);
	start(NVME_TCP_HOST, false, false, 0);
	put_ic(&s, NVME_TCP_ICRESP);
	expect_error(NVME_TCP_FES_SEQUENCE, 0);
}

static void flags_must_say_what_was_agreed_on(void **state)
{
	size_t i, agreed, sent;

	for (i = 4; i < ARRAY_SIZE(all_types); i++) { /* those that may have digests */
		uint8_t type = all_types[i];
		bool has_data = type != NVME_TCP_RSP && type != NVME_TCP_R2T;

		for (agreed = 0; agreed < 4; agreed++) {
			for (sent = 0; sent < 4; sent++) {
				teardown(state);
				setup(state);
				start_for(type, agreed & 1, agreed & 2);
				s.hdgst = sent & 1;
				s.ddgst = sent & 2;
				put_any(type);
				if ((agreed ^ sent) & (has_data ? 3 : 1))
					expect_error(NVME_TCP_FES_INVALID_HDR, 1);
				else
					assert_int_equal(next(), RX_PDU);
			}
		}
	}
}

static void a_data_digest_flag_without_data_means_nothing(void **state)
{
	start(NVME_TCP_CTRL, false, true, 0);
	put_cmd(&s, 1, NULL, 0);
	s.buf[1] |= NVME_TCP_F_DDGST;
	assert_int_equal(next(), RX_PDU);
	assert_int_equal(rx.data_len, 0);
}

/* C098 */
static void success_needs_the_last_data(void **state)
{
	start(NVME_TCP_HOST, false, false, 0);
	put_data(&s, NVME_TCP_C2H_DATA, 1, NVME_TCP_F_SUCCESS, payload, 512);
	expect_error(NVME_TCP_FES_INVALID_HDR, 1);
}

static void responses_carry_no_data(void **state)
{
	static const uint8_t types[] = { NVME_TCP_RSP, NVME_TCP_R2T };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		teardown(state);
		setup(state);
		start(NVME_TCP_HOST, false, false, 0);
		put_any(types[i]);
		stream_room(&s, 4);
		((struct nvme_tcp_hdr *)s.buf)->plen = htole32(28);
		expect_error(NVME_TCP_FES_INVALID_HDR, 4);
	}
}

/* C110 */
static void a_termination_request_has_24_to_152_bytes(void **state)
{
	static const struct {
		uint32_t plen;
		bool ok;
	} cases[] = { { 23, false }, { 24, true }, { 25, true }, { 152, true }, { 153, false }, { UINT32_MAX, false } };
	int side, phase;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		for (side = 0; side < 2; side++) {
			for (phase = 0; phase < 2; phase++) {
				teardown(state);
				setup(state);
				start(side, true, true, 7);
				if (phase)
					nvme_tcp_rx_init(&rx, side, 7, MAX_DATA);
				put_term(&s, side == NVME_TCP_HOST ? NVME_TCP_C2H_TERM : NVME_TCP_H2C_TERM, payload, 129);
				((struct nvme_tcp_hdr *)s.buf)->plen = htole32(cases[i].plen);
				s.len = min_size(s.len, cases[i].plen < 24 ? 24 : cases[i].plen);
				if (!cases[i].ok) {
					expect_error(NVME_TCP_FES_INVALID_HDR, 4);
					continue;
				}
				assert_int_equal(next(), RX_PDU);
				assert_int_equal(rx.data_len, cases[i].plen - 24);
				if (rx.data_len)
					expect_payload(rx.data_len);
				assert_int_equal(next(), RX_NONE);
			}
		}
	}
}

static void a_flipped_bit_in_a_header_fails_its_digest(void **state)
{
	size_t bit;
	uint32_t digest;

	for (bit = 64; bit < (24 + 4) * 8; bit++) { /* the common header's fields have checks of their own, which come first */
		teardown(state);
		setup(state);
		start(NVME_TCP_HOST, true, false, 0);
		put_rsp(&s, 5);
		s.buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
		memcpy(&digest, s.buf + 24, 4);
		expect_error(NVME_TCP_FES_HDGST, le32toh(digest));
		assert_memory_equal(rx.pdu.raw, s.buf, 28);
	}
}

/* C124 */
static void a_wrong_data_digest_is_told_and_the_stream_goes_on(void **state)
{
	start(NVME_TCP_HOST, true, true, 0);
	put_data(&s, NVME_TCP_C2H_DATA, 1, NVME_TCP_F_LAST, payload, 512);
	s.buf[s.len - 1] ^= 1;
	put_data(&s, NVME_TCP_C2H_DATA, 2, NVME_TCP_F_LAST, payload, 512);
	assert_int_equal(next(), RX_PDU);
	expect_payload(512);
	assert_false(ev.digest_ok);
	assert_int_equal(next(), RX_PDU);
	expect_payload(512);
	assert_true(ev.digest_ok);
	assert_int_equal(next(), RX_NONE);
}

static void datal_must_agree_with_plen(void **state)
{
	static const int32_t offs[] = { 1, -1, 4, -512, INT32_MAX };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(offs); i++) {
		teardown(state);
		setup(state);
		start(NVME_TCP_CTRL, false, false, 0);
		put_data(&s, NVME_TCP_H2C_DATA, 1, 0, payload, 512);
		((struct nvme_tcp_data *)s.buf)->datal = htole32(512 + (uint32_t)offs[i]);
		expect_error(NVME_TCP_FES_INVALID_HDR, 16);
	}
}

static void more_data_than_the_limit_is_refused(void **state)
{
	start(NVME_TCP_CTRL, false, false, 0);
	rx.max_data = 4096;
	put_data(&s, NVME_TCP_H2C_DATA, 1, 0, payload, 4096);
	put_data(&s, NVME_TCP_H2C_DATA, 1, 0, payload, 4100);
	assert_int_equal(next(), RX_PDU);
	expect_payload(4096);
	expect_error(NVME_TCP_FES_LIMIT, 0);
	teardown(state);
	setup(state);
	start(NVME_TCP_CTRL, false, false, 0);
	rx.max_data = 4096;
	put_cmd(&s, 1, payload, 4100);
	expect_error(NVME_TCP_FES_INVALID_HDR, 4);
}

static void a_data_pdu_may_be_empty(void **state)
{
	start(NVME_TCP_HOST, true, true, 0);
	put_data(&s, NVME_TCP_C2H_DATA, 1, NVME_TCP_F_LAST, NULL, 0);
	put_rsp(&s, 2);
	assert_int_equal(next(), RX_PDU);
	assert_int_equal(rx.data_len, 0);
	assert_int_equal(next(), RX_PDU);
	assert_int_equal(rx.pdu.hdr.type, NVME_TCP_RSP);
}

/* A socket read that places payload by itself: the parser only hears of it. */
static void payload_may_be_read_past_the_parser(void **state)
{
	int tail;

	for (tail = 0; tail < 2; tail++) {
		teardown(state);
		setup(state);
		start(NVME_TCP_HOST, true, true, 15);
		put_data(&s, NVME_TCP_C2H_DATA, 1, NVME_TCP_F_LAST, payload, 8192);
		assert_int_equal(next(), RX_PDU);
		assert_int_equal(nvme_tcp_rx_payload_left(&rx), 8192);
		assert_memory_equal(s.buf + pos, payload, 8192); /* padding is gone already */
		nvme_tcp_rx_payload_inplace(&rx, s.buf + pos, 8000);
		pos += 8000;
		if (tail) { /* the rest, too */
			nvme_tcp_rx_payload_inplace(&rx, s.buf + pos, 192);
			pos += 192;
		} else {
			assert_int_equal(next(), RX_DATA);
			assert_int_equal(ev.len, 192);
			nvme_tcp_rx_payload_inplace(&rx, ev.data, ev.len);
		}
		assert_int_equal(next(), RX_END);
		assert_true(ev.digest_ok);
		assert_int_equal(next(), RX_NONE);
	}
}

static void what_is_left_of_a_pdu_after_an_error_is_zero(void **state)
{
	static const uint8_t zeroes[sizeof(rx.pdu.raw)];

	start(NVME_TCP_HOST, false, false, 0);
	put_rsp(&s, 1);
	assert_int_equal(next(), RX_PDU);
	put_rsp(&s, 2);
	s.buf[24] = 0x55;
	s.len = 24 + 8; /* no more came */
	expect_error(NVME_TCP_FES_INVALID_HDR, 0);
	assert_int_equal(rx.pdu.hdr.type, 0x55);
	assert_memory_equal(rx.pdu.raw + rx.have, zeroes, sizeof(rx.pdu.raw) - rx.have);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_host_gets_what_a_controller_sends),
		TEST(a_controller_gets_what_a_host_sends),
		TEST(initialisation_comes_first_and_digests_after_it),
		TEST(data_begins_where_the_receiver_wants_it),
		TEST(misaligned_data_is_refused),
		TEST(a_wrong_length_is_refused_by_its_field_in_every_type),
		TEST(a_data_offset_inside_the_header_is_refused),
		TEST(data_must_not_vanish_behind_its_offset),
		TEST(unknown_types_are_refused),
		TEST(types_of_the_other_direction_are_refused),
		TEST(nothing_but_initialisation_is_legal_before_it),
		TEST(a_second_initialisation_is_refused),
		TEST(flags_must_say_what_was_agreed_on),
		TEST(a_data_digest_flag_without_data_means_nothing),
		TEST(success_needs_the_last_data),
		TEST(responses_carry_no_data),
		TEST(a_termination_request_has_24_to_152_bytes),
		TEST(a_flipped_bit_in_a_header_fails_its_digest),
		TEST(a_wrong_data_digest_is_told_and_the_stream_goes_on),
		TEST(datal_must_agree_with_plen),
		TEST(more_data_than_the_limit_is_refused),
		TEST(a_data_pdu_may_be_empty),
		TEST(payload_may_be_read_past_the_parser),
		TEST(what_is_left_of_a_pdu_after_an_error_is_zero),
	};

	return cmocka_run_group_tests_name("tcp_rx", tests, NULL, NULL);
}
