/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Namespaces that the ctrl did not show when it came back, or did not want to tell about just now: their I/O waits, and they are looked for
 * until `remove_timeout` is over (C082).
 */
#ifndef NVOF_HOST_NS_MISSING_H
#define NVOF_HOST_NS_MISSING_H

struct nvof_ctrl;
struct nvof_ns;

void ns_missing_setup(struct nvof_ctrl *ctrl);
void ns_missing_stop(struct nvof_ctrl *ctrl);
/* status: why. */
void ns_miss(struct nvof_ns *ns, int status);
/* There may be one that is not known yet. */
void ns_look_again(struct nvof_ctrl *ctrl);

#endif
