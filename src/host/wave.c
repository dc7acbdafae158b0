/* SPDX-License-Identifier: BSD-3-Clause */
/* nvof_connect_all(): the wave's beginning, its end, and its results. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/ctrl.h"
#include "host/wave.h"

#define DEFAULT_DEPTH 8

void nvof_connect_all_opts_init(struct nvof_connect_all_opts *opts)
{
	memset(opts, 0, sizeof(*opts));
	opts->size = sizeof(*opts);
	opts->max_depth = DEFAULT_DEPTH;
	opts->duplicate_connect = 1;
}

double wave_now_us(const struct nvof_wave *w)
{
	return (double)(clock_ns() - w->start_ns) / NSEC_PER_USEC;
}

/* ---- the end ---- */

static void wave_release(struct nvof_wave *w)
{
	size_t i;

	for (i = 0; i < w->nr_entries; i++) {
		error_clear(&w->entries[i]->err);
		async_op_reset(&w->entries[i]->op);
		free(w->entries[i]->scoped);
		free(w->entries[i]);
	}
	free(w->entries);
	wave_visits_free(w);
	ctrl_params_clear(&w->first);
	for (i = 0; i < ARRAY_SIZE(w->texts); i++)
		free(w->texts[i]);
	error_clear(&w->err);
	cds_list_del(&w->link);
	free(w);
}

/* What was connected belongs to nobody yet; what waited was never begun with. */
static void give_up(struct nvof_wave *w, enum nvof_outcome outcome, const char *msg)
{
	struct error err = { 0 };
	size_t i;

	for (i = 0; i < w->nr_entries; i++) {
		struct wave_entry *e = w->entries[i];

		if (e->r.outcome != outcome)
			continue;
		nvof_ctrl_free(e->r.ctrl);
		error_set(&err, -ECANCELED, "%s", msg);
		wave_entry_failed(e, &err);
	}
}

static void wave_finish(struct nvof_wave *w)
{
	int status = w->cancelled ? -ECANCELED : w->err.code;

	give_up(w, NVOF_OUTCOME_PENDING, "the whole was given up");
	w->finished = true;
	w->in_cb = true;
	w->cb(w->arg, w, status);
	w->in_cb = false;
	if (w->freed)
		wave_release(w);
}

static void finish_work(struct loop_defer *d)
{
	wave_finish(container_of(d, struct nvof_wave, finish_work));
}

/* Put off: the last operation may end from inside nvof_connect_all(), or of a transport's work. */
static void domain_done(struct async_domain *domain)
{
	struct nvof_wave *w = container_of(domain, struct nvof_wave, domain);

	loop_defer(w->ctx->loop, &w->finish_work);
}

static void wave_cancel(struct nvof_wave *w)
{
	if (w->cancelled || w->finished)
		return;
	w->cancelled = true;
	give_up(w, NVOF_OUTCOME_CONNECTED, "it was connected when the whole was given up");
	async_domain_cancel(&w->domain, -ECANCELED);
	async_domain_close(&w->domain);
}

void nvof_wave_free(struct nvof_wave *w)
{
	if (!w || w->freed)
		return;
	w->freed = true;
	if (w->in_cb)
		return; /* wave_finish() goes on */
	if (w->finished) {
		wave_release(w);
		return;
	}
	wave_cancel(w);
	/* From a callback: ctrls go at the end of the turn, and then finish_work comes. */
	if (w->ctx->busy)
		return;
	loop_defer_cancel(&w->finish_work);
	wave_finish(w);
}

void waves_cancel(struct nvof_ctx *ctx)
{
	struct nvof_wave *w;

	cds_list_for_each_entry (w, &ctx->waves, link)
		wave_cancel(w);
}

void waves_free(struct nvof_ctx *ctx)
{
	struct nvof_wave *w;

	while (!cds_list_empty(&ctx->waves)) {
		w = cds_list_first_entry(&ctx->waves, struct nvof_wave, link);
		loop_defer_cancel(&w->finish_work);
		w->freed = true;
		if (w->finished)
			wave_release(w);
		else
			wave_finish(w);
	}
}

/* ---- the beginning ---- */

static int copy_connect(struct nvof_wave *w, const struct nvof_connect_opts *o, struct error *err)
{
	const char **fields[] = { &w->connect.transport,   &w->connect.traddr,	   &w->connect.trsvcid,
				  &w->connect.host_traddr, &w->connect.host_iface, &w->connect.subsysnqn,
				  &w->connect.hostnqn,	   &w->connect.hostid,	   &w->connect.io_cpus };
	size_t i;

	nvof_connect_opts_init(&w->connect);
	memcpy(&w->connect, o, o->size);
	w->connect.size = sizeof(w->connect);
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		if (!*fields[i])
			continue;
		w->texts[i] = strdup(*fields[i]);
		if (!w->texts[i])
			return error_set(err, -ENOMEM, "connect to all: no memory");
		*fields[i] = w->texts[i];
	}
	return 0;
}

static int wave_begin(struct nvof_wave *w, const struct nvof_connect_all_opts *o, struct error *err)
{
	struct wave_place place;

	/* As nvof_ctrl_connect() will read them: a mistake is told at once. */
	if (copy_connect(w, o->connect, err) || ctrl_params_init(&w->first, w->ctx, &w->connect, err))
		return err->code;
	place = (struct wave_place){ w->first.ops, w->connect.traddr, w->connect.trsvcid, w->first.subsysnqn };
	w->max_depth = o->max_depth;
	w->nr_duplicates = max_u32(o->duplicate_connect, 1);
	w->only = o->any_transport ? NULL : w->first.ops;
	w->start_ns = clock_ns();
	/* So many ctrls, and so many queues of all of them: 1 is one queue after the other. */
	async_limit_init(&w->limit, w->connect.setup_concurrency);
	async_domain_init(&w->domain, w->connect.setup_concurrency, domain_done);
	if (wave_visit_add(w, &place, 0, NULL))
		return error_set(err, -ENOMEM, "connect to all: no memory");
	return 0;
}

static int check_opts(const struct nvof_connect_all_opts *user, struct nvof_connect_all_opts *o, struct error *err)
{
	nvof_connect_all_opts_init(o);
	if (!user || user->size < sizeof(user->size) || user->size > sizeof(*o))
		return error_set(err, -EINVAL, "nvof_connect_all_opts: size %zu is not one that this library knows", user ? user->size : 0);
	memcpy(o, user, user->size);
	if (o->duplicate_connect > WAVE_MAX_DUPLICATES)
		return error_set(err, -EINVAL, "duplicate_connect %u: at most %u", o->duplicate_connect, WAVE_MAX_DUPLICATES);
	if (!connect_opts_size_known(o->connect))
		return error_set(err, -EINVAL, "nvof_connect_opts: size %zu is not one that this library knows",
				 o->connect ? o->connect->size : 0);
	return 0;
}

int nvof_connect_all(struct nvof_ctx *ctx, const struct nvof_connect_all_opts *opts, nvof_wave_cb *cb, void *arg, struct nvof_wave **wavep)
{
	struct nvof_connect_all_opts o;
	struct error err = { 0 };
	struct nvof_wave *w;

	*wavep = NULL;
	if (check_opts(opts, &o, &err))
		return ctx_fail_error(ctx, &err);
	w = calloc(1, sizeof(*w));
	if (!w)
		return ctx_fail(ctx, -ENOMEM, "connect to all: no memory");
	w->ctx = ctx;
	w->cb = cb;
	w->arg = arg;
	loop_defer_init(&w->finish_work, finish_work);
	cds_list_add_tail(&w->link, &ctx->waves);
	if (wave_begin(w, &o, &err)) {
		wave_release(w);
		return ctx_fail_error(ctx, &err);
	}
	*wavep = w;
	return 0;
}

/* ---- the results ---- */

size_t nvof_wave_nr_results(const struct nvof_wave *w)
{
	return w->nr_entries;
}

const struct nvof_wave_result *nvof_wave_result(const struct nvof_wave *w, size_t i)
{
	return i < w->nr_entries ? &w->entries[i]->r : NULL;
}

size_t nvof_wave_count(const struct nvof_wave *w, enum nvof_outcome outcome)
{
	size_t i, nr = 0;

	for (i = 0; i < w->nr_entries; i++)
		nr += w->entries[i]->r.outcome == outcome;
	return nr;
}

const char *nvof_wave_errmsg(const struct nvof_wave *w)
{
	return w->err.code ? error_msg(&w->err) : "";
}

const char *nvof_outcome_name(enum nvof_outcome outcome)
{
	static const char *const names[NVOF_NR_OUTCOMES] = {
		[NVOF_OUTCOME_PENDING] = "pending",   [NVOF_OUTCOME_CONNECTED] = "connected", [NVOF_OUTCOME_ALREADY] = "already connected",
		[NVOF_OUTCOME_FOLLOWED] = "followed", [NVOF_OUTCOME_SKIPPED] = "skipped",     [NVOF_OUTCOME_FAILED] = "failed",
	};

	return (unsigned int)outcome < NVOF_NR_OUTCOMES ? names[outcome] : "unknown";
}
