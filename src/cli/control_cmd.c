/* SPDX-License-Identifier: BSD-3-Clause */
/* What a request of the control socket does: one function per command, each a call of the public API. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/control_internal.h"
#include "cli/control_request.h"
#include "proto/ana.h"
#include "proto/nqn.h"

#define COUNT_MAX 65536

static int parse_id(struct request *r, const char *key, uint8_t id[16])
{
	const char *text = request_text(r, key);

	if (text && !uuid_parse_text(text, id))
		return request_refuse(r, -EINVAL, "%s \"%s\" is not 32 hexadecimal digits", key, text);
	return 0;
}

static int cmd_add_ns(struct request *r)
{
	struct nvof_target_ns_opts opts;
	uint64_t count = request_number(r, "count", 1), i;
	json_object *nsids = json_object_new_array();
	uint32_t nsid;
	const char *nqn;
	int ret;

	json_object_object_add(r->reply, "nsids", nsids);
	nvof_target_ns_opts_init(&opts);
	ret = request_need_subsys(r, &nqn);
	if (!ret)
		ret = request_need_text(r, "backend", &opts.backend);
	if (!ret)
		ret = parse_id(r, "uuid", opts.uuid);
	if (!ret)
		ret = parse_id(r, "nguid", opts.nguid);
	if (!ret && (!count || count > COUNT_MAX))
		ret = request_refuse(r, -EINVAL, "count must be 1 to %d", COUNT_MAX);
	if (ret)
		return ret;
	opts.block_size = (uint32_t)request_number(r, "block_size", 512);
	opts.readonly = request_flag(r, "readonly", false);
	opts.anagrpid = (uint32_t)request_number(r, "anagrpid", 1);
	for (i = 0; !ret && i < count; i++) {
		opts.nsid = (uint32_t)request_number(r, "nsid", 0);
		opts.nsid += opts.nsid ? (uint32_t)i : 0;
		ret = request_api(r, nvof_target_add_ns(r->target, nqn, &opts, &nsid));
		if (!ret)
			json_object_array_add(nsids, json_object_new_int64(nsid));
	}
	/* All or none. */
	for (i = json_object_array_length(nsids); ret && i--;)
		nvof_target_remove_ns(r->target, nqn, (uint32_t)json_object_get_int64(json_object_array_get_idx(nsids, i)));
	if (ret)
		json_object_object_del(r->reply, "nsids");
	return ret;
}

static int cmd_remove_ns(struct request *r)
{
	const char *nqn;
	int ret = request_need_subsys(r, &nqn);

	return ret ? ret : request_api(r, nvof_target_remove_ns(r->target, nqn, (uint32_t)request_number(r, "nsid", 0)));
}

static int cmd_resize_ns(struct request *r)
{
	const char *nqn;
	int ret = request_need_subsys(r, &nqn);

	if (ret)
		return ret;
	return request_api(r, nvof_target_resize_ns(r->target, nqn, (uint32_t)request_number(r, "nsid", 0), request_number(r, "bytes", 0)));
}

static int cmd_add_subsys(struct request *r)
{
	struct nvof_subsys_opts opts;
	const char *nqn;
	int ret = request_need_text(r, "subsys", &nqn);

	nvof_subsys_opts_init(&opts);
	opts.serial = request_text(r, "serial");
	opts.model = request_text(r, "model");
	opts.allow_any_host = request_flag(r, "allow_any_host", true);
	return ret ? ret : request_api(r, nvof_target_add_subsys(r->target, nqn, &opts));
}

static int cmd_remove_subsys(struct request *r)
{
	const char *nqn;
	int ret = request_need_text(r, "subsys", &nqn);

	return ret ? ret : request_api(r, nvof_target_remove_subsys(r->target, nqn));
}

static int cmd_allow_host(struct request *r)
{
	const char *nqn, *host = NULL;
	int ret = request_need_subsys(r, &nqn);

	if (!ret)
		ret = request_need_text(r, "host", &host);
	return ret ? ret : request_api(r, nvof_target_allow_host(r->target, nqn, host));
}

static int cmd_disallow_host(struct request *r)
{
	const char *nqn, *host = NULL;
	int ret = request_need_subsys(r, &nqn);

	if (!ret)
		ret = request_need_text(r, "host", &host);
	return ret ? ret : request_api(r, nvof_target_disallow_host(r->target, nqn, host));
}

static int cmd_allow_any_host(struct request *r)
{
	const char *nqn;
	int ret = request_need_subsys(r, &nqn);

	return ret ? ret : request_api(r, nvof_target_allow_any_host(r->target, nqn, request_flag(r, "any", true)));
}

static int cmd_add_listener(struct request *r)
{
	char in_use[512] = "";
	const char *addr;
	int ret = request_need_text(r, "address", &addr);

	if (!ret)
		ret = request_api(r, nvof_target_listen(r->target, addr, in_use, sizeof(in_use)));
	if (!ret)
		json_object_object_add(r->reply, "address", json_object_new_string(in_use));
	return ret;
}

static int cmd_remove_listener(struct request *r)
{
	const char *addr;
	int ret = request_need_text(r, "address", &addr);

	return ret ? ret : request_api(r, nvof_target_unlisten(r->target, addr));
}

static int cmd_set_ana(struct request *r)
{
	const char *addr, *text = NULL;
	uint8_t state;
	int ret = request_need_text(r, "address", &addr);

	if (!ret)
		ret = request_need_text(r, "state", &text);
	if (!ret && !ana_state_parse(text, &state))
		ret = request_refuse(r, -EINVAL, "state \"%.40s\" is not one of: " ANA_STATE_NAMES, text);
	return ret ? ret : request_api(r, nvof_target_set_ana(r->target, addr, (uint32_t)request_number(r, "grpid", 0), state));
}

static int cmd_referral(struct request *r)
{
	const char *transport, *traddr = NULL, *trsvcid = NULL;
	int ret = request_need_text(r, "transport", &transport);

	if (!ret)
		ret = request_need_text(r, "traddr", &traddr);
	if (!ret)
		ret = request_need_text(r, "trsvcid", &trsvcid);
	if (ret)
		return ret;
	if (!strcmp(request_text(r, "cmd"), "add-referral"))
		return request_api(r, nvof_target_add_referral(r->target, transport, traddr, trsvcid));
	return request_api(r, nvof_target_remove_referral(r->target, transport, traddr, trsvcid));
}

static int cmd_add_fault(struct request *r)
{
	const char *spec;
	int ret = request_need_text(r, "spec", &spec);

	return ret ? ret : request_api(r, nvof_target_add_fault(r->target, spec));
}

static int cmd_clear_faults(struct request *r)
{
	nvof_target_clear_faults(r->target);
	return 0;
}

static int cmd_status(struct request *r)
{
	char *text = nvof_target_status_json(r->target);
	json_object *status = text ? json_tokener_parse(text) : NULL;

	free(text);
	if (!status)
		return request_refuse(r, -ENOMEM, "status: out of memory");
	json_object_object_add(r->reply, "status", status);
	return 0;
}

static int save_to(struct request *r, const char *path)
{
	int ret;

	if (!path)
		return request_refuse(r, -EINVAL, "save where? The target was started without --config: name a file");
	ret = request_api(r, nvof_target_save_config(r->target, path));
	if (!ret)
		json_object_object_add(r->reply, "saved", json_object_new_string(path));
	return ret;
}

static int cmd_save(struct request *r)
{
	const char *path = request_text(r, "file");

	return save_to(r, path ? path : r->config_path);
}

static const struct {
	const char *name;
	int (*run)(struct request *r);
	bool changes; /* the configuration: "save" may follow in the same request */
} commands[] = {
	{ "add-ns", cmd_add_ns, true },
	{ "remove-ns", cmd_remove_ns, true },
	{ "resize-ns", cmd_resize_ns, true },
	{ "add-subsys", cmd_add_subsys, true },
	{ "remove-subsys", cmd_remove_subsys, true },
	{ "allow-host", cmd_allow_host, true },
	{ "disallow-host", cmd_disallow_host, true },
	{ "allow-any-host", cmd_allow_any_host, true },
	{ "add-listener", cmd_add_listener, true },
	{ "remove-listener", cmd_remove_listener, true },
	{ "set-ana", cmd_set_ana, true },
	{ "add-referral", cmd_referral, true },
	{ "remove-referral", cmd_referral, true },
	{ "add-fault", cmd_add_fault, false },
	{ "clear-faults", cmd_clear_faults, false },
	{ "status", cmd_status, false },
	{ "save", cmd_save, false },
};

static int run(struct request *r)
{
	const char *name = request_text(r, "cmd");
	size_t i;
	int ret;

	for (i = 0; name && i < ARRAY_SIZE(commands); i++) {
		if (strcmp(name, commands[i].name))
			continue;
		/* Where to save is known before anything is changed. */
		if (commands[i].changes && request_flag(r, "save", false) && !r->config_path)
			return save_to(r, NULL);
		ret = commands[i].run(r);
		if (!ret && commands[i].changes && request_flag(r, "save", false))
			ret = save_to(r, r->config_path);
		return ret;
	}
	return request_refuse(r, -EOPNOTSUPP, "unknown command \"%.60s\"", name ? name : "");
}

static json_object *parse_line(const char *line, size_t len)
{
	json_tokener *tok = json_tokener_new_ex(8);
	json_object *obj;

	if (!tok)
		return NULL;
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	obj = json_tokener_parse_ex(tok, line, (int)len);
	if (json_tokener_get_error(tok) != json_tokener_success || !json_object_is_type(obj, json_type_object)) {
		json_object_put(obj);
		obj = NULL;
	}
	json_tokener_free(tok);
	return obj;
}

char *control_run(struct nvof_target *target, const char *config_path, const char *line, size_t len)
{
	struct request r = { .target = target, .config_path = config_path };
	const char *text;
	char *copy;
	int ret;

	r.reply = json_object_new_object();
	json_object_object_add(r.reply, "ok", json_object_new_boolean(false)); /* keeps its place at the front */
	r.args = parse_line(line, len);
	ret = r.args ? run(&r) : request_refuse(&r, -EINVAL, "the request is not one JSON object");
	json_object_object_add(r.reply, "ok", json_object_new_boolean(!ret));
	if (ret)
		json_object_object_add(r.reply, "code", json_object_new_int(ret));
	text = json_object_to_json_string_ext(r.reply, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	if (!text || asprintf(&copy, "%s\n", text) < 0)
		copy = NULL;
	json_object_put(r.reply);
	json_object_put(r.args);
	free(r.subsys);
	return copy;
}
