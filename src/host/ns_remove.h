/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Namespaces go: no new I/O and out of the table; one grace period for all that begin to go in the same turn; the event; what is under way
 * is waited for, `remove_timeout` at most; then it is aborted.  All removals of a ctrl are one domain of `removal_concurrency`.
 */
#ifndef NVOF_HOST_NS_REMOVE_H
#define NVOF_HOST_NS_REMOVE_H

struct nvof_ctrl;
struct nvof_ns;

void ns_remove_setup(struct nvof_ctrl *ctrl); /* when its parameters are known */
/* From now on I/O is refused with status (negative), and nobody finds it any more.  No callback runs.  ns_remove() must follow. */
void ns_end(struct nvof_ns *ns, int status);
/* Begins to remove it, or waits for its turn; nvof_ns.remove_cb is told the end. */
void ns_remove(struct nvof_ns *ns);
/* All of them; ctrl_namespaces_gone() follows, maybe from inside.  From the end of a turn only. */
void ns_remove_all(struct nvof_ctrl *ctrl);
/* Memory of what was removed and has no handles. */
void ns_reap(struct nvof_ctrl *ctrl);

/* ns_abort.c: Abort for each of its commands; when they do not end even then a queue fails. */
void ns_abort(struct nvof_ns *ns);

#endif
