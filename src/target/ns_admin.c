// SPDX-License-Identifier: BSD-3-Clause
/* Namespaces come while hosts use others. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/nqn.h"
#include "target/backend.h"
#include "target/ns_admin.h"
#include "target/target.h"

static const uint8_t zero_id[16];

void nvof_target_ns_opts_init(struct nvof_target_ns_opts *opts)
{
	*opts = (struct nvof_target_ns_opts){ .size = sizeof(*opts), .block_size = 512, .anagrpid = 1 };
}

void target_ns_free(struct target_ns *ns)
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

void target_ns_notice(const struct target_ns *ns)
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
	target_ns_notice(ns);
	if (ns->backend->shared)
		log_warn(
			&ns->subsys->target->log,
			"namespace %u of %s: %s is open for writing elsewhere, by this target or another: right only where those are paths "
			"to one namespace",
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
		target_ns_free(ns);
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
		target_ns_free(ns);
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
