/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells the namespaces of a subsystem, tells them again whenever one is added, removed or resized, and ends when the ctrl is lost.
 *
 *	./watch 127.0.0.1 4420 nqn.2026-11.org.example:nvof [KEEP-ALIVE-MS]
 */
#include <stdio.h>
#include <stdlib.h>

#include <nvof/nvof.h>

#define LOG_CHANGED_NS 4
#define LOG_LEN	       4096
#define NSID_ALL       0xffffffff

/* Callbacks may not wait for an answer, so they leave a note. */
static void note_event(void *arg, struct nvof_ctrl *ctrl, const struct nvof_event *event)
{
	int *changed = arg;

	(void)ctrl;
	if (event->type == NVOF_EVENT_NS_CHANGED)
		*changed = 1;
}

static void tell_ns(struct nvof_ctrl *ctrl, uint32_t nsid)
{
	struct nvof_ns *ns;

	/* It may be gone again by now; then the next event is on its way. */
	if (nvof_ns_open_sync(ctrl, nsid, &ns))
		return;
	printf(" %u: %llu blocks of %u bytes;", nsid, (unsigned long long)nvof_ns_nr_blocks(ns), nvof_ns_block_size(ns));
	nvof_ns_close(ns);
}

static int tell_all(struct nvof_ctrl *ctrl)
{
	uint32_t *nsids;
	size_t nr;
	int status = nvof_ns_list_sync(ctrl, &nsids, &nr);

	if (status)
		return status;
	printf("namespaces:");
	for (size_t i = 0; i < nr; i++)
		tell_ns(ctrl, nsids[i]);
	printf("\n");
	fflush(stdout);
	free(nsids);
	return 0;
}

/* The ctrl tells the next change only after its log was read. */
static int read_changes(struct nvof_ctrl *ctrl)
{
	static unsigned char log[LOG_LEN];
	int status = nvof_get_log_sync(ctrl, LOG_CHANGED_NS, 0, false, NSID_ALL, 0, log, sizeof(log));

	return status ? status : tell_all(ctrl);
}

static int watch(struct nvof_ctx *ctx, struct nvof_ctrl *ctrl, int *changed)
{
	int status = tell_all(ctrl);
	char words[150];

	while (!status && nvof_ctrl_state(ctrl) == NVOF_CTRL_LIVE) {
		nvof_ctx_poll(ctx, -1);
		if (!*changed)
			continue;
		*changed = 0;
		status = read_changes(ctrl);
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
