/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "base/util.h"
#include "cli/io_args.h"
#include "cli/text.h"

/* clang-format off */
const struct opt io_range_opts[] = {
	{ 0, "start-block", OPT_U64, OFFSET(struct io_args, start_block), "LBA", "first block (default 0); no letter, -s is the port" },
	{ 'c', "block-count", OPT_U64, OFFSET(struct io_args, block_count), "N", "number of blocks less one, as in the command itself",
	  .max = NOT_GIVEN - 1 },
	{ 0, "force-unit-access", OPT_FLAG, OFFSET(struct io_args, fua), NULL, "on stable media before it completes" },
	{ 0, "fua", OPT_FLAG, OFFSET(struct io_args, fua), NULL, "the same", .hidden = true },
	{ 'l', "limited-retry", OPT_FLAG, OFFSET(struct io_args, limited_retry), NULL, "the ctrl shall not try hard" },
	{ 0 }
};
/* clang-format on */

/* clang-format off */
const struct opt io_data_opts[] = {
	{ 'd', "data", OPT_STR, OFFSET(struct io_args, data), "FILE", "the file (default: standard input or output)" },
	{ 'z', "data-size", OPT_SIZE, OFFSET(struct io_args, data_size), "SIZE",
	  "bytes, whole blocks; K, M, G, T are powers of 1024 (default: by --block-count, else the file's size, else one block)", .min = 1,
	  .max = NOT_GIVEN - 1 },
	{ 0 }
};
/* clang-format on */

void io_args_init(struct io_args *args, struct cli *cli)
{
	*args = (struct io_args){ .block_count = NOT_GIVEN, .data_size = NOT_GIVEN };
	conn_args_init(&args->conn, cli);
}

unsigned int io_args_flags(const struct io_args *args)
{
	return (args->fua ? NVOF_IO_FUA : 0) | (args->limited_retry ? NVOF_IO_LR : 0) | (args->deallocate ? NVOF_IO_DEALLOC : 0);
}

static int whole_blocks(struct cli *cli, const char *argument, uint64_t len, uint32_t block_size, uint64_t *nr_blocks)
{
	if (!len || len % block_size)
		return cli_usage_error(cli, argument, "%s: %" PRIu64 " bytes are not a whole number of blocks of %" PRIu32 " bytes",
				       argument, len, block_size);
	*nr_blocks = len / block_size;
	return EXIT_OK;
}

int io_args_blocks(struct cli *cli, const struct io_args *args, uint32_t block_size, uint64_t ns_blocks, uint64_t file_len,
		   uint64_t *nr_blocks)
{
	int ret = EXIT_OK;

	*nr_blocks = args->block_count == NOT_GIVEN ? 1 : args->block_count + 1;
	if (args->data_size != NOT_GIVEN)
		ret = whole_blocks(cli, "--data-size", args->data_size, block_size, nr_blocks);
	else if (args->block_count == NOT_GIVEN && file_len != NOT_GIVEN)
		ret = whole_blocks(cli, "--data", file_len, block_size, nr_blocks);
	if (ret)
		return ret;
	if (args->data_size != NOT_GIVEN && args->block_count != NOT_GIVEN && *nr_blocks != args->block_count + 1)
		return cli_usage_error(cli, "--data-size",
				       "--data-size: %" PRIu64 " bytes are %" PRIu64 " blocks of %" PRIu32
				       " bytes, but --block-count %" PRIu64 " (0's based) means %" PRIu64,
				       args->data_size, *nr_blocks, block_size, args->block_count, args->block_count + 1);
	if (args->start_block >= ns_blocks)
		return cli_usage_error(cli, "--start-block",
				       "--start-block: %" PRIu64 " is beyond the end: the namespace has %" PRIu64 " blocks",
				       args->start_block, ns_blocks);
	if (*nr_blocks > ns_blocks - args->start_block)
		return cli_usage_error(cli,
				       args->data_size != NOT_GIVEN	? "--data-size"
				       : args->block_count != NOT_GIVEN ? "--block-count"
									: "--data",
				       "%" PRIu64 " blocks from block %" PRIu64 " reach beyond the end: the namespace has %" PRIu64
				       " blocks",
				       *nr_blocks, args->start_block, ns_blocks);
	return EXIT_OK;
}

int io_args_report(struct cli *cli, const struct io_args *args, const struct nvof_ns *ns, uint64_t nr_blocks, uint64_t took_ns)
{
	json_object *doc;

	if (!cli->json) {
		fprintf(stderr, "%s: Success\n", cli->cmd->name);
		return EXIT_OK;
	}
	doc = cli_json_new();
	json_object_object_add(doc, "nsid", json_object_new_int64(nvof_ns_nsid(ns)));
	json_object_object_add(doc, "start_block", json_object_new_uint64(args->start_block));
	json_object_object_add(doc, "blocks", json_object_new_uint64(nr_blocks));
	json_object_object_add(doc, "bytes", json_object_new_uint64(nr_blocks * nvof_ns_block_size(ns)));
	json_object_object_add(doc, "seconds", decimals_json((double)took_ns / NSEC_PER_SEC, 6));
	return cli_json(cli, doc);
}
