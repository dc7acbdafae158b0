/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A real host and a real target by two paths, of different transports and of the same: I/O in which every block says when it was written,
 * while ANA states change, connections are reset and paths come and go.  Run it under TSan: the target has threads, and so has the host
 * here and there.
 */
#include <nvof/nvof.h>
#include <nvof/target.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define NQN	"nqn.2014-08.org.example:subsys"
#define HOSTNQN "nqn.2014-08.org.nvmexpress:uuid:aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
#define BLOCKS	64 /* each with one I/O at a time */

struct place {
	struct world *w;
	uint64_t slba, generation; /* last one that a write of was completed */
	uint64_t buf[64];
	bool writing;
	unsigned long nr;
};

struct world {
	struct nvof_target *t;
	struct nvof_ctx *ctx;
	struct nvof_ctrl *ctrls[2];
	char specs[2][64]; /* of the target's ports */
	struct nvof_subsystem *subsys;
	struct nvof_ns *ns;
	struct place places[BLOCKS];
	int nr_flying, nr_removed;
	unsigned int io_threads;
	bool stop;
};

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* ---- I/O whose data tells its age ---- */

static void next(struct place *p);

static void done(void *arg, const struct nvof_cpl *cpl)
{
	struct place *p = arg;

	p->w->nr_flying--;
	p->nr++;
	assert_int_equal(cpl->status, 0);
	if (!p->writing && p->generation)
		assert_true(p->buf[0] == p->generation && p->buf[63] == p->generation);
	if (p->writing)
		p->generation++;
	next(p);
}

static void next(struct place *p)
{
	struct nvof_hctx *hctx = nvof_subsystem_hctx(p->w->subsys, (unsigned int)(p->slba % nvof_subsystem_nr_hctx(p->w->subsys)));
	size_t i;

	if (p->w->stop)
		return;
	p->writing = !p->writing;
	for (i = 0; i < 64; i++)
		p->buf[i] = p->generation + 1;
	assert_int_equal(p->writing ? nvof_write(hctx, p->w->ns, p->slba, 1, p->buf, 0, done, p)
				    : nvof_read(hctx, p->w->ns, p->slba, 1, p->buf, 0, done, p),
			 0);
	p->w->nr_flying++;
}

static void poll_for(struct world *w, double seconds)
{
	double end = now_s() + seconds;

	do
		nvof_ctx_poll(w->ctx, 1000);
	while (now_s() < end);
}

static void start_load(struct world *w)
{
	for (uint64_t i = 0; i < BLOCKS; i++) {
		w->places[i] = (struct place){ .w = w, .slba = i };
		next(&w->places[i]);
	}
}

/* Until every place has gone on: nothing is stuck. */
static void all_move(struct world *w)
{
	unsigned long before[BLOCKS];
	double limit = now_s() + 30;

	for (int i = 0; i < BLOCKS; i++)
		before[i] = w->places[i].nr;
	for (int i = 0; i < BLOCKS; i++)
		while (w->places[i].nr < before[i] + 2) {
			assert_true(now_s() < limit);
			nvof_ctx_poll(w->ctx, 1000);
		}
}

static void end_load(struct world *w)
{
	double limit = now_s() + 30;

	w->stop = true;
	while (w->nr_flying) {
		assert_true(now_s() < limit);
		nvof_ctx_poll(w->ctx, 1000);
	}
}

/* ---- the world ---- */

static void told(void *arg, struct nvof_subsystem *subsys, const struct nvof_event *event)
{
	struct world *w = arg;

	w->nr_removed += event->type == NVOF_EVENT_NS_REMOVED;
}

static void connect_to(struct world *w, int i)
{
	struct nvof_connect_opts o;
	bool tcp = !strncmp(w->specs[i], "tcp", 3);

	nvof_connect_opts_init(&o);
	o.transport = tcp ? "tcp" : "loop";
	o.traddr = tcp ? "127.0.0.1" : NULL;
	o.trsvcid = tcp ? strrchr(w->specs[i], ':') + 1 : NULL;
	o.loop_target = tcp ? NULL : w->t;
	o.subsysnqn = NQN;
	o.hostnqn = HOSTNQN;
	o.nr_io_queues = 2;
	o.ctrl_loss_tmo_ms = -1;
	o.reconnect_delay_ms = 5;
	o.io_threads = w->io_threads;
	assert_int_equal(nvof_ctrl_connect_sync(w->ctx, &o, &w->ctrls[i]), 0);
}

static void begin(struct world *w, const char *first, const char *second, unsigned int io_threads, enum nvof_iopolicy policy)
{
	const char *const kinds[] = { first, second };
	struct nvof_target_ns_opts no;
	struct nvof_subsys_opts so;

	memset(w, 0, sizeof(*w));
	w->io_threads = io_threads;
	assert_int_equal(nvof_target_new(NULL, &w->t), 0);
	nvof_subsys_opts_init(&so);
	assert_int_equal(nvof_target_add_subsys(w->t, NQN, &so), 0);
	nvof_target_ns_opts_init(&no);
	no.backend = "mem:1M";
	assert_int_equal(nvof_target_add_ns(w->t, NQN, &no, NULL), 0);
	for (int i = 0; i < 2; i++) {
		bool tcp = !strcmp(kinds[i], "tcp");

		assert_int_equal(nvof_target_listen(w->t, tcp ? "tcp:127.0.0.1:0" : "loop", tcp ? w->specs[i] : NULL, sizeof(w->specs[i])),
				 0);
		if (!tcp)
			snprintf(w->specs[i], sizeof(w->specs[i]), "loop");
	}
	assert_int_equal(nvof_ctx_new(NULL, &w->ctx), 0);
	connect_to(w, 0);
	connect_to(w, 1);
	w->subsys = nvof_ctrl_subsystem(w->ctrls[0]);
	assert_non_null(w->subsys);
	nvof_subsystem_set_event(w->subsys, told, w);
	nvof_subsystem_set_iopolicy(w->subsys, policy);
	assert_int_equal(nvof_subsystem_scan_sync(w->subsys), 0);
	w->ns = nvof_subsystem_ns(w->subsys, 1);
	assert_non_null(w->ns);
}

static void finish(struct world *w)
{
	nvof_ns_close(w->ns);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(w->nr_removed, 0);
		assert_int_equal(nvof_ctrl_disconnect_sync(w->ctrls[i]), 0);
		nvof_ctrl_free(w->ctrls[i]);
	}
	assert_int_equal(w->nr_removed, 1); /* with the last path */
	assert_int_equal(nvof_subsystem_free(w->subsys), 0);
	nvof_ctx_free(w->ctx);
	nvof_target_free(w->t);
}

static void set_state(struct world *w, int i, enum nvof_ana_state state)
{
	assert_int_equal(nvof_target_set_ana(w->t, w->specs[i], 1, state), 0);
}

static void check_paths(const struct world *w)
{
	struct nvof_path path;

	for (unsigned int i = 0; i < 2; i++) {
		assert_true(nvof_ns_path(w->ns, i, &path));
		assert_true(path.nr_ios > 0);
		assert_int_equal(path.nr_active, 0);
	}
}

/* ---- */

static void change_states(const char *first, const char *second, unsigned int io_threads)
{
	static const enum nvof_ana_state states[] = { NVOF_ANA_INACCESSIBLE, NVOF_ANA_CHANGE, NVOF_ANA_NON_OPTIMIZED, NVOF_ANA_OPTIMIZED };
	struct world w;

	begin(&w, first, second, io_threads, NVOF_IOPOLICY_ROUND_ROBIN);
	start_load(&w);
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 2; i++)
			for (size_t s = 0; s < sizeof(states) / sizeof(states[0]); s++) {
				set_state(&w, i, states[s]);
				poll_for(&w, 0.01);
				all_move(&w);
			}
	/* None, and one again. */
	set_state(&w, 0, NVOF_ANA_INACCESSIBLE);
	set_state(&w, 1, NVOF_ANA_CHANGE);
	poll_for(&w, 0.1);
	set_state(&w, 1, NVOF_ANA_OPTIMIZED);
	all_move(&w);
	end_load(&w);
	check_paths(&w);
	finish(&w);
}

static void ana_states_are_obeyed_by_any_transport(void **state)
{
	change_states("tcp", "tcp", 0);
	change_states("tcp", "loop", 0);
	change_states("tcp", "loop", 2);
}

static void resets_of_either_path_lose_nothing(void **state)
{
	for (unsigned int io_threads = 0; io_threads < 3; io_threads += 2) {
		struct world w;

		begin(&w, "tcp", "loop", io_threads, NVOF_IOPOLICY_QUEUE_DEPTH);
		start_load(&w);
		for (int i = 0; i < 20; i++) {
			nvof_ctrl_reset(w.ctrls[i % 2]); /* one that is not back yet is reset already */
			poll_for(&w, 0.005);
			all_move(&w);
		}
		end_load(&w);
		check_paths(&w);
		finish(&w);
	}
}

static void closed(void *arg, struct nvof_ctrl *ctrl, int status)
{
	*(bool *)arg = true;
}

static void paths_come_and_go_under_load(void **state)
{
	struct world w;

	begin(&w, "tcp", "loop", 0, NVOF_IOPOLICY_ROUND_ROBIN);
	start_load(&w);
	for (int i = 0; i < 10; i++) {
		bool gone = false;

		assert_int_equal(nvof_ctrl_disconnect(w.ctrls[i % 2], closed, &gone), 0);
		while (!gone)
			nvof_ctx_poll(w.ctx, 1000);
		nvof_ctrl_free(w.ctrls[i % 2]);
		all_move(&w);
		connect_to(&w, i % 2);
		/* Every other time the old path goes while it is not known yet where the new one leads. */
		if (i % 2)
			all_move(&w);
	}
	end_load(&w);
	assert_int_equal(nvof_subsystem_scan_sync(w.subsys), 0);
	finish(&w);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(ana_states_are_obeyed_by_any_transport),
		cmocka_unit_test(resets_of_either_path_lose_nothing),
		cmocka_unit_test(paths_come_and_go_under_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
