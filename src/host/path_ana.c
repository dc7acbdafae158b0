/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ANA: how good each path is for each namespace.  Base 2.0 sections 8.1 and 5.16.1.13.
 *
 * The log page (groups only) is read when a ctrl is LIVE, at its event, and after a command ended with an ANA status; never twice at once.
 * Until it is there a path is not used whose state may have changed.  Which group a namespace is in Identify Namespace says.  A ctrl
 * without ANA, or one whose log can't be read, has good paths only; errors make them be avoided for a while.
 */
#include <errno.h>
#include <stdlib.h>

#include "host/ctrl.h"
#include "host/mpath.h"
#include "proto/ana.h"

#define LOG_RGO	       1      /* groups without their namespaces */
#define GROUPS_MAX     65535u /* the log counts them in 16 bits */
#define STRIKE_NS      (50 * NSEC_PER_MSEC)
#define STRIKE_MAX_NS  NSEC_PER_SEC
#define STRIKES_END_NS (3 * NSEC_PER_SEC) /* without an error: it is well again */

/* ---- the state of one namespace by one path ---- */

void path_ns_update(struct path_ns *pn)
{
	enum path_rank before = pn->rank;

	if (pn->pending || pn->avoided)
		pn->rank = PATH_UNUSABLE;
	else if (pn->ana_state == NVME_ANA_STATE_OPTIMIZED)
		pn->rank = PATH_OPTIMIZED;
	else
		pn->rank = pn->ana_state == NVME_ANA_STATE_NONOPTIMIZED ? PATH_NON_OPTIMIZED : PATH_UNUSABLE;
	if (pn->rank < before)
		mpath_kick(pn->path->s);
}

static int compare_grpid(const void *a, const void *b)
{
	uint32_t x = ((const struct ana_state *)a)->grpid, y = ((const struct ana_state *)b)->grpid;

	return x < y ? -1 : x > y;
}

/* A group that the log does not have says nothing against the path: I/O will tell. */
static uint8_t state_of(const struct path *p, const struct nvof_ns *ns)
{
	const struct ana_state key = { .grpid = le32toh(ns->id.anagrpid) };
	const struct ana_state *found =
		p->ana.nr_states ? bsearch(&key, p->ana.states, p->ana.nr_states, sizeof(key), compare_grpid) : NULL;

	return found ? found->state : NVME_ANA_STATE_OPTIMIZED;
}

void path_ns_init_state(struct path_ns *pn)
{
	const struct path *p = pn->path;

	pn->rank = PATH_UNUSABLE;
	pn->pending = p->ana.on && !p->ana.states;
	pn->ana_state = p->ana.on ? state_of(p, pn->ns) : NVME_ANA_STATE_OPTIMIZED;
	path_ns_update(pn);
}

/* Calls fn for each namespace that p leads to. */
static void each(struct path *p, void (*fn)(struct path_ns *pn))
{
	struct path_ns *pn;
	struct head *h;

	cds_list_for_each_entry (h, &p->s->heads, link) {
		pn = head_path(h, p);
		if (pn)
			fn(pn);
	}
}

static void renew(struct path_ns *pn)
{
	const struct path *p = pn->path;
	uint8_t before = pn->ana_state;

	pn->pending = false;
	pn->ana_state = p->ana.on ? state_of(p, pn->ns) : NVME_ANA_STATE_OPTIMIZED;
	path_ns_update(pn);
	if (before == pn->ana_state)
		return;
	log_info(&p->s->ctx->log, "%s at %s: namespace %u is %s", p->s->nqn, p->ctrl->p.where, pn->ns->nsid, ana_state_name(pn->ana_state));
	subsystem_tell(p->s, NVOF_EVENT_PATHS, pn->head);
}

static void suspect(struct path_ns *pn)
{
	pn->pending = true;
	path_ns_update(pn);
}

static bool is_ana_status(int status)
{
	switch (NVME_STATUS_CODE(status)) {
	case NVME_STATUS(NVME_SCT_PATH, NVME_SC_ANA_PERSISTENT_LOSS):
	case NVME_STATUS(NVME_SCT_PATH, NVME_SC_ANA_INACCESSIBLE):
	case NVME_STATUS(NVME_SCT_PATH, NVME_SC_ANA_TRANSITION):
		return true;
	default:
		return false;
	}
}

/* The first time the log may explain it; after that, or without a log, time must pass. */
static void strike(struct path_ns *pn, bool explained)
{
	uint64_t now = clock_ns(), delay;

	if (now - pn->last_strike > STRIKES_END_NS)
		pn->nr_strikes = 0;
	pn->last_strike = now;
	pn->nr_strikes += pn->nr_strikes < 16;
	if (explained && pn->nr_strikes == 1)
		return;
	delay = min_u64(STRIKE_NS << (pn->nr_strikes - 1), STRIKE_MAX_NS);
	pn->avoided = pn->path->s->avoiding = true;
	pn->avoid_until = now + delay;
	mpath_kick(pn->path->s);
}

void path_ns_error(struct path_ns *pn, int status)
{
	bool explained = pn->path->ana.on && is_ana_status(status);

	/* Of a burst the first one counts. */
	if (pn->rank != PATH_UNUSABLE)
		strike(pn, explained);
	if (explained) {
		suspect(pn);
		path_ana_read(pn->path);
	}
	path_ns_update(pn);
}

/* ---- the log ---- */

static void complain(struct path *p, const char *what, uint32_t n)
{
	if (!p->ana.warned)
		log_warn(&p->s->ctx->log, "%s at %s: ANA log: %s (%u): ignored", p->s->nqn, p->ctrl->p.where, what, n);
	p->ana.warned = true;
}

static bool recognized(uint8_t state)
{
	return state == NVME_ANA_STATE_OPTIMIZED || state == NVME_ANA_STATE_NONOPTIMIZED || state == NVME_ANA_STATE_INACCESSIBLE ||
	       state == NVME_ANA_STATE_PERSISTENT_LOSS || state == NVME_ANA_STATE_CHANGE;
}

/* Into states, as many as there is room for: room.  Returns how many. */
static size_t take_states(struct path *p, const uint8_t *log, size_t len, struct ana_state *states, size_t room)
{
	uint32_t max = le32toh(p->ctrl->init.id->anagrpmax);
	struct ana_group g;
	struct ana_walk w;
	size_t need, nr = 0;

	if (!ana_walk_begin(&w, log, len, &need))
		return 0;
	while (w.left && ana_walk_next(&w, &g, &need)) {
		if (!g.grpid || (max && g.grpid > max))
			complain(p, "a group beyond ANAGRPMAX", g.grpid);
		else if (!recognized(g.state))
			complain(p, "an unknown state", g.state);
		else if (nr < room)
			states[nr++] = (struct ana_state){ .grpid = g.grpid, .state = g.state };
	}
	if (w.left)
		complain(p, "groups are cut off", w.left);
	return nr;
}

static size_t nr_groups_most(const struct path *p)
{
	uint32_t nr = le32toh(p->ctrl->init.id->nanagrpid);

	return nr && nr < GROUPS_MAX ? nr : nr ? GROUPS_MAX : 1;
}

/* False: no memory. */
static bool apply(struct path *p)
{
	size_t room = nr_groups_most(p), len = sizeof(struct nvme_ana_log) + room * sizeof(struct nvme_ana_group_desc);
	struct ana_state *states = calloc(room, sizeof(*states));

	if (!states)
		return false;
	p->ana.nr_states = take_states(p, p->ana.log, len, states, room);
	qsort(states, p->ana.nr_states, sizeof(*states), compare_grpid);
	free(p->ana.states);
	p->ana.states = states;
	return true;
}

/* A log that can't be read is none. */
static void give_up(struct path *p, int status)
{
	char text[150];

	log_warn(&p->s->ctx->log, "%s at %s: the ANA log can't be read: %s: paths are used as if there was none", p->s->nqn,
		 p->ctrl->p.where, nvof_status_str(status, text, sizeof(text)));
	p->ana.on = false;
	each(p, renew);
}

static void log_read(void *arg, const struct nvof_cpl *cpl)
{
	struct path *p = arg;
	bool again = p->ana.again, skip = again && !p->ana.skipped;

	p->ana.reading = p->ana.again = false;
	if (cpl->status > 0 && (cpl->status & NVME_STATUS_DNR ||
				NVME_STATUS_CODE(cpl->status) == NVME_STATUS(NVME_SCT_CMD_SPECIFIC, NVME_SC_INVALID_LOG_PAGE)))
		give_up(p, cpl->status);
	else if (!cpl->status && !skip && apply(p))
		each(p, renew);
	p->ana.skipped = skip;
	free(p->ana.log);
	p->ana.log = NULL;
	subsystem_look_done(p->s);
	/* What failed otherwise is asked again when something waits for it, or the ctrl is back. */
	if (again && p->ana.on && p->ctrl->state == NVOF_CTRL_LIVE)
		path_ana_read(p);
}

void path_ana_read(struct path *p)
{
	size_t len = sizeof(struct nvme_ana_log) + nr_groups_most(p) * sizeof(struct nvme_ana_group_desc);

	p->ana.again |= p->ana.reading;
	if (p->ana.reading)
		return;
	p->ana.asked = clock_ns();
	p->ana.log = calloc(1, len);
	if (!p->ana.log)
		return;
	p->ana.reading = !nvof_get_log(p->ctrl, NVME_LOG_LID_ANA, LOG_RGO, false, NVME_NSID_ALL, 0, p->ana.log, len, log_read, p);
	if (!p->ana.reading) {
		free(p->ana.log);
		p->ana.log = NULL;
	}
}

void path_ana_start(struct path *p)
{
	p->ana.on = p->ctrl->init.id->cmic & NVME_CTRL_CMIC_MULTI_ANA_REPORTING;
	if (p->ana.on)
		path_ana_read(p);
	else
		each(p, renew);
}

void path_ana_lost(struct path *p)
{
	if (p->ana.on)
		each(p, suspect);
}

void path_ana_free(struct path *p)
{
	free(p->ana.log);
	free(p->ana.states);
}
