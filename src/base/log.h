/* SPDX-License-Identifier: BSD-3-Clause */
/* Log lines go to whoever made the ctx or the target: each holds one of these, none is global. */
#ifndef NVOF_BASE_LOG_H
#define NVOF_BASE_LOG_H

#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

struct log {
	void (*fn)(void *arg, int level, const char *msg); /* NULL: lines are dropped.  Called from the thread that logs. */
	void *arg;
	int level; /* lines above it are not even formatted */
};

void log_line(const struct log *log, int level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * For lines that peers cause, as many as they like: burst of them within window_ns, and the first one after says how many were left out.
 * Belongs to one thread.
 */
struct log_limit {
	uint32_t burst;
	uint64_t window_ns;
	/* 0 to begin with */
	uint64_t end_ns;
	uint32_t nr, left_out;
};

void log_limited(const struct log *log, int level, struct log_limit *limit, uint64_t now_ns, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

#define log_at(l, lvl, ...)                                \
	do {                                               \
		if ((l)->fn && (lvl) <= (l)->level)        \
			log_line((l), (lvl), __VA_ARGS__); \
	} while (0)
#define log_error(l, ...) log_at(l, LOG_ERROR, __VA_ARGS__)
#define log_warn(l, ...)  log_at(l, LOG_WARN, __VA_ARGS__)
#define log_info(l, ...)  log_at(l, LOG_INFO, __VA_ARGS__)
#define log_debug(l, ...) log_at(l, LOG_DEBUG, __VA_ARGS__)

#endif
