/* SPDX-License-Identifier: BSD-3-Clause */
/* bench io: options and set-up. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/bench_compare.h"

#define DEFAULT_QUEUE_SIZE 128u
#define RUNTIME_DEFAULT_MS 5000
#define RWMIXREAD_DEFAULT  70u
#define RWMIXREAD_NONE	   UINT32_MAX /* not given */

static const struct usage usage = {
	"[-t TRANSPORT] -a ADDR [-s PORT] -n NQN [--namespace-id NSID] --rw KIND [--bs SIZE] [--iodepth N] [OPTION]... | URI",
	"Keeps --iodepth I/Os in flight on each hctx from one thread, and tells how many ended in a second and how long each took.\n"
	"Writing kinds overwrite the namespace.",
	"$ nvof bench io nvme+tcp://127.0.0.1:4420/nqn.2026-11.org.example:nvof/1 --rw randread --bs 4k --iodepth 64 --runtime 2",
};

static char *opt_rw(void *base, const char *value)
{
	static const char *const names[] = { "randread", "randwrite", "read", "write", "randrw" };
	struct bench_args *args = base;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], value)) {
			args->rw = (enum bench_rw)i;
			args->rw_name = names[i];
			return NULL;
		}
	return sentence("\"%.40s\" is not one of: randread, randwrite, read, write, randrw", value);
}

/* clang-format off */
static const struct opt opts[] = {
	{ 0, "rw", OPT_CALL, 0, "KIND", "randread, randwrite, read, write or randrw (default randread)", .call = opt_rw },
	{ 0, "bs", OPT_SIZE, OFFSET(struct bench_args, bs), "SIZE", "bytes of one I/O (default 4K)", .min = 512, .max = 64u << 20 },
	{ 0, "iodepth", OPT_U32, OFFSET(struct bench_args, iodepth), "N", "I/Os in flight on each hctx (default 64)", .min = 1, .max = 65535 },
	{ 0, "runtime", OPT_MS, OFFSET(struct bench_args, runtime_ms), "TIME", "how long: seconds or 500ms, 5s, 2m (default 5s; of each measurement of --compare 1s)", .min = 1 },
	{ 0, "time", OPT_MS, OFFSET(struct bench_args, runtime_ms), "TIME", "the same", .min = 1, .hidden = true },
	{ 0, "warmup", OPT_MS, OFFSET(struct bench_args, warmup_ms), "TIME", "run this long before measuring (default 0; --compare 100ms)" },
	{ 0, "nr-hctx", OPT_U32, OFFSET(struct bench_args, nr_hctx), "N", "hctxs to use (default: all that --nr-io-queues gives)", .min = 1,
	  .max = 65535 },
	{ 0, "rwmixread", OPT_U32, OFFSET(struct bench_args, rwmixread), "PERCENT", "reads of randrw (default 70)", .max = 100 },
	{ 0, "offset", OPT_SIZE, OFFSET(struct bench_args, offset), "SIZE", "where the region begins, bytes (default 0)" },
	{ 0, "size", OPT_SIZE, OFFSET(struct bench_args, size), "SIZE", "length of the region, bytes (default: to the end)", .min = 512 },
	{ 0, "io-size", OPT_SIZE, OFFSET(struct bench_args, io_size), "SIZE", "stop after so many bytes (default: no limit)", .min = 512 },
	{ 0, "compare", OPT_FLAG, OFFSET(struct bench_args, compare), NULL,
	  "measure ways to several connections beside one another: queues of one hctx, hctxs, and ctrls; --queues-per-hctx tells how many (default 4)" },
	{ 0, "rounds", OPT_U32, OFFSET(struct bench_args, rounds), "N", "with --compare: how often each is measured, 1 to 100 (default 5)", .min = 1,
	  .max = 100 },
	{ 0, "svg", OPT_STR, OFFSET(struct bench_args, svg), "FILE", "with --compare: a picture of it" },
	{ 0, "verify", OPT_FLAG, OFFSET(struct bench_args, verify), NULL,
	  "write blocks that tell their number and the seed, read all of them back and check; with read and randread check what an earlier run wrote" },
	{ 0, "seed", OPT_U64, OFFSET(struct bench_args, seed), "N", "of the places and the data (default 1)" },
	{ 0, "poll", OPT_FLAG, OFFSET(struct bench_args, poll), NULL, "never sleep" },
	{ 0, "cpu", OPT_INT, OFFSET(struct bench_args, cpu), "N", "run on this CPU (default: any)", .imin = 0, .imax = CPU_SETSIZE - 1 },
	{ 0 }
};
/* clang-format on */

static int pin(struct cli *cli, int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return EXIT_OK;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return cli_usage_error(cli, "--cpu", "--cpu: %d: %s", cpu, strerror(errno));
	return EXIT_OK;
}

/* What only the namespace can tell. */
static int check_region(struct cli *cli, struct bench_args *args, const struct nvof_ns *ns)
{
	uint64_t block = nvof_ns_block_size(ns), ns_len = nvof_ns_nr_blocks(ns) * block;
	char text[24];

	if (args->bs % block)
		return cli_usage_error(cli, "--bs", "--bs: %llu is not a multiple of the block size %llu", (unsigned long long)args->bs,
				       (unsigned long long)block);
	if (args->offset % block)
		return cli_usage_error(cli, "--offset", "--offset: %llu is not a multiple of the block size %llu",
				       (unsigned long long)args->offset, (unsigned long long)block);
	if (args->offset >= ns_len)
		return cli_usage_error(cli, "--offset", "--offset: beyond the end of the namespace (%s)", size_format(ns_len, text));
	if (!args->size)
		args->size = ns_len - args->offset;
	if (args->size > ns_len - args->offset)
		return cli_usage_error(cli, "--size", "--size: reaches beyond the end of the namespace (%s)", size_format(ns_len, text));
	if (args->size < args->bs)
		return cli_usage_error(cli, "--size", "--size: the region of %s is smaller than one I/O (--bs)",
				       size_format(args->size, text));
	return EXIT_OK;
}

static int check_hctx(struct conn *c, const struct bench_args *args)
{
	unsigned int have = conn_nr_hctx(c);

	if (args->nr_hctx > have)
		return cli_argument_error(c->cli, "--nr-hctx", 0, "--nr-hctx: %u were asked for, the target granted %u I/O queues",
					  args->nr_hctx, have);
	return EXIT_OK;
}

int bench_measure(struct conn *c, struct bench_args *args, struct bench_result *r)
{
	struct nvof_ns *ns = NULL;
	int ret = conn_open_ns(c, &args->conn, &ns);

	if (!ret)
		ret = check_region(c->cli, args, ns);
	if (!ret)
		ret = check_hctx(c, args);
	if (!ret)
		ret = pin(c->cli, args->cpu);
	if (!ret)
		ret = bench_run(c, args, ns, r);
	/* After a run that left commands behind the ctrl is gone, and the namespace with it. */
	if (c->ctrl)
		nvof_ns_close(ns);
	return ret;
}

static int measure(struct conn *c, struct bench_args *args, struct bench_result *r)
{
	int ret = bench_measure(c, args, r);

	if (!ret)
		ret = bench_report(c, args, r);
	return ret;
}

/* What says how something is done that is not done at all. */
static int check_needs(struct cli *cli, struct bench_args *args)
{
	if (!args->compare && (args->svg || args->rounds))
		return cli_usage_error(cli, args->svg ? "--svg" : "--rounds", "%s: only with --compare", args->svg ? "--svg" : "--rounds");
	if (args->rwmixread != RWMIXREAD_NONE && args->rw != RW_RANDRW)
		return cli_usage_error(cli, "--rwmixread", "--rwmixread: only with --rw randrw");
	if (args->rwmixread == RWMIXREAD_NONE)
		args->rwmixread = RWMIXREAD_DEFAULT;
	return EXIT_OK;
}

static int go(struct cli *cli, struct bench_args *args, struct bench_result *r)
{
	struct conn c;
	int ret = check_needs(cli, args);

	if (ret)
		return ret;
	if (args->compare)
		return bench_compare(cli, args);
	if (!args->runtime_ms)
		args->runtime_ms = RUNTIME_DEFAULT_MS;
	if (args->nr_hctx && !args->conn.nr_io_queues)
		args->conn.nr_io_queues = args->nr_hctx;
	if (!args->conn.queue_size && args->iodepth >= DEFAULT_QUEUE_SIZE)
		args->conn.queue_size = min_u32(args->iodepth + 1, 1024);
	ret = conn_open(&c, &args->conn, CONN_IO);
	if (!ret)
		ret = measure(&c, args, r);
	conn_close(&c);
	return ret;
}

int cmd_bench_io(struct cli *cli, int argc, char **argv)
{
	struct bench_args args = { .rw_name = "randread", .bs = 4096, .iodepth = 64, .rwmixread = RWMIXREAD_NONE, .seed = 1, .cpu = -1 };
	struct bench_result *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		abort();
	conn_args_init(&args.conn, cli);
	ret = conn_parse(&usage, (struct opt_group[]){ { "The load", opts, &args }, { 0 } }, &args.conn, argc, argv);
	if (ret == OPTS_GO)
		ret = go(cli, &args, r);
	conn_args_clear(&args.conn);
	stop_raise(&r->stop);
	bench_result_clear(r);
	free(r);
	return ret;
}
