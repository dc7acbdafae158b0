/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of subcommands, and how one is found and run. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/cli.h"
#include "cli/nearest.h"
#include "cli/opts.h"
#include "cli/stop.h"

/* clang-format off */
static const struct subcmd subcmds[] = {
	{ "target", cmd_target, "serve namespaces to hosts" },
	{ "target-ctl", cmd_target_ctl, "change a running target, or show its status" },
	{ "discover", cmd_discover, "list the subsystems a discovery ctrl knows" },
	{ "connect-all", cmd_connect_all, "connect to all that a discovery ctrl knows, and tell how that went" },
	{ "id-ctrl", cmd_id_ctrl, "what the ctrl says about itself" },
	{ "id-ns", cmd_id_ns, "what the ctrl says about a namespace" },
	{ "list-ns", cmd_list_ns, "the active namespaces" },
	{ "watch", cmd_watch, "tell what happens to namespaces, as it happens" },
	{ "read", cmd_read, "read blocks into a file" },
	{ "write", cmd_write, "write a file to blocks" },
	{ "compare", cmd_compare, "compare blocks with a file" },
	{ "write-zeroes", cmd_write_zeroes, "set blocks to zero" },
	{ "verify", cmd_verify, "let the ctrl check that blocks can be read" },
	{ "dsm", cmd_dsm, "deallocate blocks" },
	{ "flush", cmd_flush, "put what was written on stable media" },
	{ "ana-log", cmd_ana_log, "show the state of each ANA group" },
	{ "get-log", cmd_get_log, "read a log page" },
	{ "admin-passthru", cmd_admin_passthru, "send any admin command" },
	{ "io-passthru", cmd_io_passthru, "send any I/O command" },
	{ "bench connect", cmd_bench_connect, "how long setting up the queues takes" },
	{ "bench disconnect", cmd_bench_disconnect, "how long it takes until all namespaces and queues are gone" },
	{ "bench io", cmd_bench_io, "I/Os in a second, and how long each takes" },
	{ "bench storm", cmd_bench_storm, "many hosts that connect, or reconnect, at once" },
	{ "demo", cmd_demo, "a target and a host in one process: queue set-up, data, speed" },
	{ "version", cmd_version, "print the version" },
	{ "help", cmd_help, "what there is, or the help of one command" },
};
/* clang-format on */

static const struct subcmd *subcmd_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(subcmds); i++)
		if (!strcmp(subcmds[i].name, name))
			return &subcmds[i];
	return NULL;
}

/* argv[1], or argv[1] and argv[2] together ("bench io"); *used: how many words. */
static const struct subcmd *subcmd_of(int argc, char **argv, int *used)
{
	char two[64];
	const struct subcmd *cmd = subcmd_find(argv[1]);

	*used = 1;
	if (!cmd && argc > 2 && snprintf(two, sizeof(two), "%s %s", argv[1], argv[2]) < (int)sizeof(two)) {
		*used = 2;
		cmd = subcmd_find(two);
	}
	return cmd;
}

/* group: NULL: all; "bench": those whose name begins with it. */
static bool in_group(const struct subcmd *cmd, const char *group)
{
	size_t len = group ? strlen(group) : 0;

	return !group || (!strncmp(cmd->name, group, len) && cmd->name[len] == ' ');
}

static bool is_group(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(subcmds); i++)
		if (in_group(&subcmds[i], name))
			return true;
	return false;
}

static void print_commands(FILE *f, const char *group)
{
	fprintf(f, "Usage: nvof COMMAND [OPTION]...\n\n");
	if (!group)
		fprintf(f, "NVMe over Fabrics in user space: host, target and measurements.\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(subcmds); i++)
		if (in_group(&subcmds[i], group))
			fprintf(f, "  %-16s %s\n", subcmds[i].name, subcmds[i].help);
	fprintf(f, "\n\"nvof COMMAND --help\" tells about one of them.\n");
}

/* "bench connect, bench io or bench storm", in a text to free(). */
static char *group_names(const char *group)
{
	char *text = NULL, *more;
	size_t nr = 0, n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(subcmds); i++)
		nr += in_group(&subcmds[i], group);
	for (size_t i = 0; i < ARRAY_SIZE(subcmds); i++) {
		if (!in_group(&subcmds[i], group))
			continue;
		n++;
		more = sentence("%s%s\"%s\"", text ? text : "", n == 1 ? "" : n == nr ? " or " : ", ", subcmds[i].name);
		free(text);
		text = more;
	}
	return text;
}

static int unknown_command(struct cli *cli, int argc, char **argv)
{
	const char *names[ARRAY_SIZE(subcmds)], *near;
	char two[64] = "";

	for (size_t i = 0; i < ARRAY_SIZE(subcmds); i++)
		names[i] = subcmds[i].name;
	if (is_group(argv[1])) {
		char *all = group_names(argv[1]);
		int ret = cli_usage_error(cli, argv[1], "%s of what? %s", argv[1], all);

		free(all);
		return ret;
	}
	if (argc > 2)
		snprintf(two, sizeof(two), "%s %s", argv[1], argv[2]);
	near = nearest(argv[1], names, ARRAY_SIZE(names));
	if (!near)
		near = nearest(two, names, ARRAY_SIZE(names));
	if (near)
		return cli_usage_error(cli, argv[1], "\"%.60s\" is not a command; did you mean \"%s\"?", argv[1], near);
	return cli_usage_error(cli, argv[1], "\"%.60s\" is not a command; \"nvof help\" lists them", argv[1]);
}

static int run(struct cli *cli, const struct subcmd *cmd, int argc, char **argv)
{
	int ret;

	cli->cmd = cmd;
	ret = cmd->run(cli, argc, argv);
	if (ret == EXIT_OK)
		ret = cli_flush(cli);
	return ret;
}

static int show_commands(struct cli *cli, const char *group)
{
	json_object *doc, *list;

	if (!cli->json) {
		print_commands(stdout, group);
		return EXIT_OK;
	}
	doc = cli_json_new();
	list = json_object_new_array();
	json_object_object_add(doc, "commands", list);
	for (size_t i = 0; i < ARRAY_SIZE(subcmds); i++) {
		json_object *o;

		if (!in_group(&subcmds[i], group))
			continue;
		o = json_object_new_object();
		json_object_object_add(o, "name", json_object_new_string(subcmds[i].name));
		json_object_object_add(o, "help", json_object_new_string(subcmds[i].help));
		json_object_array_add(list, o);
	}
	return cli_json(cli, doc);
}

struct help_args {
	char *words[3]; /* [0]: where argv has the program's name */
	int nr;
};

static char *help_word(void *arg, const char *text)
{
	struct help_args *args = arg;

	if (args->nr == (int)ARRAY_SIZE(args->words))
		return sentence("unexpected argument \"%.100s\"", text);
	args->words[args->nr++] = (char *)(uintptr_t)text;
	return NULL;
}

int cmd_help(struct cli *cli, int argc, char **argv)
{
	static const struct usage usage = { "[COMMAND]", "Lists the commands, or tells about one of them.", "$ nvof help bench io" };
	struct opt_group groups[] = { opt_group_common(cli), { 0 } };
	char *help[] = { "help", "--help", NULL };
	struct help_args args = { .nr = 1 };
	const struct subcmd *cmd;
	int ret = opts_parse(cli, &usage, groups, argc, argv, help_word, &args), used;

	if (ret != OPTS_GO)
		return ret;
	if (args.nr == 1)
		return show_commands(cli, NULL);
	if (args.nr == 2 && is_group(args.words[1]))
		return show_commands(cli, args.words[1]);
	cmd = subcmd_of(args.nr, args.words, &used);
	if (!cmd)
		return unknown_command(cli, args.nr, args.words);
	if (used < args.nr - 1)
		return cli_usage_error(cli, args.words[2], "unexpected argument \"%.100s\"", args.words[2]);
	cli->cmd = cmd;
	return cmd->run(cli, 2, help);
}

/* A queue is a connection, and a connection a descriptor: the usual soft limit of 1024 is for programs that use select(). */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/*
 * What is opened later must not get the place of a closed standard stream, and be used in its stead.  The other way round, so that using it
 * is an error still.
 */
static void fill_standard_streams(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return;
}

/* How many arguments before the command are options that every command knows: "nvof -o json -v bench io". */
static int leading_options(int argc, char **argv)
{
	int n = 1;

	while (n < argc && argv[n][0] == '-' && argv[n][1])
		n += 1 + (n + 1 < argc && (!strcmp(argv[n], "-o") || opts_same_name("--output-format", argv[n], strlen(argv[n]))));
	return n - 1;
}

/* Behind the words of the command they are options like the others.  An array to free(), NULL-terminated. */
static char **options_last(int argc, char **argv, int nr_leading)
{
	char **all = calloc((size_t)argc + 1, sizeof(*all));
	int used = 1, nr_words, n = 1;

	if (!all)
		abort();
	subcmd_of(argc - nr_leading, argv + nr_leading, &used);
	nr_words = used < argc - nr_leading - 1 ? used : argc - nr_leading - 1;
	all[0] = argv[0];
	for (int i = 0; i < nr_words; i++)
		all[n++] = argv[1 + nr_leading + i];
	for (int i = 0; i < nr_leading; i++)
		all[n++] = argv[1 + i];
	for (int i = 1 + nr_leading + nr_words; i < argc; i++)
		all[n++] = argv[i];
	return all;
}

/* "--help", "-h", "-o json" behind the name of a group, as behind the nvof of which the group is a part. */
static int run_group(struct cli *cli, int argc, char **argv)
{
	char *words[] = { "help", argv[1], NULL };
	bool help = false;

	for (int i = 2; i < argc; i++)
		help |= !strcmp(argv[i], "--help") || !strcmp(argv[i], "-h");
	return help ? run(cli, subcmd_find("help"), 2, words) : unknown_command(cli, argc, argv);
}

static int run_any(struct cli *cli, int argc, char **argv)
{
	const struct subcmd *cmd;
	int used;

	if (argc < 2) {
		print_commands(stderr, NULL);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		return run(cli, subcmd_find("version"), argc - 1, argv + 1);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return run(cli, subcmd_find("help"), argc - 1, argv + 1);
	/* Options alone are those of help. */
	if (argv[1][0] == '-')
		return run(cli, subcmd_find("help"), argc, argv);
	cmd = subcmd_of(argc, argv, &used);
	if (cmd)
		return run(cli, cmd, argc - used, argv + used);
	return is_group(argv[1]) ? run_group(cli, argc, argv) : unknown_command(cli, argc, argv);
}

int main(int argc, char **argv)
{
	struct cli cli = { .json = opts_want_json(argc, argv) };
	int nr_leading = leading_options(argc, argv), ret;
	char **all = nr_leading && nr_leading < argc - 1 ? options_last(argc, argv, nr_leading) : NULL;

	fill_standard_streams();
	signal(SIGPIPE, SIG_IGN);
	raise_descriptor_limit();
	if (cli.json)
		stop_with_document();
	ret = run_any(&cli, argc, all ? all : argv);
	if (cli.json && !cli.printed && cli.failure)
		(cli.json_lines ? cli_json_line : cli_json)(&cli, json_object_get(cli.failure));
	json_object_put(cli.failure);
	free(all);
	return ret;
}
