/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connection management events on a loop.  A loop has one event channel, made when it is needed for the first time; ids are made on it or
 * migrate to it.  An event is acknowledged before its owner is told, so an owner may destroy its id from inside.
 */
#ifndef NVOF_TRANSPORT_RDMA_CM_H
#define NVOF_TRANSPORT_RDMA_CM_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/loop.h"

struct rdma_event {
	enum rdma_cm_event_type type;
	int status; /* negative errno, or why a peer refused */
	struct rdma_cm_id *id;
	uint8_t reads_in, reads_out; /* RDMA READs that the peer may issue, and that we may */
	uint8_t data_len;	     /* of the private data */
	uint8_t data[UINT8_MAX];
};

/* What an id's context points at. */
struct rdma_owner {
	void (*event)(struct rdma_owner *owner, const struct rdma_event *ev);
};

/* 0, or a sentence that says what this machine lacks. */
int rdma_cm_channel(struct loop *loop, struct rdma_event_channel **channel, struct error *err);
/* The owners hear now what has happened. */
void rdma_cm_look(struct loop *loop);
/* An id of that owner's on the loop. */
int rdma_cm_id_new(struct loop *loop, struct rdma_owner *owner, struct rdma_cm_id **id, struct error *err);

/* Destroys it, soon: the loop is not kept waiting.  It has no queue pair any more, and its owner hears nothing from it. */
void rdma_cm_id_free(struct loop *loop, struct rdma_cm_id *id);

/*
 * The peer, who asked for a connection that was not accepted yet, is there no more.  No event says so: the kernel drops those of an id that
 * was not accepted.  But from then on it has no attributes for a queue pair of the id.
 */
bool rdma_cm_peer_left(struct rdma_cm_id *id);

/* Why a peer refused, as the communication manager says it (not the peer's own status). */
const char *rdma_cm_reject_reason(int reason);
/* "rxe0", or "?" before there is a device. */
const char *rdma_cm_device(const struct rdma_cm_id *id);
/* The two ends as text. */
void rdma_cm_local(struct rdma_cm_id *id, char *text, size_t len);
void rdma_cm_peer(struct rdma_cm_id *id, char *text, size_t len);
/* "; the limit of locked memory is 64 KiB (ulimit -l)" when ret is what running into it looks like, else "". */
void rdma_memlock_hint(int ret, char *text, size_t len);

#endif
