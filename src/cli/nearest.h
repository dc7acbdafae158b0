/* SPDX-License-Identifier: BSD-3-Clause */
/* "Did you mean": the word of a list that is nearest to a mistyped one. */
#ifndef NVOF_CLI_NEAREST_H
#define NVOF_CLI_NEAREST_H

#include <stddef.h>

/* NULL when none is near enough to be meant. */
const char *nearest(const char *word, const char *const *words, size_t nr_words);

#endif
