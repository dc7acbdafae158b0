/* SPDX-License-Identifier: BSD-3-Clause */
/* Many of them: processes that are host and target at once, ctrls by the hundred, one that is dead among others. */
#include <nvof/nvof.h>
#include <nvof/target.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"

#define NQN	"nqn.2014-08.org.example:many"
#define HOSTNQN "nqn.2014-08.org.nvmexpress:uuid:aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"

/* Returns the port; 0: listens in this process only. */
static uint16_t target_start(const char *listen_on, struct nvof_target **t)
{
	struct nvof_target_ns_opts ns;
	struct nvof_target_opts to;
	char addr[128] = "";

	nvof_target_opts_init(&to);
	to.spin_us = 0;
	if (nvof_target_new(&to, t) || nvof_target_add_subsys(*t, NQN, NULL))
		return 0;
	nvof_target_ns_opts_init(&ns);
	ns.backend = "mem:1M";
	if (nvof_target_add_ns(*t, NQN, &ns, NULL) || nvof_target_listen(*t, listen_on, addr, sizeof(addr)))
		return 0;
	return strchr(addr, ':') ? (uint16_t)atoi(strrchr(addr, ':') + 1) : 0;
}

static void opts_init(struct nvof_connect_opts *o, const char *port)
{
	nvof_connect_opts_init(o);
	o->transport = "tcp";
	o->traddr = "127.0.0.1";
	o->trsvcid = port;
	o->subsysnqn = NQN;
	o->hostnqn = HOSTNQN;
	o->nr_io_queues = 1;
}

/* ---- two processes ---- */

#define ROUNDS 100

/* One of the two: tells its port, learns the other's, connects in step with it.  An exit status. */
static int both_sides(int in, int out)
{
	struct nvof_connect_opts o;
	struct nvof_target *t;
	struct nvof_ctrl *ctrl;
	struct nvof_ctx *ctx;
	uint16_t port = target_start("tcp:127.0.0.1:0", &t), other;
	char text[16], step = 0;
	int i;

	if (!port || write(out, &port, sizeof(port)) != sizeof(port) || read(in, &other, sizeof(other)) != sizeof(other) ||
	    nvof_ctx_new(NULL, &ctx))
		return 1;
	snprintf(text, sizeof(text), "%u", other);
	opts_init(&o, text);
	o.nr_io_queues = 4;
	for (i = 0; i < ROUNDS; i++) {
		if (write(out, &step, 1) != 1 || read(in, &step, 1) != 1) /* both are here */
			return 2;
		/* The handshake timer of either side fires after 10 s: far more than this takes, even on a busy machine. */
		if (nvof_ctrl_connect_sync(ctx, &o, &ctrl)) {
			fprintf(stderr, "round %d: %s\n", i, nvof_ctx_errmsg(ctx));
			return 3;
		}
		if (nvof_ctrl_disconnect_sync(ctrl))
			return 4;
		nvof_ctrl_free(ctrl);
	}
	/* The other one may still need our target. */
	if (write(out, &step, 1) != 1 || read(in, &step, 1) != 1)
		return 5;
	nvof_ctx_free(ctx);
	nvof_target_free(t);
	return 0;
}

/* C010 */
static void two_that_are_host_and_target_connect_to_one_another_at_once(void **state)
{
	int a_to_b[2], b_to_a[2], status;
	pid_t pid[2];
	int i;

	assert_int_equal(pipe2(a_to_b, O_CLOEXEC), 0);
	assert_int_equal(pipe2(b_to_a, O_CLOEXEC), 0);
	for (i = 0; i < 2; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (!pid[i]) {
			alarm(100);
			_exit(both_sides(i ? a_to_b[0] : b_to_a[0], i ? b_to_a[1] : a_to_b[1]));
		}
	}
	for (i = 0; i < 2; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	for (i = 0; i < 2; i++) {
		close(a_to_b[i]);
		close(b_to_a[i]);
	}
}

/* ---- hundreds ---- */

#define NR_CTRLS 500
#define BATCH	 50

/* CPU time of all threads: what a busy machine does in between does not count. */
static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* Of batches [from, to): other work of the machine can only make one dearer. */
static uint64_t cheapest(const uint64_t *at, int from, int to)
{
	uint64_t best = UINT64_MAX;
	int i;

	for (i = from; i < to; i++)
		best = min_u64(best, at[i + 1] - at[i]);
	return best;
}

/* Whether the last of so many cost less than three times what the first did. */
static bool all_cost_alike(void)
{
	struct nvof_ctrl *ctrls[NR_CTRLS];
	uint64_t at[NR_CTRLS / BATCH + 1], first, last;
	struct nvof_ctx_opts co;
	struct nvof_connect_opts o;
	struct nvof_target *t;
	struct nvof_ctx *ctx;
	cpu_set_t all, one;
	int i;

	/* On one CPU: what waking a thread costs depends on where the system puts it. */
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(target_start("loop", &t), 0);
	nvof_ctx_opts_init(&co);
	co.spin_us = 0;
	assert_int_equal(nvof_ctx_new(&co, &ctx), 0);
	opts_init(&o, NULL);
	o.transport = "loop";
	o.traddr = NULL;
	o.loop_target = t;
	o.queue_size = 16;
	for (i = 0; i < NR_CTRLS; i++) {
		if (i % BATCH == 0)
			at[i / BATCH] = cpu_ns();
		if (nvof_ctrl_connect_sync(ctx, &o, &ctrls[i]))
			fail_msg("ctrl %d: %s", i, nvof_ctx_errmsg(ctx));
	}
	at[i / BATCH] = cpu_ns();
	first = cheapest(at, 0, NR_CTRLS / BATCH / 2);
	last = cheapest(at, NR_CTRLS / BATCH / 2, NR_CTRLS / BATCH);
	print_message("# %d of the first take %llu us of CPU, of the last %llu us\n", BATCH, (unsigned long long)first / 1000,
		      (unsigned long long)last / 1000);
	for (i = 0; i < NR_CTRLS; i++) {
		assert_int_equal(nvof_ctrl_state(ctrls[i]), NVOF_CTRL_LIVE);
		nvof_ctrl_free(ctrls[i]);
	}
	nvof_ctx_free(ctx);
	nvof_target_free(t);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	return last < 3 * first;
}

/* C172.  A machine that becomes slow half-way does so not each time. */
static void the_five_hundredth_ctrl_costs_what_the_first_did(void **state)
{
	int i;

	for (i = 0; i < 5; i++)
		if (all_cost_alike())
			return;
	fail();
}

struct all {
	int ended, failed;
};

static void one_connected(void *arg, struct nvof_ctrl *ctrl, int status)
{
	struct all *all = arg;

	all->ended++;
	all->failed += !!status;
}

/* C172 */
static void hundreds_of_ctrls_connect_at_once(void **state)
{
	struct nvof_ctrl **ctrls = calloc(NR_CTRLS, sizeof(struct nvof_ctrl *));
	struct nvof_connect_opts o;
	struct all all = { 0 };
	struct nvof_target *t;
	struct nvof_ctx *ctx;
	char port[16];
	int i, nr = 300; /* 2 connections each, both ends in this process */

	snprintf(port, sizeof(port), "%u", target_start("tcp:127.0.0.1:0", &t));
	assert_int_equal(nvof_ctx_new(NULL, &ctx), 0);
	opts_init(&o, port);
	o.connect_tmo_ms = 60000;
	if (sysconf(_SC_OPEN_MAX) < 5 * nr)
		nr = (int)(sysconf(_SC_OPEN_MAX) / 5);
	for (i = 0; i < nr; i++)
		assert_int_equal(nvof_ctrl_connect(ctx, &o, one_connected, &all, &ctrls[i]), 0);
	while (all.ended < nr)
		nvof_ctx_poll(ctx, 1000000);
	assert_int_equal(all.failed, 0);
	for (i = 0; i < nr; i++)
		nvof_ctrl_free(ctrls[i]);
	nvof_ctx_free(ctx);
	nvof_target_free(t);
	free(ctrls);
}

/* C172 */
static void five_hundred_subsystems_are_connected_to_by_one_call(void **state)
{
	struct nvof_connect_all_opts ao;
	struct nvof_connect_opts o;
	struct nvof_target *t;
	struct nvof_wave *wave;
	struct nvof_ctx *ctx;
	uint64_t start;
	char nqn[64];
	int i;

	assert_int_equal(target_start("loop", &t), 0);
	for (i = 1; i < NR_CTRLS; i++) {
		snprintf(nqn, sizeof(nqn), NQN "-%d", i);
		assert_int_equal(nvof_target_add_subsys(t, nqn, NULL), 0);
	}
	assert_int_equal(nvof_ctx_new(NULL, &ctx), 0);
	opts_init(&o, NULL);
	o.transport = "loop";
	o.traddr = NULL;
	o.loop_target = t;
	o.subsysnqn = NULL;
	o.nr_io_queues = 2;
	o.queue_size = 16;
	o.connect_tmo_ms = 60000;
	nvof_connect_all_opts_init(&ao);
	ao.connect = &o;
	start = clock_ns();
	assert_int_equal(nvof_connect_all_sync(ctx, &ao, &wave), 0);
	print_message("# %d ctrls in %llu ms\n", NR_CTRLS, (unsigned long long)((clock_ns() - start) / NSEC_PER_MSEC));
	assert_int_equal(nvof_wave_nr_results(wave), NR_CTRLS);
	assert_int_equal(nvof_wave_count(wave, NVOF_OUTCOME_CONNECTED), NR_CTRLS);
	nvof_wave_free(wave);
	assert_int_equal(nvof_connect_all_sync(ctx, &ao, &wave), 0);
	assert_int_equal(nvof_wave_count(wave, NVOF_OUTCOME_ALREADY), NR_CTRLS);
	nvof_ctx_free(ctx);
	nvof_target_free(t);
}

/* ---- a dead one ---- */

/* An address where nobody answers: a listener whose backlog is full.  Returns its descriptor. */
static int dead_end(char port[16], int *others, int nr_others)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), i;

	assert_int_equal(bind(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(listen(fd, 0), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sin, &len), 0);
	for (i = 0; i < nr_others; i++) {
		others[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		connect(others[i], (struct sockaddr *)&sin, sizeof(sin));
	}
	snprintf(port, 16, "%u", ntohs(sin.sin_port));
	return fd;
}

struct reads {
	struct nvof_hctx *hctx;
	struct nvof_ns *ns;
	uint8_t buf[512];
	uint64_t nr;
};

static void read_again(void *arg, const struct nvof_cpl *cpl)
{
	struct reads *r = arg;

	if (cpl && cpl->status)
		return; /* the end */
	r->nr++;
	assert_int_equal(nvof_read(r->hctx, r->ns, 0, 1, r->buf, 0, read_again, r), 0);
}

static void dead_connected(void *arg, struct nvof_ctrl *ctrl, int status)
{
	*(int *)arg = status;
}

/* C011 */
static void a_dead_address_ends_in_time_and_holds_up_nobody(void **state)
{
	int others[8], fd, status, tries = 0;
	struct nvof_connect_opts o;
	struct nvof_ctrl *ctrl, *dead;
	struct reads r = { 0 };
	struct nvof_target *t;
	struct nvof_ctx *ctx;
	bool blocked;
	char port[16];
	uint64_t start, before;

	snprintf(port, sizeof(port), "%u", target_start("tcp:127.0.0.1:0", &t));
	assert_int_equal(nvof_ctx_new(NULL, &ctx), 0);
	opts_init(&o, port);
	assert_int_equal(nvof_ctrl_connect_sync(ctx, &o, &ctrl), 0);
	r.hctx = nvof_ctrl_hctx(ctrl, 0);
	assert_int_equal(nvof_ns_open_sync(ctrl, 1, &r.ns), 0);
	read_again(&r, NULL);

	fd = dead_end(port, others, ARRAY_SIZE(others));
	o.connect_tmo_ms = 500;
	/* Half a second of reads one after the other; not so on a machine that stands still just then. */
	do {
		status = 1;
		before = r.nr;
		start = clock_ns();
		assert_int_equal(nvof_ctrl_connect(ctx, &o, dead_connected, &status, &dead), 0);
		blocked = clock_ns() - start >= 400 * NSEC_PER_MSEC;
		while (status > 0)
			nvof_ctx_poll(ctx, 1000000);
		assert_int_equal(status, -ETIMEDOUT);
		assert_true(clock_ns() - start >= 490 * NSEC_PER_MSEC);
		assert_non_null(strstr(nvof_ctrl_errmsg(dead), "no answer to the connection request within 500 ms"));
		print_message("# %llu reads meanwhile\n", (unsigned long long)(r.nr - before));
	} while ((blocked || r.nr - before <= 100) && ++tries < 5);
	assert_true(tries < 5);
	assert_int_equal(nvof_ctrl_state(ctrl), NVOF_CTRL_LIVE);
	nvof_ctx_free(ctx);
	nvof_target_free(t);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		close(others[i]);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First: it forks, and nothing has threads yet. */
		cmocka_unit_test(two_that_are_host_and_target_connect_to_one_another_at_once),
		cmocka_unit_test(the_five_hundredth_ctrl_costs_what_the_first_did),
		cmocka_unit_test(hundreds_of_ctrls_connect_at_once),
		cmocka_unit_test(five_hundred_subsystems_are_connected_to_by_one_call),
		cmocka_unit_test(a_dead_address_ends_in_time_and_holds_up_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
