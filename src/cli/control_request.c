/* SPDX-License-Identifier: BSD-3-Clause */
/* The arguments of a request of the control socket, and what it is answered. */
#include "cli/control_request.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- answers ---- */

int request_refuse(struct request *r, int code, const char *fmt, ...)
{
	char msg[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	json_object_object_add(r->reply, "error", json_object_new_string(msg));
	return code;
}

/* The result of an API call. */
int request_api(struct request *r, int ret)
{
	char msg[1024];

	return ret ? request_refuse(r, ret, "%s", nvof_target_errmsg(r->target, msg, sizeof(msg))) : 0;
}

/* ---- arguments ---- */

static json_object *arg(const struct request *r, const char *key, enum json_type type)
{
	json_object *v;

	return json_object_object_get_ex(r->args, key, &v) && json_object_is_type(v, type) ? v : NULL;
}

const char *request_text(const struct request *r, const char *key)
{
	json_object *v = arg(r, key, json_type_string);

	return v ? json_object_get_string(v) : NULL;
}

uint64_t request_number(const struct request *r, const char *key, uint64_t none)
{
	json_object *v = arg(r, key, json_type_int);

	return v ? json_object_get_uint64(v) : none;
}

bool request_flag(const struct request *r, const char *key, bool none)
{
	json_object *v = arg(r, key, json_type_boolean);

	return v ? json_object_get_boolean(v) : none;
}

int request_need_text(struct request *r, const char *key, const char **out)
{
	*out = request_text(r, key);
	return *out ? 0 : request_refuse(r, -EINVAL, "the request lacks \"%s\"", key);
}

/* The subsystem a request is about: the one named, or the only one there is. */
int request_need_subsys(struct request *r, const char **nqn)
{
	json_object *root, *list, *name = NULL, *elem;
	size_t i, nr = 0;
	char *text;

	*nqn = request_text(r, "subsys");
	if (*nqn)
		return 0;
	text = nvof_target_status_json(r->target);
	root = text ? json_tokener_parse(text) : NULL;
	free(text);
	list = root ? json_object_object_get(root, "subsystems") : NULL;
	for (i = 0; list && i < json_object_array_length(list); i++) {
		elem = json_object_array_get_idx(list, i);
		if (json_object_get_boolean(json_object_object_get(elem, "discovery")))
			continue;
		name = json_object_object_get(elem, "nqn");
		nr++;
	}
	if (nr == 1)
		r->subsys = strdup(json_object_get_string(name));
	json_object_put(root);
	*nqn = r->subsys;
	if (r->subsys)
		return 0;
	return request_refuse(r, -EINVAL, "which subsystem? The target has %zu; name one with --subsys", nr);
}
