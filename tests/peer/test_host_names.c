/* SPDX-License-Identifier: BSD-3-Clause */
/* A host that connects to a name of two addresses: 127.0.0.2, which is of no use, and 127.0.0.1, where the scripted target is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/util.h"
#include "peer/target_peer.h"

#define NAME	   "storage.example"
#define NR_FILLERS 2

int __real_getaddrinfo(const char *name, const char *svc, const struct addrinfo *hints, struct addrinfo **list);
int __wrap_getaddrinfo(const char *name, const char *svc, const struct addrinfo *hints, struct addrinfo **list);
int __wrap_getaddrinfo(const char *name, const char *svc, const struct addrinfo *hints, struct addrinfo **list)
{
	int ret;

	if (strcmp(name, NAME) != 0)
		return __real_getaddrinfo(name, svc, hints, list);
	ret = __real_getaddrinfo("127.0.0.2", svc, hints, list);
	return ret ? ret : __real_getaddrinfo("127.0.0.1", svc, hints, &(*list)->ai_next);
}

/* The first address. */
struct useless {
	int lfd, fillers[NR_FILLERS];
	pthread_t thread;
};

static void useless_listen(struct useless *u, const struct peer *p, int backlog)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(0x7f000002),
				   .sin_port = htons((uint16_t)atoi(p->port)) };
	int i;

	u->lfd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(u->lfd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(listen(u->lfd, backlog), 0);
	for (i = 0; i < NR_FILLERS && !backlog; i++) {
		u->fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		connect(u->fillers[i], (struct sockaddr *)&sin, sizeof(sin));
	}
}

static struct peer *peer_by_name(struct nvof_connect_opts *opts)
{
	struct peer *p = peer_new();

	peer_connect_opts(p, opts);
	opts->traddr = NAME;
	return p;
}

/* Its backlog is full: SYNs are thrown away. */
static void a_silent_address_does_not_take_all_the_time(void **state)
{
	struct nvof_connect_opts opts;
	struct peer *p = peer_by_name(&opts);
	struct useless u;
	int i;

	useless_listen(&u, p, 0);
	opts.nr_io_queues = 4;
	opts.connect_tmo_ms = 3000;
	peer_live(p, &opts);
	assert_int_equal(nvof_ctrl_nr_io_queues(p->ctrl), 4);
	assert_non_null(strstr(nvof_ctrl_address(p->ctrl), "src_addr=127.0.0.1"));
	for (i = 0; i < NR_FILLERS; i++)
		close(u.fillers[i]);
	close(u.lfd);
	peer_free(p);
}

static void a_closed_port_is_followed_by_the_next_address(void **state)
{
	struct nvof_connect_opts opts;
	struct peer *p = peer_by_name(&opts);

	opts.nr_io_queues = 4;
	peer_live(p, &opts);
	assert_int_equal(nvof_ctrl_nr_io_queues(p->ctrl), 4);
	peer_free(p);
}

static void *accept_and_reset(void *arg)
{
	const struct linger none = { .l_onoff = 1 };
	struct useless *u = arg;
	int fd;

	while ((fd = accept(u->lfd, NULL, NULL)) >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
		close(fd);
	}
	return NULL;
}

/* Somebody is there: another address would hide what is wrong, or not, as chance has it. */
static void an_address_that_was_connected_to_is_the_one(void **state)
{
	int i;

	for (i = 0; i < 30; i++) {
		struct nvof_connect_opts opts;
		struct peer *p = peer_by_name(&opts);
		struct useless u;

		useless_listen(&u, p, 8);
		assert_int_equal(pthread_create(&u.thread, NULL, accept_and_reset, &u), 0);
		assert_true(peer_connect(p, &opts) < 0);
		assert_non_null(strstr(nvof_ctrl_errmsg(p->ctrl), "connect qid 0 (icreq) to 127.0.0.2:"));
		assert_int_equal(p->nr_conns, 0);
		shutdown(u.lfd, SHUT_RDWR);
		pthread_join(u.thread, NULL);
		close(u.lfd);
		peer_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_silent_address_does_not_take_all_the_time),
		cmocka_unit_test(a_closed_port_is_followed_by_the_next_address),
		cmocka_unit_test(an_address_that_was_connected_to_is_the_one),
	};

	return cmocka_run_group_tests_name("host names", tests, NULL, NULL);
}
