/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults a target injects on purpose: delays, refusals, closed connections, silence.
 *
 * A rule is one text (nvof-target(1) --fault): comma-separated key=value.
 *
 *   on=accept|icreq|connect|admin|io  where (required).  accept, icreq and connect mean the admin queue's too; admin and io are the
 *                                     commands after Connect on queue 0 and on the others
 *   qid=N|admin|io|all                which queue; not with accept and icreq, where a connection has no queue id yet
 *   opcode=N|NAME                     admin, io: read, write, flush, identify, keep-alive, property-get ...
 *   nsid=N                            admin, io
 *   delay=5ms | status=SCT:SC[:dnr] | drop | ignore    what happens: delay may go with one of the others
 *   after=N count=N prob=P            pass the first N by; at most N times; with probability P
 *   every=500ms,for=50ms              only during the first 50 ms of each 500 ms from when the rule was added; with no other action: a
 * stall, what matches waits for the end of the window
 *
 * Numbers are decimal; hexadecimal ones have 0x before or h after them (status=1:84h is status=1:0x84 is status=1:132).
 *
 * Any thread may match, without a lock; adding and clearing is for one thread at a time (the caller serialises).
 */
#ifndef NVOF_TARGET_FAULT_H
#define NVOF_TARGET_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/util.h"

enum fault_point { FAULT_ACCEPT, FAULT_ICREQ, FAULT_CONNECT, FAULT_ADMIN, FAULT_IO };

/* What is about to happen. */
struct fault_event {
	enum fault_point point;
	uint16_t qid;	 /* CONNECT: the one asked for; ADMIN: 0; ACCEPT, ICREQ: ignored */
	uint8_t opcode;	 /* ADMIN, IO */
	uint8_t fctype;	 /* when opcode is 7Fh (Fabrics) */
	uint32_t nsid;	 /* ADMIN, IO */
	uint64_t now_ns; /* loop_now() or clock_ns() */
};

/* What to do about it: first wait delay_ns, then at most one of the others.  All zero: nothing. */
struct fault_action {
	uint64_t delay_ns;
	uint16_t status; /* SCT << 8 | SC, DNR 0x4000 ...: answer with it instead of executing.  Never with ACCEPT and ICREQ */
	bool drop;	 /* close the connection */
	bool ignore;	 /* never answer; the request stays outstanding until its connection goes */
};

struct fault_rule;

struct fault_set {
	/* private */
	struct fault_rule *head; /* atomic: rules in order of adding; immutable but for their counters */
	unsigned int readers;	 /* atomic: matches under way */
};

void fault_set_init(struct fault_set *set);
/* now_ns is where every= starts to count.  0, or -EINVAL (the sentence names the key and what it may be), -ENOMEM. */
int fault_set_add(struct fault_set *set, const char *spec, uint64_t now_ns, struct error *err);
/* Waits until no match looks at the old rules any more: below a millisecond. */
void fault_set_clear(struct fault_set *set);
/* For the status: each rule's text, how many events it applied to and how often it acted. */
void fault_set_foreach(const struct fault_set *set, void (*fn)(void *arg, const char *spec, uint64_t seen, uint64_t acted), void *arg);

struct fault_action fault_match_slow(const struct fault_set *set, const struct fault_event *ev);

/* Delays of several rules add up; of drop, ignore and status that of the first rule counts.  Without rules: one load and a branch. */
static inline struct fault_action fault_match(const struct fault_set *set, const struct fault_event *ev)
{
	if (likely(!__atomic_load_n(&set->head, __ATOMIC_RELAXED)))
		return (struct fault_action){ 0 };
	return fault_match_slow(set, ev);
}
static inline bool fault_any(const struct fault_set *set)
{
	return __atomic_load_n(&set->head, __ATOMIC_RELAXED) != NULL;
}
static inline bool fault_action_none(const struct fault_action *a)
{
	return !a->delay_ns && !a->status && !a->drop && !a->ignore;
}

#endif
