/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections that were given up with commands under way which will be sent again.
 *
 * Such a command may still be on its way to the ctrl, or be carried out there.  Done late, after its repetition and after what the
 * application wrote next, it would bring old data back.  So the ctrl is told that the connection ends, and nothing is sent again before it
 * has agreed: then it has carried out, or thrown away, all there was.  One that does not answer is waited for as long as it may take to
 * notice (settle_ms).  How it is told, and how it answers, is the transport's.
 */
#ifndef NVOF_TRANSPORT_INET_OLD_H
#define NVOF_TRANSPORT_INET_OLD_H

#include <stdbool.h>
#include <urcu/list.h>

#include "transport/host_ops.h"

/* Those of an endpoint. */
struct inet_olds {
	const struct host_link_params *p;
	struct loop *loop;
	struct cds_list_head list; /* inet_old.link */
};

struct inet_old {
	struct inet_olds *all;
	struct cds_list_head link;
	struct timer timeout;
	void (*close)(struct inet_old *old, bool in_vain); /* and free it; in_vain: the ctrl did not answer in time */
};

void inet_olds_init(struct inet_olds *all, const struct host_link_params *p, struct loop *loop);
void inet_old_add(struct inet_olds *all, struct inet_old *old, void (*close)(struct inet_old *old, bool in_vain));
/* The ctrl has agreed. */
void inet_old_settled(struct inet_old *old);
static inline bool inet_olds_settled(struct inet_olds *all)
{
	return cds_list_empty(&all->list);
}
/* Waits for none any more. */
void inet_olds_exit(struct inet_olds *all);

#endif
