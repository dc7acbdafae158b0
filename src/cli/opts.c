/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/nearest.h"
#include "cli/opts.h"

#define NAMES_MAX 96

char *sentence(const char *fmt, ...)
{
	va_list ap;
	char *s;
	int ret;

	va_start(ap, fmt);
	ret = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (ret < 0)
		abort();
	return s;
}

/* ------------------------------------------------------------------------------------------------------------------ values */

/* Decimal or 0x; nothing before or after. */
static char *parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *v)
{
	unsigned long long n;
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return sentence("\"%s\" is not a number", text);
	errno = 0;
	n = strtoull(text, &end, !strncasecmp(text, "0x", 2) ? 16 : 10);
	if (*end || end == text)
		return sentence("\"%s\" is not a number", text);
	if (errno == ERANGE || n < min || n > max)
		return sentence("%s is out of range: %" PRIu64 " to %" PRIu64, text, min, max);
	*v = n;
	return NULL;
}

static char *parse_int(const char *text, int64_t min, int64_t max, int *v)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (*end || end == text || text[0] == ' ')
		return sentence("\"%s\" is not a number", text);
	if (errno == ERANGE || n < min || n > max)
		return sentence("%s is out of range: %" PRId64 " to %" PRId64, text, min, max);
	*v = (int)n;
	return NULL;
}

static char *parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *v)
{
	char from[24], to[24];
	const char *why;
	uint64_t n;

	if (size_parse(text, &n, &why))
		return sentence("\"%s\": %s", text, why);
	if (n < min || n > max)
		return sentence("%s is out of range: %s to %s", text, size_format(min, from), size_format(max, to));
	*v = n;
	return NULL;
}

/* "500ms" and the like; a bare number is seconds, as in most tools' --runtime. */
static char *parse_ms(const char *text, uint64_t min, uint64_t max, uint64_t *v)
{
	const char *why;
	uint64_t n;
	char *end;

	errno = 0;
	n = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
	if (text[0] >= '0' && text[0] <= '9' && (!*end || !strcmp(end, "m")) && !errno && n <= UINT32_MAX)
		n *= *end ? 60000 : 1000;
	else if (duration_parse(text, &n, &why))
		return sentence("\"%s\": a time is a number of seconds, or one with its unit: us, ms, s or m (500ms)", text);
	else
		n /= NSEC_PER_MSEC;
	if (n < min || n > max)
		return sentence("%s is out of range: %" PRIu64 " ms to %" PRIu64 " ms", text, min, max);
	*v = n;
	return NULL;
}

char *opt_set(const struct opt *opt, void *base, const char *value)
{
	char *at = (char *)base + opt->offset;
	uint64_t n;
	char *why;

	switch (opt->kind) {
	case OPT_FLAG:
	case OPT_NOFLAG:
		*(bool *)at = opt->kind == OPT_FLAG;
		return NULL;
	case OPT_COUNT:
		++*(int *)at;
		return NULL;
	case OPT_STR:
		*(const char **)at = value;
		return NULL;
	case OPT_U32:
		why = parse_u64(value, opt->min, opt->max ? opt->max : UINT32_MAX, &n);
		if (!why)
			*(uint32_t *)at = (uint32_t)n;
		return why;
	case OPT_U64:
		return parse_u64(value, opt->min, opt->max ? opt->max : UINT64_MAX, (uint64_t *)at);
	case OPT_INT:
		return parse_int(value, opt->imin, opt->imax, (int *)at);
	case OPT_SIZE:
		return parse_size(value, opt->min, opt->max ? opt->max : UINT64_MAX, (uint64_t *)at);
	case OPT_MS:
		return parse_ms(value, opt->min, opt->max ? opt->max : UINT32_MAX, (uint64_t *)at);
	case OPT_CALL:
		return opt->call(base, value);
	}
	abort();
}

static bool takes_value(const struct opt *opt)
{
	return opt->kind != OPT_FLAG && opt->kind != OPT_NOFLAG && opt->kind != OPT_COUNT;
}

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

/* ------------------------------------------------------------------------------------------------------------------ --help */

static void print_opt(const struct opt *opt)
{
	char left[64];
	const char *text = opt->help;
	const int column = 32;
	size_t width = 78 - column;

	snprintf(left, sizeof(left), "  %c%c%s--%s%s%s", opt->letter ? '-' : ' ', opt->letter ? opt->letter : ' ',
		 opt->letter ? ", " : "  ", opt->name, takes_value(opt) ? " " : "", takes_value(opt) ? opt->arg : "");
	printf("%-*s", column, left);
	if (strlen(left) >= (size_t)column)
		printf("\n%*s", column, "");
	while (strlen(text) > width) {
		size_t n = width;

		while (n && text[n] != ' ')
			n--;
		if (!n)
			break;
		printf("%.*s\n%*s", (int)n, text, column, "");
		text += n + 1;
	}
	puts(text);
}

static void print_help(const struct cli *cli, const struct usage *usage, const struct opt_group *groups)
{
	printf("Usage: nvof %s%s%s\n", cli->cmd->name, *usage->synopsis ? " " : "", usage->synopsis);
	if (usage->text)
		printf("\n%s\n", usage->text);
	for (; groups->title; groups++) {
		printf("\n%s:\n", groups->title);
		for (const struct opt *opt = groups->opts; opt->name; opt++)
			if (!opt->hidden)
				print_opt(opt);
	}
	if (usage->example)
		puts("\nExample:");
	for (const char *line = usage->example; line && *line; line += strcspn(line, "\n"), line += *line == '\n')
		printf("  %.*s\n", (int)strcspn(line, "\n"), line);
}

static void add_text(json_object *obj, const char *key, const char *text)
{
	if (text)
		json_object_object_add(obj, key, json_object_new_string(text));
}

static json_object *opt_json(const struct opt *opt)
{
	json_object *o = json_object_new_object();
	char letter[2] = { opt->letter, 0 };

	add_text(o, "name", opt->name);
	add_text(o, "letter", opt->letter ? letter : NULL);
	add_text(o, "value", takes_value(opt) ? opt->arg : NULL);
	add_text(o, "help", opt->help);
	return o;
}

static int print_help_json(struct cli *cli, const struct usage *usage, const struct opt_group *groups)
{
	json_object *doc = cli_json_new(), *list = json_object_new_array();

	add_text(doc, "name", cli->cmd->name);
	add_text(doc, "synopsis", usage->synopsis);
	add_text(doc, "text", usage->text);
	add_text(doc, "example", usage->example);
	json_object_object_add(doc, "options", list);
	for (; groups->title; groups++)
		for (const struct opt *opt = groups->opts; opt->name; opt++)
			if (!opt->hidden)
				json_object_array_add(list, opt_json(opt));
	return cli_json(cli, doc);
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
	if (takes_value(opt) && !value) {
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
	if (equals && !takes_value(opt))
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
		if (takes_value(opt)) {
			if (at[1])
				value = at + 1 + (at[1] == '=');
			snprintf(shown, sizeof(shown), "--%s", opt->name);
		}
		ret = set_one(p, opt, base, shown, value);
		if (ret != OPTS_GO || takes_value(opt))
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
		return print_help_json(cli, usage, groups);
	print_help(cli, usage, groups);
	return EXIT_OK;
}
