/* SPDX-License-Identifier: BSD-3-Clause */
/* Early links: I/O queues are linked while the admin queue initialises the ctrl, and peers that do not like it are served all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/util.h"
#include "peer/target_peer.h"

/* What the peer does to connections other than the first, the admin queue's. */
struct manners {
	int most;		/* connections at a time; more are closed; 0: any number */
	bool none_early;	/* closes what comes before Set Features was answered */
	bool none_ever_after;	/* and having seen one, every other of the same association, too */
	bool closes_idle;	/* an early link that has waited for a moment is closed */
	bool closes_at_connect; /* each early link, when Connect comes over it */
	int silent;		/* the first so many get no ICResp */
	bool nonsense;		/* is the answer to ICReq */
	uint8_t early_pdu;	/* comes over each early link that waits; 0: none */
	bool ready;		/* Set Features was answered */
	bool seen;
	int nr_early, nr_closed;
	int nr_silenced;
};

static int open_conns(const struct peer *p)
{
	int i, n = 0;

	for (i = 0; i < p->nr_conns; i++)
		n += p->conns[i].fd >= 0 && !p->conns[i].closed_by_host;
	return n;
}

static void turn_away(struct manners *m, struct peer_conn *c)
{
	m->nr_closed++;
	peer_closes(c);
}

static bool on_accept(struct peer *p, struct peer_conn *c)
{
	struct manners *m = p->arg;

	if (!c->index)
		return false;
	m->nr_early += !m->ready;
	if ((m->most && open_conns(p) > m->most) || (m->none_early && !m->ready)) {
		m->seen = true;
		turn_away(m, c);
	}
	return false;
}

static bool is_cmd(const struct peer_pdu *in, uint8_t opcode)
{
	return in->pdu.hdr.type == NVME_TCP_CMD && in->pdu.cmd.sqe.opcode == opcode;
}

static bool is_connect(const struct peer_pdu *in)
{
	return is_cmd(in, NVMF_OPCODE) && le32toh(in->pdu.cmd.sqe.nsid) % 256 == NVMF_CONNECT;
}

static void close_idle(struct peer *p)
{
	int i;

	for (i = 1; i < p->nr_conns; i++)
		if (p->conns[i].fd >= 0 && p->conns[i].ic_done)
			turn_away(p->arg, &p->conns[i]);
}

static void send_early(struct peer *p, uint8_t type)
{
	static const uint8_t data[512];
	int i;

	for (i = 1; i < p->nr_conns; i++) {
		struct peer_conn *c = &p->conns[i];

		if (c->fd < 0 || !c->ic_done)
			continue;
		if (type == NVME_TCP_RSP)
			peer_sends_cqe(c, 0, 0, 0);
		else if (type == NVME_TCP_C2H_DATA)
			peer_sends_c2h(c, 0, 0, data, sizeof(data), NVME_TCP_F_LAST);
		else
			peer_sends_r2t(c, 0, 0, 0, 512);
	}
}

static bool on_pdu(struct peer *p, struct peer_pdu *in)
{
	struct manners *m = p->arg;

	if (!in->c->qid && is_cmd(in, nvme_admin_set_features)) {
		if (m->closes_idle)
			close_idle(p);
		if (m->early_pdu)
			send_early(p, m->early_pdu);
		m->ready = true;
	}
	if (in->pdu.hdr.type == NVME_TCP_ICREQ && in->c->index) {
		if (m->nr_silenced < m->silent)
			return ++m->nr_silenced;
		if (m->nonsense) {
			peer_sends_raw(in->c, "HTTP/1.1 400 Bad Request", 24);
			return true;
		}
	}
	if (in->c->index && in->c->qid == 0xffff && is_connect(in) && in->pdu.cmd.sqe.cdw10 >> 16) {
		if ((m->closes_at_connect && in->c->index <= m->nr_early) || (m->none_ever_after && m->seen)) {
			turn_away(m, in->c);
			return true;
		}
	}
	if (in->c->index && is_connect(in) && !(in->pdu.cmd.sqe.cdw10 >> 16))
		m->seen = m->ready = false; /* the admin queue of another attempt */
	return false;
}

static struct peer *peer_with(struct manners *m, struct nvof_connect_opts *opts, unsigned int nr_io_queues, uint32_t grant)
{
	struct peer *p = peer_new();

	p->arg = m;
	p->hook = on_pdu;
	p->accept_hook = on_accept;
	p->script.grant = grant;
	peer_connect_opts(p, opts);
	opts->nr_io_queues = nr_io_queues;
	return p;
}

static void expect_live(struct peer *p, const struct nvof_connect_opts *opts, unsigned int nr_io_queues)
{
	unsigned int i, nr = 0;

	peer_live(p, opts);
	assert_int_equal(nvof_ctrl_nr_io_queues(p->ctrl), nr_io_queues);
	peer_run_ms(p, 20);
	/* Each qid has just one connection, and no other one is left. */
	assert_int_equal(open_conns(p), nr_io_queues + 1);
	for (i = 1; i <= nr_io_queues; i++)
		nr += peer_conn_of(p, (uint16_t)i)->fd >= 0;
	assert_int_equal(nr, nr_io_queues);
}

static void links_are_made_while_the_ctrl_is_initialised(void **state)
{
	struct manners m = { 0 };
	struct nvof_connect_opts opts;
	struct peer *p = peer_with(&m, &opts, 8, 8);
	const struct nvof_span *spans;
	size_t i, n, nr_waited = 0;
	double init_end = 0;

	expect_live(p, &opts, 8);
	assert_int_equal(m.nr_early, 8);
	n = nvof_ctrl_timeline(p->ctrl, &spans);
	for (i = 0; i < n; i++) {
		if (!spans[i].qid && !strcmp(spans[i].state, "init"))
			init_end = spans[i].end_us;
		if (spans[i].qid && !strcmp(spans[i].state, "link"))
			assert_true(spans[i].start_us < init_end);
		if (spans[i].qid && !strcmp(spans[i].state, "connect"))
			assert_true(spans[i].start_us >= init_end);
		nr_waited += !strcmp(spans[i].state, "linked");
	}
	assert_int_equal(nr_waited, 8);
	peer_free(p);
}

static void one_after_the_other_makes_no_early_link(void **state)
{
	struct nvof_connect_opts opts;
	int way;

	for (way = 0; way < 2; way++) {
		struct manners m = { 0 };
		struct peer *p = peer_with(&m, &opts, 4, 4);

		opts.setup_concurrency = way ? 0 : 1;
		opts.no_early_links = way;
		expect_live(p, &opts, 4);
		assert_int_equal(m.nr_early, 0);
		peer_free(p);
	}
}

static void a_limit_of_links_at_once_holds_for_early_ones(void **state)
{
	struct manners m = { 0 };
	struct nvof_connect_opts opts;
	struct peer *p = peer_with(&m, &opts, 9, 9);

	opts.setup_concurrency = 3;
	expect_live(p, &opts, 9);
	assert_int_equal(m.nr_early, 3);
	peer_free(p);
}

static void surplus_links_are_closed_when_fewer_are_granted(void **state)
{
	uint32_t grant;

	for (grant = 1; grant <= 16; grant += 5) {
		struct manners m = { 0 };
		struct nvof_connect_opts opts;
		struct peer *p = peer_with(&m, &opts, 16, grant);

		expect_live(p, &opts, grant);
		assert_int_equal(m.nr_early, 16);
		peer_free(p);
	}
}

/* C053 */
static void a_discovery_service_with_a_name_of_its_own_keeps_none(void **state)
{
	uint16_t refusal;

	for (refusal = 0; refusal <= 0x4002; refusal += 0x4002) {
		struct manners m = { 0 };
		struct nvof_connect_opts opts;
		struct peer *p = peer_with(&m, &opts, 8, 8);

		p->script.cntrltype = NVME_CTRL_CNTRLTYPE_DISCOVERY;
		p->script.features_status = refusal;
		peer_live(p, &opts);
		assert_int_equal(nvof_ctrl_nr_io_queues(p->ctrl), 0);
		peer_run_ms(p, 20);
		assert_int_equal(m.nr_early, 8);
		assert_int_equal(open_conns(p), 1);
		assert_int_equal(p->nr_warnings, 0);
		peer_free(p);
	}
}

static void a_refusal_leads_to_the_plain_order_and_is_remembered(void **state)
{
	struct manners m = { .none_early = true };
	struct nvof_connect_opts opts;
	struct peer *p = peer_with(&m, &opts, 6, 6);
	struct nvof_ctrl *first;

	expect_live(p, &opts, 6);
	assert_int_equal(m.nr_early, 6);
	first = p->ctrl;
	m.ready = m.none_early = false;
	peer_live(p, &opts);		     /* another ctrl, to the same peer */
	assert_int_equal(m.nr_early, 6 + 1); /* its admin queue */
	nvof_ctrl_free(first);
	peer_free(p);
}

static void an_objection_is_said_once_for_each_ctrl(void **state)
{
	struct manners m = { .closes_idle = true };
	struct nvof_connect_opts opts;
	struct peer *p = peer_with(&m, &opts, 5, 5);

	expect_live(p, &opts, 5);
	assert_int_equal(m.nr_closed, 5);
	assert_int_equal(p->nr_warnings, 1);
	assert_non_null(strstr(p->warning, "an early link failed"));
	assert_non_null(strstr(p->warning, p->port));
	peer_free(p);
}

static void no_objection_no_word(void **state)
{
	struct manners m = { 0 };
	struct nvof_connect_opts opts;
	struct peer *p = peer_with(&m, &opts, 5, 5);

	expect_live(p, &opts, 5);
	assert_int_equal(p->nr_warnings, 0);
	peer_free(p);
}

static void a_peer_with_few_connections_serves_what_it_granted(void **state)
{
	int most;

	for (most = 2; most <= 6; most++) {
		struct manners m = { .most = most };
		struct nvof_connect_opts opts;
		struct peer *p = peer_with(&m, &opts, 12, (uint32_t)most - 1);

		expect_live(p, &opts, (unsigned int)most - 1);
		assert_true(m.nr_closed > 0);
		peer_free(p);
	}
}

static void links_closed_for_being_idle_are_made_again(void **state)
{
	struct manners m = { .closes_idle = true };
	struct nvof_connect_opts opts;
	struct peer *p = peer_with(&m, &opts, 5, 5);

	expect_live(p, &opts, 5);
	assert_int_equal(m.nr_closed, 5);
	peer_free(p);
}

static void links_closed_when_they_are_used_are_made_again(void **state)
{
	struct manners m = { .closes_at_connect = true };
	struct nvof_connect_opts opts;
	struct peer *p = peer_with(&m, &opts, 5, 5);

	expect_live(p, &opts, 5);
	assert_int_equal(m.nr_closed, 5);
	peer_free(p);
}

static void a_peer_that_bears_a_grudge_gets_a_second_association(void **state)
{
	struct manners m = { .none_early = true, .none_ever_after = true };
	struct nvof_connect_opts opts;
	struct peer *p = peer_with(&m, &opts, 3, 3);

	peer_live(p, &opts);
	assert_int_equal(nvof_ctrl_nr_io_queues(p->ctrl), 3);
	assert_int_equal(m.nr_early, 3); /* none in the second attempt */
	peer_run_ms(p, 20);
	assert_int_equal(open_conns(p), 4);
	peer_free(p);
}

static void what_is_linked_goes_first_where_some_hang(void **state)
{
	struct manners m = { .silent = 3 };
	struct nvof_connect_opts opts;
	struct peer *p = peer_with(&m, &opts, 8, 5);
	uint64_t start = clock_ns();

	opts.connect_tmo_ms = 60000;
	expect_live(p, &opts, 5);
	assert_true(clock_ns() - start < opts.connect_tmo_ms * NSEC_PER_MSEC / 2);
	assert_int_equal(m.nr_silenced, 3);
	peer_free(p);
}

static void links_that_hang_end_at_the_time_out(void **state)
{
	struct manners m = { .silent = 3 };
	struct nvof_connect_opts opts;
	struct peer *p = peer_with(&m, &opts, 5, 5);

	opts.connect_tmo_ms = 300;
	assert_int_equal(peer_connect(p, &opts), -ETIMEDOUT);
	assert_non_null(strstr(nvof_ctrl_errmsg(p->ctrl), "no ICResp within 300 ms"));
	peer_free(p);
}

/* No command was sent over it, and none can be outstanding. */
static void answers_over_an_early_link_end_the_connect(void **state)
{
	static const uint8_t types[] = { NVME_TCP_RSP, NVME_TCP_C2H_DATA, NVME_TCP_R2T };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct manners m = { .early_pdu = types[i] };
		struct nvof_connect_opts opts;
		struct peer *p = peer_with(&m, &opts, 4, 4);

		assert_int_equal(peer_connect(p, &opts), -EPROTO);
		assert_non_null(strstr(nvof_ctrl_errmsg(p->ctrl), "connect qid 1 (linked)"));
		assert_non_null(strstr(nvof_ctrl_errmsg(p->ctrl), "command id 0, which is not outstanding"));
		peer_free(p);
	}
}

static void nonsense_on_an_early_link_ends_the_connect(void **state)
{
	struct manners m = { .nonsense = true };
	struct nvof_connect_opts opts;
	struct peer *p = peer_with(&m, &opts, 4, 4);

	assert_int_equal(peer_connect(p, &opts), -EPROTO);
	assert_non_null(strstr(nvof_ctrl_errmsg(p->ctrl), "(icreq)"));
	peer_run_ms(p, 20);
	assert_int_equal(open_conns(p), 0);
	peer_free(p);
}

static void a_disconnect_in_the_middle_closes_early_links(void **state)
{
	struct manners m = { .silent = 99 };
	struct nvof_connect_opts opts;
	struct peer *p = peer_with(&m, &opts, 7, 7);
	int i;

	assert_int_equal(nvof_ctrl_connect(p->ctx, &opts, NULL, NULL, &p->ctrl), 0);
	for (i = 0; i < 1000 && m.nr_early < 7; i++)
		peer_run_ms(p, 1);
	assert_int_equal(m.nr_early, 7);
	nvof_ctrl_free(p->ctrl);
	p->ctrl = NULL;
	peer_run_ms(p, 20);
	assert_int_equal(open_conns(p), 0);
	peer_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_are_made_while_the_ctrl_is_initialised),
		cmocka_unit_test(one_after_the_other_makes_no_early_link),
		cmocka_unit_test(a_limit_of_links_at_once_holds_for_early_ones),
		cmocka_unit_test(surplus_links_are_closed_when_fewer_are_granted),
		cmocka_unit_test(a_discovery_service_with_a_name_of_its_own_keeps_none),
		cmocka_unit_test(a_refusal_leads_to_the_plain_order_and_is_remembered),
		cmocka_unit_test(an_objection_is_said_once_for_each_ctrl),
		cmocka_unit_test(no_objection_no_word),
		cmocka_unit_test(a_peer_with_few_connections_serves_what_it_granted),
		cmocka_unit_test(links_closed_for_being_idle_are_made_again),
		cmocka_unit_test(links_closed_when_they_are_used_are_made_again),
		cmocka_unit_test(a_peer_that_bears_a_grudge_gets_a_second_association),
		cmocka_unit_test(what_is_linked_goes_first_where_some_hang),
		cmocka_unit_test(links_that_hang_end_at_the_time_out),
		cmocka_unit_test(answers_over_an_early_link_end_the_connect),
		cmocka_unit_test(nonsense_on_an_early_link_ends_the_connect),
		cmocka_unit_test(a_disconnect_in_the_middle_closes_early_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
