/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/cpus.h"

#include <stdio.h>
#include <string.h>

static cpu_set_t *set_of(struct cpu_mask *mask)
{
	return (cpu_set_t *)mask->bits;
}

uint32_t cpus_usable(void)
{
	struct cpu_mask mask;
	int n;

	if (sched_getaffinity(0, sizeof(mask), set_of(&mask)))
		return 1;
	n = CPU_COUNT_S(sizeof(mask), set_of(&mask));
	return n > 0 ? (uint32_t)n : 1;
}

void cpu_mask_only(struct cpu_mask *mask, uint32_t cpu)
{
	memset(mask, 0, sizeof(*mask));
	CPU_SET_S(cpu, sizeof(*mask), set_of(mask));
}

static bool node_cpus(unsigned int node, struct cpu_list *list)
{
	char path[64], text[4096] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/cpulist", node);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(text, sizeof(text), f))
		text[0] = 0;
	fclose(f);
	return !cpu_list_parse(text, list);
}

bool cpus_near(struct cpu_mask *mask)
{
	struct cpu_list list;
	struct cpu_mask usable;
	unsigned int cpu, node;
	uint32_t i;
	int nr;

	if (sched_getaffinity(0, sizeof(usable), set_of(&usable)) || getcpu(&cpu, &node) || !node_cpus(node, &list))
		return false;
	memset(mask, 0, sizeof(*mask));
	for (i = 0; i < list.nr; i++)
		if (CPU_ISSET_S(list.cpus[i], sizeof(usable), set_of(&usable)))
			CPU_SET_S(list.cpus[i], sizeof(*mask), set_of(mask));
	cpu_list_clear(&list);
	nr = CPU_COUNT_S(sizeof(*mask), set_of(mask));
	return nr && nr < CPU_COUNT_S(sizeof(usable), set_of(&usable));
}
