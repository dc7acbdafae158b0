/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "host/ctrl.h"
#include "host/timeline.h"

double timeline_now_us(const struct nvof_ctrl *ctrl)
{
	/* The clock, not loop_now(): several states may pass in one turn. */
	return (double)(clock_ns() - ctrl->timeline.start) / 1000.0;
}

void timeline_start(struct nvof_ctrl *ctrl)
{
	ctrl->timeline.nr = 0;
	ctrl->timeline.start = clock_ns();
}

uint32_t timeline_begin(struct nvof_ctrl *ctrl, uint16_t qid, const char *state)
{
	struct timeline *t = &ctrl->timeline;

	if (t->nr == t->room) {
		uint32_t room = t->room ? t->room * 2 : 32;
		struct nvof_span *spans = realloc(t->spans, room * sizeof(*spans));

		if (!spans)
			return 0;
		t->spans = spans;
		t->room = room;
	}
	t->spans[t->nr] = (struct nvof_span){ .qid = qid, .state = state, .start_us = timeline_now_us(ctrl), .end_us = -1 };
	return ++t->nr;
}

void timeline_end(struct nvof_ctrl *ctrl, uint32_t place)
{
	struct timeline *t = &ctrl->timeline;

	if (place && place <= t->nr && t->spans[place - 1].end_us < 0)
		t->spans[place - 1].end_us = timeline_now_us(ctrl);
}

static int by_qid_and_start(const void *a, const void *b)
{
	const struct nvof_span *x = a, *y = b;

	if (x->qid != y->qid)
		return x->qid < y->qid ? -1 : 1;
	return (x->start_us > y->start_us) - (x->start_us < y->start_us);
}

void timeline_finish(struct nvof_ctrl *ctrl)
{
	struct timeline *t = &ctrl->timeline;
	uint32_t i;

	for (i = 1; i <= t->nr; i++)
		timeline_end(ctrl, i);
	if (t->nr)
		qsort(t->spans, t->nr, sizeof(*t->spans), by_qid_and_start);
}

size_t nvof_ctrl_timeline(const struct nvof_ctrl *ctrl, const struct nvof_span **spans)
{
	*spans = ctrl->timeline.spans;
	return ctrl->timeline.nr;
}
