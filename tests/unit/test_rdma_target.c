/* SPDX-License-Identifier: BSD-3-Clause */
/* How a connection to the RDMA target half is accepted, and what is said when it is not, on a device that is not there. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_target.h"
#include "fake_verbs.h"
#include "transport/rdma/rdma_target.h"

/* What was logged at info or above. */
struct lines {
	unsigned int nr;
	int level; /* of the last one */
	char text[256];
};

static void take_line(void *arg, int level, const char *msg)
{
	struct lines *lines = arg;

	lines->nr++;
	lines->level = level;
	snprintf(lines->text, sizeof(lines->text), "%s", msg);
}

static int setup(void **state)
{
	struct lines *lines = calloc(1, sizeof(*lines));

	memset(&ft, 0, sizeof(ft));
	ft.params = (struct target_link_params){ .inline_len = 4096, .mdts_len = 1 << 20, .max_queue_size = 128 };
	ft.log = (struct log){ .fn = take_line, .arg = lines, .level = LOG_INFO };
	fake_verbs.left = false;
	fake_verbs.qp_err = fake_verbs.accept_err = 0;
	fake_verbs.nr_accepts = fake_verbs.nr_rejects = 0;
	*state = lines;
	return loop_new(&ft.loop);
}

static int teardown(void **state)
{
	for (int i = 0; i < 2000 && ft.q; i++)
		ft_turn();
	assert_null(ft.q);
	assert_int_equal(ft.nr_closed, 1);
	loop_free(ft.loop);
	assert_int_equal(fake_verbs.nr_pds, 0);
	assert_int_equal(fake_verbs.nr_mrs, 0);
	assert_int_equal(fake_verbs.nr_srqs, 0);
	assert_int_equal(fake_verbs.nr_cqs, 0);
	assert_int_equal(fake_verbs.nr_qps, 0);
	assert_int_equal(fake_verbs.nr_ids, 0);
	free(*state);
	return 0;
}

static struct rt_conn *asks(uint16_t qid)
{
	struct nvme_rdma_cm_req cm = { .qid = qid, .hrqsize = 32, .hsqsize = 31 };
	struct rdma_event ev = { .type = RDMA_CM_EVENT_CONNECT_REQUEST, .reads_in = 4, .reads_out = 4 };
	struct rt_conn *c = rt_conn_new(fake_verbs_id(NULL), &cm, &ev);

	assert_non_null(c);
	c->q.loop = ft.loop;
	rt_conn_start(c);
	return c;
}

static void expect_left(const struct lines *lines)
{
	assert_int_equal(lines->nr, 1);
	assert_int_equal(lines->level, LOG_INFO);
	assert_non_null(strstr(lines->text, "the host left before it was accepted"));
	assert_int_equal(fake_verbs.nr_rejects, 0);
}

static void expect_refused(const struct lines *lines, const char *why)
{
	assert_int_equal(lines->nr, 1);
	assert_int_equal(lines->level, LOG_WARN);
	if (!strstr(lines->text, why))
		fail_msg("%s", lines->text);
	assert_int_equal(fake_verbs.nr_rejects, 1);
}

static void a_host_that_stays_is_accepted(void **state)
{
	struct lines *lines = *state;
	struct rt_conn *c = asks(0);

	assert_int_equal(c->state, RT_CONN_LINK);
	assert_int_equal(fake_verbs.nr_accepts, 1);
	assert_int_equal(fake_verbs.nr_rejects, 0);
	assert_int_equal(lines->nr, 0);
	c->q.ops->queue_close(&c->q);
}

/* ---- hosts that leave ---- */

static void a_host_may_leave_before_there_is_a_queue_pair(void **state)
{
	fake_verbs.left = true;
	asks(0);
	expect_left(*state);
	assert_int_equal(fake_verbs.nr_accepts, 0);
}

static void so_may_one_that_wants_an_io_queue(void **state)
{
	fake_verbs.left = true;
	asks(1);
	expect_left(*state);
	assert_int_equal(fake_verbs.nr_accepts, 0);
}

static int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

/* Between the queue pair and accepting. */
static int leave_and_post(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	fake_verbs.left = true;
	return post_recv(qp, wr, bad);
}

static void a_host_may_leave_when_there_is_a_queue_pair(void **state)
{
	post_recv = fake_verbs.context.ops.post_recv;
	fake_verbs.context.ops.post_recv = leave_and_post;
	asks(0);
	fake_verbs.context.ops.post_recv = post_recv;
	expect_left(*state);
	assert_int_equal(fake_verbs.nr_accepts, 1);
}

/* ---- failures of ours ---- */

static void a_queue_pair_that_can_not_be_made_is_warned_of(void **state)
{
	fake_verbs.qp_err = EINVAL;
	asks(0);
	expect_refused(*state, "entries on fake0: Invalid argument");
}

/* Also when the host has left meanwhile: it would not have had one. */
static void a_lack_of_memory_is_no_host_that_left(void **state)
{
	fake_verbs.qp_err = ENOMEM;
	fake_verbs.left = true;
	asks(0);
	expect_refused(*state, "entries on fake0: Cannot allocate memory");
}

static void an_accept_that_fails_is_warned_of(void **state)
{
	fake_verbs.accept_err = EINVAL;
	asks(0);
	expect_refused(*state, "accept the connection: Invalid argument");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_host_that_stays_is_accepted),
		TEST(a_host_may_leave_before_there_is_a_queue_pair),
		TEST(so_may_one_that_wants_an_io_queue),
		TEST(a_host_may_leave_when_there_is_a_queue_pair),
		TEST(a_queue_pair_that_can_not_be_made_is_warned_of),
		TEST(a_lack_of_memory_is_no_host_that_left),
		TEST(an_accept_that_fails_is_warned_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
