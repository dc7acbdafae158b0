/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target inside your program, and a host that talks to it without a network: how to test code that uses libnvof.
 * With an argument, such as tcp:127.0.0.1:4420, other hosts can connect as well until Enter is pressed.
 */
#include <stdio.h>
#include <string.h>

#include <nvof/nvof.h>
#include <nvof/target.h>

#define NQN "nqn.2026-11.org.example:nvof"

static int failed(struct nvof_target *target)
{
	char msg[512];

	fprintf(stderr, "%s\n", nvof_target_errmsg(target, msg, sizeof(msg)));
	return 1;
}

static int set_up(struct nvof_target *target)
{
	struct nvof_subsys_opts subsys;
	struct nvof_target_ns_opts ns;

	nvof_subsys_opts_init(&subsys);
	if (nvof_target_add_subsys(target, NQN, &subsys))
		return failed(target);
	nvof_target_ns_opts_init(&ns);
	ns.backend = "mem:64M";
	if (nvof_target_add_ns(target, NQN, &ns, NULL) || nvof_target_listen(target, "loop", NULL, 0))
		return failed(target);
	return 0;
}

static int write_and_read(struct nvof_ctrl *ctrl)
{
	char out[512] = "hello from the same process", in[512];
	struct nvof_ns *ns;
	int status = nvof_ns_open_sync(ctrl, 1, &ns);

	if (!status)
		status = nvof_write_sync(nvof_ctrl_hctx(ctrl, 0), ns, 8, 1, out, 0);
	if (!status)
		status = nvof_read_sync(nvof_ctrl_hctx(ctrl, 0), ns, 8, 1, in, 0);
	if (status) {
		fprintf(stderr, "%s\n", nvof_status_str(status, out, sizeof(out)));
		return 1;
	}
	nvof_ns_close(ns);
	printf("block 8 says: %s\n", in);
	return memcmp(in, out, sizeof(in)) != 0;
}

static int talk(struct nvof_target *target)
{
	struct nvof_connect_opts opts;
	struct nvof_ctrl *ctrl;
	struct nvof_ctx *ctx;
	int ret = 1;

	if (nvof_ctx_new(NULL, &ctx))
		return 1;
	nvof_connect_opts_init(&opts);
	opts.transport = "loop";
	opts.loop_target = target;
	opts.subsysnqn = NQN;
	if (nvof_ctrl_connect_sync(ctx, &opts, &ctrl)) {
		fprintf(stderr, "%s\n", nvof_ctx_errmsg(ctx));
	} else {
		ret = write_and_read(ctrl);
		nvof_ctrl_disconnect_sync(ctrl);
		nvof_ctrl_free(ctrl);
	}
	nvof_ctx_free(ctx);
	return ret;
}

static int serve(struct nvof_target *target, const char *where)
{
	char addr[128];

	if (nvof_target_listen(target, where, addr, sizeof(addr)))
		return failed(target);
	printf("serving on %s; Enter ends it\n", addr);
	getchar();
	return nvof_target_drain(target, 1000) != 0;
}

int main(int argc, char **argv)
{
	struct nvof_target *target;
	int ret;

	if (nvof_target_new(NULL, &target))
		return 1;
	ret = set_up(target);
	if (!ret)
		ret = talk(target);
	if (!ret && argc > 1)
		ret = serve(target, argv[1]);
	nvof_target_free(target);
	return ret;
}
