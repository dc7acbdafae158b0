/* SPDX-License-Identifier: BSD-3-Clause */
/* bench storm: many hosts that connect, or reconnect, at once. */
#ifndef NVOF_CLI_BENCH_STORM_H
#define NVOF_CLI_BENCH_STORM_H

#include "base/hist.h"
#include "cli/conn.h"

enum storm_cut { CUT_NONE, CUT_HOST, CUT_TARGET };

struct storm_args {
	struct conn_args conn;
	uint32_t nr_hosts, nr_connecting, nr_retries;
	uint64_t retry_delay_ms, retry_max_ms, limit_ms, seed;
	enum storm_cut cut;
};

/* One way in which a connect was refused or failed. */
struct storm_refusal {
	int status;
	uint64_t nr;
	char first[512]; /* the sentence of the first of them */
};
#define STORM_REFUSALS_MAX 16 /* of others only the number is kept */

/* The storm of connects, or that of reconnects. */
struct storm_phase {
	uint64_t start_ns; /* 0: not yet */
	uint32_t nr_hosts; /* that take part */
	uint32_t nr_ready; /* had their first I/O */
	uint32_t nr_failed;
	uint64_t nr_attempts, nr_refused;
	uint64_t nr_io_queues;	    /* of all hosts together */
	uint64_t last_ns;	    /* from the start to the last host's first I/O */
	struct hist live, first_io; /* ns from the start */
	struct storm_refusal refusals[STORM_REFUSALS_MAX];
	size_t nr_refusals;
};

enum storm_host_state {
	HOST_WAITING, /* for its turn, until due_ns */
	HOST_CONNECTING,
	HOST_LIVE, /* on its way to the first I/O */
	HOST_READY,
	HOST_LOST, /* reconnecting */
	HOST_FAILED,
};

struct storm;

struct storm_host {
	struct storm *s;
	enum storm_host_state state;
	char *hostnqn;	 /* owned */
	char hostid[37]; /* "": the library's for that NQN */
	struct nvof_ctrl *ctrl;
	struct nvof_ns *ns;
	void *buf;
	uint64_t due_ns;
	uint32_t nr_tries;
	bool was_cut;
};

struct storm {
	const struct storm_args *args;
	struct conn *c;
	struct stop stop;
	struct storm_host *hosts;
	struct storm_phase connect, reconnect, *phase;
	uint32_t nr_connecting, nr_lost_early; /* lost_early: READY, and lost without having been cut */
	uint64_t rng, end_ns;
	bool timed_out;
};

/* storm_host.c */
void storm_host_init(struct storm *s, uint32_t i);
void storm_host_clear(struct storm_host *h);
/* Begins a connect.  What comes of it arrives by callback. */
void storm_host_start(struct storm_host *h);
/* Closes its connections, and lets it come back. */
void storm_host_cut(struct storm_host *h);
/* A delay with jitter: half of ms to all of it. */
uint64_t storm_jitter_ms(struct storm *s, uint64_t ms);

/* storm_report.c: EXIT_OK, or the complaint about what did not go well. */
int storm_report(struct cli *cli, struct storm *s);

#endif
