/* SPDX-License-Identifier: BSD-3-Clause */
/* A line on stderr that tells how far long work is; nothing at all when stderr is no terminal. */
#ifndef NVOF_CLI_PROGRESS_H
#define NVOF_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *what;
	uint64_t total, start_ns, shown_ns;
	bool on, shown;
};

void progress_start(struct progress *p, const char *what, uint64_t total_bytes);
/* Cheap enough to be called for each chunk: shows at most five lines a second. */
void progress_update(struct progress *p, uint64_t done_bytes);
/* Any other text on the same line, such as a rate. */
void progress_say(struct progress *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Takes the line away. */
void progress_end(struct progress *p);
/* "1.53 GiB", "12.0 MiB"; buf of 16 bytes always suffices */
const char *bytes_text(double bytes, char buf[16]);

#endif
