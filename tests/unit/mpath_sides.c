/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpath_sides.h"

#include <stdlib.h>
#include <string.h>

struct side sides[NR_PATHS];
struct nvof_subsystem *subsys;
struct nvof_ns *ns;
struct nvof_hctx *hctx;
struct io_end ends[NR_IOS];
uint8_t bufs[NR_IOS][512];
int nr_told[NVOF_EVENT_PATHS + 1];

void io_cb(void *arg, const struct nvof_cpl *cpl)
{
	struct io_end *e = arg;

	e->nr++;
	e->status = cpl->status;
}

static void told(void *arg, struct nvof_subsystem *s, const struct nvof_event *event)
{
	assert_ptr_equal(s, subsys);
	assert_null(event->ns->ctrl);
	nr_told[event->type]++;
}

static struct side *side_of(const struct fake *f)
{
	return f == sides[0].f ? &sides[0] : &sides[1];
}

static enum fake_answer put_log(struct side *s, struct host_req *req, struct nvme_cqe *cqe)
{
	uint8_t page[sizeof(struct nvme_ana_log) + sizeof(struct nvme_ana_group_desc)] = { 0 };
	struct nvme_ana_log head = { .chgcnt = htole64(1), .ngrps = htole16(1) };
	struct nvme_ana_group_desc desc = { .grpid = htole32(1), .chgcnt = htole64(1), .state = s->state };

	memcpy(page, &head, sizeof(head));
	memcpy(page + sizeof(head), &desc, sizeof(desc));
	if (s->log_status)
		return fake_status(cqe, s->log_status, 0);
	if (s->page)
		fake_put(req, s->page, s->page_len);
	else
		fake_put(req, page, req->data_len < sizeof(page) ? req->data_len : sizeof(page));
	return FAKE_ANSWERED;
}

static enum fake_answer on_cmd(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	struct side *s = side_of(f);

	if (!fq->q.qid) {
		if (req->sqe.opcode != nvme_admin_get_log_page || (le32toh(req->sqe.cdw10) & 0xff) != NVME_LOG_LID_ANA)
			return FAKE_DEFAULT;
		s->nr_logs++;
		if (s->hold_log) {
			assert_null(s->log_req); /* one at a time */
			s->log_req = req;
			return FAKE_HOLD;
		}
		return put_log(s, req, cqe);
	}
	if (req->sqe.opcode == NVMF_OPCODE)
		return FAKE_DEFAULT;
	s->nr_reads += req->sqe.opcode == nvme_cmd_read;
	s->nr_writes += req->sqe.opcode == nvme_cmd_write;
	s->nr_others += req->sqe.opcode != nvme_cmd_write && req->sqe.opcode != nvme_cmd_read;
	if (s->hold_io)
		return FAKE_HOLD;
	return s->io_status ? fake_status(cqe, s->io_status, 0) : FAKE_DEFAULT;
}

void answer_log(struct side *s)
{
	struct host_req *req = s->log_req;
	struct nvme_cqe cqe = { 0 };

	assert_non_null(req);
	s->log_req = NULL;
	put_log(s, req, &cqe);
	fake_complete(req, le16toh(cqe.status) >> 1, 0);
}

void poll_ms(unsigned int ms)
{
	fake_poll_ms(sides[0].f, ms);
}

void wait_end(const struct io_end *e)
{
	int i;

	for (i = 0; i < 5000 && !e->nr; i++)
		nvof_ctx_poll(sides[0].f->ctx, 1000);
	assert_int_equal(e->nr, 1);
}

void ana_event(struct side *s)
{
	struct host_req *req = s->f->aer;

	assert_non_null(req);
	s->f->aer = NULL;
	fake_complete(req, 0, NVME_AER_NOTICE | NVME_AER_NOTICE_ANA << 8 | NVME_LOG_LID_ANA << 16);
}

void set_state(struct side *s, uint8_t state)
{
	s->state = state;
	ana_event(s);
	poll_ms(2);
}

static struct fake *side_new(struct side *s, struct fake *with_disk)
{
	struct fake *f = fake_new();

	*s = (struct side){ .f = f, .state = NVME_ANA_STATE_OPTIMIZED };
	f->on_cmd = on_cmd;
	f->nr_ns = 1;
	f->id.cmic = 0xb;
	f->id.anatt = 1;
	f->id.anagrpmax = f->id.nanagrpid = htole32(4);
	f->id.oaes = htole32(1 << 8 | NVME_CTRL_OAES_ANA);
	memcpy(f->id.sn, "serial 1            ", 20);
	f->id_ns.nmic = 1;
	f->id_ns.anagrpid = htole32(1);
	memset(f->id_ns.nguid, 0x17, sizeof(f->id_ns.nguid));
	if (with_disk) {
		free(f->disk);
		f->disk = with_disk->disk;
	}
	return f;
}

int side_connect(struct side *s, int loss_ms, void (*more)(struct nvof_connect_opts *o))
{
	struct nvof_ctx *ctx = sides[0].f->ctx;
	struct nvof_connect_opts o;
	int before = s->f->nr_connect_cbs;

	fake_opts(s->f, &o);
	o.ctrl_loss_tmo_ms = loss_ms;
	o.reconnect_delay_ms = 1;
	if (more)
		more(&o);
	assert_int_equal(nvof_ctrl_connect(ctx, &o, fake_connect_cb, s->f, &s->f->ctrl), 0);
	while (s->f->nr_connect_cbs == before)
		nvof_ctx_poll(ctx, 1000);
	return s->f->connect_status;
}

void prepare(void)
{
	memset(ends, 0, sizeof(ends));
	memset(nr_told, 0, sizeof(nr_told));
	side_new(&sides[0], NULL);
	side_new(&sides[1], sides[0].f);
}

void connect_both(int loss_ms, enum nvof_iopolicy policy)
{
	assert_int_equal(side_connect(&sides[0], loss_ms, NULL), 0);
	subsys = nvof_ctrl_subsystem(sides[0].f->ctrl);
	assert_non_null(subsys);
	nvof_subsystem_set_event(subsys, told, NULL);
	assert_int_equal(side_connect(&sides[1], loss_ms, NULL), 0);
	assert_ptr_equal(nvof_ctrl_subsystem(sides[1].f->ctrl), subsys);
	assert_int_equal(nvof_subsystem_scan_sync(subsys), 0);
	assert_int_equal(nvof_subsystem_set_iopolicy(subsys, policy), 0);
	assert_int_equal(nvof_subsystem_iopolicy(subsys), policy);
	assert_string_equal(nvof_subsystem_nqn(subsys), FAKE_SUBNQN);
	ns = nvof_subsystem_ns(subsys, 1);
	assert_non_null(ns);
	hctx = nvof_subsystem_hctx(subsys, 0);
	assert_non_null(hctx);
}

void begin(int loss_ms, enum nvof_iopolicy policy)
{
	prepare();
	connect_both(loss_ms, policy);
}

void finish(void)
{
	nvof_ns_close(ns);
	ns = NULL;
	nvof_ctrl_free(sides[1].f->ctrl);
	sides[1].f->ctrl = NULL;
	sides[1].f->disk = NULL;
	fake_free(sides[0].f);
	fake_free(sides[1].f);
}

void read_n(int from, int to)
{
	int i;

	for (i = from; i < to; i++)
		assert_int_equal(nvof_read(hctx, ns, (uint64_t)i, 1, bufs[i], 0, io_cb, &ends[i]), 0);
}

void check_ended(int from, int to, int status)
{
	int i;

	for (i = from; i < to; i++) {
		wait_end(&ends[i]);
		assert_int_equal(ends[i].status, status);
	}
}

void break_off(struct side *s, uint16_t qid)
{
	fake_fail_queue(s->f, qid, -ECONNRESET, "the peer closed the connection");
}

int refuse_state(struct fake *f, uint16_t qid, enum queue_state state)
{
	return state == QUEUE_LINK ? -ECONNREFUSED : 0;
}
