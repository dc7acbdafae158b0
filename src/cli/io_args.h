/* SPDX-License-Identifier: BSD-3-Clause */
/* Which blocks: the options that the commands on blocks share, and how their sizes have to agree. */
#ifndef NVOF_CLI_IO_ARGS_H
#define NVOF_CLI_IO_ARGS_H

#include "cli/conn.h"

#define NOT_GIVEN UINT64_MAX

struct io_args {
	struct conn_args conn;
	uint64_t start_block;
	uint64_t block_count; /* 0's based, as in nvme-cli; or NOT_GIVEN */
	uint64_t data_size;   /* bytes; or NOT_GIVEN */
	const char *data;     /* a path; NULL: standard input or output */
	bool fua, limited_retry, deallocate;
};

void io_args_init(struct io_args *args, struct cli *cli);
/* --start-block, --block-count, --force-unit-access, --limited-retry */
extern const struct opt io_range_opts[];
/* --data, --data-size */
extern const struct opt io_data_opts[];
unsigned int io_args_flags(const struct io_args *args); /* NVOF_IO_* */
/*
 * How many blocks are meant: by --data-size, by --block-count, else by file_len (NOT_GIVEN: no hint), else one.  They must agree, be whole
 * blocks and lie in the namespace.  EXIT_OK, or what cli_usage_error() returned.
 */
int io_args_blocks(struct cli *cli, const struct io_args *args, uint32_t block_size, uint64_t ns_blocks, uint64_t file_len,
		   uint64_t *nr_blocks);
/* "write: Success" on stderr, or the document: what was done to which blocks. */
int io_args_report(struct cli *cli, const struct io_args *args, const struct nvof_ns *ns, uint64_t nr_blocks, uint64_t took_ns);

#endif
