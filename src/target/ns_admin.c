// SPDX-License-Identifier: BSD-3-Clause
/* Namespaces come, go and change their size while hosts use them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/nqn.h"
#include "target/backend.h"
#include "target/rcu.h"
#include "target/target.h"

#define HOST_WAIT_NS   (100 * NSEC_PER_MSEC) /* for data that is on its way to a host, before the namespace's memory is left to it */
#define SHRINK_WAIT_NS (2 * NSEC_PER_SEC)

static const uint8_t zero_id[16];

void nvof_target_ns_opts_init(struct nvof_target_ns_opts *opts)
{
	*opts = (struct nvof_target_ns_opts){ .size = sizeof(*opts), .block_size = 512, .anagrpid = 1 };
}

static void ns_free(struct target_ns *ns)
{
	backend_close(ns->backend);
	free(ns->uses);
	free(ns->spec);
	free(ns);
}

static uint32_t nsid_lowest_free(const struct ns_table *table)
{
	uint32_t nr = ns_table_nr(table), want = 1;

	if (nr && table->slots[nr - 1].nsid == nr)
		return nr + 1;
	for (uint32_t i = 0; i < nr && table->slots[i].nsid == want; i++)
		want++;
	return want;
}

/* Which namespace of the target has this UUID or NGUID (C167). */
static struct target_ns *ids_in_use(struct nvof_target *t, const struct target_ns *ns)
{
	struct target_subsys *s;

	cds_list_for_each_entry (s, &t->subsyss, link) {
		struct ns_table *table = s->table;

		for (uint32_t i = 0; i < table->nr; i++) {
			struct target_ns *other = table->slots[i].ns;

			if (!memcmp(other->uuid, ns->uuid, 16) || !memcmp(other->nguid, ns->nguid, 16))
				return other;
		}
	}
	return NULL;
}

static void ns_notice(const struct target_ns *ns)
{
	if (ns->backend->notice[0])
		log_warn(&ns->subsys->target->log, "namespace %u of %s: %s", ns->nsid, ns->subsys->nqn, ns->backend->notice);
}

static int ns_open(struct target_ns *ns, struct error *err)
{
	int ret = backend_open(ns->spec, 1u << ns->lba_shift, ns->readonly, &ns->backend, err);

	if (ret) {
		ns->backend = NULL;
		return err->code ? ret : error_set(err, ret, "open backend \"%s\": %s", ns->spec, strerror(-ret));
	}
	ns->nsze = ns->backend->ops->size(ns->backend) >> ns->lba_shift;
	if (!ns->nsze)
		return error_set(err, -EINVAL, "backend \"%s\" is smaller than one block of %u bytes", ns->spec, 1u << ns->lba_shift);
	ns_notice(ns);
	if (ns->backend->shared)
		log_warn(&ns->subsys->target->log,
			 "namespace %u of %s: %s is open for writing elsewhere, by this target or another: right only where those are "
			 "paths to "
			 "one namespace",
			 ns->nsid, ns->subsys->nqn, ns->spec);
	return 0;
}

static struct target_ns *ns_new(struct target_subsys *s, const struct nvof_target_ns_opts *o)
{
	struct target_ns *ns = calloc(1, sizeof(*ns));

	if (!ns)
		return NULL;
	ns->subsys = s;
	ns->nr_uses = s->target->nr_threads;
	ns->uses = aligned_alloc(64, ns->nr_uses * sizeof(*ns->uses));
	ns->spec = strdup(o->backend);
	if (!ns->uses || !ns->spec) {
		ns_free(ns);
		return NULL;
	}
	memset(ns->uses, 0, ns->nr_uses * sizeof(*ns->uses));
	ns->lba_shift = o->block_size == 4096 ? 12 : 9;
	ns->readonly = o->readonly;
	ns->anagrpid = (uint8_t)o->anagrpid;
	ns->nsid = o->nsid ? o->nsid : nsid_lowest_free(s->table);
	return ns;
}

/* Of one that is open. */
static void ns_set_ids(struct target_ns *ns, const struct nvof_target_ns_opts *o)
{
	target_ids_default(ns->subsys->nqn, ns->nsid, ns->backend->contents, ns->uuid, ns->nguid);
	if (memcmp(o->uuid, zero_id, 16))
		memcpy(ns->uuid, o->uuid, 16);
	if (memcmp(o->nguid, zero_id, 16))
		memcpy(ns->nguid, o->nguid, 16);
}

static int ns_check_ids(struct target_subsys *s, const struct target_ns *ns, struct error *err)
{
	struct target_ns *other;
	bool same_uuid;
	char id[37];

	other = ids_in_use(s->target, ns);
	if (!other)
		return 0;
	same_uuid = !memcmp(other->uuid, ns->uuid, 16);
	uuid_format(same_uuid ? ns->uuid : ns->nguid, id);
	return error_set(err, -EEXIST, "its %s %s is that of namespace %u of %s", same_uuid ? "UUID" : "NGUID", id, other->nsid,
			 other->subsys->nqn);
}

/* NN is the highest id there may be; grown in powers of two so that it seldom changes under connected hosts. */
static void subsys_grow_nn(struct target_subsys *s, uint32_t nsid)
{
	uint32_t nn = s->nn;

	while (nn < nsid)
		nn = nn > UINT32_MAX / 2 ? TARGET_NSID_ALL - 1 : nn * 2;
	__atomic_store_n(&s->nn, nn, __ATOMIC_RELAXED);
}

static int subsys_add_ns(struct target_subsys *s, const struct nvof_target_ns_opts *o, uint32_t *nsidp, struct error *err)
{
	struct target_ns *ns;
	int ret;

	if (o->block_size != 512 && o->block_size != 4096)
		return error_set(err, -EINVAL, "block size %u: want 512 or 4096", o->block_size);
	if (!target_ana_group_fine(o->anagrpid))
		return error_set(err, -EINVAL, "ANA group %u: want 1 to %u", o->anagrpid, ANA_GRPID_MAX);
	if (!o->backend)
		return error_set(err, -EINVAL, "no backend given");
	if (o->nsid == TARGET_NSID_ALL)
		return error_set(err, -EINVAL, "namespace id %u: want 1 to %u", o->nsid, TARGET_NSID_ALL - 1);
	ns = ns_new(s, o);
	if (!ns)
		return error_set(err, -ENOMEM, "out of memory");
	ret = ns_table_find(s->table, ns->nsid) ? error_set(err, -EEXIST, "namespace id %u is in use", ns->nsid) : ns_open(ns, err);
	if (!ret) {
		ns_set_ids(ns, o);
		ret = ns_check_ids(s, ns, err);
	}
	if (!ret) {
		subsys_grow_nn(s, ns->nsid);
		if (ns->backend->ops->volatile_cache)
			__atomic_add_fetch(&s->nr_volatile, 1, __ATOMIC_RELAXED);
		target_fence_coming(ns);
		ret = ns_table_insert(s, ns);
		if (ret) {
			target_fence_gone(ns);
			error_set(err, ret, "out of memory");
		}
	}
	if (ret) {
		ns_free(ns);
		return ret;
	}
	if (nsidp)
		*nsidp = ns->nsid;
	target_ns_changed(s, ns->nsid);
	return 0;
}

int target_add_ns(struct nvof_target *t, const char *nqn, const struct nvof_target_ns_opts *opts, uint32_t *nsidp, struct error *err)
{
	struct target_subsys *s = target_subsys_get(t, nqn, err);
	struct nvof_target_ns_opts o;
	int ret;

	if (!s) {
		error_prefix(err, "add namespace");
		return err->code;
	}
	if (opts->size < sizeof(opts->size))
		return error_set(err, -EINVAL, "add namespace to %s: opts->size is not set", nqn);
	nvof_target_ns_opts_init(&o);
	memcpy(&o, opts, min_size(opts->size, sizeof(o)));
	if (!o.block_size)
		o.block_size = 512;
	if (!o.anagrpid)
		o.anagrpid = 1;
	ret = subsys_add_ns(s, &o, nsidp, err);
	if (ret)
		error_prefix(err, "add namespace %s to %s", o.backend ? o.backend : "", nqn);
	return ret;
}

/* ------------------------------------------------------------------------------------------------ removal */

static void ns_wait_idle(struct target_ns *ns)
{
	struct timespec ts = { .tv_nsec = 100000 };

	while (target_ns_nr_busy(ns)) {
		nanosleep(&ts, NULL);
		if (ts.tv_nsec < 5000000)
			ts.tv_nsec *= 2;
	}
}

static bool ns_wait_refs(struct target_ns *ns, int epoch, uint64_t limit_ns)
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
	if (ns_wait_refs(ns, 0, wait_ns) && ns_wait_refs(ns, 1, wait_ns))
		ns_free(ns);
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
		if (!ns_wait_refs(ns, 0, wait ? UINT64_MAX / 4 : 0) || !ns_wait_refs(ns, 1, wait ? UINT64_MAX / 4 : 0))
			continue;
		cds_list_del(&ns->link);
		ns_free(ns);
	}
}

/* ------------------------------------------------------------------------------------------------ size */

/* I/O that began before the size fell must have ended before the backend gives blocks up: they may be being sent from. */
static int ns_shrink(struct target_ns *ns, uint64_t bytes, struct error *err)
{
	uint64_t before = target_ns_nsze(ns);
	uint8_t epoch = ns->epoch;
	int ret;

	if (target_ns_refs(ns, epoch ^ 1))
		return error_set(err, -EBUSY, "I/O from before the last change of size is still under way");
	__atomic_store_n(&ns->nsze, bytes >> ns->lba_shift, __ATOMIC_RELEASE);
	__atomic_store_n(&ns->epoch, epoch ^ 1, __ATOMIC_RELEASE);
	rcu_wait(ns->subsys);
	if (ns_wait_refs(ns, epoch, SHRINK_WAIT_NS))
		ret = ns->backend->ops->resize(ns->backend, bytes, err);
	else
		ret = error_set(err, -EBUSY, "I/O beyond the new end did not finish in %u s",
				(unsigned int)(SHRINK_WAIT_NS / NSEC_PER_SEC));
	if (ret)
		__atomic_store_n(&ns->nsze, before, __ATOMIC_RELEASE);
	return ret;
}

/* The backend changed by itself (a file that grew or was cut): there is nothing to wait for. */
static int ns_refresh(struct target_ns *ns, struct error *err)
{
	int ret = ns->backend->ops->resize ? ns->backend->ops->resize(ns->backend, 0, err) : 0;
	uint64_t nsze;

	if (ret)
		return ret;
	nsze = ns->backend->ops->size(ns->backend) >> ns->lba_shift;
	if (!nsze)
		return error_set(err, -EINVAL, "the backend is smaller than one block now");
	__atomic_store_n(&ns->nsze, nsze, __ATOMIC_RELEASE);
	return 0;
}

static int ns_resize(struct target_ns *ns, uint64_t bytes, struct error *err)
{
	uint64_t nsze = bytes >> ns->lba_shift;
	int ret;

	if (!nsze)
		return error_set(err, -EINVAL, "%llu bytes are less than one block", (unsigned long long)bytes);
	if (!ns->backend->ops->resize)
		return error_set(err, -ENOTSUP, "backend %s can't change its size", ns->backend->ops->name);
	if (nsze < target_ns_nsze(ns))
		return ns_shrink(ns, bytes, err);
	ret = ns->backend->ops->resize(ns->backend, bytes, err);
	if (!ret)
		__atomic_store_n(&ns->nsze, nsze, __ATOMIC_RELEASE);
	return ret;
}

int target_resize_ns(struct nvof_target *t, const char *nqn, uint32_t nsid, uint64_t bytes, struct error *err)
{
	struct target_subsys *s = target_subsys_get(t, nqn, err);
	uint64_t before;
	struct target_ns *ns;
	int ret;

	if (!s) {
		error_prefix(err, "resize namespace %u", nsid);
		return err->code;
	}
	ns = ns_table_find(s->table, nsid);
	if (!ns)
		return error_set(err, -ENOENT, "resize namespace %u of %s: there is none", nsid, nqn);
	before = target_ns_nsze(ns);
	ret = bytes ? ns_resize(ns, bytes, err) : ns_refresh(ns, err);
	if (ret) {
		error_set(err, ret, "%s", strerror(-ret)); /* unless the backend had more to say */
		error_prefix(err, "resize namespace %u of %s", nsid, nqn);
		return ret;
	}
	ns_notice(ns);
	if (target_ns_nsze(ns) != before)
		target_ns_changed(s, nsid);
	return 0;
}
