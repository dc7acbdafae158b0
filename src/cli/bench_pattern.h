/* SPDX-License-Identifier: BSD-3-Clause */
/* What --verify writes: blocks that tell which block they are and by which seed, and whose every byte is known. */
#ifndef NVOF_CLI_BENCH_PATTERN_H
#define NVOF_CLI_BENCH_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* block_len: a multiple of 512 */
void pattern_fill(void *buf, uint64_t lba, uint32_t nr_blocks, uint32_t block_len, uint64_t seed);
/* True when all is as pattern_fill() made it; else why: a sentence about the first block that is not. */
bool pattern_check(const void *buf, uint64_t lba, uint32_t nr_blocks, uint32_t block_len, uint64_t seed, char *why, size_t why_len);

#endif
