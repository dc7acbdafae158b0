/* SPDX-License-Identifier: BSD-3-Clause */
/* bench io: options and set-up. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/bench_io.h"

#define DEFAULT_QUEUE_SIZE 128u

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
	{ 0, "runtime", OPT_MS, OFFSET(struct bench_args, runtime_ms), "TIME", "how long: seconds or 500ms, 5s, 2m (default 5s)", .min = 1 },
	{ 0, "time", OPT_MS, OFFSET(struct bench_args, runtime_ms), "TIME", "the same", .min = 1, .hidden = true },
	{ 0, "warmup", OPT_MS, OFFSET(struct bench_args, warmup_ms), "TIME", "run this long before measuring (default 0)" },
	{ 0, "nr-hctx", OPT_U32, OFFSET(struct bench_args, nr_hctx), "N", "hctxs to use (default: all that --nr-io-queues gives)", .min = 1,
	  .max = 65535 },
	{ 0, "rwmixread", OPT_U32, OFFSET(struct bench_args, rwmixread), "PERCENT", "reads of randrw (default 70)", .max = 100 },
	{ 0, "offset", OPT_SIZE, OFFSET(struct bench_args, offset), "SIZE", "where the region begins, bytes (default 0)" },
	{ 0, "size", OPT_SIZE, OFFSET(struct bench_args, size), "SIZE", "length of the region, bytes (default: to the end)", .min = 512 },
	{ 0, "io-size", OPT_SIZE, OFFSET(struct bench_args, io_size), "SIZE", "stop after so many bytes (default: no limit)", .min = 512 },
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
	unsigned int have = nvof_ctrl_nr_hctx(c->ctrl), entries = nvof_ctrl_queue_size(c->ctrl);

	if (args->nr_hctx > have)
		return cli_error(c->cli, 0, "--nr-hctx: %u were asked for, the target granted %u I/O queues", args->nr_hctx, have);
	if (args->iodepth >= entries)
		cli_warn(c->cli, "--iodepth: a queue of %u entries holds %u commands in flight", entries, entries - 1);
	return EXIT_OK;
}

static int measure(struct conn *c, struct bench_args *args)
{
	struct bench_result *r = calloc(1, sizeof(*r));
	struct nvof_ns *ns = NULL;
	int ret;

	if (!r)
		abort();
	ret = conn_open_ns(c, &args->conn, &ns);
	if (!ret)
		ret = check_region(c->cli, args, ns);
	if (!ret)
		ret = check_hctx(c, args);
	if (!ret)
		ret = pin(c->cli, args->cpu);
	if (!ret)
		ret = bench_run(c, args, ns, r);
	if (!ret)
		ret = bench_report(c, args, r);
	/* After a run that left commands behind the ctrl is gone, and the namespace with it. */
	if (c->ctrl)
		nvof_ns_close(ns);
	free(r);
	return ret;
}

int cmd_bench_io(struct cli *cli, int argc, char **argv)
{
	struct bench_args args = {
		.rw_name = "randread", .bs = 4096, .iodepth = 64, .runtime_ms = 5000, .rwmixread = 70, .seed = 1, .cpu = -1
	};
	struct conn c;
	int ret;

	conn_args_init(&args.conn, cli);
	ret = conn_parse(&usage, (struct opt_group[]){ { "The load", opts, &args }, { 0 } }, &args.conn, argc, argv);
	if (ret == OPTS_GO) {
		if (args.nr_hctx && !args.conn.nr_io_queues)
			args.conn.nr_io_queues = args.nr_hctx;
		if (!args.conn.queue_size && args.iodepth >= DEFAULT_QUEUE_SIZE)
			args.conn.queue_size = min_u32(args.iodepth + 1, 1024);
		ret = conn_open(&c, &args.conn, CONN_IO);
		if (!ret)
			ret = measure(&c, &args);
		conn_close(&c);
	}
	conn_args_clear(&args.conn);
	return ret;
}
