/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/fd_table.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

void fd_table_reserve(unsigned int nr)
{
	struct rlimit limit;
	int fd, high;

	if (!nr || getrlimit(RLIMIT_NOFILE, &limit) || !limit.rlim_cur)
		return;
	if (limit.rlim_cur < nr)
		nr = (unsigned int)limit.rlim_cur;
	fd = eventfd(0, EFD_CLOEXEC);
	if (fd < 0)
		return;
	high = fcntl(fd, F_DUPFD_CLOEXEC, (int)(nr - 1));
	if (high >= 0)
		close(high);
	close(fd);
}
