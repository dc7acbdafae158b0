// SPDX-License-Identifier: BSD-3-Clause
/* Who may connect to a subsystem. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/nqn.h"
#include "target/target.h"

static struct target_host *host_find(const struct target_subsys *s, const char *hostnqn)
{
	struct target_host *h;

	cds_list_for_each_entry (h, &s->hosts, link)
		if (!strcmp(h->hostnqn, hostnqn))
			return h;
	return NULL;
}

bool target_host_allowed(const struct target_subsys *s, const char *hostnqn)
{
	return s->allow_any_host || host_find(s, hostnqn);
}

int target_allow_host(struct nvof_target *t, const char *nqn, const char *hostnqn, struct error *err)
{
	struct target_subsys *s = target_subsys_get(t, nqn, err);
	const char *why = nqn_check(hostnqn);
	struct target_host *h;

	if (!s) {
		error_prefix(err, "allow host");
		return err->code;
	}
	if (why)
		return error_set(err, -EINVAL, "allow host \"%.230s\" on %s: %s", hostnqn, nqn, why);
	if (host_find(s, hostnqn))
		return error_set(err, -EEXIST, "allow host \"%s\" on %s: allowed already", hostnqn, nqn);
	h = calloc(1, sizeof(*h));
	if (!h)
		return error_set(err, -ENOMEM, "allow host \"%s\" on %s: out of memory", hostnqn, nqn);
	snprintf(h->hostnqn, sizeof(h->hostnqn), "%s", hostnqn);
	pthread_mutex_lock(&t->lock);
	cds_list_add_tail(&h->link, &s->hosts);
	pthread_mutex_unlock(&t->lock);
	target_disc_changed(t);
	return 0;
}

int target_disallow_host(struct nvof_target *t, const char *nqn, const char *hostnqn, struct error *err)
{
	struct target_subsys *s = target_subsys_get(t, nqn, err);
	struct target_host *h;

	if (!s) {
		error_prefix(err, "disallow host");
		return err->code;
	}
	h = host_find(s, hostnqn);
	if (!h)
		return error_set(err, -ENOENT, "disallow host \"%s\" on %s: it is not on the list", hostnqn, nqn);
	pthread_mutex_lock(&t->lock);
	cds_list_del(&h->link);
	free(h);
	if (!s->allow_any_host)
		target_subsys_close_ctrls(s, NULL, hostnqn, "its host is no longer allowed");
	pthread_mutex_unlock(&t->lock);
	target_disc_changed(t);
	return 0;
}

int target_allow_any_host(struct nvof_target *t, const char *nqn, bool any, struct error *err)
{
	struct target_subsys *s = target_subsys_get(t, nqn, err);
	struct target_ctrl *c, *next;

	if (!s) {
		error_prefix(err, "allow any host");
		return err->code;
	}
	pthread_mutex_lock(&t->lock);
	s->allow_any_host = any;
	cds_list_for_each_entry_safe (c, next, &s->ctrls, link)
		if (!target_host_allowed(s, c->hostnqn))
			target_ctrl_close(c, "its host is no longer allowed");
	pthread_mutex_unlock(&t->lock);
	target_disc_changed(t);
	return 0;
}
