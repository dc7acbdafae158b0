/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocking calls: thin loops over the asynchronous ones. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/ctrl.h"
#include "host/hctx.h"
#include "host/subsystem.h"

struct wait {
	bool done;
	int status;
	uint64_t result;
	void *ptr;
	size_t nr;
};

static int may_block(struct nvof_ctx *ctx)
{
	return ctx->busy ? ctx_fail(ctx, -EDEADLK, "a blocking call from inside a callback would wait for itself") : 0;
}

static void wait_for(struct nvof_ctx *ctx, struct wait *w)
{
	while (!w->done)
		nvof_ctx_poll(ctx, -1);
}

static void wait_cb(void *arg, const struct nvof_cpl *cpl)
{
	struct wait *w = arg;

	w->status = cpl->status;
	w->result = cpl->result;
	w->done = true;
}

/* The end of a call on a ctrl: its sentence, when it failed, is the ctx's now. */
static int ended(struct nvof_ctrl *ctrl, const char *what, int status)
{
	char text[150];

	if (!status)
		return 0;
	if (ctrl->err.code)
		return ctx_fail(ctrl->ctx, status, "%s: %s", what, error_msg(&ctrl->err));
	return ctx_fail(ctrl->ctx, status, "%s at %s: %s", what, ctrl->p.where, nvof_status_str(status, text, sizeof(text)));
}

/* Of a subsystem. */
static int ended_there(const struct nvof_subsystem *s, const char *what, int status)
{
	char text[150];

	if (!status)
		return 0;
	if (s->err.code == status)
		return ctx_fail(s->ctx, status, "%s: %s", what, error_msg(&s->err));
	return ctx_fail(s->ctx, status, "%s of %s: %s", what, s->nqn, nvof_status_str(status, text, sizeof(text)));
}

static int ended_io(const struct nvof_hctx *hctx, const char *what, int status)
{
	return hctx->subsys ? ended_there(hctx->subsys, what, status) : ended(hctx->ctrl, what, status);
}

/* The same for calls that leave a sentence of their own on the ctrl. */
static int ended_op(struct nvof_ctrl *ctrl, const char *what, int status)
{
	if (status && !ctrl->err.code && ctrl->op_err.code == status)
		return ctx_fail(ctrl->ctx, status, "%s", error_msg(&ctrl->op_err));
	return ended(ctrl, what, status);
}

/* Calls `expr` until it is not -EAGAIN, polling in between, then waits for its callback. */
#define RUN(ctrl, w, expr) RUN_ON((ctrl)->ctx, w, expr)
#define RUN_ON(ctx, w, expr)                               \
	({                                                 \
		int _ret = may_block(ctx);                 \
		if (!_ret) {                               \
			while ((_ret = (expr)) == -EAGAIN) \
				nvof_ctx_poll(ctx, -1);    \
			if (!_ret) {                       \
				wait_for(ctx, (w));        \
				_ret = (w)->status;        \
			}                                  \
		}                                          \
		_ret;                                      \
	})

static struct nvof_ctx *hctx_ctx(const struct nvof_hctx *hctx)
{
	return hctx->subsys ? hctx->subsys->ctx : hctx->ctrl->ctx;
}

static void connect_cb(void *arg, struct nvof_ctrl *ctrl, int status)
{
	struct wait *w = arg;

	w->status = status;
	w->done = true;
}

int nvof_ctrl_connect_sync(struct nvof_ctx *ctx, const struct nvof_connect_opts *opts, struct nvof_ctrl **ctrlp)
{
	struct wait w = { 0 };
	int ret = may_block(ctx);

	*ctrlp = NULL;
	if (!ret)
		ret = nvof_ctrl_connect(ctx, opts, connect_cb, &w, ctrlp);
	if (ret)
		return ret;
	wait_for(ctx, &w);
	if (w.status) {
		ctx_fail(ctx, w.status, "%s", nvof_ctrl_errmsg(*ctrlp));
		nvof_ctrl_free(*ctrlp);
		*ctrlp = NULL;
	}
	return w.status;
}

int nvof_ctrl_disconnect_sync(struct nvof_ctrl *ctrl)
{
	struct wait w = { 0 };
	int ret = RUN(ctrl, &w, nvof_ctrl_disconnect(ctrl, connect_cb, &w));

	return ended(ctrl, "disconnect", ret);
}

int nvof_admin_passthru_sync(struct nvof_ctrl *ctrl, const struct nvof_cmd *cmd, enum nvof_dir dir, void *buf, size_t len, uint64_t *result)
{
	struct wait w = { 0 };
	int ret = RUN(ctrl, &w, nvof_admin_passthru(ctrl, cmd, dir, buf, len, wait_cb, &w));

	if (result)
		*result = w.result;
	return ended(ctrl, "admin command", ret);
}

int nvof_identify_sync(struct nvof_ctrl *ctrl, uint8_t cns, uint32_t nsid, void *buf)
{
	struct wait w = { 0 };
	int ret = RUN(ctrl, &w, nvof_identify(ctrl, cns, nsid, 0, 0, buf, wait_cb, &w));

	return ended(ctrl, "Identify", ret);
}

int nvof_get_log_sync(struct nvof_ctrl *ctrl, uint8_t lid, uint8_t lsp, bool rae, uint32_t nsid, uint64_t offset, void *buf, size_t len)
{
	struct wait w = { 0 };
	int ret = RUN(ctrl, &w, nvof_get_log(ctrl, lid, lsp, rae, nsid, offset, buf, len, wait_cb, &w));

	return ended(ctrl, "Get Log Page", ret);
}

static void disc_cb(void *arg, int status, struct nvof_disc_log *log)
{
	struct wait *w = arg;

	w->status = status;
	w->ptr = log;
	w->done = true;
}

int nvof_discover_sync(struct nvof_ctrl *ctrl, struct nvof_disc_log **logp)
{
	struct wait w = { 0 };
	int ret = RUN(ctrl, &w, nvof_discover(ctrl, disc_cb, &w));

	*logp = w.ptr;
	return ended_op(ctrl, "read the discovery log", ret);
}

static void wave_cb(void *arg, struct nvof_wave *wave, int status)
{
	struct wait *w = arg;

	w->status = status;
	w->done = true;
}

int nvof_connect_all_sync(struct nvof_ctx *ctx, const struct nvof_connect_all_opts *opts, struct nvof_wave **wavep)
{
	struct wait w = { 0 };
	int ret = may_block(ctx);

	*wavep = NULL;
	if (!ret)
		ret = nvof_connect_all(ctx, opts, wave_cb, &w, wavep);
	if (ret)
		return ret;
	wait_for(ctx, &w);
	if (w.status) {
		ctx_fail(ctx, w.status, "%s", nvof_wave_errmsg(*wavep));
		nvof_wave_free(*wavep);
		*wavep = NULL;
	}
	return w.status;
}

static void ns_list_cb(void *arg, int status, const uint32_t *nsids, size_t nr)
{
	struct wait *w = arg;

	w->status = status;
	if (!status) {
		w->ptr = malloc(nr ? nr * sizeof(*nsids) : 1);
		w->nr = nr;
		if (!w->ptr)
			w->status = -ENOMEM;
		else if (nr)
			memcpy(w->ptr, nsids, nr * sizeof(*nsids));
	}
	w->done = true;
}

int nvof_ns_list_sync(struct nvof_ctrl *ctrl, uint32_t **nsidsp, size_t *nrp)
{
	struct wait w = { 0 };
	int ret = RUN(ctrl, &w, nvof_ns_list(ctrl, ns_list_cb, &w));

	*nsidsp = w.ptr;
	*nrp = w.ptr ? w.nr : 0;
	return ended_op(ctrl, "list namespaces", ret);
}

static void ns_cb(void *arg, int status, struct nvof_ns *ns)
{
	struct wait *w = arg;

	w->status = status;
	w->ptr = ns;
	w->done = true;
}

int nvof_ns_open_sync(struct nvof_ctrl *ctrl, uint32_t nsid, struct nvof_ns **nsp)
{
	struct wait w = { 0 };
	int ret = RUN(ctrl, &w, nvof_ns_open(ctrl, nsid, ns_cb, &w));

	*nsp = w.ptr;
	return ended_op(ctrl, "open namespace", ret);
}

int nvof_read_sync(struct nvof_hctx *hctx, struct nvof_ns *ns, uint64_t slba, uint32_t nlb, void *buf, unsigned int flags)
{
	struct wait w = { 0 };
	int ret = RUN_ON(hctx_ctx(hctx), &w, nvof_read(hctx, ns, slba, nlb, buf, flags, wait_cb, &w));

	return ended_io(hctx, "read", ret);
}

int nvof_write_sync(struct nvof_hctx *hctx, struct nvof_ns *ns, uint64_t slba, uint32_t nlb, const void *buf, unsigned int flags)
{
	struct wait w = { 0 };
	int ret = RUN_ON(hctx_ctx(hctx), &w, nvof_write(hctx, ns, slba, nlb, buf, flags, wait_cb, &w));

	return ended_io(hctx, "write", ret);
}

static void scan_cb(void *arg, int status)
{
	struct wait *w = arg;

	w->status = status;
	w->done = true;
}

int nvof_ns_scan_sync(struct nvof_ctrl *ctrl)
{
	struct wait w = { 0 };
	int ret = RUN(ctrl, &w, nvof_ns_scan(ctrl, scan_cb, &w));

	return ended_op(ctrl, "look at the namespaces", ret);
}

int nvof_subsystem_scan_sync(struct nvof_subsystem *s)
{
	struct wait w = { 0 };
	int ret = RUN(s, &w, nvof_subsystem_scan(s, scan_cb, &w));

	return ended_there(s, "look at the namespaces", ret);
}
