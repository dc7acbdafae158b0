/* SPDX-License-Identifier: BSD-3-Clause */
/* One host of a storm: connect, try again later when that failed, first I/O; cut off: the next I/O. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/bench_storm.h"

#define DNR 0x4000

/* xorshift64* */
uint64_t storm_jitter_ms(struct storm *s, uint64_t ms)
{
	s->rng ^= s->rng >> 12;
	s->rng ^= s->rng << 25;
	s->rng ^= s->rng >> 27;
	return ms - (uint64_t)((unsigned __int128)(s->rng * UINT64_C(2685821657736338717)) * (ms / 2) >> 64);
}

static void count_refusal(struct storm_phase *p, int status, const char *msg)
{
	size_t i;

	p->nr_refused++;
	for (i = 0; i < p->nr_refusals && p->refusals[i].status != status; i++)
		;
	if (i == STORM_REFUSALS_MAX)
		return;
	if (i == p->nr_refusals) {
		p->nr_refusals++;
		p->refusals[i].status = status;
		snprintf(p->refusals[i].first, sizeof(p->refusals[i].first), "%s", msg);
	}
	p->refusals[i].nr++;
}

static void host_failed(struct storm_host *h)
{
	h->state = HOST_FAILED;
	h->s->phase->nr_failed++;
}

static void drop_ctrl(struct storm_host *h)
{
	/* The namespace goes with it. */
	h->ns = NULL;
	nvof_ctrl_free(h->ctrl);
	h->ctrl = NULL;
}

/* A refusal for good, or what this machine lacks (a device, a kind of address): it won't be there at the next try. */
static bool is_final(int status)
{
	return status > 0 ? status & DNR : status == -ENODEV || status == -EAFNOSUPPORT;
}

/* Each time twice as long, at most retry_max, with jitter. */
static void try_again(struct storm_host *h, int status, const char *msg)
{
	struct storm *s = h->s;
	const struct storm_args *args = s->args;
	uint64_t delay = args->retry_delay_ms;

	count_refusal(s->phase, status, msg);
	drop_ctrl(h);
	if (h->nr_tries > args->nr_retries || is_final(status)) {
		host_failed(h);
		return;
	}
	for (uint32_t i = 1; i < h->nr_tries && delay < args->retry_max_ms; i++)
		delay *= 2;
	h->state = HOST_WAITING;
	h->due_ns = clock_ns() + storm_jitter_ms(s, min_u64(delay, args->retry_max_ms)) * NSEC_PER_MSEC;
}

/* ---- the first I/O ---- */

static void io_failed(struct storm_host *h, int status, const char *what)
{
	char words[400], msg[512];

	snprintf(msg, sizeof(msg), "%s: %s", what, conn_status_words(h->ctrl, status, words, sizeof(words)));
	if (h->state == HOST_LIVE) {
		try_again(h, status, msg);
	} else {
		count_refusal(h->s->phase, status, msg);
		host_failed(h);
	}
}

static void io_done(void *arg, const struct nvof_cpl *cpl)
{
	struct storm_host *h = arg;
	struct storm_phase *p = h->s->phase;

	/* READY and FAILED: the run is being ended. */
	if (h->state != HOST_LIVE && h->state != HOST_LOST)
		return;
	if (cpl->status) {
		io_failed(h, cpl->status, "first read");
		return;
	}
	h->state = HOST_READY;
	p->nr_ready++;
	p->nr_io_queues += nvof_ctrl_nr_io_queues(h->ctrl);
	p->last_ns = clock_ns() - p->start_ns;
	hist_add(&p->first_io, p->last_ns);
}

static void first_io(struct storm_host *h)
{
	int ret = nvof_read(nvof_ctrl_hctx(h->ctrl, 0), h->ns, 0, 1, h->buf, 0, io_done, h);

	if (ret)
		io_failed(h, ret, "first read");
}

static void ns_opened(void *arg, int status, struct nvof_ns *ns)
{
	struct storm_host *h = arg;

	if (h->state != HOST_LIVE)
		return;
	if (status) {
		io_failed(h, status, "opening the namespace");
		return;
	}
	h->ns = ns;
	free(h->buf);
	h->buf = aligned_alloc(4096, (nvof_ns_block_size(ns) + 4095) & ~4095u);
	if (!h->buf)
		abort();
	first_io(h);
}

static void open_ns(struct storm_host *h, uint32_t nsid)
{
	int ret = nvof_ns_open(h->ctrl, nsid, ns_opened, h);

	if (ret)
		io_failed(h, ret, "opening the namespace");
}

static void ns_listed(void *arg, int status, const uint32_t *nsids, size_t nr)
{
	struct storm_host *h = arg;

	if (h->state != HOST_LIVE)
		return;
	if (status)
		io_failed(h, status, "reading the list of namespaces");
	else if (!nr)
		io_failed(h, -ENODEV, "the subsystem has no namespaces");
	else
		open_ns(h, nsids[0]);
}

/* ---- connect ---- */

static void connected(void *arg, struct nvof_ctrl *ctrl, int status)
{
	struct storm_host *h = arg;
	int ret;

	if (h->state != HOST_CONNECTING)
		return;
	h->s->nr_connecting--;
	if (status) {
		try_again(h, status, nvof_ctrl_errmsg(ctrl));
		return;
	}
	h->state = HOST_LIVE;
	hist_add(&h->s->phase->live, clock_ns() - h->s->phase->start_ns);
	if (h->s->args->conn.nsid) {
		open_ns(h, h->s->args->conn.nsid);
		return;
	}
	ret = nvof_ns_list(ctrl, ns_listed, h);
	if (ret)
		io_failed(h, ret, "reading the list of namespaces");
}

/* Its queues are closed and I/O waits: what is submitted now is the first that comes through. */
static void host_cut(struct storm_host *h)
{
	struct storm *s = h->s;

	if (h->was_cut)
		return; /* again, on its way back */
	h->was_cut = true;
	h->state = HOST_LOST;
	if (!s->phase->start_ns)
		s->phase->start_ns = clock_ns();
	s->phase->nr_attempts++;
	first_io(h);
}

void storm_host_cut(struct storm_host *h)
{
	/* One that the target has just cut off has no event to come any more. */
	if (nvof_ctrl_reset(h->ctrl))
		host_cut(h);
}

static void host_gone(struct storm_host *h, int status)
{
	if (h->state == HOST_READY && h->s->phase == &h->s->connect) {
		h->s->nr_lost_early++;
		h->s->phase->nr_ready--;
	} else if (h->state == HOST_LOST || h->state == HOST_READY) {
		count_refusal(h->s->phase, status, nvof_ctrl_errmsg(h->ctrl));
	} else {
		return; /* the I/O or the connect that ends tells it */
	}
	host_failed(h);
}

static void host_event(void *arg, struct nvof_ctrl *ctrl, const struct nvof_event *event)
{
	struct storm_host *h = arg;
	struct storm *s = h->s;
	struct nvof_recovery info = { 0 };

	if (h->ctrl != ctrl)
		return;
	nvof_ctrl_recovery(ctrl, &info);
	if (event->type == NVOF_EVENT_ATTEMPT && h->state == HOST_LOST) {
		count_refusal(s->phase, info.status, nvof_ctrl_errmsg(ctrl));
		s->phase->nr_attempts++;
	}
	if (event->type != NVOF_EVENT_STATE)
		return;
	if (nvof_ctrl_state(ctrl) == NVOF_CTRL_RESETTING && h->state == HOST_READY) {
		if (s->phase == &s->reconnect)
			host_cut(h);
		else
			s->nr_lost_early++; /* it comes back by itself */
	} else if (nvof_ctrl_state(ctrl) == NVOF_CTRL_LIVE && h->state == HOST_LOST) {
		hist_add(&s->phase->live, clock_ns() - s->phase->start_ns);
	} else if (nvof_ctrl_state(ctrl) == NVOF_CTRL_DEAD) {
		host_gone(h, info.status ? info.status : -ECONNRESET);
	}
}

void storm_host_start(struct storm_host *h)
{
	struct storm *s = h->s;
	const struct storm_args *args = s->args;
	struct nvof_connect_opts o;
	int ret;

	conn_fill_opts(&o, s->c, &args->conn, CONN_IO);
	o.hostnqn = h->hostnqn;
	o.hostid = h->hostid[0] ? h->hostid : NULL;
	o.event = host_event;
	o.event_arg = h;
	if (args->cut != CUT_NONE) {
		/* A cut is not the end of a host before the time is over. */
		if (!o.ctrl_loss_tmo_ms)
			o.ctrl_loss_tmo_ms = -1;
		o.reconnect_delay_ms = (unsigned int)storm_jitter_ms(s, o.reconnect_delay_ms);
	}
	h->state = HOST_CONNECTING;
	h->nr_tries++;
	s->nr_connecting++;
	s->phase->nr_attempts++;
	ret = nvof_ctrl_connect(s->c->ctx, &o, connected, h, &h->ctrl);
	if (!ret)
		return;
	s->nr_connecting--;
	try_again(h, ret, nvof_ctx_errmsg(s->c->ctx));
}

/* Names that are the same in each run, and nobody else's: a number in a UUID, or behind the NQN that was given. */
void storm_host_init(struct storm *s, uint32_t i)
{
	struct storm_host *h = &s->hosts[i];
	const char *prefix = s->args->conn.hostnqn;
	int n;

	h->s = s;
	if (!prefix)
		snprintf(h->hostid, sizeof(h->hostid), "6e766f66-7374-4f72-8d00-%012x", i + 1);
	n = prefix ? asprintf(&h->hostnqn, "%s-%u", prefix, i + 1) : asprintf(&h->hostnqn, "nqn.2014-08.org.nvmexpress:uuid:%s", h->hostid);
	if (n < 0)
		abort();
}

void storm_host_clear(struct storm_host *h)
{
	h->state = HOST_FAILED; /* callbacks that come from inside have nothing to do any more */
	drop_ctrl(h);
	free(h->buf);
	free(h->hostnqn);
}
