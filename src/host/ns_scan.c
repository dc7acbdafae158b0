/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/ns_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/ctrl.h"
#include "host/ns.h"
#include "host/ns_missing.h"
#include "host/ns_open.h"
#include "host/ns_scan_ops.h"
#include "host/ns_map.h"
#include "host/queue.h"

#define CHANGED_MAX 1024

struct asker {
	struct cds_list_head link; /* ns_set.askers */
	nvof_ns_scan_cb *cb;
	void *arg;
	bool served; /* by the scan under way */
};

static void scan_end(struct ns_scan *s, int status);
static void scan_begin(struct nvof_ctrl *ctrl);

/* ---- what is looked at ---- */

/* Both lists are sorted.  An id that is known and not listed is looked at without a command: it is gone. */
static void look_at_listed(struct ns_scan *s, const uint32_t *nsids, size_t nr)
{
	struct nvof_ctrl *ctrl = s->ctrl;
	struct nvof_ns *ns = ns_map_after(ctrl, 0);
	size_t i = 0;

	if (ns_scan_alloc(s, nr + ns_map_room(ctrl))) {
		scan_end(s, -ENOMEM);
		return;
	}
	while (i < nr || ns) {
		if (ns && (i == nr || ns->nsid < nsids[i])) {
			ns_scan_add(s, ns->nsid, true);
			ns = ns_map_after(ctrl, ns->nsid);
			continue;
		}
		if (ns && ns->nsid == nsids[i])
			ns = ns_map_after(ctrl, ns->nsid);
		ns_scan_add(s, nsids[i++], false);
	}
	ns_scan_run(s);
}

static void look_at_known(struct ns_scan *s, bool only_missing)
{
	struct nvof_ctrl *ctrl = s->ctrl;
	struct nvof_ns *ns;
	uint32_t nsid;

	if (ns_scan_alloc(s, ns_map_room(ctrl))) {
		scan_end(s, -ENOMEM);
		return;
	}
	for (nsid = 0; (ns = ns_map_after(ctrl, nsid)); nsid = ns->nsid)
		if (!only_missing || ns->missing)
			ns_scan_add(s, ns->nsid, false);
	ns_scan_run(s);
}

static void listed(void *arg, int status, const uint32_t *nsids, size_t nr)
{
	struct ns_scan *s = arg;

	if (s->stopped)
		scan_end(s, -ECANCELED);
	else if (!status)
		look_at_listed(s, nsids, nr);
	else if (s->look == NS_LOOK_RECONNECT)
		look_at_known(s, false); /* I/O waits for what is known; the rest will be told about */
	else
		scan_end(s, status);
}

static void read_list(struct ns_scan *s)
{
	int ret = nvof_ns_list(s->ctrl, listed, s);

	s->asked = ++s->ctrl->nss.nr_asked;
	if (ret == -EAGAIN)
		ns_scan_later(s, read_list);
	else if (ret)
		listed(s, ret, NULL, 0);
}

static void look_at_all(struct ns_scan *s)
{
	if (s->ctrl->nss.followed)
		read_list(s);
	else
		look_at_known(s, false);
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void look_at_changed(struct ns_scan *s, uint32_t *nsids, size_t nr)
{
	size_t i;

	if (ns_scan_alloc(s, nr)) {
		scan_end(s, -ENOMEM);
		return;
	}
	qsort(nsids, nr, sizeof(*nsids), by_value); /* a ctrl may not keep the order (C070) */
	for (i = 0; i < nr; i++)
		if ((!i || nsids[i] != nsids[i - 1]) && nsids[i] <= NSID_MAX && (s->ctrl->nss.followed || ns_map_find(s->ctrl, nsids[i])))
			ns_scan_add(s, nsids[i], false);
	ns_scan_run(s);
}

/* Somebody asked for more than what has changed. */
static bool wants_all(const struct ns_scan *s)
{
	return s->want & (NS_WANT_LIST | NS_WANT_KNOWN);
}

static void log_read(void *arg, const struct nvof_cpl *cpl)
{
	struct ns_scan *s = arg;
	struct nvof_ctrl *ctrl = s->ctrl;
	uint32_t *nsids = s->log;
	char text[150];
	size_t nr = 0;

	if (s->stopped || cpl->status < 0) {
		scan_end(s, cpl->status ? cpl->status : -ECANCELED);
		return;
	}
	while (!cpl->status && nr < CHANGED_MAX && nsids[nr]) {
		nsids[nr] = le32toh(nsids[nr]);
		nr++;
	}
	if (cpl->status)
		log_warn(&ctrl->ctx->log, "%s at %s: the list of changed namespaces can't be read, all are looked at: %s",
			 ctrl->p.subsysnqn, ctrl->p.where, nvof_status_str(cpl->status, text, sizeof(text)));
	else if (!nr && !wants_all(s))
		log_info(&ctrl->ctx->log, "%s at %s: the list of changed namespaces is empty, all are looked at", ctrl->p.subsysnqn,
			 ctrl->p.where);
	if (!nr || nsids[0] == NVME_NSID_ALL || wants_all(s))
		look_at_all(s);
	else
		look_at_changed(s, nsids, nr);
}

/* With RAE 0: from now on the ctrl tells of further changes. */
static void read_log(struct ns_scan *s)
{
	int ret;

	s->ctrl->nss.log_unread = false;
	memset(s->log, 0, sizeof(s->log));
	ret = nvof_get_log(s->ctrl, NVME_LOG_LID_CHANGED_NS, 0, false, NVME_NSID_ALL, 0, s->log, sizeof(s->log), log_read, s);
	if (ret == -EAGAIN)
		ns_scan_later(s, read_log);
	else if (ret)
		scan_end(s, ret);
}

/* ---- begin and end ---- */

static void tell_askers(struct nvof_ctrl *ctrl, int status, bool all)
{
	struct asker *a, *next;
	CDS_LIST_HEAD(list);

	cds_list_for_each_entry_safe (a, next, &ctrl->nss.askers, link) {
		if (!all && !a->served)
			continue;
		cds_list_del(&a->link);
		cds_list_add_tail(&a->link, &list);
	}
	while (!cds_list_empty(&list)) {
		struct asker gone;

		a = cds_list_first_entry(&list, struct asker, link);
		cds_list_del(&a->link);
		gone = *a;
		free(a);
		gone.cb(gone.arg, status);
	}
}

/* From the end of a turn. */
static void scan_over(struct ns_scan *s, int status)
{
	struct nvof_ctrl *ctrl = s->ctrl;
	enum ns_look look = s->look;
	unsigned int want = s->want;
	bool stopped = s->stopped;

	ctrl->nss.scan = NULL;
	ns_scan_ops_free(s);
	if (stopped) {
		ctrl->nss.wanted |= want;
	} else if (look == NS_LOOK_RECONNECT && status == -ENOMEM) {
		queue_fail(ctrl->admin, -ENOMEM, "no memory for a look at the namespaces");
	} else {
		if (want & NS_WANT_LIST)
			tell_askers(ctrl, status, false);
		else if (status > 0 && look == NS_LOOK_SCAN)
			ns_look_again(ctrl);
		if (look == NS_LOOK_RECONNECT && ctrl->state == NVOF_CTRL_LIVE)
			recovery_namespaces_known(ctrl);
	}
	if (ctrl->nss.wanted)
		loop_defer(ctrl->loop, &ctrl->nss.start_work);
}

static void end_work(struct loop_defer *d)
{
	struct ns_scan *s = container_of(d, struct ns_scan, end_work);

	if (!s->status && !s->stopped)
		ns_scan_apply(s);
	scan_over(s, s->status);
}

static void scan_end(struct ns_scan *s, int status)
{
	s->status = status;
	loop_defer(s->ctrl->loop, &s->end_work);
}

static void scan_begin(struct nvof_ctrl *ctrl)
{
	struct ns_set *nss = &ctrl->nss;
	struct ns_scan *s = calloc(1, sizeof(*s));
	struct asker *a;

	if (!s) {
		queue_fail(ctrl->admin, -ENOMEM, "no memory for a look at the namespaces");
		return;
	}
	s->ctrl = ctrl;
	s->ended = scan_end;
	loop_defer_init(&s->end_work, end_work);
	ns_scan_ops_init(s);
	s->look = nss->coming_back ? NS_LOOK_RECONNECT : NS_LOOK_SCAN;
	nss->coming_back = false;
	/*
	 * All in one look, the log first: what it tells is not told again.  Who waits for a look must not come behind events that never
	 * end.
	 */
	if (nss->wanted & (NS_WANT_LIST | NS_WANT_KNOWN))
		s->want = nss->wanted;
	else
		s->want = nss->wanted & NS_WANT_LOG ? NS_WANT_LOG : NS_WANT_MISSING;
	if (s->look == NS_LOOK_RECONNECT)
		s->want &= ~(unsigned int)NS_WANT_LOG;
	nss->wanted &= ~s->want;
	nss->scan = s;
	if (s->want & NS_WANT_LIST)
		cds_list_for_each_entry (a, &nss->askers, link)
			a->served = true;
	if (s->want & NS_WANT_LOG)
		read_log(s);
	else if (s->want & NS_WANT_LIST)
		read_list(s);
	else
		look_at_known(s, !(s->want & NS_WANT_KNOWN));
}

static void start_work(struct loop_defer *d)
{
	struct nvof_ctrl *ctrl = container_of(d, struct nvof_ctrl, nss.start_work);

	if (ctrl->nss.wanted && !ctrl->nss.scan && ctrl->state == NVOF_CTRL_LIVE)
		scan_begin(ctrl);
}

void ns_scan_want(struct nvof_ctrl *ctrl, unsigned int want)
{
	ctrl->nss.wanted |= want;
	loop_defer(ctrl->loop, &ctrl->nss.start_work);
}

void ns_scan_event(struct nvof_ctrl *ctrl)
{
	ns_open_event(ctrl);
	/* Before anybody has looked at a namespace there is nothing to correct, and the log is the application's. */
	if (ctrl->nss.followed || ns_map_after(ctrl, 0))
		ns_scan_want(ctrl, NS_WANT_LOG);
	else
		ctrl->nss.log_unread = true;
}

void ns_scan_reconnected(struct nvof_ctrl *ctrl)
{
	ctrl->nss.coming_back = true;
	ctrl->nss.log_unread = false;
	ctrl->nss.wanted &= ~NS_WANT_LOG; /* all are looked at, and what the old connection had to tell is gone */
	ns_scan_want(ctrl, ctrl->nss.followed ? NS_WANT_LIST : NS_WANT_KNOWN);
}

void ns_scan_stop(struct nvof_ctrl *ctrl)
{
	ctrl->nss.coming_back = false;
	if (!ctrl->nss.scan || ctrl->nss.scan->stopped)
		return;
	ctrl->nss.scan->stopped = true;
	ns_scan_cancel(ctrl->nss.scan);
}

void ns_scan_end(struct nvof_ctrl *ctrl, int status)
{
	ctrl->nss.wanted = 0;
	tell_askers(ctrl, status, true);
}

void ns_scan_free(struct nvof_ctrl *ctrl)
{
	loop_defer_cancel(&ctrl->nss.start_work);
	if (!ctrl->nss.scan)
		return;
	loop_defer_cancel(&ctrl->nss.scan->end_work);
	ns_scan_ops_free(ctrl->nss.scan);
	ctrl->nss.scan = NULL;
}

void ns_scan_setup(struct nvof_ctrl *ctrl)
{
	CDS_INIT_LIST_HEAD(&ctrl->nss.askers);
	loop_defer_init(&ctrl->nss.start_work, start_work);
}

int nvof_ns_scan(struct nvof_ctrl *ctrl, nvof_ns_scan_cb *cb, void *arg)
{
	struct asker *a;

	if (ctrl->p.is_discovery || ctrl->freeing || (ctrl->state != NVOF_CTRL_LIVE && !ctrl->recovery.on))
		return ctrl->p.is_discovery ? -ENOTSUP : -ENOTCONN;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->cb = cb;
	a->arg = arg;
	cds_list_add_tail(&a->link, &ctrl->nss.askers);
	ctrl->nss.followed = true;
	ns_scan_want(ctrl, ctrl->nss.log_unread ? NS_WANT_LIST | NS_WANT_LOG : NS_WANT_LIST);
	return 0;
}
