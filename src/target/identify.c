// SPDX-License-Identifier: BSD-3-Clause
/* Identify: NVM Express Base 2.0 section 5.17, NVM Command Set 1.0 section 4.1.5. */
#include <stdio.h>
#include <string.h>

#include "target/rcu.h"
#include "target/target.h"

#define IDENTIFY_LEN 4096

void target_text(char *field, size_t len, const char *text)
{
	size_t used = strlen(text);

	memset(field, ' ', len);
	memcpy(field, text, min_size(used, len));
}

static uint8_t mdts_of(uint32_t mdts_len)
{
	uint8_t mdts = 0;

	while ((4096u << mdts) < mdts_len)
		mdts++;
	return mdts;
}

static void id_common(const struct target_ctrl *c, struct nvme_id_ctrl *id)
{
	const struct target_subsys *s = c->subsys;

	target_text(id->sn, sizeof(id->sn), s->serial);
	target_text(id->mn, sizeof(id->mn), s->model);
	target_text(id->fr, sizeof(id->fr), TARGET_FIRMWARE);
	id->mdts = mdts_of(s->target->opts.mdts_len);
	id->cntlid = htole16(c->cntlid);
	id->ver = htole32(TARGET_VERSION);
	id->ctratt = htole32(NVME_CTRL_CTRATT_128_ID | NVME_CTRL_CTRATT_TBKAS);
	id->cntrltype = s->discovery ? NVME_CTRL_CNTRLTYPE_DISCOVERY : NVME_CTRL_CNTRLTYPE_IO;
	id->acl = TARGET_ACL;
	id->aerl = TARGET_AERL;
	id->lpa = NVME_CTRL_LPA_EXTENDED;
	id->kas = htole16(TARGET_KAS);
	/* Not one less, though one entry stays empty: Linux takes it for a number of entries, and makes its queues smaller than MQES
	 * allows. */
	id->maxcmd = htole16((uint16_t)s->target->opts.max_queue_size);
	id->sgls = htole32(1 | c->port->ops->sgls);
	snprintf(id->subnqn, sizeof(id->subnqn), "%s", s->nqn);
	id->ioccsz = htole32((64 + c->port->params.inline_len) / 16);
	id->iorcsz = htole32(1);
	id->msdbd = c->port->ops->msdbd;
	id->ofcs = htole16(NVME_CTRL_OFCS_DISCONNECT);
}

static void id_io_ctrl(const struct target_ctrl *c, struct nvme_id_ctrl *id)
{
	const struct target_subsys *s = c->subsys;
	uint32_t nn = __atomic_load_n(&s->nn, __ATOMIC_RELAXED);

	id->cmic = NVME_CTRL_CMIC_MULTI_PORT | NVME_CTRL_CMIC_MULTI_CTRL | NVME_CTRL_CMIC_MULTI_ANA_REPORTING;
	id->oaes = htole32(NVME_CTRL_OAES_NA | NVME_CTRL_OAES_ANA);
	/* All states, and a namespace stays in its group. */
	id->anacap = NVME_CTRL_ANACAP_OPT | NVME_CTRL_ANACAP_NON_OPT | NVME_CTRL_ANACAP_INACCESSIBLE | NVME_CTRL_ANACAP_PERSISTENT_LOSS |
		     NVME_CTRL_ANACAP_CHANGE | NVME_CTRL_ANACAP_GRPID_NO_CHG;
	id->anatt = TARGET_ANATT;
	id->anagrpmax = id->nanagrpid = htole32(ANA_GRPID_MAX);
	id->frmw = NVME_CTRL_FRMW_1ST_RO | 1 << 1;
	id->lpa |= NVME_CTRL_LPA_CMD_EFFECTS;
	id->sqes = 0x66;
	id->cqes = 0x44;
	id->nn = htole32(nn);
	id->mnan = htole32(nn); /* never above NN (C008) */
	id->oncs = htole16(NVME_CTRL_ONCS_COMPARE | NVME_CTRL_ONCS_DSM | NVME_CTRL_ONCS_WRITE_ZEROES | NVME_CTRL_ONCS_VERIFY);
	/* 10b: a Flush of all namespaces at once (FFFFFFFFh) is not offered. */
	id->vwc = 2 << 1 | (__atomic_load_n(&s->nr_volatile, __ATOMIC_RELAXED) ? NVME_CTRL_VWC_PRESENT : 0);
}

static void identify_ctrl(struct target_req *req, void *page)
{
	struct target_ctrl *c = req->queue->ctrl;
	struct nvme_id_ctrl *id = page;

	id_common(c, id);
	if (c->subsys->discovery)
		id->oaes = htole32((uint32_t)NVME_CTRL_OAES_DL);
	else
		id_io_ctrl(c, id);
	target_req_respond(req, 0);
}

static void id_ns_fill(const struct target_ns *ns, const struct target_port *port, struct nvme_id_ns *id)
{
	uint64_t nsze = target_ns_nsze(ns);
	uint32_t per_4k = 4096u >> ns->lba_shift;

	id->nsze = id->ncap = htole64(nsze);
	/* What can't be reached here can't be counted here. */
	id->nuse = target_ana_refusal(target_ana_state(port, ns->anagrpid)) ? 0 : htole64(nsze);
	id->anagrpid = htole32(ns->anagrpid);
	id->nsfeat = NVME_NS_FEAT_IO_OPT;
	id->nlbaf = 0;
	id->nmic = 1; /* several ctrls may share it */
	id->dlfeat = NVME_NS_DLFEAT_RB_ALL_0S | NVME_NS_DLFEAT_WRITE_ZEROES;
	id->nawupf = 0;
	/* 4 KiB is the size to prefer, whatever the block size says (C166); all 0's based. */
	id->npwg = id->npwa = id->npdg = id->npda = htole16((uint16_t)(per_4k - 1));
	id->nsattr = ns->readonly ? 1 : 0;
	memcpy(id->nguid, ns->nguid, sizeof(id->nguid));
	id->lbaf[0].ds = ns->lba_shift;
}

static bool nsid_possible(const struct target_subsys *s, uint32_t nsid)
{
	return nsid && nsid <= __atomic_load_n(&s->nn, __ATOMIC_RELAXED);
}

/*
 * An inactive namespace is all zeroes for the structures that say so; ids beyond NN are no namespaces at all.
 * FFFFFFFFh would ask for what all namespaces have in common, which takes namespace management.
 */
static void identify_ns(struct target_req *req, void *page)
{
	struct target_subsys *s = req->queue->ctrl->subsys;
	uint32_t nsid = le32toh(req->sqe.nsid);

	if (!nsid_possible(s, nsid)) {
		target_req_respond(req, ST(INVALID_NS));
		return;
	}
	if (target_ns_get(req, s, nsid)) {
		id_ns_fill(req->ns, req->queue->ctrl->port, page);
		target_fence_told(req->queue->ctrl, req->ns);
	}
	target_ns_put(req);
	target_req_respond(req, 0);
}

static void identify_independent_ns(struct target_req *req, void *page)
{
	struct target_subsys *s = req->queue->ctrl->subsys;
	struct nvme_id_independent_id_ns *id = page;
	uint32_t nsid = le32toh(req->sqe.nsid);

	if (!nsid_possible(s, nsid)) {
		target_req_respond(req, ST(INVALID_NS));
		return;
	}
	if (target_ns_get(req, s, nsid)) {
		id->nmic = 1;
		id->anagrpid = htole32(req->ns->anagrpid);
		id->nsattr = req->ns->readonly ? 1 : 0;
		id->nstat = 1; /* ready */
	}
	target_ns_put(req);
	target_req_respond(req, 0);
}

/* Nothing of the NVM command set's own for a namespace (no protection information): zeroes.  The same for the ctrl, but for limits. */
static void identify_csi_ns(struct target_req *req)
{
	struct target_subsys *s = req->queue->ctrl->subsys;

	target_req_respond(req, nsid_possible(s, le32toh(req->sqe.nsid)) ? 0 : ST(INVALID_NS));
}

static uint8_t *desc_put(uint8_t *pos, uint8_t nidt, uint8_t nidl, const void *nid)
{
	struct nvme_ns_id_desc *d = (struct nvme_ns_id_desc *)pos;

	d->nidt = nidt;
	d->nidl = nidl;
	memcpy(d->nid, nid, nidl);
	return pos + sizeof(*d) + nidl;
}

static void identify_descs(struct target_req *req, void *page)
{
	static const uint8_t none[16];
	struct target_subsys *s = req->queue->ctrl->subsys;
	uint32_t nsid = le32toh(req->sqe.nsid);
	uint8_t csi = NVME_CSI_NVM, *pos = page;
	struct target_ns *ns;

	/* C076: inactive and impossible ids are told apart. */
	if (!nsid || !nsid_possible(s, nsid) || !target_ns_get(req, s, nsid)) {
		target_req_respond(req, nsid_possible(s, nsid) ? ST(INVALID_FIELD) : ST(INVALID_NS));
		return;
	}
	ns = req->ns;
	if (memcmp(ns->uuid, none, 16))
		pos = desc_put(pos, NVME_NIDT_UUID, NVME_NIDT_UUID_LEN, ns->uuid);
	if (memcmp(ns->nguid, none, 16))
		pos = desc_put(pos, NVME_NIDT_NGUID, NVME_NIDT_NGUID_LEN, ns->nguid);
	desc_put(pos, NVME_NIDT_CSI, NVME_NIDT_CSI_LEN, &csi);
	target_ns_put(req);
	target_req_respond(req, 0);
}

static void identify_active_list(struct target_req *req, void *page)
{
	struct target_subsys *s = req->queue->ctrl->subsys;
	uint32_t nsid = le32toh(req->sqe.nsid);
	struct nvme_ns_list *list = page;
	const struct ns_table *table;
	uint32_t nr, pos;

	if (nsid >= TARGET_NSID_ALL - 1) {
		target_req_respond(req, ST(INVALID_NS));
		return;
	}
	rcu_enter();
	table = target_ns_table(s);
	nr = ns_table_nr(table);
	pos = ns_table_after(table, nsid);
	for (uint32_t i = 0; i < ARRAY_SIZE(list->ns) && pos < nr; i++, pos++)
		list->ns[i] = htole32(table->slots[pos].nsid);
	rcu_leave(s);
	target_req_respond(req, 0);
}

void target_identify(struct target_req *req)
{
	uint8_t cns = le32toh(req->sqe.cdw10) & 0xff, csi = le32toh(req->sqe.cdw11) >> 24;
	bool of_csi = cns >= NVME_IDENTIFY_CNS_CSI_NS && cns <= NVME_IDENTIFY_CNS_CSI_NS_ACTIVE_LIST;
	bool known = cns <= NVME_IDENTIFY_CNS_NS_DESC_LIST || of_csi || cns == NVME_IDENTIFY_CNS_CSI_INDEPENDENT_ID_NS;
	void *page;

	/* A discovery ctrl has no namespaces. */
	if (!known || (of_csi && csi != NVME_CSI_NVM) || (req->queue->ctrl->subsys->discovery && cns != NVME_IDENTIFY_CNS_CTRL)) {
		target_req_respond(req, ST(INVALID_FIELD));
		return;
	}
	page = target_req_page(req, IDENTIFY_LEN);
	if (!page)
		return;
	switch (cns) {
	case NVME_IDENTIFY_CNS_NS:
		identify_ns(req, page);
		break;
	case NVME_IDENTIFY_CNS_CTRL:
		identify_ctrl(req, page);
		break;
	case NVME_IDENTIFY_CNS_NS_ACTIVE_LIST:
	case NVME_IDENTIFY_CNS_CSI_NS_ACTIVE_LIST:
		identify_active_list(req, page);
		break;
	case NVME_IDENTIFY_CNS_NS_DESC_LIST:
		identify_descs(req, page);
		break;
	case NVME_IDENTIFY_CNS_CSI_NS:
		identify_csi_ns(req);
		break;
	case NVME_IDENTIFY_CNS_CSI_CTRL: /* zeroes: no limits of Verify, Write Zeroes and Dataset Management */
		target_req_respond(req, 0);
		break;
	default:
		identify_independent_ns(req, page);
		break;
	}
}
