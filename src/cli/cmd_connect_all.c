/* SPDX-License-Identifier: BSD-3-Clause */
/* connect-all: can this host reach everything that a discovery service tells of? */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/connect_all.h"

static const struct usage usage = {
	"[-t TRANSPORT] -a ADDR [-s PORT] [OPTION]... | URI | [--services FILE]",
	"Connects to everything that a discovery service tells of, and to what the services tell of that it refers to, all at once; tells "
	"for "
	"each record how that went; and disconnects.\n"
	"Without an address the discovery services are those of a file, as nvme-cli has it.",
	"$ nvof connect-all -a 127.0.0.1 -s 4420 --nr-io-queues 4",
};

struct args {
	struct conn_args conn;
	struct wave_args wave;
	const char *services; /* NULL: not given */
};

/* clang-format off */
static const struct opt opts[] = {
	{ 0, "max-depth", OPT_U32, OFFSET(struct args, wave.max_depth), "N", "how deep referrals are followed; 0: not at all (default 8)", .max = 255 },
	{ 0, "services", OPT_STR, OFFSET(struct args, services), "FILE",
	  "discovery services, one a line, as options: -t tcp -a ADDR -s PORT ... (default, without an address: " SERVICES_DEFAULT ")" },
	{ 0, "any-transport", OPT_FLAG, OFFSET(struct args, wave.any_transport), NULL, "also records of other transports than that of the discovery service" },
	{ 0 }
};
/* clang-format on */

/* All services at once, unless queues are to be set up so many at a time: a wave keeps that limit, and here are several. */
static int connect_services(struct conn *c, const struct args *args, struct connect_all_run *run)
{
	int ret = EXIT_OK, bad = EXIT_OK;

	for (size_t i = 0; i < run->services.nr && !run->stop.sig; i++) {
		const struct conn_args *there = &run->services.each[i].args;
		int here = wave_begin(c, there, &args->wave, &run->jobs[i]);

		run->nr_begun++;
		if (!here && args->conn.setup_concurrency)
			here = wave_wait(c, &run->jobs[i], 1, &run->stop);
		if (here)
			bad = here;
	}
	if (!args->conn.setup_concurrency)
		ret = wave_wait(c, run->jobs, run->nr_begun, &run->stop);
	return ret ? ret : bad;
}

static void note_errors(struct connect_all_run *run)
{
	for (size_t i = 0; i < run->nr_begun; i++)
		services_add_error(&run->services, json_object_get(run->jobs[i].error), run->services.each[i].number,
				   &run->services.each[i].args);
}

/* With one service whose log can't be read there is only the error to tell. */
static bool any_to_tell(const struct connect_all_run *run)
{
	if (run->services.nr + run->services.nr_bad > 1)
		return true;
	for (size_t i = 0; i < run->nr_begun; i++)
		if (run->jobs[i].wave)
			return true;
	return false;
}

static int connect_all(struct cli *cli, const struct args *args, struct connect_all_run *run)
{
	struct conn c;
	int ret = conn_prepare(&c, &run->services.each[0].args, CONN_DISCOVERY), bad = EXIT_OK;

	if (!ret)
		ret = connect_services(&c, args, run);
	note_errors(run);
	if (any_to_tell(run) && !run->stop.sig) {
		bad = connect_all_report(cli, run);
		if (!bad)
			bad = connect_all_complain(cli, run);
	}
	wave_disconnect(&c, run->jobs, run->nr_begun, &run->stop);
	conn_close(&c);
	return ret ? ret : bad;
}

/* The one that was named, or those of a file. */
static int find_services(struct cli *cli, const struct args *args, struct services *s)
{
	bool named = args->conn.traddr || !strcasecmp(args->conn.transport, "loop");

	if (named && args->services)
		return cli_usage_error(cli, "--services", "--services and an address exclude one another");
	if (!named && !args->services && access(SERVICES_DEFAULT, F_OK))
		return cli_usage_error(cli, "--traddr", "--traddr is missing: the address of a discovery service; and there is no %s",
				       SERVICES_DEFAULT);
	if (!named)
		return services_read(cli, args->services ? args->services : SERVICES_DEFAULT, &args->conn, s);
	services_add(s, &args->conn);
	return EXIT_OK;
}

/* From here on a signal is told of, after what was done. */
static int connect_found(struct cli *cli, const struct args *args, struct connect_all_run *run)
{
	int ret = stop_begin(&run->stop);

	if (ret)
		return cli_error(cli, ret, "signalfd: %s", strerror(-ret));
	run->jobs = calloc(run->services.nr, sizeof(*run->jobs));
	if (!run->jobs)
		abort();
	ret = connect_all(cli, args, run);
	free(run->jobs);
	stop_end(&run->stop);
	return ret;
}

static int find_and_connect(struct cli *cli, const struct args *args, struct connect_all_run *run)
{
	/* With signals as ever: the file may be a FIFO that nobody writes to. */
	int ret = find_services(cli, args, &run->services);

	if (!ret && run->services.nr)
		ret = connect_found(cli, args, run);
	else if (!ret && run->services.nr_bad > 1)
		ret = connect_all_report(cli, run);
	if (!ret && run->services.nr_bad)
		ret = EXIT_FAILED;
	services_clear(&run->services);
	return ret;
}

int cmd_connect_all(struct cli *cli, int argc, char **argv)
{
	struct args args = { .wave = { .max_depth = 8 } };
	struct connect_all_run run = { .stop = { .fd = -1 } };
	int ret;

	conn_args_init(&args.conn, cli);
	ret = conn_parse(&usage, (struct opt_group[]){ { "Options", opts, &args }, { 0 } }, &args.conn, argc, argv);
	if (ret == OPTS_GO)
		ret = find_and_connect(cli, &args, &run);
	conn_args_clear(&args.conn);
	stop_raise(&run.stop);
	return ret;
}
