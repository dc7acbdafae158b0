/* SPDX-License-Identifier: BSD-3-Clause */
/* The states of the ANA groups, read again at each event that says they changed. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/watch.h"
#include "proto/ana.h"

#define LID_ANA	  0x0c
#define RGO	  1
#define HEAD_LEN  16u
#define GROUP_LEN 32u

static void tell_group(struct watch *w, const struct ana_group *g)
{
	const char *state = ana_state_name(g->state);
	json_object *doc;

	if (w->ana.first)
		return;
	doc = watch_doc(w, "ana");
	if (doc) {
		json_object_object_add(doc, "grpid", json_object_new_int64(g->grpid));
		json_object_object_add(doc, "state", json_object_new_string(state));
	}
	watch_event(w, doc, "ANA group %" PRIu32 " is %s", g->grpid, state);
}

static void look_at_group(struct watch *w, const struct ana_group *g)
{
	struct watch_ana *a = &w->ana;
	size_t i;

	for (i = 0; i < a->nr_known && a->known[i].grpid != g->grpid; i++)
		;
	if (i < a->nr_known && a->known[i].state == g->state)
		return;
	if (i == a->nr_known) {
		if (i == WATCH_ANA_GROUPS_MAX)
			return;
		a->known = realloc(a->known, (i + 1) * sizeof(*a->known));
		if (!a->known)
			abort();
		a->nr_known++;
	}
	a->known[i] = (struct ana_known){ g->grpid, g->state };
	tell_group(w, g);
}

static void log_read(void *arg, const struct nvof_cpl *cpl)
{
	struct watch *w = arg;
	struct watch_ana *a = &w->ana;
	struct ana_group g;
	struct ana_walk walk;
	char words[160];
	size_t need;

	a->reading = false;
	/* The loss of the ctrl is told by others. */
	if (cpl->status > 0)
		cli_warn(w->cli, "the ANA log can't be read: %s", nvof_status_str(cpl->status, words, sizeof(words)));
	if (!cpl->status && ana_walk_begin(&walk, a->log, a->len, &need))
		while (walk.left && ana_walk_next(&walk, &g, &need))
			look_at_group(w, &g);
	a->first = false;
	if (a->again)
		watch_ana_read(w);
}

/* As long as the log of all groups without their namespaces can be. */
static size_t log_len(const struct nvme_id_ctrl *id)
{
	size_t nr = le32toh(id->nanagrpid);

	return HEAD_LEN + GROUP_LEN * min_size(nr, WATCH_ANA_GROUPS_MAX);
}

void watch_ana_read(struct watch *w)
{
	const struct nvme_id_ctrl *id = nvof_ctrl_id(w->conn.ctrl);
	struct watch_ana *a = &w->ana;

	a->again = a->reading;
	if (a->reading || !id || !(id->cmic & NVME_CTRL_CMIC_MULTI_ANA_REPORTING))
		return;
	if (!a->log) {
		a->len = log_len(id);
		a->log = malloc(a->len);
		a->first = true;
	}
	if (!a->log)
		abort();
	memset(a->log, 0, a->len);
	/* With RAE 0: the ctrl tells of the next change. */
	a->reading = !nvof_get_log(w->conn.ctrl, LID_ANA, RGO, false, NVME_NSID_ALL, 0, a->log, a->len, log_read, w);
}

void watch_ana_clear(struct watch *w)
{
	free(w->ana.log);
	free(w->ana.known);
}
