/* SPDX-License-Identifier: BSD-3-Clause */
/* bench io: one run. */
#include <stdio.h>
#include <time.h>

#include "base/util.h"
#include "cli/bench_io_load.h"
#include "proto/ana.h"

/* ------------------------------------------------------------------------------------------------------------------ what is measured */

static double cpu_s(const struct timeval *from, const struct timeval *to)
{
	return (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_usec - from->tv_usec) / 1e6;
}

/* CPU time of the thread that submits and of each I/O thread: what they have used by now, added or taken off. */
static void thread_times(struct bench *b, double sign)
{
	struct nvof_io_thread info;
	struct timespec ts;
	unsigned int i;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	b->r->own_s += sign * ((double)ts.tv_sec + (double)ts.tv_nsec / (double)NSEC_PER_SEC);
	for (i = 0; i < b->r->nr_threads && conn_io_thread(b->c, i, &info); i++)
		b->r->threads_s[i] += sign * (double)info.cpu_ns / (double)NSEC_PER_SEC;
}

static void measure_begin(struct bench *b)
{
	getrusage(RUSAGE_SELF, &b->usage);
	thread_times(b, -1);
	b->measure_ns = b->now;
	b->measuring = true;
}

void bench_measure_end(struct bench *b)
{
	struct rusage usage;

	if (!b->measuring)
		return;
	b->measuring = false;
	getrusage(RUSAGE_SELF, &usage);
	thread_times(b, 1);
	b->r->seconds = (double)(b->now - b->measure_ns) / NSEC_PER_SEC;
	b->r->user_s = cpu_s(&b->usage.ru_utime, &usage.ru_utime);
	b->r->sys_s = cpu_s(&b->usage.ru_stime, &usage.ru_stime);
	b->r->bytes = (b->r->nr_reads + b->r->nr_writes) * b->args->bs;
}

/* What has its id there is not the namespace. */
static void note_other(const struct bench *b, struct nvof_ctrl *ctrl, struct bench_path *p)
{
	struct nvof_ns *other = nvof_ns_get(ctrl, nvof_ns_nsid(b->ns));

	if (!other)
		return;
	p->other = json_object_new_object();
	ns_add_json(p->other, other);
	ns_words(other, p->other_words);
	nvof_ns_close(other);
}

static void note_paths(struct bench *b)
{
	struct nvof_path path, there;

	for (; b->r->nr_paths < BENCH_MAX_PATHS && nvof_subsystem_path(b->c->subsys, (unsigned int)b->r->nr_paths, &path);
	     b->r->nr_paths++) {
		struct bench_path *p = &b->r->paths[b->r->nr_paths];

		snprintf(p->address, sizeof(p->address), "%s", nvof_ctrl_address(path.ctrl));
		p->cntlid = nvof_ctrl_cntlid(path.ctrl);
		p->state = nvof_ctrl_state_name(nvof_ctrl_state(path.ctrl));
		p->ana_state = conn_path_there(b->ns, path.ctrl, &there) ? ana_state_name(there.ana_state) : NULL;
		if (!p->ana_state)
			note_other(b, path.ctrl, p);
		p->nr_ios = path.nr_ios;
		p->nr_failed = path.nr_failed;
	}
}

/* ------------------------------------------------------------------------------------------------------------------ phases */

static void start_all(struct bench *b)
{
	b->ended = false;
	b->now = clock_ns();
	for (size_t i = 0; i < b->nr_ios; i++)
		bench_io_start(b, &b->ios[i]);
}

/* Why the run is over; an I/O that could not be sent any more is an error if there was none yet. */
static void note_refusal(struct bench *b)
{
	if (!b->lost || b->r->stopped)
		return;
	b->r->stopped = b->refused;
	bench_io_words(b, &b->refused_io, b->r->stopped_at);
	if (!b->r->errors)
		bench_count_error(b, &b->refused_io, b->refused);
}

/* A hctx has so many slots and no more: what it took at once is all that is ever in flight. */
static void note_depth(struct bench *b)
{
	b->r->iodepth = (unsigned int)((b->nr_flying + b->r->nr_hctx - 1) / b->r->nr_hctx);
	if (b->waiting && b->r->iodepth < b->args->iodepth)
		cli_warn(b->c->cli, "--iodepth: %u of %u I/Os are in flight on each hctx: queues of %u entries take no more", b->r->iodepth,
			 b->args->iodepth, nvof_ctrl_queue_size(b->c->ctrl));
}

static void run_load(struct bench *b)
{
	b->phase = PHASE_LOAD;
	b->now = clock_ns();
	b->end_ns = b->now + (b->args->warmup_ms + b->args->runtime_ms) * NSEC_PER_MSEC;
	if (!b->args->warmup_ms)
		measure_begin(b);
	start_all(b);
	note_depth(b);
	if (b->args->warmup_ms) {
		bench_turn(b, b->now + b->args->warmup_ms * NSEC_PER_MSEC);
		measure_begin(b);
	}
	if (!b->r->interrupted)
		bench_turn(b, b->end_ns);
	/* When none has ended yet, those in flight are waited for, and are what was measured. */
	if (b->r->nr_reads + b->r->nr_writes || b->r->errors || b->r->interrupted)
		bench_measure_end(b);
	bench_drain(b);
}

static void run_read_back(struct bench *b)
{
	b->phase = PHASE_READ_BACK;
	start_all(b);
	bench_turn(b, 0);
	bench_drain(b);
}

int bench_run(struct conn *c, const struct bench_args *args, struct nvof_ns *ns, struct bench_result *r)
{
	struct bench b;
	int ret = bench_set_up(&b, c, args, ns, r);

	if (!ret) {
		run_load(&b);
		note_refusal(&b);
		if (b.written && !b.lost && !r->interrupted && c->ctrl)
			run_read_back(&b);
		note_refusal(&b);
		r->nr_written = bench_nr_written(&b);
	}
	progress_end(&b.progress);
	if (c->subsys)
		note_paths(&b);
	/* From here on a signal ends the program: the disconnect of a silent peer may take long. */
	stop_end(&b.stop);
	r->stop = b.stop;
	bench_tear_down(&b);
	return ret;
}
