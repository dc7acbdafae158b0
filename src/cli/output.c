/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tool says: sentences on stderr, documents on stdout. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/stop.h"
#include "cli/text.h"

static void say(const struct cli *cli, const char *msg)
{
	fprintf(stderr, "nvof%s%s: %s\n", cli->cmd ? " " : "", cli->cmd ? cli->cmd->name : "", msg);
}

json_object *cli_json_new(void)
{
	json_object *doc = json_object_new_object();

	json_object_object_add(doc, "schema", json_object_new_int(JSON_SCHEMA));
	return doc;
}

/* The first failure is the cause; what follows from it is only said. */
static void keep_failure(struct cli *cli, const char *msg, int status, const char *argument)
{
	json_object *err;
	char words[160];

	if (cli->failure)
		return;
	cli->failure = cli_json_new();
	err = json_object_new_object();
	json_object_object_add(cli->failure, "error", err);
	json_object_object_add(err, "message", text_json(msg));
	if (argument)
		json_object_object_add(err, "argument", text_json(argument));
	if (status) {
		json_object_object_add(err, "status", json_object_new_int(status));
		json_object_object_add(err, "status_text", json_object_new_string(nvof_status_str(status, words, sizeof(words))));
	}
}

/* "ABOUT: SENTENCE"; a sentence about an argument begins with that.  NULL: no memory. */
static char *sentence_of(const char *about, const char *fmt, va_list ap)
{
	char *msg, *whole;

	if (vasprintf(&msg, fmt, ap) < 0)
		return NULL;
	if (!about)
		return msg;
	if (asprintf(&whole, "%s: %s", about, msg) < 0)
		whole = NULL;
	free(msg);
	return whole;
}

static void fail(struct cli *cli, int status, const char *argument, const char *fmt, va_list ap)
{
	char *msg = sentence_of(argument ? NULL : cli->about, fmt, ap);

	if (msg)
		text_clean(msg);
	say(cli, msg ? msg : "out of memory");
	keep_failure(cli, msg ? msg : "out of memory", status, argument);
	free(msg);
}

int cli_error(struct cli *cli, int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(cli, status, NULL, fmt, ap);
	va_end(ap);
	return EXIT_FAILED;
}

int cli_argument_error(struct cli *cli, const char *argument, int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(cli, status, argument, fmt, ap);
	va_end(ap);
	return EXIT_FAILED;
}

int cli_usage_error(struct cli *cli, const char *argument, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(cli, 0, argument, fmt, ap);
	va_end(ap);
	return EXIT_USAGE;
}

void cli_warn(const struct cli *cli, const char *fmt, ...)
{
	char *msg = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&msg, fmt, ap) < 0)
		msg = NULL;
	va_end(ap);
	if (msg)
		text_clean(msg);
	say(cli, msg ? msg : "out of memory");
	free(msg);
}

void cli_json_failure(const struct cli *cli, json_object *doc)
{
	json_object *err;

	if (cli->failure && json_object_object_get_ex(cli->failure, "error", &err))
		json_object_object_add(doc, "error", json_object_get(err));
}

json_object *cli_part_begin(struct cli *cli)
{
	json_object *before = cli->failure;

	cli->failure = NULL;
	return before;
}

json_object *cli_part_end(struct cli *cli, json_object *before)
{
	json_object *part = NULL, *own = NULL;

	/* A copy: who gets it adds to it. */
	if (cli->failure && json_object_object_get_ex(cli->failure, "error", &part) && json_object_deep_copy(part, &own, NULL))
		abort();
	if (before) {
		json_object_put(cli->failure);
		cli->failure = before;
	}
	return own;
}

int cli_json(struct cli *cli, json_object *doc)
{
	cli->printed = true;
	stop_without_document();
	puts(json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(doc);
	return cli_flush(cli);
}

int cli_json_line(struct cli *cli, json_object *doc)
{
	cli->printed = true;
	stop_without_document();
	puts(json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(doc);
	return cli_flush(cli);
}

int cli_flush(struct cli *cli)
{
	if (!fflush(stdout) && !ferror(stdout))
		return EXIT_OK;
	return cli_error(cli, -errno, "writing to standard output: %s", strerror(errno));
}

enum nvof_log_level cli_log_level(const struct cli *cli)
{
	int level = NVOF_LOG_WARN + cli->verbose;

	return level > NVOF_LOG_DEBUG ? NVOF_LOG_DEBUG : (enum nvof_log_level)level;
}

void cli_log(void *arg, enum nvof_log_level level, const char *msg)
{
	static const char *const names[] = { "error: ", "warning: ", "", "" };

	char *copy = strdup(msg);

	(void)arg;
	fprintf(stderr, "nvof: %s%s\n", names[level], copy ? text_clean(copy) : "out of memory");
	free(copy);
}
