/* SPDX-License-Identifier: BSD-3-Clause */
/* I/O to a subsystem's namespaces: a path is chosen for each, and another one when that fails. */
#ifndef NVOF_HOST_MPATH_H
#define NVOF_HOST_MPATH_H

#include "host/hctx.h"
#include "host/io.h"
#include "host/subsystem.h"

#define MPATH_MAX_RETRIES 8 /* paths that an I/O may see fail */
#define MPATH_LOOK_NS	  (20 * NSEC_PER_MSEC)

/* One I/O of a user, until its end, however often it is tried. */
struct mpath_io {
	struct io io; /* as the path under way gets it */
	void *buf;
	struct head *head;
	struct mpath_hctx *mh;
	struct path *path; /* under way on; else what it failed on, and not to be used */
	nvof_cb *cb;
	void *arg;
	union {
		struct cds_list_head link; /* waiting or unsettled */
		struct mpath_io *next;	   /* free */
	};
	uint64_t not_before, since; /* ns, of one that waits */
	int status;		    /* of the last failure; 0: none yet */
	uint8_t nr_retries;
};

struct mpath_chunk;

/* A subsystem's hctx: for each path the hctx of the same number. */
struct mpath_hctx {
	struct nvof_hctx hctx; /* what users have: not live, so that nothing goes by the short way */
	uint32_t nr;
	uint32_t nr_busy, limit; /* slots */
	struct mpath_io *free;
	struct mpath_chunk *chunks;
};

static inline struct mpath_hctx *to_mpath_hctx(struct nvof_hctx *hctx)
{
	return container_of(hctx, struct mpath_hctx, hctx);
}

struct mpath_hctx *mpath_hctx_new(struct nvof_subsystem *s, uint32_t nr); /* NULL: no memory */
void mpath_hctx_free(struct mpath_hctx *mh);

unsigned int mpath_nr_free(const struct nvof_hctx *hctx);
/* hctx is a subsystem's.  Returns what the I/O call does. */
int mpath_submit(struct nvof_hctx *hctx, const struct io *io, void *buf);
/* Tries a path: 0: under way; -EAGAIN: no room; -ENOTCONN: none can be used now; else why it can't be done. */
int mpath_start(struct mpath_io *m);
/* Its user is told; the slot is free. */
void mpath_end(struct mpath_io *m, const struct nvof_cpl *cpl);

/* mpath_pick.c */
/* NULL: none can be used now. */
struct path_ns *mpath_pick(struct head *h, uint32_t hctx_nr);
/* The path's hctx of that number; NULL: it has none. */
struct nvof_hctx *path_hctx(const struct path *p, uint32_t nr);

/* mpath_wait.c */
void mpath_wait_setup(struct nvof_subsystem *s);
/* 0: it waits for a path; else the status to end with: none will come. */
int mpath_wait(struct mpath_io *m);
/* Tried again at the end of the turn, but not before delay_ns have passed. */
void mpath_again(struct mpath_io *m, uint64_t delay_ns);
/* It failed on m->path, which may still deliver it. */
void mpath_settle(struct mpath_io *m);
/* What waits may find a path, or an end. */
void mpath_kick(struct nvof_subsystem *s);
/* All that waits ends with -ECANCELED. */
void mpath_wait_end(struct nvof_subsystem *s);
/* The path's ctrl is freed: what it may still deliver can't be followed any longer. */
void mpath_path_gone(struct path *p);

#endif
