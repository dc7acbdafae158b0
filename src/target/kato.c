// SPDX-License-Identifier: BSD-3-Clause
/*
 * Keep alive, traffic based: each command counts.  The timer looks once per period whether there was any; a silent host is noticed after
 * one to two periods.  Time in which nobody listened to the host does not count (still.c).
 */
#include "target/target.h"

static void kato_arm(struct target_ctrl *c, uint64_t due)
{
	c->kato_due = due;
	timer_set(c->admin->loop, &c->kato, due);
}

static void kato_arm_anew(struct target_ctrl *c)
{
	kato_arm(c, loop_now(c->admin->loop) + c->kato_ms * NSEC_PER_MSEC);
}

static void kato_look(struct timer *timer)
{
	struct target_ctrl *c = container_of(timer, struct target_ctrl, kato);

	target_still_look(c->admin->thread);
	if (c->admin->closing || timer_armed(timer))
		return; /* it stood still, and this is settled */
	if (__atomic_exchange_n(&c->traffic, false, __ATOMIC_RELAXED)) {
		kato_arm_anew(c);
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
	uint32_t rounded = kato_ms > max ? max : (kato_ms + unit - 1) / unit * unit;

	target_kato_stop(c);
	__atomic_store_n(&c->kato_ms, rounded, __ATOMIC_RELAXED);
	if (rounded)
		kato_arm_anew(c);
	target_still_watch(c->admin);
}

void target_kato_extend(struct target_ctrl *c, uint64_t ns)
{
	if (c->kato_ms)
		kato_arm(c, c->kato_due + ns);
}

void target_kato_stop(struct target_ctrl *c)
{
	timer_cancel(c->admin->loop, &c->kato);
}
