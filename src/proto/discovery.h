/* SPDX-License-Identifier: BSD-3-Clause */
/* Discovery log entries (log page 70h): wire <-> text, with the names nvme-cli prints. */
#ifndef NVOF_PROTO_DISCOVERY_H
#define NVOF_PROTO_DISCOVERY_H

#include <nvme/types.h>
#include <stdbool.h>
#include <stdint.h>

struct disc_entry {
	uint8_t trtype, adrfam, subtype, treq;
	uint16_t portid, cntlid, asqsz, eflags;
	char trsvcid[33], subnqn[257], traddr[257];
	uint8_t tsas[256];
};

/* NULL when the entry is usable, else a static sentence (over-long or unterminated texts ...): the caller skips that entry alone. */
const char *disc_entry_parse(const struct nvmf_disc_log_entry *wire, struct disc_entry *e);
void disc_entry_build(const struct disc_entry *e, struct nvmf_disc_log_entry *wire);

const char *trtype_name(uint8_t trtype); /* "tcp", "rdma", "fc", "loop", "unrecognized" */
const char *adrfam_name(uint8_t adrfam);
const char *subtype_name(uint8_t subtype);
const char *treq_name(uint8_t treq);
int trtype_parse(const char *name, uint8_t *trtype); /* case-insensitive */

#endif
