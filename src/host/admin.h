/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands on the admin queue. */
#ifndef NVOF_HOST_ADMIN_H
#define NVOF_HOST_ADMIN_H

#include "host/ctrl.h"
#include "proto/cmd.h"

/*
 * A command of a user or of a composite operation, in a slot of the free list; cb runs exactly once when 0 is returned.  Otherwise
 * -ENOTCONN, -EAGAIN, -EMSGSIZE (beyond MDTS).  Inside cb the slot is free again: the next command of a chain always finds one.
 */
int admin_submit(struct nvof_ctrl *ctrl, const struct nvme_sqe *sqe, enum data_dir dir, void *buf, size_t len, nvof_cb *cb, void *arg);

/* A command of the core in its reserved slot, without a deadline, in any state of the ctrl.  0 or a negative errno: done will not run. */
int admin_submit_slot(struct nvof_ctrl *ctrl, enum admin_slot slot, const struct nvme_sqe *sqe, enum data_dir dir, void *buf, uint32_t len,
		      void (*done)(struct host_req *req, int status, const struct nvme_cqe *cqe));

struct nvme_sqe sqe_identify(uint8_t cns, uint32_t nsid, uint16_t cntid, uint8_t csi);
struct nvme_sqe sqe_get_log(uint8_t lid, uint8_t lsp, bool rae, uint32_t nsid, uint64_t offset, uint32_t len);
struct nvme_sqe sqe_features(uint8_t opcode, uint8_t fid, uint32_t nsid, uint32_t cdw11);
struct nvme_sqe sqe_property_get(uint32_t offset, bool is64);
struct nvme_sqe sqe_property_set(uint32_t offset, bool is64, uint64_t value);

/* Keeps the sentence of a composite command that failed (nvof_ctrl_errmsg()): "what: how the status reads".  Returns status. */
int ctrl_op_failed(struct nvof_ctrl *ctrl, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
