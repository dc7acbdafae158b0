/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A write that is stuck on a connection which the host gives up: it is not sent again, nor is anything else, before the old connection
 * can't bring it any more.  Else it could be carried out after what the application wrote next.
 */
#include <nvof/nvof.h>
#include <nvof/target.h>
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define NQN	  "nqn.2014-08.org.example:subsys"
#define HOSTNQN	  "nqn.2014-08.org.nvmexpress:uuid:aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
#define MAX_PAIRS 32

/* ---- a wire that can be held: what the host sends waits, what the target sends passes ---- */

struct pair {
	int host, target;
	bool host_ended; /* and the target was told */
};

struct wire {
	int listener;
	uint16_t target_port;
	atomic_int nr_held; /* the first so many connections are held */
	atomic_uint nr_looks;
	atomic_bool stop;
	int nr;
	struct pair pairs[MAX_PAIRS];
	pthread_t thread;
};

static int socket_to(uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	return fd;
}

static bool pass(int from, int to)
{
	char buf[65536];
	ssize_t n = recv(from, buf, sizeof(buf), 0), done = 0, sent;

	for (; done < n; done += sent) {
		sent = send(to, buf + done, (size_t)(n - done), MSG_NOSIGNAL);
		if (sent <= 0)
			return false;
	}
	return n > 0;
}

static void pair_close(struct pair *p)
{
	close(p->host);
	close(p->target);
	p->host = p->target = -1;
}

static void *wire_main(void *arg)
{
	struct wire *w = arg;

	for (; !w->stop; w->nr_looks++) {
		struct pollfd fds[1 + 2 * MAX_PAIRS];
		int i, nr = w->nr;

		fds[0] = (struct pollfd){ .fd = w->listener, .events = POLLIN };
		for (i = 0; i < nr; i++) {
			struct pair *p = &w->pairs[i];

			fds[1 + 2 * i] = (struct pollfd){ .fd = p->host_ended || i < w->nr_held ? -1 : p->host, .events = POLLIN };
			fds[2 + 2 * i] = (struct pollfd){ .fd = p->target, .events = POLLIN };
		}
		if (poll(fds, 1 + 2 * (nfds_t)nr, 5) <= 0)
			continue;
		for (i = 0; i < nr; i++) {
			struct pair *p = &w->pairs[i];

			if (fds[1 + 2 * i].revents && !pass(p->host, p->target)) {
				shutdown(p->target, SHUT_WR);
				p->host_ended = true;
			}
			if (fds[2 + 2 * i].revents && !pass(p->target, p->host))
				pair_close(p);
		}
		if (fds[0].revents && w->nr < MAX_PAIRS) {
			w->pairs[w->nr].host = accept(w->listener, NULL, NULL);
			w->pairs[w->nr].target = socket_to(w->target_port);
			w->nr++;
		}
	}
	return NULL;
}

static uint16_t wire_start(struct wire *w, uint16_t target_port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);

	memset(w, 0, sizeof(*w));
	w->target_port = target_port;
	w->listener = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(w->listener, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(listen(w->listener, 64), 0);
	assert_int_equal(getsockname(w->listener, (struct sockaddr *)&sin, &len), 0);
	assert_int_equal(pthread_create(&w->thread, NULL, wire_main, w), 0);
	return ntohs(sin.sin_port);
}

/* Holds what hosts send on the first so many connections, from when this returns at the latest. */
static void wire_holds(struct wire *w, int nr)
{
	unsigned int looks = w->nr_looks;

	w->nr_held = nr;
	for (int i = 0; w->nr_looks - looks < 2; i++) {
		assert_true(i < 20000);
		usleep(1000);
	}
}

static void wire_stop(struct wire *w)
{
	int i;

	w->stop = true;
	pthread_join(w->thread, NULL);
	close(w->listener);
	for (i = 0; i < w->nr; i++)
		if (w->pairs[i].host >= 0)
			pair_close(&w->pairs[i]);
}

/* ---- */

static int nr_live;

static void on_event(void *arg, struct nvof_ctrl *ctrl, const struct nvof_event *event)
{
	nr_live += event->type == NVOF_EVENT_STATE && nvof_ctrl_state(ctrl) == NVOF_CTRL_LIVE;
}

static void count(void *arg, const struct nvof_cpl *cpl)
{
	int *n = arg;

	assert_int_equal(cpl->status, 0);
	++*n;
}

static void poll_ms(struct nvof_ctx *ctx, unsigned int ms)
{
	struct timespec now, start;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		nvof_ctx_poll(ctx, 1000);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < (long)ms);
}

static struct nvof_target *mem_target(void)
{
	struct nvof_subsys_opts so;
	struct nvof_target_ns_opts no;
	struct nvof_target *t;

	assert_int_equal(nvof_target_new(NULL, &t), 0);
	nvof_subsys_opts_init(&so);
	assert_int_equal(nvof_target_add_subsys(t, NQN, &so), 0);
	nvof_target_ns_opts_init(&no);
	no.backend = "mem:1M";
	assert_int_equal(nvof_target_add_ns(t, NQN, &no, NULL), 0);
	return t;
}

static void connect_opts(struct nvof_connect_opts *o, const char *port)
{
	nvof_connect_opts_init(o);
	o->traddr = "127.0.0.1";
	o->trsvcid = port;
	o->subsysnqn = NQN;
	o->hostnqn = HOSTNQN;
	o->nr_io_queues = 1;
	o->io_tmo_ms = 200;
	o->keep_alive_tmo_ms = 60000;
}

static void a_write_is_sent_again_only_when_the_old_connection_is_settled(void **state)
{
	struct nvof_target *t;
	struct nvof_connect_opts o;
	struct nvof_ctx *ctx;
	struct nvof_ctrl *ctrl;
	struct nvof_ns *ns;
	struct wire wire;
	char addr[128], port[16];
	uint8_t one[512], two[512], buf[512];
	int done = 0, later = 0, i;

	memset(one, 1, sizeof(one));
	memset(two, 2, sizeof(two));
	t = mem_target();
	assert_int_equal(nvof_target_listen(t, "tcp:127.0.0.1:0", addr, sizeof(addr)), 0);
	snprintf(port, sizeof(port), "%u", wire_start(&wire, (uint16_t)atoi(strrchr(addr, ':') + 1)));

	assert_int_equal(nvof_ctx_new(NULL, &ctx), 0);
	connect_opts(&o, port);
	o.ctrl_loss_tmo_ms = -1;
	o.reconnect_delay_ms = 5;
	o.event = on_event;
	assert_int_equal(nvof_ctrl_connect_sync(ctx, &o, &ctrl), 0);
	assert_int_equal(nvof_ns_open_sync(ctrl, 1, &ns), 0);

	/* Stuck: the host finds that it is not answered, and connects anew. */
	wire_holds(&wire, MAX_PAIRS);
	assert_int_equal(nvof_write(nvof_ctrl_hctx(ctrl, 0), ns, 0, 1, one, 0, count, &done), 0);
	poll_ms(ctx, 20);
	wire.nr_held = 2;
	nr_live = 0;
	for (i = 0; !nr_live; i++) {
		assert_true(i < 1000);
		poll_ms(ctx, 10);
	}
	assert_int_equal(nvof_write(nvof_ctrl_hctx(ctrl, 0), ns, 1, 1, one, 0, count, &later), 0);
	poll_ms(ctx, 400);
	assert_int_equal(nr_live, 1);
	assert_int_equal(done + later, 0);

	/* It gets there after all; then the target has closed, and what was held goes. */
	wire.nr_held = 0;
	for (i = 0; !done || !later; i++) {
		assert_true(i < 1000);
		poll_ms(ctx, 10);
	}
	assert_int_equal(nvof_write_sync(nvof_ctrl_hctx(ctrl, 0), ns, 0, 1, two, 0), 0);
	poll_ms(ctx, 50);
	assert_int_equal(nvof_read_sync(nvof_ctrl_hctx(ctrl, 0), ns, 0, 1, buf, 0), 0);
	assert_memory_equal(buf, two, sizeof(buf));
	assert_int_equal(done, 1);

	nvof_ctx_free(ctx);
	wire_stop(&wire);
	nvof_target_free(t);
}

/* Two listeners: the first path goes by the wire, the second one does not. */
static void a_write_goes_by_another_path_only_when_the_old_connection_is_settled(void **state)
{
	struct nvof_target *t;
	struct nvof_connect_opts o;
	struct nvof_ctx *ctx;
	struct nvof_ctrl *first, *second;
	struct nvof_subsystem *subsys;
	struct nvof_path path;
	struct nvof_hctx *hctx;
	struct nvof_ns *ns;
	struct wire wire;
	char addr[128], port[16], direct[16];
	uint8_t one[512], two[512], zero[512] = { 0 }, buf[512];
	int done = 0, i;

	memset(one, 1, sizeof(one));
	memset(two, 2, sizeof(two));
	t = mem_target();
	assert_int_equal(nvof_target_listen(t, "tcp:127.0.0.1:0", addr, sizeof(addr)), 0);
	snprintf(port, sizeof(port), "%u", wire_start(&wire, (uint16_t)atoi(strrchr(addr, ':') + 1)));
	assert_int_equal(nvof_target_listen(t, "tcp:127.0.0.1:0", addr, sizeof(addr)), 0);
	snprintf(direct, sizeof(direct), "%s", strrchr(addr, ':') + 1);

	assert_int_equal(nvof_ctx_new(NULL, &ctx), 0);
	connect_opts(&o, port);
	assert_int_equal(nvof_ctrl_connect_sync(ctx, &o, &first), 0);
	o.trsvcid = direct;
	assert_int_equal(nvof_ctrl_connect_sync(ctx, &o, &second), 0);
	subsys = nvof_ctrl_subsystem(first);
	assert_int_equal(nvof_subsystem_scan_sync(subsys), 0);
	ns = nvof_subsystem_ns(subsys, 1);
	hctx = nvof_subsystem_hctx(subsys, 0);

	wire_holds(&wire, MAX_PAIRS);
	assert_int_equal(nvof_write(hctx, ns, 0, 1, one, 0, count, &done), 0);
	assert_true(nvof_ns_path(ns, 0, &path) && path.nr_active == 1);
	for (i = 0; nvof_ctrl_state(first) == NVOF_CTRL_LIVE; i++) {
		assert_true(i < 1000);
		poll_ms(ctx, 10);
	}
	/* The other path is there, and takes what comes. */
	assert_int_equal(nvof_write_sync(hctx, ns, 1, 1, two, 0), 0);
	poll_ms(ctx, 300);
	assert_int_equal(done, 0);
	assert_int_equal(nvof_read_sync(hctx, ns, 0, 1, buf, 0), 0);
	assert_memory_equal(buf, zero, sizeof(buf));

	wire.nr_held = 0;
	for (i = 0; !done; i++) {
		assert_true(i < 1000);
		poll_ms(ctx, 10);
	}
	assert_int_equal(nvof_write_sync(hctx, ns, 0, 1, two, 0), 0);
	poll_ms(ctx, 50);
	assert_int_equal(nvof_read_sync(hctx, ns, 0, 1, buf, 0), 0);
	assert_memory_equal(buf, two, sizeof(buf));
	assert_int_equal(done, 1);

	nvof_ctx_free(ctx);
	wire_stop(&wire);
	nvof_target_free(t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_write_goes_by_another_path_only_when_the_old_connection_is_settled),
		cmocka_unit_test(a_write_is_sent_again_only_when_the_old_connection_is_settled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
