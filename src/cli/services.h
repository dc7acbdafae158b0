/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of discovery services, one a line, each as the options that lead to it: nvme-cli's discovery.conf. */
#ifndef NVOF_CLI_SERVICES_H
#define NVOF_CLI_SERVICES_H

#include "cli/conn.h"
#include "cli/wave.h"

#define SERVICES_DEFAULT "/etc/nvme/discovery.conf"

struct service {
	struct conn_args args;
	char *line;	     /* owned: args' texts are in it */
	unsigned int number; /* of the line; 0: it is not from a file */
};

struct services {
	struct service *each;
	size_t nr;
	size_t nr_bad;	     /* lines that were left out, with a word about each */
	json_object *errors; /* owned: an array of what went wrong with lines and services; NULL: nothing */
};

/* base: what a line does not say.  EXIT_OK, also with bad lines; or what cli_error() returned. */
int services_read(struct cli *cli, const char *path, const struct conn_args *base, struct services *s);
/* One that was not read from a file. */
void services_add(struct services *s, const struct conn_args *args);
/* error: of one of them, taken; NULL: nothing is added.  number: the line, 0: none.  args: where it leads to; NULL: not known. */
void services_add_error(struct services *s, json_object *error, unsigned int number, const struct conn_args *args);
void services_clear(struct services *s);

#endif
