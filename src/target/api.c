// SPDX-License-Identifier: BSD-3-Clause
/* The public calls of include/nvof/target.h that are nothing but their insides between enter and leave. */
#include <errno.h>
#include <stdio.h>

#include "target/target.h"

#define API(t, call)                             \
	({                                       \
		struct error err = { 0 };        \
		int ret_;                        \
		target_api_enter(t);             \
		ret_ = (call);                   \
		target_api_leave(t, ret_, &err); \
	})

#define NEED(arg) target_api_need(#arg, arg, &err)

static int listen_say(struct nvof_target *t, const char *spec, const struct nvof_ana_group *groups, size_t nr_groups, char *addr,
		      size_t addr_len, struct error *err)
{
	struct target_port_opts opts = { .all_subsys = true };
	struct target_port *port;
	int ret = nr_groups ? target_api_need("groups", groups, err) : 0;

	if (!ret)
		ret = target_ana_preset(&opts, groups, nr_groups, err);
	if (ret)
		error_prefix(err, "listen on \"%s\"", spec);
	else
		ret = target_listen(t, spec, &opts, &port, err);
	if (!ret && addr && addr_len)
		target_port_spec(port, addr, addr_len);
	return ret;
}

int nvof_target_listen(struct nvof_target *t, const char *spec, char *addr, size_t addr_len)
{
	return API(t, NEED(spec) ?: listen_say(t, spec, NULL, 0, addr, addr_len, &err));
}

int nvof_target_listen_ana(struct nvof_target *t, const char *spec, const struct nvof_ana_group *groups, size_t nr_groups, char *addr,
			   size_t addr_len)
{
	return API(t, NEED(spec) ?: listen_say(t, spec, groups, nr_groups, addr, addr_len, &err));
}

int nvof_target_set_ana(struct nvof_target *t, const char *spec, uint32_t grpid, enum nvof_ana_state state)
{
	return API(t, NEED(spec) ?: target_set_ana(t, spec, grpid, state, &err));
}

int nvof_target_unlisten(struct nvof_target *t, const char *spec)
{
	return API(t, NEED(spec) ?: target_unlisten(t, spec, &err));
}

int nvof_target_add_subsys(struct nvof_target *t, const char *nqn, const struct nvof_subsys_opts *opts)
{
	return API(t, NEED(nqn) ?: target_add_subsys(t, nqn, opts, &err));
}

int nvof_target_remove_subsys(struct nvof_target *t, const char *nqn)
{
	return API(t, NEED(nqn) ?: target_remove_subsys(t, nqn, &err));
}

int nvof_target_allow_host(struct nvof_target *t, const char *nqn, const char *hostnqn)
{
	return API(t, NEED(nqn) ?: NEED(hostnqn) ?: target_allow_host(t, nqn, hostnqn, &err));
}

int nvof_target_disallow_host(struct nvof_target *t, const char *nqn, const char *hostnqn)
{
	return API(t, NEED(nqn) ?: NEED(hostnqn) ?: target_disallow_host(t, nqn, hostnqn, &err));
}

int nvof_target_allow_any_host(struct nvof_target *t, const char *nqn, bool any)
{
	return API(t, NEED(nqn) ?: target_allow_any_host(t, nqn, any, &err));
}

int nvof_target_add_ns(struct nvof_target *t, const char *nqn, const struct nvof_target_ns_opts *opts, uint32_t *nsidp)
{
	return API(t, NEED(nqn) ?: NEED(opts) ?: target_add_ns(t, nqn, opts, nsidp, &err));
}

int nvof_target_remove_ns(struct nvof_target *t, const char *nqn, uint32_t nsid)
{
	return API(t, NEED(nqn) ?: target_remove_ns(t, nqn, nsid, &err));
}

int nvof_target_resize_ns(struct nvof_target *t, const char *nqn, uint32_t nsid, uint64_t bytes)
{
	return API(t, NEED(nqn) ?: target_resize_ns(t, nqn, nsid, bytes, &err));
}

int nvof_target_add_referral(struct nvof_target *t, const char *transport, const char *traddr, const char *trsvcid)
{
	return API(t, target_add_referral(t, transport, traddr, trsvcid, &err));
}

int nvof_target_remove_referral(struct nvof_target *t, const char *transport, const char *traddr, const char *trsvcid)
{
	return API(t, target_remove_referral(t, transport, traddr, trsvcid, &err));
}

int nvof_target_add_fault(struct nvof_target *t, const char *spec)
{
	return API(t, NEED(spec) ?: fault_set_add(&t->faults, spec, clock_ns(), &err));
}

void nvof_target_clear_faults(struct nvof_target *t)
{
	target_api_enter(t);
	fault_set_clear(&t->faults);
	pthread_mutex_unlock(&t->api_lock);
}

static int drain_say(struct nvof_target *t, unsigned int tmo_ms, struct error *err)
{
	int ret = target_shut(t, tmo_ms);

	return ret ? error_set(err, ret, "drain: I/O was still under way after %u ms; its connections were closed", tmo_ms) : 0;
}

int nvof_target_drain(struct nvof_target *t, unsigned int tmo_ms)
{
	return API(t, drain_say(t, tmo_ms, &err));
}
