/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVOF_CLI_OPTS_INTERNAL_H
#define NVOF_CLI_OPTS_INTERNAL_H

#include "cli/opts.h"

static inline bool opt_takes_value(const struct opt *opt)
{
	return opt->kind != OPT_FLAG && opt->kind != OPT_NOFLAG && opt->kind != OPT_COUNT;
}

void opts_print_help(const struct cli *cli, const struct usage *usage, const struct opt_group *groups);
/* As a document on stdout; the exit status. */
int opts_print_help_json(struct cli *cli, const struct usage *usage, const struct opt_group *groups);

#endif
