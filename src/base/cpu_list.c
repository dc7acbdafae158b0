/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/cpu_list.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

void cpu_list_clear(struct cpu_list *list)
{
	free(list->cpus);
	*list = (struct cpu_list){ 0 };
}

static int add_range(struct cpu_list *list, unsigned long first, unsigned long last)
{
	uint16_t *cpus;

	if (first > last || last >= CPU_LIST_MAX || list->nr + (last - first) >= CPU_LIST_MAX)
		return -EINVAL;
	cpus = realloc(list->cpus, (list->nr + last - first + 1) * sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	list->cpus = cpus;
	while (first <= last)
		cpus[list->nr++] = (uint16_t)first++;
	return 0;
}

static int number(const char **text, unsigned long *n)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return -EINVAL;
	*n = strtoul(*text, &end, 10);
	*text = end;
	return 0;
}

int cpu_list_parse(const char *text, struct cpu_list *list)
{
	unsigned long first, last;
	int ret;

	*list = (struct cpu_list){ 0 };
	for (;;) {
		ret = number(&text, &first);
		last = first;
		if (!ret && *text == '-') {
			text++;
			ret = number(&text, &last);
		}
		if (!ret)
			ret = add_range(list, first, last);
		if (ret || *text != ',')
			break;
		text++;
	}
	if (!ret && *text && (*text != '\n' || text[1]))
		ret = -EINVAL;
	if (ret)
		cpu_list_clear(list);
	return ret;
}

/* Which CPUs there are and which of them a cgroup allows is the kernel's to say, and it only says it to who tries. */
int cpu_list_unusable(const struct cpu_list *list)
{
	_Alignas(cpu_set_t) unsigned char was[CPU_LIST_MAX / 8], one[CPU_LIST_MAX / 8];
	int bad = -1;

	if (sched_getaffinity(0, sizeof(was), (cpu_set_t *)was))
		return -1;
	for (uint32_t i = 0; i < list->nr && bad < 0; i++) {
		memset(one, 0, sizeof(one));
		CPU_SET_S(list->cpus[i], sizeof(one), (cpu_set_t *)one);
		if (sched_setaffinity(0, sizeof(one), (cpu_set_t *)one))
			bad = list->cpus[i];
	}
	sched_setaffinity(0, sizeof(was), (cpu_set_t *)was);
	return bad;
}
