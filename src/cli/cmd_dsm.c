/* SPDX-License-Identifier: BSD-3-Clause */
/* dsm: deallocate ranges of blocks (Dataset Management). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/io_args.h"

#define RANGES_MAX 256

static const struct usage usage = {
	"[-t TRANSPORT] -a ADDR [-s PORT] -n NQN [--namespace-id NSID] --ad --slbs LIST --blocks LIST [OPTION]... | URI",
	"Tells the ctrl that ranges of blocks are no longer used (Dataset Management, deallocate).",
	"$ nvof dsm nvme+tcp://127.0.0.1:4420/nqn.2026-11.org.example:nvof/1 --ad --slbs 0,4096 --blocks 8,16",
};

struct args {
	struct io_args io; /* for the address and the report */
	uint64_t slbs[RANGES_MAX], blocks[RANGES_MAX];
	size_t nr_slbs, nr_blocks;
	bool ad;
};

static char *parse_list(const char *text, uint64_t min, uint64_t max, uint64_t *list, size_t *nr)
{
	const struct opt opt = { .kind = OPT_U64, .min = min, .max = max };
	char *copy = strdup(text), *rest = copy, *item, *why = NULL;

	if (!copy)
		abort();
	*nr = 0;
	while (!why && (item = strsep(&rest, ","))) {
		if (*nr == RANGES_MAX)
			why = sentence("more than %d ranges", RANGES_MAX);
		else
			why = opt_set(&opt, &list[(*nr)++], item);
	}
	free(copy);
	return why;
}

static char *opt_slbs(void *base, const char *value)
{
	struct args *args = base;

	return parse_list(value, 0, UINT64_MAX, args->slbs, &args->nr_slbs);
}

static char *opt_blocks(void *base, const char *value)
{
	struct args *args = base;

	return parse_list(value, 1, UINT32_MAX, args->blocks, &args->nr_blocks);
}

/* clang-format off */
static const struct opt opts[] = {
	{ 0, "ad", OPT_FLAG, OFFSET(struct args, ad), NULL, "deallocate; the only attribute there is here, and it has to be said" },
	{ 0, "slbs", OPT_CALL, 0, "LIST", "first block of each range, separated by commas", .call = opt_slbs },
	{ 'b', "blocks", OPT_CALL, 0, "LIST", "number of blocks of each range (1's based)", .call = opt_blocks },
	{ 0 }
};
/* clang-format on */

static int check_args(struct cli *cli, const struct args *args)
{
	if (!args->ad)
		return cli_usage_error(cli, "--ad", "--ad is missing: nothing else can be asked for");
	if (!args->nr_slbs || args->nr_slbs != args->nr_blocks)
		return cli_usage_error(cli, "--slbs", "--slbs has %zu entries, --blocks %zu: as many are needed, and at least one",
				       args->nr_slbs, args->nr_blocks);
	return EXIT_OK;
}

static int check_range(struct cli *cli, uint64_t slba, uint64_t nr_blocks, uint64_t ns_blocks)
{
	if (slba >= ns_blocks)
		return cli_usage_error(cli, "--slbs", "--slbs: %" PRIu64 " is beyond the end: the namespace has %" PRIu64 " blocks", slba,
				       ns_blocks);
	if (nr_blocks > ns_blocks - slba)
		return cli_usage_error(cli, "--blocks",
				       "--blocks: %" PRIu64 " from block %" PRIu64 " reach beyond the end: the namespace has %" PRIu64
				       " blocks",
				       nr_blocks, slba, ns_blocks);
	return EXIT_OK;
}

static int deallocate(struct conn *c, const struct args *args)
{
	struct nvof_range ranges[RANGES_MAX];
	uint64_t start = clock_ns(), total = 0;
	struct conn_wait w = { .done = false };
	struct nvof_ns *ns = NULL;
	int ret = conn_open_ns(c, &args->io.conn, &ns), status;

	if (ret)
		return ret;
	for (size_t i = 0; i < args->nr_slbs && !ret; i++) {
		ret = check_range(c->cli, args->slbs[i], args->blocks[i], nvof_ns_nr_blocks(ns));
		ranges[i] = (struct nvof_range){ .slba = args->slbs[i], .nlb = (uint32_t)args->blocks[i] };
		total += args->blocks[i];
	}
	if (ret)
		goto close;
	status = conn_wait(c, &w, nvof_discard(conn_hctx(c, 0), ns, ranges, (unsigned int)args->nr_slbs, conn_wait_cb, &w));
	if (status == -ENOTSUP)
		ret = cli_error(c->cli, status, "the ctrl does not support this command (ONCS)");
	else
		ret = conn_status(c, status, "Dataset Management");
	if (!ret)
		ret = io_args_report(c->cli, &args->io, ns, total, clock_ns() - start);
close:
	nvof_ns_close(ns);
	return ret;
}

int cmd_dsm(struct cli *cli, int argc, char **argv)
{
	struct args args = { .nr_slbs = 0 };
	struct conn c;
	int ret;

	io_args_init(&args.io, cli);
	ret = conn_parse(&usage, (struct opt_group[]){ { "Options", opts, &args }, { 0 } }, &args.io.conn, argc, argv);
	if (ret == OPTS_GO) {
		ret = check_args(cli, &args);
		args.io.start_block = args.slbs[0];
	} else {
		goto out;
	}
	if (ret)
		goto out;
	ret = conn_open(&c, &args.io.conn, CONN_IO_ONE);
	if (!ret)
		ret = deallocate(&c, &args);
	conn_close(&c);
out:
	conn_args_clear(&args.io.conn);
	return ret;
}
