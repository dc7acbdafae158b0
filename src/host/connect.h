/* SPDX-License-Identifier: BSD-3-Clause */
/* The Fabrics Connect command: what we send and what its answer means.  Base 2.0 section 6.3. */
#ifndef NVOF_HOST_CONNECT_H
#define NVOF_HOST_CONNECT_H

#include "transport/host_ops.h"

/* The data of a Connect for qid, or for those from qid on. */
void connect_fill_data(const struct nvof_ctrl *ctrl, uint16_t qid, struct nvmf_connect_data *data);
/* data is borrowed until the request ends. */
void connect_build(const struct host_queue *q, struct nvmf_connect_data *data, struct host_req *req);
/* 0, or the queue has failed with a sentence that names the status and the field at fault (C150).  Keeps the admin queue's CNTLID. */
int connect_check_answer(struct host_queue *q, int status, const struct nvme_cqe *cqe);

#endif
