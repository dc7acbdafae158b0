/* SPDX-License-Identifier: BSD-3-Clause */
/* The demo's target, and its host's two ways to connect. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/demo.h"

static int target_error(struct demo *demo, int status, const char *what)
{
	char why[512];

	return cli_error(demo->cli, status, "%s: %s", what, nvof_target_errmsg(demo->target, why, sizeof(why)));
}

static int add_namespaces(struct demo *demo)
{
	struct nvof_target_ns_opts opts;
	int ret = 0;

	nvof_target_ns_opts_init(&opts);
	opts.backend = "mem:64M";
	opts.block_size = 4096;
	for (uint32_t i = 0; !ret && i < demo->nr_namespaces; i++)
		ret = nvof_target_add_ns(demo->target, DEMO_NQN, &opts, NULL);
	return ret ? target_error(demo, ret, "adding a namespace") : EXIT_OK;
}

/* Slow as a far target is: each exchange of a set-up takes this long. */
static int add_delays(struct demo *demo)
{
	static const char *const points[] = { "icreq", "connect", "admin" };
	char spec[64];

	for (size_t i = 0; demo->delay_ms && i < ARRAY_SIZE(points); i++) {
		int ret;

		snprintf(spec, sizeof(spec), "on=%s,delay=%ums", points[i], (unsigned int)demo->delay_ms);
		ret = nvof_target_add_fault(demo->target, spec);
		if (ret)
			return target_error(demo, ret, "adding a delay");
	}
	return EXIT_OK;
}

/* "tcp:127.0.0.1:4420" */
static void take_address(struct demo *demo, const char *addr)
{
	const char *host = strchr(addr, ':') + 1, *port = strrchr(addr, ':');

	snprintf(demo->traddr, sizeof(demo->traddr), "%.*s", (int)(port - host), host);
	snprintf(demo->trsvcid, sizeof(demo->trsvcid), "%s", port + 1);
}

int demo_target_start(struct demo *demo)
{
	struct nvof_target_opts opts;
	char addr[128];
	int ret;

	demo_progress(demo, "starting a target");
	nvof_target_opts_init(&opts);
	opts.log = cli_log;
	opts.log_arg = demo->cli;
	opts.log_level = cli_log_level(demo->cli);
	ret = nvof_target_new(&opts, &demo->target);
	if (ret)
		return cli_error(demo->cli, ret, "making a target failed");
	ret = nvof_target_add_subsys(demo->target, DEMO_NQN, NULL);
	if (ret)
		return target_error(demo, ret, "adding the subsystem");
	if (add_namespaces(demo) != EXIT_OK || add_delays(demo) != EXIT_OK)
		return EXIT_FAILED;
	ret = nvof_target_listen(demo->target, "tcp:127.0.0.1:0", addr, sizeof(addr));
	if (ret)
		return target_error(demo, ret, "listening on 127.0.0.1");
	take_address(demo, addr);
	return EXIT_OK;
}

static int keep_times(struct demo *demo, struct demo_setup *setup)
{
	const struct nvof_span *spans;

	nvof_ctrl_setup_times(demo->ctrl, &setup->times);
	setup->nr_spans = nvof_ctrl_timeline(demo->ctrl, &spans);
	setup->spans = calloc(setup->nr_spans + 1, sizeof(*spans));
	if (!setup->spans)
		return cli_error(demo->cli, 0, "out of memory");
	memcpy(setup->spans, spans, setup->nr_spans * sizeof(*spans));
	return EXIT_OK;
}

static int connect_once(struct demo *demo, unsigned int concurrency, struct demo_setup *setup)
{
	struct nvof_connect_opts opts;
	int ret;

	nvof_connect_opts_init(&opts);
	opts.traddr = demo->traddr;
	opts.trsvcid = demo->trsvcid;
	opts.subsysnqn = DEMO_NQN;
	opts.nr_io_queues = demo->nr_io_queues;
	opts.setup_concurrency = concurrency;
	opts.connect_tmo_ms = 300000;
	opts.keep_alive_tmo_ms = 0; /* both ends are one process: neither is lost without the other */
	ret = nvof_ctrl_connect_sync(demo->ctx, &opts, &demo->ctrl);
	if (ret)
		return cli_error(demo->cli, ret, "%s", nvof_ctx_errmsg(demo->ctx));
	return keep_times(demo, setup);
}

int demo_setup(struct demo *demo)
{
	struct nvof_ctx_opts opts;
	char what[80];
	int ret;

	nvof_ctx_opts_init(&opts);
	opts.log = cli_log;
	opts.log_arg = demo->cli;
	opts.log_level = cli_log_level(demo->cli);
	ret = nvof_ctx_new(&opts, &demo->ctx);
	if (ret)
		return cli_error(demo->cli, ret, "making a context failed");

	snprintf(what, sizeof(what), "connecting %u I/O queues one by one", demo->nr_io_queues);
	demo_progress(demo, what);
	if (connect_once(demo, 1, &demo->serial) != EXIT_OK)
		return EXIT_FAILED;
	nvof_ctrl_disconnect_sync(demo->ctrl);
	nvof_ctrl_free(demo->ctrl);
	demo->ctrl = NULL;

	demo_progress(demo, "connecting them all together");
	if (connect_once(demo, 0, &demo->parallel) != EXIT_OK)
		return EXIT_FAILED;
	nvof_target_clear_faults(demo->target);
	return EXIT_OK;
}

void demo_stop(struct demo *demo)
{
	for (uint32_t i = 0; demo->ns && i < demo->nr_namespaces; i++)
		nvof_ns_close(demo->ns[i]);
	free(demo->ns);
	if (demo->ctrl)
		nvof_ctrl_disconnect_sync(demo->ctrl);
	nvof_ctrl_free(demo->ctrl);
	nvof_ctx_free(demo->ctx);
	nvof_target_free(demo->target);
	free(demo->serial.spans);
	free(demo->parallel.spans);
}
