/* SPDX-License-Identifier: BSD-3-Clause */
/* What id-ctrl and id-ns have in common: their arguments, and what becomes of the structure that came. */
#ifndef NVOF_CLI_IDENTIFY_H
#define NVOF_CLI_IDENTIFY_H

#include "cli/conn.h"

struct identify_args {
	struct conn_args conn;
	bool raw;
};

/* Parses the arguments and runs show; the exit status. */
int identify_run(struct cli *cli, const struct usage *usage, int argc, char **argv,
		 int (*show)(struct cli *cli, const struct identify_args *args));

#endif
