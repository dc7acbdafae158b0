/* SPDX-License-Identifier: BSD-3-Clause */
/* write-zeroes, verify and flush: commands without data. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/util.h"
#include "cli/io_args.h"
#include "cli/progress.h"

#define EXAMPLE_URI "nvme+tcp://127.0.0.1:4420/nqn.2026-11.org.example:nvof/1"
#define SYNOPSIS    "[-t TRANSPORT] -a ADDR [-s PORT] -n NQN [--namespace-id NSID] [OPTION]... | URI"
#define STEP_BLOCKS (1u << 20)

typedef int submit_fn(struct nvof_hctx *hctx, struct nvof_ns *ns, uint64_t slba, uint32_t nlb, unsigned int flags, nvof_cb *cb, void *arg);

static int flush_all(struct nvof_hctx *hctx, struct nvof_ns *ns, uint64_t slba, uint32_t nlb, unsigned int flags, nvof_cb *cb, void *arg)
{
	return nvof_flush(hctx, ns, cb, arg);
}

static int step_failed(struct conn *c, int status, uint64_t slba, uint32_t nlb)
{
	char what[96];

	if (status == -ENOTSUP)
		return cli_error(c->cli, status, "the ctrl does not support this command (ONCS)");
	snprintf(what, sizeof(what), "%s of blocks %" PRIu64 " to %" PRIu64, c->cli->cmd->name, slba, slba + nlb - 1);
	return conn_status(c, status, what);
}

static int run_steps(struct conn *c, struct nvof_ns *ns, const struct io_args *args, uint64_t nr_blocks, submit_fn *submit)
{
	struct progress progress;
	int ret = EXIT_OK;

	progress_start(&progress, c->cli->cmd->name, nr_blocks * nvof_ns_block_size(ns));
	for (uint64_t at = 0; at < nr_blocks && !ret; at += STEP_BLOCKS) {
		uint32_t nlb = (uint32_t)min_u64(STEP_BLOCKS, nr_blocks - at);
		uint64_t slba = args->start_block + at;
		struct conn_wait w = { .done = false };
		int status;

		progress_update(&progress, at * nvof_ns_block_size(ns));
		status = conn_wait(c, &w, submit(conn_hctx(c, 0), ns, slba, nlb, io_args_flags(args), conn_wait_cb, &w));
		if (status) {
			progress_end(&progress);
			ret = step_failed(c, status, slba, nlb);
		}
	}
	progress_end(&progress);
	return ret;
}

static int act(struct conn *c, const struct io_args *args, submit_fn *submit, bool ranged)
{
	uint64_t start, nr_blocks = 1;
	struct nvof_ns *ns = NULL;
	int ret = conn_open_ns(c, &args->conn, &ns);

	if (!ret && ranged)
		ret = io_args_blocks(c->cli, args, nvof_ns_block_size(ns), nvof_ns_nr_blocks(ns), NOT_GIVEN, &nr_blocks);
	start = clock_ns();
	if (!ret)
		ret = run_steps(c, ns, args, nr_blocks, submit);
	if (!ret)
		ret = io_args_report(c->cli, args, ns, ranged ? nr_blocks : 0, clock_ns() - start);
	nvof_ns_close(ns);
	return ret;
}

static int run(struct cli *cli, const struct usage *usage, const struct opt *opts, submit_fn *submit, int argc, char **argv)
{
	struct io_args args;
	struct opt_group groups[] = { { "Which blocks", io_range_opts, &args }, { "Options", opts, &args }, { 0 } };
	struct conn c;
	int ret;

	io_args_init(&args, cli);
	ret = conn_parse(usage, opts ? groups : NULL, &args.conn, argc, argv);
	if (ret == OPTS_GO) {
		ret = conn_open(&c, &args.conn, CONN_IO_ONE);
		if (!ret)
			ret = act(&c, &args, submit, opts != NULL);
		conn_close(&c);
	}
	conn_args_clear(&args.conn);
	return ret;
}

#define OPT_DATA_SIZE                                                                                                                   \
	{                                                                                                                               \
		'z', "data-size", OPT_SIZE, OFFSET(struct io_args, data_size), "SIZE", "bytes, whole blocks; instead of --block-count", \
			.min = 1, .max = NOT_GIVEN - 1                                                                                  \
	}

int cmd_write_zeroes(struct cli *cli, int argc, char **argv)
{
	static const struct usage usage = { SYNOPSIS, "Sets blocks to zero without sending any.",
					    "$ nvof write-zeroes " EXAMPLE_URI " --block-count 2047" };
	/* clang-format off */
	static const struct opt opts[] = {
		OPT_DATA_SIZE,
		{ 0, "deac", OPT_FLAG, OFFSET(struct io_args, deallocate), NULL, "the ctrl may deallocate the blocks" },
		{ 0 }
	};
	/* clang-format on */

	return run(cli, &usage, opts, nvof_write_zeroes, argc, argv);
}

int cmd_verify(struct cli *cli, int argc, char **argv)
{
	static const struct usage usage = { SYNOPSIS, "Lets the ctrl check that blocks can be read, without sending them here.",
					    "$ nvof verify " EXAMPLE_URI " --block-count 2047" };
	static const struct opt opts[] = { OPT_DATA_SIZE, { 0 } };

	return run(cli, &usage, opts, nvof_verify, argc, argv);
}

int cmd_flush(struct cli *cli, int argc, char **argv)
{
	static const struct usage usage = { SYNOPSIS, "Puts everything written before on stable media.", "$ nvof flush " EXAMPLE_URI };

	return run(cli, &usage, NULL, flush_all, argc, argv);
}
