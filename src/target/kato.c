// SPDX-License-Identifier: BSD-3-Clause
/*
 * Keep alive, traffic based: each command counts.  The timer looks once per period whether there was any; a silent host is noticed after
 * one to two periods.
 */
#include "target/target.h"

static void kato_arm(struct target_ctrl *c)
{
	struct loop *loop = c->admin->loop;

	timer_set(loop, &c->kato, loop_now(loop) + c->kato_ms * NSEC_PER_MSEC);
}

static void kato_look(struct timer *timer)
{
	struct target_ctrl *c = container_of(timer, struct target_ctrl, kato);

	if (__atomic_exchange_n(&c->traffic, false, __ATOMIC_RELAXED)) {
		kato_arm(c);
		return;
	}
	log_warn(c->admin->log, "ctrl %u of %s: nothing heard from host %s (%s) for %u ms", c->cntlid, c->subsys->nqn, c->hostnqn,
		 c->admin->peer, c->kato_ms);
	target_queue_fatal(c->admin, "keep alive time-out expired");
}

void target_kato_init(struct target_ctrl *c)
{
	timer_init(&c->kato, kato_look);
}

void target_kato_start(struct target_ctrl *c, uint32_t kato_ms)
{
	const uint32_t unit = TARGET_KAS * 100, max = UINT32_MAX / unit * unit;

	target_kato_stop(c);
	c->kato_ms = kato_ms > max ? max : (kato_ms + unit - 1) / unit * unit;
	if (c->kato_ms)
		kato_arm(c);
}

void target_kato_stop(struct target_ctrl *c)
{
	timer_cancel(c->admin->loop, &c->kato);
}
