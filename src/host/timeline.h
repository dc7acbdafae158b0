/* SPDX-License-Identifier: BSD-3-Clause */
/* The timeline of a set-up: which queue was in which state from when to when. */
#ifndef NVOF_HOST_TIMELINE_H
#define NVOF_HOST_TIMELINE_H

#include <nvof/nvof.h>

struct timeline {
	struct nvof_span *spans; /* owned; end_us is -1 while a span is open */
	uint32_t nr, room;
	uint64_t start; /* ns: the zero of its times */
};

void timeline_start(struct nvof_ctrl *ctrl);
/* Opens a span; state is a static text.  Returns its 1's based place, 0 when memory ran out. */
uint32_t timeline_begin(struct nvof_ctrl *ctrl, uint16_t qid, const char *state);
void timeline_end(struct nvof_ctrl *ctrl, uint32_t place); /* 0, or one that is closed already: nothing */
/* The set-up is over: closes what is open and sorts by qid and start.  Places from before mean nothing any more. */
void timeline_finish(struct nvof_ctrl *ctrl);
double timeline_now_us(const struct nvof_ctrl *ctrl);

#endif
