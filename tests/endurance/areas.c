/* SPDX-License-Identifier: BSD-3-Clause */
#include "areas.h"

#include <stdio.h>
#include <string.h>

/* The beginning of each block; the rest is one byte, over and over. */
struct mark {
	uint32_t area, nr, block;
};

void areas_init(struct area areas[NR_AREAS])
{
	/* Smaller and larger than what goes in a capsule, and than what is received straight into its place. */
	static const uint32_t lens[] = { 512, 4096, 36u << 10, AREA_MAX };
	uint64_t slba = 0;

	for (uint32_t i = 0; i < NR_AREAS; i++) {
		areas[i] = (struct area){ .slba = slba, .len = lens[i % 4] };
		slba += areas[i].len / AREA_BLOCK;
	}
}

static uint8_t filling(const struct mark *m)
{
	return (uint8_t)(m->area * 31 + m->nr * 7 + m->block);
}

void area_fill(const struct area *areas, uint32_t i, uint32_t nr, uint8_t *buf)
{
	for (uint32_t block = 0; block < areas[i].len / AREA_BLOCK; block++, buf += AREA_BLOCK) {
		struct mark m = { i, nr, block };

		memcpy(buf, &m, sizeof(m));
		memset(buf + sizeof(m), filling(&m), AREA_BLOCK - sizeof(m));
	}
}

const char *area_check(const struct area *areas, uint32_t i, const uint8_t *buf)
{
	static _Thread_local char text[160];
	const struct area *s = &areas[i];

	for (uint32_t block = 0; block < s->len / AREA_BLOCK; block++, buf += AREA_BLOCK) {
		const uint8_t *rest = buf + sizeof(struct mark);
		struct mark m;

		memcpy(&m, buf, sizeof(m));
		if (m.area != i || m.block != block || m.nr < s->acked || m.nr > s->latest) {
			snprintf(text, sizeof(text), "area %u block %u holds write %u of area %u block %u; wanted write %u to %u", i, block,
				 m.nr, m.area, m.block, s->acked, s->latest);
			return text;
		}
		if (*rest != filling(&m) || memcmp(rest, rest + 1, AREA_BLOCK - sizeof(m) - 1)) {
			snprintf(text, sizeof(text), "area %u block %u: write %u is there in part", i, block, m.nr);
			return text;
		}
	}
	return NULL;
}
