/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host's subsystem: several ctrls that lead to the same namespaces.
 *
 * path: the subsystem reached through one ctrl.  head: a namespace as the subsystem has it, whatever the path; it is an nvof_ns without a
 * ctrl.  path_ns: a head reached through a path: the namespace as that path's ctrl shows it, and its ANA state there.
 *
 * All of it belongs to the ctx's thread: choosing a path for an I/O is a look at a few plain fields.
 */
#ifndef NVOF_HOST_SUBSYSTEM_H
#define NVOF_HOST_SUBSYSTEM_H

#include <nvof/nvof.h>
#include <urcu/list.h>

#include "base/error.h"
#include "base/loop.h"
#include "host/ns.h"

struct head;
struct mpath_hctx;

/* How good a path is for a namespace. */
enum path_rank { PATH_OPTIMIZED, PATH_NON_OPTIMIZED, PATH_UNUSABLE };

struct ana_state {
	uint32_t grpid;
	uint8_t state;
};

/* path_ana.c: what a ctrl told about its ANA groups. */
struct path_ana {
	bool on;		  /* it has states, and tells them */
	bool reading;		  /* the log is on its way */
	bool again;		  /* and may be of before a change */
	bool skipped;		  /* the one before was: not twice in a row, changes may come for ever */
	bool warned;		  /* of what the log has that it must not have */
	uint8_t *log;		  /* owned, while reading */
	uint64_t asked;		  /* ns: when it was read last */
	struct ana_state *states; /* owned, sorted by grpid */
	size_t nr_states;
};

struct path {
	struct cds_list_head link; /* subsystem.paths */
	struct nvof_subsystem *s;
	struct nvof_ctrl *ctrl;
	uint32_t nr_active; /* I/Os under way */
	uint64_t nr_ios, nr_failed;
	bool lost;     /* the ctrl was not LIVE since the states were read */
	bool starting; /* its namespaces are not known yet */
	struct path_ana ana;
	struct cds_list_head unsettled; /* mpath_io.link: not to be repeated while the ctrl may still get them */
};

struct path_ns {
	struct path *path;
	struct head *head;
	struct nvof_ns *ns;  /* of path->ctrl */
	enum path_rank rank; /* follows from the next three: path_ns_update() */
	uint8_t ana_state;
	bool pending;			   /* the state may be another one: the log will tell */
	bool avoided;			   /* errors that the state does not explain: not before avoid_until */
	uint8_t nr_strikes;		   /* such errors, one soon after the other */
	uint64_t avoid_until, last_strike; /* ns */
};

struct head {
	struct nvof_ns ns; /* what users have; no ctrl */
	struct nvof_subsystem *s;
	struct cds_list_head link; /* subsystem.heads, by nsid; then subsystem.ended */
	struct path_ns **paths;	   /* in the order of subsystem.paths */
	uint32_t nr_paths;
	uint32_t next; /* round robin's */
};

struct nvof_subsystem {
	struct nvof_ctx *ctx;
	struct cds_list_head link; /* ctx->subsystems */
	char *nqn, *hostnqn;	   /* owned */
	uint8_t hostid[16];
	char sn[20], mn[40]; /* of the first ctrl */
	enum nvof_iopolicy iopolicy;
	bool closing; /* nothing is tried any more */

	struct cds_list_head paths; /* in the order they came */
	struct cds_list_head heads, ended;
	struct mpath_hctx **hctxs; /* owned; they stay until the subsystem goes */
	uint32_t nr_hctx;

	/* mpath_wait.c */
	struct cds_list_head waiting; /* mpath_io.link: for a path, or room on one */
	uint32_t nr_waiting;	      /* and unsettled ones */
	bool avoiding;		      /* some path_ns is avoided */
	struct loop_defer work;
	struct timer timer;

	/* subsystem_scan.c */
	struct cds_list_head askers;
	int look_status; /* of the scan that ended last */

	nvof_subsystem_event_cb *event;
	void *event_arg;
	struct error err; /* why I/O found no path */
};

static inline struct head *to_head(struct nvof_ns *ns)
{
	return container_of(ns, struct head, ns);
}

/* ---- subsystem.c: doors for the ctrl ---- */

/* It is LIVE for the first time: a path, if its subsystem is there. */
void subsystem_join(struct nvof_ctrl *ctrl);
/* It goes: all its I/O has ended. */
void subsystem_leave(struct nvof_ctrl *ctrl);
/* Something happened to a ctrl that is a path. */
void path_event(struct path *p, const struct nvof_event *event);
/* It has I/O for other paths that waits until this one can't deliver it; then ctrl_disconnect_end() follows.  NULL: no path. */
bool path_has_unsettled(struct path *p);
/* Of nvof_ctx_free(): before and after its ctrls go. */
void subsystems_close(struct nvof_ctx *ctx);
void subsystems_free(struct nvof_ctx *ctx);

void path_info(const struct path *p, struct nvof_path *info); /* without a namespace */
void subsystem_tell(struct nvof_subsystem *s, enum nvof_event_type type, struct head *h);

/* ---- subsystem_scan.c ---- */
void path_scan(struct path *p);
void subsystem_look_done(struct nvof_subsystem *s); /* tells those who wait for the paths' scans, when all are over */

/* ---- head.c ---- */
/* A namespace that a path's ctrl has.  Again is fine. */
void head_attach(struct path *p, struct nvof_ns *ns);
/* It is gone there.  Fine when it led nowhere. */
void head_detach(struct nvof_ns *ns);
void head_resized(struct head *h);
/* Of p: NULL: it does not lead there. */
struct path_ns *head_path(const struct head *h, const struct path *p);
/* Those that have no path, when none can come any more. */
void heads_end_lost(struct nvof_subsystem *s);
/* The namespaces of some path are being looked at: it may lead to any. */
bool heads_may_get_paths(const struct nvof_subsystem *s);
void heads_reap(struct nvof_subsystem *s);
void heads_free(struct nvof_subsystem *s);

/* ---- path_ana.c ---- */
void path_ana_start(struct path *p); /* of a ctrl that is LIVE (again) */
void path_ana_read(struct path *p);  /* what is known is old */
void path_ana_lost(struct path *p);  /* the ctrl is not LIVE */
void path_ana_free(struct path *p);
void path_ns_update(struct path_ns *pn);
/* A fresh one gets what is known of its group. */
void path_ns_init_state(struct path_ns *pn);
/* A command ended with this status of SCT 3: the path is not tried until more is known. */
void path_ns_error(struct path_ns *pn, int status);

#endif
