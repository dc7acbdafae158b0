// SPDX-License-Identifier: BSD-3-Clause
/* Admin commands: which there are, for I/O ctrls and for discovery ctrls. */
#include "target/target.h"

static uint16_t admin_check(const struct target_req *req)
{
	const struct target_ctrl *c = req->queue->ctrl;

	switch (req->sqe.opcode) {
	case nvme_admin_identify:
	case nvme_admin_get_log_page:
	case nvme_admin_get_features:
	case nvme_admin_set_features:
	case nvme_admin_async_event:
	case nvme_admin_keep_alive:
	case nvme_admin_abort_cmd:
		return NVME_CC_EN(c->cc) ? 0 : ST(CMD_SEQ_ERROR);
	default:
		return ST(INVALID_OPCODE);
	}
}

uint16_t target_admin_begin(struct target_req *req)
{
	uint16_t status = admin_check(req);

	if (!status && req->sqe.opcode == nvme_admin_set_features) {
		req->data_len = target_set_features_len(req);
		req->dir = req->data_len ? DATA_TO_CTRL : DATA_NONE;
	}
	return status;
}

void target_admin_execute(struct target_req *req)
{
	switch (req->sqe.opcode) {
	case nvme_admin_identify:
		target_identify(req);
		break;
	case nvme_admin_get_log_page:
		target_get_log(req);
		break;
	case nvme_admin_get_features:
		target_get_features(req);
		break;
	case nvme_admin_set_features:
		target_set_features(req);
		break;
	case nvme_admin_async_event:
		target_aer(req);
		break;
	case nvme_admin_abort_cmd:
		target_abort(req);
		break;
	default: /* Keep Alive: that it came is all it has to do */
		target_req_respond(req, 0);
		break;
	}
}
