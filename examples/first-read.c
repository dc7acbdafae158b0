/* SPDX-License-Identifier: BSD-3-Clause */
/* Connects to a subsystem over TCP, reads the first block of namespace 1 and prints it: first-read ADDRESS PORT SUBNQN */
#include <stdio.h>
#include <stdlib.h>

#include <nvof/nvof.h>

static int print_first_block(struct nvof_ctrl *ctrl)
{
	struct nvof_ns *ns;
	unsigned char *buf;
	char words[160];
	int ret;

	ret = nvof_ns_open_sync(ctrl, 1, &ns);
	if (ret)
		goto out;
	buf = malloc(nvof_ns_block_size(ns));
	ret = buf ? nvof_read_sync(nvof_ctrl_hctx(ctrl, 0), ns, 0, 1, buf, 0) : -1;
	if (!ret)
		fwrite(buf, 1, nvof_ns_block_size(ns), stdout);
	free(buf);
	nvof_ns_close(ns);
out:
	if (ret)
		fprintf(stderr, "reading namespace 1: %s\n", nvof_status_str(ret, words, sizeof(words)));
	return ret;
}

int main(int argc, char **argv)
{
	struct nvof_connect_opts opts;
	struct nvof_ctrl *ctrl;
	struct nvof_ctx *ctx;
	int ret;

	if (argc != 4) {
		fprintf(stderr, "usage: first-read ADDRESS PORT SUBNQN\n");
		return 2;
	}
	ret = nvof_ctx_new(NULL, &ctx);
	if (ret)
		return 1;
	nvof_connect_opts_init(&opts);
	opts.traddr = argv[1];
	opts.trsvcid = argv[2];
	opts.subsysnqn = argv[3];
	opts.nr_io_queues = 1;
	ret = nvof_ctrl_connect_sync(ctx, &opts, &ctrl);
	if (ret) {
		fprintf(stderr, "%s\n", nvof_ctx_errmsg(ctx));
	} else {
		ret = print_first_block(ctrl);
		nvof_ctrl_disconnect_sync(ctrl);
		nvof_ctrl_free(ctrl);
	}
	nvof_ctx_free(ctx);
	return ret ? 1 : 0;
}
