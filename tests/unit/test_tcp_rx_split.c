/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "tcp_pdu.h"

/*
 * Any split of the stream gives the same events.  Random streams of all PDU types, right ones and spoilt ones, are fed whole, byte by byte
 * and in random pieces; what came out is written down, with the chunks of a payload put together, and compared.
 */

#define MAX_DATA 6000
#define ROUNDS	 200

struct record {
	uint8_t *buf;
	size_t len, size;
};

static void note(struct record *r, const void *what, size_t len)
{
	if (r->len + len > r->size) {
		r->size = (r->len + len) * 2;
		r->buf = realloc(r->buf, r->size);
	}
	memcpy(r->buf + r->len, what, len);
	r->len += len;
}

static void note_number(struct record *r, uint32_t number)
{
	note(r, &number, sizeof(number));
}

struct config {
	enum nvme_tcp_side side;
	bool hdgst, ddgst;
	uint8_t pda;
};

static void on_pdu(struct nvme_tcp_rx *rx, const struct config *c, struct record *r)
{
	note_number(r, 0xbeef0001);
	note(r, rx->pdu.raw, rx->pdu.hdr.hlen);
	note_number(r, rx->data_len);
	if (rx->pdu.hdr.type <= NVME_TCP_ICRESP)
		nvme_tcp_rx_negotiated(rx, c->hdgst, c->ddgst);
}

static void on_data(struct nvme_tcp_rx *rx, const struct nvme_tcp_rx_event *ev, struct record *r)
{
	uint8_t copy[MAX_DATA];

	assert_true(ev->len && ev->len <= nvme_tcp_rx_payload_left(rx));
	if (rand() & 1) {
		nvme_tcp_rx_payload_copy(rx, copy, ev->data, ev->len);
		note(r, copy, ev->len);
	} else {
		nvme_tcp_rx_payload_inplace(rx, ev->data, ev->len);
		note(r, ev->data, ev->len);
	}
}

/* Feeds one piece; false after an error. */
static bool feed(struct nvme_tcp_rx *rx, const struct config *c, const uint8_t *p, size_t len, struct record *r)
{
	/* An exact copy, so that AddressSanitizer sees a read beyond the piece. */
	uint8_t *piece = malloc(len), *q = piece;
	struct nvme_tcp_rx_event ev;

	memcpy(piece, p, len);
	do {
		size_t n = nvme_tcp_rx(rx, q, len, &ev);

		assert_true(n <= len);
		q += n;
		len -= n;
		if (ev.type == RX_PDU) {
			on_pdu(rx, c, r);
		} else if (ev.type == RX_DATA) {
			on_data(rx, &ev, r);
		} else if (ev.type == RX_END) {
			note_number(r, 0xbeef0002 + ev.digest_ok);
		} else if (ev.type == RX_ERROR) {
			note_number(r, 0xbeef0004);
			note_number(r, ev.fes);
			note_number(r, ev.fei);
			note(r, ev.what, strlen(ev.what));
		}
	} while (ev.type != RX_NONE && ev.type != RX_ERROR);
	assert_true(ev.type == RX_ERROR || !len);
	free(piece);
	return ev.type != RX_ERROR;
}

/* Whether it came through without an error. */
static bool feed_split(const struct config *c, const struct stream *s, size_t most, struct record *r)
{
	struct nvme_tcp_rx rx;
	size_t pos, n;

	nvme_tcp_rx_init(&rx, c->side, c->pda, MAX_DATA);
	r->len = 0;
	for (pos = 0; pos < s->len; pos += n) {
		n = most ? min_size(s->len - pos, 1 + (size_t)rand() % most) : s->len; /* 0: in one piece */
		if (!feed(&rx, c, s->buf + pos, n, r))
			return false;
	}
	return true;
}

static void put_random(const struct config *c, struct stream *s, const uint8_t *payload)
{
	size_t len = rand() % 3 ? (size_t)rand() % 200 : (size_t)rand() % MAX_DATA;
	uint16_t cid = (uint16_t)rand();

	if (c->side == NVME_TCP_CTRL) {
		if (rand() & 1)
			put_cmd(s, cid, payload, rand() & 1 ? len : 0);
		else
			put_data(s, NVME_TCP_H2C_DATA, cid, rand() & 1 ? NVME_TCP_F_LAST : 0, payload, len);
		return;
	}
	switch (rand() % 3) {
	case 0:
		put_rsp(s, cid);
		break;
	case 1:
		put_r2t(s, cid);
		break;
	default:
		put_data(s, NVME_TCP_C2H_DATA, cid, rand() & 1 ? NVME_TCP_F_LAST | NVME_TCP_F_SUCCESS : 0, payload, len);
	}
}

static void make_stream(struct config *c, struct stream *s)
{
	static uint8_t payload[MAX_DATA];
	int nr = rand() % 12;
	size_t i;

	for (i = 0; i < MAX_DATA; i++)
		payload[i] = (uint8_t)rand();
	*c = (struct config){ rand() & 1, rand() & 1, rand() & 1, rand() & 1 ? 0 : (uint8_t)(rand() % 32) };
	s->len = 0;
	s->hdgst = c->hdgst;
	s->ddgst = c->ddgst;
	s->pda = c->pda;
	put_ic(s, c->side == NVME_TCP_HOST ? NVME_TCP_ICRESP : NVME_TCP_ICREQ);
	while (nr--)
		put_random(c, s, payload);
	if (rand() % 4 == 0)
		put_term(s, c->side == NVME_TCP_HOST ? NVME_TCP_C2H_TERM : NVME_TCP_H2C_TERM, payload, (size_t)rand() % 129);
}

static void spoil(struct stream *s)
{
	int nr = 1 + rand() % 4;

	while (nr--)
		s->buf[(size_t)rand() % s->len] ^= (uint8_t)(1 << rand() % 8);
	if (rand() & 1)
		s->len = (size_t)rand() % s->len; /* and it ends in the middle */
}

static void expect_the_same_whatever_the_split(bool spoilt)
{
	struct record whole = { 0 }, split = { 0 };
	struct stream s = { 0 };
	struct config c;
	int round, i;

	for (round = 0; round < ROUNDS; round++) {
		make_stream(&c, &s);
		if (spoilt)
			spoil(&s);
		assert_true(feed_split(&c, &s, 0, &whole) || spoilt);
		for (i = 0; i < 4; i++) {
			feed_split(&c, &s, (size_t[]){ 1, 30, 500, 5000 }[i], &split);
			assert_int_equal(split.len, whole.len);
			assert_memory_equal(split.buf, whole.buf, whole.len);
		}
	}
	free(whole.buf);
	free(split.buf);
	free(s.buf);
}

static void any_split_of_a_right_stream_gives_the_same_events(void **state)
{
	expect_the_same_whatever_the_split(false);
}

static void any_split_of_a_spoilt_stream_gives_the_same_events_and_error(void **state)
{
	expect_the_same_whatever_the_split(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_split_of_a_right_stream_gives_the_same_events),
		cmocka_unit_test(any_split_of_a_spoilt_stream_gives_the_same_events_and_error),
	};

	return cmocka_run_group_tests_name("tcp_rx_split", tests, NULL, NULL);
}
