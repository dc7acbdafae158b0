/* SPDX-License-Identifier: BSD-3-Clause */
/* A visit to a discovery service: connect, read its log, disconnect.  What the log names is begun with before the disconnect is over. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/ctrl.h"
#include "host/wave.h"

/* err: NULL or its contents are taken. */
static void visit_end(struct wave_visit *v, struct error *err)
{
	struct nvof_wave *w = v->wave;

	nvof_ctrl_free(v->ctrl);
	v->ctrl = NULL;
	if (err && v->entry)
		wave_entry_failed(v->entry, err);
	else if (err)
		error_move(&w->err, err);
	/* Its own operation is still open: the domain can't be done from inside the close. */
	if (!--w->nr_open_visits && !w->cancelled)
		async_domain_close(&w->domain);
	async_op_end(&v->op, NULL);
}

static void visit_closed(void *arg, struct nvof_ctrl *ctrl, int status)
{
	visit_end(arg, NULL);
}

static void visit_failed(struct wave_visit *v, int status, const char *msg)
{
	struct error err = { 0 };

	error_set(&err, status, "%s", msg);
	visit_end(v, &err);
}

static void visit_read(void *arg, int status, struct nvof_disc_log *log)
{
	struct wave_visit *v = arg;

	v->log = log;
	if (!status && v->wave->cancelled)
		status = -ECANCELED;
	if (status) {
		visit_failed(v, status, nvof_ctrl_errmsg(v->ctrl));
		return;
	}
	if (wave_take_log(v)) {
		visit_failed(v, -ENOMEM, "no memory for the records of a discovery log");
		return;
	}
	if (v->entry)
		wave_entry_end(v->entry, NVOF_OUTCOME_FOLLOWED, NULL);
	/* A user of the ctx can't have it: it has not seen this ctrl. */
	nvof_ctrl_disconnect(v->ctrl, visit_closed, v);
}

static void visit_connected(void *arg, struct nvof_ctrl *ctrl, int status)
{
	struct wave_visit *v = arg;
	int ret;

	if (status) {
		visit_failed(v, status, nvof_ctrl_errmsg(ctrl));
		return;
	}
	ret = nvof_discover(ctrl, visit_read, v);
	if (ret)
		visit_failed(v, ret, "the discovery log can't be asked for");
}

static void visit_start(struct async_op *op)
{
	struct wave_visit *v = container_of(op, struct wave_visit, op);
	struct nvof_wave *w = v->wave;
	struct nvof_connect_opts o;
	int ret;

	if (v->entry)
		v->entry->r.start_us = wave_now_us(w);
	wave_connect_opts(w, &v->place, &o);
	o.keep_alive_tmo_ms = -1;
	o.ctrl_loss_tmo_ms = 0;
	o.event = NULL;
	ret = ctrl_connect(w->ctx, &o, &w->limit, visit_connected, v, &v->ctrl);
	if (ret)
		visit_failed(v, ret, nvof_ctx_errmsg(w->ctx));
}

/* Whatever is awaited ends from inside, or at the end of the turn. */
static void visit_cancel(struct async_op *op)
{
	nvof_ctrl_free(container_of(op, struct wave_visit, op)->ctrl);
}

static char *where_of(const struct wave_place *place)
{
	char *text = NULL;

	if (!place->traddr)
		return strdup(place->ops->name);
	if (asprintf(&text, strchr(place->traddr, ':') ? "[%s]:%s" : "%s:%s", place->traddr, place->trsvcid ? place->trsvcid : "8009") < 0)
		return NULL;
	return text;
}

int wave_visit_add(struct nvof_wave *w, const struct wave_place *place, unsigned int depth, struct wave_entry *entry)
{
	struct wave_visit *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	*v = (struct wave_visit){ .op = { .start = visit_start, .cancel = visit_cancel },
				  .wave = w,
				  .entry = entry,
				  .place = *place,
				  .depth = depth,
				  .where = where_of(place) };
	if (!v->where) {
		free(v);
		return -ENOMEM;
	}
	v->next = w->visits;
	w->visits = v;
	w->nr_visits++;
	w->nr_open_visits++;
	async_domain_add(&w->domain, &v->op);
	return 0;
}

void wave_visits_free(struct nvof_wave *w)
{
	struct wave_visit *v, *next;

	for (v = w->visits; v; v = next) {
		next = v->next;
		async_op_reset(&v->op);
		nvof_disc_log_free(v->log);
		free(v->where);
		free(v);
	}
}
