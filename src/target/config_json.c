/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/config.h"

#define CONFIG_DEPTH	16
#define CONFIG_PATH_MAX 256

/* Appends at's path to buf: "subsystems[0].namespaces". */
static void at_format(const struct config_at *at, char *buf, size_t len)
{
	size_t used;

	if (!at)
		return;
	at_format(at->up, buf, len);
	used = strlen(buf);
	if (at->key)
		snprintf(buf + used, len - used, "%s%.60s", used ? "." : "", at->key);
	else
		snprintf(buf + used, len - used, "[%zu]", at->index);
}

static const char *place(const struct config_at *at, const char *key, char buf[CONFIG_PATH_MAX])
{
	struct config_at leaf = { .up = at, .key = key };

	buf[0] = '\0';
	at_format(key ? &leaf : at, buf, CONFIG_PATH_MAX);
	if (!buf[0])
		strcpy(buf, "top level");
	return buf;
}

int config_bad(struct config_ctx *x, const struct config_at *at, const char *key, const char *fmt, ...)
{
	char buf[CONFIG_PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	error_vset(x->err, -EINVAL, fmt, ap);
	va_end(ap);
	error_prefix(x->err, "%s", place(at, key, buf));
	return -EINVAL;
}

void config_note(struct config_ctx *x, int level, const struct config_at *at, const char *key, const char *fmt, ...)
{
	char buf[CONFIG_PATH_MAX], msg[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	if (x->log)
		log_at(x->log, level, "config: %s: %s", place(at, key, buf), msg);
}

static bool listed(const char *key, const char *const *list)
{
	for (; list && *list; list++)
		if (!strcmp(key, *list))
			return true;
	return false;
}

void config_check_keys(struct config_ctx *x, const struct config_at *at, json_object *obj, const char *const *used,
		       const char *const *unused)
{
	json_object_object_foreach(obj, key, value)
	{
		(void)value;
		if (listed(key, used))
			continue;
		if (listed(key, unused))
			config_note(x, LOG_INFO, at, key, "not used by this target");
		else
			config_note(x, LOG_WARN, at, key, "unknown, ignored");
	}
}

static json_object *value_of(json_object *obj, const char *key)
{
	json_object *v = NULL;

	return obj && json_object_object_get_ex(obj, key, &v) ? v : NULL;
}

int config_object(struct config_ctx *x, const struct config_at *at, json_object *obj, const char *key, json_object **out)
{
	*out = value_of(obj, key);
	if (*out && !json_object_is_type(*out, json_type_object))
		return config_bad(x, at, key, "must be an object, is %s", json_type_to_name(json_object_get_type(*out)));
	return 0;
}

int config_array(struct config_ctx *x, const struct config_at *at, json_object *obj, const char *key, json_object **out, size_t *nr)
{
	*out = value_of(obj, key);
	*nr = 0;
	if (!*out)
		return 0;
	if (!json_object_is_type(*out, json_type_array))
		return config_bad(x, at, key, "must be an array, is %s", json_type_to_name(json_object_get_type(*out)));
	*nr = json_object_array_length(*out);
	return 0;
}

/* Numbers do as texts: "trsvcid": 4420.  A NUL inside a text would end it early in everything that follows. */
static int string_value(struct config_ctx *x, const struct config_at *at, const char *key, json_object *v, const char **out)
{
	*out = NULL;
	if (!v)
		return 0;
	if (!json_object_is_type(v, json_type_string) && !json_object_is_type(v, json_type_int))
		return config_bad(x, at, key, "must be a string, is %s", json_type_to_name(json_object_get_type(v)));
	*out = json_object_get_string(v);
	if (json_object_is_type(v, json_type_string) && strlen(*out) != (size_t)json_object_get_string_len(v))
		return config_bad(x, at, key, "has a NUL in it");
	if (!**out)
		*out = NULL;
	return 0;
}

int config_string(struct config_ctx *x, const struct config_at *at, json_object *obj, const char *key, const char **out)
{
	return string_value(x, at, key, value_of(obj, key), out);
}

int config_number(struct config_ctx *x, const struct config_at *at, json_object *obj, const char *key, uint64_t min, uint64_t max,
		  uint64_t none, uint64_t *out)
{
	const char *text;
	char *end;
	int ret = config_string(x, at, obj, key, &text);

	if (ret)
		return ret;
	*out = none;
	if (!text)
		return 0;
	errno = 0;
	*out = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || *out < min || *out > max)
		return config_bad(x, at, key, "must be a number from %" PRIu64 " to %" PRIu64 ", is \"%.40s\"", min, max, text);
	return 0;
}

int config_flag(struct config_ctx *x, const struct config_at *at, json_object *obj, const char *key, bool none, bool *out)
{
	json_object *v = value_of(obj, key);
	uint64_t n = 0; /* config_number() may fail before it sets it */
	int ret;

	if (v && json_object_is_type(v, json_type_boolean)) {
		*out = json_object_get_boolean(v);
		return 0;
	}
	ret = config_number(x, at, obj, key, 0, 1, none, &n);
	*out = n != 0;
	return ret;
}

int config_object_at(struct config_ctx *x, const struct config_at *at, json_object *array, json_object **out)
{
	*out = json_object_array_get_idx(array, at->index);
	if (!json_object_is_type(*out, json_type_object))
		return config_bad(x, at, NULL, "must be an object, is %s", json_type_to_name(json_object_get_type(*out)));
	return 0;
}

int config_string_at(struct config_ctx *x, const struct config_at *at, json_object *array, const char **out)
{
	int ret = string_value(x, at, NULL, json_object_array_get_idx(array, at->index), out);

	if (ret)
		return ret;
	return *out ? 0 : config_bad(x, at, NULL, "must not be empty");
}

static int text_bad(struct config_ctx *x, const char *text, size_t at, const char *what)
{
	size_t line = 1, column = 1, i;

	for (i = 0; i < at; i++) {
		column = text[i] == '\n' ? 1 : column + 1;
		line += text[i] == '\n';
	}
	return error_set(x->err, -EINVAL, "line %zu, column %zu: %s", line, column, what);
}

int config_text(struct config_ctx *x, const char *text, size_t len, json_object **root)
{
	json_tokener *tok;
	enum json_tokener_error jerr;
	size_t end;
	int ret = 0;

	*root = NULL;
	if (len > INT32_MAX)
		return error_set(x->err, -EFBIG, "is longer than 2 GiB");
	tok = json_tokener_new_ex(CONFIG_DEPTH);
	if (!tok)
		return error_set(x->err, -ENOMEM, "out of memory");
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS | JSON_TOKENER_VALIDATE_UTF8);
	*root = json_tokener_parse_ex(tok, text, (int)len);
	jerr = json_tokener_get_error(tok);
	end = json_tokener_get_parse_end(tok);
	if (jerr == json_tokener_continue)
		ret = text_bad(x, text, len, "the file ends in the middle");
	else if (jerr != json_tokener_success)
		ret = text_bad(x, text, end < len ? end : len, json_tokener_error_desc(jerr));
	for (; !ret && end < len; end++)
		if (!strchr(" \t\r\n", text[end]) || !text[end])
			ret = text_bad(x, text, end, "there is something behind the end");
	if (!ret && !json_object_is_type(*root, json_type_object))
		ret = text_bad(x, text, 0, "must be an object");
	json_tokener_free(tok);
	if (ret) {
		json_object_put(*root);
		*root = NULL;
	}
	return ret;
}
