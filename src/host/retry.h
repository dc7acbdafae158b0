/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands that the ctrl did not carry out and wants to see again: Command Interrupted, Namespace Not Ready, and whatever comes with a
 * Command Retry Delay (Base 2.0 section 4.2.3.4: CRD, and CRDT1..3 of Identify Controller).  They wait in their slots, as long as the ctrl
 * asks for, and are sent again; HELD_MAX_RETRIES times at most.
 */
#ifndef NVOF_HOST_RETRY_H
#define NVOF_HOST_RETRY_H

#include "transport/host_ops.h"

struct retries {
	struct cds_list_head list; /* of host_req.link; their deadline is when, in ns */
	struct timer timer;
};

void retry_setup(struct nvof_ctrl *ctrl);
/* The ctrl wants to see what ended with this status again, after a while. */
bool retry_wanted(const struct nvof_ctrl *ctrl, int status, uint64_t *delay_ns);
/* True: req, which ended with this status, is kept. */
bool retry_command(struct host_req *req, int status, const struct nvme_cqe *cqe);
/* Those of ns (NULL: all) that wait go to those that are held. */
void retry_flush(struct nvof_ctrl *ctrl, const struct nvof_ns *ns);

#endif
