// SPDX-License-Identifier: BSD-3-Clause
/* The ctrl's properties and what setting CC does: NVM Express Base 2.0 section 3.1.3. */
#include "target/target.h"

#define CAP_TO 15 /* 500 ms units: longest time to ready */

#define CC_DEFINED 0x01fffff1u /* the rest is reserved and ignored (C019) */

uint64_t target_cap(const struct nvof_target *t)
{
	return (t->opts.max_queue_size - 1) | UINT64_C(1) << NVME_CAP_CQR_SHIFT | (uint64_t)CAP_TO << NVME_CAP_TO_SHIFT |
	       (uint64_t)NVME_CAP_CSS_NVM << NVME_CAP_CSS_SHIFT;
}

void target_property_get(struct target_req *req)
{
	const struct nvmf_property_cmd *cmd = (const struct nvmf_property_cmd *)&req->sqe;
	struct target_ctrl *c = req->queue->ctrl;
	bool is64 = (cmd->attrib & 7) == 1, want64 = false;
	uint64_t value;

	switch (le32toh(cmd->offset)) {
	case NVME_REG_CAP:
		value = target_cap(req->queue->target);
		want64 = true;
		break;
	case NVME_REG_VS:
		value = TARGET_VERSION;
		break;
	case NVME_REG_CC:
		value = c->cc;
		break;
	case NVME_REG_CSTS:
		value = __atomic_load_n(&c->csts, __ATOMIC_RELAXED);
		break;
	default:
		target_req_respond(req, ST(INVALID_FIELD));
		return;
	}
	if (is64 != want64 || (cmd->attrib & 7) > 1) {
		target_req_respond(req, ST(INVALID_FIELD));
		return;
	}
	req->cqe.result = htole64(value);
	target_req_respond(req, 0);
}

static void ctrl_close_io(struct target_ctrl *c)
{
	struct nvof_target *t = c->subsys->target;

	__atomic_store_n(&c->ready, false, __ATOMIC_RELAXED);
	pthread_mutex_lock(&t->lock);
	target_ctrl_close_io(c);
	pthread_mutex_unlock(&t->lock);
}

static bool cc_fine(const struct target_ctrl *c, uint32_t cc)
{
	bool io_sizes = (NVME_CC_IOSQES(cc) == 6 || !NVME_CC_IOSQES(cc)) && (NVME_CC_IOCQES(cc) == 4 || !NVME_CC_IOCQES(cc));

	return !NVME_CC_CSS(cc) && !NVME_CC_MPS(cc) && !NVME_CC_AMS(cc) && (c->subsys->discovery || io_sizes);
}

static void csts_set(struct target_ctrl *c, uint32_t clear, uint32_t set)
{
	uint32_t csts = __atomic_load_n(&c->csts, __ATOMIC_RELAXED);

	__atomic_store_n(&c->csts, (csts & ~clear) | set, __ATOMIC_RELAXED);
}

static void ctrl_enable(struct target_ctrl *c, uint32_t cc)
{
	if (!cc_fine(c, cc)) {
		log_warn(c->admin->log, "ctrl %u of %s: CC %08xh asks for what CAP does not offer", c->cntlid, c->subsys->nqn, cc);
		csts_set(c, 0, CSTS_CFS);
		return;
	}
	csts_set(c, 0, CSTS_RDY);
	__atomic_store_n(&c->ready, true, __ATOMIC_RELAXED);
}

/* A ctrl level reset: the association and its admin queue stay. */
void target_ctrl_disable(struct target_ctrl *c)
{
	ctrl_close_io(c);
	target_events_flush(c, ST_RETRY(ABORT_QUEUE)); /* C118 */
	csts_set(c, CSTS_RDY | CSTS_CFS | CSTS_SHST, 0);
	target_features_reset(c);
}

static void ctrl_shutdown(struct target_ctrl *c)
{
	ctrl_close_io(c);
	csts_set(c, CSTS_SHST, CSTS_SHST_DONE);
}

static void cc_set(struct target_ctrl *c, uint32_t cc)
{
	uint32_t old = c->cc;

	c->cc = cc;
	if (NVME_CC_EN(cc) && !NVME_CC_EN(old))
		ctrl_enable(c, cc);
	else if (!NVME_CC_EN(cc) && NVME_CC_EN(old))
		target_ctrl_disable(c);
	if (NVME_CC_SHN(cc) && !NVME_CC_SHN(old))
		ctrl_shutdown(c);
	else if (!NVME_CC_SHN(cc) && NVME_CC_SHN(old))
		csts_set(c, CSTS_SHST, 0);
}

void target_property_set(struct target_req *req)
{
	const struct nvmf_property_cmd *cmd = (const struct nvmf_property_cmd *)&req->sqe;

	/* CC alone can be written; NSSR needs CAP.NSSRS. */
	if (le32toh(cmd->offset) != NVME_REG_CC || cmd->attrib & 7) {
		target_req_respond(req, ST(INVALID_FIELD));
		return;
	}
	cc_set(req->queue->ctrl, (uint32_t)le64toh(cmd->value) & CC_DEFINED);
	target_req_respond(req, 0);
}
