/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/io_thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/thread.h"
#include "base/util.h"
#include "host/cpus.h"
#include "host/ctrl.h"

static void *thread_main(void *arg)
{
	struct io_thread *t = arg;

	loop_run(t->loop);
	return NULL;
}

/* Where thread `index` may run; false: where its maker may. */
static bool thread_cpus(uint32_t index, const struct cpu_list *cpus, struct cpu_mask *mask)
{
	if (!cpus->nr)
		return cpus_near(mask);
	cpu_mask_only(mask, cpus->cpus[index % cpus->nr]);
	return true;
}

static int thread_create(struct io_thread *t, uint32_t index, const struct cpu_list *cpus, struct error *err)
{
	struct cpu_mask mask;
	bool bound = thread_cpus(index, cpus, &mask);
	pthread_attr_t attr;
	int ret;

	pthread_attr_init(&attr);
	ret = bound ? -pthread_attr_setaffinity_np(&attr, sizeof(mask), (cpu_set_t *)&mask) : 0;
	if (!ret)
		ret = thread_spawn(&t->thread, &attr, thread_main, t);
	pthread_attr_destroy(&attr);
	if (ret && cpus->nr)
		return error_set(err, ret, "start I/O thread %u on CPU %u: %s", index, cpus->cpus[index % cpus->nr], strerror(-ret));
	return ret ? error_set(err, ret, "start I/O thread %u: %s", index, strerror(-ret)) : 0;
}

static int thread_start(struct io_thread *t, uint32_t index, const struct cpu_list *cpus, uint64_t spin_ns, struct error *err)
{
	char name[16];
	int ret;

	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->back, NULL);
	ret = loop_new(&t->loop);
	if (ret)
		return error_set(err, ret, "make the loop of I/O thread %u: %s", index, strerror(-ret));
	loop_set_spin(t->loop, spin_ns);
	ret = thread_create(t, index, cpus, err);
	if (ret)
		return ret;
	t->started = true;
	snprintf(name, sizeof(name), "nvof-io-%u", index % 100000);
	pthread_setname_np(t->thread, name);
	return 0;
}

int io_threads_start(struct io_threads *ts, uint32_t nr, const struct cpu_list *cpus, uint64_t spin_ns, struct error *err)
{
	int ret = 0;

	if (!nr)
		return 0;
	ts->threads = calloc(nr, sizeof(*ts->threads));
	if (!ts->threads)
		return error_set(err, -ENOMEM, "start %u I/O threads: no memory", nr);
	ts->crowd = nr + 1 >= cpus_usable();
	if (ts->crowd)
		spin_ns = 0;
	while (ts->nr < nr && !ret) {
		ret = thread_start(&ts->threads[ts->nr], ts->nr, cpus, spin_ns, err);
		ts->nr++;
	}
	if (ret)
		io_threads_stop(ts);
	return ret;
}

void io_threads_stop(struct io_threads *ts)
{
	uint32_t i;

	for (i = 0; i < ts->nr; i++)
		if (ts->threads[i].started)
			loop_stop(ts->threads[i].loop);
	for (i = 0; i < ts->nr; i++) {
		struct io_thread *t = &ts->threads[i];

		if (t->started)
			pthread_join(t->thread, NULL);
		loop_free(t->loop);
		pthread_cond_destroy(&t->back);
		pthread_mutex_destroy(&t->lock);
	}
	free(ts->threads);
	*ts = (struct io_threads){ 0 };
}

void io_threads_joined(struct nvof_ctx *ctx, const struct io_threads *ts)
{
	if (ts->crowd && !ctx->crowds++)
		loop_set_spin(ctx->loop, 0);
}

void io_threads_leave(struct nvof_ctx *ctx, const struct io_threads *ts)
{
	if (ts->crowd && !--ctx->crowds)
		loop_set_spin(ctx->loop, ctx->spin_ns);
}

unsigned int nvof_ctrl_nr_io_threads(const struct nvof_ctrl *ctrl)
{
	return ctrl->io.nr;
}

bool nvof_ctrl_io_thread(const struct nvof_ctrl *ctrl, unsigned int i, struct nvof_io_thread *info)
{
	struct timespec ts = { 0 };
	clockid_t clock;

	if (i >= ctrl->io.nr)
		return false;
	if (!pthread_getcpuclockid(ctrl->io.threads[i].thread, &clock))
		clock_gettime(clock, &ts);
	*info = (struct nvof_io_thread){
		.nr_queues = ctrl->io.threads[i].nr_ports,
		.cpu_ns = (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec,
	};
	return true;
}
