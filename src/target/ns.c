// SPDX-License-Identifier: BSD-3-Clause
/*
 * The table of namespaces and the references that I/O holds.
 *
 * The table is read under RCU on every command.  References are counted per thread, so that the I/O path writes no line another thread
 * writes; who removes a namespace takes it out of the table, waits for a grace period (no reader can find it any more) and then adds the
 * counts up: from there on they only fall.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "target/rcu.h"
#include "target/target.h"

#define RETIRED_MAX 16 /* tables that wait for a grace period before one is worth the time */

struct ns_table *ns_table_new(uint32_t room)
{
	struct ns_table *table = calloc(1, sizeof(*table) + room * sizeof(table->slots[0]));

	if (table)
		table->room = room;
	return table;
}

/* The place of nsid, or where it would be inserted. */
static uint32_t ns_table_pos(const struct ns_table *table, uint32_t nr, uint32_t nsid)
{
	uint32_t lo = 0, hi = nr;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (table->slots[mid].nsid < nsid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint32_t ns_table_nr(const struct ns_table *table)
{
	return __atomic_load_n(&table->nr, __ATOMIC_ACQUIRE);
}

struct target_ns *ns_table_find(const struct ns_table *table, uint32_t nsid)
{
	uint32_t nr = ns_table_nr(table), pos = nsid - 1;

	/* Ids without gaps, the usual case, are where one expects them. */
	if (pos >= nr || table->slots[pos].nsid != nsid)
		pos = ns_table_pos(table, nr, nsid);
	return pos < nr && table->slots[pos].nsid == nsid ? table->slots[pos].ns : NULL;
}

uint32_t ns_table_after(const struct ns_table *table, uint32_t nsid)
{
	uint32_t nr = ns_table_nr(table);

	return nsid == UINT32_MAX ? nr : ns_table_pos(table, nr, nsid + 1);
}

struct ns_table *target_ns_table(const struct target_subsys *s)
{
	return __atomic_load_n(&s->table, __ATOMIC_ACQUIRE);
}

static void ns_table_publish(struct target_subsys *s, struct ns_table *table)
{
	struct ns_table *old = s->table;

	__atomic_store_n(&s->table, table, __ATOMIC_RELEASE);
	old->retired = s->retired;
	s->retired = old;
	s->nr_retired++;
}

void ns_table_reap(struct target_subsys *s)
{
	struct ns_table *table;

	rcu_wait(s);
	while ((table = s->retired)) {
		s->retired = table->retired;
		free(table);
	}
	s->nr_retired = 0;
}

int ns_table_insert(struct target_subsys *s, struct target_ns *ns)
{
	struct ns_table *old = s->table, *table = old;
	uint32_t nr = old->nr, pos = ns_table_pos(old, nr, ns->nsid);

	if (pos != nr || nr == old->room) {
		table = ns_table_new(nr == old->room ? 2 * nr + 8 : old->room);
		if (!table)
			return -ENOMEM;
		memcpy(table->slots, old->slots, pos * sizeof(old->slots[0]));
		memcpy(table->slots + pos + 1, old->slots + pos, (nr - pos) * sizeof(old->slots[0]));
	}
	table->slots[pos] = (struct ns_slot){ .nsid = ns->nsid, .ns = ns };
	__atomic_store_n(&table->nr, nr + 1, __ATOMIC_RELEASE);
	if (table != old)
		ns_table_publish(s, table);
	if (s->nr_retired > RETIRED_MAX)
		ns_table_reap(s);
	return 0;
}

int ns_table_remove(struct target_subsys *s, uint32_t nsid)
{
	struct ns_table *old = s->table, *table;
	uint32_t nr = old->nr, pos = ns_table_pos(old, nr, nsid);

	if (pos == nr || old->slots[pos].nsid != nsid)
		return -ENOENT;
	table = ns_table_new(nr - 1);
	if (!table)
		return -ENOMEM;
	memcpy(table->slots, old->slots, pos * sizeof(old->slots[0]));
	memcpy(table->slots + pos, old->slots + pos + 1, (nr - 1 - pos) * sizeof(old->slots[0]));
	table->nr = nr - 1;
	ns_table_publish(s, table);
	ns_table_reap(s);
	return 0;
}

struct ns_table *ns_table_take(struct target_subsys *s, struct ns_table *empty)
{
	struct ns_table *old = s->table;

	__atomic_store_n(&s->table, empty, __ATOMIC_RELEASE);
	ns_table_reap(s);
	return old;
}

/* A thread's counts are written by itself alone; others only read them. */
static inline void count(uint64_t *n, uint64_t by)
{
	__atomic_store_n(n, *n + by, __ATOMIC_RELEASE);
}

bool target_ns_get(struct target_req *req, struct target_subsys *s, uint32_t nsid)
{
	struct target_ns *ns;
	uint8_t epoch;

	rcu_enter();
	ns = ns_table_find(target_ns_table(s), nsid);
	if (ns) {
		epoch = __atomic_load_n(&ns->epoch, __ATOMIC_RELAXED);
		count(&ns->uses[req->queue->thread->index].refs[epoch], 1);
		req->ns = ns;
		req->ns_epoch = epoch;
	}
	rcu_leave(s);
	return ns;
}

void target_ns_put(struct target_req *req)
{
	struct target_ns *ns = req->ns;

	if (!ns)
		return;
	req->ns = NULL;
	count(&ns->uses[req->queue->thread->index].refs[req->ns_epoch], -UINT64_C(1));
}

/*
 * The read section makes it exact: once the remover's grace period is over, whoever saw a living namespace has counted itself.
 */
bool target_ns_busy(struct target_req *req)
{
	struct target_ns *ns = req->ns;
	bool dying;

	rcu_enter();
	dying = __atomic_load_n(&ns->dying, __ATOMIC_ACQUIRE);
	if (!dying)
		count(&ns->uses[req->queue->thread->index].busy, 1);
	rcu_leave(ns->subsys);
	return !dying;
}

void target_ns_idle(struct target_req *req)
{
	count(&req->ns->uses[req->queue->thread->index].busy, -UINT64_C(1));
}

uint64_t target_ns_refs(const struct target_ns *ns, int epoch)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < ns->nr_uses; i++)
		sum += __atomic_load_n(&ns->uses[i].refs[epoch], __ATOMIC_ACQUIRE);
	return sum;
}

uint64_t target_ns_nr_busy(const struct target_ns *ns)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < ns->nr_uses; i++)
		sum += __atomic_load_n(&ns->uses[i].busy, __ATOMIC_ACQUIRE);
	return sum;
}
