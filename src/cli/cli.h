/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nvof tool: one file per subcommand, one table of them (main.c).
 *
 * Data goes to stdout, talk to stderr.  The exit status is EXIT_OK only when all was done.  With -o json stdout gets exactly one document,
 * errors included: a command hands its document to cli_json(), or ends with cli_error() and main prints the error's document.
 */
#ifndef NVOF_CLI_CLI_H
#define NVOF_CLI_CLI_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include <nvof/nvof.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define JSON_SCHEMA 1

struct cli;

/*
 * To add a subcommand: write src/cli/cmd_NAME.c with "int cmd_NAME(struct cli *cli, int argc, char **argv)", declare it below, put one line
 * in main.c's table and the file in meson.build.  argv[0] is the command's name; parse the rest with opts.h.
 */
struct subcmd {
	const char *name;				    /* one or two words: "discover", "bench io" */
	int (*run)(struct cli *cli, int argc, char **argv); /* returns one of EXIT_* */
	const char *help;				    /* one line */
};

struct cli {
	const struct subcmd *cmd;
	bool json;	      /* -o json: known before the options are parsed, so that their errors are JSON, too */
	int verbose;	      /* how many -v */
	bool json_lines;      /* each document is a line, that of a failure as well */
	bool printed;	      /* the document is out */
	json_object *failure; /* owned: what main prints when nothing else was */
	const char *about;    /* which of several things the command is at: cli_error() says it first; NULL: there is only one */
};

/*
 * Prints "nvof CMD: sentence" on stderr and keeps it for the JSON document.  status: 0, -errno or an NVMe status (see nvof.h); it goes raw
 * and in words into the document, and is not added to the sentence.  Returns EXIT_FAILED.
 */
int cli_error(struct cli *cli, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same, of something an argument asked for that could not be had; argument names it ("--data"). */
int cli_argument_error(struct cli *cli, const char *argument, int status, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* A mistake in the arguments; argument names the one at fault ("--trsvcid").  Returns EXIT_USAGE. */
int cli_usage_error(struct cli *cli, const char *argument, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Talk on stderr: "nvof CMD: ..." */
void cli_warn(const struct cli *cli, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A document of what was done before a failure: with "error" in it. */
void cli_json_failure(const struct cli *cli, json_object *doc);
/*
 * Between the two the failure of a part is kept apart.  The second one returns it, to put, as the document's "error" would be, or NULL;
 * before: what the first one returned.  Of the whole the first failure is the cause still.
 */
json_object *cli_part_begin(struct cli *cli);
json_object *cli_part_end(struct cli *cli, json_object *before);
/* Prints the document and puts it.  Once per run.  Returns EXIT_OK, or EXIT_FAILED when stdout did not take it. */
int cli_json(struct cli *cli, json_object *doc);
/* The same for one of many documents, each on a line of its own. */
int cli_json_line(struct cli *cli, json_object *doc);
/* An object with "schema" in it. */
json_object *cli_json_new(void);
/* stdout took everything: EXIT_OK, else EXIT_FAILED with a sentence. */
int cli_flush(struct cli *cli);
/* log callback of nvof_ctx_opts and nvof_target_opts; arg: the struct cli */
void cli_log(void *arg, enum nvof_log_level level, const char *msg);
/* warn by default, info with -v, debug with -vv */
enum nvof_log_level cli_log_level(const struct cli *cli);

int cmd_admin_passthru(struct cli *cli, int argc, char **argv);
int cmd_bench_connect(struct cli *cli, int argc, char **argv);
int cmd_bench_disconnect(struct cli *cli, int argc, char **argv);
int cmd_bench_io(struct cli *cli, int argc, char **argv);
int cmd_bench_storm(struct cli *cli, int argc, char **argv);
int cmd_compare(struct cli *cli, int argc, char **argv);
int cmd_connect_all(struct cli *cli, int argc, char **argv);
int cmd_demo(struct cli *cli, int argc, char **argv);
int cmd_discover(struct cli *cli, int argc, char **argv);
int cmd_dsm(struct cli *cli, int argc, char **argv);
int cmd_flush(struct cli *cli, int argc, char **argv);
int cmd_ana_log(struct cli *cli, int argc, char **argv);
int cmd_get_log(struct cli *cli, int argc, char **argv);
int cmd_help(struct cli *cli, int argc, char **argv);
int cmd_id_ctrl(struct cli *cli, int argc, char **argv);
int cmd_id_ns(struct cli *cli, int argc, char **argv);
int cmd_io_passthru(struct cli *cli, int argc, char **argv);
int cmd_list_ns(struct cli *cli, int argc, char **argv);
int cmd_read(struct cli *cli, int argc, char **argv);
int cmd_target(struct cli *cli, int argc, char **argv);
int cmd_target_ctl(struct cli *cli, int argc, char **argv);
int cmd_verify(struct cli *cli, int argc, char **argv);
int cmd_version(struct cli *cli, int argc, char **argv);
int cmd_watch(struct cli *cli, int argc, char **argv);
int cmd_write(struct cli *cli, int argc, char **argv);
int cmd_write_zeroes(struct cli *cli, int argc, char **argv);

#endif
