/* SPDX-License-Identifier: BSD-3-Clause */
/* The status of a target for people. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "cli/target_ctl.h"

static json_object *get(json_object *obj, const char *key)
{
	json_object *v = NULL;

	json_object_object_get_ex(obj, key, &v);
	return v;
}

static const char *text(json_object *obj, const char *key)
{
	json_object *v = get(obj, key);

	return v ? json_object_get_string(v) : "";
}

static uint64_t number(json_object *obj, const char *key)
{
	return json_object_get_uint64(get(obj, key));
}
static bool flag(json_object *obj, const char *key)
{
	return json_object_get_boolean(get(obj, key));
}

static void each(json_object *obj, const char *key, void (*print)(json_object *elem))
{
	json_object *array = get(obj, key);
	size_t i, nr = json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;

	for (i = 0; i < nr; i++)
		print(json_object_array_get_idx(array, i));
}

static size_t count(json_object *obj, const char *key)
{
	json_object *array = get(obj, key);

	return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

static void print_ana(json_object *group)
{
	printf("  ANA group %" PRIu64 "  %s\n", number(group, "grpid"), text(group, "state"));
}

static void print_port(json_object *port)
{
	printf("port %" PRIu64 "  %s  ", number(port, "portid"), text(port, "address"));
	if (flag(port, "all_subsystems"))
		printf("all subsystems\n");
	else
		printf("%zu subsystem%s\n", count(port, "subsystems"), count(port, "subsystems") == 1 ? "" : "s");
	each(port, "ana_groups", print_ana);
}

static void print_host(json_object *host)
{
	printf("  host %s\n", json_object_get_string(host));
}

static void print_ns(json_object *ns)
{
	char size[24];

	printf("  ns %" PRIu64 "  %s  %s in blocks of %" PRIu64 "%s  ANA group %" PRIu64 "  %" PRIu64 " reads, %" PRIu64 " writes\n",
	       number(ns, "nsid"), text(ns, "backend"), size_format(number(ns, "nr_blocks") * number(ns, "block_size"), size),
	       number(ns, "block_size"), flag(ns, "readonly") ? ", read-only" : "", number(ns, "anagrpid"), number(ns, "nr_reads"),
	       number(ns, "nr_writes"));
	if (*text(ns, "notice"))
		printf("    %s\n", text(ns, "notice"));
}

static void print_ctrl(json_object *ctrl)
{
	printf("  ctrl %" PRIu64 "  %s  %s from %s  %" PRIu64 " I/O queues  ", number(ctrl, "cntlid"), text(ctrl, "hostnqn"),
	       text(ctrl, "transport"), text(ctrl, "peer"), number(ctrl, "nr_io_queues"));
	if (number(ctrl, "kato_ms"))
		printf("keep alive %" PRIu64 " ms%s\n", number(ctrl, "kato_ms"), flag(ctrl, "ready") ? "" : ", not ready");
	else
		printf("no keep alive%s\n", flag(ctrl, "ready") ? "" : ", not ready");
}

static void print_subsys(json_object *subsys)
{
	/* Nothing to say of the discovery subsystem but who is connected. */
	if (flag(subsys, "discovery") && !count(subsys, "ctrls"))
		return;
	printf("\n%s\n", text(subsys, "nqn"));
	if (!flag(subsys, "discovery"))
		printf("  serial %s  model %s  %s\n", text(subsys, "serial"), text(subsys, "model"),
		       flag(subsys, "allow_any_host") ? "any host" : "allowed hosts only");
	each(subsys, "allowed_hosts", print_host);
	each(subsys, "namespaces", print_ns);
	each(subsys, "ctrls", print_ctrl);
}

static void print_referral(json_object *r)
{
	printf("referral to %s:%s:%s\n", text(r, "transport"), text(r, "traddr"), text(r, "trsvcid"));
}

static void print_thread(json_object *th)
{
	printf("thread %" PRIu64 "  %" PRIu64 " queues, %" PRIu64 " commands under way\n", number(th, "index"), number(th, "nr_queues"),
	       number(th, "nr_active"));
}

static void print_fault(json_object *f)
{
	printf("fault %s  acted %" PRIu64 " of %" PRIu64 " times\n", text(f, "spec"), number(f, "acted"), number(f, "seen"));
}

void ctl_print_status(json_object *status)
{
	each(status, "ports", print_port);
	each(status, "referrals", print_referral);
	each(status, "threads", print_thread);
	each(status, "faults", print_fault);
	each(status, "subsystems", print_subsys);
}
