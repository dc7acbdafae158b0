/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/ns_identify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/admin.h"
#include "host/ns.h"

#define VS_1_3	 0x00010300u /* CNS 03h must be there */
#define VS_2_0	 0x00020000u
#define NR_AGAIN 2 /* then the two answers are taken as they are */

struct ns_identify {
	struct nvof_ctrl *ctrl;
	struct nvof_ns *ns;		       /* ours until it is handed out */
	bool careful;			       /* its identifiers first: */
	uint8_t uuid[16], nguid[16], eui64[8]; /* of the one that is known */
	ns_identified *done;
	void *arg;
	uint32_t nr_again;
	uint64_t asked;
	uint8_t buf[NVME_IDENTIFY_DATA_SIZE];
};

bool ns_status_passing(int status)
{
	if (status == -EAGAIN)
		return true;
	if (status <= 0 || status & NVME_STATUS_DNR)
		return false;
	switch (NVME_STATUS_CODE(status)) {
	case NVME_SC_INVALID_NS:
	case NVME_SC_INVALID_FIELD:
	case NVME_SC_INVALID_OPCODE:
		return false;
	default:
		return true;
	}
}

static void identify_end(struct ns_identify *op, int status)
{
	struct ns_identify gone = *op;

	if (status) {
		ns_free(op->ns);
		gone.ns = NULL;
	}
	free(op);
	gone.done(gone.arg, status, gone.ns, gone.asked);
}

static int ask(struct ns_identify *op, uint8_t cns, uint32_t nsid, nvof_cb *cb)
{
	struct nvme_sqe sqe = sqe_identify(cns, nsid, 0, 0);

	op->asked = ++op->ctrl->nss.nr_asked;
	memset(op->buf, 0, sizeof(op->buf)); /* a ctrl that sends less must not leave us old bytes (C072) */
	return admin_submit(op->ctrl, &sqe, DATA_FROM_CTRL, op->buf, sizeof(op->buf), cb, op);
}

static void identify_failed(struct ns_identify *op, int status)
{
	identify_end(op, ctrl_op_failed(op->ctrl, status, "Identify Namespace %u at %s", op->ns->nsid, op->ctrl->p.where));
}

static bool is_invalid_ns(int status)
{
	return status > 0 && NVME_STATUS_CODE(status) == NVME_SC_INVALID_NS;
}

static int ask_namespace(struct ns_identify *op);

/* Refused, or an identifier is not the one that the first answer had: maybe there is another namespace under the id by now, or none. */
static bool changed_between(const struct ns_identify *op, int status)
{
	static const uint8_t zero[16];
	const struct nvof_ns *ns = op->ns;

	if (status)
		return op->ctrl->vs >= VS_1_3;
	return (memcmp(ns->id.nguid, zero, 16) && memcmp(ns->id.nguid, ns->nguid, 16)) ||
	       (memcmp(ns->id.eui64, zero, 8) && memcmp(ns->id.eui64, ns->eui64, 8));
}

static void descriptors_read(void *arg, const struct nvof_cpl *cpl)
{
	struct ns_identify *op = arg;
	int ret;

	if (is_invalid_ns(cpl->status)) {
		identify_failed(op, -ENODEV); /* it went in between */
		return;
	}
	/* Without its identifiers a namespace could be taken for another one. */
	if (cpl->status < 0 || ns_status_passing(cpl->status)) {
		identify_failed(op, cpl->status);
		return;
	}
	/* A ctrl may not have them; Identify Namespace gave what it has of EUI64 and NGUID. */
	if (!cpl->status) {
		ns_set_descriptors(op->ns, op->buf, sizeof(op->buf));
		op->ctrl->gives_descriptors = true;
	}
	if (changed_between(op, cpl->status) && op->nr_again++ < NR_AGAIN) {
		ret = ask_namespace(op);
		if (ret)
			identify_failed(op, ret);
		return;
	}
	if (cpl->status && op->ctrl->gives_descriptors) {
		identify_failed(op, -ENODEV); /* not the command is refused: it comes and goes, and is gone now */
		return;
	}
	identify_end(op, ns_set_format(op->ns));
}

static bool other_id(const uint8_t *known, const uint8_t *id, size_t len)
{
	static const uint8_t zero[16];

	return memcmp(id, zero, len) && memcmp(id, known, len);
}

/* Asked first, while I/O of the one that is known is under way: it must not go on when this is another one. */
static void identifiers_read(void *arg, const struct nvof_cpl *cpl)
{
	struct ns_identify *op = arg;
	struct nvof_ns *ns = op->ns;
	int ret;

	if (cpl->status < 0 || ns_status_passing(cpl->status)) {
		identify_failed(op, cpl->status);
		return;
	}
	if (!cpl->status)
		ns_set_descriptors(ns, op->buf, sizeof(op->buf));
	if (other_id(op->uuid, ns->uuid, 16) || other_id(op->nguid, ns->nguid, 16) || other_id(op->eui64, ns->eui64, 8)) {
		identify_end(op, -ESTALE);
		return;
	}
	ret = ask_namespace(op);
	if (ret)
		identify_failed(op, ret);
}

static void namespace_read(void *arg, const struct nvof_cpl *cpl)
{
	struct ns_identify *op = arg;
	struct nvof_ns *ns = op->ns;
	int status = cpl->status;

	memcpy(&ns->id, op->buf, sizeof(ns->id));
	/* An inactive namespace is told by a status or by zeroes (C073). */
	if (is_invalid_ns(status) || (!status && !ns->id.nsze && !ns->id.ncap))
		status = -ENODEV;
	if (!status) {
		memset(ns->uuid, 0, sizeof(ns->uuid)); /* of an earlier answer */
		ns->csi = 0;
		memcpy(ns->nguid, ns->id.nguid, sizeof(ns->nguid));
		memcpy(ns->eui64, ns->id.eui64, sizeof(ns->eui64));
		status = ask(op, NVME_IDENTIFY_CNS_NS_DESC_LIST, ns->nsid, descriptors_read);
	}
	if (status)
		identify_failed(op, status);
}

static int ask_namespace(struct ns_identify *op)
{
	return ask(op, NVME_IDENTIFY_CNS_NS, op->ns->nsid, namespace_read);
}

/* WZSL and VSL count like MDTS; 0 and an answer we can't have mean no limit. */
static uint32_t nvm_limit(const struct nvof_ctrl *ctrl, uint8_t field)
{
	unsigned int shift = 12 + (unsigned int)NVME_CAP_MPSMIN(ctrl->init.cap) + field;

	return field && shift < 32 ? 1u << shift : UINT32_MAX;
}

static void limits_read(void *arg, const struct nvof_cpl *cpl)
{
	struct ns_identify *op = arg;
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
		ret = ask_namespace(op);
	if (ret)
		identify_failed(op, ret);
}

static int begin(struct ns_identify *op)
{
	struct nvof_ctrl *ctrl = op->ctrl;

	if (op->careful)
		return ask(op, NVME_IDENTIFY_CNS_NS_DESC_LIST, op->ns->nsid, identifiers_read);
	if (!ctrl->has_nvm_limits && ctrl->vs >= VS_2_0)
		return ask(op, NVME_IDENTIFY_CNS_CSI_CTRL, 0, limits_read);
	if (!ctrl->has_nvm_limits) {
		ctrl->has_nvm_limits = true;
		ctrl->max_zeroes_len = ctrl->max_verify_len = UINT32_MAX;
	}
	return ask_namespace(op);
}

int ns_identify(struct nvof_ctrl *ctrl, uint32_t nsid, const struct nvof_ns *known, ns_identified *done, void *arg)
{
	struct ns_identify *op = calloc(1, sizeof(*op));
	int ret = -ENOMEM;

	if (!op)
		return -ENOMEM;
	op->ctrl = ctrl;
	op->careful = known;
	if (known) {
		nvof_ns_uuid(known, op->uuid);
		nvof_ns_nguid(known, op->nguid);
		nvof_ns_eui64(known, op->eui64);
	}
	op->done = done;
	op->arg = arg;
	op->ns = ns_new(ctrl, nsid);
	if (op->ns)
		ret = begin(op);
	if (!ret)
		return 0;
	ns_free(op->ns);
	free(op);
	return ret;
}
