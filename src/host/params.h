/* SPDX-License-Identifier: BSD-3-Clause */
/* What nvof_connect_opts said, checked, completed and owned. */
#ifndef NVOF_HOST_PARAMS_H
#define NVOF_HOST_PARAMS_H

#include <nvof/nvof.h>

#include "base/cpu_list.h"
#include "base/error.h"
#include "transport/host_ops.h"

#define QUEUE_SIZE_MIN	    2
#define QUEUE_SIZE_MAX	    1024
#define NR_IO_QUEUES_MAX    65535
#define QUEUES_PER_HCTX_MAX 16

struct ctrl_params {
	const struct host_transport *ops;
	char *traddr, *trsvcid, *host_traddr, *host_iface, *subsysnqn, *hostnqn; /* owned; the last two never NULL */
	char *where;								 /* owned: "192.0.2.7:4420", for sentences */
	uint8_t hostid[16];
	char hostid_text[37];
	bool is_discovery;
	bool disable_sqflow;
	bool no_early_links;
	uint32_t nr_io_queues, queue_size;
	uint32_t queues_per_hctx;
	enum nvof_policy policy;
	uint32_t kato_ms, connect_tmo_ms, io_tmo_ms;
	uint32_t setup_concurrency;
	int ctrl_loss_tmo_ms;	     /* 0: no reconnect; -1: for ever */
	uint32_t reconnect_delay_ms; /* at least 1 */
	int fast_io_fail_tmo_ms;     /* -1: I/O waits as long as the ctrl is tried */
	uint32_t remove_timeout_ms, removal_concurrency;
	uint32_t io_threads;
	struct cpu_list io_cpus;      /* owned */
	struct host_link_params link; /* its texts are those above */
	nvof_event_cb *event;
	void *event_arg;
};

/* 0, or a negative errno and a sentence that names the argument.  On failure *p needs no clearing. */
/* opts is as long as some version of it was, and no longer than this library knows. */
bool connect_opts_size_known(const struct nvof_connect_opts *opts);
int ctrl_params_init(struct ctrl_params *p, struct nvof_ctx *ctx, const struct nvof_connect_opts *opts, struct error *err);
void ctrl_params_clear(struct ctrl_params *p);

#endif
