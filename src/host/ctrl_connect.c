/* SPDX-License-Identifier: BSD-3-Clause */
/* A connect from end to end: admin queue -> initialisation -> I/O queues -> LIVE.  Each step ends in a callback from the loop. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd_table.h"
#include "host/ctrl.h"
#include "host/early_links.h"
#include "host/hctx.h"
#include "host/queue.h"
#include "host/queue_batch.h"
#include "host/subsystem.h"
#include "host/tags.h"

#define FEW_DESCRIPTORS 128 /* beside the I/O queues */

void ctrl_connect_end(struct nvof_ctrl *ctrl, int status)
{
	if (!ctrl->connecting)
		return;
	ctrl->connecting = false;
	ctrl->setup_limit = NULL;
	timer_cancel(ctrl->loop, &ctrl->connect_timer);
	timeline_finish(ctrl);
	if (ctrl->connect_cb)
		ctrl->connect_cb(ctrl->connect_arg, ctrl, status);
}

void ctrl_connect_failed(struct nvof_ctrl *ctrl, struct error *err)
{
	int code = err->code;

	early_links_blame(ctrl);
	if (ctrl->recovery.on && ctrl->state == NVOF_CTRL_CONNECTING) {
		recovery_attempt_failed(ctrl, err);
		error_clear(err);
		return;
	}
	if (early_links_retry(ctrl, err)) {
		error_clear(err);
		return;
	}
	if (!ctrl->err.code)
		error_move(&ctrl->err, err);
	error_clear(err);
	ctrl_set_state(ctrl, NVOF_CTRL_DELETING, error_msg(&ctrl->err));
	queue_batch_free(ctrl->batch);
	ctrl->batch = NULL;
	ctrl_stop(ctrl, code < 0 ? code : -ECONNABORTED);
	ctrl_set_state(ctrl, NVOF_CTRL_DEAD, "the connect failed");
	ctrl_connect_end(ctrl, code);
	ctrl_tell_state(ctrl);
}

/* Takes a batch that has ended; false when it failed, which has been dealt with. */
static bool batch_ended_well(struct nvof_ctrl *ctrl, struct queue_batch *b)
{
	const struct error *first = queue_batch_error(b);
	struct error err = { 0 };

	if (!first) {
		ctrl->batch = NULL;
		return true;
	}
	error_copy(&err, first);
	ctrl_connect_failed(ctrl, &err);
	return false;
}

static void ctrl_live(struct nvof_ctrl *ctrl)
{
	if (!ctrl_set_state(ctrl, NVOF_CTRL_LIVE, "connected"))
		return; /* it is being disconnected or freed: that ends the connect, too */
	ctrl->live_us = timeline_now_us(ctrl);
	aer_start(ctrl);
	if (ctrl->recovery.on) {
		recovery_done(ctrl);
	} else {
		ctrl_accept_io(ctrl);
		subsystem_join(ctrl);
		ctrl_connect_end(ctrl, 0);
	}
	ctrl_tell_state(ctrl);
}

static void io_queues_done(struct nvof_ctrl *ctrl, struct queue_batch *b)
{
	uint32_t i;

	if (!batch_ended_well(ctrl, b))
		return;
	for (i = 0; i < b->nr; i++)
		hctx_add_queue(queue_batch_take(b, i));
	ctrl_lend_queues(ctrl);
	ctrl->nr_live_queues = b->nr;
	queue_batch_free(b);
	ctrl_live(ctrl);
}

void ctrl_init_granted(struct nvof_ctrl *ctrl)
{
	ctrl->init_done_us = timeline_now_us(ctrl);
	keep_alive_start(ctrl);
	if (ctrl->nr_granted && ctrl_alloc_hctxs(ctrl, ctrl->nr_granted))
		goto nomem;
	if (ctrl->batch) {
		early_links_blame(ctrl);
		queue_batch_release(ctrl->batch, ctrl->nr_granted);
		return;
	}
	if (!ctrl->nr_granted)
		return;
	ctrl->batch = queue_batch_new(ctrl, 1, ctrl->nr_granted, io_queues_done);
	if (!ctrl->batch)
		goto nomem;
	queue_batch_begin(ctrl->batch, ctrl->p.setup_concurrency);
	return;

nomem:
	/* Not from inside the completion that brought us here: the admin queue's failure is acted on at the end of the turn. */
	queue_fail(ctrl->admin, -ENOMEM, "no memory for %u I/O queues", ctrl->nr_granted);
}

void ctrl_init_done(struct nvof_ctrl *ctrl)
{
	if (ctrl->batch)
		queue_batch_close(ctrl->batch);
	else
		ctrl_live(ctrl);
}

/* "traddr=127.0.0.1,trsvcid=4420,src_addr=127.0.0.1" as nvme-cli shows it. */
static void set_address(struct nvof_ctrl *ctrl)
{
	const struct ctrl_params *p = &ctrl->p;
	const char *local = ctrl->admin->local, *end = strrchr(local, ':');
	int len = end ? (int)(end - local) : (int)strlen(local);
	char *text = NULL;

	if (len > 2 && local[0] == '[') {
		local++;
		len -= 2;
	}
	if (asprintf(&text, "traddr=%s%s%s%s%.*s", p->traddr ? p->traddr : p->ops->name, p->trsvcid ? ",trsvcid=" : "",
		     p->trsvcid ? p->trsvcid : "", len ? ",src_addr=" : "", len, local) < 0)
		return;
	/* Who looked at it has it still. */
	if (ctrl->address && !strcmp(ctrl->address, text)) {
		free(text);
		return;
	}
	free(ctrl->address);
	ctrl->address = text;
}

static void admin_queue_done(struct nvof_ctrl *ctrl, struct queue_batch *b)
{
	if (!batch_ended_well(ctrl, b))
		return;
	ctrl->admin = queue_batch_take(b, 0);
	queue_batch_free(b);
	set_address(ctrl);
	ctrl_init_start(ctrl);
	early_links_start(ctrl, io_queues_done);
}

static void connect_timed_out(struct timer *t)
{
	struct nvof_ctrl *ctrl = container_of(t, struct nvof_ctrl, connect_timer);

	if (ctrl->init.running)
		ctrl_init_timeout(ctrl, ctrl->connect_tmo_ms);
	else if (ctrl->batch)
		queue_batch_timeout(ctrl->batch, ctrl->connect_tmo_ms);
}

static void disconnect_by_free(struct loop_defer *d)
{
	ctrl_destroy(container_of(d, struct nvof_ctrl, free_work));
}

static struct nvof_ctrl *ctrl_alloc(struct nvof_ctx *ctx)
{
	struct nvof_ctrl *ctrl = calloc(1, sizeof(*ctrl));

	if (!ctrl)
		return NULL;
	ctrl->ctx = ctx;
	ctrl->loop = ctx->loop;
	ctrl->max_transfer = SIZE_MAX;
	ctrl->admin_tags.free_head = TAG_NONE;
	CDS_INIT_LIST_HEAD(&ctrl->renewals);
	timer_init(&ctrl->connect_timer, connect_timed_out);
	loop_defer_init(&ctrl->free_work, disconnect_by_free);
	ctrl_init_setup(ctrl);
	ctrl_disconnect_setup(ctrl);
	queue_delete_setup(ctrl);
	ctrl_shutdown_setup(ctrl);
	held_setup(ctrl);
	retry_setup(ctrl);
	recovery_setup(ctrl);
	keep_alive_setup(ctrl);
	aer_setup(ctrl);
	cmd_timer_setup(ctrl);
	return ctrl;
}

int ctrl_connect_begin(struct nvof_ctrl *ctrl, uint32_t tmo_ms, struct error *err)
{
	ctrl->queue_size = ctrl->p.queue_size;
	ctrl->batch = queue_batch_new(ctrl, 0, 1, admin_queue_done);
	if (!ctrl->batch)
		return error_set(err, -ENOMEM, "connect to %s: no memory", ctrl->p.where);
	cmd_timer_init(ctrl);
	timeline_start(ctrl);
	timer_set(ctrl->loop, &ctrl->connect_timer, clock_ns() + tmo_ms * NSEC_PER_MSEC);
	ctrl->connect_tmo_ms = tmo_ms;
	queue_batch_start(ctrl->batch, 1);
	return 0;
}

int ctrl_connect(struct nvof_ctx *ctx, const struct nvof_connect_opts *opts, struct async_limit *limit, nvof_connect_cb *cb, void *arg,
		 struct nvof_ctrl **ctrlp)
{
	struct error err = { 0 };
	struct nvof_ctrl *ctrl = ctrl_alloc(ctx);
	/* All but the reserved slots are for users; one entry of the queue stays empty (C039). */
	const uint32_t nr_free = NVMF_MAX_SQSIZE_ADMIN - ADMIN_NR_SLOTS;

	*ctrlp = NULL;
	if (!ctrl)
		return ctx_fail(ctx, -ENOMEM, "connect: no memory");
	if (ctrl_params_init(&ctrl->p, ctx, opts, &err)) {
		free(ctrl);
		return ctx_fail_error(ctx, &err);
	}
	if (tags_init(&ctrl->admin_tags, nr_free, ADMIN_NR_SLOTS, ctrl->p.ops->req_size)) {
		error_set(&err, -ENOMEM, "connect to %s: no memory", ctrl->p.where);
		goto fail;
	}
	if (ctrl->p.ops->endpoint_new(&ctrl->p.link, ctx->loop, &ctrl->ep, &err)) {
		error_prefix(&err, "connect to %s", ctrl->p.where);
		goto fail;
	}
	/* Before there are threads: see there. */
	if (ctrl->p.io_threads)
		fd_table_reserve(ctrl->p.nr_io_queues + FEW_DESCRIPTORS);
	if (io_threads_start(&ctrl->io, ctrl->p.io_threads, &ctrl->p.io_cpus, ctx->spin_ns, &err)) {
		error_prefix(&err, "connect to %s", ctrl->p.where);
		goto fail_ep;
	}
	ns_set_init(ctrl);
	ctrl->connect_cb = cb;
	ctrl->connect_arg = arg;
	ctrl->connecting = true;
	ctrl->setup_limit = limit;
	cds_list_add_tail(&ctrl->link, &ctx->ctrls);
	ctrl_set_state(ctrl, NVOF_CTRL_CONNECTING, "asked to");
	if (ctrl_connect_begin(ctrl, ctrl->p.connect_tmo_ms, &err)) {
		cds_list_del(&ctrl->link);
		goto fail_ep;
	}
	io_threads_joined(ctx, &ctrl->io);
	*ctrlp = ctrl;
	return 0;

fail_ep:
	io_threads_stop(&ctrl->io);
	ctrl->p.ops->endpoint_free(ctrl->ep);
fail:
	tags_free(&ctrl->admin_tags);
	ctrl_params_clear(&ctrl->p);
	free(ctrl);
	return ctx_fail_error(ctx, &err);
}

int nvof_ctrl_connect(struct nvof_ctx *ctx, const struct nvof_connect_opts *opts, nvof_connect_cb *cb, void *arg, struct nvof_ctrl **ctrlp)
{
	return ctrl_connect(ctx, opts, NULL, cb, arg, ctrlp);
}
