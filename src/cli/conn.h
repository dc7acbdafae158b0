/* SPDX-License-Identifier: BSD-3-Clause */
/* Addressing options (nvme-cli's) and the connection that a command works on. */
#ifndef NVOF_CLI_CONN_H
#define NVOF_CLI_CONN_H

#include <nvof/nvof.h>
#include <nvof/target.h>

#include "cli/cli.h"
#include "cli/opts.h"
#include "cli/target_spec.h"
#include "proto/uri.h"

struct conn_args {
	struct cli *cli;
	const char *transport, *traddr, *trsvcid, *host_traddr, *host_iface, *subsysnqn, *hostnqn, *hostid;
	uint32_t nr_io_queues; /* 0: not given */
	uint32_t queue_size;   /* 0: not given */
	int keep_alive_tmo_s;  /* -1: not given */
	uint64_t connect_tmo_ms, io_tmo_ms, reconnect_delay_ms;
	int ctrl_loss_tmo_s, fast_io_fail_tmo_s;
	uint32_t setup_concurrency;
	bool hdr_digest, data_digest, sqflow;
	int tos;
	uint32_t nsid; /* 0: not given */
	bool has_uri;
	struct nvof_uri uri;	  /* holds the texts that came from it */
	struct target_spec embed; /* -t loop: the target in this process */
};

struct conn {
	struct cli *cli;
	struct nvof_ctx *ctx;
	struct nvof_ctrl *ctrl;
	struct nvof_target *target;
};

void conn_args_init(struct conn_args *args, struct cli *cli);
void conn_args_clear(struct conn_args *args);
/*
 * opts_parse() for a command that connects: its own groups (up to two, ended by one without a title; may be NULL), those of the address,
 * and the common ones.  The positional argument is a URI.
 */
int conn_parse(const struct usage *usage, const struct opt_group *own, struct conn_args *args, int argc, char **argv);
/* A URI as the command line takes it; arg: the conn_args.  NULL when fine, else a sentence to free(). */
char *conn_positional(void *arg, const char *text);

enum conn_kind { CONN_ADMIN /* one I/O queue is enough */, CONN_IO, CONN_DISCOVERY };

/* A ctx, and with -t loop the target.  EXIT_OK, or what cli_error() or cli_usage_error() returned; conn_close() in both cases. */
int conn_prepare(struct conn *c, const struct conn_args *args, enum conn_kind kind);
/* Connects c->ctrl on what conn_prepare() made. */
int conn_connect(struct conn *c, const struct conn_args *args, enum conn_kind kind);
/* Both of the above. */
int conn_open(struct conn *c, const struct conn_args *args, enum conn_kind kind);
/* Disconnects in good order. */
void conn_disconnect(struct conn *c);
void conn_close(struct conn *c);
/* The nsid of the only namespace there is. */
int conn_only_nsid(struct conn *c, uint32_t *nsid);
/* Opens the namespace asked for; without --namespace-id the only one there is. */
int conn_open_ns(struct conn *c, const struct conn_args *args, struct nvof_ns **nsp);
/* What became of a command: 0, or a cli_error() that names it.  what: "read of blocks 0 to 7". */
int conn_status(struct conn *c, int status, const char *what);

/* A command in flight that is waited for. */
struct conn_wait {
	bool done;
	struct nvof_cpl cpl;
};
void conn_wait_cb(void *arg, const struct nvof_cpl *cpl); /* nvof_cb; arg: the conn_wait */
/* ret: what the submitting call returned.  Returns the status. */
int conn_wait(struct conn *c, struct conn_wait *w, int ret);

#endif
