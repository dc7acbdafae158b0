/* SPDX-License-Identifier: BSD-3-Clause */
/* Asymmetric namespace access: the states and their names (those of the Linux kernel's target), and the log page (0Ch). */
#ifndef NVOF_PROTO_ANA_H
#define NVOF_PROTO_ANA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANA_GRPID_MAX	128 /* groups of our target, as many as the kernel's has */
#define ANA_STATE_NAMES "optimized, non-optimized, inaccessible, persistent-loss, change"

const char *ana_state_name(uint8_t state);		/* "optimized" ...; "unrecognized" */
bool ana_state_parse(const char *name, uint8_t *state); /* false: none of the names */

/* A log page as it came: a walk over its groups, which never leaves the len bytes there are. */
struct ana_walk {
	const uint8_t *log;
	size_t len, pos;
	unsigned int left; /* groups that are still to come */
};

struct ana_group {
	uint32_t grpid, nr_nsids;
	uint64_t chgcnt;
	uint8_t state;
	const uint8_t *nsids; /* nr_nsids little-endian numbers, not aligned */
};

/* Both: false when more bytes are needed than there are; *need: how many of the page, at least. */
bool ana_walk_begin(struct ana_walk *w, const uint8_t *log, size_t len, size_t *need);
bool ana_walk_next(struct ana_walk *w, struct ana_group *g, size_t *need); /* while w->left */

#endif
