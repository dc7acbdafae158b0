/* SPDX-License-Identifier: BSD-3-Clause */
/* The handful of helpers every file wants: container_of, array size, min/max, clock. */
#ifndef NVOF_BASE_UTIL_H
#define NVOF_BASE_UTIL_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define ARRAY_SIZE(a)			(sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

static inline size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}
static inline uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}
static inline uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}
static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}
static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

#define NSEC_PER_USEC UINT64_C(1000)
#define NSEC_PER_MSEC UINT64_C(1000000)
#define NSEC_PER_SEC  UINT64_C(1000000000)

/* Monotonic nanoseconds.  Code below src/host and src/target takes its time from loop_now() instead where it can. */
static inline uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* Goes on while the machine is suspended: for what others did meanwhile.  Not for timers. */
static inline uint64_t clock_boot_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

#endif
