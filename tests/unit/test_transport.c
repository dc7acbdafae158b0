/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts that hold over every transport, with the host library on one end and the target library on the other. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <nvof/nvof.h>
#include <nvof/target.h>

#define NQN	"nqn.2024-01.org.example:transport"
#define HOSTNQN "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-4333-8444-555555555555"
#define MIB	(1u << 20)

/* A block that was written by one connection and is read by the next is ordered by the network, which ThreadSanitizer can't see. */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "race:mem_copy\n";
}

struct world {
	const char *transport;
	struct nvof_target *t;
	char addr[64];
	struct nvof_ctx *ctx;
	struct nvof_ctrl *ctrl;
	struct nvof_ns *ns;
	struct nvof_hctx *hctx;
	int in_flight, failed, ok;
};

static void target_up(struct world *w, unsigned int io_threads)
{
	struct nvof_target_ns_opts no;
	struct nvof_target_opts to;

	nvof_target_opts_init(&to);
	to.io_threads = io_threads;
	assert_int_equal(nvof_target_new(&to, &w->t), 0);
	assert_int_equal(nvof_target_add_subsys(w->t, NQN, NULL), 0);
	nvof_target_ns_opts_init(&no);
	no.backend = "mem:64M";
	assert_int_equal(nvof_target_add_ns(w->t, NQN, &no, NULL), 0);
	assert_int_equal(nvof_target_listen(w->t, strcmp(w->transport, "loop") ? "tcp:127.0.0.1:0" : "loop", w->addr, sizeof(w->addr)), 0);
}

static int host_connect(struct world *w, struct nvof_ctx *ctx, unsigned int queues, struct nvof_ctrl **ctrl)
{
	struct nvof_connect_opts co;
	char host[64];

	nvof_connect_opts_init(&co);
	co.transport = w->transport;
	co.subsysnqn = NQN;
	co.hostnqn = HOSTNQN;
	co.nr_io_queues = queues;
	co.queue_size = 64;
	co.keep_alive_tmo_ms = 0;
	co.loop_target = w->t;
	if (strcmp(w->transport, "loop")) {
		snprintf(host, sizeof(host), "%s", strchr(w->addr, ':') + 1);
		co.trsvcid = strrchr(host, ':') + 1;
		*strrchr(host, ':') = '\0';
		co.traddr = host;
	}
	return nvof_ctrl_connect_sync(ctx, &co, ctrl);
}

static void host_up(struct world *w, unsigned int queues)
{
	int ret;

	assert_int_equal(nvof_ctx_new(NULL, &w->ctx), 0);
	ret = host_connect(w, w->ctx, queues, &w->ctrl);
	if (ret)
		print_error("%s\n", nvof_ctx_errmsg(w->ctx));
	assert_int_equal(ret, 0);
	assert_int_equal(nvof_ctrl_nr_io_queues(w->ctrl), queues);
	assert_int_equal(nvof_ns_open_sync(w->ctrl, 1, &w->ns), 0);
	w->hctx = nvof_ctrl_hctx(w->ctrl, 0);
	w->in_flight = w->failed = w->ok = 0;
}

static void host_down(struct world *w)
{
	nvof_ns_close(w->ns);
	nvof_ctrl_free(w->ctrl);
	nvof_ctx_free(w->ctx);
	w->ns = NULL;
	w->ctrl = NULL;
	w->ctx = NULL;
}

static struct world *world(const char *transport)
{
	static struct world w;

	w = (struct world){ .transport = transport };
	return &w;
}

static void done(void *arg, const struct nvof_cpl *cpl)
{
	struct world *w = arg;

	w->in_flight--;
	if (cpl->status)
		w->failed++;
	else
		w->ok++;
}

static void settle(struct world *w)
{
	while (w->in_flight)
		nvof_ctx_poll(w->ctx, 100000);
}

static uint8_t *pattern(uint32_t len, unsigned int seed)
{
	uint8_t *p = malloc(len);

	for (uint32_t i = 0; i < len; i++)
		p[i] = (uint8_t)(rand_r(&seed) >> 7);
	return p;
}

static void written_data_comes_back(const char *tr)
{
	static const uint32_t lens[] = { 512, 4096, 16384, 16384 + 512, 131072, MIB, 3 * MIB + 512 };
	struct world *w = world(tr);
	uint8_t *data, *back = malloc(4 * MIB);

	target_up(w, 2);
	host_up(w, 3);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		data = pattern(lens[i], (unsigned int)i + 1);
		assert_int_equal(nvof_write_sync(w->hctx, w->ns, i * 7, lens[i] / 512, data, 0), 0);
		memset(back, 0, lens[i]);
		assert_int_equal(nvof_read_sync(nvof_ctrl_hctx(w->ctrl, i % 3), w->ns, i * 7, lens[i] / 512, back, 0), 0);
		assert_memory_equal(data, back, lens[i]);
		free(data);
	}
	assert_int_equal(nvof_ctrl_disconnect_sync(w->ctrl), 0);
	host_down(w);
	nvof_target_free(w->t);
	free(back);
}

static void odd_iovecs_carry_data(const char *tr)
{
	static const size_t cuts[] = { 100, 3996, 1, 511, 40000, 7, 90000 };
	struct world *w = world(tr);
	uint8_t *data = pattern(MIB, 3), *back = calloc(1, MIB);
	struct iovec out[64], in[64];
	int n = 0;

	for (size_t off = 0, len; off < MIB; off += len, n++) {
		len = n < 63 ? cuts[n % 7] : MIB - off;
		len = len < MIB - off ? len : MIB - off;
		out[n] = (struct iovec){ data + off, len };
		in[n] = (struct iovec){ back + off, len };
	}
	target_up(w, 1);
	host_up(w, 1);
	w->in_flight = 1;
	assert_int_equal(nvof_writev(w->hctx, w->ns, 1, MIB / 512, out, n, 0, done, w), 0);
	settle(w);
	w->in_flight = 1;
	assert_int_equal(nvof_readv(w->hctx, w->ns, 1, MIB / 512, in, n, 0, done, w), 0);
	settle(w);
	assert_int_equal(w->ok, 2);
	assert_memory_equal(data, back, MIB);
	host_down(w);
	nvof_target_free(w->t);
	free(data);
	free(back);
}

/* Every slot of every queue in use, reads and writes of many sizes, each block with its own contents. */
static void a_full_queue_mixes_up_nothing(const char *tr)
{
	struct world *w = world(tr);
	uint8_t *buf[256], *data[256];
	unsigned int round, i, n, queues = 4;

	target_up(w, 2);
	host_up(w, queues);
	for (round = 0; round < 2; round++) {
		for (i = n = 0; i < 252; i++, n++) {
			uint32_t nlb = 1 + (i * 37 + round) % 200;

			data[i] = pattern(nlb * 512, i + round * 1000);
			while (nvof_write(nvof_ctrl_hctx(w->ctrl, i % queues), w->ns, i * 256, nlb, data[i], 0, done, w) == -EAGAIN)
				nvof_ctx_poll(w->ctx, 1000);
			w->in_flight++;
		}
		settle(w);
		for (i = 0; i < n; i++) {
			uint32_t nlb = 1 + (i * 37 + round) % 200;

			buf[i] = calloc(nlb, 512);
			while (nvof_read(nvof_ctrl_hctx(w->ctrl, (i + 1) % queues), w->ns, i * 256, nlb, buf[i], 0, done, w) == -EAGAIN)
				nvof_ctx_poll(w->ctx, 1000);
			w->in_flight++;
		}
		settle(w);
		for (i = 0; i < n; i++) {
			assert_memory_equal(buf[i], data[i], (1 + (i * 37 + round) % 200) * 512);
			free(buf[i]);
			free(data[i]);
		}
	}
	assert_int_equal(w->failed, 0);
	assert_int_equal(w->ok, 2 * 2 * n);
	host_down(w);
	nvof_target_free(w->t);
}

/* Refills the queue from the callback for ever. */
struct storm {
	struct world *w;
	uint8_t *buf;
	uint64_t slba;
	uint32_t nlb;
	bool write;
};

static void storm_go(struct storm *s);

static void storm_done(void *arg, const struct nvof_cpl *cpl)
{
	struct storm *s = arg;

	done(s->w, cpl);
	if (!cpl->status)
		storm_go(s);
}

static void storm_go(struct storm *s)
{
	int ret = s->write ? nvof_write(s->w->hctx, s->w->ns, s->slba, s->nlb, s->buf, 0, storm_done, s)
			   : nvof_read(s->w->hctx, s->w->ns, s->slba, s->nlb, s->buf, 0, storm_done, s);

	if (!ret)
		s->w->in_flight++;
}

static void storm_start(struct world *w, struct storm *s, int n)
{
	for (int i = 0; i < n; i++) {
		s[i] = (struct storm){ .w = w, .slba = (uint64_t)i * 512, .nlb = i % 3 ? 8 : 512, .write = i % 2 };
		s[i].buf = calloc(s[i].nlb, 512);
		storm_go(&s[i]);
	}
}

static void storm_free(struct storm *s, int n)
{
	for (int i = 0; i < n; i++)
		free(s[i].buf);
}

/* The buffers are freed at once: whoever still wrote to them or read from them would be caught. */
static void buffers_are_free_once_the_ctrl_is_gone(const char *tr)
{
	struct storm s[32];
	struct world *w = world(tr);

	target_up(w, 2);
	for (int round = 0; round < 8; round++) {
		host_up(w, 2);
		storm_start(w, s, 32);
		for (int i = 0; i < round * 6; i++)
			nvof_ctx_poll(w->ctx, 1000);
		nvof_ctrl_free(w->ctrl);
		w->ctrl = NULL;
		w->ns = NULL;
		storm_free(s, 32);
		assert_int_equal(w->in_flight, 0);
		nvof_ctx_free(w->ctx);
	}
	nvof_target_free(w->t);
}

static void disconnect_under_load_ends_all_io_once(const char *tr)
{
	struct storm s[32];
	struct world *w = world(tr);

	target_up(w, 2);
	for (int round = 0; round < 5; round++) {
		host_up(w, 2);
		storm_start(w, s, 32);
		for (int i = 0; i < 20; i++)
			nvof_ctx_poll(w->ctx, 1000);
		assert_int_equal(nvof_ctrl_disconnect_sync(w->ctrl), 0);
		assert_int_equal(w->in_flight, 0);
		assert_true(w->failed <= 32);
		storm_free(s, 32);
		host_down(w);
	}
	nvof_target_free(w->t);
}

static void a_target_that_goes_away_under_load_fails_the_io(const char *tr)
{
	struct storm s[32];
	struct world *w = world(tr);

	for (int round = 0; round < 5; round++) {
		target_up(w, 2);
		host_up(w, 2);
		storm_start(w, s, 32);
		for (int i = 0; i < round * 5; i++)
			nvof_ctx_poll(w->ctx, 1000);
		nvof_target_free(w->t);
		settle(w);
		assert_int_not_equal(nvof_ctrl_state(w->ctrl), NVOF_CTRL_LIVE);
		assert_true(w->failed > 0);
		storm_free(s, 32);
		host_down(w);
	}
}

/* The host sleeps in its own application meanwhile: nobody takes what was answered. */
static void an_idle_host_cannot_hold_up_the_target(const char *tr)
{
	struct storm s[32];
	struct world *w = world(tr);

	target_up(w, 1);
	host_up(w, 1);
	storm_start(w, s, 32);
	nvof_ctx_poll(w->ctx, 0);
	nvof_target_drain(w->t, 200);
	nvof_target_free(w->t);
	settle(w);
	storm_free(s, 32);
	host_down(w);
}

/* It does not close its side of the connections, and has nothing in flight that the drain could be late for. */
static void a_drain_without_io_in_flight_is_never_late(const char *tr)
{
	struct world *w = world(tr);

	target_up(w, 2);
	host_up(w, 4);
	assert_int_equal(nvof_target_drain(w->t, 10), 0);
	nvof_target_free(w->t);
	settle(w);
	host_down(w);
}

static void a_delayed_link_is_waited_for(const char *tr)
{
	struct world *w = world(tr);

	target_up(w, 2);
	assert_int_equal(nvof_target_add_fault(w->t, "on=accept,delay=3ms"), 0);
	assert_int_equal(nvof_target_add_fault(w->t, "on=icreq,delay=3ms"), 0);
	assert_int_equal(nvof_target_add_fault(w->t, "on=connect,delay=3ms"), 0);
	host_up(w, 8);
	host_down(w);
	nvof_target_free(w->t);
}

static void a_dropped_link_fails_the_connect(const char *tr)
{
	static const char *const faults[] = { "on=accept,drop,count=1", "on=icreq,drop,count=1", "on=connect,drop,count=1",
					      "on=connect,qid=io,drop" }; /* one is not enough: an early link is made again */
	struct nvof_ctrl *ctrl;
	struct world *w = world(tr);

	target_up(w, 2);
	assert_int_equal(nvof_ctx_new(NULL, &w->ctx), 0);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		assert_int_equal(nvof_target_add_fault(w->t, faults[i]), 0);
		assert_int_not_equal(host_connect(w, w->ctx, 4, &ctrl), 0);
		assert_non_null(nvof_ctx_errmsg(w->ctx)[0] ? w : NULL);
		nvof_target_clear_faults(w->t);
		assert_int_equal(host_connect(w, w->ctx, 4, &ctrl), 0);
		nvof_ctrl_free(ctrl);
	}
	nvof_ctx_free(w->ctx);
	nvof_target_free(w->t);
}

/* C092 */
static void connects_and_disconnects_in_a_row_leave_nothing_behind(const char *tr)
{
	struct world *w = world(tr);

	target_up(w, 2);
	for (int i = 0; i < 20; i++) {
		host_up(w, 4);
		if (i % 2)
			assert_int_equal(nvof_ctrl_disconnect_sync(w->ctrl), 0);
		host_down(w);
	}
	nvof_target_free(w->t);
}

static void *host_thread(void *arg)
{
	const struct world *shared = arg;
	uint8_t *data = pattern(65536, 5), *back = malloc(65536);
	struct world w = { .transport = shared->transport, .t = shared->t };
	intptr_t bad = 0;

	memcpy(w.addr, shared->addr, sizeof(w.addr));
	for (int round = 0; round < 5 && !bad; round++) {
		if (nvof_ctx_new(NULL, &w.ctx))
			return (void *)1;
		if (host_connect(&w, w.ctx, 2, &w.ctrl) || nvof_ns_open_sync(w.ctrl, 1, &w.ns)) {
			print_error("%s\n", nvof_ctx_errmsg(w.ctx));
			bad = 1;
		} else {
			w.hctx = nvof_ctrl_hctx(w.ctrl, 1);
			for (int i = 0; i < 50; i++)
				bad |= nvof_write_sync(w.hctx, w.ns, 0, 128, data, 0) || nvof_read_sync(w.hctx, w.ns, 0, 128, back, 0) ||
				       memcmp(data, back, 65536);
			host_down(&w);
			continue;
		}
		nvof_ctx_free(w.ctx);
	}
	free(data);
	free(back);
	return (void *)bad;
}

static void hosts_on_many_threads_share_a_target(const char *tr)
{
	struct world *w = world(tr);
	pthread_t threads[4];
	void *bad;

	target_up(w, 3);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, host_thread, w), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &bad);
		assert_null(bad);
	}
	nvof_target_free(w->t);
}

static void loop_without_a_listener_is_refused_by_name(void **state)
{
	struct world *w = world("loop");
	struct nvof_ctrl *ctrl;

	w->transport = "tcp";
	target_up(w, 1);
	w->transport = "loop";
	assert_int_equal(nvof_ctx_new(NULL, &w->ctx), 0);
	assert_int_equal(host_connect(w, w->ctx, 1, &ctrl), -ECONNREFUSED);
	assert_non_null(strstr(nvof_ctx_errmsg(w->ctx), "loop"));
	nvof_ctx_free(w->ctx);
	nvof_target_free(w->t);
}

static void loop_without_a_target_is_an_invalid_argument(void **state)
{
	struct world *w = world("loop");
	struct nvof_ctrl *ctrl;

	assert_int_equal(nvof_ctx_new(NULL, &w->ctx), 0);
	assert_int_equal(host_connect(w, w->ctx, 1, &ctrl), -EINVAL);
	assert_non_null(strstr(nvof_ctx_errmsg(w->ctx), "loop_target"));
	nvof_ctx_free(w->ctx);
}

/* Both ends may be polled by one program's two threads; the target's may never sleep. */
static void a_polled_target_serves(const char *tr)
{
	struct nvof_target_ns_opts no;
	struct nvof_target_opts to;
	struct world *w = world(tr);
	uint8_t data[4096];

	nvof_target_opts_init(&to);
	to.poll = true;
	assert_int_equal(nvof_target_new(&to, &w->t), 0);
	assert_int_equal(nvof_target_add_subsys(w->t, NQN, NULL), 0);
	nvof_target_ns_opts_init(&no);
	no.backend = "null:1G";
	assert_int_equal(nvof_target_add_ns(w->t, NQN, &no, NULL), 0);
	assert_int_equal(nvof_target_listen(w->t, strcmp(tr, "loop") ? "tcp:127.0.0.1:0" : "loop", w->addr, sizeof(w->addr)), 0);
	host_up(w, 2);
	for (int i = 0; i < 20; i++)
		assert_int_equal(nvof_read_sync(w->hctx, w->ns, (uint64_t)i, 8, data, 0), 0);
	host_down(w);
	nvof_target_free(w->t);
}

#define BOTH(f)                                 \
	static void f##_over_tcp(void **state)  \
	{                                       \
		f("tcp");                       \
	}                                       \
	static void f##_over_loop(void **state) \
	{                                       \
		f("loop");                      \
	}

BOTH(written_data_comes_back)
BOTH(odd_iovecs_carry_data)
BOTH(a_full_queue_mixes_up_nothing)
BOTH(buffers_are_free_once_the_ctrl_is_gone)
BOTH(disconnect_under_load_ends_all_io_once)
BOTH(a_target_that_goes_away_under_load_fails_the_io)
BOTH(an_idle_host_cannot_hold_up_the_target)
BOTH(a_drain_without_io_in_flight_is_never_late)
BOTH(a_delayed_link_is_waited_for)
BOTH(a_dropped_link_fails_the_connect)
BOTH(connects_and_disconnects_in_a_row_leave_nothing_behind)
BOTH(hosts_on_many_threads_share_a_target)
BOTH(a_polled_target_serves)

#define T(f) cmocka_unit_test(f##_over_tcp), cmocka_unit_test(f##_over_loop)

/* An argument is a pattern of test names. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		T(written_data_comes_back),
		T(odd_iovecs_carry_data),
		T(a_full_queue_mixes_up_nothing),
		T(buffers_are_free_once_the_ctrl_is_gone),
		T(disconnect_under_load_ends_all_io_once),
		T(a_target_that_goes_away_under_load_fails_the_io),
		T(an_idle_host_cannot_hold_up_the_target),
		T(a_drain_without_io_in_flight_is_never_late),
		T(a_delayed_link_is_waited_for),
		T(a_dropped_link_fails_the_connect),
		T(connects_and_disconnects_in_a_row_leave_nothing_behind),
		T(hosts_on_many_threads_share_a_target),
		T(a_polled_target_serves),
		cmocka_unit_test(loop_without_a_listener_is_refused_by_name),
		cmocka_unit_test(loop_without_a_target_is_an_invalid_argument),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
