/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options by table: parsing, range checks, errors that name the argument, and --help come from the same lines.
 *
 *	struct args { struct cli *cli; bool force; uint32_t count; const char *data; };
 *	static const struct opt opts[] = {
 *		{ 'c', "count", OPT_U32, OFFSET(struct args, count), "N", "how many (default 1)", .min = 1, .max = 100 },
 *		{ 0, "force", OPT_FLAG, OFFSET(struct args, force), NULL, "really" },
 *		{ 0 }
 *	};
 *	struct opt_group groups[] = { { "Options", opts, &args }, opt_group_common(cli), { 0 } };
 *	int ret = opts_parse(cli, &usage, groups, argc, argv, NULL);
 *	if (ret != OPTS_GO)
 *		return ret;
 */
#ifndef NVOF_CLI_OPTS_H
#define NVOF_CLI_OPTS_H

#include <stddef.h>
#include <stdint.h>

#include "cli/cli.h"

enum opt_kind {
	OPT_FLAG,   /* bool: set */
	OPT_NOFLAG, /* bool: cleared */
	OPT_COUNT,  /* int: one more each time */
	OPT_STR,    /* const char *: argv's memory */
	OPT_U32,    /* uint32_t, decimal or 0x.., no suffix */
	OPT_U64,    /* uint64_t, likewise */
	OPT_INT,    /* int: may be negative if .imin says so */
	OPT_SIZE,   /* uint64_t bytes, with K, M, G, T */
	OPT_MS,	    /* uint64_t milliseconds: "250ms", "5s", "2m"; a bare number is seconds */
	OPT_CALL,   /* call(base, value); for options whose order matters or that may be repeated */
};

struct opt {
	char letter;	  /* 0: none */
	const char *name; /* without the dashes; NULL ends the table */
	enum opt_kind kind;
	size_t offset;	    /* of the value in the group's base */
	const char *arg;    /* what --help calls the value; NULL for flags */
	const char *help;   /* with default and unit */
	uint64_t min, max;  /* numbers; max 0: no limit but the type's */
	int64_t imin, imax; /* OPT_INT */
	/* OPT_CALL: NULL when fine, else a sentence to free() */
	char *(*call)(void *base, const char *value);
	bool hidden; /* an alias: not in --help */
};

#define OFFSET(type, member) offsetof(type, member)

struct opt_group {
	const char *title; /* NULL ends the array */
	const struct opt *opts;
	void *base;
};

struct usage {
	const char *synopsis; /* what follows "nvof CMD" */
	const char *text;     /* some sentences; may be NULL */
	const char *example;  /* complete lines to paste; may be NULL */
};

/* -o/--output-format, -v/--verbose, -h/--help: for every command */
struct opt_group opt_group_common(struct cli *cli);

enum { OPTS_GO = -1 }; /* anything else is what run() shall return */

/*
 * positional: called for each argument that is no option, NULL when fine, else a sentence to free(); NULL: there are none.
 * "--" ends the options.
 */
int opts_parse(struct cli *cli, const struct usage *usage, const struct opt_group *groups, int argc, char **argv,
	       char *(*positional)(void *arg, const char *text), void *arg);

/* Parses one value as the command line would; also for the keys of a URI.  NULL when fine, else a sentence to free(). */
char *opt_set(const struct opt *opt, void *base, const char *value);
/* given, len bytes of it, means the option or key name. */
bool opts_same_name(const char *name, const char *given, size_t len);
/* -o json anywhere in argv, however spelled: errors of the rest must be JSON then. */
bool opts_want_json(int argc, char **argv);
/* A sentence to free(), for call functions.  Never NULL: without memory the program ends. */
char *sentence(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
