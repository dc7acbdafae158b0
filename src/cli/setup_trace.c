/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/setup_trace.h"

#include <errno.h>
#include <string.h>

#define GAP_US 1000 /* between two connects, so that the eye can tell them apart */

static json_object *number(double value)
{
	json_object *o = json_object_new_double(value);

	json_object_set_serializer(o, json_object_double_to_json_string, (void *)(uintptr_t) "%.3f", NULL);
	return o;
}

/* tid < 0: it is about the whole process. */
static json_object *event(const char *phase, const char *name, uint32_t pid, int tid)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "ph", json_object_new_string(phase));
	json_object_object_add(o, "name", json_object_new_string(name));
	json_object_object_add(o, "pid", json_object_new_int64(pid));
	if (tid >= 0)
		json_object_object_add(o, "tid", json_object_new_int(tid));
	return o;
}

static void add_name(struct setup_trace *t, const char *what, int tid, const char *name)
{
	json_object *o = event("M", what, t->nr_connects, tid), *args = json_object_new_object();

	json_object_object_add(args, "name", json_object_new_string(name));
	json_object_object_add(o, "args", args);
	json_object_array_add(t->events, o);
}

void setup_trace_init(struct setup_trace *t)
{
	*t = (struct setup_trace){ .events = json_object_new_array() };
}

void setup_trace_add(struct setup_trace *t, const struct nvof_span *spans, size_t nr)
{
	double end_us = 0;
	char name[32];

	t->nr_connects++;
	snprintf(name, sizeof(name), "connect %u", t->nr_connects);
	add_name(t, "process_name", -1, name);
	for (size_t i = 0; i < nr; i++) {
		json_object *slice = event("X", spans[i].state, t->nr_connects, spans[i].qid);

		if (!i || spans[i].qid != spans[i - 1].qid) {
			snprintf(name, sizeof(name), spans[i].qid ? "qid %u" : "qid %u (admin)", spans[i].qid);
			add_name(t, "thread_name", spans[i].qid, name);
		}
		json_object_object_add(slice, "cat", json_object_new_string("setup"));
		json_object_object_add(slice, "ts", number(t->next_us + spans[i].start_us));
		json_object_object_add(slice, "dur", number(spans[i].end_us - spans[i].start_us));
		json_object_array_add(t->events, slice);
		if (spans[i].end_us > end_us)
			end_us = spans[i].end_us;
	}
	t->next_us += end_us + GAP_US;
}

int setup_trace_write(const struct setup_trace *t, const char *path)
{
	json_object *doc = json_object_new_object();
	const char *text;
	FILE *f = fopen(path, "we");
	int ret = 0;

	if (!f)
		ret = -errno;
	json_object_object_add(doc, "displayTimeUnit", json_object_new_string("ms"));
	json_object_object_add(doc, "traceEvents", json_object_get(t->events));
	text = json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN);
	if (f && (fputs(text, f) < 0 || fputc('\n', f) < 0))
		ret = -errno;
	if (f && fclose(f) && !ret)
		ret = -errno;
	json_object_put(doc);
	return ret;
}

void setup_trace_clear(struct setup_trace *t)
{
	json_object_put(t->events);
	t->events = NULL;
}
