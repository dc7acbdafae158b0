/* SPDX-License-Identifier: BSD-3-Clause */
/* Fields of a wire structure by table, printed under nvme-cli's names; and bytes as a dump. */
#ifndef NVOF_CLI_FIELDS_H
#define NVOF_CLI_FIELDS_H

#include <json-c/json.h>
#include <stddef.h>
#include <stdint.h>

enum field_kind { FIELD_DEC, FIELD_HEX, FIELD_TEXT, FIELD_ID /* bytes as hexadecimal digits */ };

struct field {
	const char *name; /* NULL ends the table */
	enum field_kind kind;
	uint16_t offset, size; /* little-endian numbers of up to 8 bytes; of 16, if the upper half is zero */
};

#define FIELD(type, member, kind)                                                     \
	{                                                                             \
#member, kind, offsetof(type, member), sizeof(((type *)NULL)->member) \
	}

void fields_print(const struct field *fields, const void *data);
void fields_json(const struct field *fields, const void *data, json_object *to);
/* n bytes as 2 * n lower-case digits and a NUL; returns text */
char *hex_text(const uint8_t *bytes, size_t n, char *text);
/* As nvme-cli shows buffers: offset, 16 bytes, characters. */
void hex_dump(const uint8_t *bytes, size_t n);

#endif
