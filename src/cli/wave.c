/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/wave.h"

#include <errno.h>

struct closing {
	unsigned int nr_open; /* ctrls that are being disconnected */
	unsigned int nr_silent;
};

static void wave_done(void *arg, struct nvof_wave *wave, int status)
{
	struct wave_job *job = arg;

	job->done = true;
	job->status = status;
}

static int begin(struct conn *c, const struct conn_args *args, const struct wave_args *wave, struct wave_job *job)
{
	struct nvof_connect_all_opts opts;
	struct nvof_connect_opts connect;
	int ret;

	if (args->nr_paths)
		return cli_usage_error(c->cli, "--path", "--path: the discovery service tells the addresses");
	conn_fill_opts(&connect, c, args, CONN_DISCOVERY);
	nvof_connect_all_opts_init(&opts);
	opts.connect = &connect;
	opts.max_depth = wave->max_depth;
	opts.any_transport = wave->any_transport;
	opts.duplicate_connect = args->nr_duplicates;
	ret = nvof_connect_all(c->ctx, &opts, wave_done, job, &job->wave);
	if (!ret)
		return EXIT_OK;
	cli_error(c->cli, ret, "%s", nvof_ctx_errmsg(c->ctx));
	return ret == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

int wave_begin(struct conn *c, const struct conn_args *args, const struct wave_args *wave, struct wave_job *job)
{
	json_object *before = cli_part_begin(c->cli);
	int ret;

	*job = (struct wave_job){ 0 };
	ret = begin(c, args, wave, job);
	job->error = cli_part_end(c->cli, before);
	return ret;
}

static bool all_done(const struct wave_job *jobs, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (jobs[i].wave && !jobs[i].done)
			return false;
	return true;
}

/* What was told by cli_error(), for who tells of several. */
static void complain(struct conn *c, struct wave_job *job)
{
	json_object *before = cli_part_begin(c->cli);

	cli_error(c->cli, job->status, "%s", nvof_wave_errmsg(job->wave));
	job->error = cli_part_end(c->cli, before);
}

static void give_up(struct wave_job *job)
{
	nvof_wave_free(job->wave);
	job->wave = NULL;
}

int wave_wait(struct conn *c, struct wave_job *jobs, size_t nr, struct stop *stop)
{
	bool stopped = false;
	int ret = EXIT_OK;

	while (!all_done(jobs, nr) && !stopped) {
		nvof_ctx_poll(c->ctx, STOP_LOOK_US);
		stopped = stop_look(stop);
	}
	for (size_t i = 0; i < nr; i++) {
		if (jobs[i].wave && !stopped && jobs[i].status) {
			complain(c, &jobs[i]);
			ret = EXIT_FAILED;
		}
		if (stopped || jobs[i].status)
			give_up(&jobs[i]);
	}
	return stopped ? EXIT_FAILED : ret;
}

static void ctrl_closed(void *arg, struct nvof_ctrl *ctrl, int status)
{
	struct closing *closing = arg;

	closing->nr_open--;
	closing->nr_silent += status == -ETIMEDOUT;
}

static void for_each_connected(const struct wave_job *jobs, size_t nr, void (*fn)(struct nvof_ctrl *ctrl, struct closing *closing),
			       struct closing *closing)
{
	for (size_t i = 0; i < nr; i++) {
		for (size_t j = 0; jobs[i].wave && j < nvof_wave_nr_results(jobs[i].wave); j++) {
			const struct nvof_wave_result *r = nvof_wave_result(jobs[i].wave, j);

			if (r->outcome == NVOF_OUTCOME_CONNECTED)
				fn(r->ctrl, closing);
		}
	}
}

static void begin_disconnect(struct nvof_ctrl *ctrl, struct closing *closing)
{
	if (nvof_ctrl_state(ctrl) == NVOF_CTRL_LIVE && !nvof_ctrl_disconnect(ctrl, ctrl_closed, closing))
		closing->nr_open++;
}

static void free_ctrl(struct nvof_ctrl *ctrl, struct closing *closing)
{
	nvof_ctrl_free(ctrl);
}

void wave_disconnect(struct conn *c, struct wave_job *jobs, size_t nr, struct stop *stop)
{
	struct closing closing = { 0 };

	for_each_connected(jobs, nr, begin_disconnect, &closing);
	while (closing.nr_open && !stop_look(stop))
		nvof_ctx_poll(c->ctx, STOP_LOOK_US);
	if (closing.nr_silent)
		cli_warn(c->cli, "%u ctrls did not answer the shutdown; their connections were closed all the same", closing.nr_silent);
	for_each_connected(jobs, nr, free_ctrl, &closing);
	for (size_t i = 0; i < nr; i++) {
		give_up(&jobs[i]);
		json_object_put(jobs[i].error);
		jobs[i].error = NULL;
	}
}
