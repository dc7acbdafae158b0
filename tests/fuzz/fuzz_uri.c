/* SPDX-License-Identifier: BSD-3-Clause */
/* Any text is an address or a refusal with a sentence; what was taken keeps what the header promises. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/nqn.h"
#include "proto/uri.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_accepted(const struct nvof_uri *uri)
{
	uint16_t port;
	uint32_t i;

	if (uri->trsvcid && (!uri->traddr || trsvcid_parse(uri->trsvcid, &port)))
		abort();
	if (!strcmp(uri->transport, "loop") ? uri->traddr != NULL : !uri->traddr || !*uri->traddr)
		abort();
	if (uri->subsysnqn && nqn_check_text(uri->subsysnqn))
		abort();
	if (uri->nsid && !uri->subsysnqn)
		abort();
	for (i = 0; i < uri->nr_options; i++)
		if (!*uri->keys[i] || !uri->values[i])
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct nvof_uri uri;
	const char *why;
	uint16_t port;

	memcpy(text, data, size);
	text[size] = '\0';
	if (!nvof_uri_parse(text, &uri, &why))
		check_accepted(&uri);
	else if (!why || uri.traddr || uri.keys)
		abort();
	nvof_uri_clear(&uri);
	if (!trsvcid_parse(text, &port) && !port)
		abort();
	free(text);
	return 0;
}
