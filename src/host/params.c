/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "host/cpus.h"
#include "host/ctrl.h"
#include "host/ctx.h"
#include "host/identity.h"
#include "host/io_thread.h"
#include "host/params.h"
#include "proto/nqn.h"
#include "proto/uri.h"

#define KATO_DEFAULT_MS	  5000
#define REMOVE_TIMEOUT_MS 2000
#define SETTLE_MS	  10000 /* without keep alive */
#define KATO_DISCOVERY_MS 30000 /* a persistent discovery ctrl is idle for days (C064) */

void nvof_connect_opts_init(struct nvof_connect_opts *opts)
{
	memset(opts, 0, sizeof(*opts));
	opts->size = sizeof(*opts);
	opts->transport = "tcp";
	opts->queue_size = 128;
	opts->queues_per_hctx = 1;
	opts->keep_alive_tmo_ms = -1;
	opts->connect_tmo_ms = 10000;
	opts->io_tmo_ms = 30000;
	opts->disable_sqflow = true;
	opts->tos = -1;
	opts->reconnect_delay_ms = 2000;
	opts->fast_io_fail_tmo_ms = -1;
	opts->remove_timeout_ms = REMOVE_TIMEOUT_MS;
}

static const struct host_transport *find_transport(struct nvof_ctx *ctx, const char *name, struct error *err)
{
	static const char *const known[] = { "tcp", "rdma", "loop", "fc" };
	const struct host_transport *const *t;
	char list[128] = "";
	bool is_known = false;
	size_t i, len = 0;

	for (t = ctx->transports; *t; t++) {
		if (!strcasecmp((*t)->name, name))
			return *t;
		if (len < sizeof(list))
			len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", len ? ", " : "", (*t)->name);
	}
	for (i = 0; i < ARRAY_SIZE(known); i++)
		is_known |= !strcasecmp(known[i], name);
	if (is_known)
		error_set(err, -EINVAL, "transport '%s' is not in this build (it has: %s)", name, list);
	else
		error_set(err, -EINVAL, "unknown transport '%s' (known here: %s)", name, list);
	return NULL;
}

static int set_numbers(struct ctrl_params *p, const struct nvof_connect_opts *o, struct error *err)
{
	if (o->nr_io_queues > NR_IO_QUEUES_MAX)
		return error_set(err, -EINVAL, "nr_io_queues %u: 1 to %u, or 0 for the number of usable CPUs", o->nr_io_queues,
				 NR_IO_QUEUES_MAX);
	if (o->queue_size < QUEUE_SIZE_MIN || o->queue_size > QUEUE_SIZE_MAX)
		return error_set(err, -EINVAL, "queue_size %u: %u to %u", o->queue_size, QUEUE_SIZE_MIN, QUEUE_SIZE_MAX);
	if (o->keep_alive_tmo_ms < -1)
		return error_set(err, -EINVAL, "keep_alive_tmo %d ms: 0 turns it off, -1 is the default, else milliseconds",
				 o->keep_alive_tmo_ms);
	if (!o->connect_tmo_ms)
		return error_set(err, -EINVAL, "connect_tmo 0 ms: must be at least 1");
	if (o->ctrl_loss_tmo_ms < -1)
		return error_set(err, -EINVAL, "ctrl_loss_tmo %d ms: 0 means no reconnect, -1 for ever, else milliseconds",
				 o->ctrl_loss_tmo_ms);
	if (!o->reconnect_delay_ms)
		return error_set(err, -EINVAL, "reconnect_delay 0 ms: must be at least 1");
	if (o->fast_io_fail_tmo_ms < -1)
		return error_set(err, -EINVAL, "fast_io_fail_tmo %d ms: -1 turns it off, else milliseconds", o->fast_io_fail_tmo_ms);
	if (o->tos < -1 || o->tos > 255)
		return error_set(err, -EINVAL, "tos %d: 0 to 255, or -1 for the default", o->tos);
	if (!o->queues_per_hctx || o->queues_per_hctx > QUEUES_PER_HCTX_MAX)
		return error_set(err, -EINVAL, "queues_per_hctx %u: 1 to %u", o->queues_per_hctx, QUEUES_PER_HCTX_MAX);
	if (o->policy != NVOF_POLICY_LEAST_BYTES && o->policy != NVOF_POLICY_ROUND_ROBIN)
		return error_set(err, -EINVAL, "policy %d: not one that this library knows", (int)o->policy);
	p->queues_per_hctx = o->queues_per_hctx;
	p->policy = o->policy;
	p->nr_io_queues = p->is_discovery ? 0 : o->nr_io_queues ? o->nr_io_queues : cpus_usable() * o->queues_per_hctx;
	p->queue_size = o->queue_size;
	p->kato_ms = o->keep_alive_tmo_ms >= 0 ? (uint32_t)o->keep_alive_tmo_ms : p->is_discovery ? KATO_DISCOVERY_MS : KATO_DEFAULT_MS;
	p->connect_tmo_ms = o->connect_tmo_ms;
	p->io_tmo_ms = o->io_tmo_ms;
	p->setup_concurrency = o->setup_concurrency;
	p->ctrl_loss_tmo_ms = o->ctrl_loss_tmo_ms;
	p->reconnect_delay_ms = o->reconnect_delay_ms;
	p->fast_io_fail_tmo_ms = o->fast_io_fail_tmo_ms;
	p->remove_timeout_ms = o->remove_timeout_ms;
	p->removal_concurrency = o->removal_concurrency;
	p->disable_sqflow = o->disable_sqflow;
	p->no_early_links = o->no_early_links;
	p->event = o->event;
	p->event_arg = o->event_arg;
	return 0;
}

/* More threads than queues would never have work. */
static int set_threads(struct ctrl_params *p, const struct nvof_connect_opts *o, struct error *err)
{
	int ret = o->io_cpus ? cpu_list_parse(o->io_cpus, &p->io_cpus) : 0;

	if (ret == -ENOMEM)
		return error_set(err, ret, "no memory");
	if (ret)
		return error_set(err, ret, "io_cpus '%.100s': a list of CPUs is written as 0-3,8", o->io_cpus);
	if (o->io_threads > IO_THREADS_MAX)
		return error_set(err, -EINVAL, "io_threads %u: 0 to %u", o->io_threads, IO_THREADS_MAX);
	p->io_threads = min_u32(o->io_threads, p->nr_io_queues);
	return 0;
}

static int set_text(char **to, const char *from, struct error *err)
{
	*to = from ? strdup(from) : NULL;
	return from && !*to ? error_set(err, -ENOMEM, "no memory") : 0;
}

static int set_address(struct ctrl_params *p, const struct nvof_connect_opts *o, struct error *err)
{
	const char *svc = o->trsvcid;
	uint16_t port;
	int n;

	if (!svc && p->ops->default_trsvcid)
		svc = p->is_discovery ? "8009" : p->ops->default_trsvcid;
	if (svc && p->ops->default_trsvcid && trsvcid_parse(svc, &port))
		return error_set(err, -EINVAL, "trsvcid '%s': a port is a decimal number from 1 to 65535", svc);
	if (set_text(&p->traddr, o->traddr, err) || set_text(&p->trsvcid, svc, err) || set_text(&p->host_traddr, o->host_traddr, err) ||
	    set_text(&p->host_iface, o->host_iface, err))
		return err->code;
	if (!p->traddr)
		n = asprintf(&p->where, "%s", p->ops->name);
	else if (!p->trsvcid)
		n = asprintf(&p->where, "%s", p->traddr);
	else
		n = asprintf(&p->where, strchr(p->traddr, ':') ? "[%s]:%s" : "%s:%s", p->traddr, p->trsvcid);
	if (n < 0) {
		p->where = NULL;
		return error_set(err, -ENOMEM, "no memory");
	}
	p->link = (struct host_link_params){
		.traddr = p->traddr,
		.trsvcid = p->trsvcid,
		.host_traddr = p->host_traddr,
		.host_iface = p->host_iface,
		.tos = o->tos,
		.hdr_digest = o->hdr_digest,
		.data_digest = o->data_digest,
		.loop_target = o->loop_target,
		.connect_tmo_ms = p->connect_tmo_ms,
		.settle_ms = p->kato_ms ? 2 * p->kato_ms : SETTLE_MS,
	};
	return 0;
}

static bool pairing_is_known(const struct ctrl_params *p, struct nvof_ctx *ctx)
{
	struct nvof_ctrl *c;

	cds_list_for_each_entry (c, &ctx->ctrls, link)
		if (!strcmp(c->p.hostnqn, p->hostnqn) && !memcmp(c->p.hostid, p->hostid, sizeof(p->hostid)))
			return true;
	return false;
}

static int set_hostid(struct ctrl_params *p, const struct nvof_connect_opts *o, struct nvof_ctx *ctx, struct error *err)
{
	static const uint8_t zero[16];
	uint8_t inside[16];
	char text[37], *def;

	if (o->hostid) {
		if (!uuid_parse_text(o->hostid, p->hostid))
			return error_set(err, -EINVAL, "hostid '%s': not a UUID", o->hostid);
		/* Said once, not again for each ctrl of many. */
		if (nqn_uuid(p->hostnqn, inside) && memcmp(inside, p->hostid, sizeof(inside)) && !pairing_is_known(p, ctx)) {
			uuid_format(inside, text);
			log_warn(&ctx->log, "hostid %s differs from %s, the UUID in hostnqn %s: the hostid goes out as given", o->hostid,
				 text, p->hostnqn);
		}
	} else {
		def = nvof_hostid_default(p->hostnqn);
		if (!def)
			return error_set(err, -errno, "hostid: none was given, and this machine's can't be read: %s", strerror(errno));
		uuid_parse_text(def, p->hostid);
		free(def);
	}
	if (!memcmp(p->hostid, zero, sizeof(zero)))
		return error_set(err, -EINVAL, "hostid '%s': all zero is no identity", o->hostid ? o->hostid : "");
	uuid_format(p->hostid, p->hostid_text);
	return 0;
}

/* A target that sees one NQN with two ids, or one id with two NQNs, refuses or mixes up its hosts (C002). */
static int check_pairing(const struct ctrl_params *p, struct nvof_ctx *ctx, struct error *err)
{
	struct nvof_ctrl *c;

	cds_list_for_each_entry (c, &ctx->ctrls, link) {
		bool same_nqn = !strcmp(c->p.hostnqn, p->hostnqn), same_id = !memcmp(c->p.hostid, p->hostid, sizeof(p->hostid));

		if (c->state == NVOF_CTRL_DELETING || c->state == NVOF_CTRL_DEAD || same_nqn == same_id)
			continue;
		return error_set(err, -EINVAL,
				 "host identity hostnqn %s with hostid %s contradicts a live connection's: hostnqn %s with hostid %s",
				 p->hostnqn, p->hostid_text, c->p.hostnqn, c->p.hostid_text);
	}
	return 0;
}

static int set_names(struct ctrl_params *p, struct nvof_ctx *ctx, const struct nvof_connect_opts *o, struct error *err)
{
	const char *why;

	if (set_text(&p->subsysnqn, o->subsysnqn ? o->subsysnqn : NVMF_DISC_NQN, err))
		return err->code;
	why = nqn_check(p->subsysnqn);
	if (why)
		return error_set(err, -EINVAL, "subsysnqn '%.64s%s': %s", p->subsysnqn, strlen(p->subsysnqn) > 64 ? "..." : "", why);
	p->is_discovery = !strcmp(p->subsysnqn, NVMF_DISC_NQN);
	if (o->hostnqn) {
		if (set_text(&p->hostnqn, o->hostnqn, err))
			return err->code;
	} else {
		p->hostnqn = nvof_hostnqn_default();
		if (!p->hostnqn && errno == ENOENT)
			return error_set(err, -EINVAL, "hostnqn: none was given and this machine has nothing to make one from");
		if (!p->hostnqn)
			return error_set(err, -errno, "hostnqn: none was given, and this machine's can't be read: %s", strerror(errno));
	}
	why = nqn_check(p->hostnqn);
	if (why)
		return error_set(err, -EINVAL, "hostnqn '%.64s%s': %s", p->hostnqn, strlen(p->hostnqn) > 64 ? "..." : "", why);
	if (set_hostid(p, o, ctx, err))
		return err->code;
	return check_pairing(p, ctx, err);
}

/* The first version ended with event_arg. */
bool connect_opts_size_known(const struct nvof_connect_opts *opts)
{
	return opts && opts->size >= offsetof(struct nvof_connect_opts, ctrl_loss_tmo_ms) && opts->size <= sizeof(*opts);
}

int ctrl_params_init(struct ctrl_params *p, struct nvof_ctx *ctx, const struct nvof_connect_opts *user, struct error *err)
{
	struct nvof_connect_opts o;

	memset(p, 0, sizeof(*p));
	nvof_connect_opts_init(&o);
	if (!connect_opts_size_known(user))
		return error_set(err, -EINVAL, "nvof_connect_opts: size %zu is not one that this library knows", user ? user->size : 0);
	memcpy(&o, user, user->size);
	p->ops = find_transport(ctx, o.transport ? o.transport : "tcp", err);
	if (!p->ops)
		return err->code;
	if (set_names(p, ctx, &o, err) || set_numbers(p, &o, err) || set_threads(p, &o, err) || set_address(p, &o, err))
		goto fail;
	p->link.log = &ctx->log;
	p->link.nr_io_threads = p->io_threads;
	if (p->ops->addr_check && p->ops->addr_check(&p->link, err))
		goto fail;
	return 0;

fail:
	ctrl_params_clear(p);
	return err->code;
}

void ctrl_params_clear(struct ctrl_params *p)
{
	free(p->traddr);
	free(p->trsvcid);
	free(p->host_traddr);
	free(p->host_iface);
	free(p->subsysnqn);
	free(p->hostnqn);
	free(p->where);
	cpu_list_clear(&p->io_cpus);
	memset(p, 0, sizeof(*p));
}
