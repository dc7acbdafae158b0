/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of CPUs as people and the kernel write them: "0-3,8". */
#ifndef NVOF_BASE_CPU_LIST_H
#define NVOF_BASE_CPU_LIST_H

#include <stdint.h>

#define CPU_LIST_MAX 8192 /* more CPUs than any kernel is built for */

struct cpu_list {
	uint32_t nr;
	uint16_t *cpus; /* owned, in the order of the text */
};

/* 0; -EINVAL (not such a list); -ENOMEM.  The text may end with a newline. */
int cpu_list_parse(const char *text, struct cpu_list *list);
void cpu_list_clear(struct cpu_list *list); /* a zeroed one is fine */
/* The first of the list that the calling thread can't be bound to; -1: it can to each.  It may run where it could before. */
int cpu_list_unusable(const struct cpu_list *list);

#endif
