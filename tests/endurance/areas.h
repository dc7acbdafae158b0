/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a namespace must hold: it is cut into areas of several sizes, each written and read as a whole by one operation at a time.  Every
 * write of an area has a number, and its blocks carry it.
 *
 * A write that was not acknowledged may have happened or not: an area may show the last write that was acknowledged or any later one.
 */
#ifndef NVOF_TESTS_ENDURANCE_AREAS_H
#define NVOF_TESTS_ENDURANCE_AREAS_H

#include <stdbool.h>
#include <stdint.h>

#define NR_AREAS      512
#define AREA_MAX      (128u << 10)
#define AREA_BLOCK    512u
#define AREAS_BACKEND "mem:32M" /* room for all */

struct area {
	uint64_t slba;
	uint32_t len;
	uint32_t acked, latest; /* numbers of writes */
	bool busy;
};

void areas_init(struct area areas[NR_AREAS]);
/* The data of its write nr. */
void area_fill(const struct area *areas, uint32_t i, uint32_t nr, uint8_t *buf);
/* NULL, or what is wrong with what was read. */
const char *area_check(const struct area *areas, uint32_t i, const uint8_t *buf);

#endif
