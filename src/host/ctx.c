/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "host/ctrl.h"
#include "host/ctx.h"
#include "host/cpus.h"
#include "host/subsystem.h"
#include "host/wave.h"

#define DEFAULT_SPIN_US 50

void nvof_ctx_opts_init(struct nvof_ctx_opts *opts)
{
	memset(opts, 0, sizeof(*opts));
	opts->size = sizeof(*opts);
	opts->log_level = NVOF_LOG_WARN;
	/* With one CPU a spinning host keeps its own target from answering. */
	opts->spin_us = cpus_usable() > 1 ? DEFAULT_SPIN_US : 0;
}

static void ctx_log(void *arg, int level, const char *msg)
{
	struct nvof_ctx *ctx = arg;

	ctx->user_log(ctx->user_log_arg, (enum nvof_log_level)level, msg);
}

int nvof_ctx_new(const struct nvof_ctx_opts *user, struct nvof_ctx **ctxp)
{
	struct nvof_ctx_opts opts;
	struct nvof_ctx *ctx;
	int ret;

	if (!ctxp)
		return -EINVAL;
	*ctxp = NULL;
	nvof_ctx_opts_init(&opts);
	if (user) {
		if (user->size < sizeof(user->size) || user->size > sizeof(opts))
			return -EINVAL;
		memcpy(&opts, user, user->size);
	}
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return -ENOMEM;
	ret = loop_new(&ctx->loop);
	if (ret) {
		free(ctx);
		return ret;
	}
	ctx->spin_ns = opts.spin_us * NSEC_PER_USEC;
	loop_set_spin(ctx->loop, ctx->spin_ns);
	if (opts.log) {
		ctx->user_log = opts.log;
		ctx->user_log_arg = opts.log_arg;
		ctx->log = (struct log){ .fn = ctx_log, .arg = ctx, .level = (int)opts.log_level };
	}
	ctx->transports = host_transports;
	CDS_INIT_LIST_HEAD(&ctx->ctrls);
	CDS_INIT_LIST_HEAD(&ctx->waves);
	CDS_INIT_LIST_HEAD(&ctx->subsystems);
	*ctxp = ctx;
	return 0;
}

void nvof_ctx_free(struct nvof_ctx *ctx)
{
	if (!ctx)
		return;
	waves_cancel(ctx);
	subsystems_close(ctx);
	while (!cds_list_empty(&ctx->ctrls))
		ctrl_destroy(cds_list_first_entry(&ctx->ctrls, struct nvof_ctrl, link));
	waves_free(ctx);
	subsystems_free(ctx);
	mem_regions_free(&ctx->regions);
	loop_free(ctx->loop);
	error_clear(&ctx->err);
	free(ctx);
}

int nvof_ctx_poll(struct nvof_ctx *ctx, int64_t timeout_us)
{
	int64_t timeout_ns = timeout_us;
	int ret;

	if (ctx->busy)
		return ctx_fail(ctx, -EDEADLK, "nvof_ctx_poll() from inside a callback: it is what calls that");
	if (timeout_us > 0)
		timeout_ns = timeout_us < INT64_MAX / 1000 ? timeout_us * 1000 : INT64_MAX;
	ctx->busy++;
	ret = loop_turn(ctx->loop, timeout_ns);
	ctx->busy--;
	return ret;
}

int nvof_ctx_fd(const struct nvof_ctx *ctx)
{
	return loop_pollfd(ctx->loop);
}

bool nvof_ctx_prepare_wait(struct nvof_ctx *ctx)
{
	bool ret;

	if (ctx->busy)
		return false;
	/* It runs deferred work, and callbacks with it. */
	ctx->busy++;
	ret = loop_prepare_wait(ctx->loop);
	ctx->busy--;
	return ret;
}

const char *nvof_ctx_errmsg(const struct nvof_ctx *ctx)
{
	return ctx->err.code ? error_msg(&ctx->err) : "";
}

int ctx_fail(struct nvof_ctx *ctx, int code, const char *fmt, ...)
{
	va_list ap;

	error_clear(&ctx->err);
	va_start(ap, fmt);
	error_vset(&ctx->err, code, fmt, ap);
	va_end(ap);
	return code;
}

int ctx_fail_error(struct nvof_ctx *ctx, struct error *err)
{
	error_move(&ctx->err, err);
	return ctx->err.code;
}

void ctx_set_transports(struct nvof_ctx *ctx, const struct host_transport *const *transports)
{
	ctx->transports = transports;
}
