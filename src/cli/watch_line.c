/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/util.h"
#include "cli/text.h"
#include "cli/watch.h"

/* "2026-12-01T03:57:09.123Z" */
static const char *now_text(char buf[40])
{
	struct timespec ts;
	struct tm tm;
	size_t len;

	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	len = strftime(buf, 40, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf + len, 40 - len, ".%03uZ", (unsigned int)(ts.tv_nsec / (long)NSEC_PER_MSEC) % 1000);
	return buf;
}

json_object *watch_doc(const struct watch *w, const char *event)
{
	json_object *doc = w->cli->json ? cli_json_new() : NULL;
	char buf[40];

	if (!doc)
		return NULL;
	json_object_object_add(doc, "time", json_object_new_string(now_text(buf)));
	json_object_object_add(doc, "event", json_object_new_string(event));
	return doc;
}

static void line_print(struct watch *w, json_object *doc, const char *fmt, va_list ap)
{
	char *text = NULL, buf[40];

	if (w->ret) {
		json_object_put(doc);
		return;
	}
	if (doc) {
		w->ret = cli_json_line(w->cli, doc);
	} else {
		if (vasprintf(&text, fmt, ap) < 0)
			abort();
		printf("%s  %s\n", now_text(buf), text_clean(text));
		free(text);
		w->ret = cli_flush(w->cli);
	}
	w->over |= w->ret != EXIT_OK; /* nobody hears it any more */
}

void watch_line(struct watch *w, json_object *doc, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line_print(w, doc, fmt, ap);
	va_end(ap);
}

void watch_event(struct watch *w, json_object *doc, const char *fmt, ...)
{
	va_list ap;

	if (w->over) {
		json_object_put(doc);
		return;
	}
	va_start(ap, fmt);
	line_print(w, doc, fmt, ap);
	va_end(ap);
	if (w->nr_left)
		w->over |= !--w->nr_left;
}
