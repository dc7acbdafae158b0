/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values below 2^HIST_SUB_BITS have a bucket each; from there on every power of two is divided into 2^HIST_SUB_BITS buckets of equal width.
 */
#include "base/hist.h"

#include <string.h>

#include "base/util.h"

#define SUB (UINT64_C(1) << HIST_SUB_BITS)

static unsigned int bucket_of(uint64_t v)
{
	unsigned int shift;

	if (v < SUB)
		return (unsigned int)v;
	shift = 63 - (unsigned int)__builtin_clzll(v) - HIST_SUB_BITS;
	return ((shift + 1) << HIST_SUB_BITS) + (unsigned int)((v >> shift) - SUB);
}

/* The largest value that falls into bucket i. */
static uint64_t bucket_top(unsigned int i)
{
	unsigned int shift;

	if (i < SUB)
		return i;
	shift = (i >> HIST_SUB_BITS) - 1;
	return (((i & (SUB - 1)) + SUB) << shift) + ((UINT64_C(1) << shift) - 1);
}

void hist_reset(struct hist *h)
{
	memset(h, 0, sizeof(*h));
}

void hist_add(struct hist *h, uint64_t v)
{
	if (!h->n || v < h->min)
		h->min = v;
	if (v > h->max)
		h->max = v;
	h->n++;
	h->sum += v;
	h->bucket[bucket_of(v)]++;
}

void hist_merge(struct hist *to, const struct hist *from)
{
	unsigned int i;

	if (!from->n)
		return;
	if (!to->n || from->min < to->min)
		to->min = from->min;
	if (from->max > to->max)
		to->max = from->max;
	to->n += from->n;
	to->sum += from->sum;
	for (i = 0; i < HIST_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
}

uint64_t hist_quantile(const struct hist *h, double q)
{
	uint64_t want, seen = 0, top;
	unsigned int i;

	if (!h->n)
		return 0;
	if (!(q > 0))
		return h->min;
	if (q >= 1)
		return h->max;
	want = (uint64_t)(q * (double)h->n);
	if ((double)want < q * (double)h->n)
		want++;
	for (i = 0; i < HIST_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen >= want)
			break;
	}
	if (i == HIST_BUCKETS)
		return h->max;
	top = bucket_top(i);
	return top < h->min ? h->min : min_u64(top, h->max);
}

double hist_mean(const struct hist *h)
{
	return h->n ? (double)h->sum / (double)h->n : 0;
}
