/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hosts, a thread each, that read and write whatever namespaces a target shows, while it changes them.  Each 32 bytes of a block carry the
 * UUID of the namespace they were written to, and the block's number; a block never written is zero.
 */
#ifndef NVOF_TESTS_NS_STORM_H
#define NVOF_TESTS_NS_STORM_H

#include <nvof/nvof.h>
#include <nvof/target.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define STORM_NQN     "nqn.2014-08.org.example:subsys"
#define STORM_NSIDS   12
#define STORM_SLOTS   12
#define STORM_NLB_MAX 8
#define STORM_BLOCK   4096 /* at most */

struct storm_host;

/* One thing under way: a handle is got, used for one I/O, closed. */
struct storm_slot {
	struct storm_host *h;
	struct nvof_ns *ns;
	uint64_t slba;
	uint32_t nlb;
	bool flying, writes;
	uint8_t uuid[16]; /* of the handle when the I/O began */
	uint8_t buf[STORM_NLB_MAX * STORM_BLOCK];
};

struct storm_host {
	pthread_t thread;
	pthread_barrier_t *together;
	const char *transport;
	char port[16];
	struct nvof_target *target;
	const bool *stop;
	struct storm_host *other; /* whose table is looked at, too */
	unsigned int seed;

	struct nvof_ctx *ctx;
	struct nvof_ctrl *ctrl;
	struct storm_slot slots[STORM_SLOTS];
	unsigned int nr_flying;
	/* read by others while it runs */
	uint64_t nr_reads, nr_writes, nr_refused, nr_opens, nr_looks;
	uint64_t nr_events[NVOF_EVENT_NS_REPLACED + 1];
	char wrong[200]; /* the first thing that must not be; "" */
};

void storm_start(struct storm_host *h);
/* Writes what a block of a namespace holds. */
void storm_fill(uint8_t *buf, size_t len, const uint8_t uuid[16], uint64_t lba);
/* Nothing but that and zeroes is in it. */
bool storm_check(const uint8_t *buf, size_t len, const uint8_t uuid[16], uint64_t lba);

#endif
