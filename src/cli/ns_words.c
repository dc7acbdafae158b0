/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ns_words.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/fields.h"
#include "proto/nqn.h"

static bool is_zero(const uint8_t *id, size_t len)
{
	static const uint8_t zero[16];

	return !memcmp(id, zero, len);
}

/* The best name a namespace has: "uuid 1234...", "nguid ...", "eui64 ..." or none. */
static void ns_name(const struct nvof_ns *ns, const char **kind, char text[40])
{
	uint8_t id[16];

	nvof_ns_uuid(ns, id);
	*kind = "uuid";
	if (!is_zero(id, 16)) {
		uuid_format(id, text);
		return;
	}
	nvof_ns_nguid(ns, id);
	*kind = "nguid";
	if (!is_zero(id, 16)) {
		hex_text(id, 16, text);
		return;
	}
	nvof_ns_eui64(ns, id);
	*kind = is_zero(id, 8) ? NULL : "eui64";
	hex_text(id, 8, text);
}

void ns_add_json(json_object *to, const struct nvof_ns *ns)
{
	const char *kind;
	char name[40];

	json_object_object_add(to, "nr_blocks", json_object_new_uint64(nvof_ns_nr_blocks(ns)));
	json_object_object_add(to, "block_size", json_object_new_int64(nvof_ns_block_size(ns)));
	ns_name(ns, &kind, name);
	if (kind)
		json_object_object_add(to, kind, json_object_new_string(name));
}

const char *ns_words(const struct nvof_ns *ns, char buf[NS_WORDS_LEN])
{
	const char *kind;
	char name[40];

	ns_name(ns, &kind, name);
	snprintf(buf, NS_WORDS_LEN, "%" PRIu64 " blocks of %u bytes%s%s%s%s", nvof_ns_nr_blocks(ns), nvof_ns_block_size(ns),
		 kind ? ", " : "", kind ? kind : "", kind ? " " : "", kind ? name : "");
	return buf;
}
