/* SPDX-License-Identifier: BSD-3-Clause */
#include "ns_model.h"

#include <stdlib.h>
#include <string.h>

static struct model *the_model; /* the hooks of the fake have no argument of ours */

static void list(struct model *m, struct host_req *req)
{
	uint32_t page[1024] = { 0 }, after = le32toh(req->sqe.nsid);
	size_t i, n = 0;

	m->nr_lists++;
	for (i = 0; i < m->nr && n < 1024; i++)
		if (m->ns[i].nsid > after)
			page[n++] = htole32(m->ns[i].nsid);
	fake_put(req, page, sizeof(page));
}

static int identify(struct model *m, struct host_req *req, uint8_t cns)
{
	const struct model_ns *ns = model_find(m, le32toh(req->sqe.nsid));
	struct nvme_id_ns id = m->f->id_ns;
	uint8_t desc[4096] = { NVME_NIDT_UUID, 16 };

	if (!ns)
		return 0x400b;
	if (ns->status)
		return ns->status;
	id.nsze = id.ncap = htole64(ns->nr_blocks);
	desc[4] = ns->uuid;
	if (cns == NVME_IDENTIFY_CNS_NS)
		fake_put(req, &id, sizeof(id));
	else
		fake_put(req, desc, sizeof(desc));
	return 0;
}

static void read_log(struct model *m, struct host_req *req)
{
	m->nr_logs++;
	fake_put(req, m->changed, sizeof(m->changed));
	memset(m->changed, 0, sizeof(m->changed));
}

static enum fake_answer answer(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	struct model *m = the_model;
	uint8_t cns = (uint8_t)le32toh(req->sqe.cdw10);

	if (fq->q.qid)
		return FAKE_DEFAULT;
	if (req->sqe.opcode == nvme_admin_async_event && m->storm)
		return fake_status(cqe, 0, 0x040002);
	if (req->sqe.opcode == nvme_admin_get_log_page) {
		read_log(m, req);
		return FAKE_ANSWERED;
	}
	if (req->sqe.opcode != nvme_admin_identify)
		return FAKE_DEFAULT;
	if (cns == NVME_IDENTIFY_CNS_NS_ACTIVE_LIST) {
		list(m, req);
		return FAKE_ANSWERED;
	}
	if (cns != NVME_IDENTIFY_CNS_NS && cns != NVME_IDENTIFY_CNS_NS_DESC_LIST)
		return FAKE_DEFAULT;
	m->nr_identifies++;
	if (m->hold) {
		m->held[m->nr_held++] = req;
		if (m->nr_held > m->max_held)
			m->max_held = m->nr_held;
		return FAKE_HOLD;
	}
	return fake_status(cqe, identify(m, req, cns), 0);
}

void model_answer(struct model *m)
{
	struct host_req *req;
	size_t i;

	if (!m->nr_held)
		return;
	i = ((m->seed = m->seed * 1103515245 + 12345) >> 8) % m->nr_held;
	req = m->held[i];
	m->held[i] = m->held[--m->nr_held];
	fake_complete(req, identify(m, req, (uint8_t)le32toh(req->sqe.cdw10)), 0);
}

static void told(void *arg, struct nvof_ctrl *ctrl, const struct nvof_event *event)
{
	struct model *m = the_model;

	if (event->type < NVOF_EVENT_NS_ADDED || !m)
		return;
	assert_true(m->nr_told < MODEL_TOLD);
	assert_int_equal(event->nsid, nvof_ns_nsid(event->ns));
	m->told[m->nr_told++] = (struct model_told){ event->type, event->nsid };
}

void model_add(struct model *m, uint32_t nsid)
{
	size_t i = m->nr;

	assert_true(m->nr < MODEL_MAX);
	while (i && m->ns[i - 1].nsid > nsid)
		i--;
	memmove(&m->ns[i + 1], &m->ns[i], (m->nr++ - i) * sizeof(m->ns[0]));
	m->ns[i] = (struct model_ns){ .nsid = nsid, .nr_blocks = 100 + nsid % 1000, .uuid = 1 };
}

struct model_ns *model_find(struct model *m, uint32_t nsid)
{
	size_t i;

	for (i = 0; i < m->nr; i++)
		if (m->ns[i].nsid == nsid)
			return &m->ns[i];
	return NULL;
}

void model_remove(struct model *m, uint32_t nsid)
{
	struct model_ns *ns = model_find(m, nsid);

	assert_non_null(ns);
	memmove(ns, ns + 1, (size_t)(m->ns + --m->nr - ns) * sizeof(*ns));
}

bool model_event(struct model *m)
{
	struct host_req *aer = m->f->aer;

	if (!aer)
		return false;
	m->f->aer = NULL;
	fake_complete(aer, 0, 0x040002);
	return true;
}

size_t model_times(const struct model *m, enum nvof_event_type type, uint32_t nsid)
{
	size_t i, n = 0;

	for (i = 0; i < m->nr_told; i++)
		n += m->told[i].type == type && m->told[i].nsid == nsid;
	return n;
}

struct model *model_new(uint32_t nr, void (*more)(struct nvof_connect_opts *o))
{
	struct model *m = calloc(1, sizeof(*m));
	struct nvof_connect_opts o;
	uint32_t i;

	assert_non_null(m);
	m->f = fake_new();
	m->f->on_cmd = answer;
	the_model = m;
	for (i = 1; i <= nr; i++)
		model_add(m, i);
	fake_opts(m->f, &o);
	o.event = told;
	if (more)
		more(&o);
	assert_int_equal(fake_connect_opts(m->f, &o), 0);
	return m;
}

void model_free(struct model *m)
{
	m->f->on_cmd = NULL;
	fake_free(m->f);
	the_model = NULL;
	free(m);
}
