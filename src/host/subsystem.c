/* SPDX-License-Identifier: BSD-3-Clause */
/* The subsystem: which ctrls are its paths, and its end. */
#include "host/subsystem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/ctrl.h"
#include "host/mpath.h"

void subsystem_tell(struct nvof_subsystem *s, enum nvof_event_type type, struct head *h)
{
	struct nvof_event event = { .type = type, .nsid = h->ns.nsid, .ns = &h->ns };

	if (s->event && !s->closing)
		s->event(s->event_arg, s, &event);
}

/* ---- paths ---- */

static bool same_name(const struct nvof_subsystem *s, const struct nvof_ctrl *ctrl)
{
	return !strcmp(s->nqn, ctrl->p.subsysnqn) && !strcmp(s->hostnqn, ctrl->p.hostnqn) &&
	       !memcmp(s->hostid, ctrl->p.hostid, sizeof(s->hostid));
}

/* A name is given twice easily, and another subsystem's data is not this one's. */
static bool same_identity(const struct nvof_subsystem *s, const struct nvof_ctrl *ctrl)
{
	const struct nvme_id_ctrl *id = ctrl->init.id;

	return !memcmp(s->sn, id->sn, sizeof(s->sn)) && !memcmp(s->mn, id->mn, sizeof(s->mn));
}

/* Texts of Identify are filled up with spaces. */
static int text_len(const char *text, int len)
{
	while (len && (text[len - 1] == ' ' || !text[len - 1]))
		len--;
	return len;
}

#define TEXT(text) text_len((text), sizeof(text)), (text)

/* Why ctrl is no path of s: for printf. */
#define STRANGER	       "%s at %s: another subsystem has this name: serial number \"%.*s\", model \"%.*s\", here \"%.*s\" and \"%.*s\""
#define STRANGER_ARGS(s, ctrl) (s)->nqn, (ctrl)->p.where, TEXT((s)->sn), TEXT((s)->mn), TEXT((ctrl)->init.id->sn), TEXT((ctrl)->init.id->mn)

static struct nvof_subsystem *find(const struct nvof_ctrl *ctrl)
{
	struct nvof_subsystem *s;

	cds_list_for_each_entry (s, &ctrl->ctx->subsystems, link)
		if (same_name(s, ctrl))
			return s;
	return NULL;
}

static void path_add(struct nvof_subsystem *s, struct nvof_ctrl *ctrl)
{
	struct path *p = calloc(1, sizeof(*p));

	if (!p) {
		log_warn(&s->ctx->log, "%s at %s: no memory for a path", s->nqn, ctrl->p.where);
		return;
	}
	p->s = s;
	p->ctrl = ctrl;
	ctrl->path = p;
	CDS_INIT_LIST_HEAD(&p->unsettled);
	cds_list_add_tail(&p->link, &s->paths);
	log_info(&s->ctx->log, "%s at %s: a path, by ctrl %u", s->nqn, ctrl->p.where, ctrl->cntlid);
	path_ana_start(p);
	path_scan(p);
}

void subsystem_join(struct nvof_ctrl *ctrl)
{
	struct nvof_subsystem *s = ctrl->p.is_discovery ? NULL : find(ctrl);

	if (!s || s->closing || ctrl->path)
		return;
	if (same_identity(s, ctrl))
		path_add(s, ctrl);
	else
		log_warn(&s->ctx->log, STRANGER, STRANGER_ARGS(s, ctrl));
}

bool path_has_unsettled(struct path *p)
{
	return p && !cds_list_empty(&p->unsettled);
}

static void detach_all(struct path *p)
{
	struct head *h, *next;
	struct path_ns *pn;

	cds_list_for_each_entry_safe (h, next, &p->s->heads, link) {
		pn = head_path(h, p);
		if (pn)
			head_detach(pn->ns);
	}
}

void subsystem_leave(struct nvof_ctrl *ctrl)
{
	struct path *p = ctrl->path;
	struct nvof_subsystem *s;

	if (!p)
		return;
	s = p->s;
	ctrl->path = NULL;
	mpath_path_gone(p);
	detach_all(p);
	cds_list_del(&p->link);
	path_ana_free(p);
	free(p);
	heads_end_lost(s);
	mpath_kick(s);
	subsystem_look_done(s);
}

static void path_state(struct path *p)
{
	if (p->ctrl->state != NVOF_CTRL_LIVE) {
		p->lost = true;
		path_ana_lost(p);
	} else if (p->lost) {
		p->lost = false;
		path_ana_start(p);
	}
	mpath_kick(p->s);
}

void path_event(struct path *p, const struct nvof_event *event)
{
	switch (event->type) {
	case NVOF_EVENT_STATE:
		path_state(p);
		break;
	case NVOF_EVENT_ANA_CHANGED:
		if (p->ana.on)
			path_ana_read(p);
		break;
	case NVOF_EVENT_NS_ADDED:
		head_attach(p, event->ns);
		break;
	case NVOF_EVENT_NS_REMOVED:
		head_detach(event->ns);
		break;
	case NVOF_EVENT_NS_RESIZED:
		if (event->ns->pn)
			head_resized(event->ns->pn->head);
		break;
	case NVOF_EVENT_NS_REPLACED:
		head_attach(p, event->ns);
		head_detach(event->old_ns);
		break;
	default:
		break;
	}
}

/* ---- its life ---- */

static struct nvof_subsystem *subsystem_new(const struct nvof_ctrl *ctrl)
{
	struct nvof_subsystem *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->nqn = strdup(ctrl->p.subsysnqn);
	s->hostnqn = strdup(ctrl->p.hostnqn);
	if (!s->nqn || !s->hostnqn) {
		free(s->nqn);
		free(s->hostnqn);
		free(s);
		return NULL;
	}
	s->ctx = ctrl->ctx;
	memcpy(s->hostid, ctrl->p.hostid, sizeof(s->hostid));
	memcpy(s->sn, ctrl->init.id->sn, sizeof(s->sn));
	memcpy(s->mn, ctrl->init.id->mn, sizeof(s->mn));
	CDS_INIT_LIST_HEAD(&s->paths);
	CDS_INIT_LIST_HEAD(&s->heads);
	CDS_INIT_LIST_HEAD(&s->ended);
	CDS_INIT_LIST_HEAD(&s->askers);
	mpath_wait_setup(s);
	cds_list_add_tail(&s->link, &s->ctx->subsystems);
	return s;
}

static void subsystem_release(struct nvof_subsystem *s)
{
	uint32_t i;

	loop_defer_cancel(&s->work);
	timer_cancel(s->ctx->loop, &s->timer);
	heads_free(s);
	for (i = 0; i < s->nr_hctx; i++)
		if (s->hctxs[i])
			mpath_hctx_free(s->hctxs[i]);
	free(s->hctxs);
	error_clear(&s->err);
	free(s->nqn);
	free(s->hostnqn);
	cds_list_del(&s->link);
	free(s);
}

void subsystems_close(struct nvof_ctx *ctx)
{
	struct nvof_subsystem *s;

	/* User callbacks run from in here. */
	ctx->busy++;
	cds_list_for_each_entry (s, &ctx->subsystems, link) {
		s->closing = true;
		mpath_wait_end(s);
		subsystem_look_done(s);
	}
	ctx->busy--;
}

void subsystems_free(struct nvof_ctx *ctx)
{
	while (!cds_list_empty(&ctx->subsystems))
		subsystem_release(cds_list_first_entry(&ctx->subsystems, struct nvof_subsystem, link));
}

/* ---- for users ---- */

struct nvof_subsystem *nvof_ctrl_subsystem(struct nvof_ctrl *ctrl)
{
	struct nvof_subsystem *s;
	struct nvof_ctrl *other;

	if (ctrl->path)
		return ctrl->path->s;
	if (ctrl->p.is_discovery || ctrl->state != NVOF_CTRL_LIVE || ctrl->freeing) {
		ctx_fail(ctrl->ctx, -ENOTCONN, "%s at %s: %s", ctrl->p.subsysnqn, ctrl->p.where,
			 ctrl->p.is_discovery ? "a discovery service has no paths" : "only a ctrl that is live can be a path");
		return NULL;
	}
	s = find(ctrl);
	if (!s)
		s = subsystem_new(ctrl);
	if (s)
		cds_list_for_each_entry (other, &ctrl->ctx->ctrls, link)
			if (other->state == NVOF_CTRL_LIVE && !other->freeing && find(other) == s && !s->closing && !other->path &&
			    same_identity(s, other))
				path_add(s, other);
	/* Others that are no paths are told when somebody asks for theirs. */
	if (s && !same_identity(s, ctrl))
		ctx_fail(ctrl->ctx, -EEXIST, STRANGER, STRANGER_ARGS(s, ctrl));
	else if (!ctrl->path)
		ctx_fail(ctrl->ctx, -ENOMEM, "%s at %s: no memory for its paths", ctrl->p.subsysnqn, ctrl->p.where);
	return ctrl->path ? s : NULL;
}

int nvof_subsystem_free(struct nvof_subsystem *s)
{
	struct head *h;
	uint32_t i;

	if (!s)
		return 0;
	if (!cds_list_empty(&s->paths) || s->nr_waiting || s->ctx->busy)
		return -EBUSY;
	cds_list_for_each_entry (h, &s->ended, link)
		if (h->ns.nr_inflight)
			return -EBUSY;
	for (i = 0; i < s->nr_hctx; i++)
		if (s->hctxs[i] && s->hctxs[i]->nr_busy)
			return -EBUSY;
	subsystem_release(s);
	return 0;
}

const char *nvof_subsystem_nqn(const struct nvof_subsystem *s)
{
	return s->nqn;
}

const char *nvof_subsystem_errmsg(const struct nvof_subsystem *s)
{
	return s->err.code ? error_msg(&s->err) : "";
}

int nvof_subsystem_set_iopolicy(struct nvof_subsystem *s, enum nvof_iopolicy policy)
{
	if ((unsigned int)policy > NVOF_IOPOLICY_QUEUE_DEPTH)
		return -EINVAL;
	s->iopolicy = policy;
	return 0;
}

enum nvof_iopolicy nvof_subsystem_iopolicy(const struct nvof_subsystem *s)
{
	return s->iopolicy;
}

void nvof_subsystem_set_event(struct nvof_subsystem *s, nvof_subsystem_event_cb *event, void *arg)
{
	s->event = event;
	s->event_arg = arg;
}

void path_info(const struct path *p, struct nvof_path *info)
{
	*info = (struct nvof_path){
		.ctrl = p->ctrl,
		.usable = p->ctrl->state == NVOF_CTRL_LIVE,
		.nr_active = p->nr_active,
		.nr_ios = p->nr_ios,
		.nr_failed = p->nr_failed,
	};
}

bool nvof_subsystem_path(const struct nvof_subsystem *s, unsigned int i, struct nvof_path *info)
{
	struct path *p;

	cds_list_for_each_entry (p, &s->paths, link) {
		if (i--)
			continue;
		path_info(p, info);
		return true;
	}
	return false;
}

unsigned int nvof_subsystem_nr_hctx(const struct nvof_subsystem *s)
{
	unsigned int most = 0;
	struct path *p;

	cds_list_for_each_entry (p, &s->paths, link)
		most = max_u32(most, p->ctrl->nr_hctx);
	return max_u32(most, s->nr_hctx);
}

struct nvof_hctx *nvof_subsystem_hctx(struct nvof_subsystem *s, unsigned int i)
{
	unsigned int nr = nvof_subsystem_nr_hctx(s);
	struct mpath_hctx **hctxs;

	if (i >= nr)
		return NULL;
	if (nr > s->nr_hctx) {
		hctxs = reallocarray(s->hctxs, nr, sizeof(struct mpath_hctx *));
		if (!hctxs)
			return NULL;
		memset(hctxs + s->nr_hctx, 0, (nr - s->nr_hctx) * sizeof(struct mpath_hctx *));
		s->hctxs = hctxs;
		s->nr_hctx = nr;
	}
	if (!s->hctxs[i])
		s->hctxs[i] = mpath_hctx_new(s, i);
	return s->hctxs[i] ? &s->hctxs[i]->hctx : NULL;
}
