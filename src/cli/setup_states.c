/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/hist.h"
#include "base/util.h"
#include "cli/setup_trace.h"
#include "cli/text.h"

#define STATES_MAX 12 /* a transport has fewer */

struct state {
	const char *name; /* the library's */
	struct hist ns;
};

struct setup_states {
	size_t nr;
	struct state states[STATES_MAX];
};

struct setup_states *setup_states_new(void)
{
	struct setup_states *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	return s;
}

void setup_states_free(struct setup_states *s)
{
	free(s);
}

/* In the order in which a queue first came to them. */
static struct state *state_of(struct setup_states *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->nr; i++)
		if (!strcmp(s->states[i].name, name))
			return &s->states[i];
	if (i == STATES_MAX)
		abort();
	s->states[i].name = name;
	hist_reset(&s->states[i].ns);
	s->nr++;
	return &s->states[i];
}

void setup_states_add(struct setup_states *s, const struct nvof_span *spans, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (spans[i].qid && spans[i].end_us >= spans[i].start_us)
			hist_add(&state_of(s, spans[i].state)->ns, (uint64_t)((spans[i].end_us - spans[i].start_us) * 1000));
}

static const struct {
	const char *key, *title;
	double quantile;
} columns[] = { { "p50_us", "p50 us", 0.5 }, { "p99_us", "p99 us", 0.99 }, { "max_us", "max us", 1 } };

static double us_at(const struct state *state, double quantile)
{
	return (double)hist_quantile(&state->ns, quantile) / 1000;
}

json_object *setup_states_json(const struct setup_states *s)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < s->nr; i++) {
		json_object *o = json_object_new_object();

		json_object_object_add(o, "state", json_object_new_string(s->states[i].name));
		json_object_object_add(o, "count", json_object_new_int64((int64_t)s->states[i].ns.n));
		for (size_t c = 0; c < ARRAY_SIZE(columns); c++)
			json_object_object_add(o, columns[c].key, number_json(us_at(&s->states[i], columns[c].quantile)));
		json_object_array_add(list, o);
	}
	return list;
}

void setup_states_print(const struct setup_states *s)
{
	printf("\nof an I/O queue%9s", "count");
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++)
		printf("%12s", columns[c].title);
	putchar('\n');
	for (size_t i = 0; i < s->nr; i++) {
		printf("%-15s%9llu", s->states[i].name, (unsigned long long)s->states[i].ns.n);
		for (size_t c = 0; c < ARRAY_SIZE(columns); c++)
			printf("%12.1f", us_at(&s->states[i], columns[c].quantile));
		putchar('\n');
	}
}
