/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/demo.h"
#include "cli/opts.h"

static const struct usage usage = {
	"[OPTION]...",
	"Starts a target and connects to it over TCP on the loopback: once with its I/O queues one by one, once all together, while the "
	"target is "
	"slow to answer.  Then writes and verifies data in each namespace and measures reads.  Leaves a report for the browser.",
	"$ nvof demo\n$ nvof demo --nr-io-queues 16 --delay 20ms --report slow.html",
};

static const struct opt opts[] = {
	{ 'i', "nr-io-queues", OPT_U32, OFFSET(struct demo, nr_io_queues), "N", "I/O queues to connect (default 64)", .min = 1,
	  .max = 128 },
	{ 0, "nr-namespaces", OPT_U32, OFFSET(struct demo, nr_namespaces), "N", "namespaces to write to (default 64)", .min = 1,
	  .max = 256 },
	{ 0, "delay", OPT_MS, OFFSET(struct demo, delay_ms), "TIME", "of each answer while queues are set up (default 5ms)", .max = 1000 },
	{ 0, "runtime", OPT_MS, OFFSET(struct demo, runtime_ms), "TIME", "of each measurement (default 1s)", .min = 10, .max = 60000 },
	{ 0, "report", OPT_STR, OFFSET(struct demo, report), "FILE", "where the report goes (default nvof-demo.html)" },
	{ 0 },
};

void demo_progress(const struct demo *demo, const char *what)
{
	if (!isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r\033[K");
	if (what)
		fprintf(stderr, "  %s ...", what);
	fflush(stderr);
	(void)demo;
}

static int demo_run(struct demo *demo)
{
	static int (*const steps[])(struct demo *) = { demo_target_start, demo_setup, demo_verify, demo_io };
	int ret = EXIT_OK;

	for (size_t i = 0; ret == EXIT_OK && i < sizeof(steps) / sizeof(steps[0]); i++)
		ret = steps[i](demo);
	demo_progress(demo, NULL);
	return ret;
}

static int demo_show(struct demo *demo)
{
	json_object *doc = demo_json(demo);
	int ret = demo_write_report(demo, doc);

	if (demo->cli->json) {
		int printed = cli_json(demo->cli, doc);

		return ret == EXIT_OK ? printed : ret;
	}
	json_object_put(doc);
	demo_screen(demo, ret == EXIT_OK);
	return ret;
}

int cmd_demo(struct cli *cli, int argc, char **argv)
{
	struct demo *demo = calloc(1, sizeof(*demo));
	int ret;

	if (!demo)
		return cli_error(cli, 0, "out of memory");
	demo->cli = cli;
	demo->nr_io_queues = demo->nr_namespaces = 64;
	demo->delay_ms = 5;
	demo->runtime_ms = 1000;
	demo->report = "nvof-demo.html";
	ret = opts_parse(cli, &usage, (struct opt_group[]){ { "Options", opts, demo }, opt_group_common(cli), { 0 } }, argc, argv, NULL,
			 NULL);
	if (ret == OPTS_GO) {
		ret = demo_run(demo);
		if (ret == EXIT_OK)
			ret = demo_show(demo);
		if (ret == EXIT_OK && demo->nr_bad_ns)
			ret = cli_error(cli, 0, "%u of %u namespaces did not give back what was written", demo->nr_bad_ns,
					demo->nr_namespaces);
		demo_stop(demo);
	}
	free(demo);
	return ret;
}
