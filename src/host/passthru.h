/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVOF_HOST_PASSTHRU_H
#define NVOF_HOST_PASSTHRU_H

#include "host/hctx.h"

/* An I/O command that is not split, as it is.  ns: may be NULL.  retry: it may be done twice.  Otherwise as nvof_io_passthru(). */
int io_submit_sqe(struct nvof_hctx *hctx, struct nvof_ns *ns, const struct nvme_sqe *sqe, enum data_dir dir, void *buf, size_t len,
		  bool retry, nvof_cb *cb, void *arg);

#endif
