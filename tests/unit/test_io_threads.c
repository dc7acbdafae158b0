/* SPDX-License-Identifier: BSD-3-Clause */
/* A ctrl with I/O threads and a real target, over each transport: what is promised without them holds with them. */
#include <nvof/nvof.h>
#include <nvof/target.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/loop_internal.h"
#include "host/cpus.h"
#include "host/ctrl.h"
#include "proc.h"

#define NQN	"nqn.2014-08.org.example:subsys"
#define HOSTNQN "nqn.2014-08.org.nvmexpress:uuid:aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
#define UNIT	16384 /* bytes of one I/O */
#define NR_IOS	48

static const char *const transports[] = { "tcp", "loop" };
#define NR_TRANSPORTS 2

struct world;

struct io {
	struct world *w;
	unsigned int nr, seq;
	bool reading, flying;
	int nr_ends;
	uint32_t buf[UNIT / 4];
};

struct world {
	struct nvof_target *t;
	struct nvof_ctx *ctx;
	struct nvof_ctrl *ctrl;
	struct nvof_ns *ns;
	struct nvof_connect_opts o;
	char port[16];
	struct io ios[NR_IOS];
	unsigned int nr_flying, nr_done;
	int first_error;
	bool stop;
};

static int nr_io_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	char path[300], name[32];
	struct dirent *e;
	int n = 0;
	FILE *f;

	while ((e = readdir(d))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		n += fgets(name, sizeof(name), f) && !strncmp(name, "nvof-io-", 8);
		fclose(f);
	}
	closedir(d);
	return n;
}

/* One that has its name in a moment, or that was joined and is in /proc for a moment. */
static void there_are_io_threads(int nr)
{
	for (int i = 0; nr_io_threads() != nr && i < 20000; i++)
		usleep(1000);
	assert_int_equal(nr_io_threads(), nr);
}

static void target_new(struct world *w, const char *transport)
{
	struct nvof_target_ns_opts no;
	struct nvof_subsys_opts so;
	char addr[128];

	assert_int_equal(nvof_target_new(NULL, &w->t), 0);
	nvof_subsys_opts_init(&so);
	assert_int_equal(nvof_target_add_subsys(w->t, NQN, &so), 0);
	nvof_target_ns_opts_init(&no);
	no.backend = "mem:16M";
	no.nsid = 1;
	assert_int_equal(nvof_target_add_ns(w->t, NQN, &no, NULL), 0);
	assert_int_equal(nvof_target_listen(w->t, strcmp(transport, "tcp") ? "loop" : "tcp:127.0.0.1:0", addr, sizeof(addr)), 0);
	w->o.transport = transport;
	if (!strcmp(transport, "tcp")) {
		snprintf(w->port, sizeof(w->port), "%s", strrchr(addr, ':') + 1);
		w->o.traddr = "127.0.0.1";
		w->o.trsvcid = w->port;
	} else {
		w->o.loop_target = w->t;
	}
}

static struct world *world_new(const char *transport, unsigned int nr_queues, unsigned int per_hctx, unsigned int io_threads)
{
	struct world *w = calloc(1, sizeof(*w));

	nvof_connect_opts_init(&w->o);
	target_new(w, transport);
	assert_int_equal(nvof_ctx_new(NULL, &w->ctx), 0);
	w->o.subsysnqn = NQN;
	w->o.hostnqn = HOSTNQN;
	w->o.nr_io_queues = nr_queues;
	w->o.queues_per_hctx = per_hctx;
	w->o.io_threads = io_threads;
	for (unsigned int i = 0; i < NR_IOS; i++)
		w->ios[i] = (struct io){ .w = w, .nr = i };
	return w;
}

static void world_connect(struct world *w)
{
	assert_int_equal(nvof_ctrl_connect_sync(w->ctx, &w->o, &w->ctrl), 0);
	assert_int_equal(nvof_ns_open_sync(w->ctrl, 1, &w->ns), 0);
}

static void world_free(struct world *w)
{
	nvof_ctx_free(w->ctx);
	nvof_target_free(w->t);
	free(w);
}

/* ---- I/O that knows what it wrote ---- */

static uint32_t word(const struct io *io, unsigned int i)
{
	return io->seq * 2654435761u + io->nr * 40503u + i;
}

static void start(struct io *io);

static void ended(void *arg, const struct nvof_cpl *cpl)
{
	struct io *io = arg;
	struct world *w = io->w;

	assert_true(io->flying);
	io->flying = false;
	io->nr_ends++;
	w->nr_flying--;
	w->nr_done++;
	if (cpl->status) {
		if (!w->first_error)
			w->first_error = cpl->status;
		return;
	}
	for (unsigned int i = 0; io->reading && i < UNIT / 4; i++)
		if (io->buf[i] != word(io, i))
			fail_msg("I/O %u, word %u: %08x", io->nr, i, io->buf[i]);
	io->reading = !io->reading;
	if (!w->stop)
		start(io);
}

static void start(struct io *io)
{
	struct world *w = io->w;
	struct nvof_hctx *hctx = nvof_ctrl_hctx(w->ctrl, io->nr % nvof_ctrl_nr_hctx(w->ctrl));
	uint64_t slba = (uint64_t)io->nr * UNIT / 512;
	int ret;

	if (io->reading) {
		memset(io->buf, 0, sizeof(io->buf));
		ret = nvof_read(hctx, w->ns, slba, UNIT / 512, io->buf, 0, ended, io);
	} else {
		io->seq++;
		for (unsigned int i = 0; i < UNIT / 4; i++)
			io->buf[i] = word(io, i);
		ret = nvof_write(hctx, w->ns, slba, UNIT / 512, io->buf, 0, ended, io);
	}
	io->flying = !ret;
	w->nr_flying += !ret;
	if (ret != -ENOTCONN)
		assert_int_equal(ret, 0);
}

static void start_all(struct world *w)
{
	for (unsigned int i = 0; i < NR_IOS; i++)
		start(&w->ios[i]);
}

static void run(struct world *w, unsigned int more)
{
	unsigned int until = w->nr_done + more;

	for (int i = 0; w->nr_done < until; i++) {
		assert_true(i < 1000000);
		nvof_ctx_poll(w->ctx, 10000);
	}
}

static void wait_all(struct world *w)
{
	for (int i = 0; w->nr_flying; i++) {
		assert_true(i < 10000);
		nvof_ctx_poll(w->ctx, 10000);
	}
}

static void finish(struct world *w)
{
	w->stop = true;
	wait_all(w);
}

/* ---- */

/* A thread that was not needed may not have run yet. */
static struct nvof_io_thread has_run(struct nvof_ctrl *ctrl, unsigned int i)
{
	struct nvof_io_thread info = { 0 };

	for (int n = 0; n < 20000; n++) {
		assert_true(nvof_ctrl_io_thread(ctrl, i, &info));
		if (info.cpu_ns)
			break;
		usleep(1000);
	}
	return info;
}

static void data_goes_there_and_back(void **state)
{
	/* queues, queues per hctx, threads asked for, threads there are */
	static const unsigned int shapes[][4] = { { 1, 1, 1, 1 }, { 4, 1, 2, 2 },  { 4, 4, 3, 3 },
						  { 8, 2, 4, 4 }, { 3, 3, 16, 3 }, { 7, 2, 1, 1 } };
	int fds = count_fds();

	for (unsigned int t = 0; t < NR_TRANSPORTS; t++) {
		for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
			struct world *w = world_new(transports[t], shapes[k][0], shapes[k][1], shapes[k][2]);
			unsigned int nr = 0, most = 0, least = 99;

			w->o.data_digest = w->o.hdr_digest = !t && k % 2;
			world_connect(w);
			assert_int_equal(nvof_ctrl_nr_io_threads(w->ctrl), shapes[k][3]);
			there_are_io_threads((int)shapes[k][3]);
			start_all(w);
			run(w, 1000);
			for (unsigned int i = 0; i < shapes[k][3]; i++) {
				struct nvof_io_thread info = has_run(w->ctrl, i);

				nr += info.nr_queues;
				most = info.nr_queues > most ? info.nr_queues : most;
				least = info.nr_queues < least ? info.nr_queues : least;
				assert_true(info.cpu_ns > 0);
			}
			assert_int_equal(nr, shapes[k][0]);
			assert_true(most - least <= shapes[k][1]);
			finish(w);
			assert_int_equal(w->first_error, 0);
			if (k % 2)
				assert_int_equal(nvof_ctrl_disconnect_sync(w->ctrl), 0);
			world_free(w);
			assert_int_equal(count_fds(), fds);
		}
	}
	there_are_io_threads(0);
}

static void without_any_there_are_none(void **state)
{
	struct world *w = world_new("tcp", 2, 1, 0);
	struct nvof_io_thread info;

	world_connect(w);
	there_are_io_threads(0);
	assert_int_equal(nvof_ctrl_nr_io_threads(w->ctrl), 0);
	assert_false(nvof_ctrl_io_thread(w->ctrl, 0, &info));
	world_free(w);
}

static void all_commands_go_over_them(void **state)
{
	for (unsigned int t = 0; t < NR_TRANSPORTS; t++) {
		struct world *w = world_new(transports[t], 4, 4, 2);
		size_t len = 8u << 20;
		uint8_t *out = malloc(len), *in = calloc(1, len);
		struct nvof_hctx *hctx;

		world_connect(w);
		hctx = nvof_ctrl_hctx(w->ctrl, 0);
		for (size_t i = 0; i < len; i++)
			out[i] = (uint8_t)(i * 7 >> 3);
		/* Split over the group and by MDTS. */
		assert_int_equal(nvof_write_sync(hctx, w->ns, 0, (uint32_t)(len / 512), out, 0), 0);
		assert_int_equal(nvof_read_sync(hctx, w->ns, 0, (uint32_t)(len / 512), in, 0), 0);
		assert_memory_equal(in, out, len);
		/* What the ctrl refuses comes back as it said it. */
		w->ios[0].w = w;
		w->stop = true;
		w->ios[0].flying = true;
		w->nr_flying = 1;
		assert_int_equal(
			nvof_io_passthru(hctx, &(struct nvof_cmd){ .opcode = 0x7d, .nsid = 1 }, NVOF_DIR_NONE, NULL, 0, ended, &w->ios[0]),
			0);
		finish(w);
		assert_int_equal(w->first_error & 0x7ff, 0x001);
		free(out);
		free(in);
		world_free(w);
	}
}

static void the_descriptor_tells_of_completions(void **state)
{
	for (unsigned int t = 0; t < NR_TRANSPORTS; t++) {
		struct world *w = world_new(transports[t], 2, 1, 2);
		struct pollfd pfd;

		world_connect(w);
		pfd = (struct pollfd){ .fd = nvof_ctx_fd(w->ctx), .events = POLLIN };
		start_all(w);
		for (unsigned int i = 0; w->nr_done < 500; i++) {
			assert_true(i < 100000);
			if (nvof_ctx_prepare_wait(w->ctx))
				assert_int_equal(poll(&pfd, 1, 10000), 1);
			nvof_ctx_poll(w->ctx, 0);
		}
		finish(w);
		assert_int_equal(w->first_error, 0);
		world_free(w);
	}
}

/* Each once, whatever the moment. */
static void io_ends_once_when_all_is_freed(void **state)
{
	for (unsigned int t = 0; t < NR_TRANSPORTS; t++) {
		for (unsigned int k = 0; k < 20; k++) {
			struct world *w = world_new(transports[t], 4, 2, 1 + k % 4);

			world_connect(w);
			start_all(w);
			if (k)
				run(w, k * 20);
			w->stop = true;
			if (k % 3 == 0)
				nvof_ctrl_free(w->ctrl);
			else if (k % 3 == 1)
				assert_int_equal(nvof_ctrl_disconnect_sync(w->ctrl), 0);
			else
				nvof_target_free(w->t);
			if (k % 3 == 2)
				w->t = NULL;
			finish(w);
			if (k % 3 == 0)
				assert_true(!w->first_error || w->first_error == -ECANCELED);
			for (unsigned int i = 0; i < NR_IOS; i++)
				assert_false(w->ios[i].flying);
			world_free(w);
		}
	}
}

static void a_target_that_is_gone_ends_all_io(void **state)
{
	for (unsigned int t = 0; t < NR_TRANSPORTS; t++) {
		struct world *w = world_new(transports[t], 4, 1, 3);

		world_connect(w);
		start_all(w);
		run(w, 200);
		nvof_target_free(w->t);
		w->t = NULL;
		wait_all(w);
		assert_true(w->first_error < 0);
		assert_int_equal(nvof_ctrl_state(w->ctrl), NVOF_CTRL_DEAD);
		assert_string_not_equal(nvof_ctrl_errmsg(w->ctrl), "");
		world_free(w);
	}
}

static void a_command_without_an_answer_is_late(void **state)
{
	for (unsigned int t = 0; t < NR_TRANSPORTS; t++) {
		struct world *w = world_new(transports[t], 2, 1, 2);

		w->o.io_tmo_ms = 200;
		world_connect(w);
		assert_int_equal(nvof_target_add_fault(w->t, "on=io,qid=2,ignore,count=1"), 0);
		start_all(w);
		while (!w->first_error)
			nvof_ctx_poll(w->ctx, 10000);
		finish(w);
		assert_int_equal(w->first_error, -ETIMEDOUT);
		assert_non_null(strstr(nvof_ctrl_errmsg(w->ctrl), "was not answered within 200 ms"));
		world_free(w);
	}
}

static void a_ctrl_that_is_reset_has_its_threads_still(void **state)
{
	for (unsigned int t = 0; t < NR_TRANSPORTS; t++) {
		struct world *w = world_new(transports[t], 4, 2, 3);
		struct nvof_ctrl_stats stats = { 0 };

		w->o.ctrl_loss_tmo_ms = -1;
		w->o.reconnect_delay_ms = 1;
		world_connect(w);
		start_all(w);
		for (unsigned int k = 1; k <= 30; k++) {
			run(w, 100);
			while (nvof_ctrl_reset(w->ctrl))
				nvof_ctx_poll(w->ctx, 1000);
			while (stats.nr_reconnects < k) {
				nvof_ctx_poll(w->ctx, 1000);
				nvof_ctrl_stats(w->ctrl, &stats);
			}
		}
		run(w, 100);
		assert_int_equal(nvof_ctrl_nr_io_threads(w->ctrl), 3);
		finish(w);
		assert_int_equal(w->first_error, 0);
		world_free(w);
	}
}

/* One that starts and one that ends while the other has work. */
static void two_ctrls_have_threads_of_their_own(void **state)
{
	struct world *w = world_new("tcp", 4, 1, 2);
	struct nvof_ctrl *other;

	world_connect(w);
	start_all(w);
	for (unsigned int k = 0; k < 10; k++) {
		assert_int_equal(nvof_ctrl_connect_sync(w->ctx, &w->o, &other), 0);
		there_are_io_threads(4);
		run(w, 50);
		nvof_ctrl_free(other);
		there_are_io_threads(2);
	}
	finish(w);
	assert_int_equal(w->first_error, 0);
	world_free(w);
}

static void refused(struct world *w, int ret, const char *why)
{
	struct nvof_ctrl *ctrl;

	assert_int_equal(nvof_ctrl_connect(w->ctx, &w->o, NULL, NULL, &ctrl), ret);
	if (!strstr(nvof_ctx_errmsg(w->ctx), why))
		fail_msg("\"%s\" does not contain \"%s\"", nvof_ctx_errmsg(w->ctx), why);
	there_are_io_threads(0);
}

static void what_can_not_be_is_said(void **state)
{
	struct world *w = world_new("tcp", 4, 1, 257);

	refused(w, -EINVAL, "io_threads 257: 0 to 256");
	w->o.io_threads = 2;
	w->o.io_cpus = "0,x";
	refused(w, -EINVAL, "io_cpus '0,x': a list of CPUs");
	w->o.io_cpus = "8191";
	refused(w, -EINVAL, "start I/O thread 0 on CPU 8191: Invalid argument");
	world_free(w);
}

/* With as many threads as CPUs a spinning one keeps another from its work. */
static void nobody_spins_where_cpus_are_scarce(void **state)
{
	unsigned int nr = cpus_usable();
	struct world *w = world_new("tcp", nr + 1, 1, nr);
	struct nvof_ctx_opts o;
	struct nvof_ctrl *other;

	nvof_ctx_free(w->ctx);
	nvof_ctx_opts_init(&o);
	o.spin_us = 30;
	assert_int_equal(nvof_ctx_new(&o, &w->ctx), 0);
	assert_int_equal(w->ctx->loop->spin_ns, 30000);
	assert_int_equal(nvof_ctrl_connect_sync(w->ctx, &w->o, &w->ctrl), 0);
	assert_int_equal(nvof_ctrl_connect_sync(w->ctx, &w->o, &other), 0);
	assert_int_equal(w->ctx->loop->spin_ns, 0);
	assert_int_equal(w->ctrl->io.threads[0].loop->spin_ns, 0);
	nvof_ctrl_free(other);
	assert_int_equal(w->ctx->loop->spin_ns, 0);
	nvof_ctrl_free(w->ctrl);
	assert_int_equal(w->ctx->loop->spin_ns, 30000);
	world_free(w);
}

static void threads_run_where_they_are_told(void **state)
{
	struct world *w = world_new("tcp", 4, 1, 2);
	char path[64], line[256];
	int found = 0;
	struct dirent *e;
	DIR *d;

	w->o.io_cpus = "0";
	world_connect(w);
	d = opendir("/proc/self/task");
	while ((e = readdir(d))) {
		bool ours = false;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%.20s/status", e->d_name);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f)) {
			ours |= !strncmp(line, "Name:\tnvof-io-", 14);
			if (ours && !strncmp(line, "Cpus_allowed_list:", 18)) {
				assert_string_equal(line, "Cpus_allowed_list:\t0\n");
				found++;
			}
		}
		if (f)
			fclose(f);
	}
	closedir(d);
	assert_int_equal(found, 2);
	world_free(w);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_goes_there_and_back),
		cmocka_unit_test(without_any_there_are_none),
		cmocka_unit_test(all_commands_go_over_them),
		cmocka_unit_test(the_descriptor_tells_of_completions),
		cmocka_unit_test(io_ends_once_when_all_is_freed),
		cmocka_unit_test(a_target_that_is_gone_ends_all_io),
		cmocka_unit_test(a_command_without_an_answer_is_late),
		cmocka_unit_test(a_ctrl_that_is_reset_has_its_threads_still),
		cmocka_unit_test(two_ctrls_have_threads_of_their_own),
		cmocka_unit_test(what_can_not_be_is_said),
		cmocka_unit_test(nobody_spins_where_cpus_are_scarce),
		cmocka_unit_test(threads_run_where_they_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
