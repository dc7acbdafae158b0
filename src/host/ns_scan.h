/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A look at many namespaces: at the whole list, at those a change event is about, or at those that are known (after a reconnect).  One scan
 * at a time; what is asked for meanwhile is kept, once.  Identify commands are on their way together; whatever order the answers come in,
 * namespaces are added and told in the order of their ids.
 */
#ifndef NVOF_HOST_NS_SCAN_H
#define NVOF_HOST_NS_SCAN_H

struct nvof_ctrl;

enum ns_want {
	NS_WANT_LOG = 1 << 0,	  /* the changed namespace list says which */
	NS_WANT_LIST = 1 << 1,	  /* the active namespaces, and those that are known */
	NS_WANT_KNOWN = 1 << 2,	  /* those in the table */
	NS_WANT_MISSING = 1 << 3, /* those of them that are missing */
};

void ns_scan_setup(struct nvof_ctrl *ctrl);
/* As soon as the ctrl is LIVE and no other scan is under way; from the end of a turn. */
void ns_scan_want(struct nvof_ctrl *ctrl, unsigned int want);
/* The ctrl tells that namespaces changed (asynchronous event). */
void ns_scan_event(struct nvof_ctrl *ctrl);
/* The ctrl is LIVE again: recovery_namespaces_known() follows, or the ctrl fails. */
void ns_scan_reconnected(struct nvof_ctrl *ctrl);
/* The admin queue is about to be stopped.  What was under way is wanted again. */
void ns_scan_stop(struct nvof_ctrl *ctrl);
/* The ctrl will not be LIVE any more: who asked is told so with status. */
void ns_scan_end(struct nvof_ctrl *ctrl, int status);
/* Of a ctrl whose queues are stopped. */
void ns_scan_free(struct nvof_ctrl *ctrl);

#endif
