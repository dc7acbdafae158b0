/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target, and hosts that do what the input says: connections that come and go, PDUs right and wrong, cut anywhere, read or not, while
 * namespaces, hosts and faults change.  See hosts.h for what the hosts can do and what they hold against the target.
 *
 * Bytes 0..3 set the target up, then come steps of a byte each and what it needs: bits 3:0 what to do, bits 6:4 how, bit 7: the next step
 * comes in the same turn of the loop.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosts.h"
#include "target/backend/common.h"
#include "target/target.h"

#define SUBNQN "nqn.2024-01.org.example:fuzz"
#define LISTEN "tcp:127.0.0.1:0"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const faults[] = {
	"on=io,delay=5ms",
	"on=io,opcode=read,status=2:81h",
	"on=admin,ignore,after=3",
	"on=connect,qid=io,delay=20ms",
	"on=icreq,delay=1ms",
	"on=accept,delay=1ms,count=2",
	"on=io,drop,after=2",
	"on=io,opcode=write,ignore",
	"on=icreq,drop,after=2",
	"on=connect,status=1:80h,count=1",
	"on=admin,opcode=identify,delay=3ms,drop",
	"on=io,every=10ms,for=5ms",
};

/* FUZZ_LOG in the environment: what the target says is shown, to follow one input. */
static void say(void *arg, enum nvof_log_level level, const char *msg)
{
	if (arg)
		fprintf(stderr, "%s\n", msg);
}

/* ---- a backend that takes its time, as a disk does ---- */

#define LATER_NS NSEC_PER_MSEC

struct later {
	struct timer timer;
	struct backend *b;
	struct backend_io *io;
};

static void later_over(struct timer *timer)
{
	struct later *l = container_of(timer, struct later, timer);

	mem_backend_ops.submit(l->b, l->io);
	free(l);
}

static void later_submit(struct backend *b, struct backend_io *io)
{
	struct later *l = malloc(sizeof(*l));

	*l = (struct later){ .b = b, .io = io };
	timer_init(&l->timer, later_over);
	timer_set(io->loop, &l->timer, loop_now(io->loop) + LATER_NS);
}

static void backend_be_slow(struct nvof_target *t, uint32_t nsid)
{
	static struct backend_ops slow_ops;
	struct target_ns *ns = ns_table_find(target_subsys_find(t, SUBNQN)->table, nsid);

	slow_ops = mem_backend_ops;
	slow_ops.submit = later_submit;
	slow_ops.map = NULL; /* its memory is neither to be sent from nor to be received into */
	slow_ops.map_is_writable = false;
	ns->backend->ops = &slow_ops;
}

/* ---- the target ---- */

static struct nvof_target *target_make(struct sim_input *in, struct hosts *h)
{
	uint8_t conf = sim_u8(in), fault = sim_u8(in), cpda = sim_u8(in), sizes = sim_u8(in);
	struct nvof_target_ns_opts ns;
	struct nvof_target_opts o;
	struct nvof_target *t;
	struct target_port *port;

	nvof_target_opts_init(&o);
	o.spin_us = 0;
	o.io_threads = 1 + (conf & 1);
	o.inline_len = conf & 2 ? 0 : 8192;
	o.mdts_len = conf & 4 ? 8192 : 128 << 10;
	o.max_io_queues = conf & 8 ? 1 : 4;
	o.max_queue_size = conf & 16 ? 4 : 128;
	o.log_arg = getenv("FUZZ_LOG");
	o.log = conf & 32 || o.log_arg ? say : NULL;
	o.log_level = NVOF_LOG_DEBUG;
	h->sndbuf = conf & 64 ? 4608 : 0;
	h->faulty = fault;
	if (nvof_target_new(&o, &t) || nvof_target_listen(t, LISTEN, NULL, 0) || nvof_target_add_subsys(t, SUBNQN, NULL))
		abort();
	nvof_target_ns_opts_init(&ns);
	ns.backend = "mem:256K";
	if (nvof_target_add_ns(t, SUBNQN, &ns, NULL))
		abort();
	ns.block_size = 4096;
	ns.backend = "null:1M";
	if (nvof_target_add_ns(t, SUBNQN, &ns, NULL))
		abort();
	port = cds_list_first_entry(&t->ports, struct target_port, link);
	port->params.cpda = cpda & NVME_TCP_PDA_MAX;
	port->params.maxh2cdata = 4096u << (sizes & 7);
	if (sizes & 8)
		backend_be_slow(t, 1);
	h->few_buffers = sizes & 16;
	for (uint32_t i = 0; i < t->nr_threads && h->few_buffers; i++)
		t->threads[i].bufs.use_max = 8192; /* requests must wait for buffers */
	h->cpda = port->params.cpda;
	h->max_data = max_u32(max_u32(NVME_TCP_ADMIN_CAPSULE_DATA, port->params.inline_len), port->params.maxh2cdata);
	if (fault)
		nvof_target_add_fault(t, faults[fault % ARRAY_SIZE(faults)]);
	return t;
}

/* The target's owner changes something. */
static void target_change(struct nvof_target *t, struct hosts *h, struct sim_input *in, uint8_t how)
{
	struct nvof_target_ns_opts ns;
	uint8_t arg = sim_u8(in);

	switch (how) {
	case 0:
		nvof_target_ns_opts_init(&ns);
		ns.nsid = arg & 15;
		ns.readonly = arg & 64;
		ns.backend = arg & 32 ? "null:64K" : "mem:64K";
		nvof_target_add_ns(t, SUBNQN, &ns, NULL);
		break;
	case 1:
		nvof_target_remove_ns(t, SUBNQN, arg & 15);
		break;
	case 2:
		nvof_target_resize_ns(t, SUBNQN, arg & 3, (uint64_t)(arg >> 2) << 12);
		break;
	case 3:
		h->faulty = true;
		nvof_target_add_fault(t, faults[arg % ARRAY_SIZE(faults)]);
		break;
	case 4:
		nvof_target_clear_faults(t);
		break;
	case 5:
		nvof_target_allow_any_host(t, SUBNQN, arg & 1);
		if (arg & 2)
			nvof_target_allow_host(t, SUBNQN, HOSTS_NQN);
		if (arg & 4)
			nvof_target_disallow_host(t, SUBNQN, HOSTS_NQN);
		break;
	case 6:
		if (arg & 1)
			nvof_target_add_referral(t, "tcp", "192.0.2.9", "8009");
		else if (arg & 2)
			nvof_target_remove_referral(t, "tcp", "192.0.2.9", "8009");
		else
			free(nvof_target_status_json(t));
		break;
	default:
		if (arg & 1)
			nvof_target_remove_subsys(t, SUBNQN);
		else if (arg & 2)
			nvof_target_drain(t, arg);
		else if (arg & 4)
			nvof_target_unlisten(t, LISTEN);
		break;
	}
}

static void target_unmake(struct nvof_target *t)
{
	int turns = 0;

	while (t->nr_queues) {
		sim_settle();
		sim_advance(100 * NSEC_PER_MSEC);
		SIM_CHECK(++turns < 100, "%u connections of hosts that are gone stay", t->nr_queues);
	}
	nvof_target_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sim_input in = { data, size };
	struct hosts *h = hosts_new(SUBNQN);
	struct nvof_target *t;

	sim_begin();
	t = target_make(&in, h);
	while (in.len) {
		uint8_t step = sim_u8(&in), how = step >> 4 & 7;

		if ((step & 15) == 15)
			target_change(t, h, &in, how);
		else
			hosts_step(h, t, &in, step & 15, how);
		if (!(step & 128)) {
			sim_settle();
			hosts_read(h);
		}
	}
	hosts_check(h);
	hosts_free(h);
	target_unmake(t);
	sim_end();
	return 0;
}
