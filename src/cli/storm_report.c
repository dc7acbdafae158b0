/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "base/util.h"
#include "cli/bench_storm.h"
#include "cli/text.h"

#define MS(ns) ((double)(ns) / NSEC_PER_MSEC)

static const struct {
	const char *key, *title;
	double quantile;
} quantiles[] = { { "p50", "p50", 0.5 }, { "p90", "p90", 0.9 }, { "p99", "p99", 0.99 }, { "max", "last", 1 } };

static const char *const cut_names[] = { [CUT_NONE] = "none", [CUT_HOST] = "host", [CUT_TARGET] = "target" };

static json_object *times_json(const struct hist *h)
{
	json_object *o = h->n ? json_object_new_object() : NULL; /* null: nobody came so far */

	for (size_t i = 0; i < ARRAY_SIZE(quantiles) && h->n; i++)
		json_object_object_add(o, quantiles[i].key, number_json(MS(hist_quantile(h, quantiles[i].quantile))));
	return o;
}

static json_object *refusals_json(const struct storm_phase *p)
{
	json_object *list = json_object_new_array();
	char words[160];

	for (size_t i = 0; i < p->nr_refusals; i++) {
		const struct storm_refusal *r = &p->refusals[i];
		json_object *o = json_object_new_object();

		json_object_object_add(o, "status", json_object_new_int(r->status));
		json_object_object_add(o, "status_text", json_object_new_string(nvof_status_str(r->status, words, sizeof(words))));
		json_object_object_add(o, "count", json_object_new_uint64(r->nr));
		json_object_object_add(o, "first", text_json(r->first));
		json_object_array_add(list, o);
	}
	return list;
}

/* By the hosts that are there. */
static uint64_t queues_asked(const struct storm *s, const struct storm_phase *p)
{
	return (uint64_t)p->nr_ready * s->args->conn.nr_io_queues;
}

static json_object *phase_json(const struct storm *s, const struct storm_phase *p)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "hosts", json_object_new_int64(p->nr_hosts));
	json_object_object_add(o, "ready", json_object_new_int64(p->nr_ready));
	json_object_object_add(o, "failed", json_object_new_int64(p->nr_failed));
	json_object_object_add(o, "nr_io_queues", json_object_new_uint64(p->nr_io_queues));
	json_object_object_add(o, "nr_io_queues_asked", json_object_new_uint64(queues_asked(s, p)));
	json_object_object_add(o, "attempts", json_object_new_uint64(p->nr_attempts));
	json_object_object_add(o, "refused", json_object_new_uint64(p->nr_refused));
	json_object_object_add(o, "refusals", refusals_json(p));
	json_object_object_add(o, "live_ms", times_json(&p->live));
	json_object_object_add(o, "first_io_ms", times_json(&p->first_io));
	return o;
}

static int report_json(struct cli *cli, const struct storm *s)
{
	json_object *doc = cli_json_new();

	json_object_object_add(doc, "hosts", json_object_new_int64(s->args->nr_hosts));
	json_object_object_add(doc, "nr_io_queues", json_object_new_int64(s->args->conn.nr_io_queues));
	json_object_object_add(doc, "cut", json_object_new_string(cut_names[s->args->cut]));
	json_object_object_add(doc, "lost_early", json_object_new_int64(s->nr_lost_early));
	json_object_object_add(doc, "connect", phase_json(s, &s->connect));
	if (s->phase == &s->reconnect)
		json_object_object_add(doc, "reconnect", phase_json(s, &s->reconnect));
	if (s->timed_out)
		json_object_object_add(doc, "timed_out", json_object_new_boolean(true));
	if (s->stop.sig)
		json_object_object_add(doc, "interrupted", json_object_new_boolean(true));
	return cli_json(cli, doc);
}

static void print_times(const char *name, const struct hist *h)
{
	printf("  %-14s", name);
	for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++)
		if (h->n)
			printf("%12.3f", MS(hist_quantile(h, quantiles[i].quantile)));
		else
			printf("%12s", "-");
	putchar('\n');
}

static void print_phase(const struct storm *s, const char *name, const struct storm_phase *p)
{
	printf("%s: %" PRIu32 " of %" PRIu32 " hosts, %" PRIu64 " I/O queues", name, p->nr_ready, p->nr_hosts, p->nr_io_queues);
	if (p->nr_io_queues < queues_asked(s, p))
		printf(" (of %" PRIu64 " that were asked for)", queues_asked(s, p));
	printf(", %" PRIu64 " attempts, %" PRIu64 " refused\n  %-14s", p->nr_attempts, p->nr_refused, "ms until");
	for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++)
		printf("%12s", quantiles[i].title);
	putchar('\n');
	print_times("live", &p->live);
	print_times("first I/O", &p->first_io);
	for (size_t i = 0; i < p->nr_refusals; i++)
		printf("  refused %" PRIu64 " times, the first: %s\n", p->refusals[i].nr, p->refusals[i].first);
}

static const struct storm_refusal *first_refusal(const struct storm_phase *p)
{
	return p->nr_refusals ? &p->refusals[0] : NULL;
}

static int complain(struct cli *cli, const struct storm *s)
{
	const struct storm_phase *p = s->phase;
	const struct storm_refusal *r = first_refusal(p);
	int status = p->nr_failed && r ? r->status : 0;

	if (s->stop.sig)
		return EXIT_OK;
	if (s->timed_out && s->args->cut == CUT_TARGET && p == &s->reconnect && !p->start_ns)
		return cli_error(cli, 0, "no connection was cut within the %" PRIu64 " s of --limit", s->args->limit_ms / 1000);
	if (p->nr_ready < p->nr_hosts)
		return cli_error(cli, status, "%" PRIu32 " of %" PRIu32 " hosts had no %s I/O%s%s%s", p->nr_hosts - p->nr_ready,
				 p->nr_hosts, p == &s->connect ? "first" : "further", s->timed_out ? " within --limit" : "",
				 r ? "; the first refusal: " : "", r ? r->first : "");
	if (s->nr_lost_early)
		return cli_error(cli, 0, "%" PRIu32 " hosts were lost while others connected", s->nr_lost_early);
	return EXIT_OK;
}

int storm_report(struct cli *cli, struct storm *s)
{
	int ret = EXIT_OK, bad;

	if (cli->json) {
		ret = report_json(cli, s);
	} else {
		print_phase(s, "connect", &s->connect);
		if (s->phase == &s->reconnect)
			print_phase(s, "reconnect", &s->reconnect);
	}
	bad = complain(cli, s);
	return ret ? ret : bad;
}
