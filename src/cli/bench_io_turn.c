/* SPDX-License-Identifier: BSD-3-Clause */
/* bench io: the loop until a time is over, and the end of what is in flight then. */
#include <inttypes.h>

#include "base/util.h"
#include "cli/bench_io_load.h"

#define LOOK_EVERY_NS	(50 * NSEC_PER_MSEC) /* at signals, the progress line, the time when nothing completes */
#define GRACE_NS	(BENCH_GRACE_S * NSEC_PER_SEC)
#define GRACE_SIGNAL_NS NSEC_PER_SEC /* after a signal: the whole must end within 2 s */

static bool new_signal(struct bench *b)
{
	if (!stop_look(&b->stop))
		return false;
	b->r->interrupted = true;
	return true;
}

static void say_progress(struct bench *b)
{
	uint64_t n = b->r->nr_reads + b->r->nr_writes, ns = b->now - b->measure_ns;
	char rate[16];

	if (b->phase == PHASE_READ_BACK)
		progress_say(&b->progress, "reading back, %" PRIu64 " %%", b->back_unit * 100 / b->nr_units);
	else if (!b->measuring || !ns)
		progress_say(&b->progress, "warming up");
	else
		progress_say(&b->progress, "%.0f IOPS, %s/s, %.0f s left", (double)n * NSEC_PER_SEC / (double)ns,
			     bytes_text((double)(n * b->args->bs) * NSEC_PER_SEC / (double)ns, rate),
			     b->end_ns > b->now ? (double)(b->end_ns - b->now) / NSEC_PER_SEC : 0);
}

void bench_turn(struct bench *b, uint64_t until)
{
	uint64_t look = b->now + LOOK_EVERY_NS;

	while (b->nr_flying || b->waiting) {
		uint64_t wake = until ? min_u64(until, look) : look;
		int64_t timeout_us = wake > b->now ? (int64_t)((wake - b->now) / NSEC_PER_USEC) + 1 : 0;
		uint64_t before = b->now;

		/* Something may go on all the time and yet no I/O ends. */
		b->clock_left = 0;
		nvof_ctx_poll(b->c->ctx, b->args->poll ? 0 : timeout_us);
		if (b->now == before)
			b->now = clock_ns();
		if (b->waiting)
			bench_io_retry(b);
		if (until && b->now >= until)
			return;
		if (b->now < look)
			continue;
		look = b->now + LOOK_EVERY_NS;
		if (new_signal(b))
			return;
		say_progress(b);
	}
}

static bool ctrl_reconnects(const struct nvof_ctrl *ctrl)
{
	enum nvof_ctrl_state state = nvof_ctrl_state(ctrl);

	return state == NVOF_CTRL_RESETTING || state == NVOF_CTRL_CONNECTING;
}

/* The library ends what waits for a ctrl that does not come back: how long that takes is the user's to say (--ctrl-loss-tmo). */
static bool reconnecting(const struct conn *c)
{
	bool any = ctrl_reconnects(c->ctrl);

	for (size_t i = 0; i < c->nr_ctrls; i++)
		any |= ctrl_reconnects(c->ctrls[i]);
	return any;
}

static void wait_for_the_rest(struct bench *b)
{
	uint64_t until = b->now + GRACE_NS;
	bool told = false;

	while (b->nr_flying && !b->r->interrupted && b->now < until) {
		bench_turn(b, min_u64(until, b->now + LOOK_EVERY_NS));
		if (!b->nr_flying || !reconnecting(b->c))
			continue;
		until = b->now + GRACE_NS;
		if (!told)
			cli_warn(b->c->cli, "the time is over; %zu I/Os wait for the ctrl, which is being connected to again",
				 b->nr_flying);
		told = true;
	}
}

void bench_drain(struct bench *b)
{
	b->phase = PHASE_STOP;
	b->waiting = NULL;
	b->now = clock_ns();
	wait_for_the_rest(b);
	if (b->r->interrupted)
		bench_turn(b, b->now + GRACE_SIGNAL_NS);
	bench_measure_end(b);
	if (!b->nr_flying)
		return;
	b->r->nr_lost = (unsigned int)b->nr_flying;
	b->given_up = true;
	/* Ends them with -ECANCELED from inside, so that the buffers are ours again. */
	conn_forget(b->c);
	while (b->nr_flying)
		nvof_ctx_poll(b->c->ctx, 0);
}
