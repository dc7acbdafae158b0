/* SPDX-License-Identifier: BSD-3-Clause */
/* One record of a discovery log is connected to. */
#include <errno.h>
#include <stdlib.h>

#include "host/ctrl.h"
#include "host/wave.h"

void wave_entry_end(struct wave_entry *e, enum nvof_outcome outcome, const char *reason)
{
	e->r.outcome = outcome;
	e->r.reason = reason ? reason : "";
	e->r.end_us = wave_now_us(e->wave);
}

void wave_entry_failed(struct wave_entry *e, struct error *err)
{
	error_move(&e->err, err);
	e->r.ctrl = NULL;
	e->r.status = e->err.code;
	wave_entry_end(e, NVOF_OUTCOME_FAILED, error_msg(&e->err));
}

void wave_connect_opts(const struct nvof_wave *w, const struct wave_place *place, struct nvof_connect_opts *o)
{
	*o = w->connect;
	o->transport = place->ops->name;
	o->traddr = place->traddr;
	o->trsvcid = place->trsvcid;
	o->subsysnqn = place->subsysnqn;
}

static void connect_failed(struct wave_entry *e, int status, const char *msg)
{
	struct error err = { 0 };

	error_set(&err, status, "%s", msg);
	nvof_ctrl_free(e->r.ctrl);
	wave_entry_failed(e, &err);
	async_op_end(&e->op, NULL);
}

static void connected(void *arg, struct nvof_ctrl *ctrl, int status)
{
	struct wave_entry *e = arg;

	if (!status && e->wave->cancelled)
		status = -ECANCELED;
	if (status) {
		connect_failed(e, status, *nvof_ctrl_errmsg(ctrl) ? nvof_ctrl_errmsg(ctrl) : "given up");
		return;
	}
	wave_entry_end(e, NVOF_OUTCOME_CONNECTED, NULL);
	async_op_end(&e->op, NULL);
}

static void connect_start(struct async_op *op)
{
	struct wave_entry *e = container_of(op, struct wave_entry, op);
	struct nvof_connect_opts o;
	int ret;

	e->r.start_us = wave_now_us(e->wave);
	wave_connect_opts(e->wave, &e->place, &o);
	ret = ctrl_connect(e->wave->ctx, &o, &e->wave->limit, connected, e, &e->r.ctrl);
	if (ret)
		connect_failed(e, ret, nvof_ctx_errmsg(e->wave->ctx));
}

static void connect_cancel(struct async_op *op)
{
	nvof_ctrl_free(container_of(op, struct wave_entry, op)->r.ctrl);
}

void wave_connect_add(struct wave_entry *e)
{
	e->op.start = connect_start;
	e->op.cancel = connect_cancel;
	e->wave->nr_ctrls++;
	async_domain_add(&e->wave->domain, &e->op);
}
