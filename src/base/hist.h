/* SPDX-License-Identifier: BSD-3-Clause */
/* A log-linear histogram of 64-bit values (1.6 % resolution, fixed size): latencies in bench and traces. */
#ifndef NVOF_BASE_HIST_H
#define NVOF_BASE_HIST_H

#include <stdint.h>

#define HIST_SUB_BITS 6
#define HIST_BUCKETS  ((64 - HIST_SUB_BITS + 1) << HIST_SUB_BITS)

struct hist {
	uint64_t n, sum, min, max;
	uint64_t bucket[HIST_BUCKETS];
};

void hist_reset(struct hist *h);
void hist_add(struct hist *h, uint64_t v);
void hist_merge(struct hist *to, const struct hist *from);
/* The value below which the fraction q (0..1) of the samples lies; 0 when empty; q = 1 gives max exactly. */
uint64_t hist_quantile(const struct hist *h, double q);
double hist_mean(const struct hist *h);

#endif
