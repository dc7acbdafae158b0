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
