/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection that was given up (transport/inet/inet_old.h): we have said that we disconnect, and the ctrl has agreed when its answer has
 * come; our target's does when the last command has ended.  No queue pair is left: the peer reaches no memory of ours.
 */
#include <stdlib.h>

#include "transport/rdma/rdma_host.h"

struct rdma_old {
	struct inet_old old;
	struct rdma_owner owner;
	struct rdma_cm_id *id;
};

static void old_close(struct inet_old *o, bool in_vain)
{
	struct rdma_old *old = container_of(o, struct rdma_old, old);

	rdma_cm_id_free(old->old.all->loop, old->id);
	free(old);
}

static void old_event(struct rdma_owner *owner, const struct rdma_event *ev)
{
	struct rdma_old *old = container_of(owner, struct rdma_old, owner);

	if (ev->type == RDMA_CM_EVENT_DISCONNECTED || ev->type == RDMA_CM_EVENT_DEVICE_REMOVAL || ev->type == RDMA_CM_EVENT_TIMEWAIT_EXIT)
		inet_old_settled(&old->old);
}

void rdma_host_old_keep(struct rdma_endpoint *ep, struct rdma_cm_id *id)
{
	struct rdma_old *old = calloc(1, sizeof(*old));

	if (!old) {
		rdma_cm_id_free(ep->olds.loop, id);
		return;
	}
	old->owner.event = old_event;
	old->id = id;
	id->context = &old->owner;
	inet_old_add(&ep->olds, &old->old, old_close);
}

bool rdma_host_settled(struct host_endpoint *hep)
{
	return inet_olds_settled(&to_rdma_endpoint(hep)->olds);
}
