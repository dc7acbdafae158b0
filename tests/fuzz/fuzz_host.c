/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host that connects, looks at what there is, reads and writes, and leaves; and a target of ours whose words are changed on the way as
 * the input says (between.h).
 *
 * Whatever the host is told: every command ends exactly once and within the time limits, what it sends is valid, data whose digests could
 * tell is never wrong, and nothing is left behind.  When nothing was changed, everything succeeds.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "between.h"
#include "target/target.h"

#define SUBNQN	"nqn.2024-01.org.example:fuzz"
#define HOSTNQN "nqn.2014-08.org.nvmexpress:uuid:5f0ab5ea-1f20-4a8e-9a3c-6c1f2b1d0e11"
#define HOSTID	"5f0ab5ea-1f20-4a8e-9a3c-6c1f2b1d0e11"

#define MAX_OPS	  12
#define REGION	  (40u << 10)	       /* each operation has its own blocks: what it finds there is known */
#define MAX_TURNS 200000	       /* a discovery log may be said to have 65536 records, and to change ten times */
#define LIMIT_NS  (120 * NSEC_PER_SEC) /* far beyond all limits that the host sets itself */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct op {
	bool submitted, write;
	int nr_cbs, status;
	uint32_t nr, len;
	uint8_t *buf;
	struct iovec iov[3];
};

/* One run. */
struct run {
	struct nvof_target *t;
	struct nvof_ctx *ctx;
	struct nvof_ctrl *ctrl;
	struct nvof_ns *ns;
	struct between b;
	int open; /* callbacks that are still to come */
	int status;
	bool digests, discovery;
	uint32_t nr_ops;
	struct op ops[MAX_OPS];
	uint8_t page[4096];
};

/* FUZZ_LOG in the environment: what both sides say is shown, to follow one input. */
static void say(void *arg, enum nvof_log_level level, const char *msg)
{
	if (arg)
		fprintf(stderr, "%s\n", msg);
}

/* ---- progress ---- */

static bool turn(struct run *r)
{
	int n = nvof_ctx_poll(r->ctx, 0);

	n += between_run(&r->b);
	n += sim_turn();
	return n;
}

/* Until nobody has anything to do now. */
static void settle(struct run *r)
{
	int turns = 0;

	turn(r);
	do {
		sim_advance(250 * NSEC_PER_USEC);
		SIM_CHECK(++turns < MAX_TURNS, "the work has no end");
	} while (turn(r));
}

/* Until the last callback has come. */
static void wait_for_all(struct run *r)
{
	uint64_t end = sim_now() + LIMIT_NS;

	settle(r);
	while (r->open) {
		if (!between_release(&r->b))
			sim_advance(500 * NSEC_PER_MSEC);
		SIM_CHECK(sim_now() < end, "%d commands have no end", r->open);
		settle(r);
	}
}

/* ---- the host ---- */

static void connected(void *arg, struct nvof_ctrl *ctrl, int status)
{
	struct run *r = arg;

	r->status = status;
	r->open--;
	SIM_CHECK(r->open >= 0, "a callback came twice");
}

static void listed(void *arg, int status, const uint32_t *nsids, size_t nr)
{
	struct run *r = arg;
	uint32_t sum = 0;

	for (size_t i = 0; i < nr; i++)
		sum += nsids[i];
	SIM_CHECK(r->b.changed || (!status && nr == 2 && sum == 3), "the list of namespaces: status %d, %zu entries", status, nr);
	r->open--;
}

static void opened(void *arg, int status, struct nvof_ns *ns)
{
	struct run *r = arg;

	SIM_CHECK(r->b.changed || !status, "open namespace: status %d", status);
	SIM_CHECK(!status == !!ns, "status %d with a namespace or success without", status);
	if (!r->ns)
		r->ns = ns;
	r->open--;
}

static void discovered(void *arg, int status, struct nvof_disc_log *log)
{
	struct run *r = arg;

	SIM_CHECK(r->b.changed || (!status && log->nr_entries == 1), "discovery: status %d", status);
	if (!status)
		nvof_disc_log_free(log);
	r->open--;
}

static void said(void *arg, const struct nvof_cpl *cpl)
{
	struct run *r = arg;

	SIM_CHECK(r->b.changed || !cpl->status, "status %d", cpl->status);
	r->open--;
}

static void event(void *arg, struct nvof_ctrl *ctrl, const struct nvof_event *ev) {}

/* Counted by the operation itself, so that one too many is seen even after the wait. */
static void op_done(void *arg, const struct nvof_cpl *cpl)
{
	struct op *op = arg;

	op->nr_cbs++;
	op->status = cpl->status;
	SIM_CHECK(op->nr_cbs == 1, "an operation ended twice");
}

static bool connect_ctrl(struct run *r, uint8_t conf, uint8_t how)
{
	struct nvof_connect_opts o;

	nvof_connect_opts_init(&o);
	o.traddr = "192.0.2.1";
	o.subsysnqn = r->discovery ? NULL : SUBNQN;
	o.hostnqn = HOSTNQN;
	o.hostid = HOSTID;
	o.nr_io_queues = 1 + (conf & 3);
	o.queue_size = 16;
	o.hdr_digest = conf & 4;
	o.data_digest = conf & 8;
	o.disable_sqflow = !(conf & 16);
	o.setup_concurrency = how & 1;
	o.removal_concurrency = how >> 7;
	o.remove_timeout_ms = 500;
	o.keep_alive_tmo_ms = how & 4 ? 1000 : -1;
	o.connect_tmo_ms = 3000;
	o.io_tmo_ms = 4000;
	o.event = event;
	r->digests = o.hdr_digest && o.data_digest;
	if (nvof_ctrl_connect(r->ctx, &o, connected, r, &r->ctrl))
		abort();
	r->open++;
	wait_for_all(r);
	SIM_CHECK(r->b.changed || !r->status, "connect: %s", nvof_ctrl_errmsg(r->ctrl));
	SIM_CHECK(!r->status == (nvof_ctrl_state(r->ctrl) == NVOF_CTRL_LIVE) || r->b.changed, "connected with %d, but the state is %d",
		  r->status, nvof_ctrl_state(r->ctrl));
	return !r->status;
}

/* Returns false when there is nothing to read from or write to. */
static bool look_around(struct run *r)
{
	if (r->discovery) {
		r->open += !nvof_discover(r->ctrl, discovered, r);
		wait_for_all(r);
		return false;
	}
	r->open += !nvof_ns_list(r->ctrl, listed, r);
	r->open += !nvof_ns_open(r->ctrl, 1, opened, r);
	r->open += !nvof_get_log(r->ctrl, NVME_LOG_LID_CHANGED_NS, 0, false, NVME_NSID_ALL, 0, r->page, sizeof(r->page), said, r);
	r->open += !nvof_get_features(r->ctrl, NVME_FEAT_FID_NUM_QUEUES, 0, 0, said, r);
	wait_for_all(r);
	return r->ns && nvof_ns_block_size(r->ns) == 512 && nvof_ns_nr_blocks(r->ns) == (MAX_OPS + 1) * REGION / 512;
}

/* What an operation writes, or must find: memory of its own kind for memcmp(), because loops over bytes cost most of the time. */
static const uint8_t *expected(const struct op *op)
{
	static const uint8_t zeroes[REGION];
	static uint8_t written[REGION + MAX_OPS];

	if (!op->write)
		return zeroes;
	if (!written[1])
		for (uint32_t i = 0; i < sizeof(written); i++)
			written[i] = (uint8_t)(i * 7 + i / 512);
	return written + op->nr;
}

/* what: bit 0 write; bits 2:1 the length; bit 3 in pieces. */
static void submit(struct run *r, uint32_t i, uint8_t what)
{
	static const uint32_t lens[] = { 512, 4096, 33u << 10, REGION };
	struct nvof_hctx *hctx = nvof_ctrl_hctx(r->ctrl, i % nvof_ctrl_nr_hctx(r->ctrl));
	struct op *op = &r->ops[i];
	uint64_t slba = i * (REGION / 512);
	int ret;

	op->nr = i;
	op->write = what & 1;
	op->len = lens[what >> 1 & 3];
	op->buf = malloc(op->len);
	memset(op->buf, 0xff, op->len);
	if (op->write)
		memcpy(op->buf, expected(op), op->len);
	op->iov[0] = (struct iovec){ op->buf, 100 };
	op->iov[1] = (struct iovec){ op->buf + 100, 0 };
	op->iov[2] = (struct iovec){ op->buf + 100, op->len - 100 };
	if (what & 8)
		ret = op->write ? nvof_writev(hctx, r->ns, slba, op->len / 512, op->iov, 3, 0, op_done, op)
				: nvof_readv(hctx, r->ns, slba, op->len / 512, op->iov, 3, 0, op_done, op);
	else
		ret = op->write ? nvof_write(hctx, r->ns, slba, op->len / 512, op->buf, 0, op_done, op)
				: nvof_read(hctx, r->ns, slba, op->len / 512, op->buf, 0, op_done, op);
	op->submitted = !ret;
	SIM_CHECK(!ret || r->b.changed || ret == -EAGAIN, "an operation is refused with %d", ret);
	SIM_CHECK(!op->nr_cbs, "an operation ended from inside its submission");
}

static int ops_open(const struct run *r)
{
	int n = 0;

	for (uint32_t i = 0; i < r->nr_ops; i++)
		n += r->ops[i].submitted && !r->ops[i].nr_cbs;
	return n;
}

static void check_op(const struct run *r, const struct op *op)
{
	SIM_CHECK(op->nr_cbs == op->submitted, "an operation ended %d times", op->nr_cbs);
	SIM_CHECK(r->b.changed || !op->status, "an operation ended with %d", op->status);
	if (!op->submitted || op->status || (r->b.changed && (r->b.lied || !r->digests)))
		return;
	SIM_CHECK(!memcmp(op->buf, expected(op), op->len), "the data of operation %u is wrong", op->nr);
}

/* All at once; then what was written is read again. */
static void read_and_write(struct run *r, const uint8_t *what, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		submit(r, i, what[i]);
	r->nr_ops = nr;
	r->open = ops_open(r);
	for (uint64_t end = sim_now() + LIMIT_NS; r->open; r->open = ops_open(r)) {
		settle(r);
		if (!between_release(&r->b))
			sim_advance(500 * NSEC_PER_MSEC);
		SIM_CHECK(sim_now() < end, "%d operations have no end", r->open);
	}
	for (uint32_t i = 0; i < nr; i++) {
		struct op *op = &r->ops[i];

		check_op(r, op);
		if (!op->write || !op->submitted || op->status || r->b.changed)
			continue;
		memset(op->buf, 0, op->len);
		op->nr_cbs = 0;
		op->submitted = !nvof_read(nvof_ctrl_hctx(r->ctrl, 0), r->ns, i * (REGION / 512), op->len / 512, op->buf, 0, op_done, op);
		while (ops_open(r)) {
			settle(r);
			sim_advance(100 * NSEC_PER_MSEC);
		}
		check_op(r, op);
	}
}

/* ---- namespaces that are followed ---- */

static void scanned(void *arg, int status)
{
	struct run *r = arg;

	SIM_CHECK(r->b.changed || !status, "scan: status %d", status);
	r->open--;
}

static void removed(void *arg, int status)
{
	struct run *r = arg;

	SIM_CHECK(!status || status == -ECANCELED, "removal: status %d", status);
	r->open--;
}

static void add_ns(struct run *r, uint32_t nsid, uint8_t id)
{
	struct nvof_target_ns_opts ns;

	nvof_target_ns_opts_init(&ns);
	ns.backend = "null:1M";
	ns.nsid = nsid;
	memset(ns.uuid, id, sizeof(ns.uuid));
	memset(ns.nguid, id ^ 0x80, sizeof(ns.nguid));
	if (nvof_target_add_ns(r->t, SUBNQN, &ns, NULL))
		abort();
}

/* In order, each with what it says of itself; returns how many, and of which the identifiers' bytes in all. */
static unsigned int walk_table(struct run *r, unsigned int *sum)
{
	uint32_t nsid = 0, nr = 0;
	struct nvof_ns *ns;
	uint8_t uuid[16];

	*sum = 0;
	while ((ns = nvof_ns_next(r->ctrl, nsid))) {
		SIM_CHECK(nvof_ns_nsid(ns) > nsid, "namespace %u behind %u", nvof_ns_nsid(ns), nsid);
		nsid = nvof_ns_nsid(ns);
		nvof_ns_ref(ns);
		nvof_ns_close(ns);
		nvof_ns_uuid(ns, uuid);
		if (nsid > 1)
			*sum += uuid[0];
		nr++;
		nvof_ns_close(ns);
	}
	return nr;
}

/* 1 stays, 2 is replaced, 3 comes: in the end the host knows, unless its words were changed. */
static void follow_changes(struct run *r)
{
	unsigned int sum;

	r->open += !nvof_ns_scan(r->ctrl, scanned, r);
	settle(r);
	nvof_target_remove_ns(r->t, SUBNQN, 2);
	add_ns(r, 2, 1);
	settle(r);
	nvof_target_remove_ns(r->t, SUBNQN, 2);
	add_ns(r, 3, 4);
	add_ns(r, 2, 2);
	wait_for_all(r);
	for (int i = 0; i < 100 && (walk_table(r, &sum) != 3 || sum != 6); i++) {
		sim_advance(20 * NSEC_PER_MSEC);
		settle(r);
	}
	SIM_CHECK(r->b.changed || (walk_table(r, &sum) == 3 && sum == 6), "the table is not what the target has");
}

/* With a read under way; the handle stays ours. */
static void let_go(struct run *r)
{
	struct op op = { .nr = MAX_OPS };
	uint8_t buf[512];

	op.submitted = !nvof_read(nvof_ctrl_hctx(r->ctrl, 0), r->ns, 0, 1, buf, 0, op_done, &op);
	r->open += !nvof_ns_remove(r->ns, removed, r);
	wait_for_all(r);
	SIM_CHECK(op.nr_cbs == op.submitted, "a read of a removed namespace ended %d times", op.nr_cbs);
	SIM_CHECK(nvof_ns_status(r->ns), "a removed namespace is there");
	nvof_ns_close(r->ns);
	r->ns = NULL;
}

/* how: bit 3 follow changes, bit 6 let go of the namespace that I/O was on. */
static void follow(struct run *r, uint8_t how)
{
	if (how & 8 && !r->discovery)
		follow_changes(r);
	if (how & 64 && r->ns && nvof_ctrl_state(r->ctrl) == NVOF_CTRL_LIVE)
		let_go(r);
}

static void leave(struct run *r, uint8_t how)
{
	if (how & 16) {
		/* An event on the way. */
		nvof_target_remove_ns(r->t, SUBNQN, 2);
		settle(r);
	}
	if (how & 32)
		sim_advance(2 * NSEC_PER_SEC);
	if (how & 2) {
		r->open += !nvof_ctrl_disconnect(r->ctrl, connected, r);
		wait_for_all(r);
	}
	nvof_ctrl_free(r->ctrl);
}

/* ---- one run ---- */

static void target_make(struct run *r, struct sim_input *in, uint8_t conf)
{
	uint8_t sizes = sim_u8(in);
	struct nvof_target_ns_opts ns;
	struct nvof_target_opts o;
	struct target_port *port;

	nvof_target_opts_init(&o);
	o.spin_us = 0;
	o.inline_len = sizes & 1 ? 0 : 8192;
	o.mdts_len = sizes & 2 ? 8192 : 128 << 10;
	o.max_queue_size = 64;
	o.log_arg = getenv("FUZZ_LOG");
	o.log = o.log_arg ? say : NULL;
	o.log_level = NVOF_LOG_DEBUG;
	if (nvof_target_new(&o, &r->t) || nvof_target_listen(r->t, "tcp:127.0.0.1:0", NULL, 0) ||
	    nvof_target_add_subsys(r->t, SUBNQN, NULL))
		abort();
	nvof_target_ns_opts_init(&ns);
	ns.backend = "mem:520K"; /* MAX_OPS + 1 regions */
	if (nvof_target_add_ns(r->t, SUBNQN, &ns, NULL))
		abort();
	ns.backend = "null:1M";
	if (nvof_target_add_ns(r->t, SUBNQN, &ns, NULL))
		abort();
	port = cds_list_first_entry(&r->t->ports, struct target_port, link);
	port->params.cpda = sizes >> 3;
	port->params.maxh2cdata = sizes & 4 ? 4096 : 128 << 10;
	between_init(&r->b, r->t, in);
	r->b.cpda = port->params.cpda;
	r->b.max_data = 128 << 10;
	r->b.sndbuf = conf & 128 ? 4608 : 0;
}

static void ctx_make(struct run *r, uint8_t conf)
{
	struct nvof_ctx_opts o;

	nvof_ctx_opts_init(&o);
	o.spin_us = 0;
	o.log_arg = getenv("FUZZ_LOG");
	o.log = conf & 64 || o.log_arg ? say : NULL;
	o.log_level = NVOF_LOG_DEBUG;
	if (nvof_ctx_new(&o, &r->ctx))
		abort();
}

static void unmake(struct run *r)
{
	int turns = 0;

	nvof_ctx_free(r->ctx);
	while (between_run(&r->b))
		;
	between_exit(&r->b);
	while (r->t->nr_queues) {
		sim_settle();
		sim_advance(100 * NSEC_PER_MSEC);
		SIM_CHECK(++turns < 100, "%u connections of a host that is gone stay", r->t->nr_queues);
	}
	nvof_target_free(r->t);
	for (uint32_t i = 0; i < MAX_OPS; i++) {
		SIM_CHECK(r->ops[i].nr_cbs <= 1, "an operation ended twice");
		free(r->ops[i].buf);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sim_input in = { data, size };
	struct run *r = calloc(1, sizeof(*r));
	uint8_t conf = sim_u8(&in), how = sim_u8(&in), what[MAX_OPS] = { 0 };
	uint32_t nr = sim_u8(&in) % (MAX_OPS + 1);

	for (uint32_t i = 0; i < nr; i++)
		what[i] = sim_u8(&in);
	r->discovery = conf & 32;
	sim_begin();
	target_make(r, &in, conf);
	ctx_make(r, conf);
	if (connect_ctrl(r, conf, how)) {
		if (look_around(r))
			read_and_write(r, what, nr);
		follow(r, how);
	}
	leave(r, how);
	unmake(r);
	sim_end();
	free(r);
	return 0;
}
