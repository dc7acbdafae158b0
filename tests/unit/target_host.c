// SPDX-License-Identifier: BSD-3-Clause
#include "target_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_S 60 /* only a bug takes so long */

struct target_listener {
	struct target_port *port;
	char addr[64], svc[16];
};

struct th_queue {
	struct target_queue q;
	struct target_port *port;
	struct loop_work start, stop;
	struct cds_list_head cmds; /* begun and not ended; the loop's thread */
	bool gone;		   /* the loop's thread */
	/* under lock */
	bool started, closed, freed, mine;
	uint16_t next_cid;
	const char *local;
};

struct th_cmd {
	struct target_req req; /* first: found from it */
	struct th_queue *q;
	struct nvme_sqe sqe;
	uint8_t *data;
	uint32_t len;
	bool hold, slow;
	struct loop_work work;
	struct cds_list_head link;
	bool bringing, answered; /* the loop's thread */
	/* under lock */
	bool done, ended;
	struct th_cpl cpl;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void wait_for(const bool *flag)
{
	struct timespec ts;
	int ret = 0;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += LIMIT_S;
	pthread_mutex_lock(&lock);
	while (!*flag && !ret)
		ret = pthread_cond_timedwait(&changed, &lock, &ts);
	pthread_mutex_unlock(&lock);
	if (ret)
		fail_msg("waited in vain");
}

static void tell(bool *flag)
{
	pthread_mutex_lock(&lock);
	*flag = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static bool peek(const bool *flag)
{
	bool value;

	pthread_mutex_lock(&lock);
	value = *flag;
	pthread_mutex_unlock(&lock);
	return value;
}

/* ------------------------------------------------------------------------------------------------ the transport */

static int fake_listen(struct target_port *port, struct loop *loop, const char *addr, const char *svc, struct target_listener **l,
		       struct error *err)
{
	if (!strcmp(addr, "in.use"))
		return error_set(err, -EADDRINUSE, "listen on %s: address in use", addr);
	*l = calloc(1, sizeof(**l));
	(*l)->port = port;
	snprintf((*l)->addr, sizeof((*l)->addr), "%s", addr);
	snprintf((*l)->svc, sizeof((*l)->svc), "%s", strcmp(svc, "0") ? svc : "40001");
	return 0;
}

static void fake_listener_addr(const struct target_listener *l, char *addr, size_t addr_len, char *svc, size_t svc_len, uint8_t *adrfam)
{
	snprintf(addr, addr_len, "%s", l->addr);
	snprintf(svc, svc_len, "%s", l->svc);
	*adrfam = strchr(l->addr, ':') ? NVMF_ADDR_FAMILY_IP6 : NVMF_ADDR_FAMILY_IP4;
}

static void fake_unlisten(struct target_listener *l)
{
	free(l);
}

static void cmd_end(struct th_cmd *cmd)
{
	cds_list_del(&cmd->link);
	target_req_end(&cmd->req);
	tell(&cmd->ended);
}

static void take_data(struct th_cmd *cmd)
{
	struct target_req *req = &cmd->req;

	if (req->dir != DATA_FROM_CTRL || req->cqe.status)
		return;
	for (uint32_t i = 0; i < req->iovcnt; i++) {
		memcpy(cmd->data + cmd->cpl.len, req->iov[i].iov_base, req->iov[i].iov_len);
		cmd->cpl.len += (uint32_t)req->iov[i].iov_len;
	}
	if (cmd->cpl.len != req->data_len)
		abort();
}

static void fake_respond(struct target_req *req)
{
	struct th_cmd *cmd = (struct th_cmd *)req;

	if (cmd->answered)
		abort(); /* twice */
	cmd->answered = true;
	if (cmd->q->gone) {
		cmd_end(cmd);
		return;
	}
	take_data(cmd);
	cmd->cpl.status = le16toh(req->cqe.status) >> 1;
	cmd->cpl.dw0 = le32toh(req->cqe.dw0);
	cmd->cpl.dw1 = le32toh(req->cqe.dw1);
	cmd->cpl.sqhd = le16toh(req->cqe.sqhd);
	cmd->cpl.sqid = le16toh(req->cqe.sqid);
	cmd->cpl.cid = le16toh(req->cqe.cid);
	tell(&cmd->done);
	if (!cmd->hold)
		cmd_end(cmd); /* the waiter may free it now */
}

static void bring_data(struct th_cmd *cmd);

static void fake_bring(struct target_req *req)
{
	struct th_cmd *cmd = (struct th_cmd *)req;

	cmd->bringing = true;
	if (!cmd->slow)
		bring_data(cmd);
}

static int fake_resize(struct target_queue *q, uint16_t sqsize)
{
	return sqsize == 666 ? -ENOMEM : 0;
}

static void fake_gone(struct th_queue *tq, const char *why)
{
	struct th_cmd *cmd, *next;

	if (tq->gone)
		return;
	tq->gone = true;
	target_queue_closed(&tq->q, why);
	/* What this side holds: data that is being brought or taken. */
	cds_list_for_each_entry_safe (cmd, next, &tq->cmds, link)
		if (cmd->bringing || cmd->answered)
			cmd_end(cmd);
	tell(&tq->closed);
}

static void fake_close(struct target_queue *q)
{
	fake_gone(container_of(q, struct th_queue, q), "closed by the target");
}

static void fake_free(struct target_queue *q)
{
	tell(&container_of(q, struct th_queue, q)->freed);
}

static void fake_local(const struct target_queue *q, char *text, size_t len)
{
	snprintf(text, len, "%s", container_of(q, struct th_queue, q)->local);
}

void th_set_local(struct th_queue *q, const char *local)
{
	q->local = local;
}

#define FAKE(n, addr)                                                                                                           \
	{                                                                                                                       \
		.name = n, .trtype = NVMF_TRTYPE_TCP, .needs_addr = addr, .max_inline = 8192, .has_in_capsule_admin = true,     \
		.listen = fake_listen, .listener_addr = fake_listener_addr, .unlisten = fake_unlisten, .respond = fake_respond, \
		.bring = fake_bring, .queue_resize = fake_resize, .queue_local = fake_local, .queue_close = fake_close,         \
		.queue_free = fake_free,                                                                                        \
	}
static const struct target_transport fake = FAKE("fake", false), fakenet = FAKE("fakenet", true);
const struct target_transport *const target_transports[] = { &fake, &fakenet, NULL };

/* ------------------------------------------------------------------------------------------------ target */

struct nvof_target *th_target_opts(const struct nvof_target_opts *opts)
{
	struct nvof_target *t;

	assert_int_equal(nvof_target_new(opts, &t), 0);
	assert_int_equal(nvof_target_listen(t, "fake", NULL, 0), 0);
	return t;
}

static void log_to_stderr(void *arg, enum nvof_log_level level, const char *msg)
{
	fprintf(stderr, "# %d %s\n", level, msg);
}

struct nvof_target *th_target(unsigned int io_threads)
{
	struct nvof_target_opts opts;

	nvof_target_opts_init(&opts);
	opts.io_threads = io_threads;
	opts.spin_us = 0;
	if (getenv("TARGET_TEST_LOG")) {
		opts.log = log_to_stderr;
		opts.log_level = NVOF_LOG_DEBUG;
	}
	return th_target_opts(&opts);
}

void th_add_subsys(struct nvof_target *t, const char *nqn)
{
	assert_int_equal(nvof_target_add_subsys(t, nqn, NULL), 0);
}

uint32_t th_add_ns(struct nvof_target *t, const char *nqn, const char *backend)
{
	struct nvof_target_ns_opts opts;
	uint32_t nsid;

	nvof_target_ns_opts_init(&opts);
	opts.backend = backend;
	assert_int_equal(nvof_target_add_ns(t, nqn, &opts, &nsid), 0);
	return nsid;
}

struct nvof_target *th_target_with(unsigned int io_threads, const char *backend)
{
	struct nvof_target *t = th_target(io_threads);

	th_add_subsys(t, SUBNQN);
	assert_int_equal(th_add_ns(t, SUBNQN, backend), 1);
	return t;
}

struct target_port *th_port(struct nvof_target *t, const char *spec)
{
	struct target_port *port;

	cds_list_for_each_entry (port, &t->ports, link)
		if (!strcmp(port->spec, spec))
			return port;
	fail_msg("no port %s", spec);
	return NULL;
}

void th_assert_errmsg(struct nvof_target *t, const char *text)
{
	char msg[512];

	nvof_target_errmsg(t, msg, sizeof(msg));
	if (!strstr(msg, text))
		fail_msg("the sentence \"%s\" lacks \"%s\"", msg, text);
}

struct target_ns *th_ns(struct nvof_target *t, const char *nqn, uint32_t nsid)
{
	return ns_table_find(target_subsys_find(t, nqn)->table, nsid);
}

/* ------------------------------------------------------------------------------------------------ connections */

static void queue_start(struct loop_work *work)
{
	struct th_queue *tq = container_of(work, struct th_queue, start);

	if (target_queue_init(&tq->q, tq->port->ops, tq->port, tq->q.loop)) {
		tq->gone = true;
		tell(&tq->freed);
		tell(&tq->closed);
	}
	tell(&tq->started);
}

struct th_queue *th_open_port(struct target_port *port)
{
	struct th_queue *tq = calloc(1, sizeof(*tq));

	tq->port = port;
	CDS_INIT_LIST_HEAD(&tq->cmds);
	snprintf(tq->q.peer, sizeof(tq->q.peer), "fake host");
	tq->local = "192.0.2.7:4420";
	tq->q.sqsize = 63;
	tq->q.loop = target_place(port->target);
	loop_work_init(&tq->start, queue_start);
	loop_post(tq->q.loop, &tq->start);
	wait_for(&tq->started);
	return tq;
}

struct th_queue *th_open(struct nvof_target *t)
{
	return th_open_port(cds_list_first_entry(&t->ports, struct target_port, link));
}

static void queue_stop(struct loop_work *work)
{
	struct th_queue *tq = container_of(work, struct th_queue, stop);

	fake_gone(tq, "closed by the host");
	tell(&tq->mine);
}

void th_close_nowait(struct th_queue *q)
{
	loop_work_init(&q->stop, queue_stop);
	loop_post(q->q.loop, &q->stop);
}

void th_close(struct th_queue *q)
{
	if (!peek(&q->freed)) {
		th_close_nowait(q);
		wait_for(&q->mine);
		wait_for(&q->freed);
	}
	free(q);
}

bool th_closed(struct th_queue *q)
{
	return peek(&q->closed);
}

void th_wait_closed(struct th_queue *q)
{
	wait_for(&q->closed);
}

struct target_thread *th_thread(struct th_queue *q)
{
	return q->q.thread;
}

struct target_queue *th_core(struct th_queue *q)
{
	return &q->q;
}

/* ------------------------------------------------------------------------------------------------ commands */

static void bring_data(struct th_cmd *cmd)
{
	struct target_req *req = &cmd->req;
	uint32_t off = 0;

	cmd->bringing = false;
	for (uint32_t i = 0; i < req->iovcnt; i++) {
		memcpy(req->iov[i].iov_base, cmd->data + off, req->iov[i].iov_len);
		off += (uint32_t)req->iov[i].iov_len;
	}
	if (off != req->data_len)
		abort();
	target_req_execute(req);
}

const struct target_req *th_req(const struct th_cmd *cmd)
{
	return &cmd->req;
}

static void cmd_begin(struct loop_work *work)
{
	struct th_cmd *cmd = container_of(work, struct th_cmd, work);
	struct th_queue *tq = cmd->q;

	if (tq->gone) { /* never reached the target */
		tell(&cmd->ended);
		return;
	}
	cmd->req.sqe = cmd->sqe;
	cmd->req.sgl_len = cmd->len;
	cmd->req.queue = &tq->q;
	cds_list_add_tail(&cmd->link, &tq->cmds);
	if (cmd->sqe.sgl.type == NVME_SGL_TRANSPORT) { /* which no transport in memory has */
		target_req_reject(&cmd->req, NVME_STATUS(NVME_SCT_GENERIC, NVME_SC_SGL_INVALID_TYPE) | NVME_STATUS_DNR);
		return;
	}
	if (!target_req_begin(&cmd->req))
		return;
	cmd->bringing = true;
	if (!cmd->slow)
		bring_data(cmd);
}

static void cmd_release(struct loop_work *work)
{
	struct th_cmd *cmd = container_of(work, struct th_cmd, work);

	if (peek(&cmd->ended))
		return;
	if (cmd->bringing)
		bring_data(cmd);
	else if (cmd->answered)
		cmd_end(cmd);
}

static struct th_cmd *send_cmd(struct th_queue *q, struct nvme_sqe sqe, void *data, uint32_t len, bool hold, bool slow)
{
	struct th_cmd *cmd = calloc(1, sizeof(*cmd));

	cmd->q = q;
	cmd->sqe = sqe;
	cmd->sqe.cid = htole16(q->next_cid++);
	cmd->data = data;
	cmd->len = len;
	cmd->hold = hold;
	cmd->slow = slow;
	loop_work_init(&cmd->work, cmd_begin);
	loop_post(q->q.loop, &cmd->work);
	return cmd;
}

struct th_cmd *th_send(struct th_queue *q, struct nvme_sqe sqe, void *data, uint32_t len)
{
	return send_cmd(q, sqe, data, len, false, false);
}

struct th_cmd *th_send_hold(struct th_queue *q, struct nvme_sqe sqe, void *data, uint32_t len)
{
	return send_cmd(q, sqe, data, len, true, false);
}

struct th_cmd *th_send_slow(struct th_queue *q, struct nvme_sqe sqe, void *data, uint32_t len)
{
	return send_cmd(q, sqe, data, len, false, true);
}

void th_release(struct th_cmd *cmd)
{
	th_sync(cmd->q); /* it has begun: its work is free */
	loop_work_init(&cmd->work, cmd_release);
	loop_post(cmd->q->q.loop, &cmd->work);
}

struct th_cpl th_wait(struct th_cmd *cmd)
{
	struct th_cpl cpl;

	wait_for(&cmd->ended);
	cpl = cmd->cpl;
	if (!peek(&cmd->done))
		cpl.status = 0xffff; /* ended by the end of the connection */
	free(cmd);
	return cpl;
}

bool th_done(struct th_cmd *cmd)
{
	return peek(&cmd->done);
}

struct sync {
	struct loop_work work;
	bool done;
};

static void sync_work(struct loop_work *work)
{
	tell(&container_of(work, struct sync, work)->done);
}

void th_sync(struct th_queue *q)
{
	struct sync sync = { 0 };

	loop_work_init(&sync.work, sync_work);
	loop_post(q->q.loop, &sync.work);
	wait_for(&sync.done);
}

struct kato {
	struct loop_work work;
	struct timer behind; /* fires after the ctrl's */
	struct target_ctrl *ctrl;
	bool done;
};

static void kato_was_looked_at(struct timer *timer)
{
	tell(&container_of(timer, struct kato, behind)->done);
}

static void kato_is_over(struct loop_work *work)
{
	struct kato *kato = container_of(work, struct kato, work);
	struct target_ctrl *c = kato->ctrl;

	timer_set(c->admin->loop, &c->kato, 0);
	timer_set(c->admin->loop, &kato->behind, 0);
}

void th_kato_passes(struct th_queue *admin)
{
	struct kato kato = { .ctrl = admin->q.ctrl };

	timer_init(&kato.behind, kato_was_looked_at);
	loop_work_init(&kato.work, kato_is_over);
	loop_post(admin->q.loop, &kato.work);
	wait_for(&kato.done);
}

bool th_held(struct th_cmd *cmd)
{
	th_sync(cmd->q);
	return !peek(&cmd->ended);
}

struct th_cpl th_cmd(struct th_queue *q, struct nvme_sqe sqe, void *data, uint32_t len)
{
	return th_wait(th_send(q, sqe, data, len));
}

struct nvme_sqe th_sqe(uint8_t opcode, uint32_t nsid, uint32_t cdw10, uint32_t cdw11, uint32_t cdw12)
{
	return (struct nvme_sqe){
		.opcode = opcode,
		.flags = NVME_SQE_PSDT_SGL,
		.nsid = htole32(nsid),
		.cdw10 = htole32(cdw10),
		.cdw11 = htole32(cdw11),
		.cdw12 = htole32(cdw12),
	};
}

struct nvme_sqe th_rw(uint8_t opcode, uint32_t nsid, uint64_t slba, uint32_t nlb)
{
	return th_sqe(opcode, nsid, (uint32_t)slba, (uint32_t)(slba >> 32), nlb - 1);
}

/* ------------------------------------------------------------------------------------------------ fabrics */

struct th_connect th_connect_admin(void)
{
	return (struct th_connect){ .sqsize = 31, .cntlid = 0xffff, .subnqn = SUBNQN, .hostnqn = HOSTNQN, .hostid = { 1, 2, 3 } };
}

struct th_connect th_connect_io(uint16_t qid, uint16_t cntlid)
{
	struct th_connect c = th_connect_admin();

	c.qid = qid;
	c.cntlid = cntlid;
	c.sqsize = 127;
	return c;
}

struct nvme_sqe th_connect_sqe(const struct th_connect *c)
{
	struct nvmf_connect_cmd cmd = {
		.opcode = NVMF_OPCODE,
		.flags = NVME_SQE_PSDT_SGL,
		.fctype = NVMF_CONNECT,
		.recfmt = htole16(c->recfmt),
		.qid = htole16(c->qid),
		.sqsize = htole16(c->sqsize),
		.cattr = c->cattr,
		.kato = htole32(c->kato),
	};
	struct nvme_sqe sqe;

	memcpy(&sqe, &cmd, sizeof(sqe));
	return sqe;
}

void th_connect_data(const struct th_connect *c, struct nvmf_connect_data *data)
{
	memset(data, 0, sizeof(*data));
	memcpy(data->hostid, c->hostid, 16);
	data->cntlid = htole16(c->cntlid);
	strncpy(data->subsysnqn, c->subnqn, sizeof(data->subsysnqn) - 1);
	strncpy(data->hostnqn, c->hostnqn, sizeof(data->hostnqn) - 1);
}

struct th_cpl th_connect(struct th_queue *q, const struct th_connect *c)
{
	struct nvmf_connect_data data;

	th_connect_data(c, &data);
	return th_cmd(q, th_connect_sqe(c), &data, sizeof(data));
}

struct nvme_sqe th_property_get_sqe(uint32_t offset, bool is64)
{
	struct nvmf_property_cmd cmd = {
		.opcode = NVMF_OPCODE, .flags = NVME_SQE_PSDT_SGL, .fctype = NVMF_PROPERTY_GET, .attrib = is64, .offset = htole32(offset)
	};
	struct nvme_sqe sqe;

	memcpy(&sqe, &cmd, sizeof(sqe));
	return sqe;
}

uint64_t th_property_get(struct th_queue *q, uint32_t offset, bool is64)
{
	struct th_cpl cpl = th_cmd(q, th_property_get_sqe(offset, is64), NULL, 0);

	assert_status(cpl, 0);
	return cpl.dw0 | (uint64_t)cpl.dw1 << 32;
}

struct th_cpl th_property_set(struct th_queue *q, uint32_t offset, uint64_t value)
{
	struct nvmf_property_cmd cmd = { .opcode = NVMF_OPCODE,
					 .flags = NVME_SQE_PSDT_SGL,
					 .fctype = NVMF_PROPERTY_SET,
					 .offset = htole32(offset),
					 .value = htole64(value) };
	struct nvme_sqe sqe;

	memcpy(&sqe, &cmd, sizeof(sqe));
	return th_cmd(q, sqe, NULL, 0);
}

struct th_queue *th_admin_to(struct nvof_target *t, const char *subnqn, uint16_t *cntlid)
{
	struct th_queue *q = th_open(t);
	struct th_connect c = th_connect_admin();
	struct th_cpl cpl;

	c.subnqn = subnqn;
	cpl = th_connect(q, &c);
	assert_status(cpl, 0);
	if (cntlid)
		*cntlid = (uint16_t)cpl.dw0;
	assert_status(th_property_set(q, NVME_REG_CC, TH_CC_EN), 0);
	assert_int_equal(th_property_get(q, NVME_REG_CSTS, false), CSTS_RDY);
	return q;
}

struct th_queue *th_admin(struct nvof_target *t, uint16_t *cntlid)
{
	return th_admin_to(t, SUBNQN, cntlid);
}

struct th_queue *th_io(struct nvof_target *t, uint16_t qid, uint16_t cntlid)
{
	struct th_queue *q = th_open(t);
	struct th_connect c = th_connect_io(qid, cntlid);

	assert_status(th_connect(q, &c), 0);
	return q;
}

struct th_cpl th_identify(struct th_queue *q, uint8_t cns, uint32_t nsid, void *page)
{
	return th_cmd(q, th_sqe(nvme_admin_identify, nsid, cns, 0, 0), page, 4096);
}

struct th_cpl th_get_log(struct th_queue *q, uint8_t lid, bool rae, uint64_t offset, void *buf, uint32_t len)
{
	uint32_t numd = len / 4 - 1;
	struct nvme_sqe sqe =
		th_sqe(nvme_admin_get_log_page, TARGET_NSID_ALL, lid | (uint32_t)rae << 15 | numd << 16, numd >> 16, (uint32_t)offset);

	sqe.cdw13 = htole32((uint32_t)(offset >> 32));
	return th_cmd(q, sqe, buf, len);
}

struct th_cpl th_set_feature(struct th_queue *q, uint8_t fid, uint32_t value)
{
	return th_cmd(q, th_sqe(nvme_admin_set_features, 0, fid, value, 0), NULL, 0);
}

struct th_cpl th_get_feature(struct th_queue *q, uint8_t fid)
{
	return th_cmd(q, th_sqe(nvme_admin_get_features, 0, fid, 0, 0), NULL, 0);
}
