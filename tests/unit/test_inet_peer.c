/* SPDX-License-Identifier: BSD-3-Clause */
/* The addresses of a name: who tries which, and when the name is asked for again.  No network, no resolver: the test answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "transport/inet/inet_peer.h"
#include "transport/inet/inet_resolve.h"

/* ---- what stands for the resolver and the core ---- */

static struct {
	inet_resolve_cb *cb;
	void *arg;
	int family, nr_asked, nr_cancelled;
	bool waits;
} asked;

int __wrap_inet_resolve_start(struct loop *loop, const char *name, const char *svc, int family, inet_resolve_cb *cb, void *arg,
			      struct inet_resolve **rp);
int __wrap_inet_resolve_start(struct loop *loop, const char *name, const char *svc, int family, inet_resolve_cb *cb, void *arg,
			      struct inet_resolve **rp)
{
	asked.cb = cb;
	asked.arg = arg;
	asked.family = family;
	asked.nr_asked++;
	asked.waits = true;
	*rp = (struct inet_resolve *)&asked;
	return 0;
}

void __wrap_inet_resolve_cancel(struct inet_resolve *r);
void __wrap_inet_resolve_cancel(struct inet_resolve *r)
{
	asked.nr_cancelled += r && asked.waits;
	asked.waits = false;
}

static char failure[300];
static int failure_code;

void __wrap_host_queue_failed(struct host_queue *q, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void __wrap_host_queue_failed(struct host_queue *q, int code, const char *fmt, ...)
{
	va_list ap;

	failure_code = code;
	va_start(ap, fmt);
	vsnprintf(failure, sizeof(failure), fmt, ap);
	va_end(ap);
}

void __wrap_host_queue_enter(struct host_queue *q, enum queue_state state);
void __wrap_host_queue_enter(struct host_queue *q, enum queue_state state)
{
	q->state = state;
}

/* ---- a peer, and queues on their way ---- */

static const struct log quiet;
static struct host_link_params params;
static struct inet_peer peer;
static struct loop *loop;

struct way {
	struct host_queue q;
	struct inet_waiter w;
	int nr_known, nr_late;
};

static void known(struct inet_waiter *w)
{
	container_of(w, struct way, w)->nr_known++;
}

static void late(struct inet_waiter *w)
{
	struct way *way = container_of(w, struct way, w);

	way->nr_late++;
	assert_true(inet_waiter_next(w));
}

static void want(struct way *way, uint16_t qid)
{
	*way = (struct way){ .q.qid = qid, .w = { .q = &way->q, .known = known, .late = late } };
	inet_peer_want(&peer, &way->w);
}

/* The resolver's answer: addresses, separated by spaces. */
static void answer(const char *text)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM }, *list = NULL, **end = &list;
	char words[200], *save, *word;

	snprintf(words, sizeof(words), "%s", text);
	for (word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		assert_int_equal(getaddrinfo(word, "4420", &hints, end), 0);
		end = &(*end)->ai_next;
	}
	asked.waits = false;
	asked.cb(asked.arg, 0, "", list);
}

static void no_answer(void)
{
	asked.waits = false;
	asked.cb(asked.arg, -ENOENT, "Name or service not known", NULL);
}

static void peer_up(const char *traddr, const char *host_traddr)
{
	struct error err = { 0 };

	memset(&asked, 0, sizeof(asked));
	memset(&peer, 0, sizeof(peer));
	params = (struct host_link_params){
		.traddr = traddr, .trsvcid = "4420", .host_traddr = host_traddr, .connect_tmo_ms = 60000, .log = &quiet
	};
	assert_int_equal(inet_peer_init(&peer, &params, "tcp", loop, &err), 0);
}

/* Ready: the admin queue has gone to the first of them. */
static void linked_to_first(const char *addresses)
{
	struct way admin;

	peer_up("storage", NULL);
	want(&admin, 0);
	answer(addresses);
	assert_int_equal(admin.nr_known, 1);
	inet_waiter_linked(&admin.w);
	inet_waiter_cancel(&admin.w);
}

#define assert_at(way, where) assert_string_equal(inet_waiter_addr(&(way)->w)->text, where)

/* ---- the tests ---- */

static void a_numeric_address_is_nobodys_to_resolve(void **state)
{
	struct way admin;

	peer_up("192.0.2.7", NULL);
	for (int i = 0; i < 2; i++) {
		want(&admin, 0);
		assert_int_equal(admin.nr_known, 1);
		assert_at(&admin, "192.0.2.7:4420");
		assert_false(inet_waiter_next(&admin.w));
		inet_waiter_cancel(&admin.w);
	}
	assert_int_equal(asked.nr_asked, 0);
	inet_peer_exit(&peer);
}

static void each_queue_tries_each_address_once_whatever_others_do(void **state)
{
	struct way a, b;

	linked_to_first("192.0.2.1 192.0.2.2 192.0.2.3");
	want(&a, 1);
	want(&b, 2);
	assert_at(&a, "192.0.2.1:4420");
	assert_true(inet_waiter_next(&a.w));
	assert_at(&a, "192.0.2.2:4420");
	inet_waiter_linked(&a.w); /* others begin there from now on */
	assert_at(&b, "192.0.2.1:4420");
	assert_true(inet_waiter_next(&b.w));
	assert_at(&b, "192.0.2.2:4420");
	assert_true(inet_waiter_next(&b.w));
	assert_at(&b, "192.0.2.3:4420");
	assert_false(inet_waiter_next(&b.w));
	inet_waiter_cancel(&a.w);
	inet_waiter_cancel(&b.w);
	want(&b, 3);
	assert_at(&b, "192.0.2.2:4420");
	assert_true(inet_waiter_next(&b.w));
	assert_at(&b, "192.0.2.3:4420");
	assert_true(inet_waiter_next(&b.w));
	assert_at(&b, "192.0.2.1:4420"); /* all of them, wherever it began */
	assert_false(inet_waiter_next(&b.w));
	inet_waiter_cancel(&b.w);
	inet_peer_exit(&peer);
}

static void a_name_is_resolved_anew_by_each_association(void **state)
{
	struct way admin, io;

	linked_to_first("192.0.2.1 192.0.2.2");
	want(&io, 1);
	assert_int_equal(io.nr_known, 1);
	assert_int_equal(asked.nr_asked, 1);
	inet_waiter_cancel(&io.w);
	want(&admin, 0);
	assert_int_equal(admin.nr_known, 0);
	assert_int_equal(admin.q.state, QUEUE_RESOLVE);
	answer("192.0.2.8 192.0.2.1");
	assert_int_equal(asked.nr_asked, 2);
	assert_at(&admin, "192.0.2.1:4420"); /* where it was before, if that is still one of them */
	inet_waiter_cancel(&admin.w);
	want(&admin, 0);
	answer("192.0.2.9");
	assert_at(&admin, "192.0.2.9:4420");
	inet_waiter_cancel(&admin.w);
	inet_peer_exit(&peer);
}

static void addresses_that_can_t_be_asked_for_again_still_serve(void **state)
{
	struct way admin;

	linked_to_first("192.0.2.1 192.0.2.2");
	want(&admin, 0);
	no_answer();
	assert_int_equal(admin.nr_known, 1);
	assert_at(&admin, "192.0.2.1:4420");
	inet_waiter_cancel(&admin.w);
	inet_peer_exit(&peer);
}

static void a_resolver_that_hangs_keeps_no_reconnect_waiting(void **state)
{
	struct way admin;
	uint64_t before;

	linked_to_first("192.0.2.1 192.0.2.2");
	before = clock_ns();
	want(&admin, 0);
	assert_in_range(admin.w.share.deadline, before + 15 * NSEC_PER_SEC, clock_ns() + 15 * NSEC_PER_SEC);
	timer_set(loop, &admin.w.share, 0);
	while (!admin.nr_known)
		loop_turn(loop, 0);
	assert_int_equal(asked.nr_cancelled, 1);
	assert_at(&admin, "192.0.2.1:4420");
	inet_waiter_cancel(&admin.w);
	want(&admin, 0); /* it is asked again all the same */
	answer("192.0.2.9");
	assert_at(&admin, "192.0.2.9:4420");
	inet_waiter_cancel(&admin.w);
	inet_peer_exit(&peer);
}

/* An association that hung, or failed on its way, is no reason to begin the next one there. */
static void the_next_association_begins_with_another_address(void **state)
{
	struct way admin, io;

	linked_to_first("192.0.2.1 192.0.2.2");
	want(&io, 1);
	inet_waiter_cancel(&io.w); /* given up with the others: that says nothing */
	want(&admin, 0);
	answer("192.0.2.1 192.0.2.2");
	assert_at(&admin, "192.0.2.1:4420");
	inet_waiter_cancel(&admin.w);
	want(&admin, 0);
	answer("192.0.2.1 192.0.2.2");
	assert_at(&admin, "192.0.2.2:4420");
	inet_waiter_linked(&admin.w);
	inet_waiter_cancel(&admin.w);
	want(&admin, 0);
	answer("192.0.2.1 192.0.2.2");
	assert_at(&admin, "192.0.2.2:4420");
	inet_waiter_cancel(&admin.w);
	inet_peer_exit(&peer);
}

static void a_silent_address_has_its_share_of_the_time(void **state)
{
	struct way admin;
	uint64_t before = clock_ns();

	peer_up("storage", NULL);
	want(&admin, 0);
	answer("192.0.2.1 192.0.2.2 192.0.2.3");
	for (int i = 0; i < 2; i++) {
		assert_true(timer_armed(&admin.w.share));
		assert_in_range(admin.w.share.deadline, before + 20 * NSEC_PER_SEC, clock_ns() + 20 * NSEC_PER_SEC);
		timer_set(loop, &admin.w.share, 0);
		while (admin.nr_late == i)
			loop_turn(loop, 0);
	}
	assert_at(&admin, "192.0.2.3:4420");
	assert_false(timer_armed(&admin.w.share)); /* the last one has all that is left */
	inet_waiter_cancel(&admin.w);
	want(&admin, 0);
	answer("192.0.2.1 192.0.2.2 192.0.2.3");
	inet_waiter_linked(&admin.w);
	assert_false(timer_armed(&admin.w.share));
	inet_waiter_cancel(&admin.w);
	inet_peer_exit(&peer);
}

static void a_name_without_an_address_of_the_family_is_said_to_be_that(void **state)
{
	struct way admin;

	peer_up("storage", "2001:db8::1");
	want(&admin, 0);
	assert_int_equal(asked.family, AF_INET6);
	no_answer();
	assert_int_equal(failure_code, -ENOENT);
	assert_non_null(strstr(failure, "resolve 'storage' to an IPv6 address, as host-traddr '2001:db8::1' is one: Name or"));
	inet_waiter_cancel(&admin.w);
	inet_peer_exit(&peer);
}

static void several_wait_for_one_answer(void **state)
{
	struct way a, b;

	peer_up("storage", NULL);
	want(&a, 1);
	want(&b, 2);
	assert_int_equal(asked.nr_asked, 1);
	inet_waiter_cancel(&a.w);
	answer("192.0.2.1");
	assert_int_equal(a.nr_known, 0);
	assert_int_equal(b.nr_known, 1);
	inet_waiter_cancel(&b.w);
	inet_peer_exit(&peer);
}

static int setup(void **state)
{
	return loop_new(&loop);
}

static int teardown(void **state)
{
	loop_free(loop);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_numeric_address_is_nobodys_to_resolve),
		cmocka_unit_test(each_queue_tries_each_address_once_whatever_others_do),
		cmocka_unit_test(a_name_is_resolved_anew_by_each_association),
		cmocka_unit_test(addresses_that_can_t_be_asked_for_again_still_serve),
		cmocka_unit_test(a_resolver_that_hangs_keeps_no_reconnect_waiting),
		cmocka_unit_test(the_next_association_begins_with_another_address),
		cmocka_unit_test(a_silent_address_has_its_share_of_the_time),
		cmocka_unit_test(a_name_without_an_address_of_the_family_is_said_to_be_that),
		cmocka_unit_test(several_wait_for_one_answer),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
