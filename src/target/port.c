// SPDX-License-Identifier: BSD-3-Clause
/* Listeners: "tcp:ADDR:PORT", "tcp:[V6]:PORT", "rdma:ADDR:PORT", "loop". */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/discovery.h"
#include "proto/traddr.h"
#include "proto/uri.h"
#include "target/target.h"

#define PORT_MAXH2CDATA (128u << 10)

static const struct target_transport *transport_find(const char *name, size_t len)
{
	for (const struct target_transport *const *tr = target_transports; *tr; tr++)
		if (strlen((*tr)->name) == len && !strncasecmp((*tr)->name, name, len))
			return *tr;
	return NULL;
}

static int transport_unknown(const char *spec, struct error *err)
{
	char names[128] = "";

	for (const struct target_transport *const *tr = target_transports; *tr; tr++) {
		strncat(names, tr == target_transports ? "" : ", ", sizeof(names) - strlen(names) - 1);
		strncat(names, (*tr)->name, sizeof(names) - strlen(names) - 1);
	}
	if (!strncasecmp(spec, "rdma", strcspn(spec, ":")) && strcspn(spec, ":") == 4)
		return error_set(err, -EINVAL, "listen on \"%s\": this build has no RDMA (it has: %s)", spec, names);
	return error_set(err, -EINVAL, "listen on \"%s\": unknown transport; known: %s", spec, names);
}

static bool svc_fine(const char *svc)
{
	uint16_t port;

	return !strcmp(svc, "0") || !trsvcid_parse(svc, &port);
}

/* rest is what stands behind "tcp:".  It is cut in place. */
static int addr_split(const char *spec, char *rest, const char **addr, const char **svc, struct error *err)
{
	char *colon, *close;

	if (rest[0] == '[') {
		close = strchr(rest, ']');
		if (!close || close[1] != ':')
			return error_set(err, -EINVAL, "listen on \"%s\": want [IPV6]:PORT", spec);
		*close = '\0';
		*addr = rest + 1;
		*svc = close + 2;
	} else {
		colon = strchr(rest, ':');
		if (!colon)
			return error_set(err, -EINVAL, "listen on \"%s\": the port is missing: want TRANSPORT:ADDR:PORT", spec);
		if (strchr(colon + 1, ':'))
			return error_set(err, -EINVAL, "listen on \"%s\": an IPv6 address needs brackets: [IPV6]:PORT", spec);
		*colon = '\0';
		*addr = rest;
		*svc = colon + 1;
	}
	if (!**addr)
		return error_set(err, -EINVAL, "listen on \"%s\": the address is missing", spec);
	if (!svc_fine(*svc))
		return error_set(err, -EINVAL, "listen on \"%s\": port \"%s\" is not a number from 1 to 65535 (or 0: any free one)", spec,
				 *svc);
	return 0;
}

struct port_call {
	struct target_port *port;
	const char *addr, *svc;
	struct error *err;
	int ret;
};

static void port_listen_call(void *arg)
{
	struct port_call *pc = arg;
	struct target_port *port = pc->port;

	pc->ret = port->ops->listen(port, port->thread->loop, pc->addr, pc->svc, &port->listener, pc->err);
}

static void port_unlisten_call(void *arg)
{
	struct target_port *port = arg;

	port->ops->unlisten(port->listener);
	port->listener = NULL;
}

static void nothing(void *arg) {}

/* Connections accepted before are on their way to their loops by loop_post(): after this all of them have arrived. */
static void port_settle(struct nvof_target *t)
{
	for (unsigned int i = 0; i < t->nr_threads; i++)
		target_thread_call(&t->threads[i], nothing, NULL);
}

static struct target_port *port_new(struct nvof_target *t, const char *spec, const struct target_transport *ops,
				    const struct target_port_opts *opts)
{
	struct target_port *port = calloc(1, sizeof(*port));

	if (!port)
		return NULL;
	port->spec = strdup(spec);
	if (!port->spec) {
		free(port);
		return NULL;
	}
	CDS_INIT_LIST_HEAD(&port->subsyss);
	port->target = t;
	port->ops = ops;
	port->all_subsys = opts->all_subsys;
	target_ana_init(port, opts);
	port->thread = &t->threads[0];
	port->params = (struct target_link_params){
		.hdr_digest_ok = true,
		.data_digest_ok = true,
		.pace = t->opts.pace,
		.maxh2cdata = PORT_MAXH2CDATA,
		.inline_len = min_u32(t->opts.inline_len, ops->max_inline),
		.mdts_len = t->opts.mdts_len,
		.max_queue_size = t->opts.max_queue_size,
		.handshake_tmo_ns = t->opts.handshake_tmo_ms * NSEC_PER_MSEC,
		.spin_ns = t->opts.spin_us * NSEC_PER_USEC,
	};
	return port;
}

void target_port_free(struct target_port *port)
{
	struct target_port_link *pl, *next;

	cds_list_for_each_entry_safe (pl, next, &port->subsyss, link)
		free(pl);
	free(port->spec);
	free(port);
}

static bool portid_used(const struct nvof_target *t, uint16_t portid)
{
	struct target_port *port;

	cds_list_for_each_entry (port, &t->ports, link)
		if (port->portid == portid)
			return true;
	return false;
}

static struct target_port *port_at(struct nvof_target *t, const struct target_transport *ops, const char *addr, const char *svc)
{
	struct target_port *port;

	cds_list_for_each_entry (port, &t->ports, link)
		if (port->ops == ops && (!ops->needs_addr || (traddr_equal(port->traddr, addr) && !strcmp(port->trsvcid, svc))))
			return port;
	return NULL;
}

static int port_check_new(struct nvof_target *t, const char *spec, const struct target_transport *ops, const char *addr, const char *svc,
			  struct error *err)
{
	if (__atomic_load_n(&t->draining, __ATOMIC_RELAXED))
		return error_set(err, -ESHUTDOWN, "listen on \"%s\": the target is shutting down", spec);
	if (port_at(t, ops, addr, svc))
		return error_set(err, -EEXIST, "listen on \"%s\": already listening there", spec);
	return 0;
}

static void port_learn_addr(struct target_port *port)
{
	port->ops->listener_addr(port->listener, port->traddr, sizeof(port->traddr), port->trsvcid, sizeof(port->trsvcid), &port->adrfam);
	port->wildcard = port->ops->needs_addr && (!strcmp(port->traddr, "0.0.0.0") || !strcmp(port->traddr, "::"));
}

static int port_open(struct nvof_target *t, struct target_port *port, const char *addr, const char *svc, struct error *err)
{
	struct port_call pc = { .port = port, .addr = addr, .svc = svc, .err = err };

	target_thread_call(port->thread, port_listen_call, &pc);
	if (pc.ret) {
		if (!err->code)
			error_set(err, pc.ret, "listen on \"%s\": %s", port->spec, strerror(-pc.ret));
		return pc.ret;
	}
	port_learn_addr(port);
	return 0;
}

int target_listen(struct nvof_target *t, const char *spec, const struct target_port_opts *opts, struct target_port **pp, struct error *err)
{
	const char *addr = "", *svc = "";
	const struct target_transport *ops;
	struct target_port *port;
	size_t name_len;
	char *rest;
	int ret;

	name_len = strcspn(spec, ":");
	ops = transport_find(spec, name_len);
	if (!ops)
		return transport_unknown(spec, err);
	if (opts->portid && portid_used(t, opts->portid))
		return error_set(err, -EEXIST, "listen on \"%s\": port id %u is in use", spec, opts->portid);
	if (!ops->needs_addr && spec[name_len])
		return error_set(err, -EINVAL, "listen on \"%s\": %s takes no address", spec, ops->name);
	rest = strdup(spec[name_len] ? spec + name_len + 1 : "");
	if (!rest)
		return error_set(err, -ENOMEM, "listen on \"%s\": out of memory", spec);
	ret = ops->needs_addr ? addr_split(spec, rest, &addr, &svc, err) : 0;
	if (!ret)
		ret = port_check_new(t, spec, ops, addr, svc, err);
	if (ret)
		goto out;
	port = port_new(t, spec, ops, opts);
	if (!port) {
		ret = error_set(err, -ENOMEM, "listen on \"%s\": out of memory", spec);
		goto out;
	}
	port->portid = opts->portid;
	while (!port->portid || portid_used(t, port->portid)) {
		if (port->portid && opts->portid)
			break;
		port->portid = ++t->next_portid;
	}
	ret = port_open(t, port, addr, svc, err);
	if (ret) {
		target_port_free(port);
		goto out;
	}
	pthread_mutex_lock(&t->lock);
	cds_list_add_tail(&port->link, &t->ports);
	pthread_mutex_unlock(&t->lock);
	target_disc_changed(t);
	if (pp)
		*pp = port;
out:
	free(rest);
	return ret;
}

/* By the words it was asked for with ("tcp:127.0.0.1:0"), or by where it is, however spelled. */
struct target_port *target_port_find(struct nvof_target *t, const char *spec)
{
	size_t name_len = strcspn(spec, ":");
	const struct target_transport *ops = transport_find(spec, name_len);
	const char *addr = "", *svc = "";
	struct target_port *port;
	struct error ignored = { 0 };
	char *rest;

	cds_list_for_each_entry (port, &t->ports, link)
		if (!strcasecmp(spec, port->spec))
			return port;
	rest = ops && (ops->needs_addr || !spec[name_len]) ? strdup(spec[name_len] ? spec + name_len + 1 : "") : NULL;
	port = rest && (!ops->needs_addr || !addr_split(spec, rest, &addr, &svc, &ignored)) ? port_at(t, ops, addr, svc) : NULL;
	error_clear(&ignored);
	free(rest);
	return port;
}

/* From now on no connection starts by this port; those on their way have arrived or were refused when this returns. */
void target_port_stop(struct target_port *port)
{
	struct nvof_target *t = port->target;

	pthread_mutex_lock(&t->lock);
	port->stopped = true;
	cds_list_del(&port->link);
	cds_list_add_tail(&port->link, &t->dead_ports);
	pthread_mutex_unlock(&t->lock);
	target_thread_call(port->thread, port_unlisten_call, port);
	port_settle(t);
}

/* As the kernel's target does. */
static void port_close_ctrls(struct target_port *port)
{
	struct nvof_target *t = port->target;
	struct target_subsys *s;

	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry (s, &t->subsyss, link)
		target_subsys_close_ctrls(s, port, NULL, "its port was removed");
	target_subsys_close_ctrls(t->disc, port, NULL, "its port was removed");
	pthread_mutex_unlock(&t->lock);
}

int target_unlisten(struct nvof_target *t, const char *spec, struct error *err)
{
	struct target_port *port = target_port_find(t, spec);

	if (!port)
		return error_set(err, -ENOENT, "stop listening on \"%s\": not listening there", spec);
	target_port_stop(port);
	port_close_ctrls(port);
	target_disc_changed(t);
	return 0;
}

int target_port_add_subsys(struct target_port *port, const char *nqn, struct error *err)
{
	struct nvof_target *t = port->target;
	struct target_subsys *s = target_subsys_get(t, nqn, err);
	struct target_port_link *pl;

	if (!s)
		return err->code;
	cds_list_for_each_entry (pl, &port->subsyss, link)
		if (pl->subsys == s)
			return error_set(err, -EEXIST, "offer %s on port %u: already offered", nqn, port->portid);
	pl = calloc(1, sizeof(*pl));
	if (!pl)
		return error_set(err, -ENOMEM, "offer %s on port %u: out of memory", nqn, port->portid);
	pl->subsys = s;
	pthread_mutex_lock(&t->lock);
	cds_list_add_tail(&pl->link, &port->subsyss);
	pthread_mutex_unlock(&t->lock);
	target_disc_changed(t);
	return 0;
}

bool target_port_offers(const struct target_port *port, const struct target_subsys *s)
{
	struct target_port_link *pl;

	if (port->all_subsys || s->discovery)
		return true;
	cds_list_for_each_entry (pl, &port->subsyss, link)
		if (pl->subsys == s)
			return true;
	return false;
}

void target_port_forget_subsys(struct nvof_target *t, const struct target_subsys *s)
{
	struct target_port_link *pl, *next;
	struct target_port *port;

	cds_list_for_each_entry (port, &t->ports, link)
		cds_list_for_each_entry_safe (pl, next, &port->subsyss, link)
			if (pl->subsys == s) {
				cds_list_del(&pl->link);
				free(pl);
			}
}

void target_port_spec(const struct target_port *port, char *buf, size_t len)
{
	if (!port->ops->needs_addr)
		snprintf(buf, len, "%s", port->ops->name);
	else if (strchr(port->traddr, ':'))
		snprintf(buf, len, "%s:[%s]:%s", port->ops->name, port->traddr, port->trsvcid);
	else
		snprintf(buf, len, "%s:%s:%s", port->ops->name, port->traddr, port->trsvcid);
}

const struct target_link_params *target_port_params(const struct target_port *port)
{
	return &port->params;
}

struct nvof_target *target_port_target(const struct target_port *port)
{
	return port->target;
}

const struct log *target_port_log(const struct target_port *port)
{
	return &port->target->log;
}
