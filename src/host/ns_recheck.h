/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * After a reconnect the namespaces that are open are identified again, together: one that is another now, or gone, gets no I/O any more,
 * not even what was held for it; one of another size has that size.
 */
#ifndef NVOF_HOST_NS_RECHECK_H
#define NVOF_HOST_NS_RECHECK_H

struct nvof_ctrl;

/* The ctrl is LIVE.  Ends in ns_recheck_done(), at the end of the turn at the earliest, or not at all when memory runs out: the ctrl fails.
 */
void ns_recheck_start(struct nvof_ctrl *ctrl);
void ns_recheck_stop(struct nvof_ctrl *ctrl);
/* Of a ctrl whose queues are stopped. */
void ns_recheck_free(struct nvof_ctrl *ctrl);
void ns_recheck_done(struct nvof_ctrl *ctrl); /* recovery.c's */

#endif
