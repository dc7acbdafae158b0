/* SPDX-License-Identifier: BSD-3-Clause */
/* A configuration file onto a target: checked as a whole, applied in order, taken back in reverse when a part of it can't be had. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "target/config.h"
#include "target/target.h"

#define CONFIG_FILE_MAX ((size_t)256 << 20)

/* What was done so far. */
struct applied {
	size_t nr_subsys;
	struct target_port **ports;
	size_t nr_ports;
	const struct config_referral **referrals;
	size_t nr_referrals;
};

static int read_all(int fd, char **text, size_t *len, struct error *err)
{
	size_t room = 0, used = 0;
	char *buf = NULL, *more;
	ssize_t n;

	do {
		if (used == room) {
			room = room ? room * 2 : 65536;
			more = room <= CONFIG_FILE_MAX ? realloc(buf, room) : NULL;
			if (!more) {
				free(buf);
				return error_set(err, room <= CONFIG_FILE_MAX ? -ENOMEM : -EFBIG, "%s",
						 room <= CONFIG_FILE_MAX ? "out of memory" : "is longer than 256 MiB");
			}
			buf = more;
		}
		n = read(fd, buf + used, room - used);
		if (n > 0)
			used += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0) {
		free(buf);
		return error_set(err, -errno, "read: %s", strerror(errno));
	}
	*text = buf;
	*len = used;
	return 0;
}

static int read_file(const char *path, char **text, size_t *len, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return error_set(err, -errno, "open: %s", strerror(errno));
	ret = read_all(fd, text, len, err);
	close(fd);
	return ret;
}

static int apply_ns(struct nvof_target *t, const char *nqn, const struct config_ns *ns, struct error *err)
{
	struct nvof_target_ns_opts opts;

	nvof_target_ns_opts_init(&opts);
	opts.nsid = ns->nsid;
	opts.backend = ns->backend;
	opts.block_size = ns->block_size;
	opts.readonly = ns->readonly;
	opts.anagrpid = ns->anagrpid;
	memcpy(opts.uuid, ns->uuid, sizeof(opts.uuid));
	memcpy(opts.nguid, ns->nguid, sizeof(opts.nguid));
	return target_add_ns(t, nqn, &opts, NULL, err);
}

static int apply_subsys(struct nvof_target *t, const struct config_subsys *s, struct applied *done, struct error *err)
{
	struct nvof_subsys_opts opts;
	size_t i;
	int ret;

	nvof_subsys_opts_init(&opts);
	opts.serial = s->serial;
	opts.model = s->model;
	opts.allow_any_host = s->allow_any_host;
	opts.cntlid_min = s->cntlid_min;
	opts.cntlid_max = s->cntlid_max;
	ret = target_add_subsys(t, s->nqn, &opts, err);
	if (ret)
		return ret;
	done->nr_subsys++;
	for (i = 0; !ret && i < s->nr_hosts; i++)
		ret = target_allow_host(t, s->nqn, s->hosts[i], err);
	for (i = 0; !ret && i < s->nr_ns; i++)
		ret = apply_ns(t, s->nqn, &s->ns[i], err);
	return ret;
}

static int apply_port(struct nvof_target *t, const struct config_port *p, struct applied *done, struct error *err)
{
	struct target_port_opts opts = { .portid = p->portid, .all_subsys = p->all_subsys, .ana_kernel = p->nr_ana && !p->ana_optimized };
	size_t i;
	int ret;

	for (i = 0; i < p->nr_referrals; i++) {
		const struct config_referral *r = &p->referrals[i];

		ret = target_add_referral(t, r->transport, r->traddr, r->trsvcid, err);
		/* nvmetcli keeps them per port, and the same one may stand in several. */
		if (ret == -EEXIST) {
			error_clear(err);
			continue;
		}
		if (ret)
			return ret;
		done->referrals[done->nr_referrals++] = r;
	}
	ret = target_ana_preset(&opts, p->ana, p->nr_ana, err);
	if (!ret)
		ret = target_listen(t, p->spec, &opts, &done->ports[done->nr_ports], err);
	if (ret)
		return ret;
	done->nr_ports++;
	for (i = 0; !ret && !p->all_subsys && i < p->nr_subsys; i++)
		ret = target_port_add_subsys(done->ports[done->nr_ports - 1], p->subsys[i], err);
	return ret;
}

static void undo(struct nvof_target *t, const struct config *c, struct applied *done)
{
	struct error ignored = { 0 };
	char spec[400];

	while (done->nr_ports) {
		target_port_spec(done->ports[--done->nr_ports], spec, sizeof(spec));
		target_unlisten(t, spec, &ignored);
	}
	while (done->nr_referrals) {
		const struct config_referral *r = done->referrals[--done->nr_referrals];

		target_remove_referral(t, r->transport, r->traddr, r->trsvcid, &ignored);
	}
	while (done->nr_subsys)
		target_remove_subsys(t, c->subsys[--done->nr_subsys].nqn, &ignored);
	error_clear(&ignored);
}

/* Ports last: nobody connects to half a configuration. */
static int apply(struct nvof_target *t, const struct config *c, struct error *err)
{
	struct applied done = { 0 };
	size_t i, nr_referrals = 0;
	int ret = 0;

	for (i = 0; i < c->nr_ports; i++)
		nr_referrals += c->ports[i].nr_referrals;
	done.ports = calloc(c->nr_ports + 1, sizeof(struct target_port *));
	done.referrals = calloc(nr_referrals + 1, sizeof(struct config_referral *));
	if (!done.ports || !done.referrals)
		ret = error_set(err, -ENOMEM, "out of memory");
	for (i = 0; !ret && i < c->nr_subsys; i++)
		ret = apply_subsys(t, &c->subsys[i], &done, err);
	for (i = 0; !ret && i < c->nr_ports; i++)
		ret = apply_port(t, &c->ports[i], &done, err);
	if (ret)
		undo(t, c, &done);
	free(done.ports);
	free(done.referrals);
	return ret;
}

int nvof_target_load_config(struct nvof_target *t, const char *path)
{
	struct error err = { 0 };
	struct config c = { 0 };
	char *text = NULL;
	size_t len = 0;
	int ret;

	ret = target_api_need("path", path, &err) ?: read_file(path, &text, &len, &err);
	if (!ret)
		ret = config_parse(text, len, &c, &t->log, &err);
	free(text);
	target_api_enter(t);
	if (!ret)
		ret = apply(t, &c, &err);
	config_clear(&c);
	error_prefix(&err, "config %s", path ? path : "");
	return target_api_leave(t, ret, &err);
}
