/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connects with some queues, reads one block, tells when that was, and stays connected without doing anything until it is told to end.
 * The benchmark watches it: the time to the first I/O, memory and CPU of an idle host and of its target.
 *
 *	hold PORT NQN NR_IO_QUEUES
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <nvof/nvof.h>

static volatile sig_atomic_t told_to_end;

static void on_term(int nr)
{
	told_to_end = 1;
}

static int failed(struct nvof_ctx *ctx, const char *what)
{
	fprintf(stderr, "%s: %s\n", what, nvof_ctx_errmsg(ctx));
	return 1;
}

/* CLOCK_MONOTONIC, which whoever started this process knows, too. */
static void say_first_io(const struct nvof_ctrl *ctrl)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	printf("{\"first_io_ns\": %lld, \"nr_io_queues\": %u}\n", (long long)t.tv_sec * 1000000000 + t.tv_nsec,
	       nvof_ctrl_nr_io_queues(ctrl));
	fflush(stdout);
}

static int read_once(struct nvof_ctx *ctx, struct nvof_ctrl *ctrl)
{
	static char block[4096];
	struct nvof_ns *ns;

	if (nvof_ns_open_sync(ctrl, 1, &ns))
		return failed(ctx, "open namespace 1");
	if (nvof_read_sync(nvof_ctrl_hctx(ctrl, 0), ns, 0, 1, block, 0))
		return failed(ctx, "read");
	say_first_io(ctrl);
	nvof_ns_close(ns);
	return 0;
}

int main(int argc, char **argv)
{
	struct nvof_connect_opts opts;
	struct nvof_ctrl *ctrl;
	struct nvof_ctx *ctx;
	int ret;

	if (argc != 4)
		return 2;
	signal(SIGTERM, on_term);
	if (nvof_ctx_new(NULL, &ctx))
		return 1;
	nvof_connect_opts_init(&opts);
	opts.traddr = "127.0.0.1";
	opts.trsvcid = argv[1];
	opts.subsysnqn = argv[2];
	opts.nr_io_queues = (unsigned int)atoi(argv[3]);
	if (nvof_ctrl_connect_sync(ctx, &opts, &ctrl))
		return failed(ctx, "connect");
	ret = read_once(ctx, ctrl);
	while (!ret && !told_to_end && nvof_ctrl_state(ctrl) == NVOF_CTRL_LIVE)
		nvof_ctx_poll(ctx, 200000);
	nvof_ctrl_disconnect_sync(ctrl);
	nvof_ctrl_free(ctrl);
	nvof_ctx_free(ctx);
	return ret;
}
