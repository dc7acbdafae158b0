/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opening a namespace: Identify Namespace (CNS 00h), its descriptors (CNS 03h, optional), and once per ctrl the limits of the NVM command
 * set (CNS 06h, optional).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/admin.h"
#include "host/ns.h"

#define NSID_MAX 0xfffffffeu
#define VS_2_0	 0x00020000u

struct ns_open {
	struct nvof_ctrl *ctrl;
	struct nvof_ns *ns; /* ours until it is handed out */
	nvof_ns_cb *cb;
	void *arg;
	uint8_t buf[NVME_IDENTIFY_DATA_SIZE];
};

static void open_end(struct ns_open *op, int status)
{
	struct nvof_ns *ns = op->ns;
	nvof_ns_cb *cb = op->cb;
	void *arg = op->arg;

	if (status) {
		free(ns);
		ns = NULL;
	} else {
		cds_list_add_tail(&ns->link, &op->ctrl->namespaces);
	}
	free(op);
	cb(arg, status, ns);
}

static int open_identify(struct ns_open *op, uint8_t cns, uint32_t nsid, nvof_cb *cb)
{
	struct nvme_sqe sqe = sqe_identify(cns, nsid, 0, 0);

	memset(op->buf, 0, sizeof(op->buf)); /* a ctrl that sends less must not leave us old bytes (C072) */
	return admin_submit(op->ctrl, &sqe, DATA_FROM_CTRL, op->buf, sizeof(op->buf), cb, op);
}

static void open_failed(struct ns_open *op, int status)
{
	open_end(op, ctrl_op_failed(op->ctrl, status, "Identify Namespace %u at %s", op->ns->nsid, op->ctrl->p.where));
}

static void open_descriptors_read(void *arg, const struct nvof_cpl *cpl)
{
	struct ns_open *op = arg;

	if (cpl->status < 0) {
		open_failed(op, cpl->status);
		return;
	}
	/* A ctrl may not have them; Identify Namespace gave what it has of EUI64 and NGUID. */
	if (!cpl->status)
		ns_set_descriptors(op->ns, op->buf, sizeof(op->buf));
	open_end(op, ns_set_format(op->ns));
}

static void open_identified(void *arg, const struct nvof_cpl *cpl)
{
	struct ns_open *op = arg;
	struct nvof_ns *ns = op->ns;
	int status = cpl->status;

	memcpy(&ns->id, op->buf, sizeof(ns->id));
	/* An inactive namespace is told by a status or by zeroes (C073). */
	if ((status > 0 && NVME_STATUS_CODE(status) == NVME_SC_INVALID_NS) || (!status && !ns->id.nsze && !ns->id.ncap))
		status = -ENODEV;
	if (!status) {
		memcpy(ns->nguid, ns->id.nguid, sizeof(ns->nguid));
		memcpy(ns->eui64, ns->id.eui64, sizeof(ns->eui64));
		status = open_identify(op, NVME_IDENTIFY_CNS_NS_DESC_LIST, ns->nsid, open_descriptors_read);
	}
	if (status)
		open_failed(op, status);
}

static int open_ask_identify(struct ns_open *op)
{
	return open_identify(op, NVME_IDENTIFY_CNS_NS, op->ns->nsid, open_identified);
}

/* WZSL and VSL count like MDTS; 0 and an answer we can't have mean no limit. */
static uint32_t nvm_limit(const struct nvof_ctrl *ctrl, uint8_t field)
{
	unsigned int shift = 12 + (unsigned int)NVME_CAP_MPSMIN(ctrl->init.cap) + field;

	return field && shift < 32 ? 1u << shift : UINT32_MAX;
}

static void open_limits_read(void *arg, const struct nvof_cpl *cpl)
{
	struct ns_open *op = arg;
	struct nvof_ctrl *ctrl = op->ctrl;
	const struct nvme_id_ctrl_nvm *id = (const struct nvme_id_ctrl_nvm *)op->buf;

	int ret = cpl->status < 0 ? cpl->status : 0;

	ctrl->has_nvm_limits = !ret;
	ctrl->max_zeroes_len = ctrl->max_verify_len = UINT32_MAX;
	if (!cpl->status) {
		ctrl->max_zeroes_len = nvm_limit(ctrl, id->wzsl);
		ctrl->max_verify_len = nvm_limit(ctrl, id->vsl);
	}
	if (!ret)
		ret = open_ask_identify(op);
	if (ret)
		open_failed(op, ret);
}

static int open_begin(struct ns_open *op)
{
	struct nvof_ctrl *ctrl = op->ctrl;

	if (!ctrl->has_nvm_limits && ctrl->vs >= VS_2_0)
		return open_identify(op, NVME_IDENTIFY_CNS_CSI_CTRL, 0, open_limits_read);
	if (!ctrl->has_nvm_limits) {
		ctrl->has_nvm_limits = true;
		ctrl->max_zeroes_len = ctrl->max_verify_len = UINT32_MAX;
	}
	return open_ask_identify(op);
}

int nvof_ns_open(struct nvof_ctrl *ctrl, uint32_t nsid, nvof_ns_cb *cb, void *arg)
{
	struct ns_open *op;
	int ret = -ENOMEM;

	if (!nsid || nsid > NSID_MAX)
		return -EINVAL;
	op = calloc(1, sizeof(*op));
	if (!op)
		return -ENOMEM;
	op->ctrl = ctrl;
	op->cb = cb;
	op->arg = arg;
	op->ns = calloc(1, sizeof(*op->ns));
	if (op->ns) {
		op->ns->ctrl = ctrl;
		op->ns->nsid = nsid;
		op->ns->nsid_le = htole32(nsid);
		ret = open_begin(op);
		if (!ret)
			return 0;
	}
	free(op->ns);
	free(op);
	return ret;
}

void nvof_ns_close(struct nvof_ns *ns)
{
	if (!ns)
		return;
	cds_list_del(&ns->link);
	free(ns);
}

void ns_free_all(struct nvof_ctrl *ctrl)
{
	struct nvof_ns *ns, *next;

	cds_list_for_each_entry_safe (ns, next, &ctrl->namespaces, link)
		nvof_ns_close(ns);
}

uint32_t nvof_ns_nsid(const struct nvof_ns *ns)
{
	return ns->nsid;
}

uint32_t nvof_ns_block_size(const struct nvof_ns *ns)
{
	return 1u << ns->shift;
}

uint64_t nvof_ns_nr_blocks(const struct nvof_ns *ns)
{
	return ns->nr_blocks;
}

const struct nvme_id_ns *nvof_ns_id(const struct nvof_ns *ns)
{
	return &ns->id;
}

void nvof_ns_uuid(const struct nvof_ns *ns, uint8_t uuid[16])
{
	memcpy(uuid, ns->uuid, 16);
}

void nvof_ns_nguid(const struct nvof_ns *ns, uint8_t nguid[16])
{
	memcpy(nguid, ns->nguid, 16);
}

void nvof_ns_eui64(const struct nvof_ns *ns, uint8_t eui64[8])
{
	memcpy(eui64, ns->eui64, 8);
}
