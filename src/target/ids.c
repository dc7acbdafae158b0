// SPDX-License-Identifier: BSD-3-Clause
/*
 * Identifiers that nobody gave: different for each namespace, and the same after each start as long as its contents are.  A host that was
 * away must not take other data for its own.
 */
#include <stdio.h>
#include <string.h>
#include <uuid/uuid.h>

#include "target/target.h"

/* The name space (RFC 4122) of all identifiers derived here. */
static const uuid_t ids_space = { 0x6b, 0x1f, 0x3c, 0x52, 0x0d, 0x94, 0x4e, 0x0a, 0x9a, 0x71, 0x58, 0x2e, 0xc4, 0x37, 0xd0, 0x16 };

static void derive(const char *what, const char *subsysnqn, uint32_t nsid, const char *contents, uint8_t id[16])
{
	char name[NVMF_NQN_MAX + 160];
	int len = snprintf(name, sizeof(name), "%s %s %u%s%s", what, subsysnqn, nsid, *contents ? " " : "", contents);

	uuid_generate_sha1(id, ids_space, name, (size_t)len);
}

void target_ids_default(const char *subsysnqn, uint32_t nsid, const char *contents, uint8_t uuid[16], uint8_t nguid[16])
{
	derive("uuid", subsysnqn, nsid, contents, uuid);
	derive("nguid", subsysnqn, nsid, contents, nguid);
}

void target_serial_default(const char *subsysnqn, char serial[21])
{
	uint8_t id[16];

	derive("serial", subsysnqn, 0, "", id);
	for (int i = 0; i < 10; i++)
		snprintf(serial + 2 * i, 3, "%02x", id[i]);
}
