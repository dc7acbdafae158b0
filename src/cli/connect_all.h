/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVOF_CLI_CONNECT_ALL_H
#define NVOF_CLI_CONNECT_ALL_H

#include "cli/services.h"

/* The waves of all services are shown as one. */
struct connect_all_run {
	struct services services;
	struct wave_job *jobs; /* one for each */
	size_t nr_begun;
	struct stop stop;
};

/* The document, or the table.  EXIT_OK, also when records failed. */
int connect_all_report(struct cli *cli, const struct connect_all_run *run);
/* EXIT_OK, or EXIT_FAILED with a sentence about the records that failed. */
int connect_all_complain(struct cli *cli, const struct connect_all_run *run);

#endif
