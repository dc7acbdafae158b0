/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "target/backend/common.h"

const struct backend_ops *const target_backends[] = { &mem_backend_ops, &file_backend_ops, &null_backend_ops, NULL };

int backend_open(const char *spec, uint32_t block_size, bool readonly, struct backend **b, struct error *err)
{
	const char *colon = strchr(spec, ':');
	const struct backend_ops *const *ops;
	size_t len = colon ? (size_t)(colon - spec) : 0;

	*b = NULL;
	if (!colon)
		return error_set(err, -EINVAL, "backend \"%.200s\": must be mem:SIZE, null:SIZE or file:PATH", spec);
	for (ops = target_backends; *ops; ops++) {
		if (strlen((*ops)->name) == len && !memcmp((*ops)->name, spec, len))
			return (*ops)->open(colon + 1, block_size, readonly, b, err);
	}
	return error_set(err, -EINVAL, "backend \"%.200s\": there are mem, null and file, no \"%.*s\"", spec, (int)(len < 40 ? len : 40),
			 spec);
}

void backend_close(struct backend *b)
{
	if (b)
		b->ops->close(b);
}

int backend_round_size(struct backend *b, const char *what, uint64_t bytes, uint32_t block_size, uint64_t *size, struct error *err)
{
	uint64_t tail = bytes % block_size;

	b->notice[0] = '\0';
	if (bytes < block_size)
		return error_set(err, -EINVAL, "%s: %" PRIu64 " bytes are less than one block of %u", what, bytes, block_size);
	if (tail)
		snprintf(b->notice, sizeof(b->notice), "%.100s: the last %" PRIu64 " bytes are not used: no whole block of %u", what, tail,
			 block_size);
	*size = bytes - tail;
	return 0;
}
