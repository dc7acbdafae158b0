/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * I/O that has no path now.  It waits while one may come: a ctrl that is being reconnected (ctrl_loss_tmo, fast_io_fail_tmo), a state that
 * is "inaccessible" or "change" for no longer than the ctrl's ANATT.  Then it ends, and says why.
 */
#include <errno.h>
#include <stdio.h>

#include "host/ctrl.h"
#include "host/mpath.h"
#include "proto/ana.h"

#define ANATT_DEFAULT 10	   /* seconds, of a ctrl that names none */
#define ANA_ASK_NS    NSEC_PER_SEC /* while something waits for a state to change the log is read so often: an event may have got lost */

/* ---- is there hope? ---- */

/* Whether a path may come, and until when; *status: what to end with when not. */
static bool path_may_come(const struct mpath_io *m, const struct path_ns *pn, uint64_t now, int *status)
{
	const struct nvof_ctrl *ctrl = pn->path->ctrl;
	const struct nvof_hctx *hctx = path_hctx(pn->path, m->mh->nr);
	uint8_t anatt;

	if (ctrl->state != NVOF_CTRL_LIVE)
		return (ctrl->state == NVOF_CTRL_RESETTING || ctrl->state == NVOF_CTRL_CONNECTING) && hctx && hctx->live;
	if (!hctx || !hctx->live || pn->ns->end_status)
		return false;
	if (pn->rank != PATH_UNUSABLE || pn->pending || pn->avoided)
		return true;
	if (pn->ana_state == NVME_ANA_STATE_PERSISTENT_LOSS) {
		*status = NVME_STATUS(NVME_SCT_PATH, NVME_SC_ANA_PERSISTENT_LOSS);
		return false;
	}
	*status = NVME_STATUS(NVME_SCT_PATH, pn->ana_state == NVME_ANA_STATE_CHANGE ? NVME_SC_ANA_TRANSITION : NVME_SC_ANA_INACCESSIBLE);
	anatt = ctrl->init.id->anatt ? ctrl->init.id->anatt : ANATT_DEFAULT;
	return now < m->since + anatt * NSEC_PER_SEC;
}

/* "path 192.0.2.7:4420 is inaccessible", or how its ctrl is, and why. */
static int path_words(const struct path_ns *pn, char *buf, size_t len)
{
	const struct nvof_ctrl *ctrl = pn->path->ctrl;

	if (ctrl->state == NVOF_CTRL_LIVE)
		return snprintf(buf, len, "path %s is %s", ctrl->p.where, ana_state_name(pn->ana_state));
	return snprintf(buf, len, "path %s is %s%s%s", ctrl->p.where, nvof_ctrl_state_name(ctrl->state), ctrl->err.code ? ": " : "",
			ctrl->err.code ? error_msg(&ctrl->err) : "");
}

/* For nvof_subsystem_errmsg(). */
static void say_why(const struct mpath_io *m, int status)
{
	struct nvof_subsystem *s = m->head->s;
	char text[1024] = "no path leads to it any more";
	size_t at = 0;
	uint32_t i;

	for (i = 0; i < m->head->nr_paths && at < sizeof(text); i++) {
		if (i)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "; ");
		if (at < sizeof(text))
			at += (size_t)path_words(m->head->paths[i], text + at, sizeof(text) - at);
	}
	error_clear(&s->err);
	error_set(&s->err, status, "namespace %u of %s can't be reached: %s", m->head->ns.nsid, s->nqn, text);
}

/* 0: it may still find one. */
static int hopeless(struct mpath_io *m, uint64_t now)
{
	int status = 0;
	uint32_t i;

	for (i = 0; i < m->head->nr_paths; i++)
		if (path_may_come(m, m->head->paths[i], now, &status))
			return 0;
	/* Without any it is not the end yet: heads_end_lost(). */
	if (!m->head->ns.end_status && (!m->head->nr_paths || heads_may_get_paths(m->head->s)))
		return 0;
	if (m->head->ns.end_status)
		status = m->head->ns.end_status;
	else if (!status)
		status = m->status ? m->status : -ENOTCONN;
	say_why(m, status);
	return status;
}

/* ---- waiting ---- */

void mpath_kick(struct nvof_subsystem *s)
{
	loop_defer(s->ctx->loop, &s->work);
}

static void wait_add(struct mpath_io *m, struct cds_list_head *list)
{
	cds_list_add_tail(&m->link, list);
	m->head->s->nr_waiting++;
}

static void wait_take(struct mpath_io *m)
{
	cds_list_del(&m->link);
	m->head->s->nr_waiting--;
}

static void begin_to_wait(struct mpath_io *m, uint64_t now)
{
	if (!m->since)
		m->since = now;
}

int mpath_wait(struct mpath_io *m)
{
	uint64_t now = clock_ns();
	int status;

	begin_to_wait(m, now);
	status = hopeless(m, now);
	/* A positive status is an answer, which comes by the callback. */
	if (status < 0)
		return status == m->head->ns.end_status ? status : -ENOTCONN;
	wait_add(m, &m->head->s->waiting);
	mpath_kick(m->head->s);
	return 0;
}

void mpath_again(struct mpath_io *m, uint64_t delay_ns)
{
	m->since = 0;
	m->not_before = delay_ns ? clock_ns() + delay_ns : 0;
	wait_add(m, &m->head->s->waiting);
	mpath_kick(m->head->s);
}

void mpath_settle(struct mpath_io *m)
{
	m->since = m->not_before = 0;
	wait_add(m, &m->path->unsettled);
	mpath_kick(m->head->s);
}

static void end_with(struct mpath_io *m, int status)
{
	mpath_end(m, &(struct nvof_cpl){ .status = status });
}

/* It has been taken off its list. */
static void try_again(struct mpath_io *m, uint64_t now)
{
	struct nvof_subsystem *s = m->head->s;
	int ret = -EAGAIN;

	if (m->head->ns.end_status)
		ret = -ENOTCONN;
	else if (m->not_before <= now)
		ret = mpath_start(m);
	if (!ret)
		return;
	if (ret == -ENOTCONN) {
		begin_to_wait(m, now);
		ret = hopeless(m, now);
	} else if (ret == -EAGAIN) {
		ret = 0;
	}
	if (ret)
		end_with(m, ret);
	else
		wait_add(m, &s->waiting);
}

static void try_all(struct nvof_subsystem *s, uint64_t now)
{
	CDS_LIST_HEAD(list);

	/* Callbacks may add to it. */
	cds_list_splice(&s->waiting, &list);
	CDS_INIT_LIST_HEAD(&s->waiting);
	while (!cds_list_empty(&list)) {
		struct mpath_io *m = cds_list_first_entry(&list, struct mpath_io, link);

		wait_take(m);
		try_again(m, now);
	}
}

/* What the old connections can't deliver any more joins those that wait. */
static bool settle_all(struct nvof_subsystem *s)
{
	bool all = true;
	struct path *p;

	cds_list_for_each_entry (p, &s->paths, link) {
		if (cds_list_empty(&p->unsettled))
			continue;
		if (!ctrl_settled(p->ctrl)) {
			all = false;
			continue;
		}
		cds_list_splice(&p->unsettled, &s->waiting);
		CDS_INIT_LIST_HEAD(&p->unsettled);
		if (p->ctrl->state == NVOF_CTRL_DEAD)
			ctrl_disconnect_end(p->ctrl);
	}
	return all;
}

static void end_avoiding(struct nvof_subsystem *s, uint64_t now)
{
	struct head *h;
	uint32_t i;

	s->avoiding = false;
	cds_list_for_each_entry (h, &s->heads, link) {
		for (i = 0; i < h->nr_paths; i++) {
			struct path_ns *pn = h->paths[i];

			if (!pn->avoided)
				continue;
			pn->avoided = pn->avoid_until > now;
			s->avoiding |= pn->avoided;
			path_ns_update(pn);
		}
	}
}

/* Of paths that something waits for. */
static void ask_states(struct nvof_subsystem *s, uint64_t now)
{
	struct path *p;

	cds_list_for_each_entry (p, &s->paths, link)
		if (p->ana.on && p->ctrl->state == NVOF_CTRL_LIVE && now > p->ana.asked + ANA_ASK_NS)
			path_ana_read(p);
}

static void look(struct nvof_subsystem *s)
{
	uint64_t now = clock_ns();
	bool settled;

	if (s->avoiding)
		end_avoiding(s, now);
	settled = settle_all(s);
	try_all(s, now);
	heads_reap(s);
	if (!cds_list_empty(&s->waiting))
		ask_states(s, now);
	if (s->nr_waiting || s->avoiding)
		timer_set(s->ctx->loop, &s->timer, now + (settled ? MPATH_LOOK_NS : SETTLE_LOOK_NS));
}

static void work(struct loop_defer *d)
{
	look(container_of(d, struct nvof_subsystem, work));
}

static void tick(struct timer *t)
{
	mpath_kick(container_of(t, struct nvof_subsystem, timer));
}

static void end_list(struct cds_list_head *list)
{
	while (!cds_list_empty(list)) {
		struct mpath_io *m = cds_list_first_entry(list, struct mpath_io, link);

		wait_take(m);
		end_with(m, -ECANCELED);
	}
}

void mpath_path_gone(struct path *p)
{
	end_list(&p->unsettled);
}

void mpath_wait_end(struct nvof_subsystem *s)
{
	struct path *p;

	cds_list_for_each_entry (p, &s->paths, link)
		end_list(&p->unsettled);
	end_list(&s->waiting);
}

void mpath_wait_setup(struct nvof_subsystem *s)
{
	CDS_INIT_LIST_HEAD(&s->waiting);
	loop_defer_init(&s->work, work);
	timer_init(&s->timer, tick);
}
