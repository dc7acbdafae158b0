/* SPDX-License-Identifier: BSD-3-Clause */
/* What Identify Controller says, held against what we can work with. */
#include <errno.h>
#include <stdio.h>

#include "host/ctrl.h"
#include "host/queue.h"

#define SQE_SHIFT  6 /* 64-byte submission and 16-byte completion queue entries */
#define CQE_SHIFT  4
#define MAX_INLINE (1u << 20) /* more in-capsule data than this gains nothing and costs the ctrl memory */

/* Low nibble: required, high nibble: maximum, both powers of two.  Discovery ctrls may leave them out. */
static bool entry_size_fits(uint8_t field, unsigned int shift)
{
	return (field & 0xfu) <= shift && shift <= field >> 4;
}

static int refuse(struct nvof_ctrl *ctrl, int code, const char *fmt, unsigned int a, unsigned int b)
{
	char text[200];

	snprintf(text, sizeof(text), fmt, a, b);
	queue_fail(ctrl->admin, code, "Identify Controller: %s", text);
	return code;
}

/* C103: IOCCSZ counts 16 bytes and holds at least the 64-byte command. */
static int check_capsules(struct nvof_ctrl *ctrl, const struct nvme_id_ctrl *id)
{
	uint32_t ioccsz = le32toh(id->ioccsz), iorcsz = le32toh(id->iorcsz);
	uint16_t icdoff = le16toh(id->icdoff);
	uint64_t len;

	if (ioccsz < 4)
		return refuse(ctrl, -EPROTO, "IOCCSZ %u: a command capsule needs at least 4 units of 16 bytes", ioccsz, 0);
	if (iorcsz < 1)
		return refuse(ctrl, -EPROTO, "IORCSZ %u: a response capsule needs at least 1 unit of 16 bytes", iorcsz, 0);
	len = (uint64_t)ioccsz * 16 - sizeof(struct nvme_sqe);
	if (len && icdoff)
		return refuse(ctrl, -ENOTSUP, "ICDOFF %u: in-capsule data at an offset is not supported", icdoff, 0);
	ctrl->inline_len = (uint32_t)min_u64(len, MAX_INLINE);
	return 0;
}

static int check_io(struct nvof_ctrl *ctrl, const struct nvme_id_ctrl *id)
{
	uint16_t maxcmd = le16toh(id->maxcmd);

	if (!entry_size_fits(id->sqes, SQE_SHIFT))
		return refuse(ctrl, -ENOTSUP, "SQES %02xh: does not include entries of %u bytes", id->sqes, 1u << SQE_SHIFT);
	if (!entry_size_fits(id->cqes, CQE_SHIFT))
		return refuse(ctrl, -ENOTSUP, "CQES %02xh: does not include entries of %u bytes", id->cqes, 1u << CQE_SHIFT);
	/* MAXCMD commands may be outstanding on a queue, which takes one entry more; a queue of two still carries one. */
	if (maxcmd && ctrl->queue_size > maxcmd) {
		ctrl->queue_size = max_u32(maxcmd, 2);
		log_info(&ctrl->ctx->log, "queue size -> %u: the ctrl's MAXCMD is %u", ctrl->queue_size, maxcmd);
	}
	return check_capsules(ctrl, id);
}

/* MDTS is a power of two in units of the smallest page; 0: no limit.  What does not fit a command's 32-bit length is no limit either. */
static void set_max_transfer(struct nvof_ctrl *ctrl, const struct nvme_id_ctrl *id)
{
	unsigned int shift = 12 + (unsigned int)NVME_CAP_MPSMIN(ctrl->init.cap) + id->mdts;

	ctrl->max_transfer = id->mdts && shift < 32 ? (size_t)1 << shift : SIZE_MAX;
	if (ctrl->p.ops->max_data_len)
		ctrl->max_transfer = min_size(ctrl->max_transfer, ctrl->p.ops->max_data_len);
}

int ctrl_check_identify(struct nvof_ctrl *ctrl)
{
	const struct nvme_id_ctrl *id = ctrl->init.id;
	uint16_t cntlid = le16toh(id->cntlid);

	if (cntlid != ctrl->cntlid)
		return refuse(ctrl, -EPROTO, "CNTLID %04xh, but Connect said %04xh", cntlid, ctrl->cntlid);
	set_max_transfer(ctrl, id);
	if (ctrl->p.kato_ms && !id->kas)
		log_info(&ctrl->ctx->log, "%s at %s: KAS 0, so keep alive may not be supported", ctrl->p.subsysnqn, ctrl->p.where);
	ctrl->ka.traffic_based = le32toh(id->ctratt) & NVME_CTRL_CTRATT_TBKAS;
	/* A discovery service may have a name of its own. */
	if (id->cntrltype == NVME_CTRL_CNTRLTYPE_DISCOVERY)
		ctrl->p.is_discovery = true;
	return ctrl->p.is_discovery ? 0 : check_io(ctrl, id);
}
