// SPDX-License-Identifier: BSD-3-Clause
/* The discovery log (70h): the subsystems a host may use by the port it asks from, and referrals to other discovery services. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/discovery.h"
#include "proto/traddr.h"
#include "proto/uri.h"
#include "target/target.h"

/* A window of the log: entries outside of it are counted, not built. */
struct log_window {
	uint64_t offset, end;
	uint8_t *buf;
	uint64_t nr; /* entries so far */
};

static void window_put(struct log_window *w, uint64_t at, const void *data, size_t len)
{
	uint64_t from = at > w->offset ? at : w->offset, to = min_u64(at + len, w->end);

	if (from < to)
		memcpy(w->buf + (from - w->offset), (const uint8_t *)data + (from - at), to - from);
}

static bool window_wants(const struct log_window *w, uint64_t at, size_t len)
{
	return at < w->end && at + len > w->offset;
}

/* Where the next entry lies; moves on. */
static uint64_t entry_at(struct log_window *w)
{
	return sizeof(struct nvmf_discovery_log) + w->nr++ * sizeof(struct nvmf_disc_log_entry);
}

/* The address part of "127.0.0.1:4420" or "[::1]:4420". */
static void local_addr(const char *local, char *addr, size_t len)
{
	const char *start = local[0] == '[' ? local + 1 : local;
	size_t n = strcspn(start, local[0] == '[' ? "]" : ":");

	snprintf(addr, len, "%.*s", (int)n, start);
}

static void entry_of_port(const struct target_port *port, const char *local, struct disc_entry *e)
{
	memset(e, 0, sizeof(*e));
	e->trtype = port->ops->trtype;
	e->adrfam = port->adrfam;
	e->subtype = NVME_NQN_NVME;
	e->treq = NVMF_TREQ_DISABLE_SQFLOW;
	e->portid = port->portid;
	e->cntlid = NVMF_CNTLID_DYNAMIC;
	e->asqsz = TARGET_ADMIN_QSIZE;
	memcpy(e->tsas, &port->ops->tsas, sizeof(e->tsas));
	snprintf(e->trsvcid, sizeof(e->trsvcid), "%s", port->trsvcid);
	/* A host can't connect to 0.0.0.0: it gets the address it has found us by. */
	if (port->wildcard) {
		local_addr(local, e->traddr, sizeof(e->traddr));
		e->adrfam = strchr(e->traddr, ':') ? NVMF_ADDR_FAMILY_IP6 : NVMF_ADDR_FAMILY_IP4;
	} else {
		snprintf(e->traddr, sizeof(e->traddr), "%s", port->traddr);
	}
}

static void log_subsyss(const struct target_ctrl *c, const char *local, struct log_window *w)
{
	struct nvmf_disc_log_entry wire;
	struct target_subsys *s;
	struct disc_entry e;

	entry_of_port(c->port, local, &e);
	cds_list_for_each_entry (s, &c->subsys->target->subsyss, link) {
		uint64_t at;

		if (!target_port_offers(c->port, s) || !target_host_allowed(s, c->hostnqn))
			continue;
		at = entry_at(w);
		if (!window_wants(w, at, sizeof(wire)))
			continue;
		snprintf(e.subnqn, sizeof(e.subnqn), "%s", s->nqn);
		disc_entry_build(&e, &wire);
		window_put(w, at, &wire, sizeof(wire));
	}
}

static void log_referrals(const struct target_ctrl *c, struct log_window *w)
{
	struct nvmf_disc_log_entry wire;
	struct target_referral *r;

	cds_list_for_each_entry (r, &c->subsys->target->referrals, link) {
		uint64_t at = entry_at(w);
		struct disc_entry e = {
			.trtype = r->trtype,
			.adrfam = r->adrfam,
			.subtype = NVME_NQN_DISC,
			.portid = r->portid,
			.cntlid = NVMF_CNTLID_DYNAMIC,
			.asqsz = TARGET_ADMIN_QSIZE,
			.subnqn = NVMF_DISC_NQN,
		};

		if (!window_wants(w, at, sizeof(wire)))
			continue;
		snprintf(e.trsvcid, sizeof(e.trsvcid), "%s", r->trsvcid);
		snprintf(e.traddr, sizeof(e.traddr), "%s", r->traddr);
		disc_entry_build(&e, &wire);
		window_put(w, at, &wire, sizeof(wire));
	}
}

void target_discovery_log(struct target_ctrl *c, const char *local, uint64_t offset, uint8_t *buf, size_t len)
{
	struct nvof_target *t = c->subsys->target;
	struct log_window w = { .offset = offset, .end = offset + len < offset ? UINT64_MAX : offset + len, .buf = buf };
	struct nvmf_discovery_log head = { 0 };

	pthread_mutex_lock(&t->lock);
	log_subsyss(c, local, &w);
	log_referrals(c, &w);
	head.genctr = htole64(t->genctr);
	pthread_mutex_unlock(&t->lock);
	head.numrec = htole64(w.nr);
	window_put(&w, 0, &head, sizeof(head));
}

/* ------------------------------------------------------------------------------------------------ referrals */

static struct target_referral *referral_find(struct nvof_target *t, uint8_t trtype, const char *traddr, const char *trsvcid)
{
	struct target_referral *r;

	cds_list_for_each_entry (r, &t->referrals, link)
		if (r->trtype == trtype && traddr_equal(r->traddr, traddr) && !strcmp(r->trsvcid, trsvcid))
			return r;
	return NULL;
}

static int referral_check(const char *transport, const char *traddr, const char *trsvcid, uint8_t *trtype, struct error *err)
{
	uint16_t port;

	if (!transport || trtype_parse(transport, trtype))
		return error_set(err, -EINVAL, "referral: unknown transport \"%s\"", transport ? transport : "");
	if (!traddr || !*traddr || strlen(traddr) > 256)
		return error_set(err, -EINVAL, "referral: the address must have 1 to 256 characters");
	if ((*trtype == NVMF_TRTYPE_TCP || *trtype == NVMF_TRTYPE_RDMA) && (!trsvcid || trsvcid_parse(trsvcid, &port)))
		return error_set(err, -EINVAL, "referral to %s: port \"%s\" is not a number from 1 to 65535", traddr,
				 trsvcid ? trsvcid : "");
	if (trsvcid && strlen(trsvcid) > 32)
		return error_set(err, -EINVAL, "referral to %s: the service id is longer than 32 characters", traddr);
	return 0;
}

int target_add_referral(struct nvof_target *t, const char *transport, const char *traddr, const char *trsvcid, struct error *err)
{
	struct target_referral *r;
	uint8_t trtype;
	int ret = referral_check(transport, traddr, trsvcid, &trtype, err);

	if (ret)
		return ret;
	if (!trsvcid)
		trsvcid = "";
	if (referral_find(t, trtype, traddr, trsvcid))
		return error_set(err, -EEXIST, "referral to %s %s:%s: there already", transport, traddr, trsvcid);
	r = calloc(1, sizeof(*r));
	if (!r)
		return error_set(err, -ENOMEM, "referral to %s %s:%s: out of memory", transport, traddr, trsvcid);
	r->trtype = trtype;
	r->adrfam = strchr(traddr, ':') ? NVMF_ADDR_FAMILY_IP6 : NVMF_ADDR_FAMILY_IP4;
	snprintf(r->transport, sizeof(r->transport), "%s", trtype_name(trtype));
	snprintf(r->traddr, sizeof(r->traddr), "%s", traddr);
	snprintf(r->trsvcid, sizeof(r->trsvcid), "%s", trsvcid);
	pthread_mutex_lock(&t->lock);
	cds_list_add_tail(&r->link, &t->referrals);
	pthread_mutex_unlock(&t->lock);
	target_disc_changed(t);
	return 0;
}

int target_remove_referral(struct nvof_target *t, const char *transport, const char *traddr, const char *trsvcid, struct error *err)
{
	struct target_referral *r;
	uint8_t trtype;
	int ret = referral_check(transport, traddr, trsvcid, &trtype, err);

	if (ret)
		return ret;
	r = referral_find(t, trtype, traddr, trsvcid ? trsvcid : "");
	if (!r)
		return error_set(err, -ENOENT, "referral to %s %s:%s: there is none", transport, traddr, trsvcid ? trsvcid : "");
	pthread_mutex_lock(&t->lock);
	cds_list_del(&r->link);
	pthread_mutex_unlock(&t->lock);
	free(r);
	target_disc_changed(t);
	return 0;
}

void target_referrals_free(struct nvof_target *t)
{
	struct target_referral *r, *next;

	cds_list_for_each_entry_safe (r, next, &t->referrals, link)
		free(r);
}
