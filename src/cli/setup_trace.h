/* SPDX-License-Identifier: BSD-3-Clause */
/* What the timelines of connects become: a trace file, and how long each state took. */
#ifndef NVOF_CLI_SETUP_TRACE_H
#define NVOF_CLI_SETUP_TRACE_H

#include <json-c/json.h>
#include <nvof/nvof.h>
#include <stdio.h>

/*
 * A trace in Chrome's format (opens in Perfetto): a process for each connect, a thread for each queue, a slice for each state.
 * Runs follow one another on the trace's clock.
 */
struct setup_trace {
	FILE *f; /* NULL: none is wanted */
	const char *path;
	json_object *events;
	double run_us, end_us; /* where this run begins, and what was added so far ends */
	uint32_t nr_connects;
};

/* path NULL: no trace is wanted, and the calls below do nothing.  0, or -errno: it can't be written there. */
int setup_trace_open(struct setup_trace *t, const char *path);
/* The connects that follow belong to the next run. */
void setup_trace_next_run(struct setup_trace *t);
/* A connect that began start_us after its run. */
void setup_trace_add(struct setup_trace *t, const struct nvof_ctrl *ctrl, double start_us);
/* Writes it: 0 or -errno.  Once. */
int setup_trace_close(struct setup_trace *t);

/* How long I/O queues spent in each state. */
struct setup_states;

struct setup_states *setup_states_new(void);
void setup_states_add(struct setup_states *s, const struct nvof_span *spans, size_t nr);
json_object *setup_states_json(const struct setup_states *s); /* an array */
void setup_states_print(const struct setup_states *s);
void setup_states_free(struct setup_states *s);

#endif
