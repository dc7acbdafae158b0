/* SPDX-License-Identifier: BSD-3-Clause */
/* Any 1024 bytes are an entry or a refusal with a sentence; an entry that was taken survives the way to the wire and back. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/discovery.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* On the heap, so that AddressSanitizer sees a read past the fixed fields. */
	struct nvmf_disc_log_entry *wire = calloc(1, sizeof(*wire)), *back = calloc(1, sizeof(*back));
	struct disc_entry *e = calloc(2, sizeof(*e));

	memcpy(wire, data, size < sizeof(*wire) ? size : sizeof(*wire));
	if (!disc_entry_parse(wire, &e[0])) {
		disc_entry_build(&e[0], back);
		if (disc_entry_parse(back, &e[1]) || memcmp(&e[0], &e[1], sizeof(*e)))
			abort();
	}
	if (!*trtype_name(e->trtype) || !*adrfam_name(e->adrfam) || !*subtype_name(e->subtype) || !*treq_name(e->treq))
		abort();
	free(wire);
	free(back);
	free(e);
	return 0;
}
