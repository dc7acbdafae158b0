/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "cli/nearest.h"

#define WORD_LEN 40

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int m = a < b ? a : b;

	return m < c ? m : c;
}

/* Letters to insert, delete or replace to make one word of the other (Levenshtein). */
static unsigned int distance(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b);
	unsigned int row[WORD_LEN + 1];

	if (na > WORD_LEN || nb > WORD_LEN)
		return WORD_LEN;
	for (size_t j = 0; j <= nb; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned int diagonal = row[0];

		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= nb; j++) {
			unsigned int up = row[j];

			row[j] = min3(row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = up;
		}
	}
	return row[nb];
}

const char *nearest(const char *word, const char *const *words, size_t nr_words)
{
	const char *best = NULL;
	unsigned int best_distance = (unsigned int)strlen(word) / 3 + 2;

	if (strlen(word) > WORD_LEN)
		return NULL;
	for (size_t i = 0; i < nr_words; i++) {
		unsigned int d = distance(word, words[i]);

		if (d < best_distance) {
			best_distance = d;
			best = words[i];
		}
	}
	return best;
}
