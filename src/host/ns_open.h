/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVOF_HOST_NS_OPEN_H
#define NVOF_HOST_NS_OPEN_H

struct nvof_ctrl;
struct nvof_ns;

/* The admin queue is gone: what waits to be sent ends, too. */
void ns_open_stop(struct nvof_ctrl *ctrl, int status);
/* ns is new: who asks for its id may be answered by the next one, and holds it. */
void ns_open_hold(struct nvof_ns *ns);
/* Namespaces have changed: those that are being opened are looked at once more. */
void ns_open_event(struct nvof_ctrl *ctrl);

#endif
