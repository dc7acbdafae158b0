/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/retry.h"

#include "host/ctrl.h"
#include "host/hctx.h"
#include "host/ns.h"

#define CRDT_UNIT (100 * NSEC_PER_MSEC)

static bool wants_another_try(int status)
{
	if (status & NVME_STATUS_DNR)
		return false;
	switch (NVME_STATUS_CODE(status)) {
	case NVME_STATUS(NVME_SCT_GENERIC, NVME_SC_CMD_INTERRUPTED):
	case NVME_STATUS(NVME_SCT_GENERIC, NVME_SC_NS_NOT_READY):
		return true;
	default:
		return NVME_STATUS_CRD(status);
	}
}

static uint64_t retry_delay(const struct nvof_ctrl *ctrl, int status)
{
	const struct nvme_id_ctrl *id = ctrl->init.id;
	const uint16_t crdt[] = { 0, le16toh(id->crdt1), le16toh(id->crdt2), le16toh(id->crdt3) };

	return crdt[NVME_STATUS_CRD(status)] * CRDT_UNIT;
}

static void set_timer(struct nvof_ctrl *ctrl)
{
	uint64_t first = UINT64_MAX;
	struct host_req *req;

	cds_list_for_each_entry (req, &ctrl->retries.list, link)
		first = min_u64(first, req->deadline);
	if (first != UINT64_MAX)
		timer_set(ctrl->loop, &ctrl->retries.timer, first);
	else
		timer_cancel(ctrl->loop, &ctrl->retries.timer);
}

static void retry_due(struct timer *t)
{
	struct nvof_ctrl *ctrl = container_of(t, struct nvof_ctrl, retries.timer);
	struct host_req *req, *next;
	uint64_t now = clock_ns();

	cds_list_for_each_entry_safe (req, next, &ctrl->retries.list, link) {
		if (req->deadline > now)
			continue;
		cds_list_del(&req->link);
		held_again(ctrl, req);
	}
	set_timer(ctrl);
}

bool retry_wanted(const struct nvof_ctrl *ctrl, int status, uint64_t *delay_ns)
{
	if (!wants_another_try(status))
		return false;
	*delay_ns = retry_delay(ctrl, status);
	return true;
}

bool retry_command(struct host_req *req, int status, const struct nvme_cqe *cqe)
{
	struct nvof_ctrl *ctrl = req->hctx->ctrl;

	if (req->ns && req->ns->end_status)
		return false;
	if (!cqe || !req->retry || ctrl->state != NVOF_CTRL_LIVE || req->nr_retries == HELD_MAX_RETRIES || !wants_another_try(status))
		return false;
	req->nr_retries++;
	ctrl->stats.nr_retries++;
	req->deadline = clock_ns() + retry_delay(ctrl, status);
	cds_list_add_tail(&req->link, &ctrl->retries.list);
	set_timer(ctrl);
	return true;
}

void retry_flush(struct nvof_ctrl *ctrl, const struct nvof_ns *ns)
{
	struct host_req *req, *next;

	cds_list_for_each_entry_safe (req, next, &ctrl->retries.list, link) {
		if (ns && req->ns != ns)
			continue;
		cds_list_del(&req->link);
		held_again(ctrl, req);
	}
	set_timer(ctrl);
}

void retry_setup(struct nvof_ctrl *ctrl)
{
	CDS_INIT_LIST_HEAD(&ctrl->retries.list);
	timer_init(&ctrl->retries.timer, retry_due);
}
