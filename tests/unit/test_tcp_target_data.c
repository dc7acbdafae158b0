/* SPDX-License-Identifier: BSD-3-Clause */
/* The TCP target half: commands and the data that hosts send. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/util.h"
#include "fake_target.h"

#include "transport/tcp/tcp_target.h"

#define TRANSIENT 0x22
#define DNR	  0x4000

static uint8_t *pattern(uint32_t len, uint8_t seed)
{
	uint8_t *p = malloc(len + 1);
	uint32_t i;

	for (i = 0; i < len; i++)
		p[i] = (uint8_t)(i * 5 + (i >> 8) + seed);
	return p;
}

static void expect_written(const uint8_t *data, uint32_t len)
{
	assert_int_equal(ft.written, len);
	assert_memory_equal(ft.data, data, len);
}

static void in_capsule_write(struct raw *r, uint32_t len)
{
	uint8_t *data = pattern(len, (uint8_t)len);
	uint16_t cid = raw_command(r, FT_WRITE, NVME_SGL_OFFSET, len, data, len);

	assert_int_equal(raw_response(r, cid), 0);
	expect_written(data, len);
	free(data);
}

static void in_capsule_data_arrives_at_every_size_and_digest(void **state)
{
	static const uint32_t sizes[] = { 1, 3, 512, 4096, 8192, 16384, 32767, 32768, 65536 + 4, 131072 };
	struct raw r;
	uint8_t dgst;
	size_t i;

	for (dgst = 0; dgst < 4; dgst++) {
		ft.params.cpda = dgst * 5;
		ft.piece = dgst & 1 ? 1000 : 0;
		raw_ready(&r, 0, dgst);
		for (i = 0; i < ARRAY_SIZE(sizes); i++)
			in_capsule_write(&r, sizes[i]);
		raw_close(&r);
	}
}

static void a_stream_cut_at_every_byte_gives_the_same_answers(void **state)
{
	uint8_t *data = pattern(600, 1), out[1024];
	struct nvme_tcp_cmd cmd;
	struct raw r;
	size_t len, i;

	ft.piece = 100;
	ft.params.cpda = 7;
	raw_ready(&r, 3, 3);
	cmd = raw_cmd(&r, FT_WRITE, NVME_SGL_OFFSET, 600);
	len = raw_build_pdu(&r, out, &cmd, data, 600, false);
	for (i = 0; i < len; i++) {
		raw_send(&r, out + i, 1);
		loop_turn(ft.loop, NSEC_PER_MSEC);
	}
	assert_int_equal(raw_response(&r, le16toh(cmd.sqe.cid)), 0);
	expect_written(data, 600);
	raw_expect_alive(&r);
	raw_close(&r);
	free(data);
}

/* Answers R2Ts for len bytes with H2CData PDUs of at most chunk bytes. */
static void h2c_answer(struct raw *r, uint16_t cid, const uint8_t *data, uint32_t len, uint32_t chunk)
{
	uint32_t done = 0;

	while (done < len) {
		struct nvme_tcp_r2t r2t = raw_r2t(r, cid);
		uint32_t off = le32toh(r2t.r2to), end = off + le32toh(r2t.r2tl);

		assert_int_equal(off, done);
		assert_true(end <= len);
		for (; off < end; off += min_u32(chunk, end - off)) {
			uint32_t n = min_u32(chunk, end - off);
			struct nvme_tcp_data h2c = raw_h2c(cid, le16toh(r2t.ttag), off, n, off + n == end);

			raw_send_pdu(r, &h2c, data + off, n, false);
		}
		done = end;
	}
}

static void r2t_write(struct raw *r, uint32_t len, uint32_t chunk)
{
	uint8_t *data = pattern(len, (uint8_t)(len >> 3));
	uint16_t cid = raw_command(r, FT_WRITE, NVME_SGL_TRANSPORT, len, NULL, 0);

	h2c_answer(r, cid, data, len, chunk);
	assert_int_equal(raw_response(r, cid), 0);
	expect_written(data, len);
	free(data);
}

static void r2t_data_arrives_at_every_size_and_digest(void **state)
{
	static const uint32_t sizes[] = { 1, 512, 4096, 32768, 131072, 1 << 20 };
	struct raw r;
	uint8_t dgst;
	size_t i;

	for (dgst = 0; dgst < 4; dgst++) {
		ft.params.cpda = dgst * 10;
		ft.piece = dgst & 1 ? 4096 : dgst & 2 ? 333 : 0;
		raw_ready(&r, 0, dgst);
		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			r2t_write(&r, sizes[i], 131072);
			r2t_write(&r, sizes[i], 5000);
		}
		raw_close(&r);
	}
}

/* Whatever the pieces are in which it comes, and wherever PDUs are cut. */
static void data_in_place_arrives_at_every_size_and_cut(void **state)
{
	static const uint32_t sizes[] = { 512, 4096, 32768, 33280, 131072, 1 << 20 }, chunks[] = { 131072, 40004, 5000, 512, 100 };
	struct raw r;
	size_t i, j;

	ft.block = 512;
	for (ft.piece = 0; ft.piece <= 8192; ft.piece += 4096) {
		raw_ready(&r, 0, 1);
		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			if (sizes[i] <= ft.params.inline_len)
				in_capsule_write(&r, sizes[i]);
			for (j = 0; j < ARRAY_SIZE(chunks); j++)
				if (sizes[i] / chunks[j] < 1000)
					r2t_write(&r, sizes[i], chunks[j]);
		}
		raw_close(&r);
	}
}

/* New up to byte end, which ends a block; old behind it. */
static void expect_new_until(const uint8_t *data, const uint8_t *old, uint32_t end, uint32_t len)
{
	assert_memory_equal(ft.data, data, end);
	assert_memory_equal(ft.data + end, old + end, len - end);
}

/* Sends the first part bytes of the len that an R2T asks for, lets the target have them, and ends the connection. */
static void cut_off_at(uint32_t part, uint32_t len, size_t step)
{
	uint8_t *data = pattern(len, (uint8_t)part), *old = pattern(len, 77), *out = malloc(len + 128);
	struct nvme_tcp_data h2c;
	struct nvme_tcp_r2t r2t;
	struct raw r;
	size_t off, n;
	uint16_t cid;
	int i;

	memcpy(ft.data, old, len);
	raw_ready(&r, 0, 0);
	cid = raw_command(&r, FT_WRITE, NVME_SGL_TRANSPORT, len, NULL, 0);
	r2t = raw_r2t(&r, cid);
	h2c = raw_h2c(cid, le16toh(r2t.ttag), 0, len, true);
	raw_build_pdu(&r, out, &h2c, data, len, false);
	for (off = 0; off < part + sizeof(h2c); off += n) {
		n = min_size(step, part + sizeof(h2c) - off);
		raw_send(&r, out + off, n);
		for (i = 0; i < 4; i++)
			ft_turn();
		if (off + n > sizeof(h2c))
			expect_new_until(data, old, (uint32_t)(off + n - sizeof(h2c)) & ~511u, len);
	}
	raw_close(&r);
	assert_null(ft.q);
	expect_new_until(data, old, part & ~511u, len);
	free(data);
	free(old);
	free(out);
}

static void a_block_in_place_is_all_old_or_all_new(void **state)
{
	static const uint32_t parts[] = { 1, 511, 512, 513, 1000, 4095, 33000, 65535 };
	static const size_t steps[] = { 1 << 20, 5000, 700, 512, 300 };
	size_t i, j;

	ft.block = 512;
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		for (j = 0; j < ARRAY_SIZE(steps); j++) {
			cut_off_at(parts[i], 16384 + (parts[i] & ~511u), steps[j]); /* from 32 KiB on by another way */
			ft.piece = 1024 - ft.piece;
		}
}

static void all_data_of_a_command_is_asked_for_by_one_r2t(void **state)
{
	uint8_t *data = pattern(1 << 20, 0);
	struct nvme_tcp_r2t r2t;
	struct raw r;
	uint16_t cid;

	raw_ready(&r, 0, 0);
	cid = raw_command(&r, FT_WRITE, NVME_SGL_TRANSPORT, 1 << 20, NULL, 0);
	r2t = raw_r2t(&r, cid);
	assert_int_equal(le32toh(r2t.r2to), 0);
	assert_int_equal(le32toh(r2t.r2tl), 1 << 20);
	assert_int_equal(r2t.hdr.plen, 24);
	raw_close(&r);
	free(data);
}

/* C096 */
static void data_may_be_asked_for_in_several_r2ts_one_at_a_time(void **state)
{
	struct raw r;

	raw_ready(&r, 0, 3);
	to_tt_conn(ft.q)->r2t_max = 10000;
	r2t_write(&r, 65536, 4096);
	r2t_write(&r, 10001, 4096);
	raw_close(&r);
}

/* C106, C105 */
static void h2c_data_nobody_asked_for_ends_the_connection(void **state)
{
	enum { UNKNOWN_TTAG, FFFF, READ, NOT_YET, CID, BEYOND, SKIP, REPEAT, EARLY_LAST, NO_LAST, TOO_BIG, AFTER, NR };
	static const struct {
		uint16_t fes;
		uint32_t fei;
	} want[NR] = {
		[UNKNOWN_TTAG] = { NVME_TCP_FES_INVALID_HDR, 10 },
		[FFFF] = { NVME_TCP_FES_INVALID_HDR, 10 },
		[READ] = { NVME_TCP_FES_SEQUENCE, 0 },
		[NOT_YET] = { NVME_TCP_FES_SEQUENCE, 0 },
		[CID] = { NVME_TCP_FES_INVALID_HDR, 8 },
		[BEYOND] = { NVME_TCP_FES_RANGE, 0 },
		[SKIP] = { NVME_TCP_FES_RANGE, 0 },
		[REPEAT] = { NVME_TCP_FES_RANGE, 0 },
		[EARLY_LAST] = { NVME_TCP_FES_INVALID_HDR, 1 },
		[NO_LAST] = { NVME_TCP_FES_INVALID_HDR, 1 },
		[TOO_BIG] = { NVME_TCP_FES_LIMIT, 0 },
		[AFTER] = { NVME_TCP_FES_SEQUENCE, 0 },
	};
	uint8_t *data = pattern(65536, 0);
	int row;

	ft.params.maxh2cdata = 16384;
	for (row = 0; row < NR; row++) {
		struct nvme_tcp_data h2c;
		struct nvme_tcp_r2t r2t;
		uint32_t len = 8192;
		uint16_t cid, ttag;
		struct raw r;

		raw_ready(&r, 0, 0);
		ft.hold = row == READ;
		cid = raw_command(&r, row == READ ? FT_READ : FT_WRITE, NVME_SGL_TRANSPORT, row == TOO_BIG ? 65536 : 8192, NULL, 0);
		if (row == READ) {
			while (!ft.nr_held)
				ft_turn();
			ttag = 0;
		} else {
			r2t = raw_r2t(&r, cid);
			ttag = le16toh(r2t.ttag);
		}
		h2c = raw_h2c(cid, ttag, 0, len, true);
		switch (row) {
		case UNKNOWN_TTAG:
			h2c.ttag = htole16(ttag + 1);
			break;
		case FFFF:
			h2c.ttag = 0xffff;
			break;
		case NOT_YET: /* as if the host had guessed the TTAG of the next command */
			raw_send_pdu(&r, &h2c, data, len, false);
			assert_int_equal(raw_response(&r, cid), 0);
			break;
		case CID:
			h2c.cccid ^= 1;
			break;
		case BEYOND:
			len = 8196;
			h2c.datal = htole32(len);
			break;
		case SKIP:
			len = 4096;
			h2c = raw_h2c(cid, ttag, 4096, len, true);
			break;
		case REPEAT:
			len = 4096;
			h2c = raw_h2c(cid, ttag, 0, len, false);
			raw_send_pdu(&r, &h2c, data, len, false);
			break;
		case EARLY_LAST:
			len = 4096;
			h2c = raw_h2c(cid, ttag, 0, len, true);
			break;
		case NO_LAST:
			h2c = raw_h2c(cid, ttag, 0, len, false);
			break;
		case TOO_BIG:
			len = 16388;
			h2c = raw_h2c(cid, ttag, 0, len, false);
			break;
		case AFTER:
			raw_send_pdu(&r, &h2c, data, len, false);
			assert_int_equal(raw_response(&r, cid), 0);
			break;
		}
		ft.nr_executed = 0;
		raw_send_pdu(&r, &h2c, data, len, false);
		raw_expect_term(&r, want[row].fes, want[row].fei);
		assert_int_equal(ft.nr_executed, 0);
		ft_release();
		ft.hold = false;
		raw_close(&r);
		assert_null(ft.q);
	}
	free(data);
}

/* C100 */
static void sgls_that_contradict_the_capsule_fail_alone(void **state)
{
	static const struct {
		uint8_t type;
		uint32_t len, data_len, offset;
		uint16_t status;
	} rows[] = {
		{ NVME_SGL_OFFSET, 512, 4096, 0, 0x0f },
		{ NVME_SGL_OFFSET, 4096, 512, 0, 0x0f },
		{ NVME_SGL_OFFSET, 4096, 0, 0, 0x0f },
		{ NVME_SGL_OFFSET, 4096, 4096, 512, 0x16 },
		{ NVME_SGL_TRANSPORT, 4096, 4096, 0, 0x0f },
		{ 0x0f, 4096, 4096, 0, 0x11 },
		{ 0x0f, 4096, 0, 0, 0x11 },
		{ NVME_SGL_KEYED, 4096, 0, 0, 0x11 },
		{ 0x00, 4096, 0, 0, 0x11 },
		{ 0x00, 0, 4096, 0, 0x0f },
	};
	uint8_t *data = pattern(4096, 0);
	struct raw r;
	size_t i;

	raw_ready(&r, 0, 3);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct nvme_tcp_cmd cmd = raw_cmd(&r, FT_WRITE, rows[i].type, rows[i].len);

		cmd.sqe.sgl.addr = htole64(rows[i].offset);
		raw_send_pdu(&r, &cmd, data, rows[i].data_len, false);
		assert_int_equal(raw_response(&r, le16toh(cmd.sqe.cid)), rows[i].status | DNR);
		raw_expect_alive(&r);
	}
	assert_int_equal(ft.nr_rejected, ARRAY_SIZE(rows));
	raw_close(&r);
	free(data);
}

static void in_capsule_data_of_io_commands_is_limited_by_ioccsz(void **state)
{
	uint8_t *data = pattern(8192, 0);
	struct raw r;
	uint16_t cid;

	ft.params.inline_len = 4096;
	raw_ready(&r, 0, 0);
	cid = raw_command(&r, FT_WRITE, NVME_SGL_OFFSET, 8192, data, 8192); /* not connected yet: as on an admin queue */
	assert_int_equal(raw_response(&r, cid), 0);
	ft.q->connected = true;
	ft.q->qid = 1;
	cid = raw_command(&r, FT_WRITE, NVME_SGL_OFFSET, 8192, data, 8192);
	assert_int_equal(raw_response(&r, cid), 0x0f | DNR);
	cid = raw_command(&r, FT_WRITE, NVME_SGL_OFFSET, 4096, data, 4096);
	assert_int_equal(raw_response(&r, cid), 0);
	raw_close(&r);
	free(data);
}

static void a_command_without_data_may_leave_the_sgl_blank(void **state)
{
	struct raw r;
	uint16_t cid;

	raw_ready(&r, 0, 0);
	cid = raw_command(&r, FT_FLUSH, 0, 0, NULL, 0);
	assert_int_equal(raw_response(&r, cid), 0);
	raw_close(&r);
}

/* C115 */
static void data_of_a_command_refused_early_is_dropped(void **state)
{
	uint8_t *data = pattern(65536, 0);
	struct raw r;
	uint16_t cid;
	uint32_t len;

	raw_ready(&r, 0, 2);
	for (len = 1; len <= 65536; len *= 16) {
		cid = raw_command(&r, FT_BAD, NVME_SGL_OFFSET, len, data, len);
		assert_int_equal(raw_response(&r, cid), 0x02 | DNR);
		raw_expect_alive(&r);
	}
	raw_close(&r);
	free(data);
}

/* C123 */
static void a_data_digest_error_fails_that_command_alone(void **state)
{
	uint8_t *data = pattern(8192, 9);
	struct nvme_tcp_data h2c;
	struct nvme_tcp_cmd cmd;
	struct nvme_tcp_r2t r2t;
	struct raw r;
	uint16_t cid;

	raw_ready(&r, 0, 3);
	cmd = raw_cmd(&r, FT_WRITE, NVME_SGL_OFFSET, 4096);
	raw_send_pdu(&r, &cmd, data, 4096, true);
	assert_int_equal(raw_response(&r, le16toh(cmd.sqe.cid)), TRANSIENT);

	cid = raw_command(&r, FT_WRITE, NVME_SGL_TRANSPORT, 8192, NULL, 0);
	r2t = raw_r2t(&r, cid);
	h2c = raw_h2c(cid, le16toh(r2t.ttag), 0, 4096, false);
	raw_send_pdu(&r, &h2c, data, 4096, true); /* the host can't know, and sends the rest */
	h2c = raw_h2c(cid, le16toh(r2t.ttag), 4096, 4096, true);
	raw_send_pdu(&r, &h2c, data + 4096, 4096, false);
	assert_int_equal(raw_response(&r, cid), TRANSIENT);

	to_tt_conn(ft.q)->r2t_max = 4096;
	cid = raw_command(&r, FT_WRITE, NVME_SGL_TRANSPORT, 8192, NULL, 0);
	r2t = raw_r2t(&r, cid);
	h2c = raw_h2c(cid, le16toh(r2t.ttag), 0, 4096, true);
	raw_send_pdu(&r, &h2c, data, 4096, true);
	assert_int_equal(raw_response(&r, cid), TRANSIENT); /* no second R2T */

	assert_int_equal(ft.nr_executed, 0);
	assert_int_equal(ft.written, 0);
	in_capsule_write(&r, 4096);
	raw_close(&r);
	free(data);
}

static void a_header_digest_error_ends_the_connection(void **state)
{
	struct nvme_tcp_cmd cmd;
	uint8_t out[128];
	struct raw r;
	uint32_t crc;
	size_t len;

	raw_ready(&r, 0, 1);
	cmd = raw_cmd(&r, FT_READ, NVME_SGL_TRANSPORT, 4096);
	len = raw_build_pdu(&r, out, &cmd, NULL, 0, false);
	out[72] ^= 1;
	memcpy(&crc, out + 72, 4);
	raw_send(&r, out, len);
	raw_expect_term(&r, NVME_TCP_FES_HDGST, le32toh(crc));
	assert_int_equal(ft.nr_begun, 0);
	raw_close(&r);
}

/* C039 */
static void more_commands_than_the_queue_holds_end_the_association(void **state)
{
	struct raw r;
	int i;

	ft.hold = true;
	raw_ready(&r, 0, 0);
	assert_int_equal(ft.q->ops->queue_resize(ft.q, 3), 0);
	for (i = 0; i < 5; i++)
		raw_command(&r, FT_FLUSH, NVME_SGL_TRANSPORT, 0, NULL, 0);
	while (!ft.nr_fatal)
		ft_turn();
	assert_int_equal(ft.nr_begun, 4);
	raw_expect_term(&r, NVME_TCP_FES_SEQUENCE, 0);
	ft.hold = false;
	raw_close(&r);
}

static void a_resized_queue_holds_all_its_commands(void **state)
{
	static const uint16_t sizes[] = { 31, 39, 40, 1023 };
	uint16_t first = 0, cid;
	struct raw r;
	size_t i;
	int n;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		raw_ready(&r, 0, 0);
		cid = raw_command(&r, FT_READ, NVME_SGL_TRANSPORT, 16, NULL, 0);
		raw_expect_read(&r, cid, 16);
		assert_int_equal(ft.q->ops->queue_resize(ft.q, sizes[i]), 0);
		/* In one burst: the answers leave together when the last has come. */
		for (n = 0; n <= sizes[i]; n++) {
			cid = raw_command(&r, FT_READ, NVME_SGL_TRANSPORT, 16, NULL, 0);
			if (!n)
				first = cid;
		}
		for (n = 0; n <= sizes[i]; n++)
			raw_expect_read(&r, (uint16_t)(first + n), 16);
		raw_close(&r);
	}
}

static void random_damage_is_survived(void **state)
{
	uint8_t *data = pattern(4096, 0), out[8192], *copy = malloc(sizeof(out));
	unsigned int seed = 1, round;

	for (round = 0; round < 100; round++) {
		size_t len = 0, off, n;
		struct raw_pdu in;
		struct nvme_tcp_cmd cmd;
		struct nvme_tcp_data h2c;
		struct raw r;
		int i, flips = 1 + rand_r(&seed) % 4;

		raw_ready(&r, rand_r(&seed) % 8, 0);
		cmd = raw_cmd(&r, FT_WRITE, NVME_SGL_OFFSET, 512);
		len += raw_build_pdu(&r, out + len, &cmd, data, 512, false);
		cmd = raw_cmd(&r, FT_READ, NVME_SGL_TRANSPORT, 4096);
		len += raw_build_pdu(&r, out + len, &cmd, NULL, 0, false);
		cmd = raw_cmd(&r, FT_WRITE, NVME_SGL_TRANSPORT, 1024);
		len += raw_build_pdu(&r, out + len, &cmd, NULL, 0, false);
		h2c = raw_h2c(le16toh(cmd.sqe.cid), 0, 0, 1024, true);
		len += raw_build_pdu(&r, out + len, &h2c, data, 1024, false);
		memcpy(copy, out, len);
		for (i = 0; i < flips; i++)
			copy[(size_t)rand_r(&seed) % (rand_r(&seed) % 2 ? len : 100)] ^= (uint8_t)(1 << rand_r(&seed) % 8);
		for (off = 0; off < len; off += n) {
			n = min_size(len - off, 1 + (size_t)rand_r(&seed) % 700);
			raw_send(&r, copy + off, n);
			if (rand_r(&seed) % 2)
				ft_turn();
		}
		shutdown(r.fd, SHUT_WR);
		while (raw_recv(&r, &in))
			free(in.data);
		raw_close(&r);
		assert_null(ft.q);
		assert_int_equal(ft.nr_begun, ft.nr_ended);
	}
	free(copy);
	free(data);
}

#define T(f) cmocka_unit_test_setup_teardown(f, ft_setup, ft_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(in_capsule_data_arrives_at_every_size_and_digest),
		T(a_stream_cut_at_every_byte_gives_the_same_answers),
		T(r2t_data_arrives_at_every_size_and_digest),
		T(data_in_place_arrives_at_every_size_and_cut),
		T(a_block_in_place_is_all_old_or_all_new),
		T(all_data_of_a_command_is_asked_for_by_one_r2t),
		T(data_may_be_asked_for_in_several_r2ts_one_at_a_time),
		T(h2c_data_nobody_asked_for_ends_the_connection),
		T(sgls_that_contradict_the_capsule_fail_alone),
		T(in_capsule_data_of_io_commands_is_limited_by_ioccsz),
		T(a_command_without_data_may_leave_the_sgl_blank),
		T(data_of_a_command_refused_early_is_dropped),
		T(a_data_digest_error_fails_that_command_alone),
		T(a_header_digest_error_ends_the_connection),
		T(more_commands_than_the_queue_holds_end_the_association),
		T(a_resized_queue_holds_all_its_commands),
		T(random_damage_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
