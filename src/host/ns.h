/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A namespace as one ctrl shows it: one object for as long as the ctrl shows the same namespace under its id, however many handles there
 * are.  What becomes of it is decided in one place, ns_apply.c.
 *
 * Life: identified (ns_identify.c) -> in the table (ns_map.c) -> ended: no new I/O, out of the table (ns_end()) -> its I/O is over
 * (ns_remove.c) -> freed when the last handle is closed, or with the ctrl.
 */
#ifndef NVOF_HOST_NS_H
#define NVOF_HOST_NS_H

#include <nvof/nvof.h>
#include <urcu/list.h>

#include "base/async_domain.h"
#include "base/loop.h"
#include "base/util.h"

/* Data of one command when the ctrl names no limit of its own, and the most we send if it names a larger one. */
#define MAX_CMD_DATA (4u << 20)
#define MAX_CMD_NLB  65536u /* NLB is 16 bits, 0's based */
#define NSID_MAX     0xfffffffeu

/* Somebody waits until nothing of a namespace is under way. */
struct ns_wait {
	struct cds_list_head link; /* nvof_ns.waiters */
	void (*fn)(struct ns_wait *w);
	bool on;
};

struct path_ns;

struct nvof_ns {
	/* what each I/O looks at */
	struct nvof_ctrl *ctrl; /* NULL: a subsystem's (struct head) */
	uint64_t nr_blocks;	/* read by any thread; 0 when it has ended */
	uint32_t max_nlb;	/* blocks of one read or write */
	uint32_t nsid_le;
	uint32_t nr_inflight; /* commands that were submitted and have not ended, held ones included */
	uint8_t shift;	      /* log2 of the block size */
	bool hold;	      /* I/O waits: it is looked at or missing, and may be another namespace by now */
	bool waited_for;      /* there are waiters */

	uint32_t nr_held, nr_splits;
	uint32_t nr_looks; /* under way; each holds it */
	uint64_t asked;	   /* ns_set.nr_asked of the answer that it is known by */
	int end_status;	   /* what I/O gets, a negative errno; 0: it goes on */
	uint32_t max_zeroes_nlb, max_verify_nlb;
	uint32_t nsid;
	uint32_t nr_handles; /* of any thread */
	struct nvme_id_ns id;
	uint8_t uuid[16], nguid[16], eui64[8];
	uint8_t csi;

	struct cds_list_head waiters; /* ns_wait.link */
	struct loop_defer quiet_work;

	/* ns_missing.c: the ctrl did not show it when it came back */
	bool missing;
	uint64_t missing_since; /* ns */

	/* ns_remove.c */
	struct cds_list_head link; /* ns_set.removing, then ns_set.ended */
	struct cds_list_head begun_link;
	struct async_op remove_op;
	struct ns_wait remove_wait;
	struct timer overdue; /* its I/O has had its time */
	nvof_ns_removed_cb *remove_cb;
	void *remove_arg;
	bool removing;
	bool told; /* the event of its end was told */

	/* ns_abort.c: the next slot to look at */
	uint32_t abort_hctx, abort_tag;
	bool aborting; /* an answer is to come */

	struct path_ns *pn; /* head.c: what it leads to; NULL: its ctrl is no path */
};

/* A fresh one, not in the table.  NULL: no memory. */
struct nvof_ns *ns_new(struct nvof_ctrl *ctrl, uint32_t nsid);
void ns_free(struct nvof_ns *ns); /* NULL is fine */
bool ns_same(const struct nvof_ns *a, const struct nvof_ns *b);
/* What fresh, the same namespace, says that may change.  True: its size is another one. */
bool ns_take_over(struct nvof_ns *ns, const struct nvof_ns *fresh);

static inline void ns_ref(struct nvof_ns *ns)
{
	__atomic_add_fetch(&ns->nr_handles, 1, __ATOMIC_RELAXED);
}

/* Each command of the namespace: submitted or held, and its end.  ns_io_end() runs no callback. */
static inline void ns_io_begin(struct nvof_ns *ns)
{
	ns->nr_inflight++;
}
void ns_look(struct nvof_ns *ns);
static inline void ns_io_end(struct nvof_ns *ns)
{
	ns->nr_inflight--;
	if (unlikely(ns->waited_for))
		ns_look(ns);
}

/* w->fn runs once, at the end of a turn: nothing is under way but what is held (and nothing at all, when the namespace has ended). */
void ns_wait_quiet(struct nvof_ns *ns, struct ns_wait *w, void (*fn)(struct ns_wait *w));
void ns_wait_cancel(struct nvof_ns *ns, struct ns_wait *w);
/* Who looks at it; see ns_hush.h. */
void ns_hold(struct nvof_ns *ns);
void ns_unhold(struct nvof_ns *ns);
/* The application has I/O under way on it or a handle, its own or that of the subsystem's namespace that it is a path to. */
bool ns_in_use(const struct nvof_ns *ns);
/* Whether the ctrl shows it; while it does not its I/O waits. */
void ns_set_missing(struct nvof_ns *ns, bool missing);

/* ns_format.c: takes Identify Namespace over into ns.  0, or -ENOTSUP with a sentence for nvof_ctrl_errmsg(). */
int ns_set_format(struct nvof_ns *ns);
/* ns_format.c: the identifiers of an Identify CNS 03h list of len bytes; anything malformed ends the list. */
void ns_set_descriptors(struct nvof_ns *ns, const uint8_t *list, size_t len);

#endif
