/* SPDX-License-Identifier: BSD-3-Clause */
/* What --help prints, as text and as JSON. */
#include <stdio.h>
#include <string.h>

#include "cli/opts_internal.h"

static void print_opt(const struct opt *opt)
{
	char left[64];
	const char *text = opt->help;
	const int column = 32;
	size_t width = 78 - column;

	snprintf(left, sizeof(left), "  %c%c%s--%s%s%s", opt->letter ? '-' : ' ', opt->letter ? opt->letter : ' ',
		 opt->letter ? ", " : "  ", opt->name, opt_takes_value(opt) ? " " : "", opt_takes_value(opt) ? opt->arg : "");
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

void opts_print_help(const struct cli *cli, const struct usage *usage, const struct opt_group *groups)
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
	add_text(o, "value", opt_takes_value(opt) ? opt->arg : NULL);
	add_text(o, "help", opt->help);
	return o;
}

int opts_print_help_json(struct cli *cli, const struct usage *usage, const struct opt_group *groups)
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
