// SPDX-License-Identifier: BSD-3-Clause
/* Namespaces go while hosts use them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "target/backend.h"
#include "target/ns_admin.h"
#include "target/target.h"

#define HOST_WAIT_NS (100 * NSEC_PER_MSEC) /* for data that is on its way to a host, before the namespace's memory is left to it */

static void ns_wait_idle(struct target_ns *ns)
{
	struct timespec ts = { .tv_nsec = 100000 };

	while (target_ns_nr_busy(ns)) {
		nanosleep(&ts, NULL);
		if (ts.tv_nsec < 5000000)
			ts.tv_nsec *= 2;
	}
}

bool target_ns_wait_refs(struct target_ns *ns, int epoch, uint64_t limit_ns)
{
	struct timespec ts = { .tv_nsec = 100000 };
	uint64_t deadline = clock_ns() + limit_ns;

	while (target_ns_refs(ns, epoch)) {
		if (clock_ns() >= deadline)
			return false;
		nanosleep(&ts, NULL);
		if (ts.tv_nsec < 5000000)
			ts.tv_nsec *= 2;
	}
	return true;
}

/*
 * Out of the table, and the grace period is over.  I/O in the backend is waited for; data that a slow host does not take (or does not
 * send) is not: then the namespace lives on, invisible, until that ended.
 */
static void ns_bury(struct target_ns *ns, uint64_t wait_ns)
{
	ns_wait_idle(ns);
	if (target_ns_wait_refs(ns, 0, wait_ns) && target_ns_wait_refs(ns, 1, wait_ns))
		target_ns_free(ns);
	else
		cds_list_add_tail(&ns->link, &ns->subsys->target->zombies);
}

static void ns_condemn(struct target_ns *ns, bool dying)
{
	__atomic_store_n(&ns->dying, dying, __ATOMIC_SEQ_CST);
	if (ns->backend->ops->volatile_cache)
		__atomic_add_fetch(&ns->subsys->nr_volatile, dying ? -1 : 1, __ATOMIC_RELAXED);
}

int target_remove_ns(struct nvof_target *t, const char *nqn, uint32_t nsid, struct error *err)
{
	struct target_subsys *s = target_subsys_get(t, nqn, err);
	struct target_ns *ns;
	int ret;

	if (!s) {
		error_prefix(err, "remove namespace %u", nsid);
		return err->code;
	}
	ns = ns_table_find(s->table, nsid);
	if (!ns)
		return error_set(err, -ENOENT, "remove namespace %u from %s: there is none", nsid, nqn);
	ns_condemn(ns, true);
	ret = target_fence_going(ns);
	if (!ret)
		ret = ns_table_remove(s, nsid);
	if (ret) {
		ns_condemn(ns, false);
		return error_set(err, ret, "remove namespace %u from %s: %s", nsid, nqn, strerror(-ret));
	}
	target_fence_gone(ns);
	target_ns_changed(s, nsid);
	ns_bury(ns, HOST_WAIT_NS);
	return 0;
}

void target_remove_all_ns(struct target_subsys *s)
{
	struct ns_table *empty, *old;

	if (!s->table->nr)
		return;
	empty = ns_table_new(0);
	if (!empty)
		abort(); /* 16 bytes */
	for (uint32_t i = 0; i < s->table->nr; i++)
		ns_condemn(s->table->slots[i].ns, true);
	old = ns_table_take(s, empty);
	for (uint32_t i = 0; i < old->nr; i++)
		ns_bury(old->slots[i].ns, 0);
	free(old);
}

void target_reap_zombies(struct nvof_target *t, bool wait)
{
	struct target_ns *ns, *next;

	cds_list_for_each_entry_safe (ns, next, &t->zombies, link) {
		if (!target_ns_wait_refs(ns, 0, wait ? UINT64_MAX / 4 : 0) || !target_ns_wait_refs(ns, 1, wait ? UINT64_MAX / 4 : 0))
			continue;
		cds_list_del(&ns->link);
		target_ns_free(ns);
	}
}
