/* SPDX-License-Identifier: BSD-3-Clause */
/* How many CPUs this process may use: its affinity mask, not what the machine has (C035). */
#ifndef NVOF_HOST_CPUS_H
#define NVOF_HOST_CPUS_H

#include <sched.h>
#include <stdint.h>

/* At least 1. */
static inline uint32_t cpus_usable(void)
{
	/* Room for more CPUs than any kernel is built for; a smaller set makes sched_getaffinity() fail on large machines. */
	enum { MAX_CPUS = 8192 };
	_Alignas(cpu_set_t) unsigned char mask[MAX_CPUS / 8];
	int n;

	if (sched_getaffinity(0, sizeof(mask), (cpu_set_t *)mask))
		return 1;
	n = CPU_COUNT_S(sizeof(mask), (cpu_set_t *)mask);
	return n > 0 ? (uint32_t)n : 1;
}

#endif
