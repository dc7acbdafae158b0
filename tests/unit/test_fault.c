/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "target/fault.h"

#define T0 UINT64_C(1000000)

static struct fault_set set;

static int setup(void **state)
{
	fault_set_init(&set);
	return 0;
}

static int teardown(void **state)
{
	fault_set_clear(&set);
	return 0;
}

static void rule(const char *spec)
{
	struct error err = { 0 };

	if (fault_set_add(&set, spec, T0, &err))
		fail_msg("%s", error_msg(&err));
}

static struct fault_action match(enum fault_point point, uint16_t qid, uint8_t opcode, uint32_t nsid)
{
	struct fault_event ev = { .point = point, .qid = qid, .opcode = opcode, .nsid = nsid, .now_ns = T0 };

	return fault_match(&set, &ev);
}

static struct fault_action match_at(uint64_t now_ns)
{
	struct fault_event ev = { .point = FAULT_IO, .qid = 1, .opcode = 2, .nsid = 1, .now_ns = now_ns };

	return fault_match(&set, &ev);
}

static bool nothing(struct fault_action a)
{
	return fault_action_none(&a);
}

static void an_empty_set_does_nothing(void **state)
{
	assert_false(fault_any(&set));
	assert_true(nothing(match(FAULT_IO, 1, 2, 1)));
}

static void connect_and_icreq_mean_the_admin_queue_too(void **state)
{
	rule("on=connect,delay=5ms");
	rule("on=icreq,delay=20us");
	assert_true(match(FAULT_CONNECT, 0, 0x7f, 0).delay_ns == 5 * NSEC_PER_MSEC);
	assert_true(match(FAULT_CONNECT, 3, 0x7f, 0).delay_ns == 5 * NSEC_PER_MSEC);
	assert_true(match(FAULT_ICREQ, 0, 0, 0).delay_ns == 20 * NSEC_PER_USEC);
	assert_true(nothing(match(FAULT_ACCEPT, 0, 0, 0)));
	assert_true(nothing(match(FAULT_IO, 1, 2, 1)));
}

static void qid_io_leaves_the_admin_queue_alone(void **state)
{
	rule("on=connect,qid=io,status=1:84h:dnr");
	assert_true(nothing(match(FAULT_CONNECT, 0, 0x7f, 0)));
	assert_int_equal(match(FAULT_CONNECT, 1, 0x7f, 0).status, 0x4184);
	assert_int_equal(match(FAULT_CONNECT, 65534, 0x7f, 0).status, 0x4184);
}

static void one_queue_is_chosen_by_its_number(void **state)
{
	rule("on=io,qid=2,drop");
	assert_true(nothing(match(FAULT_IO, 1, 2, 1)));
	assert_true(match(FAULT_IO, 2, 2, 1).drop);
}

static void opcodes_have_names_and_numbers(void **state)
{
	struct fault_event get = { .point = FAULT_ADMIN, .opcode = 0x7f, .fctype = 4 }, put = { .point = FAULT_ADMIN, .opcode = 0x7f };

	rule("on=io,opcode=read,status=2:81h");
	rule("on=io,opcode=0x01,ignore");
	rule("on=admin,opcode=property-get,drop");
	rule("on=admin,opcode=6,delay=1s");
	assert_int_equal(match(FAULT_IO, 1, 2, 1).status, 0x281);
	assert_true(match(FAULT_IO, 1, 1, 1).ignore);
	assert_true(nothing(match(FAULT_IO, 1, 0, 1)));
	assert_true(fault_match(&set, &get).drop);
	assert_true(nothing(fault_match(&set, &put)));
	assert_true(match(FAULT_ADMIN, 0, 6, 0).delay_ns == NSEC_PER_SEC);
	assert_true(nothing(match(FAULT_ADMIN, 0, 2, 0))); /* Get Log has the number of read */
}

static void nsid_is_compared(void **state)
{
	rule("on=io,nsid=7,status=0:0x0b:dnr");
	assert_true(nothing(match(FAULT_IO, 1, 2, 1)));
	assert_int_equal(match(FAULT_IO, 1, 2, 7).status, 0x400b);
}

static void status_takes_decimal_hex_and_flags(void **state)
{
	static const struct {
		const char *spec;
		uint16_t status;
	} good[] = {
		{ "on=io,status=1:132", 0x184 },	  { "on=io,status=1:0x84", 0x184 },    { "on=io,status=1:84H:DNR", 0x4184 },
		{ "on=io,status=0:21h:crd2", 0x1021 },	  { "on=io,status=0:6:more", 0x2006 }, { "on=io,status=3:3", 0x303 },
		{ "on=io,status=0:33:crd3:dnr", 0x5821 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		rule(good[i].spec);
		assert_int_equal(match(FAULT_IO, 1, 2, 1).status, good[i].status);
		fault_set_clear(&set);
	}
}

static void after_and_count_bound_it(void **state)
{
	int i, hits = 0;

	rule("on=io,after=3,count=2,drop");
	for (i = 0; i < 10; i++) {
		bool hit = match(FAULT_IO, 1, 2, 1).drop;

		assert_int_equal(hit, i == 3 || i == 4);
		hits += hit;
	}
	assert_int_equal(hits, 2);
}

static void prob_hits_about_as_often_as_it_says(void **state)
{
	int i, hits = 0;

	rule("on=io,prob=0.1,drop");
	for (i = 0; i < 10000; i++)
		hits += match(FAULT_IO, 1, 2, 1).drop;
	assert_in_range(hits, 800, 1200); /* the sequence is the same each time */
}

static void delays_add_up_and_the_first_end_counts(void **state)
{
	struct fault_action a;

	rule("on=io,delay=1ms");
	rule("on=io,delay=2ms,status=2:81h");
	rule("on=io,drop");
	a = match(FAULT_IO, 1, 2, 1);
	assert_true(a.delay_ns == 3 * NSEC_PER_MSEC);
	assert_int_equal(a.status, 0x281);
	assert_false(a.drop);
}

static void a_stall_lasts_to_the_end_of_its_window(void **state)
{
	rule("on=io,every=500ms,for=50ms");
	assert_true(match_at(T0).delay_ns == 50 * NSEC_PER_MSEC);
	assert_true(match_at(T0 + 30 * NSEC_PER_MSEC).delay_ns == 20 * NSEC_PER_MSEC);
	assert_true(nothing(match_at(T0 + 50 * NSEC_PER_MSEC)));
	assert_true(nothing(match_at(T0 + 499 * NSEC_PER_MSEC)));
	assert_true(match_at(T0 + 510 * NSEC_PER_MSEC).delay_ns == 40 * NSEC_PER_MSEC);
	assert_true(match_at(T0 - 1).delay_ns == 50 * NSEC_PER_MSEC); /* a clock read just before */
}

static void a_window_limits_another_action(void **state)
{
	rule("on=io,every=10ms,for=1ms,status=0:21h");
	assert_int_equal(match_at(T0).status, 0x21);
	assert_true(match_at(T0).delay_ns == 0);
	assert_true(nothing(match_at(T0 + 2 * NSEC_PER_MSEC)));
}

static void bad_specs_name_the_key_and_what_is_allowed(void **state)
{
	static const struct {
		const char *spec, *says;
	} bad[] = {
		{ "", "on= is missing" },
		{ "delay=5ms", "on= is missing: must be accept" },
		{ "on=io", "nothing would happen: needs delay" },
		{ "on=reset,drop", "on=reset: must be accept, icreq, connect, admin or io" },
		{ "on=io,delay=5", "delay=5: a duration is" },
		{ "on=io,delay=0ms", "delay=0ms: must be more than 0" },
		{ "on=io,delay=4000s", "at most 3600s" },
		{ "on=io,delay=", "delay needs a value" },
		{ "on=io,delay", "delay needs a value" },
		{ "on=io,qid=x,drop", "qid=x: must be 0..65534, admin, io or all" },
		{ "on=io,qid=65535,drop", "qid=65535" },
		{ "on=io,qid=0,drop", "queue 0 is on=admin" },
		{ "on=admin,qid=io,drop", "on=admin is queue 0 alone" },
		{ "on=admin,qid=1,drop", "on=admin is queue 0 alone" },
		{ "on=icreq,qid=1,drop", "no queue id yet at on=icreq" },
		{ "on=accept,qid=admin,drop", "no queue id yet at on=accept" },
		{ "on=connect,opcode=1,drop", "opcode goes with" },
		{ "on=icreq,nsid=1,drop", "nsid goes with" },
		{ "on=io,opcode=identify,drop", "with on=io must be 0..255, read" },
		{ "on=admin,opcode=read,drop", "with on=admin must be 0..255, identify" },
		{ "on=io,opcode=256,drop", "opcode=256" },
		{ "on=io,nsid=-1,drop", "nsid=-1: must be" },
		{ "on=io,status=1", "must be SCT:SC[:dnr]" },
		{ "on=io,status=8:1", "SCT 0..7" },
		{ "on=io,status=1:256", "SC must be 0..255" },
		{ "on=io,status=1:84", NULL },
		{ "on=io,status=1:8g", "SC must be 0..255" },
		{ "on=io,status=:1", "must be SCT:SC" },
		{ "on=io,status=0:0", "is success" },
		{ "on=io,status=0:1:", "after SC only dnr" },
		{ "on=io,status=0:1:dnrx", "after SC only dnr" },
		{ "on=icreq,status=0:1", "on=icreq has no answer with a status" },
		{ "on=io,drop,ignore", "exclude one another" },
		{ "on=io,drop,drop", "drop is given twice" },
		{ "on=io,drop=1", "drop takes no value" },
		{ "on=io,drop,after=-1", "after=-1: must be a whole number from 0" },
		{ "on=io,drop,count=0", "count=0: must be a whole number from 1" },
		{ "on=io,drop,prob=0", "prob=0: must be above 0" },
		{ "on=io,drop,prob=1.1", "prob=1.1" },
		{ "on=io,drop,prob=nan", "prob=nan" },
		{ "on=io,drop,prob=.", "prob=." },
		{ "on=io,every=1s", "every needs for" },
		{ "on=io,for=1s", "for needs every" },
		{ "on=io,every=1s,for=2s", "for: must not be longer" },
		{ "on=io,drop,dela=5ms", "unknown key \"dela\"" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = { 0 };
		int ret = fault_set_add(&set, bad[i].spec, T0, &err);

		if (!bad[i].says) {
			assert_int_equal(ret, 0);
			fault_set_clear(&set);
			continue;
		}
		assert_int_equal(ret, -EINVAL);
		if (!strstr(error_msg(&err), bad[i].says))
			fail_msg("%s: got \"%s\", wanted \"%s\"", bad[i].spec, error_msg(&err), bad[i].says);
		error_clear(&err);
		assert_false(fault_any(&set));
	}
}

struct counted {
	int nr;
	uint64_t seen, acted;
};

static void count_rule(void *arg, const char *spec, uint64_t seen, uint64_t acted)
{
	struct counted *c = arg;

	assert_string_equal(spec, "on=io,after=1,drop");
	c->nr++;
	c->seen = seen;
	c->acted = acted;
}

static void foreach_shows_text_and_counters(void **state)
{
	struct counted c = { 0 };

	rule("on=io,after=1,drop");
	match(FAULT_IO, 1, 2, 1);
	match(FAULT_IO, 1, 2, 1);
	match(FAULT_ADMIN, 0, 6, 1);
	fault_set_foreach(&set, count_rule, &c);
	assert_int_equal(c.nr, 1);
	assert_int_equal(c.seen, 2);
	assert_int_equal(c.acted, 1);
}

struct hammer {
	bool stop;
	uint64_t hits;
};

static void *hammer_thread(void *arg)
{
	struct hammer *h = arg;

	while (!__atomic_load_n(&h->stop, __ATOMIC_RELAXED))
		__atomic_fetch_add(&h->hits, match(FAULT_IO, 1, 2, 1).drop, __ATOMIC_RELAXED);
	return NULL;
}

/* Run it under TSan and ASan: nothing is freed under a matcher. */
static void rules_come_and_go_under_matching_threads(void **state)
{
	struct hammer h = { 0 };
	pthread_t t[3];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++)
		assert_int_equal(pthread_create(&t[i], NULL, hammer_thread, &h), 0);
	for (i = 0; i < 300; i++) {
		rule("on=admin,drop");
		rule("on=io,drop");
		fault_set_clear(&set);
	}
	rule("on=io,count=1000,drop");
	__atomic_store_n(&h.hits, 0, __ATOMIC_RELAXED);
	while (__atomic_load_n(&h.hits, __ATOMIC_RELAXED) < 500)
		;
	__atomic_store_n(&h.stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < ARRAY_SIZE(t); i++)
		pthread_join(t[i], NULL);
}

static void *exhaust_thread(void *arg)
{
	struct hammer *h = arg;
	int i;

	for (i = 0; i < 5000; i++)
		__atomic_fetch_add(&h->hits, match(FAULT_IO, 1, 2, 1).drop, __ATOMIC_RELAXED);
	return NULL;
}

static void count_is_exact_across_threads(void **state)
{
	struct hammer h = { 0 };
	pthread_t t[3];
	size_t i;

	rule("on=io,count=1000,drop");
	for (i = 0; i < ARRAY_SIZE(t); i++)
		assert_int_equal(pthread_create(&t[i], NULL, exhaust_thread, &h), 0);
	for (i = 0; i < ARRAY_SIZE(t); i++)
		pthread_join(t[i], NULL);
	assert_int_equal(h.hits, 1000);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(an_empty_set_does_nothing),
		TEST(connect_and_icreq_mean_the_admin_queue_too),
		TEST(qid_io_leaves_the_admin_queue_alone),
		TEST(one_queue_is_chosen_by_its_number),
		TEST(opcodes_have_names_and_numbers),
		TEST(nsid_is_compared),
		TEST(status_takes_decimal_hex_and_flags),
		TEST(after_and_count_bound_it),
		TEST(prob_hits_about_as_often_as_it_says),
		TEST(delays_add_up_and_the_first_end_counts),
		TEST(a_stall_lasts_to_the_end_of_its_window),
		TEST(a_window_limits_another_action),
		TEST(bad_specs_name_the_key_and_what_is_allowed),
		TEST(foreach_shows_text_and_counters),
		TEST(rules_come_and_go_under_matching_threads),
		TEST(count_is_exact_across_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
