// SPDX-License-Identifier: BSD-3-Clause
/*
 * Asynchronous events: a namespace came, went or changed; its ANA group's state did; the discovery log changed.
 *
 * An event is told once and then masked until the host reads the log it names with RAE 0.  What happens meanwhile is in that log, and is
 * told again after the read if it came later.
 */
#include <stdlib.h>
#include <string.h>

#include "target/target.h"

static const struct {
	uint8_t info, lid;
	uint32_t config; /* the bit of the Asynchronous Event Configuration feature that asks for it */
} events[TARGET_NR_EVENTS] = {
	[TARGET_EVENT_NS] = { NVME_AER_NOTICE_NS_CHANGED, NVME_LOG_LID_CHANGED_NS, 1u << 8 },
	[TARGET_EVENT_ANA] = { NVME_AER_NOTICE_ANA, NVME_LOG_LID_ANA, 1u << 11 },
	[TARGET_EVENT_DISC] = { NVME_AER_NOTICE_DISC_CHANGED, NVME_LOG_LID_DISCOVER, 1u << 31 },
};

void target_aer(struct target_req *req)
{
	struct target_ctrl *c = req->queue->ctrl;

	if (c->nr_aers > TARGET_AERL) {
		target_req_respond(req, ST_CMD(ASYNC_LIMIT));
		return;
	}
	c->aers[c->nr_aers++] = req;
	target_req_park(req);
	target_events_deliver(c);
}

void target_aer_forget(struct target_ctrl *c, const struct target_req *req)
{
	for (uint32_t i = 0; i < c->nr_aers; i++)
		if (c->aers[i] == req) {
			c->aers[i] = c->aers[--c->nr_aers];
			return;
		}
}

void target_events_deliver(struct target_ctrl *c)
{
	for (int ev = 0; ev < TARGET_NR_EVENTS; ev++) {
		struct target_req *req;

		if (!(c->pending & 1u << ev) || c->masked & 1u << ev || !c->nr_aers || !(c->aen_config & events[ev].config))
			continue;
		c->pending &= ~(1u << ev);
		c->masked |= 1u << ev;
		req = c->aers[0];
		memmove(c->aers, c->aers + 1, --c->nr_aers * sizeof(c->aers[0]));
		req->cqe.dw0 = htole32(NVME_AER_NOTICE | (uint32_t)events[ev].info << 8 | (uint32_t)events[ev].lid << 16);
		target_req_unpark(req);
		target_req_respond(req, 0);
	}
}

void target_event_read(struct target_ctrl *c, enum target_event ev)
{
	c->masked &= ~(1u << ev);
	target_events_deliver(c);
}

void target_events_flush(struct target_ctrl *c, uint16_t status)
{
	while (c->nr_aers) {
		struct target_req *req = c->aers[--c->nr_aers];

		target_req_unpark(req);
		target_req_respond(req, status);
	}
	c->pending = c->masked = 0;
}

/* Under lock.  Sorted, each id once; more than fit is remembered as just that. */
static void changed_ns_add(struct target_ctrl *c, uint32_t nsid)
{
	uint32_t i = 0;

	if (c->nr_changed_ns > TARGET_CHANGED_NS_MAX)
		return;
	if (!c->changed_ns)
		c->changed_ns = malloc(TARGET_CHANGED_NS_MAX * sizeof(*c->changed_ns));
	if (!c->changed_ns || (c->nr_changed_ns && c->changed_ns[c->nr_changed_ns - 1] < nsid))
		i = c->nr_changed_ns; /* in rising order, as a batch comes */
	else
		while (i < c->nr_changed_ns && c->changed_ns[i] < nsid)
			i++;
	if (c->changed_ns && i < c->nr_changed_ns && c->changed_ns[i] == nsid)
		return;
	if (!c->changed_ns || c->nr_changed_ns == TARGET_CHANGED_NS_MAX) {
		c->nr_changed_ns = TARGET_CHANGED_NS_MAX + 1;
		return;
	}
	memmove(c->changed_ns + i + 1, c->changed_ns + i, (c->nr_changed_ns - i) * sizeof(*c->changed_ns));
	c->changed_ns[i] = nsid;
	c->nr_changed_ns++;
}

void target_changed_ns_read(struct target_ctrl *c, uint32_t list[TARGET_CHANGED_NS_MAX], bool clear)
{
	struct nvof_target *t = c->subsys->target;

	pthread_mutex_lock(&t->lock);
	if (c->nr_changed_ns > TARGET_CHANGED_NS_MAX)
		list[0] = htole32(TARGET_NSID_ALL);
	else
		for (uint32_t i = 0; i < c->nr_changed_ns; i++)
			list[i] = htole32(c->changed_ns[i]);
	if (clear) {
		c->nr_changed_ns = 0;
		free(c->changed_ns);
		c->changed_ns = NULL;
	}
	pthread_mutex_unlock(&t->lock);
}

void target_ns_changed(struct target_subsys *s, uint32_t nsid)
{
	struct nvof_target *t = s->target;
	struct target_ctrl *c;

	/* The ANA log has lists of namespaces.  It changed, but its event is for states. */
	__atomic_add_fetch(&t->ana_chgcnt, 1, __ATOMIC_RELEASE);
	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry (c, &s->ctrls, link) {
		changed_ns_add(c, nsid);
		target_ctrl_raise(c, TARGET_EVENT_NS);
	}
	pthread_mutex_unlock(&t->lock);
}

void target_disc_changed(struct nvof_target *t)
{
	struct target_ctrl *c;

	pthread_mutex_lock(&t->lock);
	t->genctr++;
	cds_list_for_each_entry (c, &t->disc->ctrls, link)
		target_ctrl_raise(c, TARGET_EVENT_DISC);
	pthread_mutex_unlock(&t->lock);
}
