/* SPDX-License-Identifier: BSD-3-Clause */
/* A command line against tables of options. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/nearest.h"
#include "cli/opts_internal.h"

#define NAMES_MAX 96

/* ------------------------------------------------------------------------------------------------------------------ the common group */

static char *set_output_format(void *base, const char *value)
{
	struct cli *cli = base;

	if (strcmp(value, "json") && strcmp(value, "normal"))
		return sentence("\"%s\" is not one of: normal, json", value);
	cli->json = !strcmp(value, "json");
	return NULL;
}

/* clang-format off */
static const struct opt common_opts[] = {
	{ 'o', "output-format", OPT_CALL, 0, "FORMAT", "normal or json (default normal)", .call = set_output_format },
	{ 'v', "verbose", OPT_COUNT, OFFSET(struct cli, verbose), NULL, "say more on stderr; twice: each step" },
	{ 'h', "help", OPT_FLAG, 0, NULL, "this help" },
	{ 0 }
};
/* clang-format on */

struct opt_group opt_group_common(struct cli *cli)
{
	return (struct opt_group){ "Common options", common_opts, cli };
}

static bool is_help(const struct opt *opt)
{
	return opt->kind == OPT_FLAG && opt->letter == 'h' && !strcmp(opt->name, "help");
}

bool opts_want_json(int argc, char **argv)
{
	bool json = false;

	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		const char *value = NULL;

		if (!strncmp(argv[i], "--output", 8) && opts_same_name("output-format", argv[i] + 2, 13) && argv[i][15] == '=')
			value = argv[i] + 16;
		else if ((!strncmp(argv[i], "--", 2) && opts_same_name("output-format", argv[i] + 2, strlen(argv[i] + 2))) ||
			 !strcmp(argv[i], "-o"))
			value = i + 1 < argc ? argv[i + 1] : NULL;
		else if (!strncmp(argv[i], "-o", 2))
			value = argv[i] + (argv[i][2] == '=' ? 3 : 2);
		if (value)
			json = !strcmp(value, "json");
	}
	return json;
}

/* ------------------------------------------------------------------------------------------------------------------ the command line */

struct parser {
	struct cli *cli;
	const struct opt_group *groups;
	int argc, at;
	char **argv;
	bool help;
};

/* nvme-cli spells some of its options with underscores, others with dashes: both are taken for all of them. */
static char dashed(char c)
{
	return c == '_' ? '-' : c;
}

bool opts_same_name(const char *name, const char *given, size_t len)
{
	size_t i;

	for (i = 0; i < len && name[i] && dashed(name[i]) == dashed(given[i]); i++)
		;
	return i == len && !name[len];
}

static const struct opt *find_name(const struct parser *p, const char *name, size_t len, void **base)
{
	for (const struct opt_group *g = p->groups; g->title; g++)
		for (const struct opt *opt = g->opts; opt->name; opt++)
			if (opts_same_name(opt->name, name, len)) {
				*base = g->base;
				return opt;
			}
	return NULL;
}

static const struct opt *find_letter(const struct parser *p, char letter, void **base)
{
	for (const struct opt_group *g = p->groups; g->title; g++)
		for (const struct opt *opt = g->opts; opt->name; opt++)
			if (opt->letter == letter) {
				*base = g->base;
				return opt;
			}
	return NULL;
}

static int unknown_option(struct parser *p, const char *text, const char *name, size_t len)
{
	const char *names[NAMES_MAX], *near;
	char word[64];
	size_t nr = 0;

	for (const struct opt_group *g = p->groups; g->title; g++)
		for (const struct opt *opt = g->opts; opt->name && nr < NAMES_MAX; opt++)
			names[nr++] = opt->name;
	snprintf(word, sizeof(word), "%.*s", (int)min_size(len, sizeof(word) - 1), name);
	near = nearest(word, names, nr);
	if (near)
		return cli_usage_error(p->cli, text, "unknown option %s; did you mean --%s?", text, near);
	return cli_usage_error(p->cli, text, "unknown option %s; \"nvof %s --help\" lists them", text, p->cli->cmd->name);
}

/* value: what stood behind "=" or directly behind the letter; NULL: the next argument, if one is needed */
static int set_one(struct parser *p, const struct opt *opt, void *base, const char *shown, const char *value)
{
	char *why;
	int ret;

	if (is_help(opt)) {
		p->help = true;
		return OPTS_GO;
	}
	if (opt_takes_value(opt) && !value) {
		if (p->at + 1 >= p->argc)
			return cli_usage_error(p->cli, shown, "%s: its value (%s) is missing", shown, opt->arg);
		value = p->argv[++p->at];
	}
	why = opt_set(opt, base, value);
	if (!why)
		return OPTS_GO;
	ret = cli_usage_error(p->cli, shown, "%s: %s", shown, why);
	free(why);
	return ret;
}

static int parse_long(struct parser *p, const char *text)
{
	const char *name = text + 2, *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	char shown[64];
	const struct opt *opt;
	void *base;

	snprintf(shown, sizeof(shown), "--%.*s", (int)min_size(len, 60), name);
	opt = find_name(p, name, len, &base);
	if (!opt)
		return unknown_option(p, shown, name, len);
	if (equals && !opt_takes_value(opt))
		return cli_usage_error(p->cli, shown, "%s takes no value", shown);
	return set_one(p, opt, base, shown, equals ? equals + 1 : NULL);
}

/* "-v", "-vv", "-gG", "-t tcp", "-ttcp", "-t=tcp" */
static int parse_letters(struct parser *p, const char *text)
{
	for (const char *at = text + 1; *at; at++) {
		char shown[64] = { '-', *at, 0 };
		const struct opt *opt;
		const char *value = NULL;
		void *base;
		int ret;

		opt = find_letter(p, *at, &base);
		if (!opt)
			return cli_usage_error(p->cli, shown, "unknown option %s; \"nvof %s --help\" lists them", shown, p->cli->cmd->name);
		if (opt_takes_value(opt)) {
			if (at[1])
				value = at + 1 + (at[1] == '=');
			snprintf(shown, sizeof(shown), "--%s", opt->name);
		}
		ret = set_one(p, opt, base, shown, value);
		if (ret != OPTS_GO || opt_takes_value(opt))
			return ret;
	}
	return OPTS_GO;
}

static int parse_positional(struct parser *p, char *(*positional)(void *arg, const char *text), void *arg)
{
	const char *text = p->argv[p->at];
	char *why;
	int ret;

	if (!positional)
		return cli_usage_error(p->cli, text, "unexpected argument \"%.100s\"", text);
	why = positional(arg, text);
	if (!why)
		return OPTS_GO;
	ret = cli_usage_error(p->cli, text, "%s", why);
	free(why);
	return ret;
}

int opts_parse(struct cli *cli, const struct usage *usage, const struct opt_group *groups, int argc, char **argv,
	       char *(*positional)(void *arg, const char *text), void *arg)
{
	struct parser p = { .cli = cli, .groups = groups, .argc = argc, .argv = argv };
	bool only_positional = false;
	int ret;

	for (p.at = 1; p.at < argc && !p.help; p.at++) {
		const char *text = argv[p.at];

		if (only_positional || text[0] != '-' || !text[1]) {
			ret = parse_positional(&p, positional, arg);
		} else if (!strcmp(text, "--")) {
			only_positional = true;
			continue;
		} else {
			ret = text[1] == '-' ? parse_long(&p, text) : parse_letters(&p, text);
		}
		if (ret != OPTS_GO)
			return ret;
	}
	if (!p.help)
		return OPTS_GO;
	if (cli->json)
		return opts_print_help_json(cli, usage, groups);
	opts_print_help(cli, usage, groups);
	return EXIT_OK;
}
