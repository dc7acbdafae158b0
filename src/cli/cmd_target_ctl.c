/* SPDX-License-Identifier: BSD-3-Clause */
/* target-ctl: change a running target, or look at it. */
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "cli/opts.h"
#include "cli/target_ctl.h"

static const struct usage usage = {
	"[--control PATH] ACTION [ARGUMENT]...",
	ctl_actions_help,
	"$ nvof target --listen tcp:127.0.0.1:4420 --ns mem:64M --control ./target.sock &\n"
	"$ nvof target-ctl --control ./target.sock add-ns mem:64M\n"
	"$ nvof target-ctl --control ./target.sock status",
};

static const struct opt opts[] = {
	{ 0, "control", OPT_STR, OFFSET(struct ctl_args, control), "PATH",
	  "the target's socket (default: the only one there is in $XDG_RUNTIME_DIR/nvof)" },
	{ 0, "subsys", OPT_STR, OFFSET(struct ctl_args, subsys), "NQN", "the subsystem it is about (default: the only one there is)" },
	{ 0, "save", OPT_FLAG, OFFSET(struct ctl_args, save), NULL,
	  "then write the configuration to the target's --config file, before the command ends" },
	{ 0, "serial", OPT_STR, OFFSET(struct ctl_args, serial), "TEXT", "add-subsys: serial number (default: made from the NQN)" },
	{ 0, "model", OPT_STR, OFFSET(struct ctl_args, model), "TEXT", "add-subsys: model number (default nvof)" },
	{ 0, "no-any-host", OPT_FLAG, OFFSET(struct ctl_args, no_any_host), NULL, "add-subsys: only hosts named by allow-host connect" },
	{ 0 }
};

static char *word(void *arg, const char *text)
{
	struct ctl_args *a = arg;

	if (a->nr_words == ARRAY_SIZE(a->words))
		return sentence("\"%.60s\": too many arguments", text);
	a->words[a->nr_words++] = text;
	return NULL;
}

/* What an action says when it worked and people read it; mostly nothing. */
static void print_reply(json_object *reply)
{
	json_object *v;
	size_t i;

	if (json_object_object_get_ex(reply, "status", &v))
		ctl_print_status(v);
	if (json_object_object_get_ex(reply, "address", &v))
		printf("%s\n", json_object_get_string(v));
	if (json_object_object_get_ex(reply, "nsids", &v))
		for (i = 0; i < json_object_array_length(v); i++)
			printf("nsid %s\n", json_object_get_string(json_object_array_get_idx(v, i)));
	if (json_object_object_get_ex(reply, "saved", &v))
		printf("saved %s\n", json_object_get_string(v));
}

/* The answer's own words, without what the socket needs. */
static int json_reply(struct cli *cli, json_object *reply)
{
	json_object *doc, *status;

	if (json_object_object_get_ex(reply, "status", &status))
		return cli_json(cli, json_object_get(status)); /* has a schema of its own */
	doc = cli_json_new();
	json_object_object_foreach(reply, key, value)
	{
		if (strcmp(key, "ok"))
			json_object_object_add(doc, key, json_object_get(value));
	}
	return cli_json(cli, doc);
}

static int show(struct cli *cli, json_object *reply)
{
	json_object *ok, *code = NULL, *error = NULL;

	if (json_object_object_get_ex(reply, "ok", &ok) && json_object_get_boolean(ok)) {
		if (cli->json)
			return json_reply(cli, reply);
		print_reply(reply);
		return EXIT_OK;
	}
	json_object_object_get_ex(reply, "code", &code);
	json_object_object_get_ex(reply, "error", &error);
	return cli_error(cli, json_object_get_int(code), "%s",
			 error ? json_object_get_string(error) : "the target refused and gave no reason");
}

int cmd_target_ctl(struct cli *cli, int argc, char **argv)
{
	struct ctl_args args = { .cli = cli };
	json_object *request, *reply;
	int ret;

	ret = opts_parse(cli, &usage, (struct opt_group[]){ { "Options", opts, &args }, opt_group_common(cli), { 0 } }, argc, argv, word,
			 &args);
	if (ret != OPTS_GO)
		return ret;
	request = ctl_request(&args);
	if (!request)
		return EXIT_USAGE;
	reply = ctl_ask(cli, args.control, request);
	ret = reply ? show(cli, reply) : EXIT_FAILED;
	json_object_put(reply);
	json_object_put(request);
	return ret;
}
