/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's data path against a target that splits, reorders, repeats, lies and corrupts. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/util.h"
#include "peer/target_peer.h"

/* One I/O of the application under test. */
struct io {
	int ended; /* times its callback ran */
	int status;
};

static void io_cb(void *arg, const struct nvof_cpl *cpl)
{
	struct io *io = arg;

	io->ended++;
	io->status = cpl->status;
}

static bool io_ended(void *arg)
{
	return ((struct io *)arg)->ended;
}

struct scene {
	struct peer *p;
	struct nvof_ns *ns;
	struct nvof_hctx *hctx;
	struct peer_conn *c; /* of the I/O queue */
	uint8_t *buf, *pattern;
	struct io io;
};

struct how {
	bool hdgst, ddgst, sqflow;
	uint32_t ioccsz, maxh2cdata;
	uint8_t cpda, mdts;
	int ctrl_loss_tmo_ms;
};

#define BUF_LEN (1u << 20)

static void ns_opened(void *arg, int status, struct nvof_ns *ns)
{
	assert_int_equal(status, 0);
	((struct scene *)arg)->ns = ns;
}

static bool has_ns(void *arg)
{
	return ((struct scene *)arg)->ns;
}

static struct scene *scene_new(const struct how *how)
{
	struct scene *s = calloc(1, sizeof(*s));
	struct nvof_connect_opts opts;
	uint32_t i;

	s->p = peer_new();
	peer_connect_opts(s->p, &opts);
	opts.hdr_digest = how->hdgst;
	opts.data_digest = how->ddgst;
	opts.disable_sqflow = !how->sqflow;
	opts.ctrl_loss_tmo_ms = how->ctrl_loss_tmo_ms;
	opts.reconnect_delay_ms = 1;
	if (how->ioccsz)
		s->p->script.ioccsz = how->ioccsz;
	if (how->maxh2cdata)
		s->p->script.maxh2cdata = how->maxh2cdata;
	s->p->script.cpda = how->cpda;
	s->p->script.mdts = how->mdts;
	peer_live(s->p, &opts);
	assert_int_equal(nvof_ns_open(s->p->ctrl, 1, ns_opened, s), 0);
	assert_true(peer_run_until(s->p, has_ns, s, 20000));
	s->hctx = nvof_ctrl_hctx(s->p->ctrl, 0);
	s->c = peer_conn_of(s->p, 1);
	s->buf = malloc(BUF_LEN);
	s->pattern = malloc(BUF_LEN);
	for (i = 0; i < BUF_LEN; i++)
		s->pattern[i] = (uint8_t)(i * 7 + (i >> 8) * 13 + (i >> 16));
	return s;
}

static void scene_free(struct scene *s)
{
	int ended = s->io.ended;

	nvof_ns_close(s->ns);
	peer_free(s->p);
	/* Freeing ends what was in flight, once, and never what had ended. */
	assert_true(s->io.ended == (ended ? ended : s->io.ended));
	free(s->buf);
	free(s->pattern);
	free(s);
}

static void reads(struct scene *s, uint32_t len)
{
	memset(s->buf, 0xee, BUF_LEN);
	s->io = (struct io){ 0 };
	assert_int_equal(nvof_read(s->hctx, s->ns, 0, len / 512, s->buf, 0, io_cb, &s->io), 0);
	assert_int_equal(s->io.ended, 0); /* never from inside the call */
}

static void writes(struct scene *s, uint32_t len)
{
	s->io = (struct io){ 0 };
	assert_int_equal(nvof_write(s->hctx, s->ns, 0, len / 512, s->pattern, 0, io_cb, &s->io), 0);
}

static void expect_ended(struct scene *s, int status)
{
	if (!peer_run_until(s->p, io_ended, &s->io, 20000))
		fail_msg("the I/O never ended");
	peer_run_ms(s->p, 5);
	assert_int_equal(s->io.ended, 1);
	assert_int_equal(s->io.status, status);
}

static bool host_terminated(void *arg)
{
	return ((struct scene *)arg)->c->term_fes || ((struct scene *)arg)->c->closed_by_host;
}

/* The host must refuse: the I/O ends once with an error, the peer learns why, the ctrl is lost with a sentence. */
static void expect_refused(struct scene *s, uint16_t fes)
{
	assert_true(peer_run_until(s->p, host_terminated, s, 20000));
	expect_ended(s, s->io.status);
	assert_true(s->io.status < 0);
	print_message("# %s\n", nvof_ctrl_errmsg(s->p->ctrl));
	assert_int_equal(s->c->term_fes, fes);
	assert_true(strlen(nvof_ctrl_errmsg(s->p->ctrl)) > 20);
	assert_int_equal(nvof_ctrl_state(s->p->ctrl), NVOF_CTRL_DEAD);
}

static const struct how plain = { 0 }, digests = { .hdgst = true, .ddgst = true }, no_inline = { .ioccsz = 4 }, sqflow = { .sqflow = true };

/* ---- reads ---- */

/* C097, C098: data in any legal number of PDUs. */
static void a_read_in_pieces_of_any_size_is_whole(void **state)
{
	static const uint32_t pieces[] = { 8192, 4096, 512, 4, 40000, 1, 3, 100000, 65536 };
	const struct how *hows[] = { &plain, &digests, &sqflow };
	size_t h, i;

	for (h = 0; h < ARRAY_SIZE(hows); h++) {
		struct scene *s = scene_new(hows[h]);
		uint32_t off = 0, total = 256 * 1024;
		struct peer_pdu cmd;

		reads(s, total);
		cmd = peer_gets(s->p, nvme_cmd_read);
		for (i = 0; off < total; i++) {
			uint32_t n = min_u32(pieces[i % ARRAY_SIZE(pieces)], total - off);
			bool last = off + n == total;

			peer_sends_c2h(s->c, cmd.pdu.cmd.sqe.cid, off, s->pattern + off, n,
				       last ? NVME_TCP_F_LAST | (hows[h]->sqflow ? 0 : NVME_TCP_F_SUCCESS) : 0);
			off += n;
		}
		if (hows[h]->sqflow)
			peer_sends_cqe(s->c, cmd.pdu.cmd.sqe.cid, 0, 0);
		expect_ended(s, 0);
		assert_memory_equal(s->buf, s->pattern, total);
		scene_free(s);
	}
}

static void answer_read(struct scene *s, uint32_t off, uint32_t len, uint8_t flags)
{
	struct peer_pdu cmd = peer_gets(s->p, nvme_cmd_read);

	peer_sends_c2h(s->c, cmd.pdu.cmd.sqe.cid, off, s->pattern, len, flags);
}

static void data_out_of_order_or_range_is_refused(void **state)
{
	/* C097: skipped, repeated, past the end */
	static const struct {
		uint32_t off1, len1, off2, len2;
	} bad[] = { { 0, 4096, 8192, 4096 }, { 0, 4096, 0, 4096 }, { 4096, 4096, 0, 0 }, { 0, 16384 + 4, 0, 0 }, { 0, 16384, 16384, 512 } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct scene *s = scene_new(&plain);
		struct peer_pdu cmd;

		reads(s, 16384);
		cmd = peer_gets(s->p, nvme_cmd_read);
		peer_sends_c2h(s->c, cmd.pdu.cmd.sqe.cid, bad[i].off1, s->pattern, bad[i].len1, 0);
		if (bad[i].len2)
			peer_sends_c2h(s->c, cmd.pdu.cmd.sqe.cid, bad[i].off2, s->pattern, bad[i].len2, 0);
		expect_refused(s, NVME_TCP_FES_RANGE);
		scene_free(s);
	}
}

/* C098 */
static void success_without_last_or_unexpected_is_refused(void **state)
{
	struct scene *s = scene_new(&plain);

	reads(s, 4096);
	answer_read(s, 0, 4096, NVME_TCP_F_SUCCESS);
	expect_refused(s, NVME_TCP_FES_INVALID_HDR);
	scene_free(s);

	s = scene_new(&sqflow);
	reads(s, 4096);
	answer_read(s, 0, 4096, NVME_TCP_F_SUCCESS | NVME_TCP_F_LAST);
	expect_refused(s, NVME_TCP_FES_INVALID_HDR);
	scene_free(s);
}

/* C098 */
static void a_response_after_success_is_no_second_completion(void **state)
{
	struct scene *s = scene_new(&plain);
	struct peer_pdu cmd;

	reads(s, 4096);
	cmd = peer_gets(s->p, nvme_cmd_read);
	peer_sends_c2h(s->c, cmd.pdu.cmd.sqe.cid, 0, s->pattern, 4096, NVME_TCP_F_SUCCESS | NVME_TCP_F_LAST);
	peer_sends_cqe(s->c, cmd.pdu.cmd.sqe.cid, 0, 0);
	assert_true(peer_run_until(s->p, host_terminated, s, 20000));
	peer_run_ms(s->p, 10);
	assert_int_equal(s->io.ended, 1);
	assert_int_equal(s->io.status, 0);
	assert_int_equal(nvof_ctrl_state(s->p->ctrl), NVOF_CTRL_DEAD);
	scene_free(s);
}

/* C047: what a short answer left out is never taken for data */
static void success_with_too_little_data_is_refused(void **state)
{
	struct scene *s = scene_new(&plain);
	struct peer_pdu cmd;

	reads(s, 8192);
	cmd = peer_gets(s->p, nvme_cmd_read);
	peer_sends_c2h(s->c, cmd.pdu.cmd.sqe.cid, 0, s->pattern, 4096, NVME_TCP_F_LAST);
	peer_sends_cqe(s->c, cmd.pdu.cmd.sqe.cid, 0, 0);
	expect_refused(s, NVME_TCP_FES_SEQUENCE);
	scene_free(s);
}

static void an_error_status_is_passed_on_as_it_came(void **state)
{
	/* C151 */
	static const uint16_t statuses[] = { 0x4002, 0x6002, 0x2013, 0x4181, 0x0281 };
	struct scene *s = scene_new(&plain);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct peer_pdu cmd;

		reads(s, 4096);
		cmd = peer_gets(s->p, nvme_cmd_read);
		peer_sends_cqe(s->c, cmd.pdu.cmd.sqe.cid, statuses[i], 0);
		expect_ended(s, statuses[i]);
	}
	assert_int_equal(nvof_ctrl_state(s->p->ctrl), NVOF_CTRL_LIVE);
	scene_free(s);
}

/* C108 */
static void answers_for_ids_that_are_not_outstanding_reset_the_connection(void **state)
{
	static const uint16_t cids[] = { 0xffff, 77, 5 };
	struct scene *s;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cids); i++) {
		struct peer_pdu cmd;

		s = scene_new(&plain);
		reads(s, 4096);
		cmd = peer_gets(s->p, nvme_cmd_read);
		peer_sends_cqe(s->c, htole16(le16toh(cmd.pdu.cmd.sqe.cid) == cids[i] ? 6 : cids[i]), 0, 0);
		expect_refused(s, NVME_TCP_FES_INVALID_HDR);
		scene_free(s);
	}

	/* the same id twice */
	s = scene_new(&plain);
	reads(s, 4096);
	{
		struct peer_pdu cmd = peer_gets(s->p, nvme_cmd_read);

		peer_sends_c2h(s->c, cmd.pdu.cmd.sqe.cid, 0, s->pattern, 4096, NVME_TCP_F_LAST);
		peer_sends_cqe(s->c, cmd.pdu.cmd.sqe.cid, 0, 0);
		peer_sends_cqe(s->c, cmd.pdu.cmd.sqe.cid, 0, 0);
	}
	assert_true(peer_run_until(s->p, host_terminated, s, 20000));
	peer_run_ms(s->p, 10);
	assert_int_equal(s->io.ended, 1);
	assert_int_equal(s->io.status, 0);
	assert_int_equal(nvof_ctrl_state(s->p->ctrl), NVOF_CTRL_DEAD);
	scene_free(s);

	/* data for a write */
	s = scene_new(&plain);
	writes(s, 4096);
	{
		struct peer_pdu cmd = peer_gets(s->p, nvme_cmd_write);

		peer_sends_c2h(s->c, cmd.pdu.cmd.sqe.cid, 0, s->pattern, 4096, NVME_TCP_F_LAST);
		peer_pdu_clear(&cmd);
	}
	expect_refused(s, NVME_TCP_FES_SEQUENCE);
	scene_free(s);
}

/* C108: where the ctrl may be connected to again, the connection goes and the I/O is tried again. */
static void io_is_tried_again_after_an_answer_to_no_command(void **state)
{
	static const struct how comes_back = { .ctrl_loss_tmo_ms = 10000 };
	struct scene *s = scene_new(&comes_back);
	struct peer_pdu cmd, again;

	reads(s, 4096);
	cmd = peer_gets(s->p, nvme_cmd_read);
	peer_sends_c2h(s->c, cmd.pdu.cmd.sqe.cid, 0, s->pattern + 4096, 2048, 0);
	peer_sends_cqe(s->c, htole16(le16toh(cmd.pdu.cmd.sqe.cid) + 1), 0, 0);
	assert_true(peer_run_until(s->p, host_terminated, s, 20000));
	assert_int_equal(s->c->term_fes, NVME_TCP_FES_INVALID_HDR);
	peer_closes(s->c); /* nothing of the old connection can come any more */
	again = peer_gets(s->p, nvme_cmd_read);
	assert_ptr_not_equal(again.c, s->c);
	assert_int_equal(s->io.ended, 0);
	peer_sends_c2h(again.c, again.pdu.cmd.sqe.cid, 0, s->pattern, 4096, NVME_TCP_F_LAST | NVME_TCP_F_SUCCESS);
	expect_ended(s, 0);
	assert_memory_equal(s->buf, s->pattern, 4096);
	assert_int_equal(nvof_ctrl_state(s->p->ctrl), NVOF_CTRL_LIVE);
	assert_non_null(strstr(s->p->warning, "not outstanding"));
	scene_free(s);
}

/* C124 */
static void a_bad_data_digest_fails_only_its_command(void **state)
{
	struct scene *s = scene_new(&digests);
	struct nvof_ctrl_stats stats;
	int i;

	for (i = 0; i < 20; i++) {
		bool bad = i % 3 == 0, success = i % 2;
		struct peer_pdu cmd;
		uint8_t flags = NVME_TCP_F_LAST | (success ? NVME_TCP_F_SUCCESS : 0);

		reads(s, 4096);
		cmd = peer_gets(s->p, nvme_cmd_read);
		if (bad)
			peer_sends_c2h_bad_digest(s->c, cmd.pdu.cmd.sqe.cid, 0, s->pattern, 4096, flags);
		else
			peer_sends_c2h(s->c, cmd.pdu.cmd.sqe.cid, 0, s->pattern, 4096, flags);
		if (!success)
			peer_sends_cqe(s->c, cmd.pdu.cmd.sqe.cid, 0, 0);
		expect_ended(s, bad ? 0x0022 : 0);
	}
	nvof_ctrl_stats(s->p->ctrl, &stats);
	assert_int_equal(stats.nr_data_digest_errors, 7);
	assert_int_equal(nvof_ctrl_state(s->p->ctrl), NVOF_CTRL_LIVE);
	scene_free(s);
}

static void a_bad_header_digest_ends_the_connection(void **state)
{
	struct scene *s = scene_new(&digests);
	struct peer_pdu cmd;
	uint8_t raw[28] = { 0 };
	struct nvme_tcp_rsp *rsp = (struct nvme_tcp_rsp *)raw;

	reads(s, 4096);
	cmd = peer_gets(s->p, nvme_cmd_read);
	rsp->hdr = (struct nvme_tcp_hdr){ .type = NVME_TCP_RSP, .flags = NVME_TCP_F_HDGST, .hlen = 24, .plen = htole32(28) };
	rsp->cqe.cid = cmd.pdu.cmd.sqe.cid;
	memset(raw + 24, 0xaa, 4);
	peer_sends_raw(s->c, raw, sizeof(raw));
	expect_refused(s, NVME_TCP_FES_HDGST);
	scene_free(s);
}

/* ---- writes ---- */

/* Collects H2CData of one R2T and checks the rules; returns the number of PDUs. */
static int expect_h2c(struct scene *s, uint16_t cid, uint16_t ttag, uint32_t off, uint32_t len, uint32_t max)
{
	uint32_t done = 0;
	int n = 0;

	while (done < len) {
		struct peer_pdu pdu = peer_gets_h2c(s->p);
		struct nvme_tcp_data *d = &pdu.pdu.data;

		assert_int_equal(d->cccid, cid);
		assert_int_equal(le16toh(d->ttag), ttag);
		assert_int_equal(le32toh(d->datao), off + done);
		assert_int_equal(le32toh(d->datal), pdu.data_len);
		assert_true(pdu.data_len <= max && pdu.data_len);
		assert_memory_equal(pdu.data, s->pattern + off + done, pdu.data_len);
		done += pdu.data_len;
		/* LAST on the final one of an R2T, and only there */
		assert_int_equal(!!(d->hdr.flags & NVME_TCP_F_LAST), done == len);
		if (s->p->script.cpda)
			assert_int_equal(d->hdr.pdo % ((s->p->script.cpda + 1) * 4), 0);
		n++;
		peer_pdu_clear(&pdu);
	}
	assert_int_equal(done, len);
	return n;
}

/* C095 */
static void h2cdata_keeps_to_maxh2cdata(void **state)
{
	const struct how how = { .ioccsz = 4, .maxh2cdata = 4096, .hdgst = true, .ddgst = true, .cpda = 31 };
	struct scene *s = scene_new(&how);
	struct peer_pdu cmd;

	writes(s, 128 * 1024);
	cmd = peer_gets(s->p, nvme_cmd_write);
	assert_int_equal(cmd.data_len, 0);
	peer_sends_r2t(s->c, cmd.pdu.cmd.sqe.cid, 0x1234, 0, 128 * 1024);
	assert_int_equal(expect_h2c(s, cmd.pdu.cmd.sqe.cid, 0x1234, 0, 128 * 1024, 4096), 32);
	peer_sends_cqe(s->c, cmd.pdu.cmd.sqe.cid, 0, 0);
	expect_ended(s, 0);
	scene_free(s);
}

struct asked {
	uint32_t off, len;
};

/* A write of 64 KiB of which the target asks for these pieces and has them; then it says how that ended. */
static struct scene *write_in_pieces(const struct asked *pieces, uint16_t status)
{
	struct scene *s = scene_new(&no_inline);
	struct peer_pdu cmd;
	uint16_t cid;

	writes(s, 64 * 1024);
	cmd = peer_gets(s->p, nvme_cmd_write);
	cid = cmd.pdu.cmd.sqe.cid;
	for (; pieces->len; pieces++) {
		peer_sends_r2t(s->c, cid, 1, pieces->off, pieces->len);
		expect_h2c(s, cid, 1, pieces->off, pieces->len, 128 * 1024);
	}
	peer_sends_cqe(s->c, cid, status, 0);
	return s;
}

/* The target has not all of it: a lost write, whatever it says. */
static void success_without_all_data_asked_for_is_refused(void **state)
{
	static const struct {
		struct asked pieces[4];
		const char *had;
	} bad[] = {
		{ { { 0 } }, "but 0 of 65536 bytes of its data were asked for" },
		{ { { 0, 32768 } }, "but 32768 of 65536 " },
		{ { { 32768, 32768 } }, "but 32768 of 65536 " },
		{ { { 0, 4096 }, { 8192, 4096 }, { 16384, 49152 } }, "but 57344 of 65536 " },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct scene *s = write_in_pieces(bad[i].pieces, 0);

		expect_refused(s, NVME_TCP_FES_SEQUENCE);
		assert_non_null(strstr(nvof_ctrl_errmsg(s->p->ctrl), bad[i].had));
		scene_free(s);
	}
}

static void a_failed_write_needs_no_data(void **state)
{
	static const struct asked none[1], half[] = { { 32768, 32768 }, { 0 } };
	struct scene *s = write_in_pieces(none, 0x0281);

	expect_ended(s, 0x0281);
	scene_free(s);
	s = write_in_pieces(half, 0x0281);
	expect_ended(s, 0x0281);
	scene_free(s);
}

/* The same number of bytes is not the same bytes. */
static void r2ts_that_overlap_are_refused(void **state)
{
	static const struct asked twice[][2] = {
		{ { 0, 32768 }, { 16384, 32768 } },    { { 32768, 32768 }, { 0, 32769 } },   { { 16384, 16384 }, { 8192, 32768 } },
		{ { 16384, 32768 }, { 20480, 4096 } }, { { 16384, 4096 }, { 16384, 4096 } },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(twice); i++) {
		struct scene *s = scene_new(&no_inline);
		struct peer_pdu cmd;

		writes(s, 64 * 1024);
		cmd = peer_gets(s->p, nvme_cmd_write);
		peer_sends_r2t(s->c, cmd.pdu.cmd.sqe.cid, 1, twice[i][0].off, twice[i][0].len);
		expect_h2c(s, cmd.pdu.cmd.sqe.cid, 1, twice[i][0].off, twice[i][0].len, 128 * 1024);
		peer_sends_r2t(s->c, cmd.pdu.cmd.sqe.cid, 2, twice[i][1].off, twice[i][1].len);
		expect_refused(s, NVME_TCP_FES_RANGE);
		assert_non_null(strstr(nvof_ctrl_errmsg(s->p->ctrl), "asked for before"));
		scene_free(s);
	}
}

/* From the last piece to the first, and every second one first. */
static void r2ts_in_reverse_are_served(void **state)
{
	struct asked pieces[17] = { { 0 } };
	struct peer_pdu cmd;
	struct scene *s;
	uint32_t i;

	for (i = 0; i < 16; i++)
		pieces[i] = (struct asked){ (15 - i) * 4096, 4096 };
	s = write_in_pieces(pieces, 0);
	expect_ended(s, 0);
	scene_free(s);
	for (i = 0; i < 16; i++)
		pieces[i] = (struct asked){ (i < 8 ? 2 * i + 1 : 2 * (i - 8)) * 4096, 4096 };
	s = write_in_pieces(pieces, 0);
	expect_ended(s, 0);
	scene_free(s);
	/* That has an end. */
	s = scene_new(&no_inline);
	writes(s, 64 * 1024);
	cmd = peer_gets(s->p, nvme_cmd_write);
	for (i = 1; i <= 9; i++) {
		peer_sends_r2t(s->c, cmd.pdu.cmd.sqe.cid, 1, i * 4096, 1024);
		if (i < 9)
			expect_h2c(s, cmd.pdu.cmd.sqe.cid, 1, i * 4096, 1024, 4096);
	}
	expect_refused(s, NVME_TCP_FES_RANGE);
	scene_free(s);
}

/* C096 */
static void several_r2ts_in_any_order_are_served(void **state)
{
	struct scene *s = scene_new(&no_inline);
	const uint32_t q = 64 * 1024;
	struct peer_pdu cmd;
	uint16_t cid;

	writes(s, 4 * q);
	cmd = peer_gets(s->p, nvme_cmd_write);
	cid = cmd.pdu.cmd.sqe.cid;
	peer_sends_r2t(s->c, cid, 3, 3 * q, q);
	peer_sends_r2t(s->c, cid, 1, q, q);
	expect_h2c(s, cid, 3, 3 * q, q, 128 * 1024);
	expect_h2c(s, cid, 1, q, q, 128 * 1024);
	peer_sends_r2t(s->c, cid, 0, 0, q);
	peer_sends_r2t(s->c, cid, 2, 2 * q, q);
	expect_h2c(s, cid, 0, 0, q, 128 * 1024);
	expect_h2c(s, cid, 2, 2 * q, q, 128 * 1024);
	peer_sends_cqe(s->c, cid, 0, 0);
	expect_ended(s, 0);
	scene_free(s);
}

/* The host's end of a connection that the peer accepted. */
static int host_fd_of(const struct peer_conn *c)
{
	struct sockaddr_in want, have;
	socklen_t len = sizeof(want);
	int fd;

	assert_int_equal(getpeername(c->fd, (struct sockaddr *)&want, &len), 0);
	for (fd = 3; fd < 1024; fd++) {
		len = sizeof(have);
		if (!getsockname(fd, (struct sockaddr *)&have, &len) && have.sin_port == want.sin_port)
			return fd;
	}
	fail_msg("no such socket in this process");
	return -1;
}

/* C111 */
static void a_socket_that_takes_little_is_waited_for_without_spinning(void **state)
{
	const struct how *hows[] = { &no_inline, &digests };
	size_t h;

	for (h = 0; h < ARRAY_SIZE(hows); h++) {
		struct scene *s = scene_new(hows[h]);
		struct pollfd pfd = { .fd = nvof_ctx_fd(s->p->ctx), .events = POLLIN };
		int small = 4096, i;
		struct peer_pdu cmd;

		assert_int_equal(setsockopt(host_fd_of(s->c), SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
		writes(s, BUF_LEN);
		cmd = peer_gets(s->p, nvme_cmd_write);
		peer_sends_r2t(s->c, cmd.pdu.cmd.sqe.cid, 5, 0, BUF_LEN);
		/* The peer reads nothing: once the socket is full there is nothing to do, and the host knows it. */
		for (i = 0; i < 100; i++) {
			nvof_ctx_poll(s->p->ctx, 0);
			if (nvof_ctx_prepare_wait(s->p->ctx) && !poll(&pfd, 1, 50))
				break;
		}
		assert_true(i < 100);
		expect_h2c(s, cmd.pdu.cmd.sqe.cid, 5, 0, BUF_LEN, 128 * 1024);
		peer_sends_cqe(s->c, cmd.pdu.cmd.sqe.cid, 0, 0);
		expect_ended(s, 0);
		peer_pdu_clear(&cmd);
		scene_free(s);
	}
}

static void r2ts_out_of_range_or_turn_are_refused(void **state)
{
	static const struct {
		uint32_t off, len, times;
		uint16_t fes;
	} bad[] = {
		{ 4096, 8192, 1, NVME_TCP_FES_RANGE },	       /* past the end */
		{ 0xfffff000, 0x2000, 1, NVME_TCP_FES_RANGE }, /* wraps */
		{ 8193, 1, 1, NVME_TCP_FES_RANGE },
		{ 0, 0, 1, NVME_TCP_FES_RANGE },
		{ 0, 8192, 2, NVME_TCP_FES_RANGE }, /* more in all than the command has */
		{ 0, 4096, 2, NVME_TCP_FES_RANGE }, /* not more, but the same twice */
		{ 4096, 2048, 2, NVME_TCP_FES_RANGE },
		{ 0, 4, 300, NVME_TCP_FES_LIMIT }, /* C096: more outstanding than MAXR2T + 1 */
	};
	size_t i;
	uint32_t t;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct scene *s = scene_new(&no_inline);
		struct peer_pdu cmd;
		uint8_t burst[300 * sizeof(struct nvme_tcp_r2t)];

		writes(s, 8192);
		cmd = peer_gets(s->p, nvme_cmd_write);
		/* In one piece, so that the host can't answer in between. */
		for (t = 0; t < bad[i].times; t++) {
			struct nvme_tcp_r2t pdu = { .hdr = { .type = NVME_TCP_R2T, .hlen = 24, .plen = htole32(24) },
						    .cccid = cmd.pdu.cmd.sqe.cid,
						    .r2to = htole32(bad[i].off + (bad[i].fes == NVME_TCP_FES_LIMIT ? t * bad[i].len : 0)),
						    .r2tl = htole32(bad[i].len) };

			memcpy(burst + t * sizeof(pdu), &pdu, sizeof(pdu));
		}
		peer_sends_raw(s->c, burst, bad[i].times * sizeof(struct nvme_tcp_r2t));
		expect_refused(s, bad[i].fes);
		scene_free(s);
	}
}

static void an_r2t_for_a_read_or_in_capsule_write_is_refused(void **state)
{
	struct scene *s = scene_new(&plain);
	struct peer_pdu cmd;

	reads(s, 4096);
	cmd = peer_gets(s->p, nvme_cmd_read);
	peer_sends_r2t(s->c, cmd.pdu.cmd.sqe.cid, 1, 0, 4096);
	expect_refused(s, NVME_TCP_FES_SEQUENCE);
	scene_free(s);

	s = scene_new(&plain);
	writes(s, 4096);
	cmd = peer_gets(s->p, nvme_cmd_write);
	assert_int_equal(cmd.data_len, 4096);
	peer_sends_r2t(s->c, cmd.pdu.cmd.sqe.cid, 1, 0, 4096);
	expect_refused(s, NVME_TCP_FES_SEQUENCE);
	peer_pdu_clear(&cmd);
	scene_free(s);
}

/* C103 */
static void in_capsule_data_keeps_to_ioccsz(void **state)
{
	static const struct {
		uint32_t ioccsz, len;
		bool in_capsule;
	} t[] = {
		{ 4, 512, false }, { 4, 4096, false }, { 260, 512, true }, { 260, 4096, true }, { 260, 8192, false }, { 516, 8192, true }
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		const struct how how = { .ioccsz = t[i].ioccsz, .cpda = 15, .hdgst = true };
		struct scene *s = scene_new(&how);
		struct peer_pdu cmd;

		writes(s, t[i].len);
		cmd = peer_gets(s->p, nvme_cmd_write);
		assert_int_equal(cmd.data_len, t[i].in_capsule ? t[i].len : 0);
		assert_int_equal(cmd.pdu.cmd.sqe.sgl.type, t[i].in_capsule ? NVME_SGL_OFFSET : NVME_SGL_TRANSPORT);
		assert_int_equal(le32toh(cmd.pdu.cmd.sqe.sgl.length), t[i].len);
		if (t[i].in_capsule) {
			assert_memory_equal(cmd.data, s->pattern, t[i].len);
			assert_int_equal(cmd.pdu.hdr.pdo % 64, 0); /* CPDA 15 */
		} else {
			peer_sends_r2t(s->c, cmd.pdu.cmd.sqe.cid, 9, 0, t[i].len);
			expect_h2c(s, cmd.pdu.cmd.sqe.cid, 9, 0, t[i].len, 128 * 1024);
		}
		peer_sends_cqe(s->c, cmd.pdu.cmd.sqe.cid, 0, 0);
		expect_ended(s, 0);
		peer_pdu_clear(&cmd);
		scene_free(s);
	}
}

static void a_response_before_all_data_was_sent_is_refused(void **state)
{
	struct scene *s = scene_new(&no_inline);
	struct peer_pdu cmd;
	struct {
		struct nvme_tcp_r2t r2t;
		struct nvme_tcp_rsp rsp;
	} both = { .r2t = { .hdr = { .type = NVME_TCP_R2T, .hlen = 24, .plen = htole32(24) }, .r2tl = htole32(BUF_LEN) },
		   .rsp = { .hdr = { .type = NVME_TCP_RSP, .hlen = 24, .plen = htole32(24) } } };

	writes(s, BUF_LEN);
	cmd = peer_gets(s->p, nvme_cmd_write);
	both.r2t.cccid = both.rsp.cqe.cid = cmd.pdu.cmd.sqe.cid;
	peer_sends_raw(s->c, &both, sizeof(both));
	expect_refused(s, NVME_TCP_FES_SEQUENCE);
	scene_free(s);
}

/* C101 */
static void transfers_beyond_mdts_are_split(void **state)
{
	const struct how how = { .mdts = 5, .ioccsz = 4 };
	struct scene *s = scene_new(&how);
	uint32_t seen = 0, total = BUF_LEN;
	int n = 0;

	reads(s, total);
	while (seen < total) {
		struct peer_pdu cmd = peer_gets(s->p, nvme_cmd_read);
		uint32_t len = ((le32toh(cmd.pdu.cmd.sqe.cdw12) & 0xffff) + 1) * 512, off = le32toh(cmd.pdu.cmd.sqe.cdw10) * 512;

		assert_true(len <= 128 * 1024);
		peer_sends_c2h(s->c, cmd.pdu.cmd.sqe.cid, 0, s->pattern + off, len, NVME_TCP_F_LAST | NVME_TCP_F_SUCCESS);
		seen += len;
		n++;
	}
	expect_ended(s, 0);
	assert_int_equal(n, 8);
	assert_memory_equal(s->buf, s->pattern, total);
	scene_free(s);
}

static void the_first_error_of_a_split_counts_and_ends_it_once(void **state)
{
	const struct how how = { .mdts = 5 };
	struct scene *s = scene_new(&how);
	int i;

	reads(s, BUF_LEN);
	for (i = 0; i < 8; i++) {
		struct peer_pdu cmd = peer_gets(s->p, nvme_cmd_read);

		assert_int_equal(s->io.ended, 0);
		if (i == 3 || i == 5)
			peer_sends_cqe(s->c, cmd.pdu.cmd.sqe.cid, i == 3 ? 0x281 : 0x4002, 0);
		else
			peer_sends_c2h(s->c, cmd.pdu.cmd.sqe.cid, 0, s->pattern, 128 * 1024, NVME_TCP_F_LAST | NVME_TCP_F_SUCCESS);
	}
	expect_ended(s, 0x281);
	scene_free(s);
}

static void term_reasons_are_named_and_bounded(void **state)
{
	/* C110 */
	static const struct {
		uint16_t fes;
		uint32_t extra;
		const char *word;
	} t[] = { { 1, 8, "Header" }, { 2, 8, "equence" },    { 3, 8, "igest" },  { 4, 0, "ange" },
		  { 5, 128, "imit" }, { 6, 8, "nsupported" }, { 7, 8, "nknown" }, { 0xffff, 8, "nknown" } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct scene *s = scene_new(&plain);

		reads(s, 4096);
		peer_gets(s->p, nvme_cmd_read);
		peer_sends_term(s->c, t[i].fes, 1, t[i].extra);
		expect_ended(s, -ECONNRESET);
		print_message("# %s\n", nvof_ctrl_errmsg(s->p->ctrl));
		assert_non_null(strstr(nvof_ctrl_errmsg(s->p->ctrl), t[i].word));
		scene_free(s);
	}
}

static void a_lost_queue_ends_every_io_once(void **state)
{
	struct scene *s = scene_new(&plain);
	struct io io[100] = { { 0 } };
	int i;

	for (i = 0; i < 100; i++)
		assert_int_equal(nvof_read(s->hctx, s->ns, (uint64_t)i * 8, 8, s->buf + i * 4096, 0, io_cb, &io[i]), 0);
	for (i = 0; i < 50; i++)
		peer_gets(s->p, nvme_cmd_read);
	peer_closes(s->c);
	peer_run_ms(s->p, 50);
	for (i = 0; i < 100; i++) {
		assert_int_equal(io[i].ended, 1);
		assert_true(io[i].status < 0);
	}
	assert_int_equal(nvof_read(s->hctx, s->ns, 0, 8, s->buf, 0, io_cb, &io[0]), -ENOTCONN);
	scene_free(s);
}

static void expect_one_entry_stays_empty(bool flow)
{
	struct peer *p = peer_new();
	struct nvof_connect_opts opts;
	struct scene s = { .p = p };
	struct io io[4] = { { 0 } };
	uint8_t buf[4096];
	int i;

	p->script.mqes = 3;
	peer_connect_opts(p, &opts);
	opts.disable_sqflow = !flow;
	peer_live(p, &opts);
	assert_int_equal(nvof_ctrl_queue_size(p->ctrl), 4);
	assert_int_equal(nvof_ns_open(p->ctrl, 1, ns_opened, &s), 0);
	assert_true(peer_run_until(p, has_ns, &s, 20000));
	for (i = 0; i < 3; i++)
		assert_int_equal(nvof_read(nvof_ctrl_hctx(p->ctrl, 0), s.ns, 0, 1, buf, 0, io_cb, &io[i]), 0);
	assert_int_equal(nvof_read(nvof_ctrl_hctx(p->ctrl, 0), s.ns, 0, 1, buf, 0, io_cb, &io[3]), -EAGAIN);
	nvof_ns_close(s.ns);
	peer_free(p);
	for (i = 0; i < 3; i++)
		assert_int_equal(io[i].ended, 1);
	assert_int_equal(io[3].ended, 0);
}

/* C039 */
static void a_queue_is_never_filled_to_its_last_entry(void **state)
{
	expect_one_entry_stays_empty(true);
	expect_one_entry_stays_empty(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_read_in_pieces_of_any_size_is_whole),
		cmocka_unit_test(data_out_of_order_or_range_is_refused),
		cmocka_unit_test(success_without_last_or_unexpected_is_refused),
		cmocka_unit_test(a_response_after_success_is_no_second_completion),
		cmocka_unit_test(success_with_too_little_data_is_refused),
		cmocka_unit_test(an_error_status_is_passed_on_as_it_came),
		cmocka_unit_test(answers_for_ids_that_are_not_outstanding_reset_the_connection),
		cmocka_unit_test(io_is_tried_again_after_an_answer_to_no_command),
		cmocka_unit_test(a_bad_data_digest_fails_only_its_command),
		cmocka_unit_test(a_bad_header_digest_ends_the_connection),
		cmocka_unit_test(h2cdata_keeps_to_maxh2cdata),
		cmocka_unit_test(several_r2ts_in_any_order_are_served),
		cmocka_unit_test(a_socket_that_takes_little_is_waited_for_without_spinning),
		cmocka_unit_test(success_without_all_data_asked_for_is_refused),
		cmocka_unit_test(a_failed_write_needs_no_data),
		cmocka_unit_test(r2ts_that_overlap_are_refused),
		cmocka_unit_test(r2ts_in_reverse_are_served),
		cmocka_unit_test(r2ts_out_of_range_or_turn_are_refused),
		cmocka_unit_test(an_r2t_for_a_read_or_in_capsule_write_is_refused),
		cmocka_unit_test(in_capsule_data_keeps_to_ioccsz),
		cmocka_unit_test(a_response_before_all_data_was_sent_is_refused),
		cmocka_unit_test(transfers_beyond_mdts_are_split),
		cmocka_unit_test(the_first_error_of_a_split_counts_and_ends_it_once),
		cmocka_unit_test(term_reasons_are_named_and_bounded),
		cmocka_unit_test(a_lost_queue_ends_every_io_once),
		cmocka_unit_test(a_queue_is_never_filled_to_its_last_entry),
	};

	return cmocka_run_group_tests_name("host data path", tests, NULL, NULL);
}
