/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "cli/target_spec.h"
#include "proto/ana.h"
#include "proto/nqn.h"

#define COUNT_MAX 65536

void *array_more(void *array, size_t *nr, size_t size)
{
	char *p = reallocarray(array, *nr + 1, size);

	if (!p)
		abort();
	memset(p + *nr * size, 0, size);
	++*nr;
	return p;
}

/* ------------------------------------------------------------------------------------------------------------------ --ns */

static char *parse_number(const char *key, const char *value, uint64_t max, uint32_t *n)
{
	const struct opt opt = { .kind = OPT_U32, .min = 1, .max = max };
	char *why = opt_set(&opt, n, value), *told;

	if (!why)
		return NULL;
	told = sentence("%s=: %s", key, why);
	free(why);
	return told;
}

static char *parse_block(const char *value, uint32_t *block_size)
{
	uint64_t n;

	if (size_parse(value, &n, NULL) || (n != 512 && n != 4096))
		return sentence("block=: \"%s\" is not one of: 512, 4096", value);
	*block_size = (uint32_t)n;
	return NULL;
}

static char *parse_id(const char *key, const char *value, uint8_t id[16])
{
	static const uint8_t zero[16];

	if (!uuid_parse_text(value, id))
		return sentence("%s=: \"%s\" is not 32 hexadecimal digits, with or without dashes", key, value);
	if (!memcmp(id, zero, sizeof(zero)))
		return sentence("%s=: all zero means that there is none; leave it out to get one that is stable", key);
	return NULL;
}

enum ns_key { KEY_RO, KEY_COUNT, KEY_NSID, KEY_BLOCK, KEY_UUID, KEY_NGUID, KEY_ANAGRP, NR_KEYS };
static const char *const ns_keys[NR_KEYS] = { "ro", "count", "nsid", "block", "uuid", "nguid", "anagrp" };

/* NR_KEYS: none of ours, it belongs to the backend's text. */
static enum ns_key key_find(const char *item)
{
	const char *equals = strchr(item, '=');
	size_t len = equals ? (size_t)(equals - item) : strlen(item);
	enum ns_key key;

	for (key = KEY_RO; key < NR_KEYS; key++)
		if (strlen(ns_keys[key]) == len && !strncmp(item, ns_keys[key], len) && !equals == (key == KEY_RO))
			break;
	return key;
}

static char *ns_key_set(struct spec_ns *ns, enum ns_key key, const char *value)
{
	switch (key) {
	case KEY_RO:
		ns->readonly = true;
		return NULL;
	case KEY_COUNT:
		return parse_number("count", value, COUNT_MAX, &ns->count);
	case KEY_NSID:
		return parse_number("nsid", value, 0xfffffffe, &ns->nsid);
	case KEY_BLOCK:
		return parse_block(value, &ns->block_size);
	case KEY_UUID:
		return parse_id("uuid", value, ns->uuid);
	case KEY_NGUID:
		return parse_id("nguid", value, ns->nguid);
	case KEY_ANAGRP:
		return parse_number("anagrp", value, ANA_GRPID_MAX, &ns->anagrpid);
	default:
		abort();
	}
}

/* Takes our keys off the end of text.  Returns the comma of the first that is none, NULL when there is none left. */
static char *take_keys(struct spec_ns *ns, char *text, char **why)
{
	unsigned int given = 0;
	char *comma;

	*why = NULL;
	while (!*why && (comma = strrchr(text, ','))) {
		enum ns_key key = key_find(comma + 1);

		if (key == NR_KEYS)
			return comma;
		if (given & 1u << key)
			*why = sentence("%s%s is given twice", ns_keys[key], key == KEY_RO ? "" : "=");
		else
			*why = ns_key_set(ns, key, comma + 1 + strlen(ns_keys[key]) + (key != KEY_RO));
		given |= 1u << key;
		*comma = 0;
	}
	return NULL;
}

static bool is_set(const uint8_t id[16])
{
	static const uint8_t zero[16];

	return memcmp(id, zero, sizeof(zero)) != 0;
}

/* What is left behind the backend's argument once our keys are gone: comma leads to the last of it.  NULL when the backend may look at it.
 */
static char *check_rest(const char *backend, const char *comma)
{
	bool is_mem = !strncmp(backend, "mem:", 4);

	if (!strncmp(backend, "file:", 5))
		return NULL; /* it may be part of the path */
	if (!is_mem || strncmp(comma + 1, "huge=", 5))
		return sentence("\"%s\" is not one of the keys: %snsid=, block=, count=, uuid=, nguid=, anagrp=, ro", comma + 1,
				is_mem ? "huge=on|off, " : "");
	return strchr(backend, ',') != comma ? sentence("\"%s\" goes right behind the size: mem:SIZE%s,...", comma + 1, comma) : NULL;
}

char *spec_ns_parse(const char *text, struct spec_ns *ns)
{
	char *comma, *why;

	memset(ns, 0, sizeof(*ns));
	ns->block_size = 512;
	ns->count = 1;
	ns->anagrpid = 1;
	ns->backend = strdup(text);
	if (!ns->backend)
		abort();
	comma = take_keys(ns, ns->backend, &why);
	if (why)
		goto bad;
	if (comma)
		why = check_rest(ns->backend, comma);
	if (why)
		goto bad;
	if (!strchr(ns->backend, ':'))
		why = sentence("\"%s\" is not BACKEND:ARGUMENT (mem:SIZE, file:PATH, null:SIZE)", ns->backend);
	else if (ns->count > 1 && (is_set(ns->uuid) || is_set(ns->nguid)))
		why = sentence("count=%" PRIu32 " namespaces can't share one uuid or nguid", ns->count);
	else if (ns->count > 1 && !strncmp(ns->backend, "file:", 5))
		why = sentence("count=%" PRIu32 " namespaces would share one file", ns->count);
	if (!why)
		return NULL;
bad:
	free(ns->backend);
	ns->backend = NULL;
	return why;
}

char *spec_ana_parse(const char *text, struct nvof_ana_group *group)
{
	const char *equals = strchr(text, '=');
	char *number, *why;
	uint8_t state;

	if (!equals)
		return sentence("\"%s\" is not GROUP=STATE, such as 1=inaccessible", text);
	if (!ana_state_parse(equals + 1, &state))
		return sentence("\"%s\": the state is not one of: " ANA_STATE_NAMES, text);
	number = strndup(text, (size_t)(equals - text));
	if (!number)
		abort();
	why = parse_number("group", number, ANA_GRPID_MAX, &group->grpid);
	free(number);
	group->state = state;
	return why;
}

/* ------------------------------------------------------------------------------------------------------------------ options */

static struct spec_subsys *add_subsys(struct target_spec *spec, const char *nqn)
{
	spec->subsys = array_more(spec->subsys, &spec->nr_subsys, sizeof(*spec->subsys));
	spec->subsys[spec->nr_subsys - 1].nqn = nqn;
	return &spec->subsys[spec->nr_subsys - 1];
}

static struct spec_subsys *last_subsys(struct target_spec *spec)
{
	return spec->nr_subsys ? &spec->subsys[spec->nr_subsys - 1] : add_subsys(spec, DEFAULT_SUBSYSNQN);
}

static char *opt_subsys(void *base, const char *value)
{
	struct target_spec *spec = base;
	const char *why = nqn_check(value);

	if (why)
		return sentence("\"%.300s\": %s", value, why);
	for (size_t i = 0; i < spec->nr_subsys; i++)
		if (!strcmp(spec->subsys[i].nqn, value))
			return sentence("%s: given twice", value);
	add_subsys(spec, value);
	return NULL;
}

static char *opt_ns(void *base, const char *value)
{
	struct spec_subsys *subsys = last_subsys(base);
	struct spec_ns ns;
	char *why = spec_ns_parse(value, &ns);

	if (why)
		return why;
	subsys->ns = array_more(subsys->ns, &subsys->nr_ns, sizeof(*subsys->ns));
	subsys->ns[subsys->nr_ns - 1] = ns;
	return NULL;
}

static char *opt_allow_host(void *base, const char *value)
{
	struct spec_subsys *subsys = last_subsys(base);
	const char *why = nqn_check(value);

	if (why)
		return sentence("\"%.300s\": %s", value, why);
	subsys->hosts = array_more(subsys->hosts, &subsys->nr_hosts, sizeof(*subsys->hosts));
	subsys->hosts[subsys->nr_hosts - 1] = value;
	return NULL;
}

static char *opt_serial(void *base, const char *value)
{
	if (strlen(value) > 20)
		return sentence("\"%s\" is longer than 20 characters", value);
	last_subsys(base)->serial = value;
	return NULL;
}

static char *opt_model(void *base, const char *value)
{
	if (strlen(value) > 40)
		return sentence("\"%s\" is longer than 40 characters", value);
	last_subsys(base)->model = value;
	return NULL;
}

static char *opt_fault(void *base, const char *value)
{
	struct target_spec *spec = base;

	spec->faults = array_more(spec->faults, &spec->nr_faults, sizeof(*spec->faults));
	spec->faults[spec->nr_faults - 1] = value;
	return NULL;
}

/* clang-format off */
const struct opt spec_opts[] = {
	{ 0, "subsys", OPT_CALL, 0, "NQN", "a subsystem; what follows belongs to it (default " DEFAULT_SUBSYSNQN ")", .call = opt_subsys },
	{ 0, "ns", OPT_CALL, 0, "SPEC",
	  "a namespace: mem:SIZE[,huge=on], file:PATH[,engine=auto|uring|pool][,direct=on|off] or null:SIZE, then [,nsid=N] [,block=512|4096] "
	  "[,count=N] [,uuid=U] [,nguid=G] [,anagrp=N] [,ro]; sizes in bytes or with K, M, G, T (default: small pages, engine=auto, direct=on where the "
	  "file system can, lowest free nsid, 512, 1, ANA group 1)",
	  .call = opt_ns },
	{ 0, "allow-host", OPT_CALL, 0, "NQN", "let this host connect, and no other that is not named (default: any host)", .call = opt_allow_host },
	{ 0, "serial", OPT_CALL, 0, "TEXT", "serial number of the subsystem (default: made from its NQN)", .call = opt_serial },
	{ 0, "model", OPT_CALL, 0, "TEXT", "model number of the subsystem (default nvof)", .call = opt_model },
	{ 0, "fault", OPT_CALL, 0, "SPEC", "do something wrong on purpose, such as on=connect,qid=io,delay=5ms; see nvof-target(1)", .call = opt_fault },
	{ 0 }
};
/* clang-format on */

void spec_clear(struct target_spec *spec)
{
	for (size_t i = 0; i < spec->nr_subsys; i++) {
		for (size_t j = 0; j < spec->subsys[i].nr_ns; j++)
			free(spec->subsys[i].ns[j].backend);
		free(spec->subsys[i].ns);
		free(spec->subsys[i].hosts);
	}
	free(spec->subsys);
	free(spec->faults);
	memset(spec, 0, sizeof(*spec));
}

/* ------------------------------------------------------------------------------------------------------------------ to the target */

static int target_error(struct cli *cli, struct nvof_target *target, int status, const char *what)
{
	char msg[512];

	nvof_target_errmsg(target, msg, sizeof(msg));
	/* What can't be meant is a mistake of usage; what can't be had (a file, memory) is a failure. */
	return status == -EINVAL ? cli_usage_error(cli, what, "%s", msg) : cli_error(cli, status, "%s", msg);
}

static int apply_ns(struct cli *cli, const char *nqn, const struct spec_ns *ns, struct nvof_target *target)
{
	struct nvof_target_ns_opts opts;

	nvof_target_ns_opts_init(&opts);
	opts.backend = ns->backend;
	opts.block_size = ns->block_size;
	opts.readonly = ns->readonly;
	opts.anagrpid = ns->anagrpid;
	memcpy(opts.uuid, ns->uuid, sizeof(opts.uuid));
	memcpy(opts.nguid, ns->nguid, sizeof(opts.nguid));
	for (uint32_t i = 0; i < ns->count; i++) {
		int ret;

		opts.nsid = ns->nsid ? ns->nsid + i : 0;
		ret = nvof_target_add_ns(target, nqn, &opts, NULL);
		if (ret)
			return target_error(cli, target, ret, "--ns");
	}
	return EXIT_OK;
}

static int apply_subsys(struct cli *cli, const struct spec_subsys *subsys, struct nvof_target *target)
{
	struct nvof_subsys_opts opts;
	int ret;

	nvof_subsys_opts_init(&opts);
	opts.serial = subsys->serial;
	opts.model = subsys->model;
	opts.allow_any_host = !subsys->nr_hosts;
	ret = nvof_target_add_subsys(target, subsys->nqn, &opts);
	if (ret)
		return target_error(cli, target, ret, "--subsys");
	for (size_t i = 0; i < subsys->nr_hosts; i++) {
		ret = nvof_target_allow_host(target, subsys->nqn, subsys->hosts[i]);
		if (ret)
			return target_error(cli, target, ret, "--allow-host");
	}
	ret = EXIT_OK;
	for (size_t i = 0; i < subsys->nr_ns && ret == EXIT_OK; i++)
		ret = apply_ns(cli, subsys->nqn, &subsys->ns[i], target);
	return ret;
}

int spec_apply(struct cli *cli, const struct target_spec *spec, struct nvof_target *target)
{
	int ret = EXIT_OK;

	for (size_t i = 0; i < spec->nr_faults; i++) {
		ret = nvof_target_add_fault(target, spec->faults[i]);
		if (ret)
			return target_error(cli, target, ret, "--fault");
	}
	for (size_t i = 0; i < spec->nr_subsys && ret == EXIT_OK; i++)
		ret = apply_subsys(cli, &spec->subsys[i], target);
	return ret;
}
