/* SPDX-License-Identifier: BSD-3-Clause */
#include "target/fault.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "target/fault_rule.h"

#define load_acquire(p)	  __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define add_relaxed(p, n) __atomic_fetch_add((p), (n), __ATOMIC_RELAXED)

void fault_set_init(struct fault_set *set)
{
	set->head = NULL;
	set->readers = 0;
}

int fault_set_add(struct fault_set *set, const char *spec, uint64_t now_ns, struct error *err)
{
	struct fault_rule *r = fault_rule_parse(spec, err);
	struct fault_rule **tail;

	if (!r)
		return err->code;
	r->start_ns = now_ns;
	for (tail = &set->head; *tail; tail = &(*tail)->next)
		;
	__atomic_store_n(tail, r, __ATOMIC_RELEASE);
	return 0;
}

void fault_set_clear(struct fault_set *set)
{
	struct fault_rule *r = set->head, *next;

	/*
	 * A match announces itself before it loads head (both sequentially consistent): once head is NULL and readers was seen at zero,
	 * whoever comes later finds nothing.  No grace period of an RCU domain is needed, so any thread may match, registered or not.
	 */
	__atomic_store_n(&set->head, NULL, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&set->readers, __ATOMIC_SEQ_CST))
		sched_yield();
	for (; r; r = next) {
		next = r->next;
		free(r);
	}
}

static bool rule_selects(const struct fault_rule *r, const struct fault_event *ev)
{
	if (r->point != ev->point)
		return false;
	if (r->qid_kind == FAULT_QID_IO && !ev->qid)
		return false;
	if (r->qid_kind == FAULT_QID_ONE && ev->qid != r->qid)
		return false;
	if (r->has_opcode && ev->opcode != r->opcode)
		return false;
	if (r->has_fctype && ev->fctype != r->fctype)
		return false;
	return !r->has_nsid || ev->nsid == r->nsid;
}

/* What remains of the window now, 0 outside of it. */
static uint64_t window_left(const struct fault_rule *r, uint64_t now_ns)
{
	uint64_t at = now_ns > r->start_ns ? (now_ns - r->start_ns) % r->every_ns : 0;

	return at < r->for_ns ? r->for_ns - at : 0;
}

/* A number in [0, 1) that depends on n alone: the same rule hits the same events in each run. */
static double hash_unit(uint64_t n)
{
	n += UINT64_C(0x9e3779b97f4a7c15) * (n + 1);
	n = (n ^ (n >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	n = (n ^ (n >> 27)) * UINT64_C(0x94d049bb133111eb);
	n ^= n >> 31;
	return (double)(n >> 11) * 0x1.0p-53;
}

/* Counts the event; true when the rule acts on it, with what it delays by. */
static bool rule_acts(struct fault_rule *r, const struct fault_event *ev, uint64_t *delay_ns)
{
	uint64_t left = 0, n;

	if (r->every_ns) {
		left = window_left(r, ev->now_ns);
		if (!left)
			return false;
	}
	n = add_relaxed(&r->seen, 1);
	if (n < r->after)
		return false;
	if (r->prob > 0 && hash_unit(n) >= r->prob)
		return false;
	if (add_relaxed(&r->acted, 1) >= r->count && r->count) {
		__atomic_fetch_sub(&r->acted, 1, __ATOMIC_RELAXED);
		return false;
	}
	*delay_ns = r->stall ? left : r->action.delay_ns;
	return true;
}

struct fault_action fault_match_slow(const struct fault_set *cset, const struct fault_event *ev)
{
	struct fault_set *set = (struct fault_set *)cset; /* only the counters change */
	struct fault_action sum = { 0 };
	struct fault_rule *r;

	__atomic_fetch_add(&set->readers, 1, __ATOMIC_SEQ_CST);
	r = __atomic_load_n(&set->head, __ATOMIC_SEQ_CST);
	for (; r; r = load_acquire(&r->next)) {
		uint64_t delay_ns;

		if (!rule_selects(r, ev) || !rule_acts(r, ev, &delay_ns))
			continue;
		sum.delay_ns += delay_ns;
		if (sum.drop || sum.ignore || sum.status)
			continue;
		sum.drop = r->action.drop;
		sum.ignore = r->action.ignore;
		sum.status = r->action.status;
	}
	__atomic_fetch_sub(&set->readers, 1, __ATOMIC_RELEASE);
	return sum;
}

void fault_set_foreach(const struct fault_set *set, void (*fn)(void *arg, const char *spec, uint64_t seen, uint64_t acted), void *arg)
{
	struct fault_rule *r;

	for (r = load_acquire(&set->head); r; r = load_acquire(&r->next))
		fn(arg, r->spec, __atomic_load_n(&r->seen, __ATOMIC_RELAXED), __atomic_load_n(&r->acted, __ATOMIC_RELAXED));
}
