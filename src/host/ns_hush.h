/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who looks at a namespace that is known holds its new I/O and lets what is under way end first.  The ctrl may have another one under this
 * id: what is sent then could reach that, as soon as the ctrl takes us for somebody who knows.
 */
#ifndef NVOF_HOST_NS_HUSH_H
#define NVOF_HOST_NS_HUSH_H

#include "base/loop.h"
#include "host/ns.h"

struct ns_hush {
	struct nvof_ns *ns; /* a handle of ours; NULL: nothing is held */
	struct ns_wait wait;
	struct timer timer;
	bool loud; /* I/O is under way still: it has had its time */
	void (*ready)(struct ns_hush *h);
};

/*
 * The namespace that has this id, or one that had it and is not through with its I/O, in the place of what h has held.  False: there is
 * none.  ready runs once, maybe from inside, when nothing is under way; or after a second, if the namespace is there.
 */
bool ns_hush(struct ns_hush *h, struct nvof_ctrl *ctrl, uint32_t nsid, void (*ready)(struct ns_hush *h));
/* Only holds it, in the place of what h has held: for an answer that is on its way.  ns: NULL: nothing. */
void ns_hush_hold(struct ns_hush *h, struct nvof_ns *ns);
/* I/O goes on, unless others hold it, too.  ready will not run.  Again is fine. */
void ns_hush_end(struct ns_hush *h);

#endif
