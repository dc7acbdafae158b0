/* SPDX-License-Identifier: BSD-3-Clause */
#include "host_fake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct fake_req {
	struct cds_list_head link;
};
struct host_endpoint {
	struct fake *f;
};

static struct fake_req *to_fake_req(struct host_req *req)
{
	return (struct fake_req *)req->priv;
}
static struct fake_queue *to_fake_queue(struct host_queue *q)
{
	return container_of(q, struct fake_queue, q);
}

/* ---- data ---- */

static void copy(struct host_req *req, uint8_t *data, size_t len, bool to_req)
{
	const struct iovec *iov = req->iov;
	size_t skip = req->iov_skip;
	uint32_t n = req->iovcnt;

	if (len > req->data_len)
		len = req->data_len;
	for (; len && n; n--, iov++) {
		size_t here = iov->iov_len - skip;
		uint8_t *p = (uint8_t *)iov->iov_base + skip;

		if (here > len)
			here = len;
		if (here)
			memcpy(to_req ? p : data, to_req ? data : p, here);
		data += here;
		len -= here;
		skip = 0;
	}
	assert_int_equal(len, 0); /* iovcnt covers data_len */
}

void fake_put(struct host_req *req, const void *data, size_t len)
{
	copy(req, (uint8_t *)(uintptr_t)data, len, true);
}
void fake_get(struct host_req *req, void *data, size_t len)
{
	copy(req, data, len, false);
}

enum fake_answer fake_status(struct nvme_cqe *cqe, int status, uint32_t dw0)
{
	cqe->status = htole16((uint16_t)(status << 1));
	cqe->dw0 = htole32(dw0);
	return FAKE_ANSWERED;
}

/* ---- the target ---- */

static enum fake_answer do_fabrics(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	struct nvmf_property_cmd *prop = (struct nvmf_property_cmd *)&req->sqe;

	switch (fake_fctype(req)) {
	case NVMF_CONNECT:
		f->nr_connects++;
		return fake_status(cqe, 0, 7);
	case NVMF_PROPERTY_SET:
		if (le64toh(prop->value) & 1)
			f->enabled = true;
		if (le64toh(prop->value) & (3 << NVME_CC_SHN_SHIFT))
			f->shutdown = true;
		return fake_status(cqe, 0, 0);
	default:
		break;
	}
	if (le32toh(prop->offset) == NVME_REG_CAP)
		cqe->result = htole64(f->cap);
	else if (le32toh(prop->offset) == NVME_REG_VS)
		cqe->result = htole64(0x10400);
	else if (f->shutdown)
		cqe->result = htole64(1 | NVME_CSTS_SHST_CMPLT << NVME_CSTS_SHST_SHIFT);
	else if (f->enabled && !f->csts_polls)
		cqe->result = htole64(1);
	else if (f->csts_polls)
		f->csts_polls--;
	return FAKE_ANSWERED;
}

static enum fake_answer do_identify(struct fake *f, struct host_req *req, struct nvme_cqe *cqe)
{
	uint32_t nsid = le32toh(req->sqe.nsid), list[1024] = { 0 }, i, n = 0;

	switch (le32toh(req->sqe.cdw10) & 0xff) {
	case NVME_IDENTIFY_CNS_CTRL:
		fake_put(req, &f->id, sizeof(f->id));
		break;
	case NVME_IDENTIFY_CNS_NS_ACTIVE_LIST:
		for (i = 1; i <= f->nr_ns && n < 1024; i++)
			if (i * f->ns_step > nsid)
				list[n++] = htole32(i * f->ns_step);
		fake_put(req, list, sizeof(list));
		break;
	case NVME_IDENTIFY_CNS_NS:
		if (nsid > f->nr_ns * f->ns_step)
			return fake_status(cqe, 0x400b, 0);
		fake_put(req, &f->id_ns, sizeof(f->id_ns));
		break;
	case NVME_IDENTIFY_CNS_NS_DESC_LIST:
		fake_put(req, f->desc, sizeof(f->desc));
		break;
	default:
		return fake_status(cqe, 0x4002, 0);
	}
	return FAKE_ANSWERED;
}

static enum fake_answer do_log(struct fake *f, struct host_req *req, struct nvme_cqe *cqe)
{
	uint64_t offset = le32toh(req->sqe.cdw12) | (uint64_t)le32toh(req->sqe.cdw13) << 32;
	struct nvmf_discovery_log hdr = { .genctr = htole64(f->genctr), .numrec = htole64(f->numrec) };

	f->nr_log_cmds++;
	f->nr_log_rae0 += !(le32toh(req->sqe.cdw10) & 1 << 15);
	if ((le32toh(req->sqe.cdw10) & 0xff) != NVME_LOG_LID_DISCOVER)
		return fake_status(cqe, 0x4109, 0);
	if (!offset)
		fake_put(req, &hdr, sizeof(hdr));
	else
		fake_put(req, (uint8_t *)f->records + offset - 1024, req->data_len);
	return FAKE_ANSWERED;
}

static enum fake_answer do_admin(struct fake *f, struct host_req *req, struct nvme_cqe *cqe)
{
	switch (req->sqe.opcode) {
	case nvme_admin_identify:
		return do_identify(f, req, cqe);
	case nvme_admin_get_log_page:
		return do_log(f, req, cqe);
	case nvme_admin_set_features:
		if ((le32toh(req->sqe.cdw10) & 0xff) == NVME_FEAT_FID_NUM_QUEUES)
			return fake_status(cqe, 0, f->queues_scripted ? f->queues_result : le32toh(req->sqe.cdw11));
		return FAKE_ANSWERED;
	case nvme_admin_async_event:
		f->aer = req;
		return FAKE_HOLD;
	case nvme_admin_keep_alive:
		f->nr_keep_alives++;
		return FAKE_ANSWERED;
	default:
		return fake_status(cqe, 0x4001, 0);
	}
}

static enum fake_answer do_io(struct fake *f, struct host_req *req, struct nvme_cqe *cqe)
{
	uint64_t slba = le32toh(req->sqe.cdw10) | (uint64_t)le32toh(req->sqe.cdw11) << 32;

	f->nr_io_cmds++;
	if (req->sqe.opcode == nvme_cmd_read || req->sqe.opcode == nvme_cmd_write) {
		assert_true(slba * 512 + req->data_len <= f->disk_len);
		assert_int_equal(req->data_len, ((le32toh(req->sqe.cdw12) & 0xffff) + 1) * 512);
	}
	if (req->sqe.opcode == nvme_cmd_read)
		fake_put(req, f->disk + slba * 512, req->data_len);
	else if (req->sqe.opcode == nvme_cmd_write)
		fake_get(req, f->disk + slba * 512, req->data_len);
	return FAKE_ANSWERED;
}

static enum fake_answer answer(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	enum fake_answer a = f->on_cmd ? f->on_cmd(f, fq, req, cqe) : FAKE_DEFAULT;

	if (a != FAKE_DEFAULT)
		return a;
	if (req->sqe.opcode == NVMF_OPCODE)
		return do_fabrics(f, fq, req, cqe);
	return fq->q.qid ? do_io(f, req, cqe) : do_admin(f, req, cqe);
}

/* ---- the transport ---- */

static void complete(struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	fq->nr_out--;
	fq->f->busy++;
	host_req_complete(req, cqe);
	fq->f->busy--;
}

void fake_complete(struct host_req *req, int status, uint32_t dw0)
{
	struct nvme_cqe cqe = { 0 };

	fake_status(&cqe, status, dw0);
	complete(to_fake_queue(req->queue), req, &cqe);
}

static void queue_work(struct timer *t)
{
	struct fake_queue *fq = container_of(t, struct fake_queue, work);
	struct fake_req *fr, *next;
	CDS_LIST_HEAD(list);

	cds_list_splice(&fq->reqs, &list);
	CDS_INIT_LIST_HEAD(&fq->reqs);
	cds_list_for_each_entry_safe (fr, next, &list, link) {
		struct host_req *req = (struct host_req *)((char *)fr - offsetof(struct host_req, priv));
		struct nvme_cqe cqe = { .cid = htole16(req->cid) };

		cds_list_del(&fr->link);
		fq->f->nr_cmds++;
		switch (answer(fq->f, fq, req, &cqe)) {
		case FAKE_CLOSE:
			host_queue_failed(&fq->q, -ECONNRESET, "the peer closed the connection");
			return;
		case FAKE_HOLD:
			break;
		default:
			complete(fq, req, &cqe);
		}
		if (fq->q.state > QUEUE_LIVE)
			return;
	}
}

static void queue_step(struct timer *t)
{
	struct fake_queue *fq = container_of(t, struct fake_queue, step);
	int ret;

	if (fq->q.state > QUEUE_LIVE)
		return;
	if (fq->next > QUEUE_ICREQ) {
		snprintf(fq->q.peer, sizeof(fq->q.peer), "192.0.2.7:4420");
		snprintf(fq->q.local, sizeof(fq->q.local), "192.0.2.1:40000");
		fq->f->busy++;
		host_queue_linked(&fq->q);
		fq->f->busy--;
		return;
	}
	host_queue_enter(&fq->q, fq->next);
	ret = fq->f->on_state ? fq->f->on_state(fq->f, fq->q.qid, fq->next) : 0;
	if (ret > 0)
		return;
	if (ret < 0) {
		host_queue_failed(&fq->q, ret, "scripted");
		return;
	}
	fq->next = fq->next == QUEUE_RESOLVE ? QUEUE_LINK : fq->next == QUEUE_LINK ? QUEUE_ICREQ : QUEUE_CONNECT;
	timer_set(fq->q.loop, &fq->step, clock_ns());
}

static int fake_endpoint_new(const struct host_link_params *p, struct loop *loop, struct host_endpoint **ep, struct error *err)
{
	*ep = malloc(sizeof(**ep));
	(*ep)->f = (struct fake *)p->loop_target;
	(*ep)->f->nr_endpoints++;
	return 0;
}

static void fake_endpoint_free(struct host_endpoint *ep)
{
	ep->f->nr_endpoints--;
	free(ep);
}

static struct host_queue *fake_queue_alloc(struct host_endpoint *ep)
{
	struct fake_queue *fq = calloc(1, sizeof(*fq));

	fq->f = ep->f;
	fq->next = QUEUE_RESOLVE;
	timer_init(&fq->step, queue_step);
	timer_init(&fq->work, queue_work);
	CDS_INIT_LIST_HEAD(&fq->reqs);
	ep->f->nr_queues_alive++;
	return &fq->q;
}

static int fake_queue_start(struct host_queue *q)
{
	struct fake_queue *fq = to_fake_queue(q);
	int ret = fq->f->on_state ? fq->f->on_state(fq->f, q->qid, QUEUE_NEW) : 0;

	if (ret)
		return ret;
	fq->f->queues[q->qid] = fq;
	timer_set(q->loop, &fq->step, clock_ns());
	return 0;
}

static int fake_submit(struct host_queue *q, struct host_req *req)
{
	struct fake_queue *fq = to_fake_queue(q);

	assert_false(fq->stopped);
	assert_true(req->active && req->queue == q);
	fq->f->queues[q->qid] = fq;
	if (fq->f->no_room && q->qid)
		return -EAGAIN;
	cds_list_add_tail(&to_fake_req(req)->link, &fq->reqs);
	if (++fq->nr_out > fq->f->max_out && q->qid)
		fq->f->max_out = fq->nr_out;
	timer_set(q->loop, &fq->work, clock_ns());
	return 0;
}

static void fake_queue_stop(struct host_queue *q)
{
	struct fake_queue *fq = to_fake_queue(q);
	unsigned int i;

	assert_int_equal(fq->f->busy, 0); /* never from inside a completion */
	timer_cancel(q->loop, &fq->step);
	timer_cancel(q->loop, &fq->work);
	fq->stopped = true;
	if (!q->qid)
		fq->f->aer = NULL;	   /* the next connection brings its own */
	for (i = 0; i < FAKE_MAX_QID; i++) /* an early link's number may change */
		if (fq->f->queues[i] == fq)
			fq->f->queues[i] = NULL;
}

static void fake_queue_free(struct host_queue *q)
{
	struct fake_queue *fq = to_fake_queue(q);

	assert_true(fq->stopped);
	fq->f->nr_queues_alive--;
	free(fq);
}

static bool fake_settled(struct host_endpoint *ep)
{
	return !ep->f->unsettled;
}

static const struct host_transport fake_transport = {
	.name = "tcp",
	.trtype = NVMF_TRTYPE_TCP,
	.req_size = sizeof(struct fake_req),
	.admin_inline_len = 8192,
	.default_trsvcid = "4420",
	.endpoint_new = fake_endpoint_new,
	.endpoint_free = fake_endpoint_free,
	.queue_alloc = fake_queue_alloc,
	.queue_start = fake_queue_start,
	.submit = fake_submit,
	.queue_stop = fake_queue_stop,
	.queue_free = fake_queue_free,
	.settled = fake_settled,
};
static const struct host_transport fake_loop = { .name = "loop" };
static const struct host_transport *const fake_transports[] = { &fake_transport, &fake_loop, NULL };

/* ---- for tests ---- */

struct fake *fake_new(void)
{
	struct fake *f = calloc(1, sizeof(*f));
	struct nvof_ctx_opts opts;

	nvof_ctx_opts_init(&opts);
	opts.spin_us = 0;
	assert_int_equal(nvof_ctx_new(&opts, &f->ctx), 0);
	ctx_set_transports(f->ctx, fake_transports);
	f->cap = 127 | (uint64_t)1 << 37 | (uint64_t)2 << 24;
	f->id.cntlid = htole16(7);
	f->id.sqes = 0x66;
	f->id.cqes = 0x44;
	f->id.ioccsz = htole32(260);
	f->id.iorcsz = htole32(1);
	f->id.kas = htole16(1);
	f->id.oaes = htole32(1 << 8 | 1u << 31);
	f->id.oncs = htole16(NVME_CTRL_ONCS_WRITE_ZEROES | NVME_CTRL_ONCS_VERIFY | NVME_CTRL_ONCS_DSM);
	f->id.mdts = 5; /* 128 KiB */
	f->nr_ns = 4;
	f->ns_step = 1;
	f->disk_len = 8u << 20;
	f->disk = calloc(1, f->disk_len);
	f->id_ns.nsze = f->id_ns.ncap = htole64(f->disk_len / 512);
	f->id_ns.lbaf[0].ds = 9;
	return f;
}

void fake_free(struct fake *f)
{
	nvof_ctrl_free(f->ctrl);
	assert_int_equal(f->nr_queues_alive, 0);
	assert_int_equal(f->nr_endpoints, 0);
	nvof_ctx_free(f->ctx);
	free(f->records);
	free(f->disk);
	free(f);
}

static void fake_event(void *arg, struct nvof_ctrl *ctrl, const struct nvof_event *event)
{
	struct fake *f = arg;

	f->nr_events++;
	f->last_event = (int)event->type;
}

void fake_opts(struct fake *f, struct nvof_connect_opts *o)
{
	nvof_connect_opts_init(o);
	o->traddr = "192.0.2.7";
	o->subsysnqn = FAKE_SUBNQN;
	o->hostnqn = FAKE_HOSTNQN;
	o->loop_target = (struct nvof_target *)f;
	o->nr_io_queues = 1;
	o->connect_tmo_ms = 5000;
	o->event = fake_event;
	o->event_arg = f;
}

void fake_connect_cb(void *arg, struct nvof_ctrl *ctrl, int status)
{
	struct fake *f = arg;

	f->nr_connect_cbs++;
	f->connect_status = status;
}

int fake_connect_opts(struct fake *f, const struct nvof_connect_opts *o)
{
	int before = f->nr_connect_cbs;

	assert_int_equal(nvof_ctrl_connect(f->ctx, o, fake_connect_cb, f, &f->ctrl), 0);
	assert_int_equal(f->nr_connect_cbs, before); /* never from inside */
	while (f->nr_connect_cbs == before)
		nvof_ctx_poll(f->ctx, 1000000);
	return f->connect_status;
}

int fake_connect(struct fake *f, unsigned int nr_io_queues)
{
	struct nvof_connect_opts o;

	fake_opts(f, &o);
	o.nr_io_queues = nr_io_queues;
	return fake_connect_opts(f, &o);
}

void fake_poll_ms(struct fake *f, unsigned int ms)
{
	uint64_t end = clock_ns() + ms * NSEC_PER_MSEC;
	int turns;

	/* On a busy machine time passes without us: what is due takes some turns, however long they last. */
	for (turns = 0; turns < 100 || clock_ns() < end; turns++)
		nvof_ctx_poll(f->ctx, turns < 100 ? 0 : 1000);
}

void fake_fail_queue(struct fake *f, uint16_t qid, int code, const char *text)
{
	assert_non_null(f->queues[qid]);
	host_queue_failed(&f->queues[qid]->q, code, "%s", text);
}
