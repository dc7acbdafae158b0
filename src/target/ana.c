// SPDX-License-Identifier: BSD-3-Clause
/*
 * Asymmetric namespace access: NVM Express Base 2.0 sections 5.16.1.13 and 8.1.
 *
 * A namespace is a member of one group, for good; a port has a state for each group, which may change at any time.  I/O reads the one byte
 * without a lock.  What passed it before a change goes on and ends as it would have.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/ana.h"
#include "target/rcu.h"
#include "target/target.h"

#define ST_PATH(sc) NVME_STATUS(NVME_SCT_PATH, NVME_SC_ANA_##sc) /* another path may do: never DNR */

bool target_ana_group_fine(uint32_t grpid)
{
	return grpid >= 1 && grpid <= ANA_GRPID_MAX;
}

void target_ana_init(struct target_port *port, const struct target_port_opts *opts)
{
	port->ana_kernel = opts->ana_kernel;
	for (uint32_t grpid = 1; grpid <= ANA_GRPID_MAX; grpid++) {
		port->ana_set[grpid] = opts->ana[grpid];
		if (opts->ana[grpid])
			port->ana[grpid] = opts->ana[grpid];
		else
			port->ana[grpid] = opts->ana_kernel && grpid != 1 ? NVME_ANA_STATE_INACCESSIBLE : NVME_ANA_STATE_OPTIMIZED;
	}
}

uint8_t target_ana_state(const struct target_port *port, uint32_t grpid)
{
	return __atomic_load_n(&port->ana[grpid], __ATOMIC_ACQUIRE);
}

uint16_t target_ana_refusal(uint8_t state)
{
	switch (state) {
	case NVME_ANA_STATE_INACCESSIBLE:
		return ST_PATH(INACCESSIBLE);
	case NVME_ANA_STATE_PERSISTENT_LOSS:
		return ST_PATH(PERSISTENT_LOSS);
	case NVME_ANA_STATE_CHANGE:
		return ST_PATH(TRANSITION);
	default:
		return 0;
	}
}

bool target_ana_has_members(const struct target_subsys *s, uint32_t grpid)
{
	const struct ns_table *table = target_ns_table(s);

	for (uint32_t i = 0, nr = ns_table_nr(table); i < nr; i++)
		if (table->slots[i].ns->anagrpid == grpid)
			return true;
	return false;
}

bool target_ana_listed(const struct target_port *port, uint32_t grpid)
{
	const struct target_subsys *s;

	if (grpid == 1 || port->ana_set[grpid])
		return true;
	cds_list_for_each_entry (s, &port->target->subsyss, link)
		if (target_port_offers(port, s) && target_ana_has_members(s, grpid))
			return true;
	return false;
}

static int ana_check(uint32_t grpid, unsigned int state, struct error *err)
{
	if (!target_ana_group_fine(grpid))
		return error_set(err, -EINVAL, "ANA group %u: want 1 to %u", grpid, ANA_GRPID_MAX);
	if (state > 0xf || !strcmp(ana_state_name((uint8_t)state), "unrecognized"))
		return error_set(err, -EINVAL, "ANA group %u: state %u is none", grpid, state);
	return 0;
}

int target_ana_preset(struct target_port_opts *opts, const struct nvof_ana_group *groups, size_t nr, struct error *err)
{
	for (size_t i = 0; i < nr; i++) {
		int ret = ana_check(groups[i].grpid, groups[i].state, err);

		if (ret)
			return ret;
		opts->ana[groups[i].grpid] = (uint8_t)groups[i].state;
	}
	return 0;
}

int target_set_ana(struct nvof_target *t, const char *spec, uint32_t grpid, unsigned int state, struct error *err)
{
	struct target_port *port = target_port_find(t, spec);
	struct target_subsys *s;
	struct target_ctrl *c;
	int ret = ana_check(grpid, state, err);

	if (!ret && !port)
		ret = error_set(err, -ENOENT, "not listening there");
	if (ret) {
		error_prefix(err, "set ANA state on \"%s\"", spec);
		return ret;
	}
	pthread_mutex_lock(&t->lock);
	port->ana_set[grpid] = true;
	if (port->ana[grpid] != state) {
		__atomic_store_n(&port->ana[grpid], (uint8_t)state, __ATOMIC_RELEASE);
		__atomic_add_fetch(&t->ana_chgcnt, 1, __ATOMIC_RELEASE);
		cds_list_for_each_entry (s, &t->subsyss, link) {
			if (!target_ana_has_members(s, grpid))
				continue;
			cds_list_for_each_entry (c, &s->ctrls, link)
				if (c->port == port)
					target_ctrl_raise(c, TARGET_EVENT_ANA);
		}
	}
	pthread_mutex_unlock(&t->lock);
	return 0;
}

/* ------------------------------------------------------------------------------------------------ the log page */

/* Descriptors follow one another at multiples of 4, which is less than their alignment. */
static uint8_t *put_group(uint8_t *pos, const struct target_ctrl *c, const struct ns_table *table, uint32_t nr, uint32_t grpid,
			  uint32_t nr_members, bool groups_only, uint64_t chgcnt)
{
	struct nvme_ana_group_desc desc = {
		.grpid = htole32(grpid),
		.nnsids = groups_only ? 0 : htole32(nr_members),
		.chgcnt = htole64(chgcnt),
		.state = target_ana_state(c->port, grpid),
	};
	uint32_t i, nsid;

	memcpy(pos, &desc, sizeof(desc));
	pos += sizeof(desc);
	for (i = 0; i < nr && !groups_only; i++) {
		if (table->slots[i].ns->anagrpid != grpid)
			continue;
		nsid = htole32(table->slots[i].nsid);
		memcpy(pos, &nsid, sizeof(nsid));
		pos += sizeof(nsid);
	}
	return pos;
}

/* Inside an RCU read section. */
static void *log_build(const struct target_ctrl *c, const struct ns_table *table, bool groups_only, size_t *size)
{
	uint32_t members[ANA_GRPID_MAX + 1] = { 0 }, nr = ns_table_nr(table), nr_groups = 0;
	/* Before anything is looked at: what changes meanwhile moves it on, so one who pages sees it. */
	uint64_t chgcnt = __atomic_load_n(&c->subsys->target->ana_chgcnt, __ATOMIC_ACQUIRE);
	struct nvme_ana_log *log;
	uint8_t *pos;

	for (uint32_t i = 0; i < nr; i++)
		nr_groups += !members[table->slots[i].ns->anagrpid]++;
	*size = sizeof(*log) + nr_groups * sizeof(log->descs[0]) + (groups_only ? 0 : nr * sizeof(uint32_t));
	log = calloc(1, *size);
	if (!log)
		return NULL;
	log->chgcnt = htole64(chgcnt);
	log->ngrps = htole16((uint16_t)nr_groups);
	pos = (uint8_t *)log->descs;
	for (uint32_t grpid = 1; grpid <= ANA_GRPID_MAX; grpid++)
		if (members[grpid])
			pos = put_group(pos, c, table, nr, grpid, members[grpid], groups_only, chgcnt);
	return log;
}

uint16_t target_ana_log(const struct target_ctrl *c, bool groups_only, uint64_t offset, uint8_t *buf, size_t len)
{
	uint16_t status = 0;
	size_t size;
	uint8_t *log;

	rcu_enter();
	log = log_build(c, target_ns_table(c->subsys), groups_only, &size);
	rcu_leave(c->subsys);
	if (!log)
		return ST_RETRY(INTERNAL);
	if (offset > size)
		status = ST(INVALID_FIELD);
	else
		memcpy(buf, log + offset, min_size(size - offset, len));
	free(log);
	return status;
}
