/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target and a host in one process, without a network: a namespace in memory, and 1000 reads of it with 32 in flight, driven by callbacks.
 * The same code reads over TCP when opts.transport, traddr and trsvcid say so.
 */
#include <stdio.h>

#include <nvof/nvof.h>
#include <nvof/target.h>

#define NQN "nqn.2026-11.org.example:nvof"
#define NR_READS 1000
#define DEPTH 32
#define BLOCK 4096

struct job {
	struct nvof_hctx *hctx;
	struct nvof_ns *ns;
	unsigned int nr_started, nr_done, nr_errors;
};

struct slot {
	struct job *job;
	unsigned char buf[BLOCK];
};

static void read_done(void *arg, const struct nvof_cpl *cpl);

static void read_next(struct slot *slot)
{
	struct job *job = slot->job;

	while (job->nr_started < NR_READS) {
		if (!nvof_read(job->hctx, job->ns, job->nr_started++, 1, slot->buf, 0, read_done, slot))
			return;
		job->nr_done++; /* read_done() does not run then */
		job->nr_errors++;
	}
}

static void read_done(void *arg, const struct nvof_cpl *cpl)
{
	struct slot *slot = arg;

	slot->job->nr_done++;
	slot->job->nr_errors += cpl->status != 0;
	read_next(slot);
}

static int read_all(struct nvof_ctx *ctx, struct nvof_ctrl *ctrl)
{
	static struct slot slots[DEPTH];
	struct job job = { .hctx = nvof_ctrl_hctx(ctrl, 0) };

	if (nvof_ns_open_sync(ctrl, 1, &job.ns))
		return -1;
	for (int i = 0; i < DEPTH; i++) {
		slots[i].job = &job;
		read_next(&slots[i]);
	}
	while (job.nr_done < NR_READS)
		nvof_ctx_poll(ctx, -1);
	nvof_ns_close(job.ns);
	printf("%u reads, %u errors\n", job.nr_done, job.nr_errors);
	return job.nr_errors ? -1 : 0;
}

static int target_start(struct nvof_target **target)
{
	struct nvof_target_ns_opts ns;

	if (nvof_target_new(NULL, target))
		return -1;
	nvof_target_ns_opts_init(&ns);
	ns.backend = "mem:64M";
	ns.block_size = BLOCK;
	if (nvof_target_add_subsys(*target, NQN, NULL) || nvof_target_add_ns(*target, NQN, &ns, NULL) ||
	    nvof_target_listen(*target, "loop", NULL, 0))
		return -1;
	return 0;
}

int main(void)
{
	struct nvof_connect_opts opts;
	struct nvof_target *target = NULL;
	struct nvof_ctrl *ctrl = NULL;
	struct nvof_ctx *ctx = NULL;
	int ret = -1;

	if (target_start(&target) || nvof_ctx_new(NULL, &ctx))
		goto out;
	nvof_connect_opts_init(&opts);
	opts.transport = "loop";
	opts.loop_target = target;
	opts.subsysnqn = NQN;
	opts.nr_io_queues = 1;
	ret = nvof_ctrl_connect_sync(ctx, &opts, &ctrl);
	if (ret)
		fprintf(stderr, "%s\n", nvof_ctx_errmsg(ctx));
	else
		ret = read_all(ctx, ctrl);
out:
	nvof_ctrl_free(ctrl);
	nvof_ctx_free(ctx);
	nvof_target_free(target);
	return ret ? 1 : 0;
}
