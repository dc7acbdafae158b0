/* SPDX-License-Identifier: BSD-3-Clause */
/* What looking at namespaces found becomes what the ctrl's table shows: the one door, for opening, scans, events and reconnects. */
#ifndef NVOF_HOST_NS_APPLY_H
#define NVOF_HOST_NS_APPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvof_ctrl;
struct nvof_ns;
struct ns_hush;

struct ns_found {
	uint32_t nsid;
	int status;	       /* of ns_identify(); -ENODEV as well for what is in no list */
	struct nvof_ns *fresh; /* with status 0, unless it was confirmed: ns_apply()'s from now on */
	struct ns_hush *hush;  /* who looks holds the one that is known, until it is decided; or NULL */
	struct nvof_ns *ns;    /* out: what the table has under the id now; NULL: nothing */
	struct nvof_ns *old;   /* out: what ended */
	uint64_t asked;	       /* ns_set.nr_asked of the command: the later one of two answers counts */
	bool confirmed;	       /* in and out: it is the namespace that was known */
	bool added, resized;   /* out */
};

enum ns_look {
	NS_LOOK_OPEN,	   /* somebody opens it: nobody is told that it is new */
	NS_LOOK_SCAN,	   /* what is not there is gone */
	NS_LOOK_RECONNECT, /* what is not there may come a little later than its ctrl (C082) */
};

/* Of one that is known: is it the same still?  Then its I/O goes on at once, fresh is freed, and ns_apply() only tells. */
bool ns_confirm(struct nvof_ctrl *ctrl, struct ns_found *found);
/* found is sorted by nsid: so things are added and told.  User callbacks run. */
void ns_apply(struct nvof_ctrl *ctrl, struct ns_found *found, size_t nr, enum ns_look look);

#endif
