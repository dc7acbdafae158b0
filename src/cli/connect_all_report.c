/* SPDX-License-Identifier: BSD-3-Clause */
/* What connect-all tells about each record. */
#include "cli/connect_all.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/text.h"

#define US_PER_MS 1000.0

/* A record's texts are the peer's choice; clean ones are shown. */
struct shown {
	char *traddr, *trsvcid, *subnqn, *reason;
};

static char *clean(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		abort();
	return text_clean(copy);
}

static void show(const struct nvof_wave_result *r, struct shown *s)
{
	*s = (struct shown){ clean(r->entry->traddr), clean(r->entry->trsvcid), clean(r->entry->subnqn), clean(r->reason) };
}

static void shown_free(struct shown *s)
{
	free(s->traddr);
	free(s->trsvcid);
	free(s->subnqn);
	free(s->reason);
}

static double ms_of(const struct nvof_wave_result *r)
{
	return (r->end_us - r->start_us) / US_PER_MS;
}

/* A ctrl that was there already is another wave's, and may be gone by now. */
static bool has_ctrl(const struct nvof_wave_result *r)
{
	return r->outcome == NVOF_OUTCOME_CONNECTED;
}

/* asked: the I/O queues of each ctrl; 0: no number was given. */
static void print_result(const struct nvof_wave_result *r, uint32_t asked)
{
	struct shown s;

	show(r, &s);
	printf("%-9s %s%s%s%s%s %s", nvof_outcome_name(r->outcome), nvof_disc_trtype_name(r->entry->trtype), *s.traddr ? " " : "", s.traddr,
	       *s.trsvcid ? ":" : "", s.trsvcid, s.subnqn);
	if (!has_ctrl(r))
		printf("%s%s\n", *s.reason ? ": " : "", s.reason);
	else if (nvof_ctrl_nr_io_queues(r->ctrl) < asked)
		printf(": %u I/O queues (of %" PRIu32 " that were asked for) in %.1f ms\n", nvof_ctrl_nr_io_queues(r->ctrl), asked,
		       ms_of(r));
	else
		printf(": %u I/O queues in %.1f ms\n", nvof_ctrl_nr_io_queues(r->ctrl), ms_of(r));
	shown_free(&s);
}

static json_object *result_json(const struct nvof_wave_result *r, uint32_t asked)
{
	json_object *o = json_object_new_object();
	struct shown s;
	char words[160];

	show(r, &s);
	json_object_object_add(o, "outcome", json_object_new_string(nvof_outcome_name(r->outcome)));
	json_object_object_add(o, "trtype", json_object_new_string(nvof_disc_trtype_name(r->entry->trtype)));
	json_object_object_add(o, "subtype", json_object_new_string(nvof_disc_subtype_name(r->entry->subtype)));
	json_object_object_add(o, "traddr", json_object_new_string(s.traddr));
	json_object_object_add(o, "trsvcid", json_object_new_string(s.trsvcid));
	json_object_object_add(o, "subnqn", json_object_new_string(s.subnqn));
	json_object_object_add(o, "service", text_json(r->service));
	json_object_object_add(o, "depth", json_object_new_int64(r->depth));
	if (has_ctrl(r)) {
		json_object_object_add(o, "cntlid", json_object_new_int(nvof_ctrl_cntlid(r->ctrl)));
		json_object_object_add(o, "nr_io_queues", json_object_new_int64(nvof_ctrl_nr_io_queues(r->ctrl)));
		if (asked)
			json_object_object_add(o, "nr_io_queues_asked", json_object_new_int64(asked));
		json_object_object_add(o, "ms", number_json(ms_of(r)));
	}
	if (*s.reason)
		json_object_object_add(o, "reason", json_object_new_string(s.reason));
	if (r->status) {
		json_object_object_add(o, "status", json_object_new_int(r->status));
		json_object_object_add(o, "status_text", json_object_new_string(nvof_status_str(r->status, words, sizeof(words))));
	}
	shown_free(&s);
	return o;
}

static const struct {
	enum nvof_outcome outcome;
	const char *key;
} counts[] = {
	{ NVOF_OUTCOME_CONNECTED, "connected" }, { NVOF_OUTCOME_ALREADY, "already_connected" },
	{ NVOF_OUTCOME_FOLLOWED, "followed" },	 { NVOF_OUTCOME_SKIPPED, "skipped" },
	{ NVOF_OUTCOME_FAILED, "failed" },
};

static const struct nvof_wave_result *next_result(const struct connect_all_run *r, size_t *job, size_t *i)
{
	for (; *job < r->nr_begun; ++*job, *i = 0)
		if (r->jobs[*job].wave && *i < nvof_wave_nr_results(r->jobs[*job].wave))
			return nvof_wave_result(r->jobs[*job].wave, (*i)++);
	return NULL;
}

#define for_each_result(run, result) for (size_t job_ = 0, i_ = 0; ((result) = next_result((run), &job_, &i_));)

static uint32_t queues_asked(const struct connect_all_run *run, size_t job)
{
	return run->services.each[job].args.nr_io_queues;
}

static size_t count(const struct connect_all_run *run, enum nvof_outcome outcome)
{
	const struct nvof_wave_result *r;
	size_t nr = 0;

	for_each_result(run, r) nr += r->outcome == outcome;
	return nr;
}

static double total_ms(const struct connect_all_run *run)
{
	const struct nvof_wave_result *r;
	double end_us = 0;

	for_each_result(run, r) if (r->end_us > end_us) end_us = r->end_us;
	return end_us / US_PER_MS;
}

/* Discovery services and lines of the file. */
static size_t nr_errors(const struct connect_all_run *run)
{
	return run->services.errors ? json_object_array_length(run->services.errors) : 0;
}

static int report_json(struct cli *cli, const struct connect_all_run *run)
{
	json_object *doc = cli_json_new(), *list = json_object_new_array();
	const struct nvof_wave_result *r;

	json_object_object_add(doc, "records", list);
	for_each_result(run, r) json_object_array_add(list, result_json(r, queues_asked(run, job_)));
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		json_object_object_add(doc, counts[i].key, json_object_new_int64((int64_t)count(run, counts[i].outcome)));
	json_object_object_add(doc, "errors", run->services.errors ? json_object_get(run->services.errors) : json_object_new_array());
	json_object_object_add(doc, "total_ms", number_json(total_ms(run)));
	cli_json_failure(cli, doc);
	return cli_json(cli, doc);
}

static int report_text(const struct connect_all_run *run)
{
	const struct nvof_wave_result *r;
	const char *comma = "";

	for_each_result(run, r) print_result(r, queues_asked(run, job_));
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		size_t nr = count(run, counts[i].outcome);

		if (!nr && counts[i].outcome != NVOF_OUTCOME_CONNECTED)
			continue;
		printf("%s%zu %s", comma, nr, nvof_outcome_name(counts[i].outcome));
		comma = ", ";
	}
	if (nr_errors(run))
		printf(", %zu discovery service%s failed", nr_errors(run), nr_errors(run) == 1 ? "" : "s");
	printf(" in %.1f ms\n", total_ms(run));
	return EXIT_OK;
}

int connect_all_report(struct cli *cli, const struct connect_all_run *run)
{
	return cli->json ? report_json(cli, run) : report_text(run);
}

/* The records say what went wrong; one sentence says that something did. */
int connect_all_complain(struct cli *cli, const struct connect_all_run *run)
{
	const struct nvof_wave_result *r;
	size_t nr = 0, nr_failed = count(run, NVOF_OUTCOME_FAILED);

	for_each_result(run, r) nr++;
	for_each_result(run, r) if (r->outcome == NVOF_OUTCOME_FAILED) return cli_error(
		cli, r->status, "%zu of %zu records failed, the first: %s: %s", nr_failed, nr, r->entry->subnqn, r->reason);
	return EXIT_OK;
}
