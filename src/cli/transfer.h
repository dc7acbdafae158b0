/* SPDX-License-Identifier: BSD-3-Clause */
/* Any number of blocks between a namespace and a file or pipe: chunks in flight on all queues, input and output in order. */
#ifndef NVOF_CLI_TRANSFER_H
#define NVOF_CLI_TRANSFER_H

#include "cli/conn.h"

enum transfer_op { TRANSFER_READ, TRANSFER_WRITE, TRANSFER_COMPARE };

struct transfer {
	enum transfer_op op;
	struct conn *conn;
	struct nvof_ns *ns;
	uint64_t slba, nr_blocks;
	unsigned int io_flags; /* NVOF_IO_* */
	int fd;
	const char *fd_name; /* "standard input", a path */
};

/* EXIT_OK when all of it was done, else what cli_error() returned. */
int transfer_run(const struct transfer *t);

#endif
