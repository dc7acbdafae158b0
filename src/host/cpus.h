/* SPDX-License-Identifier: BSD-3-Clause */
/* Which CPUs this process may use: its affinity mask, not what the machine has (C035). */
#ifndef NVOF_HOST_CPUS_H
#define NVOF_HOST_CPUS_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cpu_list.h"

/* As cpu_set_t, with room for more CPUs than any kernel is built for: a smaller set makes sched_getaffinity() fail on large machines. */
struct cpu_mask {
	_Alignas(cpu_set_t) unsigned char bits[CPU_LIST_MAX / 8];
};

/* At least 1. */
uint32_t cpus_usable(void);
/* Those of the NUMA node that the calling thread runs on, as far as it may use them.  False: nothing is known, or it makes no difference.
 */
bool cpus_near(struct cpu_mask *mask);
void cpu_mask_only(struct cpu_mask *mask, uint32_t cpu);

#endif
