/* SPDX-License-Identifier: BSD-3-Clause */
/* The namespaces of a subsystem's paths: looked at when a path comes, and followed from then on (ns_scan.c). */
#include <errno.h>
#include <stdlib.h>

#include "host/ctrl.h"
#include "host/mpath.h"
#include "host/ns_map.h"
#include "host/subsystem.h"

struct asker {
	struct cds_list_head link; /* subsystem.askers */
	nvof_subsystem_cb *cb;
	void *arg;
};

/*
 * Whoever asked for the paths' scans waits for their first ANA states, too.  heads_may_get_paths() is over before: when all namespaces are
 * known it is clear which of them no path leads to.
 */
static bool any_starting(const struct nvof_subsystem *s)
{
	struct path *p;

	cds_list_for_each_entry (p, &s->paths, link)
		if (p->starting || (p->ana.on && !p->ana.states && p->ana.reading))
			return true;
	return false;
}

void subsystem_look_done(struct nvof_subsystem *s)
{
	int status = s->closing ? -ECANCELED : s->look_status;
	CDS_LIST_HEAD(list);

	if (!s->closing && any_starting(s))
		return;
	if (!s->closing && !cds_list_empty(&s->heads))
		status = 0; /* some path has told */
	cds_list_splice(&s->askers, &list);
	CDS_INIT_LIST_HEAD(&s->askers);
	while (!cds_list_empty(&list)) {
		struct asker *a = cds_list_first_entry(&list, struct asker, link);
		nvof_subsystem_cb *cb = a->cb;
		void *arg = a->arg;

		cds_list_del(&a->link);
		free(a);
		cb(arg, status);
	}
}

static void scanned(void *arg, int status)
{
	struct path *p = arg;
	struct nvof_ns *ns;
	uint32_t nsid;

	p->starting = false;
	p->s->look_status = status;
	/* Those that were there before it was a path; the others came as events. */
	if (p->ctrl->state == NVOF_CTRL_LIVE)
		for (nsid = 0; (ns = ns_map_after(p->ctrl, nsid)); nsid = ns->nsid)
			head_attach(p, ns);
	heads_end_lost(p->s);
	mpath_kick(p->s);
	subsystem_look_done(p->s);
}

void path_scan(struct path *p)
{
	p->starting = !nvof_ns_scan(p->ctrl, scanned, p);
}

int nvof_subsystem_scan(struct nvof_subsystem *s, nvof_subsystem_cb *cb, void *arg)
{
	struct asker *a;
	struct path *p;
	int ret = -ENOTCONN;

	cds_list_for_each_entry (p, &s->paths, link) {
		if (!p->starting)
			path_scan(p);
		if (p->starting)
			ret = 0;
	}
	if (ret || s->closing)
		return -ENOTCONN;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->cb = cb;
	a->arg = arg;
	cds_list_add_tail(&a->link, &s->askers);
	return 0;
}
