/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An I/O larger than one command may be: several commands, one completion.
 *
 * Commands are sent as slots come free.  The first error wins: nothing more is sent, and the user is told when what is under way has ended.
 */
#ifndef NVOF_HOST_SPLIT_H
#define NVOF_HOST_SPLIT_H

#include "host/io.h"

/* io->iov, or one (NULL: no data), holds the data.  0: it completes once; else -EAGAIN (not even one slot), -ENOMEM, -ENOTCONN. */
int split_submit(struct nvof_hctx *hctx, const struct io *io, const struct iovec *one);

/* Those that wait for the transport. */
void split_retry(struct nvof_hctx *hctx);
void split_end_stalled(struct nvof_hctx *hctx, int status);

#endif
