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

/*
 * req, which is under way no more and in no list, is to be sent again: if the ctrl takes no command as large as that any more, it goes on
 * in parts, and true is returned: it has ended, or will.
 */
bool split_again(struct host_req *req);

/* Those that wait for the transport. */
void split_retry(struct nvof_hctx *hctx);
/* ns NULL: of every namespace. */
void split_end_stalled(struct nvof_hctx *hctx, const struct nvof_ns *ns, int status);

#endif
