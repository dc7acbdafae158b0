/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A real target over TCP that goes away and comes back with another number of queues, again and again, under I/O that knows what it wrote:
 * nothing fails, nothing is lost, nothing completes twice.
 */
#include <nvof/nvof.h>
#include <nvof/target.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define NQN	  "nqn.2014-08.org.example:subsys"
#define HOSTNQN	  "nqn.2014-08.org.nvmexpress:uuid:aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
#define MAX_HCTX  16
#define PER_HCTX  4
#define UNIT	  8192 /* bytes of one I/O */
#define FILE_LEN  (MAX_HCTX * PER_HCTX * UNIT)
#define NR_CYCLES 40

struct world;

/* One place on the disk: written, read back, compared, for ever. */
struct place {
	struct world *w;
	unsigned int hctx, nr;
	uint32_t seq; /* of the last write that was acknowledged */
	bool reading, flying;
	uint32_t buf[UNIT / 4];
};

struct world {
	char path[64], addr[16], port[16], spec[48];
	struct nvof_target *t;
	struct nvof_ctx *ctx;
	struct nvof_ctrl *ctrl;
	struct nvof_ns *ns;
	struct place places[MAX_HCTX * PER_HCTX];
	uint64_t nr_done;
	int nr_live, nr_resetting;
	bool over;
};

static void target_up(struct world *w, unsigned int max_io_queues)
{
	struct nvof_target_opts o;
	struct nvof_subsys_opts so;
	struct nvof_target_ns_opts no;
	char addr[128], backend[80];

	nvof_target_opts_init(&o);
	o.max_io_queues = max_io_queues;
	assert_int_equal(nvof_target_new(&o, &w->t), 0);
	nvof_subsys_opts_init(&so);
	assert_int_equal(nvof_target_add_subsys(w->t, NQN, &so), 0);
	nvof_target_ns_opts_init(&no);
	snprintf(backend, sizeof(backend), "file:%s", w->path);
	no.backend = backend;
	no.nsid = 1;
	assert_int_equal(nvof_target_add_ns(w->t, NQN, &no, NULL), 0);
	assert_int_equal(nvof_target_listen(w->t, w->spec, addr, sizeof(addr)), 0);
	snprintf(w->port, sizeof(w->port), "%s", strrchr(addr, ':') + 1);
	snprintf(w->spec, sizeof(w->spec), "tcp:%s:%s", w->addr, w->port);
}

static void fill(struct place *p, uint32_t seq)
{
	size_t i;

	for (i = 0; i < UNIT / 4; i++)
		p->buf[i] = seq * 2654435761u + p->nr * 40503u + (uint32_t)i;
}

static void check(const struct place *p)
{
	size_t i;

	for (i = 0; i < UNIT / 4; i++)
		if (p->buf[i] != p->seq * 2654435761u + p->nr * 40503u + (uint32_t)i)
			fail_msg("place %u, word %zu: %08x is not of write %u", p->nr, i, p->buf[i], p->seq);
}

static void next(struct place *p);

static void done(void *arg, const struct nvof_cpl *cpl)
{
	struct place *p = arg;

	assert_true(p->flying);
	p->flying = false;
	if (p->w->over)
		return; /* cut off at the end */
	assert_int_equal(cpl->status, 0);
	p->w->nr_done++;
	if (p->reading)
		check(p);
	else
		p->seq++;
	p->reading = !p->reading;
	next(p);
}

static void next(struct place *p)
{
	struct nvof_hctx *hctx = nvof_ctrl_hctx(p->w->ctrl, p->hctx);
	uint64_t slba = (uint64_t)p->nr * UNIT / 512;
	int ret;

	if (p->reading) {
		memset(p->buf, 0, sizeof(p->buf));
		ret = nvof_read(hctx, p->w->ns, slba, UNIT / 512, p->buf, 0, done, p);
	} else {
		fill(p, p->seq + 1);
		ret = nvof_write(hctx, p->w->ns, slba, UNIT / 512, p->buf, 0, done, p);
	}
	/* A shared queue may have no room: tried again by who polls. */
	p->flying = !ret;
	if (ret != -11)
		assert_int_equal(ret, 0);
}

static void start_idle(struct world *w)
{
	unsigned int i;

	for (i = 0; i < MAX_HCTX * PER_HCTX; i++)
		if (!w->places[i].flying && w->places[i].hctx < nvof_ctrl_nr_hctx(w->ctrl))
			next(&w->places[i]);
}

static void run(struct world *w, uint64_t more)
{
	uint64_t until = w->nr_done + more;
	int i;

	for (i = 0; w->nr_done < until; i++) {
		assert_true(i < 1000000);
		nvof_ctx_poll(w->ctx, 10000);
		start_idle(w);
	}
}

static void on_event(void *arg, struct nvof_ctrl *ctrl, const struct nvof_event *event)
{
	struct world *w = arg;

	if (event->type != NVOF_EVENT_STATE)
		return;
	w->nr_live += nvof_ctrl_state(ctrl) == NVOF_CTRL_LIVE;
	w->nr_resetting += nvof_ctrl_state(ctrl) == NVOF_CTRL_RESETTING;
}

static struct world *world_new(unsigned int nr_queues, unsigned int queue_size, unsigned int queues_per_hctx, unsigned int io_threads)
{
	struct world *w = calloc(1, sizeof(*w));
	unsigned int i, pid = (unsigned int)getpid();
	struct nvof_connect_opts o;
	int fd;

	snprintf(w->path, sizeof(w->path), "/tmp/nvof-reconnect-XXXXXX");
	fd = mkstemp(w->path);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, FILE_LEN), 0);
	close(fd);
	/* An address that no other test listens on: the port is had again each time. */
	snprintf(w->addr, sizeof(w->addr), "127.%u.%u.%u", 128 + (pid >> 16 & 63), pid >> 8 & 255, pid & 255);
	snprintf(w->spec, sizeof(w->spec), "tcp:%s:0", w->addr);
	target_up(w, nr_queues);
	assert_int_equal(nvof_ctx_new(NULL, &w->ctx), 0);
	nvof_connect_opts_init(&o);
	o.traddr = w->addr;
	o.trsvcid = w->port;
	o.subsysnqn = NQN;
	o.hostnqn = HOSTNQN;
	o.nr_io_queues = MAX_HCTX;
	o.queue_size = queue_size;
	o.queues_per_hctx = queues_per_hctx;
	o.io_threads = io_threads;
	o.ctrl_loss_tmo_ms = -1;
	o.reconnect_delay_ms = 5;
	o.event = on_event;
	o.event_arg = w;
	assert_int_equal(nvof_ctrl_connect_sync(w->ctx, &o, &w->ctrl), 0);
	assert_int_equal(nvof_ns_open_sync(w->ctrl, 1, &w->ns), 0);
	for (i = 0; i < MAX_HCTX * PER_HCTX; i++)
		w->places[i] = (struct place){ .w = w, .nr = i, .hctx = i / PER_HCTX };
	return w;
}

static void world_free(struct world *w)
{
	nvof_ctx_free(w->ctx);
	nvof_target_free(w->t);
	unlink(w->path);
	free(w);
}

static void wait_live(struct world *w, int nr)
{
	int i;

	for (i = 0; w->nr_live < nr; i++) {
		assert_true(i < 100000);
		nvof_ctx_poll(w->ctx, 1000);
		start_idle(w);
	}
}

/* NVOF_TEST_CYCLES makes it longer. */
static int nr_cycles(void)
{
	const char *more = getenv("NVOF_TEST_CYCLES");

	return more ? atoi(more) : NR_CYCLES;
}

static void cycles(unsigned int queue_size, unsigned int queues_per_hctx, unsigned int io_threads)
{
	static const unsigned int counts[] = { 3, 8, 1, 16, 8 };
	struct world *w = world_new(8, queue_size, queues_per_hctx, io_threads);
	struct nvof_ctrl_stats stats;
	int k, nr = nr_cycles();

	assert_int_equal(nvof_ctrl_nr_io_queues(w->ctrl), 8);
	start_idle(w);
	run(w, 200);
	for (k = 0; k < nr; k++) {
		nvof_target_free(w->t);
		if (k % 3 == 0) /* attempts that find nobody */
			nvof_ctx_poll(w->ctx, 2000);
		target_up(w, counts[k % 5]);
		wait_live(w, k + 2);
		assert_int_equal(nvof_ctrl_nr_io_queues(w->ctrl), counts[k % 5]);
		run(w, 200);
	}
	nvof_ctrl_stats(w->ctrl, &stats);
	assert_int_equal(stats.nr_reconnects, nr);
	assert_true(stats.nr_retries > (uint64_t)nr);
	assert_int_equal(w->nr_resetting, nr);
	nvof_ctrl_reset(w->ctrl);
	wait_live(w, k + 2);
	run(w, 200);
	w->over = true;
	world_free(w);
}

static void io_survives_targets_that_grant_other_numbers_of_queues(void **state)
{
	cycles(128, 1, 0);
}

/* Each hctx fills its queue: what was held does not fit a shared one at once. */
static void the_same_with_full_queues(void **state)
{
	cycles(PER_HCTX + 1, 1, 0);
}

static void the_same_with_groups_of_queues(void **state)
{
	cycles(PER_HCTX + 1, 3, 0);
}

static void the_same_with_io_threads(void **state)
{
	cycles(128, 1, 3);
}

static void the_same_with_groups_of_full_queues_on_io_threads(void **state)
{
	cycles(PER_HCTX + 1, 3, 2);
}

static void drop_queue(struct world *w, unsigned int qid)
{
	char spec[64];

	snprintf(spec, sizeof(spec), "on=io,qid=%u,drop,count=1", qid);
	assert_int_equal(nvof_target_add_fault(w->t, spec), 0);
}

static void run_until_renewed(struct world *w, uint64_t nr)
{
	struct nvof_ctrl_stats stats = { 0 };
	int i;

	for (i = 0; stats.nr_renewals < nr; i++) {
		assert_true(i < 1000);
		run(w, 20);
		nvof_ctrl_stats(w->ctrl, &stats);
	}
	assert_int_equal(stats.nr_renewals, nr);
	assert_int_equal(stats.nr_reconnects, 0);
}

static void lose_queues_alone(unsigned int io_threads)
{
	static const unsigned int per_hctx[] = { 1, 4, 8 };
	unsigned int g, k;

	for (g = 0; g < 3; g++) {
		struct world *w = world_new(8, 128, per_hctx[g], io_threads);

		start_idle(w);
		for (k = 0; k < 40; k++) {
			/* In a group one can't know which queues have work. */
			if (per_hctx[g] == 1)
				drop_queue(w, 1 + k % 8);
			else
				assert_int_equal(nvof_target_add_fault(w->t, "on=io,qid=io,drop,count=1"), 0);
			run_until_renewed(w, k + 1);
			assert_int_equal(nvof_ctrl_nr_io_queues(w->ctrl), 8);
		}
		assert_int_equal(w->nr_resetting, 0);
		w->over = true;
		world_free(w);
	}
}

static void a_queue_lost_alone_comes_back_alone(void **state)
{
	lose_queues_alone(0);
}

static void a_queue_of_an_io_thread_lost_alone_comes_back_alone(void **state)
{
	lose_queues_alone(3);
}

static void lose_several_queues(unsigned int io_threads)
{
	struct world *w = world_new(8, PER_HCTX + 1, 1, io_threads);
	unsigned int k, qid;

	start_idle(w);
	for (k = 0; k < 20; k++) {
		for (qid = 1 + k % 2; qid <= 8; qid += 2)
			drop_queue(w, qid);
		run_until_renewed(w, 4 * (k + 1));
	}
	assert_int_equal(w->nr_resetting, 0);
	w->over = true;
	world_free(w);
}

static void several_queues_may_be_lost_at_once(void **state)
{
	lose_several_queues(0);
}

static void several_queues_of_io_threads_may_be_lost_at_once(void **state)
{
	lose_several_queues(2);
}

static void lose_a_queue_for_good(unsigned int io_threads)
{
	static const char *const faults[] = { "on=connect,qid=2,status=1:81h,count=1", "on=connect,qid=2,drop,count=1" };
	struct nvof_ctrl_stats stats;
	struct world *w;
	size_t i;

	for (i = 0; i < 2; i++) {
		w = world_new(8, 128, 1, io_threads);
		start_idle(w);
		run(w, 100);
		assert_int_equal(nvof_target_add_fault(w->t, faults[i]), 0);
		drop_queue(w, 2);
		wait_live(w, 2);
		run(w, 200);
		nvof_ctrl_stats(w->ctrl, &stats);
		assert_int_equal(stats.nr_reconnects, 1);
		assert_int_equal(stats.nr_renewals, 0);
		w->over = true;
		world_free(w);
	}
}

static void a_queue_that_does_not_come_back_resets_the_ctrl(void **state)
{
	lose_a_queue_for_good(0);
}

static void a_queue_of_an_io_thread_that_does_not_come_back_resets_the_ctrl(void **state)
{
	lose_a_queue_for_good(3);
}

static void disconnect_while_renewing(unsigned int io_threads)
{
	struct world *w = world_new(8, 128, 1, io_threads);
	unsigned int i;

	start_idle(w);
	run(w, 100);
	assert_int_equal(nvof_target_add_fault(w->t, "on=connect,qid=3,delay=2s"), 0);
	drop_queue(w, 3);
	run(w, 500);
	w->over = true;
	nvof_ctrl_disconnect_sync(w->ctrl);
	for (i = 0; i < MAX_HCTX * PER_HCTX; i++)
		assert_false(w->places[i].flying);
	world_free(w);
}

static void a_disconnect_while_a_queue_is_renewed_ends_all_io(void **state)
{
	disconnect_while_renewing(0);
	disconnect_while_renewing(16);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(io_survives_targets_that_grant_other_numbers_of_queues),
		cmocka_unit_test(the_same_with_full_queues),
		cmocka_unit_test(the_same_with_groups_of_queues),
		cmocka_unit_test(the_same_with_io_threads),
		cmocka_unit_test(the_same_with_groups_of_full_queues_on_io_threads),
		cmocka_unit_test(a_queue_lost_alone_comes_back_alone),
		cmocka_unit_test(a_queue_of_an_io_thread_lost_alone_comes_back_alone),
		cmocka_unit_test(several_queues_may_be_lost_at_once),
		cmocka_unit_test(several_queues_of_io_threads_may_be_lost_at_once),
		cmocka_unit_test(a_queue_that_does_not_come_back_resets_the_ctrl),
		cmocka_unit_test(a_queue_of_an_io_thread_that_does_not_come_back_resets_the_ctrl),
		cmocka_unit_test(a_disconnect_while_a_queue_is_renewed_ends_all_io),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
