/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes are a configuration or a refusal with a sentence; what is read keeps what it promises. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "target/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = { 0 };
	struct config c;
	size_t i, j;

	if (config_parse((const char *)data, size, &c, NULL, &err)) {
		if (!err.code || c.root)
			abort();
		error_clear(&err);
		return 0;
	}
	for (i = 0; i < c.nr_subsys; i++) {
		if (!c.subsys[i].nqn || c.subsys[i].cntlid_min > c.subsys[i].cntlid_max)
			abort();
		for (j = 0; j < c.subsys[i].nr_ns; j++)
			if (!c.subsys[i].ns[j].nsid || !c.subsys[i].ns[j].backend ||
			    (j && c.subsys[i].ns[j].nsid <= c.subsys[i].ns[j - 1].nsid))
				abort();
	}
	for (i = 0; i < c.nr_ports; i++)
		if (!c.ports[i].spec)
			abort();
	config_clear(&c);
	return 0;
}
