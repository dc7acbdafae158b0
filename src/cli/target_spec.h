/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a target shall offer, as options: --subsys, --ns, --allow-host, --fault ...  Used by "nvof target" and by every command's "-t loop".
 */
#ifndef NVOF_CLI_TARGET_SPEC_H
#define NVOF_CLI_TARGET_SPEC_H

#include <nvof/target.h>

#include "cli/cli.h"
#include "cli/opts.h"

/* The subsystem of an --ns without a --subsys before it. */
#define DEFAULT_SUBSYSNQN "nqn.2026-11.org.example:nvof"

struct spec_ns {
	char *backend; /* owned: "mem:64M" */
	uint32_t nsid, block_size, count, anagrpid;
	uint8_t uuid[16], nguid[16];
	bool readonly;
};

struct spec_subsys {
	const char *nqn, *serial, *model;
	struct spec_ns *ns;
	size_t nr_ns;
	const char **hosts;
	size_t nr_hosts;
};

struct target_spec {
	struct spec_subsys *subsys;
	size_t nr_subsys;
	const char **faults;
	size_t nr_faults;
};

/* "mem:64M,count=64,block=4096,uuid=..,nguid=..,nsid=N,anagrp=N,ro".  Only known keys at the end are taken off, so that a path may have
 * commas. */
char *spec_ns_parse(const char *text, struct spec_ns *ns);
/* "2=inaccessible" */
char *spec_ana_parse(const char *text, struct nvof_ana_group *group);
void spec_clear(struct target_spec *spec);
/* --subsys, --ns, --fault ...; base: a struct target_spec */
extern const struct opt spec_opts[];
/* Adds it all to a target.  Returns EXIT_OK, or what cli_error() returned. */
int spec_apply(struct cli *cli, const struct target_spec *spec, struct nvof_target *target);
/* The same for the next one of a growing array: p = array_more(p, &n, sizeof(*p)) gives room for one more, zeroed; ends the program without
 * memory. */
void *array_more(void *array, size_t *nr, size_t size);

#endif
