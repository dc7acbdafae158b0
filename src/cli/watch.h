/* SPDX-License-Identifier: BSD-3-Clause */
/* watch: what happens to a ctrl and its namespaces, a line for each event. */
#ifndef NVOF_CLI_WATCH_H
#define NVOF_CLI_WATCH_H

#include "cli/conn.h"

#define WATCH_ANA_GROUPS_MAX 8192

/* The states of the ANA groups as far as they were told; watch_ana.c. */
struct watch_ana {
	struct ana_known {
		uint32_t grpid;
		uint8_t state;
	} * known;
	size_t nr_known;
	uint8_t *log;
	size_t len;
	bool reading, again, first; /* first: what is there at the beginning is no event */
};

struct watch {
	struct cli *cli;
	struct conn conn;
	struct stop stop;
	struct watch_ana ana;
	uint64_t nr_left; /* events until it ends; 0: it does not */
	bool scanned;	  /* what is there is known: what comes from now on is new */
	bool lost, dead, over;
	int ret;
};

/* A line's document: "time", "event".  watch_line() takes it and prints it, or the text. */
json_object *watch_doc(const struct watch *w, const char *event);
void watch_line(struct watch *w, json_object *doc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same, of something that happened: counts. */
void watch_event(struct watch *w, json_object *doc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

void watch_tell_ns(struct watch *w, const struct nvof_event *event);
/* Of a discovery ctrl; for others nothing.  Never blocks. */
void watch_disc_read(struct watch *w);
/* Reads the log, which also asks for the next event, and tells what is not as it was.  Never blocks. */
void watch_ana_read(struct watch *w);
void watch_ana_clear(struct watch *w);

#endif
