/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"

/* Bytes of the UTF-8 character at s, 1 to 4; 0 when there is none (over-long forms and surrogates included). */
static size_t char_len(const unsigned char *s)
{
	static const uint32_t first[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
	uint32_t code = len > 1 ? s[0] & (0x7fu >> len) : s[0];

	for (size_t i = 1; i < len; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < first[len] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	/* C0 and C1 control characters and DEL move a terminal's cursor, or worse. */
	return code < 0x20 || (code >= 0x7f && code < 0xa0) ? 0 : len;
}

char *text_clean(char *text)
{
	for (char *at = text; *at;) {
		size_t len = char_len((const unsigned char *)at);

		if (!len)
			*at = '?';
		at += len ? len : 1;
	}
	return text;
}

json_object *text_json(const char *text)
{
	char *copy = strdup(text);
	json_object *o;

	if (!copy)
		abort();
	o = json_object_new_string(text_clean(copy));
	free(copy);
	return o;
}

json_object *decimals_json(double value, int decimals)
{
	char text[400]; /* DBL_MAX has 309 digits */

	snprintf(text, sizeof(text), "%.*f", decimals, value);
	return json_object_new_double_s(value, text);
}

json_object *number_json(double value)
{
	return decimals_json(value, 3);
}
