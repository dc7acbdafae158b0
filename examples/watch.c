/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells the namespaces of a subsystem, tells them again whenever one is added, removed, resized or replaced, and ends when the ctrl is
 *lost.
 *
 *	./watch 127.0.0.1 4420 nqn.2026-11.org.example:nvof [KEEP-ALIVE-MS]
 */
#include <stdio.h>
#include <stdlib.h>

#include <nvof/nvof.h>

/* What event->ns points to is good inside the callback only, unless it is kept with nvof_ns_ref(); here a note is enough. */
static void note_event(void *arg, struct nvof_ctrl *ctrl, const struct nvof_event *event)
{
	int *changed = arg;

	(void)ctrl;
	switch (event->type) {
	case NVOF_EVENT_NS_ADDED:
	case NVOF_EVENT_NS_REMOVED:
	case NVOF_EVENT_NS_RESIZED:
	case NVOF_EVENT_NS_REPLACED:
		*changed = 1;
		break;
	default:
		break;
	}
}

/* The library keeps the table: this asks nobody. */
static void tell_all(struct nvof_ctrl *ctrl)
{
	struct nvof_ns *ns;
	uint32_t nsid = 0;

	printf("namespaces:");
	while ((ns = nvof_ns_next(ctrl, nsid))) {
		nsid = nvof_ns_nsid(ns);
		printf(" %u: %llu blocks of %u bytes;", nsid, (unsigned long long)nvof_ns_nr_blocks(ns), nvof_ns_block_size(ns));
		nvof_ns_close(ns);
	}
	printf("\n");
	fflush(stdout);
}

static int watch(struct nvof_ctx *ctx, struct nvof_ctrl *ctrl, int *changed)
{
	/* From now on the library follows the changes. */
	int status = nvof_ns_scan_sync(ctrl);
	char words[150];

	*changed = !status;
	while (!status && nvof_ctrl_state(ctrl) == NVOF_CTRL_LIVE) {
		if (*changed)
			tell_all(ctrl);
		*changed = 0;
		nvof_ctx_poll(ctx, -1);
	}
	if (*nvof_ctrl_errmsg(ctrl))
		fprintf(stderr, "%s\n", nvof_ctrl_errmsg(ctrl));
	else
		fprintf(stderr, "%s\n", nvof_status_str(status, words, sizeof(words)));
	return 1;
}

int main(int argc, char **argv)
{
	struct nvof_connect_opts opts;
	struct nvof_ctrl *ctrl;
	struct nvof_ctx *ctx;
	int changed = 0, ret;

	if (argc < 4) {
		fprintf(stderr, "usage: watch ADDR PORT NQN [KEEP-ALIVE-MS]\n");
		return 2;
	}
	if (nvof_ctx_new(NULL, &ctx))
		return 1;
	nvof_connect_opts_init(&opts);
	opts.traddr = argv[1];
	opts.trsvcid = argv[2];
	opts.subsysnqn = argv[3];
	if (argc > 4)
		opts.keep_alive_tmo_ms = atoi(argv[4]);
	opts.nr_io_queues = 1;
	opts.event = note_event;
	opts.event_arg = &changed;
	if (nvof_ctrl_connect_sync(ctx, &opts, &ctrl)) {
		fprintf(stderr, "%s\n", nvof_ctx_errmsg(ctx));
		nvof_ctx_free(ctx);
		return 1;
	}
	ret = watch(ctx, ctrl, &changed);
	nvof_ctrl_free(ctrl);
	nvof_ctx_free(ctx);
	return ret;
}
