/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/util.h"
#include "cli/fields.h"
#include "cli/text.h"
#include "proto/nqn.h"

#define TEXT_MAX 256

static uint64_t number(const struct field *field, const uint8_t *at)
{
	uint64_t v = 0;

	for (size_t i = min_size(field->size, 8); i > 0; i--)
		v = v << 8 | at[i - 1];
	return v;
}

static const char *text(const struct field *field, const uint8_t *at, char buf[2 * TEXT_MAX + 1])
{
	if (field->kind == FIELD_ID)
		return hex_text(at, field->size, buf);
	return text_clean(wire_text(buf, (const char *)at, min_size(field->size, TEXT_MAX)));
}

void fields_print(const struct field *fields, const void *data)
{
	char buf[2 * TEXT_MAX + 1];

	for (; fields->name; fields++) {
		const uint8_t *at = (const uint8_t *)data + fields->offset;

		if (fields->kind == FIELD_DEC)
			printf("%-10s: %" PRIu64 "\n", fields->name, number(fields, at));
		else if (fields->kind == FIELD_HEX)
			printf("%-10s: %#" PRIx64 "\n", fields->name, number(fields, at));
		else
			printf("%-10s: %s\n", fields->name, text(fields, at, buf));
	}
}

void fields_json(const struct field *fields, const void *data, json_object *to)
{
	char buf[2 * TEXT_MAX + 1];

	for (; fields->name; fields++) {
		const uint8_t *at = (const uint8_t *)data + fields->offset;
		json_object *value;

		if (fields->kind == FIELD_DEC || fields->kind == FIELD_HEX)
			value = json_object_new_uint64(number(fields, at));
		else
			value = json_object_new_string(text(fields, at, buf));
		json_object_object_add(to, fields->name, value);
	}
}

char *hex_text(const uint8_t *bytes, size_t n, char *to)
{
	for (size_t i = 0; i < n; i++)
		sprintf(to + 2 * i, "%02x", bytes[i]);
	to[2 * n] = 0;
	return to;
}

void hex_dump(const uint8_t *bytes, size_t n)
{
	printf("       0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f\n");
	for (size_t at = 0; at < n; at += 16) {
		size_t line = min_size(16, n - at);

		printf("%04zx:", at);
		for (size_t i = 0; i < 16; i++)
			if (i < line)
				printf(" %02x", bytes[at + i]);
			else
				printf("   ");
		printf(" \"");
		for (size_t i = 0; i < line; i++)
			putchar(isprint(bytes[at + i]) ? bytes[at + i] : '.');
		printf("\"\n");
	}
}
