/* SPDX-License-Identifier: BSD-3-Clause */
/* What the backends share. */
#ifndef NVOF_TARGET_BACKEND_COMMON_H
#define NVOF_TARGET_BACKEND_COMMON_H

#include "target/backend.h"

extern const struct backend_ops mem_backend_ops, null_backend_ops, file_backend_ops;

/* Whole blocks of bytes; sets or clears b->notice.  0 bytes left: -EINVAL and a sentence. */
int backend_round_size(struct backend *b, const char *what, uint64_t bytes, uint32_t block_size, uint64_t *size, struct error *err);

#endif
