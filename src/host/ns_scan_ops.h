/* SPDX-License-Identifier: BSD-3-Clause */
/* The Identify commands of one scan: a domain of as many at once as the admin queue takes, and what they found. */
#ifndef NVOF_HOST_NS_SCAN_OPS_H
#define NVOF_HOST_NS_SCAN_OPS_H

#include "base/async_domain.h"
#include "base/loop.h"
#include "host/ns.h"
#include "host/ns_apply.h"
#include "host/ns_hush.h"

struct scan_op {
	struct async_op op;
	struct ns_scan *scan;
	struct ns_found *found;
	struct ns_hush hush;
	struct timer timer; /* the ctrl is asked again */
	uint32_t nr_tries;
	bool asked; /* an answer is to come, which finds us through the op's state */
	bool unlisted;
};

struct ns_scan {
	struct nvof_ctrl *ctrl;
	enum ns_look look;
	unsigned int want; /* NS_WANT_* that it serves */
	int status;
	uint64_t asked; /* the list */
	bool stopped, applying;
	struct async_domain domain;
	size_t nr, room;
	struct scan_op *ops;
	struct ns_found *found; /* nr, sorted by nsid */
	struct timer later;
	void (*later_fn)(struct ns_scan *s);
	void (*ended)(struct ns_scan *s, int status);
	struct loop_defer end_work;
	uint32_t log[1024];
};

void ns_scan_ops_init(struct ns_scan *s);
/* With all it has; nothing of it is under way. */
void ns_scan_ops_free(struct ns_scan *s);
/* Room for so many.  0 or -ENOMEM. */
int ns_scan_alloc(struct ns_scan *s, size_t room);
/* ns is new: if it is being asked for its id still, it is held until that was answered. */
void ns_scan_hold(struct ns_scan *s, struct nvof_ns *ns);
/* In rising order.  unlisted: known to be gone. */
void ns_scan_add(struct ns_scan *s, uint32_t nsid, bool unlisted);
/* Ends in s->ended(). */
void ns_scan_run(struct ns_scan *s);
void ns_scan_apply(struct ns_scan *s);
/* What waits ends at once, what was sent with its answers; then s->ended(). */
void ns_scan_cancel(struct ns_scan *s);
/* The admin queue was full. */
void ns_scan_later(struct ns_scan *s, void (*fn)(struct ns_scan *s));

#endif
