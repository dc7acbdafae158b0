/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int error_vset(struct error *err, int code, const char *fmt, va_list ap)
{
	if (err->code || !code)
		return err->code;
	err->code = code;
	if (vasprintf(&err->msg, fmt, ap) < 0)
		err->msg = NULL;
	return code;
}

int error_set(struct error *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	error_vset(err, code, fmt, ap);
	va_end(ap);
	return err->code;
}

void error_prefix(struct error *err, const char *fmt, ...)
{
	char *what, *msg;
	va_list ap;
	int ret;

	if (!err->code)
		return;
	va_start(ap, fmt);
	ret = vasprintf(&what, fmt, ap);
	va_end(ap);
	if (ret < 0)
		return;
	if (asprintf(&msg, "%s: %s", what, error_msg(err)) >= 0) {
		free(err->msg);
		err->msg = msg;
	}
	free(what);
}

void error_move(struct error *to, struct error *from)
{
	if (to == from)
		return;
	error_clear(to);
	*to = *from;
	*from = (struct error){ 0 };
}

void error_copy(struct error *to, const struct error *from)
{
	if (to == from)
		return;
	error_clear(to);
	to->code = from->code;
	to->msg = from->msg ? strdup(from->msg) : NULL;
}

void error_clear(struct error *err)
{
	free(err->msg);
	*err = (struct error){ 0 };
}

const char *error_msg(const struct error *err)
{
	const char *text;

	if (!err->code)
		return "no error";
	if (err->msg)
		return err->msg;
	text = err->code < 0 ? strerrordesc_np(-err->code) : "NVMe status";
	return text ? text : "unknown error";
}
