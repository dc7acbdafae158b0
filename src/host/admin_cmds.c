/* SPDX-License-Identifier: BSD-3-Clause */
/* The admin commands with a call of their own. */
#include <errno.h>

#include "host/admin.h"

int nvof_identify(struct nvof_ctrl *ctrl, uint8_t cns, uint32_t nsid, uint16_t cntid, uint8_t csi, void *buf, nvof_cb *cb, void *arg)
{
	struct nvme_sqe sqe = sqe_identify(cns, nsid, cntid, csi);

	if (!buf)
		return -EINVAL;
	return admin_submit(ctrl, &sqe, DATA_FROM_CTRL, buf, NVME_IDENTIFY_DATA_SIZE, cb, arg);
}

int nvof_get_features(struct nvof_ctrl *ctrl, uint8_t fid, uint32_t nsid, uint32_t cdw11, nvof_cb *cb, void *arg)
{
	struct nvme_sqe sqe = sqe_features(nvme_admin_get_features, fid, nsid, cdw11);

	return admin_submit(ctrl, &sqe, DATA_NONE, NULL, 0, cb, arg);
}

int nvof_set_features(struct nvof_ctrl *ctrl, uint8_t fid, uint32_t nsid, uint32_t cdw11, nvof_cb *cb, void *arg)
{
	struct nvme_sqe sqe = sqe_features(nvme_admin_set_features, fid, nsid, cdw11);

	return admin_submit(ctrl, &sqe, DATA_NONE, NULL, 0, cb, arg);
}

int nvof_property_get(struct nvof_ctrl *ctrl, uint32_t offset, bool is64, nvof_cb *cb, void *arg)
{
	struct nvme_sqe sqe = sqe_property_get(offset, is64);

	return admin_submit(ctrl, &sqe, DATA_NONE, NULL, 0, cb, arg);
}

int nvof_property_set(struct nvof_ctrl *ctrl, uint32_t offset, bool is64, uint64_t value, nvof_cb *cb, void *arg)
{
	struct nvme_sqe sqe = sqe_property_set(offset, is64, value);

	return admin_submit(ctrl, &sqe, DATA_NONE, NULL, 0, cb, arg);
}
