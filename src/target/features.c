// SPDX-License-Identifier: BSD-3-Clause
/* Get and Set Features: NVM Express Base 2.0 section 5.27.  Nothing is saved across resets. */
#include <string.h>

#include "target/target.h"

#define SAVE (1u << 31)

void target_features_reset(struct target_ctrl *c)
{
	memset(c->features, 0, sizeof(c->features));
	memset(&c->host_behavior, 0, sizeof(c->host_behavior));
	c->aen_config = 0;
}

/* Features that are only remembered: arbitration, power management, temperature threshold, error recovery, write atomicity. */
static bool is_stored(uint8_t fid)
{
	return fid == NVME_FEAT_FID_ARBITRATION || fid == NVME_FEAT_FID_POWER_MGMT || fid == NVME_FEAT_FID_TEMP_THRESH ||
	       fid == NVME_FEAT_FID_ERR_RECOVERY || fid == NVME_FEAT_FID_WRITE_ATOMIC;
}

static bool is_known(const struct target_ctrl *c, uint8_t fid)
{
	if (fid == NVME_FEAT_FID_ASYNC_EVENT || fid == NVME_FEAT_FID_KATO)
		return true;
	if (c->subsys->discovery)
		return false;
	if (fid == NVME_FEAT_FID_VOLATILE_WC)
		return __atomic_load_n(&c->subsys->nr_volatile, __ATOMIC_RELAXED);
	return is_stored(fid) || fid == NVME_FEAT_FID_NUM_QUEUES || fid == NVME_FEAT_FID_HOST_BEHAVIOR || fid == NVME_FEAT_FID_HOST_ID;
}

static uint8_t fid_of(const struct target_req *req)
{
	return le32toh(req->sqe.cdw10) & 0xff;
}

uint32_t target_set_features_len(const struct target_req *req)
{
	return fid_of(req) == NVME_FEAT_FID_HOST_BEHAVIOR ? sizeof(struct nvme_feat_host_behavior) : 0;
}

static uint32_t queues_result(const struct target_ctrl *c)
{
	return (c->max_qid - 1u) << 16 | (c->max_qid - 1u);
}

static void get_data(struct target_req *req, const void *data, uint32_t len)
{
	void *out;

	if (req->sgl_len < len) {
		target_req_respond(req, ST(SGL_INVALID_DATA));
		return;
	}
	out = target_req_page(req, len);
	if (!out)
		return;
	memcpy(out, data, len);
	target_req_respond(req, 0);
}

void target_get_features(struct target_req *req)
{
	struct target_ctrl *c = req->queue->ctrl;
	uint8_t fid = fid_of(req);
	uint32_t result = 0;

	if (!is_known(c, fid)) {
		target_req_respond(req, ST(INVALID_FIELD));
		return;
	}
	switch (fid) {
	case NVME_FEAT_FID_NUM_QUEUES:
		result = queues_result(c);
		break;
	case NVME_FEAT_FID_ASYNC_EVENT:
		result = c->aen_config;
		break;
	case NVME_FEAT_FID_KATO:
		result = c->kato_ms;
		break;
	case NVME_FEAT_FID_VOLATILE_WC:
		result = 1;
		break;
	case NVME_FEAT_FID_HOST_BEHAVIOR:
		get_data(req, &c->host_behavior, sizeof(c->host_behavior));
		return;
	case NVME_FEAT_FID_HOST_ID:
		/* Over fabrics the identifier has 128 bits (EXHID). */
		if (le32toh(req->sqe.cdw11) & 1)
			get_data(req, c->hostid, sizeof(c->hostid));
		else
			target_req_respond(req, ST(INVALID_FIELD));
		return;
	default:
		result = c->features[fid];
		break;
	}
	req->cqe.dw0 = htole32(result);
	target_req_respond(req, 0);
}

/* Both numbers are 0's based.  What is granted holds for the Connects that follow; with I/O queues there it is too late to ask. */
static uint16_t set_num_queues(struct target_req *req, uint32_t cdw11)
{
	struct target_ctrl *c = req->queue->ctrl;
	struct nvof_target *t = c->subsys->target;
	uint32_t nsqr = cdw11 & 0xffff, ncqr = cdw11 >> 16;
	uint16_t status = 0;

	if (nsqr == 0xffff || ncqr == 0xffff)
		return ST(INVALID_FIELD);
	pthread_mutex_lock(&t->lock);
	if (c->nr_queues > 1)
		status = ST(CMD_SEQ_ERROR);
	else
		c->max_qid = (uint16_t)min_u32(min_u32(nsqr, ncqr) + 1, t->opts.max_io_queues);
	req->cqe.dw0 = htole32(queues_result(c));
	pthread_mutex_unlock(&t->lock);
	return status;
}

static uint16_t set_value(struct target_req *req, uint8_t fid, uint32_t cdw11)
{
	struct target_ctrl *c = req->queue->ctrl;

	switch (fid) {
	case NVME_FEAT_FID_NUM_QUEUES:
		return set_num_queues(req, cdw11);
	case NVME_FEAT_FID_ASYNC_EVENT:
		c->aen_config = cdw11;
		return 0;
	case NVME_FEAT_FID_KATO:
		target_kato_start(c, cdw11);
		req->cqe.dw0 = htole32(c->kato_ms);
		return 0;
	case NVME_FEAT_FID_VOLATILE_WC:
		return cdw11 & 1 ? 0 : ST_CMD(FEATURE_NOT_CHANGEABLE);
	case NVME_FEAT_FID_HOST_BEHAVIOR:
		memcpy(&c->host_behavior, req->buf, sizeof(c->host_behavior));
		return 0;
	case NVME_FEAT_FID_HOST_ID: /* Connect has set it */
		return ST(CMD_SEQ_ERROR);
	default:
		c->features[fid] = cdw11;
		return 0;
	}
}

void target_set_features(struct target_req *req)
{
	struct target_ctrl *c = req->queue->ctrl;
	uint8_t fid = fid_of(req);

	if (!is_known(c, fid)) {
		target_req_respond(req, ST(INVALID_FIELD));
		return;
	}
	if (le32toh(req->sqe.cdw10) & SAVE) {
		target_req_respond(req, ST_CMD(FEATURE_NOT_SAVEABLE));
		return;
	}
	target_req_respond(req, set_value(req, fid, le32toh(req->sqe.cdw11)));
	if (fid == NVME_FEAT_FID_ASYNC_EVENT)
		target_events_deliver(c);
}
