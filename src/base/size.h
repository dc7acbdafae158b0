/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes and durations as people type them. */
#ifndef NVOF_BASE_SIZE_H
#define NVOF_BASE_SIZE_H

#include <stdint.h>

/* "4096", "4k", "64M", "1G", "1T": bytes, suffixes of either case are powers of 1024 ("KiB" and "kB" spellings are not taken).
 * 0, or -EINVAL / -ERANGE and *why a static sentence; why may be NULL. */
int size_parse(const char *text, uint64_t *bytes, const char **why);
/* "5ms", "20us", "1s", "100ns": a whole number and its unit.  0, or -EINVAL / -ERANGE and *why as above. */
int duration_parse(const char *text, uint64_t *ns, const char **why);
/* The shortest exact form: 65536 -> "64K", 4097 -> "4097".  buf of 24 bytes always suffices; returns buf. */
char *size_format(uint64_t bytes, char buf[24]);

#endif
