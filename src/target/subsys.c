// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/nqn.h"
#include "target/target.h"

#define NN_MIN 1024 /* the least a ctrl reports as NN: room for namespaces added while hosts are connected */

void nvof_subsys_opts_init(struct nvof_subsys_opts *opts)
{
	*opts = (struct nvof_subsys_opts){
		.size = sizeof(*opts),
		.allow_any_host = true,
		.cntlid_min = 1,
		.cntlid_max = 0xffef,
	};
}

/* Printable ASCII of at most max bytes, or NULL. */
static bool text_fine(const char *text, size_t max)
{
	if (!text)
		return true;
	if (!*text || strlen(text) > max)
		return false;
	for (; *text; text++)
		if (*text < 0x20 || *text > 0x7e)
			return false;
	return true;
}

struct target_subsys *target_subsys_new(struct nvof_target *t, const char *nqn, const struct nvof_subsys_opts *opts)
{
	struct target_subsys *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->table = ns_table_new(0);
	if (!s->table) {
		free(s);
		return NULL;
	}
	CDS_INIT_LIST_HEAD(&s->hosts);
	CDS_INIT_LIST_HEAD(&s->ctrls);
	s->target = t;
	s->refs = 1;
	s->nn = NN_MIN;
	snprintf(s->nqn, sizeof(s->nqn), "%s", nqn);
	s->discovery = !strcmp(nqn, NVMF_DISC_NQN);
	s->allow_any_host = opts->allow_any_host;
	s->cntlid_min = opts->cntlid_min;
	s->cntlid_max = opts->cntlid_max;
	s->cntlid_next = opts->cntlid_min;
	if (opts->serial)
		snprintf(s->serial, sizeof(s->serial), "%s", opts->serial);
	else
		target_serial_default(nqn, s->serial);
	snprintf(s->model, sizeof(s->model), "%s", opts->model ? opts->model : "nvof");
	return s;
}

void target_subsys_free(struct target_subsys *s)
{
	struct target_host *h, *next;
	struct ns_table *table;

	cds_list_for_each_entry_safe (h, next, &s->hosts, link)
		free(h);
	while ((table = s->retired)) {
		s->retired = table->retired;
		free(table);
	}
	free(s->table);
	free(s);
}

void target_subsys_put(struct target_subsys *s)
{
	if (--s->refs == 0)
		target_subsys_free(s);
}

struct target_subsys *target_subsys_find(struct nvof_target *t, const char *nqn)
{
	struct target_subsys *s;

	if (!strcmp(nqn, NVMF_DISC_NQN))
		return t->disc;
	cds_list_for_each_entry (s, &t->subsyss, link)
		if (!strcmp(s->nqn, nqn))
			return s;
	return NULL;
}

struct target_subsys *target_subsys_get(struct nvof_target *t, const char *nqn, struct error *err)
{
	struct target_subsys *s = target_subsys_find(t, nqn);

	if (s && !s->discovery)
		return s;
	error_set(err, -ENOENT, "no subsystem \"%s\"", nqn);
	return NULL;
}

static int subsys_check(struct nvof_target *t, const char *nqn, const struct nvof_subsys_opts *o, struct error *err)
{
	const char *why = nqn_check(nqn);

	if (why)
		return error_set(err, -EINVAL, "add subsystem \"%.230s\": %s", nqn, why);
	if (!strcmp(nqn, NVMF_DISC_NQN))
		return error_set(err, -EINVAL, "add subsystem \"%s\": this is the discovery subsystem's NQN", nqn);
	if (target_subsys_find(t, nqn))
		return error_set(err, -EEXIST, "add subsystem \"%s\": there already", nqn);
	if (!text_fine(o->serial, 20))
		return error_set(err, -EINVAL, "add subsystem \"%s\": the serial number must be 1 to 20 printable ASCII characters", nqn);
	if (!text_fine(o->model, 40))
		return error_set(err, -EINVAL, "add subsystem \"%s\": the model must be 1 to 40 printable ASCII characters", nqn);
	if (o->cntlid_min < 1 || o->cntlid_max > 0xffef || o->cntlid_min > o->cntlid_max)
		return error_set(err, -EINVAL, "add subsystem \"%s\": controller ids %u..%u: want a range within 1..%u", nqn, o->cntlid_min,
				 o->cntlid_max, 0xffef);
	return 0;
}

int target_add_subsys(struct nvof_target *t, const char *nqn, const struct nvof_subsys_opts *opts, struct error *err)
{
	struct nvof_subsys_opts o;
	struct target_subsys *s;
	int ret;

	nvof_subsys_opts_init(&o);
	if (opts) {
		if (opts->size < sizeof(opts->size))
			return error_set(err, -EINVAL, "add subsystem \"%s\": opts->size is not set", nqn);
		memcpy(&o, opts, min_size(opts->size, sizeof(o)));
	}
	ret = subsys_check(t, nqn, &o, err);
	if (ret)
		return ret;
	s = target_subsys_new(t, nqn, &o);
	if (!s)
		return error_set(err, -ENOMEM, "add subsystem \"%s\": out of memory", nqn);
	pthread_mutex_lock(&t->lock);
	cds_list_add_tail(&s->link, &t->subsyss);
	pthread_mutex_unlock(&t->lock);
	target_disc_changed(t);
	return 0;
}

void target_subsys_close_ctrls(struct target_subsys *s, const struct target_port *port, const char *hostnqn, const char *why)
{
	struct target_ctrl *c, *next;

	cds_list_for_each_entry_safe (c, next, &s->ctrls, link)
		if ((!port || c->port == port) && (!hostnqn || !strcmp(c->hostnqn, hostnqn)))
			target_ctrl_close(c, why);
}

static void subsys_remove(struct nvof_target *t, struct target_subsys *s)
{
	pthread_mutex_lock(&t->lock);
	s->removed = true;
	cds_list_del(&s->link);
	target_port_forget_subsys(t, s);
	target_subsys_close_ctrls(s, NULL, NULL, "its subsystem was removed");
	pthread_mutex_unlock(&t->lock);
	target_remove_all_ns(s);
	pthread_mutex_lock(&t->lock);
	target_subsys_put(s);
	pthread_mutex_unlock(&t->lock);
}

int target_remove_subsys(struct nvof_target *t, const char *nqn, struct error *err)
{
	struct target_subsys *s = target_subsys_get(t, nqn, err);

	if (!s) {
		error_prefix(err, "remove subsystem");
		return err->code;
	}
	subsys_remove(t, s);
	target_disc_changed(t);
	return 0;
}

void target_subsyss_free(struct nvof_target *t)
{
	struct target_subsys *s, *next;

	cds_list_for_each_entry_safe (s, next, &t->subsyss, link)
		subsys_remove(t, s);
	target_reap_zombies(t, true);
	if (t->disc)
		target_subsys_free(t->disc);
}
