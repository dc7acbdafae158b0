/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/ana.h"
#include "proto/cmd.h"
#include "proto/nqn.h"
#include "target/backend.h"
#include "target/config.h"

static int nqn_good(struct config_ctx *x, const struct config_at *at, const char *key, const char *nqn)
{
	const char *why = nqn_check(nqn);

	return why ? config_bad(x, at, key, "\"%.230s\": %s", nqn, why) : 0;
}

/* ---- hosts ---- */

/* A key nobody would ask for must not be taken as if it were: such a host would get in without. */
static int parse_hosts(struct config_ctx *x, json_object *root)
{
	struct config_at list = { .key = "hosts" }, at = { .up = &list };
	json_object *array, *host;
	const char *nqn, *secret;
	size_t nr;
	int ret = config_array(x, NULL, root, "hosts", &array, &nr);

	for (at.index = 0; !ret && at.index < nr; at.index++) {
		ret = config_object_at(x, &at, array, &host);
		if (!ret)
			ret = config_string(x, &at, host, "nqn", &nqn);
		if (!ret)
			ret = nqn ? nqn_good(x, &at, "nqn", nqn) : config_bad(x, &at, "nqn", "is missing");
		if (!ret)
			ret = config_string(x, &at, host, "dhchap_key", &secret);
		if (!ret && secret)
			ret = config_bad(x, &at, "dhchap_key", "in-band authentication is not supported");
		if (!ret)
			config_check_keys(x, &at, host, CONFIG_KEYS("nqn", "dhchap_key"),
					  CONFIG_KEYS("dhchap_ctrl_key", "dhchap_dhgroup", "dhchap_hash"));
	}
	return ret;
}

/* ---- namespaces ---- */

static bool is_backend_spec(const char *path)
{
	const struct backend_ops *const *ops;
	const char *colon = strchr(path, ':');

	for (ops = target_backends; colon && *ops; ops++)
		if (!strncmp(path, (*ops)->name, (size_t)(colon - path)) && !(*ops)->name[colon - path])
			return true;
	return false;
}

static int parse_id(struct config_ctx *x, const struct config_at *at, json_object *device, const char *key, uint8_t id[16])
{
	const char *text;
	int ret = config_string(x, at, device, key, &text);

	if (!ret && text && !uuid_parse_text(text, id))
		ret = config_bad(x, at, key, "must be 32 hexadecimal digits, dashes allowed, is \"%.60s\"", text);
	return ret;
}

static int parse_device(struct config_ctx *x, const struct config_at *up, json_object *obj, struct config_ns *ns)
{
	struct config_at at = { .up = up, .key = "device" };
	json_object *device;
	const char *path;
	int ret = config_object(x, up, obj, "device", &device);

	if (!ret && !device)
		ret = config_bad(x, up, "device", "is missing");
	if (!ret)
		ret = config_string(x, &at, device, "path", &path);
	if (!ret && !path)
		ret = config_bad(x, &at, "path", "is missing");
	if (!ret && asprintf(&ns->backend, "%s%s", is_backend_spec(path) ? "" : "file:", path) < 0) {
		ns->backend = NULL;
		ret = config_no_memory(x);
	}
	if (!ret)
		ret = parse_id(x, &at, device, "uuid", ns->uuid);
	if (!ret)
		ret = parse_id(x, &at, device, "nguid", ns->nguid);
	if (!ret)
		config_check_keys(x, &at, device, CONFIG_KEYS("path", "uuid", "nguid"), NULL);
	return ret;
}

static int parse_ns_ours(struct config_ctx *x, const struct config_at *up, json_object *obj, struct config_ns *ns)
{
	struct config_at at = { .up = up, .key = "nvof" };
	json_object *ours;
	uint64_t block = 512;
	int ret = config_object(x, up, obj, "nvof", &ours);

	if (!ret)
		ret = config_number(x, &at, ours, "block_size", 512, 4096, 512, &block);
	if (!ret && block != 512 && block != 4096)
		ret = config_bad(x, &at, "block_size", "must be 512 or 4096, is %" PRIu64, block);
	if (!ret)
		ret = config_flag(x, &at, ours, "readonly", false, &ns->readonly);
	if (!ret && ours)
		config_check_keys(x, &at, ours, CONFIG_KEYS("block_size", "readonly"), NULL);
	ns->block_size = (uint32_t)block;
	return ret;
}

/* nvmetcli writes {"ana": {"grpid": "1"}}; the name that the attribute has in the kernel is understood as well. */
static int parse_ns_ana(struct config_ctx *x, const struct config_at *up, json_object *obj, struct config_ns *ns)
{
	struct config_at at = { .up = up, .key = "ana" };
	uint64_t grpid = 1;
	json_object *ana;
	int ret = config_object(x, up, obj, "ana", &ana);

	if (!ret)
		ret = config_number(x, up, obj, "ana_grpid", 1, ANA_GRPID_MAX, 1, &grpid);
	if (!ret)
		ret = config_number(x, &at, ana, "grpid", 1, ANA_GRPID_MAX, grpid, &grpid);
	if (!ret && ana)
		config_check_keys(x, &at, ana, CONFIG_KEYS("grpid"), NULL);
	ns->anagrpid = (uint32_t)grpid;
	return ret;
}

/* *enable false: it is left out. */
static int parse_ns(struct config_ctx *x, const struct config_at *at, json_object *obj, struct config_ns *ns, bool *enable)
{
	uint64_t nsid = 0;
	int ret = config_number(x, at, obj, "nsid", 1, UINT32_MAX - 1, 0, &nsid);

	if (!ret && !nsid)
		ret = config_bad(x, at, "nsid", "is missing");
	if (!ret)
		ret = config_flag(x, at, obj, "enable", true, enable);
	if (!ret)
		ret = parse_device(x, at, obj, ns);
	if (!ret)
		ret = parse_ns_ana(x, at, obj, ns);
	if (!ret)
		ret = parse_ns_ours(x, at, obj, ns);
	if (ret)
		return ret;
	ns->nsid = (uint32_t)nsid;
	ns->index = at->index;
	config_check_keys(x, at, obj, CONFIG_KEYS("nsid", "enable", "device", "ana", "ana_grpid", "nvof"),
			  CONFIG_KEYS("attr", "buffered_io", "resv_enable", "p2pmem"));
	if (!*enable)
		config_note(x, LOG_WARN, at, "enable", "is 0: namespace %" PRIu32 " is left out", ns->nsid);
	return 0;
}

static int by_nsid(const void *a, const void *b)
{
	const struct config_ns *x = a, *y = b;

	if (x->nsid != y->nsid)
		return x->nsid < y->nsid ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int parse_namespaces(struct config_ctx *x, const struct config_at *up, json_object *obj, struct config_subsys *s)
{
	struct config_at list = { .up = up, .key = "namespaces" }, at = { .up = &list };
	json_object *array, *elem;
	size_t nr, i;
	int ret = config_array(x, up, obj, "namespaces", &array, &nr);

	if (ret || !nr)
		return ret;
	s->ns = calloc(nr, sizeof(*s->ns));
	if (!s->ns)
		return config_no_memory(x);
	for (at.index = 0; at.index < nr; at.index++) {
		struct config_ns *ns = &s->ns[s->nr_ns];
		bool enable = true;

		s->nr_ns++;
		ret = config_object_at(x, &at, array, &elem);
		if (!ret)
			ret = parse_ns(x, &at, elem, ns, &enable);
		if (ret)
			return ret;
		if (!enable) {
			free(ns->backend);
			memset(ns, 0, sizeof(*ns));
			s->nr_ns--;
		}
	}
	qsort(s->ns, s->nr_ns, sizeof(*s->ns), by_nsid);
	for (i = 1; i < s->nr_ns; i++) {
		if (s->ns[i].nsid != s->ns[i - 1].nsid)
			continue;
		at.index = s->ns[i].index;
		return config_bad(x, &at, "nsid", "%" PRIu32 " is there already, in [%zu]", s->ns[i].nsid, s->ns[i - 1].index);
	}
	return 0;
}

/* ---- subsystems ---- */

static int parse_attr(struct config_ctx *x, const struct config_at *up, json_object *obj, struct config_subsys *s)
{
	struct config_at at = { .up = up, .key = "attr" };
	uint64_t min = 1, max = 0xffef;
	json_object *attr;
	int ret = config_object(x, up, obj, "attr", &attr);

	/* nvmetcli's own default: nobody but the allowed hosts. */
	if (!ret)
		ret = config_flag(x, &at, attr, "allow_any_host", false, &s->allow_any_host);
	if (!ret)
		ret = config_string(x, &at, attr, "serial", &s->serial);
	if (!ret)
		ret = config_string(x, &at, attr, "model", &s->model);
	if (!ret)
		ret = config_number(x, &at, attr, "cntlid_min", 1, 0xffef, min, &min);
	if (!ret)
		ret = config_number(x, &at, attr, "cntlid_max", 1, 0xffef, max, &max);
	if (ret)
		return ret;
	if (min > max)
		return config_bad(x, &at, "cntlid_min", "%" PRIu64 " is above cntlid_max, %" PRIu64, min, max);
	if (s->serial && strlen(s->serial) > 20)
		return config_bad(x, &at, "serial", "\"%.60s\" is longer than 20 characters", s->serial);
	if (s->model && strlen(s->model) > 40)
		return config_bad(x, &at, "model", "\"%.60s\" is longer than 40 characters", s->model);
	s->cntlid_min = (uint16_t)min;
	s->cntlid_max = (uint16_t)max;
	if (attr)
		config_check_keys(x, &at, attr, CONFIG_KEYS("allow_any_host", "serial", "model", "cntlid_min", "cntlid_max"),
				  CONFIG_KEYS("version", "firmware", "ieee_oui", "pi_enable", "qid_max", "passthru"));
	return 0;
}

static int parse_allowed_hosts(struct config_ctx *x, const struct config_at *up, json_object *obj, struct config_subsys *s)
{
	struct config_at list = { .up = up, .key = "allowed_hosts" }, at = { .up = &list };
	json_object *array;
	size_t nr, i;
	int ret = config_array(x, up, obj, "allowed_hosts", &array, &nr);

	if (ret || !nr)
		return ret;
	s->hosts = calloc(nr, sizeof(*s->hosts));
	if (!s->hosts)
		return config_no_memory(x);
	for (at.index = 0; at.index < nr; at.index++) {
		const char *nqn;

		ret = config_string_at(x, &at, array, &nqn);
		if (!ret)
			ret = nqn_good(x, &at, NULL, nqn);
		if (ret)
			return ret;
		for (i = 0; i < s->nr_hosts; i++)
			if (!strcmp(s->hosts[i], nqn))
				return config_bad(x, &at, NULL, "\"%.230s\" is there already", nqn);
		s->hosts[s->nr_hosts++] = nqn;
	}
	return 0;
}

static int parse_subsys(struct config_ctx *x, const struct config_at *at, json_object *obj, struct config *c, struct config_subsys *s)
{
	const struct config_subsys *other;
	int ret = config_string(x, at, obj, "nqn", &s->nqn);

	if (!ret)
		ret = s->nqn ? nqn_good(x, at, "nqn", s->nqn) : config_bad(x, at, "nqn", "is missing");
	if (!ret && !strcmp(s->nqn, NVMF_DISC_NQN))
		ret = config_bad(x, at, "nqn", "the discovery subsystem is there by itself");
	for (other = c->subsys; !ret && other < s; other++)
		if (!strcmp(other->nqn, s->nqn))
			ret = config_bad(x, at, "nqn", "\"%s\" is there already, in [%zu]", s->nqn, (size_t)(other - c->subsys));
	if (!ret)
		ret = parse_attr(x, at, obj, s);
	if (!ret)
		ret = parse_allowed_hosts(x, at, obj, s);
	if (!ret)
		ret = parse_namespaces(x, at, obj, s);
	if (!ret)
		config_check_keys(x, at, obj, CONFIG_KEYS("nqn", "attr", "allowed_hosts", "namespaces"), CONFIG_KEYS("passthru"));
	return ret;
}

static int parse_subsystems(struct config_ctx *x, json_object *root, struct config *c)
{
	struct config_at list = { .key = "subsystems" }, at = { .up = &list };
	json_object *array, *elem;
	size_t nr;
	int ret = config_array(x, NULL, root, "subsystems", &array, &nr);

	if (ret || !nr)
		return ret;
	c->subsys = calloc(nr, sizeof(*c->subsys));
	if (!c->subsys)
		return config_no_memory(x);
	for (at.index = 0; !ret && at.index < nr; at.index++) {
		ret = config_object_at(x, &at, array, &elem);
		if (!ret)
			ret = parse_subsys(x, &at, elem, c, &c->subsys[c->nr_subsys++]);
	}
	return ret;
}

/* ---- all ---- */

void config_clear(struct config *c)
{
	size_t i, j;

	for (i = 0; i < c->nr_subsys; i++) {
		for (j = 0; j < c->subsys[i].nr_ns; j++)
			free(c->subsys[i].ns[j].backend);
		free(c->subsys[i].ns);
		free(c->subsys[i].hosts);
	}
	for (i = 0; i < c->nr_ports; i++) {
		free(c->ports[i].spec);
		free(c->ports[i].subsys);
		free(c->ports[i].referrals);
		free(c->ports[i].ana);
	}
	free(c->subsys);
	free(c->ports);
	json_object_put(c->root);
	memset(c, 0, sizeof(*c));
}

int config_parse(const char *text, size_t len, struct config *c, const struct log *log, struct error *err)
{
	struct config_ctx x = { .log = log, .err = err };
	int ret;

	memset(c, 0, sizeof(*c));
	ret = config_text(&x, text, len, &c->root);
	if (!ret)
		ret = parse_hosts(&x, c->root);
	if (!ret)
		ret = parse_subsystems(&x, c->root, c);
	if (!ret)
		ret = config_parse_ports(&x, c->root, c);
	if (!ret)
		config_check_keys(&x, NULL, c->root, CONFIG_KEYS("hosts", "subsystems", "ports"), NULL);
	if (ret)
		config_clear(c);
	return ret;
}
