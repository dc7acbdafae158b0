/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A wave: connecting to all that discovery services tell, as one async_domain.
 *
 * Its operations are visits (a discovery service: connect, read the log, disconnect) and connects (one record).  A log that was read adds
 * operations; when no visit is left the domain is closed.
 */
#ifndef NVOF_HOST_WAVE_H
#define NVOF_HOST_WAVE_H

#include "base/async_domain.h"
#include "host/ctx.h"
#include "host/params.h"

#define WAVE_MAX_VISITS	    256
#define WAVE_MAX_CTRLS	    4096
#define WAVE_MAX_DUPLICATES 64u

/* Where a discovery service or a subsystem is. */
struct wave_place {
	const struct host_transport *ops;
	const char *traddr, *trsvcid, *subsysnqn; /* traddr and trsvcid NULL: the transport has none */
};

/* One record. */
struct wave_entry {
	struct async_op op;
	struct nvof_wave *wave;
	struct nvof_wave_result r; /* its texts are those below */
	struct wave_place place;
	uint32_t number; /* of several for one record, 0 ..: the others follow the first */
	char *scoped;	 /* owned: an address with the scope of the service's */
	struct error err;
};

struct wave_visit {
	struct async_op op;
	struct nvof_wave *wave;
	struct wave_visit *next;  /* in wave.visits */
	struct wave_entry *entry; /* the referral; NULL: the first service */
	struct wave_place place;
	unsigned int depth;
	char *where; /* owned: "192.0.2.7:8009" */
	struct nvof_ctrl *ctrl;
	struct nvof_disc_log *log; /* owned: the results point into it */
	struct error err;
};

struct nvof_wave {
	struct nvof_ctx *ctx;
	struct cds_list_head link; /* ctx->waves */
	struct nvof_connect_opts connect;
	char *texts[9];			   /* owned: those of connect */
	struct ctrl_params first;	   /* the same, checked and completed: who we are and where from */
	const struct host_transport *only; /* NULL: any */
	unsigned int max_depth;
	uint32_t nr_duplicates; /* ctrls for each record */
	uint64_t start_ns;
	struct async_domain domain;
	struct async_limit limit;
	struct wave_visit *visits;
	uint32_t nr_visits, nr_open_visits, nr_ctrls;
	struct wave_entry **entries;
	size_t nr_entries;
	struct error err; /* of the first visit */
	nvof_wave_cb *cb;
	void *arg;
	struct loop_defer finish_work;
	bool cancelled, finished, in_cb, freed;
};

/* wave.c: ends all that is under way; for nvof_ctx_free(): before and after its ctrls go. */
void waves_cancel(struct nvof_ctx *ctx);
void waves_free(struct nvof_ctx *ctx);
/* Microseconds since the start. */
double wave_now_us(const struct nvof_wave *w);

/* wave_visit.c.  entry NULL: the first service.  0 or -ENOMEM. */
int wave_visit_add(struct nvof_wave *w, const struct wave_place *place, unsigned int depth, struct wave_entry *entry);
void wave_visits_free(struct nvof_wave *w);

/* wave_connect.c: the outcome of an entry, once. */
void wave_entry_end(struct wave_entry *e, enum nvof_outcome outcome, const char *reason);
void wave_entry_failed(struct wave_entry *e, struct error *err); /* takes err's contents */
/* The options for a ctrl there. */
void wave_connect_opts(const struct nvof_wave *w, const struct wave_place *place, struct nvof_connect_opts *o);
/* Adds the operation. */
void wave_connect_add(struct wave_entry *e);

/* wave_log.c: a log was read: each record becomes an entry, is judged and begun with.  0 or -ENOMEM. */
int wave_take_log(struct wave_visit *v);

#endif
