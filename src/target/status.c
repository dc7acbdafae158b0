/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The present state as JSON: nvof_target_status_json().
 *
 * What belongs to a thread is read on that thread: each is called in turn, adds its ctrls to their subsystems' lists and its share of the
 * counters, while the caller waits and holds api_lock.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "proto/ana.h"
#include "proto/nqn.h"
#include "target/target.h"

#define STATUS_SCHEMA 1

static void add_text(json_object *obj, const char *key, const char *text)
{
	json_object_object_add(obj, key, json_object_new_string(text));
}
static void add_number(json_object *obj, const char *key, uint64_t n)
{
	json_object_object_add(obj, key, json_object_new_uint64(n));
}
static void add_flag(json_object *obj, const char *key, bool flag)
{
	json_object_object_add(obj, key, json_object_new_boolean(flag));
}

static void add_id(json_object *obj, const char *key, const uint8_t id[16])
{
	char text[37];

	uuid_format(id, text);
	add_text(obj, key, text);
}

static json_object *add_array(json_object *obj, const char *key)
{
	json_object *a = json_object_new_array();

	json_object_object_add(obj, key, a);
	return a;
}

/* ---- on each loop thread ---- */

struct thread_status {
	struct target_thread *th;
	json_object *subsystems; /* in the order of t->subsyss, the discovery subsystem last */
	json_object *threads;
};

static json_object *ctrl_status(const struct target_ctrl *c)
{
	json_object *obj = json_object_new_object();
	const struct target_queue *admin = c->queues[0];

	add_number(obj, "cntlid", c->cntlid);
	add_text(obj, "hostnqn", c->hostnqn);
	add_id(obj, "hostid", c->hostid);
	add_text(obj, "transport", admin->ops->name);
	add_text(obj, "peer", admin->peer);
	add_number(obj, "portid", c->port->portid);
	add_number(obj, "nr_io_queues", c->nr_queues - 1);
	add_number(obj, "max_io_queues", c->max_qid);
	add_number(obj, "kato_ms", __atomic_load_n(&c->kato_ms, __ATOMIC_RELAXED));
	add_flag(obj, "ready", __atomic_load_n(&c->ready, __ATOMIC_RELAXED));
	return obj;
}

/* Under lock. */
static void add_ctrls(struct thread_status *st, const struct target_subsys *s, size_t index)
{
	json_object *ctrls = json_object_object_get(json_object_array_get_idx(st->subsystems, index), "ctrls");
	const struct target_ctrl *c;

	cds_list_for_each_entry (c, &s->ctrls, link)
		if (!c->dead && c->queues[0] && c->queues[0]->thread == st->th)
			json_object_array_add(ctrls, ctrl_status(c));
}

static void thread_status(void *arg)
{
	struct thread_status *st = arg;
	struct nvof_target *t = st->th->target;
	json_object *obj = json_object_new_object();
	const struct target_queue *q;
	const struct target_subsys *s;
	uint64_t nr_queues = 0, nr_active = 0;
	size_t i = 0;

	cds_list_for_each_entry (q, &st->th->queues, link) {
		nr_queues++;
		nr_active += q->nr_active;
	}
	add_number(obj, "index", st->th->index);
	add_number(obj, "nr_queues", nr_queues);
	add_number(obj, "nr_active", nr_active);
	json_object_array_add(st->threads, obj);
	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry (s, &t->subsyss, link)
		add_ctrls(st, s, i++);
	add_ctrls(st, t->disc, i);
	pthread_mutex_unlock(&t->lock);
}

/* ---- on the caller's thread, under api_lock ---- */

static json_object *ns_status(const struct target_ns *ns)
{
	json_object *obj = json_object_new_object();
	uint64_t sum[4] = { 0 };
	uint32_t i;

	/* Single words that each have one writer: a relaxed look is enough for a monitor. */
	for (i = 0; i < ns->nr_uses; i++) {
		sum[0] += __atomic_load_n(&ns->uses[i].nr_reads, __ATOMIC_RELAXED);
		sum[1] += __atomic_load_n(&ns->uses[i].nr_writes, __ATOMIC_RELAXED);
		sum[2] += __atomic_load_n(&ns->uses[i].bytes_read, __ATOMIC_RELAXED);
		sum[3] += __atomic_load_n(&ns->uses[i].bytes_written, __ATOMIC_RELAXED);
	}
	add_number(obj, "nsid", ns->nsid);
	add_text(obj, "backend", ns->spec);
	add_number(obj, "block_size", 1u << ns->lba_shift);
	add_number(obj, "nr_blocks", target_ns_nsze(ns));
	add_flag(obj, "readonly", ns->readonly);
	add_number(obj, "anagrpid", ns->anagrpid);
	add_id(obj, "uuid", ns->uuid);
	add_id(obj, "nguid", ns->nguid);
	if (ns->backend->notice[0])
		add_text(obj, "notice", ns->backend->notice);
	add_number(obj, "nr_reads", sum[0]);
	add_number(obj, "nr_writes", sum[1]);
	add_number(obj, "bytes_read", sum[2]);
	add_number(obj, "bytes_written", sum[3]);
	return obj;
}

static json_object *subsys_status(const struct target_subsys *s)
{
	json_object *obj = json_object_new_object(), *list;
	const struct ns_table *table = target_ns_table(s);
	const struct target_host *h;
	uint32_t i, nr = ns_table_nr(table);

	add_text(obj, "nqn", s->nqn);
	add_flag(obj, "discovery", s->discovery);
	add_text(obj, "serial", s->serial);
	add_text(obj, "model", s->model);
	add_flag(obj, "allow_any_host", s->allow_any_host);
	list = add_array(obj, "allowed_hosts");
	cds_list_for_each_entry (h, &s->hosts, link)
		json_object_array_add(list, json_object_new_string(h->hostnqn));
	list = add_array(obj, "namespaces");
	for (i = 0; i < nr; i++)
		json_object_array_add(list, ns_status(table->slots[i].ns));
	add_array(obj, "ctrls");
	return obj;
}

static void add_ana_groups(json_object *obj, const struct target_port *port)
{
	json_object *list = add_array(obj, "ana_groups"), *group;

	for (uint32_t grpid = 1; grpid <= ANA_GRPID_MAX; grpid++) {
		if (!target_ana_listed(port, grpid))
			continue;
		group = json_object_new_object();
		add_number(group, "grpid", grpid);
		add_text(group, "state", ana_state_name(target_ana_state(port, grpid)));
		json_object_array_add(list, group);
	}
}

static json_object *ports_status(const struct nvof_target *t)
{
	json_object *array = json_object_new_array(), *obj, *list;
	const struct target_port *port;
	const struct target_subsys *s;
	char spec[400];

	cds_list_for_each_entry (port, &t->ports, link) {
		obj = json_object_new_object();
		target_port_spec(port, spec, sizeof(spec));
		add_number(obj, "portid", port->portid);
		add_text(obj, "address", spec);
		add_text(obj, "transport", port->ops->name);
		add_text(obj, "traddr", port->traddr);
		add_text(obj, "trsvcid", port->trsvcid);
		add_flag(obj, "all_subsystems", port->all_subsys);
		list = add_array(obj, "subsystems");
		cds_list_for_each_entry (s, &t->subsyss, link)
			if (target_port_offers(port, s))
				json_object_array_add(list, json_object_new_string(s->nqn));
		add_ana_groups(obj, port);
		json_object_array_add(array, obj);
	}
	return array;
}

static json_object *referrals_status(const struct nvof_target *t)
{
	json_object *array = json_object_new_array(), *obj;
	const struct target_referral *r;

	cds_list_for_each_entry (r, &t->referrals, link) {
		obj = json_object_new_object();
		add_text(obj, "transport", r->transport);
		add_text(obj, "traddr", r->traddr);
		add_text(obj, "trsvcid", r->trsvcid);
		json_object_array_add(array, obj);
	}
	return array;
}

static void fault_status(void *arg, const char *spec, uint64_t seen, uint64_t acted)
{
	json_object *obj = json_object_new_object();

	add_text(obj, "spec", spec);
	add_number(obj, "seen", seen);
	add_number(obj, "acted", acted);
	json_object_array_add(arg, obj);
}

char *nvof_target_status_json(struct nvof_target *t)
{
	json_object *root = json_object_new_object();
	struct thread_status st = { 0 };
	struct error err = { 0 };
	const struct target_subsys *s;
	const char *text;
	char *copy;
	unsigned int i;

	target_api_enter(t);
	add_number(root, "schema", STATUS_SCHEMA);
	json_object_object_add(root, "ports", ports_status(t));
	st.subsystems = add_array(root, "subsystems");
	cds_list_for_each_entry (s, &t->subsyss, link)
		json_object_array_add(st.subsystems, subsys_status(s));
	json_object_array_add(st.subsystems, subsys_status(t->disc));
	json_object_object_add(root, "referrals", referrals_status(t));
	st.threads = add_array(root, "threads");
	for (i = 0; i < t->nr_threads; i++) {
		st.th = &t->threads[i];
		target_thread_call(st.th, thread_status, &st);
	}
	fault_set_foreach(&t->faults, fault_status, add_array(root, "faults"));
	text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_NOSLASHESCAPE);
	copy = text ? strdup(text) : NULL;
	json_object_put(root);
	target_api_leave(t, 0, &err);
	return copy;
}
