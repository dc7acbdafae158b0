/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the thread sanitizer can't see: liburcu is not instrumented, so it is told through an address that readers and writer share that
 * what readers did came before the end of a grace period.
 */
#ifndef NVOF_BASE_TSAN_H
#define NVOF_BASE_TSAN_H

#include <stdbool.h>

#if defined(__SANITIZE_THREAD__)
#define NVOF_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NVOF_TSAN 1
#endif
#endif

#ifdef NVOF_TSAN
#include <sanitizer/tsan_interface.h>
#endif

static inline bool tsan_is_on(void)
{
#ifdef NVOF_TSAN
	return true;
#else
	return false;
#endif
}

static inline void tsan_release(void *tag)
{
#ifdef NVOF_TSAN
	__tsan_release(tag);
#else
	(void)tag;
#endif
}

static inline void tsan_acquire(void *tag)
{
#ifdef NVOF_TSAN
	__tsan_acquire(tag);
#else
	(void)tag;
#endif
}

#endif
