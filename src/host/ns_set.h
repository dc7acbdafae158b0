/* SPDX-License-Identifier: BSD-3-Clause */
/* What a ctrl knows of its namespaces, and what is under way to know more. */
#ifndef NVOF_HOST_NS_SET_H
#define NVOF_HOST_NS_SET_H

#include <urcu/list.h>

#include "base/async_domain.h"
#include "base/loop.h"

struct ns_scan;
struct ns_map;
struct nvof_ctrl;

struct ns_set {
	struct ns_map *map;	     /* ns_map.c; NULL: empty */
	uint64_t nr_asked;	     /* commands that ask for namespaces: numbers them */
	uint64_t let_go;	     /* nr_asked when the application removed one last: nothing is added by an older answer */
	struct cds_list_head opened; /* of ns_open.c: nvof_ns_open() under way */

	/* ns_scan.c */
	bool followed;		     /* the whole list was asked for: what comes is added */
	bool coming_back;	     /* the next scan is a reconnect's */
	bool log_unread;	     /* a change was told before anybody had looked: the ctrl tells no other one until its log is read */
	unsigned int wanted;	     /* NS_WANT_* of scans to come */
	struct ns_scan *scan;	     /* under way */
	struct cds_list_head askers; /* of nvof_ns_scan() */
	struct loop_defer start_work;

	/* ns_missing.c */
	struct timer again; /* those that are missing are looked for */
	bool look_again;    /* and those that are not known yet */

	/* ns_remove.c: one domain for all removals; it closes when the ctrl is disconnected */
	struct async_domain removal;
	struct cds_list_head removing, begun, ended; /* of nvof_ns.link, begun_link, link */
	struct loop_defer begun_work;
	bool closing; /* ctrl_namespaces_gone() is to come */
};

void ns_set_init(struct nvof_ctrl *ctrl);
/* Scans and removals that somebody waits for end here: -ECANCELED. */
void ns_set_cancel(struct nvof_ctrl *ctrl);
/* Of a ctrl whose I/O has ended: handles are gone, too. */
void ns_set_free(struct nvof_ctrl *ctrl);

#endif
