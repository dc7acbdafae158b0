/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long it takes to know all namespaces: one after the other, as a program does that opens each and waits for it, or by one scan.
 *
 *	scan PORT NQN serial|parallel
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nvof/nvof.h>

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int open_each(struct nvof_ctrl *ctrl)
{
	uint32_t *nsids;
	size_t nr;
	int ret = nvof_ns_list_sync(ctrl, &nsids, &nr);

	if (ret)
		return ret;
	for (size_t i = 0; i < nr && !ret; i++) {
		struct nvof_ns *ns;

		ret = nvof_ns_open_sync(ctrl, nsids[i], &ns);
	}
	free(nsids);
	return ret;
}

static size_t count(struct nvof_ctrl *ctrl)
{
	struct nvof_ns *ns;
	uint32_t nsid = 0;
	size_t nr = 0;

	while ((ns = nvof_ns_next(ctrl, nsid))) {
		nsid = nvof_ns_nsid(ns);
		nvof_ns_close(ns);
		nr++;
	}
	return nr;
}

static int measure(struct nvof_ctrl *ctrl, bool serial)
{
	double start = now_ms();
	int ret = serial ? open_each(ctrl) : nvof_ns_scan_sync(ctrl);
	char text[150];

	if (ret)
		fprintf(stderr, "scan: %s\n", nvof_status_str(ret, text, sizeof(text)));
	else
		printf("{\"total_ms\": %.3f, \"nr_namespaces\": %zu}\n", now_ms() - start, count(ctrl));
	return ret != 0;
}

int main(int argc, char **argv)
{
	struct nvof_connect_opts opts;
	struct nvof_ctrl *ctrl;
	struct nvof_ctx *ctx;
	int ret;

	if (argc != 4 || nvof_ctx_new(NULL, &ctx))
		return 2;
	nvof_connect_opts_init(&opts);
	opts.traddr = "127.0.0.1";
	opts.trsvcid = argv[1];
	opts.subsysnqn = argv[2];
	opts.nr_io_queues = 1;
	if (nvof_ctrl_connect_sync(ctx, &opts, &ctrl)) {
		fprintf(stderr, "connect: %s\n", nvof_ctx_errmsg(ctx));
		return 1;
	}
	ret = measure(ctrl, !strcmp(argv[3], "serial"));
	nvof_ctrl_disconnect_sync(ctrl);
	nvof_ctrl_free(ctrl);
	nvof_ctx_free(ctx);
	return ret;
}
