/* SPDX-License-Identifier: BSD-3-Clause */
/* The "ports" of a configuration: where to listen, what is offered there, and the referrals. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "proto/ana.h"
#include "proto/uri.h"
#include "target/config.h"

struct config_addr {
	const char *trtype, *adrfam, *traddr, *trsvcid, *treq, *tsas;
};

static int parse_addr(struct config_ctx *x, const struct config_at *up, json_object *obj, struct config_addr *a)
{
	struct config_at at = { .up = up, .key = "addr" };
	const struct {
		const char *key, **value;
	} texts[] = {
		{ "trtype", &a->trtype },   { "adrfam", &a->adrfam }, { "traddr", &a->traddr },
		{ "trsvcid", &a->trsvcid }, { "treq", &a->treq },     { "tsas", &a->tsas },
	};
	json_object *addr;
	int ret = config_object(x, up, obj, "addr", &addr);
	uint16_t port;
	size_t i;

	if (!ret && !addr)
		ret = config_bad(x, up, "addr", "is missing");
	for (i = 0; !ret && i < ARRAY_SIZE(texts); i++)
		ret = config_string(x, &at, addr, texts[i].key, texts[i].value);
	if (ret)
		return ret;
	if (!a->trtype || (strcmp(a->trtype, "tcp") && strcmp(a->trtype, "rdma") && strcmp(a->trtype, "loop")))
		return config_bad(x, &at, "trtype", "must be tcp, rdma or loop, is \"%.40s\"", a->trtype ? a->trtype : "");
	/* In clear text what was asked to be encrypted: no. */
	if ((a->treq && !strcmp(a->treq, "required")) || (a->tsas && strcmp(a->tsas, "none")))
		return config_bad(x, &at, a->tsas ? "tsas" : "treq", "TLS is not supported");
	config_check_keys(x, &at, addr, CONFIG_KEYS("trtype", "adrfam", "traddr", "trsvcid", "treq", "tsas", "portid"), NULL);
	if (!strcmp(a->trtype, "loop"))
		return 0;
	if (!a->traddr)
		return config_bad(x, &at, "traddr", "is missing");
	if (!a->trsvcid || trsvcid_parse(a->trsvcid, &port))
		return config_bad(x, &at, "trsvcid", "must be a port from 1 to 65535, is \"%.40s\"", a->trsvcid ? a->trsvcid : "");
	return 0;
}

/* The address as target_listen() takes it; the family must be what adrfam says. */
static int listen_spec(struct config_ctx *x, const struct config_at *up, const struct config_addr *a, char **spec)
{
	struct config_at at = { .up = up, .key = "addr" };
	uint8_t bin[16];
	bool v4 = false, v6 = false;

	if (!strcmp(a->trtype, "loop")) {
		*spec = strdup("loop");
		return *spec ? 0 : config_no_memory(x);
	}
	v4 = inet_pton(AF_INET, a->traddr, bin) == 1;
	v6 = strchr(a->traddr, ':') != NULL;
	if (!v4 && !v6)
		return config_bad(x, &at, "traddr", "must be an IPv4 or IPv6 address, is \"%.60s\"", a->traddr);
	if (a->adrfam && strcmp(a->adrfam, v4 ? "ipv4" : "ipv6"))
		return config_bad(x, &at, "adrfam", "is \"%.40s\", but traddr \"%.60s\" is %s", a->adrfam, a->traddr, v4 ? "ipv4" : "ipv6");
	if (asprintf(spec, v4 ? "%s:%s:%s" : "%s:[%s]:%s", a->trtype, a->traddr, a->trsvcid) < 0) {
		*spec = NULL;
		return config_no_memory(x);
	}
	return 0;
}

static int parse_referrals(struct config_ctx *x, const struct config_at *up, json_object *obj, struct config_port *p)
{
	struct config_at list = { .up = up, .key = "referrals" }, at = { .up = &list };
	json_object *array, *elem;
	size_t nr;
	int ret = config_array(x, up, obj, "referrals", &array, &nr);

	if (ret || !nr)
		return ret;
	p->referrals = calloc(nr, sizeof(*p->referrals));
	if (!p->referrals)
		return config_no_memory(x);
	for (at.index = 0; !ret && at.index < nr; at.index++) {
		struct config_addr a = { 0 };
		bool enable = true;

		ret = config_object_at(x, &at, array, &elem);
		if (!ret)
			ret = parse_addr(x, &at, elem, &a);
		if (!ret)
			ret = config_flag(x, &at, elem, "enable", true, &enable);
		if (!ret && !enable)
			config_note(x, LOG_WARN, &at, "enable", "is 0: the referral is left out");
		if (ret || !enable)
			continue;
		config_check_keys(x, &at, elem, CONFIG_KEYS("addr", "enable", "name"), CONFIG_KEYS("portid"));
		p->referrals[p->nr_referrals++] =
			(struct config_referral){ a.trtype, a.traddr ? a.traddr : "", a.trsvcid ? a.trsvcid : "" };
	}
	return ret;
}

/* {"ana": {"state": "optimized"}, "grpid": 1} */
static int parse_ana_group(struct config_ctx *x, const struct config_at *at, json_object *elem, struct config_port *p)
{
	struct config_at in = { .up = at, .key = "ana" };
	uint8_t state = NVOF_ANA_INACCESSIBLE;
	uint64_t grpid = 0;
	const char *text = NULL;
	json_object *ana = NULL;
	int ret = config_number(x, at, elem, "grpid", 1, ANA_GRPID_MAX, 0, &grpid);

	if (!ret && !grpid)
		ret = config_bad(x, at, "grpid", "is missing");
	if (!ret)
		ret = config_object(x, at, elem, "ana", &ana);
	if (!ret)
		ret = config_string(x, &in, ana, "state", &text);
	if (!ret && !text)
		ret = config_bad(x, &in, "state", "is missing");
	if (!ret && !ana_state_parse(text, &state))
		ret = config_bad(x, &in, "state", "must be one of " ANA_STATE_NAMES ", is \"%.40s\"", text);
	for (size_t i = 0; !ret && i < p->nr_ana; i++)
		if (p->ana[i].grpid == grpid)
			ret = config_bad(x, at, "grpid", "%" PRIu64 " is there already, in [%zu]", grpid, i);
	if (ret)
		return ret;
	p->ana[p->nr_ana++] = (struct nvof_ana_group){ .grpid = (uint32_t)grpid, .state = state };
	config_check_keys(x, &in, ana, CONFIG_KEYS("state"), NULL);
	config_check_keys(x, at, elem, CONFIG_KEYS("ana", "grpid"), NULL);
	return 0;
}

static int parse_ana_groups(struct config_ctx *x, const struct config_at *up, json_object *obj, struct config_port *p)
{
	struct config_at list = { .up = up, .key = "ana_groups" }, at = { .up = &list };
	json_object *array, *elem;
	size_t nr;
	int ret = config_array(x, up, obj, "ana_groups", &array, &nr);

	if (ret || !nr)
		return ret;
	p->ana = calloc(nr, sizeof(*p->ana));
	if (!p->ana)
		return config_no_memory(x);
	for (at.index = 0; !ret && at.index < nr; at.index++) {
		ret = config_object_at(x, &at, array, &elem);
		if (!ret)
			ret = parse_ana_group(x, &at, elem, p);
	}
	return ret;
}

static bool has_subsys(const struct config *c, const char *nqn)
{
	size_t i;

	for (i = 0; i < c->nr_subsys && strcmp(c->subsys[i].nqn, nqn); i++)
		;
	return i < c->nr_subsys;
}

static int parse_port_subsystems(struct config_ctx *x, const struct config_at *up, json_object *obj, struct config *c,
				 struct config_port *p)
{
	struct config_at list = { .up = up, .key = "subsystems" }, at = { .up = &list };
	json_object *array;
	size_t nr, i;
	int ret = config_array(x, up, obj, "subsystems", &array, &nr);

	if (ret || !nr)
		return ret;
	p->subsys = calloc(nr, sizeof(*p->subsys));
	if (!p->subsys)
		return config_no_memory(x);
	for (at.index = 0; at.index < nr; at.index++) {
		const char *nqn;

		ret = config_string_at(x, &at, array, &nqn);
		if (ret)
			return ret;
		if (!has_subsys(c, nqn))
			return config_bad(x, &at, NULL, "there is no subsystem \"%.230s\" in this file", nqn);
		for (i = 0; i < p->nr_subsys; i++)
			if (!strcmp(p->subsys[i], nqn))
				return config_bad(x, &at, NULL, "\"%s\" is there already", nqn);
		p->subsys[p->nr_subsys++] = nqn;
	}
	return 0;
}

static int parse_port_ours(struct config_ctx *x, const struct config_at *up, json_object *obj, struct config_port *p)
{
	struct config_at at = { .up = up, .key = "nvof" };
	json_object *ours;
	int ret = config_object(x, up, obj, "nvof", &ours);

	if (!ret)
		ret = config_flag(x, &at, ours, "all_subsystems", false, &p->all_subsys);
	if (!ret)
		ret = config_flag(x, &at, ours, "ana_optimized", false, &p->ana_optimized);
	if (!ret && ours)
		config_check_keys(x, &at, ours, CONFIG_KEYS("all_subsystems", "ana_optimized"), NULL);
	return ret;
}

static int parse_port(struct config_ctx *x, const struct config_at *at, json_object *obj, struct config *c, struct config_port *p)
{
	struct config_addr addr = { 0 };
	const struct config_port *other;
	uint64_t portid = 0;
	int ret = config_number(x, at, obj, "portid", 0, UINT16_MAX, 0, &portid);

	p->portid = (uint16_t)portid;
	if (!ret)
		ret = parse_addr(x, at, obj, &addr);
	if (!ret)
		ret = listen_spec(x, at, &addr, &p->spec);
	for (other = c->ports; !ret && other < p; other++) {
		if (portid && other->portid == portid)
			ret = config_bad(x, at, "portid", "%" PRIu64 " is there already, in [%zu]", portid, (size_t)(other - c->ports));
		else if (!strcmp(other->spec, p->spec))
			ret = config_bad(x, at, "addr", "%s is there already, in [%zu]", p->spec, (size_t)(other - c->ports));
	}
	if (!ret)
		ret = parse_port_subsystems(x, at, obj, c, p);
	if (!ret)
		ret = parse_port_ours(x, at, obj, p);
	if (!ret)
		ret = parse_referrals(x, at, obj, p);
	if (!ret)
		ret = parse_ana_groups(x, at, obj, p);
	if (!ret)
		config_check_keys(x, at, obj, CONFIG_KEYS("portid", "addr", "subsystems", "referrals", "ana_groups", "nvof"),
				  CONFIG_KEYS("param"));
	return ret;
}

int config_parse_ports(struct config_ctx *x, json_object *root, struct config *c)
{
	struct config_at list = { .key = "ports" }, at = { .up = &list };
	json_object *array, *elem;
	size_t nr;
	int ret = config_array(x, NULL, root, "ports", &array, &nr);

	if (ret || !nr)
		return ret;
	c->ports = calloc(nr, sizeof(*c->ports));
	if (!c->ports)
		return config_no_memory(x);
	for (at.index = 0; !ret && at.index < nr; at.index++) {
		ret = config_object_at(x, &at, array, &elem);
		if (!ret)
			ret = parse_port(x, &at, elem, c, &c->ports[c->nr_ports++]);
	}
	return ret;
}
