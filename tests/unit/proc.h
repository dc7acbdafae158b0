/* SPDX-License-Identifier: BSD-3-Clause */
/* What this process has, for tests that compare before and after. */
#ifndef NVOF_TESTS_PROC_H
#define NVOF_TESTS_PROC_H

#include <dirent.h>

static inline int count_entries(const char *folder)
{
	DIR *d = opendir(folder);
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static inline int count_fds(void)
{
	return count_entries("/proc/self/fd");
}

#endif
