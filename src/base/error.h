/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An error: a code for programs and a sentence for people.
 *
 * The code is 0 (none), a negative errno, or a positive NVMe status (SCT << 8 | SC, with DNR 0x4000 and More 0x2000 as in the CQE's
 * status field shifted right by one).  The sentence says what was tried, on what, and what came back.
 */
#ifndef NVOF_BASE_ERROR_H
#define NVOF_BASE_ERROR_H

#include <stdarg.h>

struct error {
	int code;
	char *msg; /* owned; NULL when code is 0 or memory ran out (error_msg() then still has a text) */
};

/* Sets code and sentence.  The FIRST error is kept: a call on an error that is already set changes nothing.  Returns err->code. */
int error_set(struct error *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int error_vset(struct error *err, int code, const char *fmt, va_list ap);
/* Puts "what: " before the sentence of a set error ("connect qid 3 to 192.0.2.7:4420: ..."). */
void error_prefix(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void error_move(struct error *to, struct error *from); /* to must be clear or is replaced; from becomes clear */
void error_copy(struct error *to, const struct error *from);
void error_clear(struct error *err);
const char *error_msg(const struct error *err); /* never NULL */

#endif
