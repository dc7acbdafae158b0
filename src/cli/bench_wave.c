/* SPDX-License-Identifier: BSD-3-Clause */
/* bench connect --from-discovery: one run connects to everything that a discovery service tells of. */
#include <stddef.h>

#include "cli/bench_connect.h"
#include "cli/columns.h"
#include "cli/wave.h"

#define DEPTH 8

struct wave_times {
	double total_us;     /* from the beginning until the last ctrl was live */
	double discovery_us; /* until the first log was read */
	double connect_us;   /* from then on */
};
_Static_assert(sizeof(struct wave_times) == BENCH_WAVE_SIZE, "bench_connect.h says how large");

const struct column bench_wave_columns[] = {
	{ "total_ms", "total ms", offsetof(struct wave_times, total_us) },
	{ "discovery_ms", "discovery ms", offsetof(struct wave_times, discovery_us) },
	{ "connect_ms", "connect ms", offsetof(struct wave_times, connect_us) },
	{ 0 },
};

static void note_ctrl(struct bench_connect_results *r, const struct nvof_wave_result *result)
{
	const struct nvof_span *spans;
	size_t nr = nvof_ctrl_timeline(result->ctrl, &spans);
	struct nvof_setup_times times;

	setup_states_add(r->states, spans, nr);
	nvof_ctrl_setup_times(result->ctrl, &times);
	/* Both end with the same event; a connect that was begun twice has the timeline of the second time. */
	setup_trace_add(&r->trace, result->ctrl, result->end_us - times.total_us);
	r->nr_ctrls++;
	r->nr_queues += nvof_ctrl_nr_io_queues(result->ctrl);
}

static void note_wave(struct bench_connect_results *r, const struct nvof_wave *wave, struct wave_times *times)
{
	r->nr_ctrls = r->nr_queues = 0;
	for (size_t i = 0; i < nvof_wave_nr_results(wave); i++) {
		const struct nvof_wave_result *result = nvof_wave_result(wave, i);

		if (result->outcome != NVOF_OUTCOME_CONNECTED)
			continue;
		note_ctrl(r, result);
		if (r->nr_ctrls == 1 || result->start_us < times->discovery_us)
			times->discovery_us = result->start_us;
		if (result->end_us > times->total_us)
			times->total_us = result->end_us;
	}
	times->connect_us = times->total_us - times->discovery_us;
}

/* What is skipped does not count; what fails spoils the figure. */
static int check(struct cli *cli, const struct nvof_wave *wave)
{
	for (size_t i = 0; i < nvof_wave_nr_results(wave); i++) {
		const struct nvof_wave_result *r = nvof_wave_result(wave, i);

		if (r->outcome == NVOF_OUTCOME_FAILED)
			return cli_error(cli, r->status, "%s: %s", r->entry->subnqn, r->reason);
	}
	if (!nvof_wave_count(wave, NVOF_OUTCOME_CONNECTED))
		return cli_error(cli, 0, "the discovery service tells of nothing that this host can connect to");
	return EXIT_OK;
}

int bench_wave_run(struct conn *c, const struct bench_connect_args *args, struct bench_connect_results *r, void *times)
{
	const struct wave_args wave_args = { .max_depth = DEPTH, .any_transport = true };
	struct wave_job job;
	int ret = wave_begin(c, &args->conn, &wave_args, &job);

	if (!ret)
		ret = wave_wait(c, &job, 1, &r->stop);
	if (!ret) {
		note_wave(r, job.wave, times);
		ret = check(c->cli, job.wave);
	}
	wave_disconnect(c, &job, 1, &r->stop);
	return ret;
}
