/* SPDX-License-Identifier: BSD-3-Clause */
/* A host that connects to a target which is silent, slow, wrong or unwilling at each state of the set-up. */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "peer/target_peer.h"
#include "unit/proc.h"

/* Where the script stops behaving. */
enum at { AT_ACCEPT, AT_ICREQ, AT_CONNECT, AT_PROPERTY_GET, AT_PROPERTY_SET, AT_IDENTIFY, AT_FEATURES, AT_IO_ICREQ, AT_IO_CONNECT, AT_NR };
static const char *const at_name[] = { "accept",
				       "ICReq",
				       "Connect",
				       "Property Get",
				       "Property Set",
				       "Identify",
				       "Set Features",
				       "ICReq of an I/O queue",
				       "Connect of an I/O queue" };

struct scene {
	enum at at;
	void (*act)(struct peer_pdu *in); /* NULL: silence */
	bool done;			  /* act once */
};

static bool is_at(const struct peer_pdu *in, enum at at)
{
	const struct nvme_sqe *sqe = &in->pdu.cmd.sqe;
	bool cmd = in->pdu.hdr.type == NVME_TCP_CMD, fabrics = cmd && sqe->opcode == NVMF_OPCODE;
	uint8_t fctype = fabrics ? (uint8_t)le32toh(sqe->nsid) : 0xff;

	switch (at) {
	case AT_ICREQ:
		return in->pdu.hdr.type == NVME_TCP_ICREQ;
	case AT_IO_ICREQ:
		return in->pdu.hdr.type == NVME_TCP_ICREQ && in->c->index > 0;
	case AT_CONNECT:
		return fctype == NVMF_CONNECT;
	case AT_IO_CONNECT:
		return fctype == NVMF_CONNECT && in->c->index > 0;
	case AT_PROPERTY_GET:
		return fctype == NVMF_PROPERTY_GET;
	case AT_PROPERTY_SET:
		return fctype == NVMF_PROPERTY_SET;
	case AT_IDENTIFY:
		return cmd && !fabrics && sqe->opcode == nvme_admin_identify;
	case AT_FEATURES:
		return cmd && !fabrics && sqe->opcode == nvme_admin_set_features;
	default:
		return false;
	}
}

static bool scene_hook(struct peer *p, struct peer_pdu *in)
{
	struct scene *s = p->arg;

	if (!is_at(in, s->at))
		return false;
	if (s->act && !s->done)
		s->act(in);
	s->done = true;
	return true;
}

/* Plays one scene; the connect must fail, in time, with a sentence; everything must be given back. */
static int play(enum at at, void (*act)(struct peer_pdu *in), unsigned int tmo_ms, char *msg, size_t msg_len)
{
	struct scene s = { .at = at, .act = act };
	int fds = count_fds(), status;
	struct peer *p = peer_new();
	struct nvof_connect_opts opts;
	uint64_t start;

	p->hook = scene_hook;
	p->arg = &s;
	peer_connect_opts(p, &opts);
	opts.nr_io_queues = 3;
	opts.no_early_links = true; /* an early link that fails is made again: test_host_early.c */
	opts.connect_tmo_ms = tmo_ms;
	start = clock_ns();
	status = peer_connect(p, &opts);
	assert_true(clock_ns() - start < (tmo_ms + 9000) * NSEC_PER_MSEC);
	if (!status)
		fail_msg("at %s: the connect succeeded", at_name[at]);
	assert_int_equal(nvof_ctrl_state(p->ctrl), NVOF_CTRL_DEAD);
	strncpy(msg, nvof_ctrl_errmsg(p->ctrl), msg_len - 1);
	msg[msg_len - 1] = '\0';
	print_message("# at %s: %d: %s\n", at_name[at], status, msg);
	assert_true(strlen(msg) > 20);
	assert_non_null(strstr(msg, p->port));
	peer_free(p);
	assert_int_equal(count_fds(), fds);
	return status;
}

static void expect_all(void (*act)(struct peer_pdu *in), int want, unsigned int tmo_ms, const char *word)
{
	char msg[512];
	int at;

	for (at = AT_ICREQ; at < AT_NR; at++) {
		int status = play(at, act, tmo_ms, msg, sizeof(msg));

		assert_int_equal(status, want);
		if (word)
			assert_non_null(strcasestr(msg, word));
	}
}

/* C013 */
static void silence_at_any_state_ends_at_the_time_out(void **state)
{
	expect_all(NULL, -ETIMEDOUT, 200, NULL);
}

static void act_close(struct peer_pdu *in)
{
	peer_closes(in->c);
}
static void act_reset(struct peer_pdu *in)
{
	peer_resets(in->c);
}

/* C027: the same places, for a first connect. */
static void a_close_at_any_state_is_an_error_at_once(void **state)
{
	expect_all(act_close, -ECONNRESET, 5000, "clos");
}

static void a_reset_at_any_state_is_an_error_at_once(void **state)
{
	expect_all(act_reset, -ECONNRESET, 5000, NULL);
}

static void act_unknown_type(struct peer_pdu *in)
{
	struct nvme_tcp_hdr hdr = { .type = 0x0a, .hlen = 8, .plen = htole32(8) };

	peer_sends_raw(in->c, &hdr, sizeof(hdr));
}

static void a_pdu_of_unknown_type_at_any_state_is_a_protocol_error(void **state)
{
	expect_all(act_unknown_type, -EPROTO, 5000, NULL);
}

static void act_cmd_capsule(struct peer_pdu *in)
{
	struct nvme_tcp_cmd cmd = { .hdr = { .type = NVME_TCP_CMD, .hlen = 72, .plen = htole32(72) } };

	peer_sends_raw(in->c, &cmd, sizeof(cmd));
}

static void a_command_from_the_target_at_any_state_is_a_protocol_error(void **state)
{
	expect_all(act_cmd_capsule, -EPROTO, 5000, NULL);
}

static void act_hlen_255(struct peer_pdu *in)
{
	struct nvme_tcp_rsp rsp = { .hdr = { .type = in->c->ic_done ? NVME_TCP_RSP : NVME_TCP_ICRESP, .hlen = 255, .plen = htole32(255) } };

	peer_sends_raw(in->c, &rsp, sizeof(rsp));
}

static void act_plen_below_hlen(struct peer_pdu *in)
{
	struct nvme_tcp_rsp rsp = {
		.hdr = { .type = in->c->ic_done ? NVME_TCP_RSP : NVME_TCP_ICRESP, .hlen = in->c->ic_done ? 24 : 128, .plen = htole32(8) }
	};

	peer_sends_raw(in->c, &rsp, sizeof(rsp));
}

static void act_plen_huge(struct peer_pdu *in)
{
	struct nvme_tcp_data data = { .hdr = { .type = in->c->ic_done ? NVME_TCP_C2H_DATA : NVME_TCP_ICRESP,
					       .hlen = in->c->ic_done ? 24 : 128,
					       .pdo = 24,
					       .plen = 0xffffffff } };

	peer_sends_raw(in->c, &data, sizeof(data));
}

/* C105 */
static void wrong_lengths_at_any_state_are_a_protocol_error(void **state)
{
	expect_all(act_hlen_255, -EPROTO, 5000, NULL);
	expect_all(act_plen_below_hlen, -EPROTO, 5000, NULL);
	expect_all(act_plen_huge, -EPROTO, 5000, NULL);
}

static void act_unknown_cid(struct peer_pdu *in)
{
	if (!in->c->ic_done)
		act_unknown_type(in); /* no command yet: nothing to answer wrongly */
	else
		peer_sends_cqe(in->c, htole16(0xffff), 0, 0);
}

/* C108 */
static void an_answer_to_no_command_is_a_protocol_error(void **state)
{
	expect_all(act_unknown_cid, -EPROTO, 5000, NULL);
}

/* In one piece, so that both are looked at together. */
static void act_answer_twice(struct peer_pdu *in)
{
	const struct nvme_sqe *sqe = &in->pdu.cmd.sqe;
	uint32_t dw0 = sqe->opcode == NVMF_OPCODE ? 1 : 0x20002;
	struct nvme_tcp_rsp twice[2] = { { .hdr = { .type = NVME_TCP_RSP, .hlen = 24, .plen = htole32(24) },
					   .cqe = { .result = htole64(dw0), .cid = sqe->cid, .sqid = htole16(in->c->qid) } } };

	twice[1] = twice[0];
	peer_sends_raw(in->c, twice, sizeof(twice));
}

/* The queue may be LIVE by then: the connect is not over, and so it is told. */
static void a_second_answer_is_told_as_the_connects_end(void **state)
{
	static const struct {
		enum at at;
		const char *who;
	} t[] = { { AT_CONNECT, "connect qid 0 (connect) to " },
		  { AT_PROPERTY_SET, "connect qid 0 (init) to " },
		  { AT_FEATURES, "connect qid 0 (" },
		  { AT_IO_CONNECT, "connect qid 1 (connect) to " } };
	char msg[512];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		assert_int_equal(play(t[i].at, act_answer_twice, 5000, msg, sizeof(msg)), -EPROTO);
		assert_ptr_equal(strstr(msg, t[i].who), msg);
		assert_non_null(strstr(msg, "which is not outstanding"));
	}
}

static void act_term(struct peer_pdu *in)
{
	peer_sends_term(in->c, NVME_TCP_FES_UNSUPPORTED, 7, 8);
}

/* C110 */
static void a_term_request_at_any_state_is_named(void **state)
{
	expect_all(act_term, -ECONNRESET, 5000, "unsupported");
}

static void act_partial_icresp(struct peer_pdu *in)
{
	uint8_t some[7] = { NVME_TCP_ICRESP, 0, 128, 0, 128, 0, 0 };

	peer_sends_raw(in->c, some, sizeof(some));
}

/* C013 */
static void a_piece_of_icresp_is_not_an_answer(void **state)
{
	char msg[512];

	assert_int_equal(play(AT_ICREQ, act_partial_icresp, 300, msg, sizeof(msg)), -ETIMEDOUT);
	assert_non_null(strcasestr(msg, "icre"));
}

/* ---- ICResp fields ---- */

static int connect_with(void (*set)(struct peer_script *s, struct nvof_connect_opts *o), const char *word)
{
	struct peer *p = peer_new();
	struct nvof_connect_opts opts;
	int status;

	peer_connect_opts(p, &opts);
	set(&p->script, &opts);
	status = peer_connect(p, &opts);
	print_message("# %d: %s\n", status, nvof_ctrl_errmsg(p->ctrl));
	if (word)
		assert_non_null(strstr(nvof_ctrl_errmsg(p->ctrl), word));
	peer_free(p);
	return status;
}

#define SET(name, ...)                                                       \
	static void name(struct peer_script *s, struct nvof_connect_opts *o) \
	{                                                                    \
		(void)s;                                                     \
		(void)o;                                                     \
		__VA_ARGS__;                                                 \
	}
SET(pfv_1, s->pfv = 1)
SET(cpda_31, s->cpda = 31)
SET(cpda_32, s->cpda = 32)
SET(maxh2c_0, s->maxh2cdata = 0)
SET(maxh2c_4095, s->maxh2cdata = 4095)
SET(maxh2c_4098, s->maxh2cdata = 4098)
SET(maxh2c_4096, s->maxh2cdata = 4096)
SET(maxh2c_huge, s->maxh2cdata = 0xfffffffc)
SET(hdgst_refused, s->dgst = 0; o->hdr_digest = true)
SET(ddgst_refused, s->dgst = 1; o->hdr_digest = o->data_digest = true)
SET(dgst_unasked, s->dgst = 3)
SET(dgst_both, o->hdr_digest = o->data_digest = true)

static void icresp_fields_are_checked_and_named(void **state)
{
	assert_int_equal(connect_with(pfv_1, "version"), -EPROTO);
	assert_int_equal(connect_with(cpda_31, NULL), 0); /* C099 */
	assert_int_equal(connect_with(cpda_32, "CPDA"), -EPROTO);
	/* C095 */
	assert_int_equal(connect_with(maxh2c_0, "MAXH2CDATA"), -EPROTO);
	assert_int_equal(connect_with(maxh2c_4095, "MAXH2CDATA"), -EPROTO);
	assert_int_equal(connect_with(maxh2c_4098, "MAXH2CDATA"), -EPROTO);
	assert_int_equal(connect_with(maxh2c_4096, NULL), 0);
	assert_int_equal(connect_with(maxh2c_huge, NULL), 0);
}

/* C122 */
static void a_digest_is_granted_as_asked_or_the_connect_fails(void **state)
{
	assert_int_equal(connect_with(hdgst_refused, "header digest"), -ENOTSUP);
	assert_int_equal(connect_with(ddgst_refused, "data digest"), -ENOTSUP);
	assert_int_equal(connect_with(dgst_unasked, "not asked for"), -EPROTO);
	assert_int_equal(connect_with(dgst_both, NULL), 0);
}

/* ---- Connect statuses ---- */

static const struct {
	uint16_t status;
	uint32_t dw0;
	const char *words[3];
} refusals[] = {
	{ 0x006, 0, { "Internal" } },
	{ 0x180 | 0x4000, 0, { "Incompatible Format" } },
	{ 0x181, 0, { "Busy" } },
	{ 0x182 | 0x4000, 1 << 16 | 256, { "Invalid Parameters", "subsysnqn" } },
	{ 0x182 | 0x4000, 1 << 16 | 512, { "Invalid Parameters", "hostnqn" } },
	{ 0x182 | 0x4000, 1 << 16 | 0, { "Invalid Parameters", "hostid" } },
	{ 0x182 | 0x4000, 1 << 16 | 16, { "Invalid Parameters", "cntlid" } },
	{ 0x182 | 0x4000, 42, { "Invalid Parameters", "qid" } },
	{ 0x182 | 0x4000, 44, { "Invalid Parameters", "sqsize" } },
	{ 0x183, 0, { "Restart Discovery" } },
	{ 0x184 | 0x4000, 0, { "Invalid Host" } },
	{ 0x191 | 0x4000, 0, { "Authentication Required" } },
};

/* C150, C151 */
static void each_refusal_of_connect_has_its_own_message(void **state)
{
	char seen[2 * ARRAY_SIZE(refusals)][512];
	size_t i, j, n = 0;
	unsigned int qid;

	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		for (qid = 0; qid < 2; qid++) {
			struct peer *p = peer_new();
			char *port;

			p->script.connect_status = refusals[i].status;
			p->script.connect_dw0 = refusals[i].dw0;
			p->script.fail_qid = (uint16_t)qid;
			assert_int_equal(peer_connect(p, NULL), refusals[i].status);
			snprintf(seen[n], sizeof(seen[n]), "%s", nvof_ctrl_errmsg(p->ctrl));
			print_message("# %s\n", seen[n]);
			for (j = 0; j < 3 && refusals[i].words[j]; j++)
				if (!strcasestr(seen[n], refusals[i].words[j]))
					fail_msg("'%s' does not say '%s'", seen[n], refusals[i].words[j]);
			/* The port differs from run to run: blank it, so that equal messages show. */
			port = strstr(seen[n], p->port);
			assert_non_null(port);
			memset(port, '#', strlen(p->port));
			for (j = 0; j < n; j++)
				assert_string_not_equal(seen[j], seen[n]);
			n++;
			peer_free(p);
		}
	}
}

/* ---- counts ---- */

struct count {
	unsigned int asked;
	uint32_t grant;
	unsigned int want;
};

/* C036 */
static void the_granted_number_of_queues_is_used(void **state)
{
	static const struct count counts[] = { { 64, 63, 63 }, { 8, 1, 1 }, { 4, 0x10000, 4 } };
	size_t i;
	int c, connects;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		struct peer *p = peer_new();
		struct nvof_connect_opts opts;

		p->script.grant = counts[i].grant;
		peer_connect_opts(p, &opts);
		opts.nr_io_queues = counts[i].asked;
		peer_live(p, &opts);
		assert_int_equal(nvof_ctrl_nr_io_queues(p->ctrl), counts[i].want);
		for (c = connects = 0; c < p->nr_conns; c++)
			connects += p->conns[c].connected;
		assert_int_equal(connects, counts[i].want + 1);
		peer_free(p);
	}
}

SET(grant_refused, s->features_status = 0x4006)
SET(ioccsz_0, s->ioccsz = 0)
SET(ioccsz_3, s->ioccsz = 3)
SET(ioccsz_4, s->ioccsz = 4)
SET(never_ready, s->csts_never_ready = true)

static void a_ctrl_that_cannot_be_used_is_refused_by_name(void **state)
{
	/* C103 */
	assert_int_equal(connect_with(ioccsz_0, "IOCCSZ"), -EPROTO);
	assert_int_equal(connect_with(ioccsz_3, "IOCCSZ"), -EPROTO);
	assert_int_equal(connect_with(ioccsz_4, NULL), 0);
	assert_int_equal(connect_with(grant_refused, "ueues"), 0x4006);
	assert_int_equal(connect_with(never_ready, "ready"), -ETIMEDOUT);
}

/* C012 */
static void a_closed_port_is_refused_again_and_again_without_a_leak(void **state)
{
	struct peer *p = peer_new();
	struct nvof_connect_opts opts;
	struct nvof_ctrl *ctrl;
	int i, fds = 0;

	close(p->lfd);
	p->lfd = -1;
	peer_connect_opts(p, &opts);
	for (i = 0; i < 200; i++) {
		assert_int_equal(nvof_ctrl_connect_sync(p->ctx, &opts, &ctrl), -ECONNREFUSED);
		assert_null(ctrl);
		if (i == 0)
			fds = count_fds();
	}
	assert_int_equal(count_fds(), fds);
	assert_non_null(strcasestr(nvof_ctx_errmsg(p->ctx), "refused"));
	assert_non_null(strstr(nvof_ctx_errmsg(p->ctx), p->port));
	peer_free(p);
}

/* The first SYN finds the backlog full and is sent again a second later, as over a network that is slow. */
static void a_tcp_connect_that_takes_its_time_is_waited_for(void **state)
{
	struct sockaddr_in sin;
	socklen_t len = sizeof(sin);
	struct peer *p = peer_new();
	struct nvof_connect_opts opts;
	uint64_t start = clock_ns();
	int others[2], i;

	assert_int_equal(listen(p->lfd, 0), 0);
	assert_int_equal(getsockname(p->lfd, (struct sockaddr *)&sin, &len), 0);
	for (i = 0; i < 2; i++) {
		others[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		connect(others[i], (struct sockaddr *)&sin, sizeof(sin));
	}
	peer_connect_opts(p, &opts);
	opts.connect_tmo_ms = 20000;
	peer_live(p, &opts);
	assert_true(clock_ns() - start > 500 * NSEC_PER_MSEC); /* it was not connected at once */
	for (i = 0; i < 2; i++)
		close(others[i]);
	peer_free(p);
}

static void names_resolve(void **state)
{
	struct peer *p = peer_new();
	struct nvof_connect_opts opts;
	struct nvof_ctrl *ctrl;

	peer_connect_opts(p, &opts);
	opts.traddr = "localhost";
	peer_live(p, &opts);
	nvof_ctrl_free(p->ctrl);
	p->ctrl = NULL;
	opts.traddr = "no-such-host.invalid";
	assert_int_equal(nvof_ctrl_connect_sync(p->ctx, &opts, &ctrl), -ENOENT);
	assert_non_null(strstr(nvof_ctx_errmsg(p->ctx), "no-such-host.invalid"));
	peer_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silence_at_any_state_ends_at_the_time_out),
		cmocka_unit_test(a_close_at_any_state_is_an_error_at_once),
		cmocka_unit_test(a_reset_at_any_state_is_an_error_at_once),
		cmocka_unit_test(a_pdu_of_unknown_type_at_any_state_is_a_protocol_error),
		cmocka_unit_test(a_command_from_the_target_at_any_state_is_a_protocol_error),
		cmocka_unit_test(wrong_lengths_at_any_state_are_a_protocol_error),
		cmocka_unit_test(an_answer_to_no_command_is_a_protocol_error),
		cmocka_unit_test(a_second_answer_is_told_as_the_connects_end),
		cmocka_unit_test(a_term_request_at_any_state_is_named),
		cmocka_unit_test(a_piece_of_icresp_is_not_an_answer),
		cmocka_unit_test(icresp_fields_are_checked_and_named),
		cmocka_unit_test(a_digest_is_granted_as_asked_or_the_connect_fails),
		cmocka_unit_test(each_refusal_of_connect_has_its_own_message),
		cmocka_unit_test(the_granted_number_of_queues_is_used),
		cmocka_unit_test(a_ctrl_that_cannot_be_used_is_refused_by_name),
		cmocka_unit_test(a_closed_port_is_refused_again_and_again_without_a_leak),
		cmocka_unit_test(a_tcp_connect_that_takes_its_time_is_waited_for),
		cmocka_unit_test(names_resolve),
	};

	return cmocka_run_group_tests_name("host set-up", tests, NULL, NULL);
}
