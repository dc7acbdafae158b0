/* SPDX-License-Identifier: BSD-3-Clause */
/* The client's side of the control socket: target-ctl's parts. */
#ifndef NVOF_CLI_TARGET_CTL_H
#define NVOF_CLI_TARGET_CTL_H

#include <json-c/json.h>

#include "cli/cli.h"

struct ctl_args {
	struct cli *cli;
	const char *words[4]; /* the action and what follows it */
	unsigned int nr_words;
	/* options */
	const char *control, *subsys, *serial, *model;
	bool save, no_any_host;
};

/* What each action wants, in order: its request; NULL: cli_usage_error() was called. */
json_object *ctl_request(const struct ctl_args *args);
/* "add-ns [--subsys NQN] SPEC" ... one per line, for --help. */
extern const char ctl_actions_help[];

/* Sends one request and waits for the answer; NULL: cli_error() was called.  path NULL: the only target that listens in the default
 * directory. */
json_object *ctl_ask(struct cli *cli, const char *path, json_object *request);

/* The status as text on stdout. */
void ctl_print_status(json_object *status);

#endif
