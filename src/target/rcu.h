/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RCU for the namespace tables: liburcu's memb flavour.  Every loop thread is registered while it runs.
 *
 * tag: any address that readers and writer share, for base/tsan.h.
 */
#ifndef NVOF_TARGET_RCU_H
#define NVOF_TARGET_RCU_H

#include <urcu/urcu-memb.h>

#include "base/tsan.h"

static inline void rcu_enter(void)
{
	urcu_memb_read_lock();
}

static inline void rcu_leave(void *tag)
{
	tsan_release(tag);
	urcu_memb_read_unlock();
}

/* Not inside a read section. */
static inline void rcu_wait(void *tag)
{
	urcu_memb_synchronize_rcu();
	tsan_acquire(tag);
}

#endif
