/* SPDX-License-Identifier: BSD-3-Clause */
/* The host and the target of this library together, over each transport: what one side says the other must understand. */
#include <nvof/nvof.h>
#include <nvof/target.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proc.h"

#define NQN	"nqn.2014-08.org.example:subsys"
#define HOSTNQN "nqn.2014-08.org.nvmexpress:uuid:aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"

struct world {
	const char *transport;
	struct nvof_target *t;
	struct nvof_ctx *ctx;
	struct nvof_connect_opts o;
	char port[16];
	int nr_ns_events, nr_disc_events;
};

static void on_event(void *arg, struct nvof_ctrl *ctrl, const struct nvof_event *event)
{
	struct world *w = arg;

	w->nr_ns_events += event->type == NVOF_EVENT_NS_CHANGED;
	w->nr_disc_events += event->type == NVOF_EVENT_DISC_CHANGED;
}

static void add_ns(struct world *w, const char *backend, uint32_t nsid, uint32_t block_size)
{
	struct nvof_target_ns_opts o;

	nvof_target_ns_opts_init(&o);
	o.backend = backend;
	o.nsid = nsid;
	o.block_size = block_size;
	assert_int_equal(nvof_target_add_ns(w->t, NQN, &o, NULL), 0);
}

static struct world *world_new(const char *transport)
{
	struct world *w = calloc(1, sizeof(*w));
	struct nvof_subsys_opts so;
	char addr[128];

	w->transport = transport;
	assert_int_equal(nvof_target_new(NULL, &w->t), 0);
	nvof_subsys_opts_init(&so);
	assert_int_equal(nvof_target_add_subsys(w->t, NQN, &so), 0);
	assert_int_equal(nvof_target_listen(w->t, strcmp(transport, "tcp") ? "loop" : "tcp:127.0.0.1:0", addr, sizeof(addr)), 0);
	add_ns(w, "mem:16M", 1, 512);
	add_ns(w, "mem:16M", 2, 4096);
	assert_int_equal(nvof_ctx_new(NULL, &w->ctx), 0);
	nvof_connect_opts_init(&w->o);
	w->o.transport = transport;
	w->o.subsysnqn = NQN;
	w->o.hostnqn = HOSTNQN;
	w->o.nr_io_queues = 4;
	w->o.event = on_event;
	w->o.event_arg = w;
	if (!strcmp(transport, "tcp")) {
		snprintf(w->port, sizeof(w->port), "%s", strrchr(addr, ':') + 1);
		w->o.traddr = "127.0.0.1";
		w->o.trsvcid = w->port;
	} else {
		w->o.loop_target = w->t;
	}
	return w;
}

static void world_free(struct world *w)
{
	nvof_ctx_free(w->ctx);
	nvof_target_free(w->t);
	free(w);
}

static struct nvof_ctrl *connected(struct world *w)
{
	struct nvof_ctrl *ctrl;
	int ret = nvof_ctrl_connect_sync(w->ctx, &w->o, &ctrl);

	if (ret)
		fail_msg("connect over %s: %s", w->transport, nvof_ctx_errmsg(w->ctx));
	return ctrl;
}

static void count(void *arg, const struct nvof_cpl *cpl)
{
	int *n = arg;

	if (cpl->status)
		n[1] = cpl->status;
	n[0]++;
}

static void wait_count(struct world *w, int *n, int want)
{
	while (*n < want)
		nvof_ctx_poll(w->ctx, 1000000);
	assert_int_equal(*n, want);
}

static void fill(uint8_t *p, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++) {
		seed = seed * 1103515245 + 12345;
		p[i] = (uint8_t)(seed >> 16);
	}
}

static void data_comes_back_as_written(struct world *w)
{
	struct nvof_ctrl *ctrl = connected(w);
	const size_t len = 4u << 20;
	uint8_t *out = malloc(len), *in = malloc(len);
	uint32_t nsid;

	assert_int_equal(nvof_ctrl_nr_io_queues(ctrl), 4);
	for (nsid = 1; nsid <= 2; nsid++) {
		struct nvof_ns *ns;
		uint32_t bs, i;
		int n[2] = { 0 };

		assert_int_equal(nvof_ns_open_sync(ctrl, nsid, &ns), 0);
		bs = nvof_ns_block_size(ns);
		assert_int_equal(bs, nsid == 1 ? 512 : 4096);
		fill(out, len, nsid);
		assert_int_equal(nvof_write_sync(nvof_ctrl_hctx(ctrl, 0), ns, 3, (uint32_t)(len / bs), out, 0), 0);
		/* Many small reads over all hctxs at once. */
		for (i = 0; i < 64; i++)
			assert_int_equal(nvof_read(nvof_ctrl_hctx(ctrl, i % 4), ns, 3 + i * (len / bs / 64), (uint32_t)(len / bs / 64),
						   in + i * (len / 64), 0, count, n),
					 0);
		wait_count(w, n, 64);
		assert_int_equal(n[1], 0);
		assert_memory_equal(in, out, len);
		memset(in, 0, len);
		assert_int_equal(nvof_read_sync(nvof_ctrl_hctx(ctrl, 1), ns, 3, (uint32_t)(len / bs), in, 0), 0);
		assert_memory_equal(in, out, len);
		nvof_ns_close(ns);
	}
	assert_int_equal(nvof_ctrl_disconnect_sync(ctrl), 0);
	nvof_ctrl_free(ctrl);
	free(out);
	free(in);
}

/* C113 on the wire */
static void iovecs_of_any_shape_come_back_as_written(struct world *w)
{
	struct nvof_ctrl *ctrl = connected(w);
	const size_t len = 1u << 20;
	uint8_t *out = malloc(len), *in = malloc(len);
	struct iovec o[600], i[600];
	struct nvof_ns *ns;
	unsigned int seed;
	int n[2] = { 0 };

	assert_int_equal(nvof_ns_open_sync(ctrl, 1, &ns), 0);
	for (seed = 1; seed <= 6; seed++) {
		size_t at = 0;
		int k = 0;

		srand(seed);
		fill(out, len, seed);
		while (at < len) {
			size_t piece = 1 + (size_t)rand() % 9000;

			if (piece > len - at || k == 599)
				piece = len - at;
			o[k] = (struct iovec){ out + at, piece };
			i[k++] = (struct iovec){ in + at, piece };
			at += piece;
		}
		n[0] = 0;
		assert_int_equal(nvof_writev(nvof_ctrl_hctx(ctrl, 0), ns, seed, 2048, o, k, 0, count, n), 0);
		wait_count(w, n, 1);
		assert_int_equal(nvof_readv(nvof_ctrl_hctx(ctrl, 1), ns, seed, 2048, i, k, 0, count, n), 0);
		wait_count(w, n, 2);
		assert_int_equal(n[1], 0);
		assert_memory_equal(in, out, len);
	}
	free(out);
	free(in);
	nvof_ctrl_free(ctrl);
}

static void every_io_command_is_understood(struct world *w)
{
	struct nvof_ctrl *ctrl = connected(w);
	struct nvof_hctx *h = nvof_ctrl_hctx(ctrl, 0);
	struct nvof_range r[2] = { { 100, 8 }, { 200, 8 } };
	uint8_t out[4096], in[4096], zero[4096] = { 0 };
	struct nvof_ns *ns;
	int n[2] = { 0 };

	assert_int_equal(nvof_ns_open_sync(ctrl, 1, &ns), 0);
	fill(out, sizeof(out), 9);
	assert_int_equal(nvof_write_sync(h, ns, 100, 8, out, NVOF_IO_FUA), 0);
	assert_int_equal(nvof_compare(h, ns, 100, 8, out, 0, count, n), 0);
	wait_count(w, n, 1);
	assert_int_equal(n[1], 0);
	assert_int_equal(nvof_compare(h, ns, 100, 8, zero, 0, count, n), 0);
	wait_count(w, n, 2);
	assert_int_equal(n[1] & 0x7ff, 0x285); /* Compare Failure */
	n[1] = 0;
	assert_int_equal(nvof_flush(h, ns, count, n), 0);
	assert_int_equal(nvof_verify(h, ns, 100, 8, 0, count, n), 0);
	wait_count(w, n, 4);
	assert_int_equal(n[1], 0);
	assert_int_equal(nvof_write_zeroes(h, ns, 100, 4, 0, count, n), 0);
	wait_count(w, n, 5);
	assert_int_equal(nvof_read_sync(h, ns, 100, 8, in, 0), 0);
	assert_memory_equal(in, zero, 2048);
	assert_memory_equal(in + 2048, out + 2048, 2048);
	assert_int_equal(nvof_discard(h, ns, r, 2, count, n), 0);
	wait_count(w, n, 6);
	assert_int_equal(n[1], 0);
	nvof_ctrl_free(ctrl);
}

static void thousands_of_namespaces_are_listed(struct world *w)
{
	struct nvof_ctrl *ctrl;
	uint32_t *nsids, i;
	size_t n;

	for (i = 3; i <= 1500; i++)
		add_ns(w, "null:1M", i * 3, 512);
	ctrl = connected(w);
	assert_int_equal(nvof_ns_list_sync(ctrl, &nsids, &n), 0);
	assert_int_equal(n, 1500);
	assert_int_equal(nsids[1], 2);
	assert_int_equal(nsids[1499], 4500);
	free(nsids);
	nvof_ctrl_free(ctrl);
}

/* C068 */
static void changes_of_namespaces_are_told(struct world *w)
{
	struct nvof_ctrl *ctrl = connected(w);
	uint8_t log[4096];
	int i;

	for (i = 1; i <= 3; i++) {
		add_ns(w, "null:1M", (uint32_t)i + 10, 512);
		while (w->nr_ns_events < i)
			nvof_ctx_poll(w->ctx, 1000000);
		assert_int_equal(nvof_get_log_sync(ctrl, 0x04, 0, false, 0xffffffff, 0, log, sizeof(log)), 0);
	}
	nvof_ctrl_free(ctrl);
}

static void the_discovery_log_names_the_subsystem_and_its_changes(struct world *w)
{
	struct nvof_disc_log *log;
	struct nvof_subsys_opts so;
	struct nvof_ctrl *ctrl;
	size_t i, found = 0;

	w->o.subsysnqn = NULL;
	ctrl = connected(w);
	assert_int_equal(nvof_discover_sync(ctrl, &log), 0);
	for (i = 0; i < log->nr_entries; i++)
		found += !strcmp(log->entries[i].subnqn, NQN);
	nvof_disc_log_free(log);
	if (!strcmp(w->transport, "tcp"))
		assert_int_equal(found, 1);
	nvof_subsys_opts_init(&so);
	assert_int_equal(nvof_target_add_subsys(w->t, NQN "2", &so), 0);
	while (!w->nr_disc_events)
		nvof_ctx_poll(w->ctx, 1000000);
	assert_int_equal(nvof_discover_sync(ctrl, &log), 0);
	nvof_disc_log_free(log);
	assert_int_equal(nvof_target_remove_subsys(w->t, NQN "2"), 0);
	while (w->nr_disc_events < 2)
		nvof_ctx_poll(w->ctx, 1000000);
	nvof_ctrl_free(ctrl);
}

/* C150 with a real target */
static void refusals_name_what_was_refused(struct world *w)
{
	struct nvof_ctrl *ctrl;

	w->o.subsysnqn = NQN ":not-there";
	assert_true(nvof_ctrl_connect_sync(w->ctx, &w->o, &ctrl) > 0);
	assert_non_null(strstr(nvof_ctx_errmsg(w->ctx), "subsysnqn '" NQN ":not-there'"));
	w->o.subsysnqn = NQN;
	assert_int_equal(nvof_target_allow_any_host(w->t, NQN, false), 0);
	assert_true(nvof_ctrl_connect_sync(w->ctx, &w->o, &ctrl) > 0);
	assert_non_null(strstr(nvof_ctx_errmsg(w->ctx), "Connect Invalid Host"));
	assert_int_equal(nvof_target_allow_host(w->t, NQN, HOSTNQN), 0);
	nvof_ctrl_free(connected(w));
	assert_int_equal(nvof_target_add_fault(w->t, "on=connect,qid=3,status=1:0x81"), 0);
	assert_true(nvof_ctrl_connect_sync(w->ctx, &w->o, &ctrl) > 0);
	assert_non_null(strstr(nvof_ctx_errmsg(w->ctx), "connect qid 3 (connect)"));
	assert_non_null(strstr(nvof_ctx_errmsg(w->ctx), "Controller Busy"));
}

static void a_silent_target_is_given_up_in_time(struct world *w)
{
	struct nvof_ctrl *ctrl;

	w->o.connect_tmo_ms = 3000;
	assert_int_equal(nvof_target_add_fault(w->t, "on=connect,qid=2,ignore"), 0);
	assert_int_equal(nvof_ctrl_connect_sync(w->ctx, &w->o, &ctrl), -ETIMEDOUT);
	assert_non_null(strstr(nvof_ctx_errmsg(w->ctx), "connect qid 2 (connect)"));
	assert_non_null(strstr(nvof_ctx_errmsg(w->ctx), "no answer to Connect within 3000 ms"));
}

static void io_in_flight_is_cancelled_by_a_disconnect(struct world *w)
{
	struct nvof_ctrl *ctrl = connected(w);
	uint8_t buf[512];
	struct nvof_ns *ns;
	int n[2] = { 0 }, i;

	assert_int_equal(nvof_ns_open_sync(ctrl, 1, &ns), 0);
	assert_int_equal(nvof_target_add_fault(w->t, "on=io,ignore"), 0);
	for (i = 0; i < 40; i++)
		assert_int_equal(nvof_read(nvof_ctrl_hctx(ctrl, (unsigned int)i % 4), ns, 0, 1, buf, 0, count, n), 0);
	nvof_ctx_poll(w->ctx, 1000);
	assert_int_equal(nvof_ctrl_disconnect_sync(ctrl), 0);
	assert_int_equal(n[0], 40);
	assert_int_equal(n[1], -ECANCELED);
	nvof_ctrl_free(ctrl);
}

static void a_target_that_goes_away_is_noticed(struct world *w)
{
	struct nvof_ctrl *ctrl = connected(w);
	uint8_t buf[512];
	struct nvof_ns *ns;
	int n[2] = { 0 };

	assert_int_equal(nvof_ns_open_sync(ctrl, 1, &ns), 0);
	assert_int_equal(nvof_target_add_fault(w->t, "on=io,ignore"), 0);
	assert_int_equal(nvof_read(nvof_ctrl_hctx(ctrl, 0), ns, 0, 1, buf, 0, count, n), 0);
	nvof_ctx_poll(w->ctx, 1000);
	nvof_target_free(w->t);
	w->t = NULL;
	while (nvof_ctrl_state(ctrl) != NVOF_CTRL_DEAD)
		nvof_ctx_poll(w->ctx, 1000000);
	assert_int_equal(n[0], 1);
	assert_true(n[1] < 0);
	assert_true(strlen(nvof_ctrl_errmsg(ctrl)) > 10);
	nvof_ctrl_free(ctrl);
}

static void an_event_loop_of_one_s_own_can_wait_for_the_fd(struct world *w)
{
	struct nvof_ctrl *ctrl = connected(w);
	struct pollfd p = { .fd = nvof_ctx_fd(w->ctx), .events = POLLIN };
	uint8_t buf[4096];
	struct nvof_ns *ns;
	int n[2] = { 0 }, i;

	assert_int_equal(nvof_ns_open_sync(ctrl, 1, &ns), 0);
	for (i = 0; i < 100; i++) {
		assert_int_equal(nvof_read(nvof_ctrl_hctx(ctrl, 0), ns, 0, 8, buf, 0, count, n), 0);
		while (n[0] == i) {
			if (nvof_ctx_prepare_wait(w->ctx))
				assert_true(poll(&p, 1, 20000) > 0);
			nvof_ctx_poll(w->ctx, 0);
		}
	}
	assert_int_equal(n[1], 0);
	nvof_ctrl_free(ctrl);
}

static void scan_ended(void *arg, int status)
{
	int *nr = arg;

	assert_true(status == 0 || status == -ECANCELED);
	++*nr;
}

/* C092 */
static void many_connects_and_disconnects_leave_the_target_empty(struct world *w)
{
	int i, j, fds = 0, threads = 0, nr_scans = 0, nr_ended = 0;
	char *status;

	for (i = 3; i <= 64; i++)
		add_ns(w, "null:1M", (uint32_t)i, 512);
	for (i = 0; i < 200; i++) {
		struct nvof_ctrl *ctrl = connected(w);
		uint32_t *nsids;
		size_t n;

		if (i % 3 == 0) {
			assert_int_equal(nvof_ns_list_sync(ctrl, &nsids, &n), 0);
			assert_int_equal(n, 64);
			free(nsids);
		}
		/* Somewhere in the middle of it. */
		if (i % 4) {
			assert_int_equal(nvof_ns_scan(ctrl, scan_ended, &nr_ended), 0);
			nr_scans++;
			for (j = 0; j < i % 9; j++)
				nvof_ctx_poll(w->ctx, 100);
		}
		if (i == 100) {
			fds = count_fds();
			threads = count_entries("/proc/self/task");
		}
		if (i % 2)
			assert_int_equal(nvof_ctrl_disconnect_sync(ctrl), 0);
		nvof_ctrl_free(ctrl);
		assert_int_equal(nr_ended, nr_scans);
	}
	{
		struct nvof_ctrl *ctrl = connected(w);
		int now = 0;

		/* The target may still be closing its side of the last ones. */
		for (i = 0; i < 500 && (!i || now > fds); i++) {
			nvof_ctx_poll(w->ctx, 10000);
			now = count_fds();
		}
		assert_true(now <= fds);
		assert_int_equal(count_entries("/proc/self/task"), threads);
		status = nvof_target_status_json(w->t);
		assert_non_null(status);
		assert_non_null(strstr(status, "\"cntlid\""));
		assert_null(strstr(strstr(status, "\"cntlid\"") + 1, "\"cntlid\"")); /* ours alone */
		free(status);
		nvof_ctrl_free(ctrl);
	}
}

static const struct {
	const char *name;
	void (*run)(struct world *w);
} scenes[] = {
#define SCENE(s)      \
	{             \
#s, s \
	}
	SCENE(data_comes_back_as_written),
	SCENE(iovecs_of_any_shape_come_back_as_written),
	SCENE(every_io_command_is_understood),
	SCENE(thousands_of_namespaces_are_listed),
	SCENE(changes_of_namespaces_are_told),
	SCENE(the_discovery_log_names_the_subsystem_and_its_changes),
	SCENE(refusals_name_what_was_refused),
	SCENE(a_silent_target_is_given_up_in_time),
	SCENE(io_in_flight_is_cancelled_by_a_disconnect),
	SCENE(a_target_that_goes_away_is_noticed),
	SCENE(an_event_loop_of_one_s_own_can_wait_for_the_fd),
	SCENE(many_connects_and_disconnects_leave_the_target_empty),
};
#define NR_SCENES (sizeof(scenes) / sizeof(scenes[0]))

struct run {
	size_t scene;
	const char *transport;
};

static void run_scene(void **state)
{
	const struct run *r = *state;
	struct world *w = world_new(r->transport);

	scenes[r->scene].run(w);
	world_free(w);
}

int main(void)
{
	static const char *const transports[] = { "loop", "tcp" };
	static char names[2 * NR_SCENES][100];
	static struct run runs[2 * NR_SCENES];
	struct CMUnitTest tests[2 * NR_SCENES] = { 0 };
	size_t i;

	for (i = 0; i < 2 * NR_SCENES; i++) {
		runs[i] = (struct run){ .scene = i / 2, .transport = transports[i % 2] };
		snprintf(names[i], sizeof(names[i]), "%s_over_%s", scenes[i / 2].name, transports[i % 2]);
		tests[i] = (struct CMUnitTest){ .name = names[i], .test_func = run_scene, .initial_state = &runs[i] };
	}
	return _cmocka_run_group_tests("host_target", tests, 2 * NR_SCENES, NULL, NULL);
}
