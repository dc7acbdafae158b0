/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/ring.h"

#include <errno.h>
#include <stdlib.h>

int ring_init(struct ring *r, uint32_t nr, size_t entry_size)
{
	uint32_t size = 1;

	while (size < nr)
		size *= 2;
	*r = (struct ring){ .mask = size - 1, .entry_size = entry_size };
	r->mem = calloc(size, entry_size);
	return r->mem ? 0 : -ENOMEM;
}

void ring_free(struct ring *r)
{
	free(r->mem);
	r->mem = NULL;
}
