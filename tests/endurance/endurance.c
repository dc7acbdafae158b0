/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * endurance SECONDS [SEED]: random reads and writes over many queues with both digests, while the target closes connections by chance.
 *
 * A host that loses its ctrl says so and connects again.  Each command ends exactly once; an error comes only with the loss of the ctrl,
 * and that has a reason in words; what was acknowledged is there; and when all is over, nothing is left: no descriptor, no memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvof/nvof.h>
#include <nvof/target.h>

#include "base/util.h"
#include "areas.h"
#include "unit/proc.h"

#define NQN		"nqn.2026-11.org.example:endurance"
#define HOSTNQN		"nqn.2014-08.org.nvmexpress:uuid:5f0ab5ea-1f20-4a8e-9a3c-6c1f2b1d0e11"
#define NR_QUEUES	64
#define NR_THREADS	3 /* I/O threads of every other association */
#define NR_OPS		256
#define ASSOCIATION_NS	(3 * NSEC_PER_SEC) /* then in good order: the end of a ctrl is exercised both ways */
#define MEMORY_SLACK_KB (48 << 10)

struct op {
	struct run *r;
	uint32_t area, nr;
	bool busy, write;
	uint8_t *buf;
};

struct run {
	struct nvof_target *t;
	struct nvof_ctx *ctx;
	char port[8];
	struct nvof_ctrl *ctrl;
	struct nvof_ns *ns;
	uint64_t rng;
	uint32_t nr_busy;
	uint64_t nr_ios, nr_failed, nr_connects, nr_refused, nr_losses;
	bool stop;	 /* no new operations */
	uint64_t failed; /* of this association */
	struct area areas[NR_AREAS];
	struct op ops[NR_OPS];
};

static void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void die(const char *fmt, ...)
{
	va_list ap;

	printf("not so: ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	exit(1);
}

static uint32_t chance(struct run *r, uint32_t n)
{
	r->rng ^= r->rng << 13;
	r->rng ^= r->rng >> 7;
	r->rng ^= r->rng << 17;
	return (uint32_t)(r->rng >> 32) % n;
}

/* ---- operations ---- */

static void op_start(struct op *op);

static void op_done(void *arg, const struct nvof_cpl *cpl)
{
	struct op *op = arg;
	struct run *r = op->r;
	struct area *s = &r->areas[op->area];
	const char *wrong;

	if (!op->busy)
		die("an operation on area %u ended twice", op->area);
	op->busy = s->busy = false;
	r->nr_busy--;
	r->nr_ios++;
	if (cpl->status) {
		r->failed++;
		return; /* the ctrl is going, and this operation with it */
	}
	if (op->write)
		s->acked = op->nr;
	else if ((wrong = area_check(r->areas, op->area, op->buf)))
		die("%s", wrong);
	if (!r->stop)
		op_start(op);
}

static void op_submit(struct op *op)
{
	struct run *r = op->r;
	struct area *s = &r->areas[op->area];
	uint32_t nr_hctx = nvof_ctrl_nr_hctx(r->ctrl), nlb = s->len / AREA_BLOCK;
	struct nvof_hctx *hctx = nvof_ctrl_hctx(r->ctrl, chance(r, nr_hctx));
	int ret;

	if (op->write) {
		op->nr = s->latest + 1;
		area_fill(r->areas, op->area, op->nr, op->buf);
		ret = nvof_write(hctx, r->ns, s->slba, nlb, op->buf, 0, op_done, op);
	} else {
		memset(op->buf, 0, s->len);
		ret = nvof_read(hctx, r->ns, s->slba, nlb, op->buf, 0, op_done, op);
	}
	if (ret) {
		if (ret != -ENOTCONN)
			die("submit: %s", strerror(-ret));
		r->failed++; /* part() will see whether the ctrl is lost */
		return;
	}
	if (op->write)
		s->latest = op->nr;
	op->busy = s->busy = true;
	r->nr_busy++;
}

static void op_start(struct op *op)
{
	struct run *r = op->r;

	do {
		op->area = chance(r, NR_AREAS);
	} while (r->areas[op->area].busy);
	op->write = chance(r, 2);
	op_submit(op);
}

/* Each area once, for its first contents or for the last look.  Returns false when the ctrl was lost on the way. */
static bool sweep(struct run *r, bool write)
{
	r->stop = true;
	r->failed = 0;
	for (uint32_t i = 0; i < NR_AREAS && !r->failed; i++) {
		struct op *op = &r->ops[0];

		op->area = i;
		op->write = write;
		op_submit(op);
		while (r->nr_busy)
			nvof_ctx_poll(r->ctx, -1);
	}
	r->stop = false;
	return !r->failed;
}

/* ---- associations ---- */

static bool target_has_queues(struct run *r)
{
	char *status = nvof_target_status_json(r->t), *p = status;
	unsigned long nr = 0;

	if (!status)
		die("no status");
	while ((p = strstr(p, "\"nr_queues\":"))) {
		p += strlen("\"nr_queues\":");
		nr += strtoul(p, NULL, 10);
	}
	free(status);
	return nr;
}

/* The target may still be reading what was sent before the loss: an old write must not come after a new one. */
static void wait_for_no_queue(struct run *r)
{
	uint64_t end = clock_ns() + 20 * NSEC_PER_SEC;

	while (target_has_queues(r)) {
		if (clock_ns() > end)
			die("the target keeps connections whose host is gone");
		usleep(1000);
	}
}

static bool associate(struct run *r)
{
	struct nvof_connect_opts o;
	int status;

	nvof_connect_opts_init(&o);
	o.traddr = "127.0.0.1";
	o.trsvcid = r->port;
	o.subsysnqn = NQN;
	o.hostnqn = HOSTNQN;
	o.nr_io_queues = NR_QUEUES;
	o.hdr_digest = o.data_digest = true;
	o.io_threads = r->nr_connects % 2 ? NR_THREADS : 0;
	wait_for_no_queue(r);
	status = nvof_ctrl_connect_sync(r->ctx, &o, &r->ctrl);
	if (!status) {
		status = nvof_ns_open_sync(r->ctrl, 1, &r->ns);
		if (status)
			nvof_ctrl_free(r->ctrl);
	}
	if (status) {
		if (!*nvof_ctx_errmsg(r->ctx))
			die("a connect failed without a word");
		r->ctrl = NULL;
		r->nr_refused++;
		return false;
	}
	if (nvof_ctrl_nr_io_queues(r->ctrl) != NR_QUEUES)
		die("%u I/O queues instead of %u", nvof_ctrl_nr_io_queues(r->ctrl), NR_QUEUES);
	r->nr_connects++;
	return true;
}

static void part(struct run *r)
{
	bool lost = nvof_ctrl_state(r->ctrl) != NVOF_CTRL_LIVE;

	if (lost && !*nvof_ctrl_errmsg(r->ctrl))
		die("a ctrl was lost without a word");
	if (!lost && r->failed)
		die("%" PRIu64 " operations failed, and the ctrl is live", r->failed);
	r->nr_losses += lost;
	r->nr_failed += r->failed;
	if (!lost)
		nvof_ctrl_disconnect_sync(r->ctrl);
	nvof_ctrl_free(r->ctrl);
	r->ctrl = NULL;
	if (r->nr_busy)
		die("%u operations never ended", r->nr_busy);
}

static void io_for(struct run *r, uint64_t ns)
{
	uint64_t end = clock_ns() + ns;

	r->failed = 0;
	for (uint32_t i = 0; i < NR_OPS && nvof_ctrl_state(r->ctrl) == NVOF_CTRL_LIVE; i++)
		op_start(&r->ops[i]);
	while (nvof_ctrl_state(r->ctrl) == NVOF_CTRL_LIVE && clock_ns() < end)
		nvof_ctx_poll(r->ctx, 100000);
	r->stop = true;
	while (r->nr_busy && nvof_ctrl_state(r->ctrl) == NVOF_CTRL_LIVE)
		nvof_ctx_poll(r->ctx, 100000);
	/* A ctrl that was lost ends its operations before the turn is over. */
	nvof_ctx_poll(r->ctx, 0);
	r->stop = false;
}

static void sweep_until_done(struct run *r, bool write)
{
	bool done = false;

	while (!done) {
		if (!associate(r))
			continue;
		done = sweep(r, write);
		part(r);
	}
}

/* ---- what is left ---- */

static long rss_kb(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long pages = 0;

	if (!f || fscanf(f, "%*d %ld", &pages) != 1)
		die("/proc/self/statm can't be read");
	fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Idle: the target has given back the buffers that it kept in case of need. */
static void at_rest(struct run *r, int *fds, long *rss)
{
	wait_for_no_queue(r);
	for (int i = 0; i < 4; i++) /* not in one: all of it may pass while the machine stands still */
		sleep(1);
	*fds = count_fds();
	*rss = rss_kb();
}

/* ---- the run ---- */

static void start(struct run *r, uint64_t seed)
{
	struct nvof_target_ns_opts ns;
	struct nvof_target_opts o;
	char addr[64];

	r->rng = seed;
	nvof_target_opts_init(&o);
	o.io_threads = 2;
	if (nvof_target_new(&o, &r->t) || nvof_target_listen(r->t, "tcp:127.0.0.1:0", addr, sizeof(addr)) ||
	    nvof_target_add_subsys(r->t, NQN, NULL))
		die("no target");
	nvof_target_ns_opts_init(&ns);
	ns.backend = AREAS_BACKEND;
	if (nvof_target_add_ns(r->t, NQN, &ns, NULL) || nvof_ctx_new(NULL, &r->ctx))
		die("no namespace or no ctx");
	snprintf(r->port, sizeof(r->port), "%s", strrchr(addr, ':') + 1);
	areas_init(r->areas);
	for (uint32_t i = 0; i < NR_OPS; i++)
		r->ops[i] = (struct op){ .r = r, .buf = malloc(AREA_MAX) };
}

static void make_faults(struct run *r)
{
	static const char *const faults[] = {
		"on=io,drop,prob=0.0003",   "on=io,opcode=write,delay=2ms,drop,prob=0.0002",
		"on=icreq,drop,prob=0.001", "on=connect,drop,prob=0.001",
		"on=admin,drop,prob=0.01",
	};

	for (uint32_t i = 0; i < ARRAY_SIZE(faults); i++)
		if (nvof_target_add_fault(r->t, faults[i]))
			die("the fault %s is none", faults[i]);
}

static void io_until(struct run *r, uint64_t end)
{
	while (clock_ns() < end) {
		if (!associate(r))
			continue;
		io_for(r, min_u64(ASSOCIATION_NS, end - min_u64(end, clock_ns())));
		part(r);
	}
}

static void stop(struct run *r)
{
	nvof_ctx_free(r->ctx);
	nvof_target_free(r->t);
	for (uint32_t i = 0; i < NR_OPS; i++)
		free(r->ops[i].buf);
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 60, begin = clock_ns();
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : begin | 1;
	int fds_begin = count_fds(), fds_before, fds_after;
	struct run *r = calloc(1, sizeof(*r));
	long rss_before, rss_after;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("seed %" PRIu64 "\n", seed);
	start(r, seed);
	sweep_until_done(r, true);
	make_faults(r);
	/* What is made once and kept has been made after the first part. */
	io_until(r, clock_ns() + seconds * NSEC_PER_SEC / 4);
	at_rest(r, &fds_before, &rss_before);
	io_until(r, begin + seconds * NSEC_PER_SEC);
	sweep_until_done(r, false);
	at_rest(r, &fds_after, &rss_after);
	printf("%" PRIu64 " operations, %" PRIu64 " of them ended by a loss; %" PRIu64 " connects, %" PRIu64 " failed ones, %" PRIu64
	       " losses; %d descriptors before and %d after, %ld and %ld KiB\n",
	       r->nr_ios, r->nr_failed, r->nr_connects, r->nr_refused, r->nr_losses, fds_before, fds_after, rss_before, rss_after);
	if (fds_after != fds_before)
		die("descriptors are left open");
	if (rss_after > rss_before + rss_before / 4 + MEMORY_SLACK_KB)
		die("the memory grows");
	/* With so many there is no doubt, also on a machine that is slow. */
	if ((r->nr_ios > 50000 && !r->nr_failed) || (r->nr_connects > 60 && !r->nr_refused))
		die("the target closed not one connection in the middle");
	stop(r);
	free(r);
	if (count_fds() != fds_begin)
		die("descriptors are left open at the end");
	return 0;
}
