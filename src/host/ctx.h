/* SPDX-License-Identifier: BSD-3-Clause */
/* The ctx: a loop, a log, and the ctrls that live in it. */
#ifndef NVOF_HOST_CTX_H
#define NVOF_HOST_CTX_H

#include <nvof/nvof.h>
#include <urcu/list.h>

#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem_regions.h"
#include "transport/host_ops.h"

struct nvof_ctx {
	struct loop *loop;
	uint64_t spin_ns;    /* of this loop and those of I/O threads, unless those are too many */
	unsigned int crowds; /* ctrls whose I/O threads are */
	struct log log;
	void (*user_log)(void *log_arg, enum nvof_log_level level, const char *msg);
	void *user_log_arg;
	const struct host_transport *const *transports; /* NULL-terminated */
	struct cds_list_head ctrls;			/* nvof_ctrl.link */
	struct cds_list_head waves;			/* nvof_wave.link */
	struct cds_list_head subsystems;		/* nvof_subsystem.link */
	struct mem_regions regions;			/* nvof_buf_register() */
	struct error err;				/* of the last call that failed at once or blocking */
	/* Callbacks may be running: queues must not be stopped nor memory go now, such things wait for the end of the turn. */
	unsigned int busy;
};

/* The sentence for nvof_ctx_errmsg(); replaces the one before.  Returns code. */
int ctx_fail(struct nvof_ctx *ctx, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Takes err's contents; returns its code. */
int ctx_fail_error(struct nvof_ctx *ctx, struct error *err);

/* For tests: transports other than those of this build. */
void ctx_set_transports(struct nvof_ctx *ctx, const struct host_transport *const *transports);

#endif
