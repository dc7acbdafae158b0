/* SPDX-License-Identifier: BSD-3-Clause */
/* NQNs, UUIDs and host identity texts: pure checks and conversions. */
#ifndef NVOF_PROTO_NQN_H
#define NVOF_PROTO_NQN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Base spec 4.5: "nqn." + yyyy-mm + "." + reverse domain [":" text] or the uuid form; 1..223 bytes of UTF-8, no control characters.
 * NULL when fine, else a static sentence that says what is wrong. */
const char *nqn_check(const char *nqn);
/* The same without the form: 1..223 bytes of UTF-8, no control characters.  Subsystems with other names than the spec's form are in use. */
const char *nqn_check_text(const char *nqn);
/* As it stands in a fixed 256-byte wire field: NULL and *len when terminated in time and nqn_check() passes. */
const char *nqn_check_wire(const char field[256], size_t *len);
/* The uuid of "nqn.2014-08.org.nvmexpress:uuid:XXXXXXXX-...": true and 16 bytes in network order. */
bool nqn_uuid(const char *nqn, uint8_t uuid[16]);
bool uuid_parse_text(const char *text, uint8_t uuid[16]); /* with or without dashes, any case */
void uuid_format(const uint8_t uuid[16], char text[37]);
/* Copies a fixed wire field that may lack its NUL and be padded by spaces or NULs (C054); returns dst.  dst has len + 1 bytes. */
char *wire_text(char *dst, const char *field, size_t len);

#endif
