/* SPDX-License-Identifier: BSD-3-Clause */
/* TRADDR as text: one address has many spellings. */
#ifndef NVOF_PROTO_TRADDR_H
#define NVOF_PROTO_TRADDR_H

#include <stdbool.h>

/*
 * The same address, however spelled (C062): ::1 and 0:0:0:0:0:0:0:1, upper and lower case, in brackets or not, ::ffff:127.0.0.1 and
 * 127.0.0.1.  Scopes must be the same text.  What is no IP address is compared as text, in any case.
 */
bool traddr_equal(const char *a, const char *b);

/* An IPv6 address, in brackets or not, with a scope or without. */
bool traddr_is_ip6(const char *text);

#endif
