/* SPDX-License-Identifier: BSD-3-Clause */
/* What a discovery log says is judged: to be connected to, to be followed, there already, or not for us. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "host/ctrl.h"
#include "host/wave.h"
#include "proto/traddr.h"

#define TREQ_SECURE(treq) ((treq)&3)

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static const char *port_of(const struct wave_place *p, const char *otherwise)
{
	return p->trsvcid ? p->trsvcid : otherwise;
}

/* subsysnqn apart. */
static bool same_address(const struct wave_place *a, const struct wave_place *b, const char *default_port)
{
	if (a->ops != b->ops || !a->traddr != !b->traddr)
		return false;
	return !a->traddr || (!strcmp(port_of(a, default_port), port_of(b, default_port)) && traddr_equal(a->traddr, b->traddr));
}

/* At one address the well-known name means the service that is there, whatever its own name. */
static bool visited(const struct nvof_wave *w, const struct wave_place *place)
{
	const struct wave_visit *v;

	for (v = w->visits; v; v = v->next)
		if (same_address(&v->place, place, "8009") &&
		    (!strcmp(v->place.subsysnqn, place->subsysnqn) || !strcmp(v->place.subsysnqn, NVMF_DISC_NQN) ||
		     !strcmp(place->subsysnqn, NVMF_DISC_NQN)))
			return true;
	return false;
}

/* An earlier record that leads to the same place. */
static bool has_twin(const struct nvof_wave *w, const struct wave_entry *e)
{
	size_t i;

	for (i = 0; w->entries[i] != e; i++) {
		const struct wave_entry *other = w->entries[i];

		if (other->op.start && other->r.entry != e->r.entry && !strcmp(other->place.subsysnqn, e->place.subsysnqn) &&
		    same_address(&other->place, &e->place, e->place.ops->default_trsvcid))
			return true;
	}
	return false;
}

/* The source counts, too: from another address it is another path. */
static bool same_source(const struct ctrl_params *a, const struct ctrl_params *b)
{
	return same_text(a->host_iface, b->host_iface) && !a->host_traddr == !b->host_traddr &&
	       (!a->host_traddr || traddr_equal(a->host_traddr, b->host_traddr));
}

/* We, there. */
static bool same_ctrl(const struct ctrl_params *p, const struct wave_place *there, const struct ctrl_params *us)
{
	struct wave_place place = { .ops = p->ops, .traddr = p->traddr, .trsvcid = p->trsvcid };

	return !strcmp(p->subsysnqn, there->subsysnqn) && !strcmp(p->hostnqn, us->hostnqn) &&
	       !memcmp(p->hostid, us->hostid, sizeof(us->hostid)) && same_address(&place, there, p->ops->default_trsvcid) &&
	       p->link.loop_target == us->link.loop_target && same_source(p, us);
}

/* The one of that number that was there before. */
static struct nvof_ctrl *find_ctrl(const struct nvof_wave *w, const struct wave_place *there, uint32_t number)
{
	struct nvof_ctrl *c;

	cds_list_for_each_entry (c, &w->ctx->ctrls, link)
		if (c->state != NVOF_CTRL_DELETING && c->state != NVOF_CTRL_DEAD && !c->freeing && same_ctrl(&c->p, there, &w->first) &&
		    !number--)
			return c;
	return NULL;
}

/* A record of an address on this link, found through a service on this link: the same link is meant. */
static int set_scope(const struct wave_visit *v, struct wave_entry *e)
{
	const char *scope = v->place.traddr ? strchr(v->place.traddr, '%') : NULL;

	if (!scope || strncasecmp(e->place.traddr, "fe80:", 5) || strchr(e->place.traddr, '%') || v->wave->connect.host_iface)
		return 0;
	if (asprintf(&e->scoped, "%s%.*s", e->place.traddr, (int)strcspn(scope, "]"), scope) < 0) {
		e->scoped = NULL;
		return -ENOMEM;
	}
	e->place.traddr = e->scoped;
	return 0;
}

static const struct host_transport *transport_of(const struct nvof_wave *w, uint8_t trtype)
{
	const struct host_transport *const *t;

	for (t = w->ctx->transports; *t; t++)
		if ((*t)->trtype == trtype)
			return *t;
	return NULL;
}

/* NULL: this host can use it. */
static const char *why_not(const struct nvof_wave *w, const struct nvof_disc_entry *d, const struct host_transport *ops)
{
	if (d->skip)
		return d->skip;
	if (d->subtype == NVME_NQN_CURR)
		return "it is the discovery service itself";
	if (d->subtype != NVME_NQN_NVME && d->subtype != NVME_NQN_DISC)
		return "its subsystem type is unknown";
	if (!ops)
		return "its transport is not in this build";
	if (w->only && ops != w->only)
		return "its transport is not that of the discovery service";
	if (d->trtype == NVMF_TRTYPE_LOOP)
		return w->connect.loop_target ? NULL : "it is inside another process";
	if (d->adrfam != NVMF_ADDR_FAMILY_IP4 && d->adrfam != NVMF_ADDR_FAMILY_IP6)
		return "its address is not an IP address";
	if (TREQ_SECURE(d->treq) == NVMF_TREQ_REQUIRED)
		return "it demands TLS, which this host can't do yet";
	return NULL;
}

static const char *why_not_follow(const struct nvof_wave *w, const struct wave_visit *v, const struct wave_entry *e)
{
	if (visited(w, &e->place))
		return "this discovery service was visited already";
	if (v->depth >= w->max_depth)
		return "referrals are not followed so deep";
	return w->nr_visits >= WAVE_MAX_VISITS ? "so many discovery services are not visited at once" : NULL;
}

static void begin_subsystem(struct nvof_wave *w, struct wave_entry *e)
{
	const char *why = w->nr_ctrls >= WAVE_MAX_CTRLS ? "so many ctrls are not connected to at once"
			  : has_twin(w, e)		? "an earlier record says the same"
							: NULL;

	if (!why)
		e->r.ctrl = find_ctrl(w, &e->place, e->number);
	if (why)
		wave_entry_end(e, NVOF_OUTCOME_SKIPPED, why);
	else if (e->r.ctrl)
		wave_entry_end(e, NVOF_OUTCOME_ALREADY, NULL);
	else
		wave_connect_add(e);
}

static int begin_entry(struct wave_visit *v, struct wave_entry *e)
{
	const struct nvof_disc_entry *d = e->r.entry;
	const struct host_transport *ops = transport_of(v->wave, d->trtype);
	const char *why = why_not(v->wave, d, ops);
	bool addressed = d->trtype != NVMF_TRTYPE_LOOP;

	e->r.start_us = wave_now_us(v->wave);
	e->place = (struct wave_place){ .ops = ops,
					.traddr = addressed ? d->traddr : NULL,
					.trsvcid = addressed && d->trsvcid[0] ? d->trsvcid : NULL,
					.subsysnqn = d->subnqn };
	if (!why && addressed && set_scope(v, e))
		return -ENOMEM;
	if (!why && d->subtype == NVME_NQN_DISC)
		why = why_not_follow(v->wave, v, e);
	if (why) {
		wave_entry_end(e, NVOF_OUTCOME_SKIPPED, why);
		return 0;
	}
	if (d->subtype == NVME_NQN_DISC)
		return wave_visit_add(v->wave, &e->place, v->depth + 1, e);
	begin_subsystem(v->wave, e);
	return 0;
}

static struct wave_entry *entry_add(struct wave_visit *v, const struct nvof_disc_entry *d)
{
	struct wave_entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->wave = v->wave;
	e->r = (struct nvof_wave_result){ .entry = d, .service = v->where, .depth = v->depth, .reason = "" };
	v->wave->entries[v->wave->nr_entries++] = e;
	return e;
}

/* The others of several ctrls for the record of e. */
static int begin_duplicates(struct wave_visit *v, const struct wave_entry *e)
{
	bool connects = e->op.start || e->r.outcome == NVOF_OUTCOME_ALREADY;
	uint32_t i;

	for (i = 1; connects && i < v->wave->nr_duplicates; i++) {
		struct wave_entry *more = entry_add(v, e->r.entry);

		if (!more)
			return -ENOMEM;
		more->number = i;
		more->place = e->place;
		more->r.start_us = wave_now_us(v->wave);
		begin_subsystem(v->wave, more);
	}
	return 0;
}

int wave_take_log(struct wave_visit *v)
{
	struct nvof_wave *w = v->wave;
	size_t i, nr = v->log->nr_entries;
	struct wave_entry **entries = reallocarray(w->entries, w->nr_entries + nr * w->nr_duplicates + 1, sizeof(struct wave_entry *));

	if (!entries)
		return -ENOMEM;
	w->entries = entries;
	for (i = 0; i < nr; i++) {
		struct wave_entry *e = entry_add(v, &v->log->entries[i]);

		if (!e || begin_entry(v, e) || begin_duplicates(v, e))
			return -ENOMEM;
	}
	return 0;
}
