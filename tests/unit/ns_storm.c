/* SPDX-License-Identifier: BSD-3-Clause */
#include "ns_storm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTNQN "nqn.2014-08.org.nvmexpress:uuid:aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
#define MAGIC	0x6e766f662d6e7321u

struct record {
	uint8_t uuid[16];
	uint64_t lba, magic;
};

void storm_fill(uint8_t *buf, size_t len, const uint8_t uuid[16], uint64_t lba)
{
	struct record r = { .lba = lba, .magic = MAGIC };

	memcpy(r.uuid, uuid, sizeof(r.uuid));
	for (size_t i = 0; i < len; i += sizeof(r))
		memcpy(buf + i, &r, sizeof(r));
}

bool storm_check(const uint8_t *buf, size_t len, const uint8_t uuid[16], uint64_t lba)
{
	static const struct record zero;
	struct record r;

	storm_fill((uint8_t *)&r, sizeof(r), uuid, lba);
	for (size_t i = 0; i < len; i += sizeof(r))
		if (memcmp(buf + i, &r, sizeof(r)) && memcmp(buf + i, &zero, sizeof(zero)))
			return false;
	return true;
}

static void add(uint64_t *n)
{
	__atomic_add_fetch(n, 1, __ATOMIC_RELAXED);
}

static unsigned int chance(struct storm_host *h, unsigned int n)
{
	return (unsigned int)rand_r(&h->seed) % n;
}

static void wrong(struct storm_host *h, const char *what, uint32_t nsid, int status)
{
	char text[150];

	if (!*h->wrong)
		snprintf(h->wrong, sizeof(h->wrong), "%s, namespace %u: %s", what, nsid, nvof_status_str(status, text, sizeof(text)));
}

/* What a namespace that changes under an I/O makes of it. */
static bool expected(int status)
{
	switch (status) {
	case -ENODEV:
	case -ESTALE:
	case -ERANGE:
		return true;
	default:
		return status > 0 && ((status & 0x7ff) == NVME_SC_INVALID_NS || (status & 0x7ff) == NVME_SC_LBA_RANGE);
	}
}

static void slot_end(struct storm_slot *s)
{
	nvof_ns_close(s->ns);
	s->ns = NULL;
	s->flying = false;
	s->h->nr_flying--;
}

static void check_read(struct storm_slot *s)
{
	uint32_t block = nvof_ns_block_size(s->ns);

	for (uint32_t i = 0; i < s->nlb; i++)
		if (!storm_check(s->buf + (size_t)i * block, block, s->uuid, s->slba + i))
			wrong(s->h, "a block of another namespace was read", nvof_ns_nsid(s->ns), 0);
}

static void io_done(void *arg, const struct nvof_cpl *cpl)
{
	struct storm_slot *s = arg;
	struct storm_host *h = s->h;

	if (!s->flying)
		wrong(h, "an I/O ended twice", 0, cpl->status);
	if (!cpl->status && !s->writes)
		check_read(s);
	if (cpl->status && !expected(cpl->status))
		wrong(h, s->writes ? "write" : "read", nvof_ns_nsid(s->ns), cpl->status);
	add(cpl->status ? &h->nr_refused : s->writes ? &h->nr_writes : &h->nr_reads);
	slot_end(s);
}

/* One I/O on the slot's handle, which is closed when it has ended. */
static void begin_io(struct storm_slot *s)
{
	struct storm_host *h = s->h;
	struct nvof_hctx *hctx = nvof_ctrl_hctx(h->ctrl, chance(h, nvof_ctrl_nr_hctx(h->ctrl)));
	uint64_t nr_blocks = nvof_ns_nr_blocks(s->ns);
	uint32_t block = nvof_ns_block_size(s->ns);
	int ret;

	if (nr_blocks < STORM_NLB_MAX) {
		slot_end(s); /* it went */
		return;
	}
	s->nlb = 1 + chance(h, STORM_NLB_MAX);
	s->slba = chance(h, (unsigned int)nr_blocks - s->nlb + 1);
	s->writes = chance(h, 2);
	nvof_ns_uuid(s->ns, s->uuid);
	if (s->writes) {
		for (uint32_t i = 0; i < s->nlb; i++)
			storm_fill(s->buf + (size_t)i * block, block, s->uuid, s->slba + i);
		ret = nvof_write(hctx, s->ns, s->slba, s->nlb, s->buf, 0, io_done, s);
	} else {
		memset(s->buf, 0xff, sizeof(s->buf));
		ret = nvof_read(hctx, s->ns, s->slba, s->nlb, s->buf, 0, io_done, s);
	}
	if (!ret)
		return;
	if (ret != -EAGAIN && !expected(ret))
		wrong(h, "submission", nvof_ns_nsid(s->ns), ret);
	slot_end(s);
}

static void opened(void *arg, int status, struct nvof_ns *ns)
{
	struct storm_slot *s = arg;

	add(&s->h->nr_opens);
	s->ns = ns;
	if (!status) {
		begin_io(s);
		return;
	}
	if (!expected(status))
		wrong(s->h, "open", 0, status);
	slot_end(s);
}

static void slot_begin(struct storm_slot *s)
{
	struct storm_host *h = s->h;
	uint32_t nsid = 1 + chance(h, STORM_NSIDS);

	s->flying = true;
	h->nr_flying++;
	if (!chance(h, 8)) {
		int ret = nvof_ns_open(h->ctrl, nsid, opened, s);

		if (!ret)
			return;
		if (ret != -EAGAIN)
			wrong(h, "open", nsid, ret);
	} else {
		s->ns = nvof_ns_get(h->ctrl, nsid);
	}
	if (s->ns)
		begin_io(s);
	else
		slot_end(s);
}

/* The table of another thread's ctrl. */
static void look_at_other(struct storm_host *h)
{
	struct nvof_ns *ns;
	uint8_t uuid[16];

	for (uint32_t nsid = 0; (ns = nvof_ns_next(h->other->ctrl, nsid));) {
		if (nvof_ns_nsid(ns) <= nsid)
			wrong(h, "the table is not in order", nsid, 0);
		nsid = nvof_ns_nsid(ns);
		nvof_ns_uuid(ns, uuid);
		nvof_ns_ref(ns);
		nvof_ns_close(ns);
		nvof_ns_close(ns);
	}
	add(&h->nr_looks);
}

static void scanned(void *arg, int status)
{
	if (status)
		wrong(arg, "scan", 0, status);
}

/* Lets go of one; the look that follows finds it again. */
static void let_go(struct storm_host *h)
{
	struct nvof_ns *ns = nvof_ns_get(h->ctrl, 1 + chance(h, STORM_NSIDS));
	int ret = ns ? nvof_ns_remove(ns, NULL, NULL) : 0;

	if (ret && ret != -ENODEV)
		wrong(h, "remove", nvof_ns_nsid(ns), ret);
	nvof_ns_close(ns);
	ret = nvof_ns_scan(h->ctrl, scanned, h);
	if (ret)
		wrong(h, "scan", 0, ret);
}

static void on_event(void *arg, struct nvof_ctrl *ctrl, const struct nvof_event *event)
{
	struct storm_host *h = arg;

	(void)ctrl;
	if (event->type <= NVOF_EVENT_NS_REPLACED)
		add(&h->nr_events[event->type]);
}

static int connect_host(struct storm_host *h)
{
	struct nvof_connect_opts o;
	int ret = nvof_ctx_new(NULL, &h->ctx);

	if (ret)
		return ret;
	nvof_connect_opts_init(&o);
	o.transport = h->transport;
	o.traddr = strcmp(h->transport, "loop") ? "127.0.0.1" : NULL;
	o.trsvcid = o.traddr ? h->port : NULL;
	o.loop_target = h->target;
	o.subsysnqn = STORM_NQN;
	o.hostnqn = HOSTNQN;
	o.nr_io_queues = 2;
	o.keep_alive_tmo_ms = 60000;
	o.io_tmo_ms = 60000;
	o.event = on_event;
	o.event_arg = h;
	ret = nvof_ctrl_connect_sync(h->ctx, &o, &h->ctrl);
	return ret ? ret : nvof_ns_scan_sync(h->ctrl);
}

static void work(struct storm_host *h)
{
	for (unsigned int n = 1; !__atomic_load_n(h->stop, __ATOMIC_ACQUIRE) && !*h->wrong; n++) {
		for (unsigned int i = 0; i < STORM_SLOTS; i++)
			if (!h->slots[i].flying)
				slot_begin(&h->slots[i]);
		if (n % 16 == 0)
			look_at_other(h);
		if (n % 512 == 0)
			let_go(h);
		nvof_ctx_poll(h->ctx, 500);
	}
	while (h->nr_flying)
		nvof_ctx_poll(h->ctx, 1000);
}

static void *host_main(void *arg)
{
	struct storm_host *h = arg;
	int ret = connect_host(h);

	if (ret)
		wrong(h, "connect", 0, ret);
	pthread_barrier_wait(h->together);
	if (!ret)
		work(h);
	pthread_barrier_wait(h->together); /* nobody looks at another one's table any more */
	pthread_barrier_wait(h->together); /* the test has looked, too */
	if (!ret && nvof_ctrl_disconnect_sync(h->ctrl))
		wrong(h, "disconnect", 0, 0);
	nvof_ctrl_free(h->ctrl);
	nvof_ctx_free(h->ctx);
	return NULL;
}

void storm_start(struct storm_host *h)
{
	for (unsigned int i = 0; i < STORM_SLOTS; i++)
		h->slots[i].h = h;
	if (pthread_create(&h->thread, NULL, host_main, h))
		abort();
}
