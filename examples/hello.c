/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shortest program: connect, say who is there, read one block.  Everything blocks.
 *
 *	cc hello.c $(pkg-config --cflags --libs nvof) -o hello
 *	./hello 127.0.0.1 4420 nqn.2026-11.org.example:nvof
 */
#include <stdio.h>
#include <stdlib.h>

#include <nvof/nvof.h>

static int read_first_block(struct nvof_ctrl *ctrl, struct nvof_ns *ns)
{
	unsigned char *block = malloc(nvof_ns_block_size(ns));
	char words[150];
	int status;

	if (!block)
		return 1;
	status = nvof_read_sync(nvof_ctrl_hctx(ctrl, 0), ns, 0, 1, block, 0);
	if (status)
		fprintf(stderr, "reading block 0: %s\n", nvof_status_str(status, words, sizeof(words)));
	else
		printf("block 0 begins with %02x %02x %02x %02x\n", block[0], block[1], block[2], block[3]);
	free(block);
	return status != 0;
}

static int greet(struct nvof_ctrl *ctrl)
{
	const struct nvme_id_ctrl *id = nvof_ctrl_id(ctrl);
	struct nvof_ns *ns;
	char words[150];
	int status;

	printf("%.40s, serial %.20s, %u I/O queues\n", id->mn, id->sn, nvof_ctrl_nr_io_queues(ctrl));
	status = nvof_ns_open_sync(ctrl, 1, &ns);
	if (status) {
		fprintf(stderr, "opening namespace 1: %s\n", nvof_status_str(status, words, sizeof(words)));
		return 1;
	}
	printf("namespace 1 has %llu blocks of %u bytes\n", (unsigned long long)nvof_ns_nr_blocks(ns), nvof_ns_block_size(ns));
	status = read_first_block(ctrl, ns);
	nvof_ns_close(ns);
	return status;
}

int main(int argc, char **argv)
{
	struct nvof_connect_opts opts;
	struct nvof_ctrl *ctrl;
	struct nvof_ctx *ctx;
	int ret;

	if (argc != 4) {
		fprintf(stderr, "usage: hello ADDR PORT NQN\n");
		return 2;
	}
	if (nvof_ctx_new(NULL, &ctx))
		return 1;
	nvof_connect_opts_init(&opts);
	opts.traddr = argv[1];
	opts.trsvcid = argv[2];
	opts.subsysnqn = argv[3];
	if (nvof_ctrl_connect_sync(ctx, &opts, &ctrl)) {
		fprintf(stderr, "%s\n", nvof_ctx_errmsg(ctx));
		nvof_ctx_free(ctx);
		return 1;
	}
	ret = greet(ctrl);
	nvof_ctrl_disconnect_sync(ctrl);
	nvof_ctrl_free(ctrl);
	nvof_ctx_free(ctx);
	return ret;
}
