/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An I/O queue that is lost alone is set up again alone, where the ctrl can do without one of them for a while (it supports the Disconnect
 * command: Base 2.0, Identify Controller, OFCS).  The other queues go on.  What was under way on it waits as after any loss; its hctx goes
 * on with the queues that it has left, or holds new I/O too when there are none.  If that fails the ctrl is reset.
 */
#ifndef NVOF_HOST_RENEW_H
#define NVOF_HOST_RENEW_H

#include "transport/host_ops.h"

/* From the end of a turn.  True: q is gone (and err cleared) and another one is on its way; false: this loss is the ctrl's. */
bool renew_queue(struct nvof_ctrl *ctrl, struct host_queue *q, struct error *err);
/* Gives up what is on its way. */
void renew_stop(struct nvof_ctrl *ctrl);

#endif
