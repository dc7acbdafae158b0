/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/text.h"
#include "cli/watch.h"

static const struct usage usage = {
	"[-t TRANSPORT] -a ADDR [-s PORT] -n NQN [--count N] [OPTION]... | URI",
	"Tells the namespaces of a subsystem, and from then on what happens: a line each time one is added, removed, resized or replaced,\n"
	"an ANA group changes its state, or the ctrl is lost and comes back.  Of a discovery ctrl: its log.\n"
	"With -o json each line is a document.",
	"$ nvof watch nvme+tcp://127.0.0.1:4420/nqn.2026-11.org.example:nvof --ctrl-loss-tmo -1 > events &",
};

struct args {
	struct conn_args conn;
	uint64_t count;
};

/* clang-format off */
static const struct opt opts[] = {
	{ 0, "count", OPT_U64, OFFSET(struct args, count), "N", "end after N events; what is there at the beginning does not count (default: go on)", .min = 1 },
	{ 0 }
};
/* clang-format on */

static void add_message(json_object *doc, const struct nvof_ctrl *ctrl)
{
	if (doc)
		json_object_object_add(doc, "message", text_json(nvof_ctrl_errmsg(ctrl)));
}

static void tell_attempt(struct watch *w, const struct nvof_ctrl *ctrl)
{
	json_object *doc = watch_doc(w, "attempt");
	struct nvof_recovery info = { 0 };

	nvof_ctrl_recovery(ctrl, &info);
	add_message(doc, ctrl);
	if (doc) {
		json_object_object_add(doc, "nr_attempts", json_object_new_int64(info.nr_attempts));
		json_object_object_add(doc, "next_ms", json_object_new_int64(info.next_ms));
	}
	watch_line(w, doc, "attempt %u failed, the next one follows in %u ms: %s", info.nr_attempts, info.next_ms, nvof_ctrl_errmsg(ctrl));
}

static void tell_state(struct watch *w, struct nvof_ctrl *ctrl)
{
	enum nvof_ctrl_state state = nvof_ctrl_state(ctrl);
	json_object *doc;

	if (state == NVOF_CTRL_LIVE && w->lost) {
		w->lost = false;
		watch_event(w, watch_doc(w, "back"), "ctrl back");
		/* What it had to tell meanwhile is gone. */
		watch_ana_read(w);
		watch_disc_read(w);
	} else if ((state == NVOF_CTRL_RESETTING || state == NVOF_CTRL_DEAD) && !w->lost) {
		w->lost = true;
		doc = watch_doc(w, "lost");
		add_message(doc, ctrl);
		watch_event(w, doc, "ctrl lost: %s", nvof_ctrl_errmsg(ctrl));
	}
}

/* What this tool has no name for. */
static void tell_other(struct watch *w, uint32_t raw)
{
	json_object *doc = watch_doc(w, "other");

	if (doc) {
		json_object_object_add(doc, "type", json_object_new_int64(raw & 7));
		json_object_object_add(doc, "info", json_object_new_int64(raw >> 8 & 0xff));
		json_object_object_add(doc, "log_id", json_object_new_int64(raw >> 16 & 0xff));
	}
	watch_event(w, doc, "event of type %" PRIu32 ", information %02" PRIx32 "h, log page %02" PRIx32 "h", raw & 7, raw >> 8 & 0xff,
		    raw >> 16 & 0xff);
}

static void told(void *arg, struct nvof_ctrl *ctrl, const struct nvof_event *event)
{
	struct watch *w = arg;

	if (w->over)
		return;
	switch (event->type) {
	case NVOF_EVENT_STATE:
		tell_state(w, ctrl);
		break;
	case NVOF_EVENT_ATTEMPT:
		tell_attempt(w, ctrl);
		break;
	case NVOF_EVENT_NS_CHANGED:
		break; /* what is behind it follows */
	case NVOF_EVENT_ANA_CHANGED:
		watch_ana_read(w);
		break;
	case NVOF_EVENT_DISC_CHANGED:
		watch_disc_read(w);
		break;
	case NVOF_EVENT_NS_ADDED:
	case NVOF_EVENT_NS_REMOVED:
	case NVOF_EVENT_NS_RESIZED:
	case NVOF_EVENT_NS_REPLACED:
		watch_tell_ns(w, event);
		break;
	default:
		tell_other(w, event->raw);
		break;
	}
}

static void scanned(void *arg, int status)
{
	struct watch *w = arg;

	w->scanned = true;
	if (!status || w->over || nvof_ctrl_state(w->conn.ctrl) == NVOF_CTRL_DEAD)
		return;
	w->ret = conn_status(&w->conn, status, "looking for namespaces");
	w->over = true;
}

/* A discovery ctrl has no namespaces, but a log. */
static int begin(struct watch *w)
{
	if (nvof_ctrl_id(w->conn.ctrl)->cntrltype == NVME_CTRL_CNTRLTYPE_DISCOVERY) {
		watch_disc_read(w);
		return EXIT_OK;
	}
	watch_ana_read(w);
	return conn_status(&w->conn, nvof_ns_scan(w->conn.ctrl, scanned, w), "looking for namespaces");
}

/* The last document says why it is the last.  Others are told on standard error, or know. */
static void say_end(struct watch *w)
{
	json_object *doc = w->cli->printed && !w->ret ? watch_doc(w, "end") : NULL;

	if (!doc)
		return;
	if (w->stop.sig)
		json_object_object_add(doc, "signal", json_object_new_string(w->stop.sig == SIGINT ? "SIGINT" : "SIGTERM"));
	else if (w->dead)
		add_message(doc, w->conn.ctrl);
	watch_line(w, doc, "%s", "");
}

/* The next line would find nobody; without this it is written at the next event, which may be far. */
static void look_at_reader(struct watch *w)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	if (w->over || poll(&out, 1, 0) <= 0 || !(out.revents & POLLERR))
		return;
	w->ret = cli_error(w->cli, -EPIPE, "writing to standard output: %s", strerror(EPIPE));
	w->over = true;
}

static void follow(struct watch *w)
{
	w->over = false;
	w->ret = begin(w);
	w->over |= w->ret != EXIT_OK;
	while (!w->over && nvof_ctrl_state(w->conn.ctrl) != NVOF_CTRL_DEAD && !stop_look(&w->stop)) {
		nvof_ctx_poll(w->conn.ctx, STOP_LOOK_US);
		look_at_reader(w);
	}
	w->dead = !w->over && !w->stop.sig;
	w->over = true; /* what the disconnect does is no event */
	say_end(w);
	if (w->dead)
		w->ret = cli_error(w->cli, 0, "%s", nvof_ctrl_errmsg(w->conn.ctrl));
}

static int watch(struct cli *cli, const struct args *args, struct watch *w)
{
	int ret = stop_begin(&w->stop);

	if (ret)
		return cli_error(cli, ret, "signalfd: %s", strerror(-ret));
	ret = conn_prepare(&w->conn, &args->conn, CONN_ADMIN);
	w->conn.event = told;
	w->conn.event_arg = w;
	if (!ret)
		ret = conn_connect_until(&w->conn, &args->conn, CONN_ADMIN, &w->stop);
	if (!ret) {
		follow(w);
		ret = w->ret;
		conn_disconnect_until(&w->conn, &w->stop, NULL);
	}
	conn_close(&w->conn);
	return ret;
}

int cmd_watch(struct cli *cli, int argc, char **argv)
{
	/* A connect that fails is no event. */
	struct watch w = { .cli = cli, .stop = { .fd = -1 }, .over = true };
	struct args args = { 0 };
	int ret;

	conn_args_init(&args.conn, cli);
	cli->json_lines = true;
	args.conn.crowd = true; /* what the library would log is what is told */
	ret = conn_parse(&usage, (struct opt_group[]){ { "Options", opts, &args }, { 0 } }, &args.conn, argc, argv);
	if (ret == OPTS_GO) {
		w.nr_left = args.count;
		ret = watch(cli, &args, &w);
		stop_end(&w.stop);
	}
	watch_ana_clear(&w);
	conn_args_clear(&args.conn);
	stop_raise(&w.stop);
	return ret;
}
