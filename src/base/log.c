/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

/* Longer lines are cut: texts from the wire are bounded, and a log line must not need memory. */
#define LOG_LINE_MAX 2048

void log_line(const struct log *log, int level, const char *fmt, ...)
{
	char line[LOG_LINE_MAX];
	va_list ap;

	if (!log->fn || level > log->level)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	log->fn(log->arg, level, line);
}

/* How many lines were left out before this one, -1: this one is, too. */
static int64_t limit_take(struct log_limit *l, uint64_t now_ns)
{
	uint32_t left_out = l->left_out;

	if (now_ns >= l->end_ns) {
		l->end_ns = now_ns + l->window_ns;
		l->nr = 0;
	}
	if (l->nr == l->burst) {
		l->left_out++;
		return -1;
	}
	l->nr++;
	l->left_out = 0;
	return left_out;
}

void log_limited(const struct log *log, int level, struct log_limit *limit, uint64_t now_ns, const char *fmt, ...)
{
	char line[LOG_LINE_MAX];
	int64_t left_out;
	va_list ap;

	if (!log->fn || level > log->level)
		return;
	left_out = limit_take(limit, now_ns);
	if (left_out < 0)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (left_out)
		log_line(log, level, "%s (%u lines like this were left out before it)", line, (uint32_t)left_out);
	else
		log->fn(log->arg, level, line);
}
