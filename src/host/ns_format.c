/* SPDX-License-Identifier: BSD-3-Clause */
/* From Identify Namespace to what I/O needs. */
#include <errno.h>
#include <string.h>

#include "host/admin.h"
#include "host/ns.h"

#define MIN_BLOCK_SHIFT 9
#define MAX_BLOCK_SHIFT 20 /* a megabyte: nobody has larger ones */

/* FLBAS: bits 3:0, and with more than 16 formats bits 6:5 as the upper ones. */
static unsigned int format_index(const struct nvme_id_ns *id)
{
	unsigned int i = id->flbas & 0xf;

	return id->nlbaf > 15 ? i | (id->flbas >> 5 & 3u) << 4 : i;
}

static uint32_t limit_nlb(uint64_t len, uint8_t shift)
{
	uint64_t nlb = len >> shift;

	return (uint32_t)min_u64(nlb ? nlb : 1, MAX_CMD_NLB);
}

int ns_set_format(struct nvof_ns *ns)
{
	const struct nvme_id_ns *id = &ns->id;
	struct nvof_ctrl *ctrl = ns->ctrl;
	const struct nvme_lbaf *f = &id->lbaf[format_index(id)];
	uint16_t ms = le16toh(f->ms);

	if (ms)
		return ctrl_op_failed(ctrl, -ENOTSUP, "namespace %u: blocks of %u+%u bytes with metadata %s are not supported", ns->nsid,
				      f->ds < 32 ? 1u << f->ds : 0, ms,
				      id->flbas & 0x10 ? "behind each block (extended)" : "in a separate buffer");
	if (f->ds < MIN_BLOCK_SHIFT || f->ds > MAX_BLOCK_SHIFT)
		return ctrl_op_failed(ctrl, -ENOTSUP, "namespace %u: block size 2^%u is not supported", ns->nsid, f->ds);
	if (((size_t)1 << f->ds) > ctrl->max_transfer)
		return ctrl_op_failed(ctrl, -ENOTSUP, "namespace %u: a block of %u bytes is larger than the ctrl's MDTS of %zu", ns->nsid,
				      1u << f->ds, ctrl->max_transfer);
	if (ns->csi)
		return ctrl_op_failed(ctrl, -ENOTSUP, "namespace %u: command set %u is not supported, only NVM (0)", ns->nsid, ns->csi);
	ns->shift = f->ds;
	ns->nr_blocks = le64toh(id->nsze);
	ns->max_nlb = limit_nlb(min_u64(ctrl->max_transfer, MAX_CMD_DATA), ns->shift);
	ns->max_zeroes_nlb = limit_nlb(ctrl->max_zeroes_len, ns->shift);
	ns->max_verify_nlb = limit_nlb(ctrl->max_verify_len, ns->shift);
	return 0;
}

void ns_set_descriptors(struct nvof_ns *ns, const uint8_t *list, size_t len)
{
	size_t pos = 0;

	/* Each: type, length, two reserved bytes, the identifier. */
	while (pos + 4 <= len && list[pos]) {
		uint8_t type = list[pos], idlen = list[pos + 1];
		const uint8_t *id = list + pos + 4;

		if (idlen > len - pos - 4)
			return;
		if (type == NVME_NIDT_EUI64 && idlen == sizeof(ns->eui64))
			memcpy(ns->eui64, id, idlen);
		else if (type == NVME_NIDT_NGUID && idlen == sizeof(ns->nguid))
			memcpy(ns->nguid, id, idlen);
		else if (type == NVME_NIDT_UUID && idlen == sizeof(ns->uuid))
			memcpy(ns->uuid, id, idlen);
		else if (type == NVME_NIDT_CSI && idlen == 1)
			ns->csi = id[0];
		pos += 4 + (size_t)idlen;
	}
}
