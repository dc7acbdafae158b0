/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of the command line -> a request. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/nearest.h"
#include "cli/opts.h"
#include "cli/target_ctl.h"
#include "cli/target_spec.h"
#include "proto/ana.h"
#include "proto/nqn.h"

const char ctl_actions_help[] = "Changes a running \"nvof target\", or shows its status.  ACTION is one of\n"
				"  add-ns SPEC | remove-ns NSID | resize-ns NSID [SIZE]\n"
				"  add-subsys NQN | remove-subsys NQN\n"
				"  allow-host NQN | disallow-host NQN | allow-any-host yes|no\n"
				"  add-listener ADDR | remove-listener ADDR\n"
				"  set-ana ADDR GROUP=STATE\n"
				"  add-referral ADDR | remove-referral ADDR\n"
				"  add-fault SPEC | clear-faults\n"
				"  status | save [FILE]";

static void add_text(json_object *obj, const char *key, const char *text)
{
	if (text)
		json_object_object_add(obj, key, json_object_new_string(text));
}

/* The target may run in another directory. */
static char *absolute(const char *path)
{
	char cwd[PATH_MAX];

	if (path[0] == '/' || !getcwd(cwd, sizeof(cwd)))
		return sentence("%s", path);
	return sentence("%s/%s", cwd, path);
}

static int no_more(const struct ctl_args *a, json_object *req)
{
	return EXIT_OK;
}

static void add_id(json_object *req, const char *key, const uint8_t id[16])
{
	static const uint8_t zero[16];
	char text[37];

	if (!memcmp(id, zero, sizeof(zero)))
		return;
	uuid_format(id, text);
	add_text(req, key, text);
}

static int want_ns(const struct ctl_args *a, json_object *req)
{
	struct spec_ns ns;
	char *why = spec_ns_parse(a->words[1], &ns);
	int ret;

	if (why) {
		ret = cli_usage_error(a->cli, "SPEC", "add-ns: %s", why);
		free(why);
		return ret;
	}
	if (!strncmp(ns.backend, "file:", 5)) {
		char *path = absolute(ns.backend + 5), *spec = sentence("file:%s", path);

		add_text(req, "backend", spec);
		free(spec);
		free(path);
	} else {
		add_text(req, "backend", ns.backend);
	}
	if (ns.nsid)
		json_object_object_add(req, "nsid", json_object_new_int64(ns.nsid));
	json_object_object_add(req, "count", json_object_new_int64(ns.count));
	json_object_object_add(req, "block_size", json_object_new_int64(ns.block_size));
	json_object_object_add(req, "anagrpid", json_object_new_int64(ns.anagrpid));
	json_object_object_add(req, "readonly", json_object_new_boolean(ns.readonly));
	add_id(req, "uuid", ns.uuid);
	add_id(req, "nguid", ns.nguid);
	free(ns.backend);
	return EXIT_OK;
}

static int want_nsid(const struct ctl_args *a, json_object *req)
{
	const struct opt opt = { .kind = OPT_U32, .min = 1, .max = UINT32_MAX - 1 };
	uint32_t nsid;
	char *why = opt_set(&opt, &nsid, a->words[1]);
	int ret;

	if (!why) {
		json_object_object_add(req, "nsid", json_object_new_int64(nsid));
		return EXIT_OK;
	}
	ret = cli_usage_error(a->cli, "NSID", "%s: NSID: %s", a->words[0], why);
	free(why);
	return ret;
}

static int want_resize(const struct ctl_args *a, json_object *req)
{
	uint64_t bytes;
	const char *why;
	int ret = want_nsid(a, req);

	if (ret || a->nr_words < 3)
		return ret;
	if (size_parse(a->words[2], &bytes, &why))
		return cli_usage_error(a->cli, "SIZE", "resize-ns: SIZE \"%s\": %s", a->words[2], why);
	if (!bytes)
		return cli_usage_error(a->cli, "SIZE", "resize-ns: SIZE 0: leave it out to take the size that the file has now");
	json_object_object_add(req, "bytes", json_object_new_uint64(bytes));
	return EXIT_OK;
}

static int want_nqn(const struct ctl_args *a, json_object *req, const char *key)
{
	const char *why = nqn_check(a->words[1]);

	if (why)
		return cli_usage_error(a->cli, "NQN", "%s: \"%.300s\": %s", a->words[0], a->words[1], why);
	add_text(req, key, a->words[1]);
	return EXIT_OK;
}

static int want_host(const struct ctl_args *a, json_object *req)
{
	return want_nqn(a, req, "host");
}

static int want_subsys(const struct ctl_args *a, json_object *req)
{
	add_text(req, "serial", a->serial);
	add_text(req, "model", a->model);
	if (a->no_any_host)
		json_object_object_add(req, "allow_any_host", json_object_new_boolean(false));
	return want_nqn(a, req, "subsys");
}

static int want_any(const struct ctl_args *a, json_object *req)
{
	bool yes = !strcmp(a->words[1], "yes");

	if (!yes && strcmp(a->words[1], "no"))
		return cli_usage_error(a->cli, "yes|no", "allow-any-host: \"%.60s\" is neither yes nor no", a->words[1]);
	json_object_object_add(req, "any", json_object_new_boolean(yes));
	return EXIT_OK;
}

static int want_address(const struct ctl_args *a, json_object *req)
{
	add_text(req, "address", a->words[1]);
	return EXIT_OK;
}

static int want_ana(const struct ctl_args *a, json_object *req)
{
	struct nvof_ana_group group;
	char *why = spec_ana_parse(a->words[2], &group);
	int ret;

	if (why) {
		ret = cli_usage_error(a->cli, "GROUP=STATE", "set-ana: %s", why);
		free(why);
		return ret;
	}
	json_object_object_add(req, "grpid", json_object_new_int64(group.grpid));
	add_text(req, "state", ana_state_name((uint8_t)group.state));
	return want_address(a, req);
}

/* "tcp:ADDR:PORT": the transport ends at the first colon, the port begins after the last; brackets around IPv6 are taken off. */
static int want_referral(const struct ctl_args *a, json_object *req)
{
	char *copy = sentence("%s", a->words[1]), *addr = strchr(copy, ':'), *port = strrchr(copy, ':');
	size_t len;

	if (!addr || addr == port) {
		free(copy);
		return cli_usage_error(a->cli, "ADDR", "%s: \"%.100s\" is not TRANSPORT:ADDR:PORT", a->words[0], a->words[1]);
	}
	*addr++ = *port++ = '\0';
	len = strlen(addr);
	if (len > 2 && addr[0] == '[' && addr[len - 1] == ']') {
		addr[len - 1] = '\0';
		addr++;
	}
	add_text(req, "transport", copy);
	add_text(req, "traddr", addr);
	add_text(req, "trsvcid", port);
	free(copy);
	return EXIT_OK;
}

static int want_spec(const struct ctl_args *a, json_object *req)
{
	add_text(req, "spec", a->words[1]);
	return EXIT_OK;
}

static int want_file(const struct ctl_args *a, json_object *req)
{
	char *path = a->nr_words > 1 ? absolute(a->words[1]) : NULL;

	add_text(req, "file", path);
	free(path);
	return EXIT_OK;
}

static const struct {
	const char *name, *takes; /* takes: for the message when there are too few or too many words */
	unsigned int min, max;	  /* words after the action */
	int (*want)(const struct ctl_args *a, json_object *req);
	bool of_subsys; /* --subsys says of which */
} actions[] = {
	{ "add-ns", "a SPEC such as mem:64M", 1, 1, want_ns, true },
	{ "remove-ns", "an NSID", 1, 1, want_nsid, true },
	{ "resize-ns", "an NSID and perhaps a SIZE", 1, 2, want_resize, true },
	{ "add-subsys", "an NQN", 1, 1, want_subsys },
	{ "remove-subsys", "an NQN", 1, 1, want_subsys },
	{ "allow-host", "a host's NQN", 1, 1, want_host, true },
	{ "disallow-host", "a host's NQN", 1, 1, want_host, true },
	{ "allow-any-host", "yes or no", 1, 1, want_any, true },
	{ "add-listener", "an ADDR such as tcp:127.0.0.1:4420", 1, 1, want_address },
	{ "remove-listener", "an ADDR such as tcp:127.0.0.1:4420", 1, 1, want_address },
	{ "set-ana", "an ADDR such as tcp:127.0.0.1:4420 and a GROUP=STATE such as 1=inaccessible", 2, 2, want_ana },
	{ "add-referral", "an ADDR such as tcp:127.0.0.1:4420", 1, 1, want_referral },
	{ "remove-referral", "an ADDR such as tcp:127.0.0.1:4420", 1, 1, want_referral },
	{ "add-fault", "a SPEC such as on=connect,delay=5ms", 1, 1, want_spec },
	{ "clear-faults", "nothing", 0, 0, no_more },
	{ "status", "nothing", 0, 0, no_more },
	{ "save", "at most a FILE", 0, 1, want_file },
};

static int unknown_action(const struct ctl_args *a)
{
	const char *names[ARRAY_SIZE(actions)], *near;
	size_t i;

	if (!a->nr_words)
		return cli_usage_error(a->cli, "ACTION", "what shall be done? \"nvof target-ctl --help\" lists the actions");
	for (i = 0; i < ARRAY_SIZE(actions); i++)
		names[i] = actions[i].name;
	near = nearest(a->words[0], names, ARRAY_SIZE(names));
	if (near)
		return cli_usage_error(a->cli, "ACTION", "\"%.60s\" is not an action; did you mean \"%s\"?", a->words[0], near);
	return cli_usage_error(a->cli, "ACTION", "\"%.60s\" is not an action; \"nvof target-ctl --help\" lists them", a->words[0]);
}

json_object *ctl_request(const struct ctl_args *a)
{
	json_object *req;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(actions); i++)
		if (a->nr_words && !strcmp(a->words[0], actions[i].name))
			break;
	if (i == ARRAY_SIZE(actions)) {
		unknown_action(a);
		return NULL;
	}
	if (a->nr_words - 1 < actions[i].min || a->nr_words - 1 > actions[i].max) {
		cli_usage_error(a->cli, a->words[0], "%s takes %s", a->words[0], actions[i].takes);
		return NULL;
	}
	if (a->subsys && !actions[i].of_subsys) {
		cli_usage_error(a->cli, "--subsys", "%s is not about one subsystem", a->words[0]);
		return NULL;
	}
	req = json_object_new_object();
	add_text(req, "cmd", a->words[0]);
	add_text(req, "subsys", a->subsys);
	if (a->save)
		json_object_object_add(req, "save", json_object_new_boolean(true));
	if (actions[i].want(a, req) == EXIT_OK)
		return req;
	json_object_put(req);
	return NULL;
}
