/* SPDX-License-Identifier: BSD-3-Clause */
/* The target's data path and commands against hosts that lie about lengths, ids and order. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "peer/host_peer.h"
#include "proto/crc32c.h"

#define NS_BLOCKS (64u << 11)

struct scene {
	struct hp_target ht;
	struct hp admin, q;
	uint8_t *buf, *pattern;
};

#define BUF_LEN (1u << 20)

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	uint32_t i;

	hp_target_start(&s->ht, NULL);
	s->admin.fd = s->q.fd = -1;
	s->buf = malloc(BUF_LEN);
	s->pattern = malloc(BUF_LEN);
	for (i = 0; i < BUF_LEN; i++)
		s->pattern[i] = (uint8_t)(i * 11 + (i >> 9) * 5);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	hp_target_stop(&s->ht);
	free(s->buf);
	free(s->pattern);
	free(s);
	return 0;
}

static void opens(struct scene *s, uint8_t dgst, uint8_t hpda)
{
	hp_admin(&s->admin, s->ht.port, dgst, hpda);
	hp_io_queue(&s->q, s->ht.port, &s->admin, 1, dgst, hpda);
}

static void closes(struct scene *s)
{
	hp_close(&s->q);
	hp_close(&s->admin);
}

/* C099 */
static void data_verifies_for_every_digest_and_alignment(void **state)
{
	static const uint8_t hpdas[] = { 0, 1, 15, 31 };
	static const uint32_t lens[] = { 512, 4096, 8192, 131072, BUF_LEN };
	struct scene *s = *state;
	uint8_t dgst;
	size_t h, l;

	for (dgst = 0; dgst < 4; dgst++) {
		for (h = 0; h < ARRAY_SIZE(hpdas); h++) {
			opens(s, dgst, hpdas[h]);
			for (l = 0; l < ARRAY_SIZE(lens); l++) {
				memset(s->buf, 0, BUF_LEN);
				assert_int_equal(hp_write(&s->q, 1, l * 4096, lens[l] / 512, s->pattern, lens[l] <= 8192), 0);
				assert_int_equal(hp_read(&s->q, 1, l * 4096, lens[l] / 512, s->buf), 0);
				assert_memory_equal(s->buf, s->pattern, lens[l]);
			}
			closes(s);
		}
	}
}

/* C086 */
static void io_past_the_end_is_refused_and_changes_nothing(void **state)
{
	static const struct {
		uint64_t slba;
		uint32_t nlb;
	} bad[] = { { NS_BLOCKS - 1, 2 }, { NS_BLOCKS, 1 }, { UINT64_MAX, 2048 }, { UINT64_MAX - 5, 6 }, { 1ull << 55, 1 } };
	static const uint8_t opcodes[] = { nvme_cmd_read, nvme_cmd_write, nvme_cmd_write_zeroes, nvme_cmd_compare, nvme_cmd_verify };
	struct scene *s = *state;
	struct nvme_dsm_range range;
	struct nvme_sqe sqe;
	size_t i, o;

	opens(s, 0, 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		for (o = 0; o < ARRAY_SIZE(opcodes); o++) {
			uint32_t len = opcodes[o] == nvme_cmd_write_zeroes || opcodes[o] == nvme_cmd_verify ? 0 : bad[i].nlb * 512;

			hp_sqe_rw(&sqe, opcodes[o], 1, bad[i].slba, bad[i].nlb);
			assert_int_equal(hp_status(&s->q, hp_cmd(&s->q, &sqe, NULL, len), s->buf, len, NULL), 0x4080);
		}
		memset(&sqe, 0, sizeof(sqe));
		sqe.opcode = nvme_cmd_dsm;
		sqe.nsid = htole32(1);
		sqe.cdw11 = htole32(4);
		range = (struct nvme_dsm_range){ .nlb = htole32(bad[i].nlb), .slba = htole64(bad[i].slba) };
		assert_int_equal(hp_status(&s->q, hp_cmd(&s->q, &sqe, &range, sizeof(range)), NULL, 0, NULL), 0x4080);
	}
	assert_int_equal(hp_read(&s->q, 1, NS_BLOCKS - 1, 1, s->buf), 0);
	closes(s);
}

static void a_namespace_that_is_not_there_is_named(void **state)
{
	static const uint32_t nsids[] = { 0, 2, 1000, 0xfffffffe, 0xffffffff };
	struct scene *s = *state;
	size_t i;

	opens(s, 0, 0);
	for (i = 0; i < ARRAY_SIZE(nsids); i++)
		assert_int_equal(hp_read(&s->q, nsids[i], 0, 1, s->buf) & 0x7ff, 0x0b);
	closes(s);
}

/* C100 */
static void sgl_and_capsule_lengths_must_agree(void **state)
{
	static const struct {
		uint8_t type;
		uint32_t sgl_len, capsule_len;
		uint64_t addr;
		uint16_t status; /* 0: the connection may also be closed */
	} bad[] = {
		{ NVME_SGL_OFFSET, 512, 4096, 0, 0 }, /* more in the capsule than the SGL says */
		{ NVME_SGL_OFFSET, 4096, 512, 0, 0x0f },
		{ NVME_SGL_OFFSET, 4096, 4096, 512, 0x16 },
		{ NVME_SGL_OFFSET, 4096, 4096, UINT64_MAX - 100, 0x16 },
		{ 0x0f, 4096, 4096, 0, 0x11 },
		{ 0x40, 4096, 0, 0, 0x11 },
		{ NVME_SGL_TRANSPORT, 512, 0, 0, 0x0f }, /* shorter than NLB */
		{ NVME_SGL_TRANSPORT, 0xffffffff, 0, 0, 0x0f },
		{ NVME_SGL_TRANSPORT, 0, 0, 0, 0x0f },
	};
	struct scene *s = *state;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct nvme_sqe sqe;
		struct hp_pdu in;
		uint16_t cid;

		opens(s, 0, 0);
		hp_sqe_rw(&sqe, nvme_cmd_write, 1, 0, 8);
		sqe.sgl = (struct nvme_sgl_desc){ .addr = htole64(bad[i].addr), .length = htole32(bad[i].sgl_len), .type = bad[i].type };
		cid = hp_cmd(&s->q, &sqe, bad[i].capsule_len ? s->pattern : NULL, bad[i].capsule_len);
		if (hp_recv(&s->q, &in) && in.pdu.hdr.type == NVME_TCP_RSP) {
			assert_int_equal(le16toh(in.pdu.rsp.cqe.cid), cid);
			if (bad[i].status)
				assert_int_equal(le16toh(in.pdu.rsp.cqe.status) >> 1 & 0x7ff, bad[i].status);
			else
				assert_int_not_equal(le16toh(in.pdu.rsp.cqe.status) >> 1, 0);
			/* C115: the stream goes on in step */
			assert_int_equal(hp_read(&s->q, 1, 0, 1, s->buf), 0);
		} else if (bad[i].status && in.pdu.hdr.type != NVME_TCP_C2H_TERM) {
			fail_msg("row %zu: neither a status nor a C2HTermReq", i);
		}
		/* the other queue does not notice */
		{
			struct nvme_sqe ka = { .opcode = nvme_admin_keep_alive };

			assert_int_equal(hp_status(&s->admin, hp_cmd(&s->admin, &ka, NULL, 0), NULL, 0, NULL), 0);
		}
		closes(s);
	}
}

/* C115 */
static void an_early_error_answers_the_right_command_and_drops_its_data(void **state)
{
	struct scene *s = *state;
	uint8_t dgst;

	for (dgst = 0; dgst < 4; dgst++) {
		struct nvme_sqe sqe;

		opens(s, dgst, 0);
		/* an unknown opcode with transfer bits 11b and data in the capsule */
		hp_sqe_rw(&sqe, 0x83, 1, 0, 8);
		assert_int_equal(hp_status(&s->q, hp_cmd(&s->q, &sqe, s->pattern, 4096), NULL, 0, NULL) & 0x7ff, 0x02);
		assert_int_equal(hp_read(&s->q, 1, 0, 1, s->buf), 0);
		/* larger than MDTS */
		hp_sqe_rw(&sqe, nvme_cmd_write, 1, 0, 8192);
		assert_int_equal(hp_status(&s->q, hp_cmd(&s->q, &sqe, NULL, 8192 * 512), NULL, 0, NULL) & 0x7ff, 0x02);
		assert_int_equal(hp_read(&s->q, 1, 0, 1, s->buf), 0);
		/* a good write with bad namespace and data in the capsule */
		hp_sqe_rw(&sqe, nvme_cmd_write, 77, 0, 8);
		assert_int_equal(hp_status(&s->q, hp_cmd(&s->q, &sqe, s->pattern, 4096), NULL, 0, NULL) & 0x7ff, 0x0b);
		assert_int_equal(hp_read(&s->q, 1, 0, 1, s->buf), 0);
		closes(s);
	}
}

static void sends_h2c(struct hp *h, uint16_t cid, uint16_t ttag, uint32_t off, uint32_t len, uint8_t flags, const void *data, bool bad)
{
	struct nvme_tcp_data d = { .hdr = { .type = NVME_TCP_H2C_DATA, .flags = flags },
				   .cccid = htole16(cid),
				   .ttag = ttag,
				   .datao = htole32(off),
				   .datal = htole32(len) };

	hp_send_pdu(h, &d, sizeof(d), data, len, bad);
}

/* A write of 16 KiB whose R2T has come. */
static uint16_t begins_write(struct scene *s, uint16_t *ttag)
{
	struct nvme_sqe sqe;
	struct hp_pdu in;
	uint16_t cid;

	hp_sqe_rw(&sqe, nvme_cmd_write, 1, 100, 32);
	cid = hp_cmd(&s->q, &sqe, NULL, 16384);
	assert_true(hp_recv(&s->q, &in));
	assert_int_equal(in.pdu.hdr.type, NVME_TCP_R2T);
	assert_int_equal(le32toh(in.pdu.r2t.r2to), 0);
	assert_true(le32toh(in.pdu.r2t.r2tl) <= 16384);
	*ttag = in.pdu.r2t.ttag;
	return cid;
}

static void h2cdata_out_of_range_or_turn_is_refused(void **state)
{
	static const struct {
		int cid, ttag; /* added to the right ones */
		uint32_t off, len;
		uint8_t flags;
		uint16_t fes[2]; /* either is right */
	} bad[] = {
		{ 1, 0, 0, 4096, 0, { NVME_TCP_FES_INVALID_HDR, NVME_TCP_FES_SEQUENCE } },
		{ 0, 1, 0, 4096, 0, { NVME_TCP_FES_INVALID_HDR, NVME_TCP_FES_SEQUENCE } },
		{ 0, 0, 4096, 4096, 0, { NVME_TCP_FES_RANGE, NVME_TCP_FES_INVALID_HDR } },
		{ 0, 0, 0, 20000, 4, { NVME_TCP_FES_RANGE, NVME_TCP_FES_LIMIT } },
		{ 0, 0, 0xfffff000, 8192, 4, { NVME_TCP_FES_RANGE, NVME_TCP_FES_INVALID_HDR } },
		{ 0, 0, 0, 8192, NVME_TCP_F_LAST, { NVME_TCP_FES_RANGE, NVME_TCP_FES_INVALID_HDR } }, /* LAST, but half is missing */
	};
	struct scene *s = *state;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		uint16_t cid, ttag, fes;

		opens(s, 0, 0);
		cid = begins_write(s, &ttag);
		sends_h2c(&s->q, (uint16_t)(cid + bad[i].cid), (uint16_t)(ttag + bad[i].ttag), bad[i].off, bad[i].len, bad[i].flags,
			  s->pattern, false);
		fes = hp_expect_closed(&s->q, NULL);
		if (fes != bad[i].fes[0] && fes != bad[i].fes[1])
			fail_msg("row %zu: FES %02xh", i, fes);
		closes(s);
	}
}

/* C106 */
static void h2cdata_that_nobody_asked_for_is_refused(void **state)
{
	struct scene *s = *state;
	struct nvme_sqe sqe;
	uint16_t cid, fes;
	int i;

	for (i = 0; i < 3; i++) {
		opens(s, 0, 0);
		cid = 1;
		if (i == 1) { /* for a read that is being answered */
			hp_sqe_rw(&sqe, nvme_cmd_read, 1, 0, 2048);
			cid = hp_cmd(&s->q, &sqe, NULL, 2048 * 512);
		} else if (i == 2) { /* for a command that has ended */
			assert_int_equal(hp_write(&s->q, 1, 0, 32, s->pattern, false), 0);
			cid = (uint16_t)(s->q.next_cid - 1);
		}
		sends_h2c(&s->q, cid, i ? htole16(0xffff) : 0, 0, 512, NVME_TCP_F_LAST, s->pattern, false);
		fes = hp_expect_closed(&s->q, NULL);
		assert_true(fes == NVME_TCP_FES_SEQUENCE || fes == NVME_TCP_FES_INVALID_HDR);
		closes(s);
	}
}

/* C123 */
static void a_bad_data_digest_names_its_command_and_writes_nothing(void **state)
{
	struct scene *s = *state;
	struct nvme_tcp_cmd cmd;
	struct nvme_sqe sqe;
	uint16_t cid, ttag;

	opens(s, 3, 0);
	memset(s->buf, 0x77, 16384);
	assert_int_equal(hp_write(&s->q, 1, 100, 32, s->buf, false), 0);

	/* in the second H2CData */
	s->q.next_cid = 17;
	cid = begins_write(s, &ttag);
	assert_int_equal(cid, 17);
	sends_h2c(&s->q, cid, ttag, 0, 8192, 0, s->pattern, false);
	sends_h2c(&s->q, cid, ttag, 8192, 8192, NVME_TCP_F_LAST, s->pattern + 8192, true);
	assert_int_equal(hp_status(&s->q, cid, NULL, 0, NULL), 0x22);
	memset(s->buf, 0, 16384);
	assert_int_equal(hp_read(&s->q, 1, 100, 32, s->buf), 0);
	assert_int_equal(s->buf[0], 0x77);
	assert_int_equal(s->buf[16383], 0x77);

	/* in a capsule */
	memset(&cmd, 0, sizeof(cmd));
	hp_sqe_rw(&sqe, nvme_cmd_write, 1, 100, 8);
	sqe.cid = htole16(99);
	sqe.flags = NVME_SQE_PSDT_SGL;
	sqe.sgl = (struct nvme_sgl_desc){ .length = htole32(4096), .type = NVME_SGL_OFFSET };
	cmd.hdr.type = NVME_TCP_CMD;
	cmd.sqe = sqe;
	hp_send_pdu(&s->q, &cmd, sizeof(cmd), s->pattern, 4096, true);
	assert_int_equal(hp_status(&s->q, 99, NULL, 0, NULL), 0x22);
	assert_int_equal(hp_read(&s->q, 1, 100, 8, s->buf), 0);
	assert_int_equal(s->buf[0], 0x77);
	closes(s);
}

/* C039 */
static void more_commands_than_the_queue_has_entries_end_it(void **state)
{
	struct scene *s = *state;
	struct hp_connect c;
	struct nvme_sqe sqe;
	int i;

	hp_admin(&s->admin, s->ht.port, 0, 0);
	hp_open(&s->q, s->ht.port);
	hp_ic(&s->q, 0, 0);
	hp_connect_init(&c, 1, s->admin.cntlid);
	c.sqsize = 3;
	assert_int_equal(hp_connect(&s->q, &c, NULL), 0);
	for (i = 0; i < 8; i++) { /* writes that wait for their data */
		hp_sqe_rw(&sqe, nvme_cmd_write, 1, 0, 32);
		hp_cmd(&s->q, &sqe, NULL, 16384);
	}
	hp_expect_closed(&s->q, NULL);
	closes(s);
}

/* ---- admin commands ---- */

/* C104 */
static void identify_with_any_buffer_length_is_safe(void **state)
{
	static const uint32_t lens[] = { 4096, 8192, 512, 0, 4, 0x100000 };
	struct scene *s = *state;
	size_t i;

	opens(s, 0, 0);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		struct nvme_sqe sqe = { .opcode = nvme_admin_identify, .cdw10 = htole32(1) };
		uint16_t status;

		memset(s->buf, 0xcc, BUF_LEN);
		status = hp_status(&s->admin, hp_cmd(&s->admin, &sqe, NULL, lens[i]), s->buf, BUF_LEN, NULL);
		if (lens[i] == 4096)
			assert_int_equal(status, 0);
	}
	closes(s);
}

/* C076, C072 */
static void identify_of_namespaces_that_are_not_there(void **state)
{
	struct scene *s = *state;
	static const struct {
		uint32_t nsid, cns, status;
	} t[] = { { 0, 3, 0x0b }, { 2, 3, 0x02 }, { 0xffffffff, 3, 0x0b }, { 0, 0, 0x0b } };
	size_t i;

	opens(s, 0, 0);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct nvme_sqe sqe = { .opcode = nvme_admin_identify, .nsid = htole32(t[i].nsid), .cdw10 = htole32(t[i].cns) };
		uint16_t status = hp_status(&s->admin, hp_cmd(&s->admin, &sqe, NULL, 4096), s->buf, 4096, NULL);

		assert_true((status & 0x7ff) == t[i].status || (status & 0x7ff) == 0x0b);
		assert_int_equal(status & 0x4000, 0x4000);
	}
	closes(s);
}

/* C118, C116 */
static void event_requests_and_aborts_are_bounded(void **state)
{
	struct scene *s = *state;
	struct nvme_sqe aer = { .opcode = nvme_admin_async_event },
			abort = { .opcode = nvme_admin_abort_cmd, .cdw10 = htole32(1 | 0x999 << 16) };
	struct nvme_id_ctrl *id = (void *)s->buf;
	struct nvme_sqe ident = { .opcode = nvme_admin_identify, .cdw10 = htole32(1) };
	uint16_t cid = 0;
	uint64_t result = 0;
	int i, aerl;

	opens(s, 0, 0);
	assert_int_equal(hp_status(&s->admin, hp_cmd(&s->admin, &ident, NULL, 4096), s->buf, 4096, NULL), 0);
	aerl = id->aerl;
	for (i = 0; i <= aerl; i++)
		hp_cmd(&s->admin, &aer, NULL, 0);
	for (i = 0; i < 2; i++) {
		cid = hp_cmd(&s->admin, &aer, NULL, 0);
		assert_int_equal(hp_status(&s->admin, cid, NULL, 0, NULL) & 0x7ff, 0x105);
	}
	cid = hp_cmd(&s->admin, &abort, NULL, 0);
	assert_int_equal(hp_status(&s->admin, cid, NULL, 0, &result), 0);
	assert_int_equal(result & 1, 1);
	closes(s);
}

static void namespace_events_reach_the_host(void **state)
{
	struct scene *s = *state;
	struct nvof_target_ns_opts ns;
	struct nvme_sqe aer = { .opcode = nvme_admin_async_event },
			log = { .opcode = nvme_admin_get_log_page, .nsid = htole32(0xffffffff), .cdw10 = htole32(0x04 | 1023 << 16) };
	/* Asynchronous Event Configuration: namespace attribute notices */
	struct nvme_sqe config = { .opcode = nvme_admin_set_features, .cdw10 = htole32(0x0b), .cdw11 = htole32(1 << 8) };
	uint64_t result = 0;
	uint32_t nsid = 0, first;
	uint16_t cid;

	opens(s, 0, 0);
	assert_int_equal(hp_status(&s->admin, hp_cmd(&s->admin, &config, NULL, 0), NULL, 0, NULL), 0);
	cid = hp_cmd(&s->admin, &aer, NULL, 0);
	nvof_target_ns_opts_init(&ns);
	ns.backend = "mem:1M";
	assert_int_equal(nvof_target_add_ns(s->ht.t, HP_NQN, &ns, &nsid), 0);
	assert_int_equal(hp_status(&s->admin, cid, NULL, 0, &result), 0);
	assert_int_equal(result & 0xffffff, 0x040002);
	assert_int_equal(hp_status(&s->admin, hp_cmd(&s->admin, &log, NULL, 4096), s->buf, 4096, NULL), 0);
	memcpy(&first, s->buf, 4);
	assert_int_equal(le32toh(first), nsid);
	assert_int_equal(hp_read(&s->q, nsid, 0, 1, s->buf), 0);
	/* C085 */
	assert_int_equal(nvof_target_remove_ns(s->ht.t, HP_NQN, nsid), 0);
	assert_int_equal(hp_read(&s->q, nsid, 0, 1, s->buf), 0x400b);
	closes(s);
}

static void compare_flush_zeroes_and_discard(void **state)
{
	struct scene *s = *state;
	struct nvme_sqe sqe;
	struct nvme_dsm_range range = { .nlb = htole32(8), .slba = htole64(1000) };

	opens(s, 3, 0);
	assert_int_equal(hp_write(&s->q, 1, 1000, 16, s->pattern, true), 0);
	hp_sqe_rw(&sqe, nvme_cmd_compare, 1, 1000, 8);
	assert_int_equal(hp_status(&s->q, hp_cmd(&s->q, &sqe, s->pattern, 4096), NULL, 0, NULL), 0);
	hp_sqe_rw(&sqe, nvme_cmd_compare, 1, 1001, 8);
	assert_int_equal(hp_status(&s->q, hp_cmd(&s->q, &sqe, s->pattern, 4096), NULL, 0, NULL) & 0x7ff, 0x285);
	memset(&sqe, 0, sizeof(sqe));
	sqe.opcode = nvme_cmd_flush;
	sqe.nsid = htole32(1);
	assert_int_equal(hp_status(&s->q, hp_cmd(&s->q, &sqe, NULL, 0), NULL, 0, NULL), 0);
	memset(&sqe, 0, sizeof(sqe));
	sqe.opcode = nvme_cmd_dsm;
	sqe.nsid = htole32(1);
	sqe.cdw11 = htole32(4);
	assert_int_equal(hp_status(&s->q, hp_cmd(&s->q, &sqe, &range, sizeof(range)), NULL, 0, NULL), 0);
	hp_sqe_rw(&sqe, nvme_cmd_write_zeroes, 1, 1008, 4);
	assert_int_equal(hp_status(&s->q, hp_cmd(&s->q, &sqe, NULL, 0), NULL, 0, NULL), 0);
	memset(s->buf, 0xaa, 8192);
	assert_int_equal(hp_read(&s->q, 1, 1000, 16, s->buf), 0);
	for (int i = 0; i < 12 * 512; i++)
		assert_int_equal(s->buf[i], 0);
	assert_memory_equal(s->buf + 12 * 512, s->pattern + 12 * 512, 4 * 512);
	closes(s);
}

/* The target looks at the socket again after the host has closed its side: as one that stood still meanwhile. */
static void sends_and_leaves(struct hp *h, uint64_t slba, uint32_t nlb, const void *data)
{
	struct nvme_sqe sqe;
	int on = 1;

	usleep(100 * 1000);
	setsockopt(h->fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
	hp_sqe_rw(&sqe, nvme_cmd_write, 1, slba, nlb);
	hp_cmd(h, &sqe, data, nlb * 512);
	shutdown(h->fd, SHUT_WR);
	hp_expect_closed(h, NULL);
}

static void what_a_host_left_behind_is_not_carried_out(void **state)
{
	struct scene *s = *state;

	for (uint8_t dgst = 0; dgst <= 3; dgst += 3) {
		opens(s, dgst, 0);
		assert_int_equal(hp_write(&s->q, 1, 0, 8, s->pattern, true), 0);
		sends_and_leaves(&s->q, 0, 8, s->pattern + 512);
		closes(s);
		opens(s, dgst, 0);
		assert_int_equal(hp_read(&s->q, 1, 0, 8, s->buf), 0);
		assert_memory_equal(s->buf, s->pattern, 4096);
		closes(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_verifies_for_every_digest_and_alignment),
		cmocka_unit_test(io_past_the_end_is_refused_and_changes_nothing),
		cmocka_unit_test(a_namespace_that_is_not_there_is_named),
		cmocka_unit_test(sgl_and_capsule_lengths_must_agree),
		cmocka_unit_test(an_early_error_answers_the_right_command_and_drops_its_data),
		cmocka_unit_test(h2cdata_out_of_range_or_turn_is_refused),
		cmocka_unit_test(h2cdata_that_nobody_asked_for_is_refused),
		cmocka_unit_test(a_bad_data_digest_names_its_command_and_writes_nothing),
		cmocka_unit_test(more_commands_than_the_queue_has_entries_end_it),
		cmocka_unit_test(identify_with_any_buffer_length_is_safe),
		cmocka_unit_test(identify_of_namespaces_that_are_not_there),
		cmocka_unit_test(event_requests_and_aborts_are_bounded),
		cmocka_unit_test(namespace_events_reach_the_host),
		cmocka_unit_test(compare_flush_zeroes_and_discard),
		cmocka_unit_test(what_a_host_left_behind_is_not_carried_out),
	};

	return cmocka_run_group_tests_name("target data path", tests, setup, teardown);
}
