/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/services.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/util.h"
#include "cli/text.h"

#define WORDS_MAX 64
#define BLANKS	  " \t\r\n\v\f"

struct line {
	struct conn_args args;
	bool persistent;
};

/* What nvme-cli knows as well, and what has no meaning for a command that leaves nothing behind. */
static const struct opt opts[] = { { 'p', "persistent", OPT_FLAG, OFFSET(struct line, persistent), NULL, "taken, and of no effect" },
				   { 0 } };

/* Cuts the text into words; what does not fit is one too many, and refused by that. */
static int words_of(char *text, char *words[WORDS_MAX])
{
	int n = 1;
	char *save;

	words[0] = text; /* where argv has the program's name */
	for (char *word = strtok_r(text, BLANKS, &save); word && n < WORDS_MAX; word = strtok_r(NULL, BLANKS, &save))
		words[n++] = word;
	return n;
}

static int parse_line(struct cli *cli, char *text, const struct conn_args *base, struct conn_args *args)
{
	static const struct usage usage = { "", NULL, NULL };
	struct line line = { .args = *base };
	char *words[WORDS_MAX];
	int n = words_of(text, words), ret;

	/* These are the command line's own. */
	line.args.has_uri = false;
	line.args.embed = (struct target_spec){ 0 };
	ret = n == WORDS_MAX ? cli_usage_error(cli, words[n - 1], "so many words are no address")
			     : conn_parse(&usage, (struct opt_group[]){ { "Options", opts, &line }, { 0 } }, &line.args, n, words);
	if (ret == OPTS_GO && (!line.args.traddr || !strcasecmp(line.args.transport, "loop")))
		ret = cli_usage_error(cli, "--traddr", "--traddr is missing: the address of a discovery service");
	*args = line.args;
	return ret;
}

void services_add(struct services *s, const struct conn_args *args)
{
	s->each = array_more(s->each, &s->nr, sizeof(*s->each));
	s->each[s->nr - 1].args = *args;
}

static void add_text(json_object *to, const char *key, const char *text)
{
	if (text)
		json_object_object_add(to, key, text_json(text));
}

void services_add_error(struct services *s, json_object *error, unsigned int number, const struct conn_args *args)
{
	if (!error)
		return;
	if (!s->errors)
		s->errors = json_object_new_array();
	if (number)
		json_object_object_add(error, "line", json_object_new_int64(number));
	if (args) {
		add_text(error, "trtype", args->transport);
		add_text(error, "traddr", args->traddr);
		add_text(error, "trsvcid", args->trsvcid);
	}
	json_object_array_add(s->errors, error);
}

/* A line that can't be used stops no other. */
static void take_line(struct cli *cli, const char *path, unsigned int number, char *text, const struct conn_args *base, struct services *s)
{
	struct service service = { .line = text };
	json_object *before;
	int ret;

	text += strspn(text, BLANKS);
	if (!*text || *text == '#') {
		free(service.line);
		return;
	}
	before = cli_part_begin(cli);
	ret = parse_line(cli, text, base, &service.args);
	services_add_error(s, cli_part_end(cli, before), number, NULL);
	if (ret == OPTS_GO) {
		services_add(s, &service.args);
		s->each[s->nr - 1].line = service.line;
		s->each[s->nr - 1].number = number;
		return;
	}
	cli_warn(cli, "%s: line %u is left out", path, number);
	s->nr_bad++;
	conn_args_clear(&service.args);
	free(service.line);
}

int services_read(struct cli *cli, const char *path, const struct conn_args *base, struct services *s)
{
	FILE *f = fopen(path, "re");
	unsigned int number = 0;
	char *text = NULL;
	size_t room = 0;

	if (!f)
		return cli_argument_error(cli, "--services", -errno, "reading the discovery services in %s: %s", path, strerror(errno));
	while (getline(&text, &room, f) >= 0) {
		take_line(cli, path, ++number, text, base, s);
		text = NULL; /* it is theirs */
		room = 0;
	}
	free(text);
	fclose(f);
	return s->nr || s->nr_bad ? EXIT_OK : cli_argument_error(cli, "--services", 0, "%s names no discovery service", path);
}

void services_clear(struct services *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		if (s->each[i].line)
			conn_args_clear(&s->each[i].args);
		free(s->each[i].line);
	}
	free(s->each);
	json_object_put(s->errors);
}
