/* SPDX-License-Identifier: BSD-3-Clause */
/* What the timelines of connects become: a trace file, and how long each state took. */
#ifndef NVOF_CLI_SETUP_TRACE_H
#define NVOF_CLI_SETUP_TRACE_H

#include <json-c/json.h>
#include <nvof/nvof.h>
#include <stdio.h>

/*
 * A trace in Chrome's format (opens in Perfetto): a process for each connect, a thread for each queue, a slice for each state.
 * Connects follow one another on the trace's clock.
 */
struct setup_trace {
	json_object *events;
	double next_us; /* where the next connect begins */
	uint32_t nr_connects;
};

void setup_trace_init(struct setup_trace *t);
void setup_trace_add(struct setup_trace *t, const struct nvof_span *spans, size_t nr);
/* 0 or -errno. */
int setup_trace_write(const struct setup_trace *t, const char *path);
void setup_trace_clear(struct setup_trace *t);

/* How long I/O queues spent in each state. */
struct setup_states;

struct setup_states *setup_states_new(void);
void setup_states_add(struct setup_states *s, const struct nvof_span *spans, size_t nr);
json_object *setup_states_json(const struct setup_states *s); /* an array */
void setup_states_print(const struct setup_states *s);
void setup_states_free(struct setup_states *s);

#endif
