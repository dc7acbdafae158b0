/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/setup_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"

#define GAP_US 1000 /* between two connects, so that the eye can tell them apart */

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

int setup_trace_open(struct setup_trace *t, const char *path)
{
	*t = (struct setup_trace){ .path = path };
	if (!path)
		return 0;
	t->f = fopen(path, "we");
	if (!t->f)
		return -errno;
	t->events = json_object_new_array();
	return 0;
}

void setup_trace_next_run(struct setup_trace *t)
{
	t->run_us = t->end_us + (t->nr_connects ? GAP_US : 0);
}

static void add_span(struct setup_trace *t, const struct nvof_span *span, double start_us)
{
	json_object *slice = event("X", span->state, t->nr_connects, span->qid);
	double end_us = start_us + span->end_us;

	json_object_object_add(slice, "cat", json_object_new_string("setup"));
	json_object_object_add(slice, "ts", number_json(start_us + span->start_us));
	json_object_object_add(slice, "dur", number_json(span->end_us - span->start_us));
	json_object_array_add(t->events, slice);
	if (end_us > t->end_us)
		t->end_us = end_us;
}

void setup_trace_add(struct setup_trace *t, const struct nvof_ctrl *ctrl, double start_us)
{
	const struct nvof_span *spans;
	size_t nr = nvof_ctrl_timeline(ctrl, &spans);
	char name[32], *title;

	if (!t->f)
		return;
	t->nr_connects++;
	if (asprintf(&title, "connect %u: %s", t->nr_connects, nvof_ctrl_subsysnqn(ctrl)) < 0)
		abort();
	add_name(t, "process_name", -1, title);
	free(title);
	for (size_t i = 0; i < nr; i++) {
		if (!i || spans[i].qid != spans[i - 1].qid) {
			snprintf(name, sizeof(name), spans[i].qid ? "qid %u" : "qid %u (admin)", spans[i].qid);
			add_name(t, "thread_name", spans[i].qid, name);
		}
		add_span(t, &spans[i], t->run_us + start_us);
	}
}

int setup_trace_close(struct setup_trace *t)
{
	json_object *doc;
	const char *text;
	int ret = 0;

	if (!t->f)
		return 0;
	doc = json_object_new_object();
	json_object_object_add(doc, "displayTimeUnit", json_object_new_string("ms"));
	json_object_object_add(doc, "traceEvents", t->events);
	text = json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN);
	if (fputs(text, t->f) < 0 || fputc('\n', t->f) < 0)
		ret = -errno;
	if (fclose(t->f) && !ret)
		ret = -errno;
	json_object_put(doc);
	*t = (struct setup_trace){ 0 };
	return ret;
}
