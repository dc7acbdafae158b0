/* SPDX-License-Identifier: BSD-3-Clause */
/* Any text is a fault rule or a refusal with a sentence; a rule that was taken can be matched. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "target/fault.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *spec = malloc(size + 1);
	struct error err = { 0 };
	struct fault_set set;
	int point;

	memcpy(spec, data, size);
	spec[size] = '\0';
	fault_set_init(&set);
	if (fault_set_add(&set, spec, 1000, &err)) {
		if (!err.code || fault_any(&set))
			abort();
	} else {
		for (point = FAULT_ACCEPT; point <= FAULT_IO; point++) {
			struct fault_event ev = { .point = (enum fault_point)point,
						  .qid = (uint16_t)(point == FAULT_IO),
						  .opcode = 2,
						  .nsid = 1,
						  .now_ns = 1000 };
			struct fault_action a = fault_match(&set, &ev);

			if (a.drop + a.ignore + !!a.status > 1 || a.status & 0x8000)
				abort();
		}
	}
	fault_set_clear(&set);
	error_clear(&err);
	free(spec);
	return 0;
}
