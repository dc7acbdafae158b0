/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts that others chose (a peer's, an argument's), made fit for a terminal and for JSON; and numbers for JSON. */
#ifndef NVOF_CLI_TEXT_H
#define NVOF_CLI_TEXT_H

#include <json-c/json.h>

/* Puts '?' in the place of control characters and of bytes that are not UTF-8.  In place; returns text. */
char *text_clean(char *text);
/* A cleaned copy as a JSON string. */
json_object *text_json(const char *text);
/* With so many decimals. */
json_object *decimals_json(double value, int decimals);
/* With three. */
json_object *number_json(double value);

#endif
