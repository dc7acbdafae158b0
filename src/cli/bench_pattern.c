/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "cli/bench_pattern.h"

#define MAGIC  UINT64_C(0x48434e42464f564e) /* "NVOFBNCH" in memory */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

struct header {
	uint64_t magic, lba, seed; /* little-endian */
};
#define HEADER_WORDS (sizeof(struct header) / sizeof(uint64_t))

/* splitmix64's finaliser: neighbours look nothing alike. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static void fill_block(uint64_t *words, uint64_t lba, uint32_t block_len, uint64_t seed)
{
	uint64_t x = mix(lba * GOLDEN + seed);

	words[0] = htole64(MAGIC);
	words[1] = htole64(lba);
	words[2] = htole64(seed);
	for (size_t i = HEADER_WORDS; i < block_len / sizeof(uint64_t); i++)
		words[i] = htole64(x += GOLDEN);
}

void pattern_fill(void *buf, uint64_t lba, uint32_t nr_blocks, uint32_t block_len, uint64_t seed)
{
	for (uint32_t i = 0; i < nr_blocks; i++)
		fill_block((uint64_t *)((char *)buf + (size_t)i * block_len), lba + i, block_len, seed);
}

static void explain(const uint8_t *got, const uint64_t *want, uint64_t lba, uint32_t block_len, uint64_t seed, char *why, size_t len)
{
	struct header h;
	size_t at = 0;

	memcpy(&h, got, sizeof(h));
	if (le64toh(h.magic) != MAGIC)
		snprintf(why, len, "block %" PRIu64 " does not hold what was written: no pattern at all", lba);
	else if (le64toh(h.lba) != lba)
		snprintf(why, len, "block %" PRIu64 " holds the data of block %" PRIu64, lba, le64toh(h.lba));
	else if (le64toh(h.seed) != seed)
		snprintf(why, len, "block %" PRIu64 " was written with seed %" PRIu64 ", not %" PRIu64, lba, le64toh(h.seed), seed);
	else {
		while (at < block_len - 1 && got[at] == ((const uint8_t *)want)[at])
			at++;
		snprintf(why, len, "block %" PRIu64 " differs at byte %zu: %02x is there, %02x was written", lba, at, got[at],
			 ((const uint8_t *)want)[at]);
	}
}

bool pattern_check(const void *buf, uint64_t lba, uint32_t nr_blocks, uint32_t block_len, uint64_t seed, char *why, size_t why_len)
{
	uint64_t want[4096 / sizeof(uint64_t)];

	for (uint32_t i = 0; i < nr_blocks; i++) {
		const uint8_t *got = (const uint8_t *)buf + (size_t)i * block_len;

		fill_block(want, lba + i, block_len, seed);
		if (memcmp(got, want, block_len)) {
			explain(got, want, lba + i, block_len, seed, why, why_len);
			return false;
		}
	}
	return true;
}
