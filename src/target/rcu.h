/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RCU for the namespace tables: liburcu's memb flavour.  Every loop thread is registered while it runs.
 *
 * tag: any address that readers and writer share.  liburcu is not instrumented, so the thread sanitizer is told through it that what
 * readers did came before the end of a grace period.
 */
#ifndef NVOF_TARGET_RCU_H
#define NVOF_TARGET_RCU_H

#include <urcu/urcu-memb.h>

#if defined(__SANITIZE_THREAD__)
#define TARGET_RCU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TARGET_RCU_TSAN 1
#endif
#endif

#ifdef TARGET_RCU_TSAN
#include <sanitizer/tsan_interface.h>
#endif

static inline void rcu_enter(void)
{
	urcu_memb_read_lock();
}

static inline void rcu_leave(void *tag)
{
#ifdef TARGET_RCU_TSAN
	__tsan_release(tag);
#else
	(void)tag;
#endif
	urcu_memb_read_unlock();
}

/* Not inside a read section. */
static inline void rcu_wait(void *tag)
{
	urcu_memb_synchronize_rcu();
#ifdef TARGET_RCU_TSAN
	__tsan_acquire(tag);
#else
	(void)tag;
#endif
}

#endif
