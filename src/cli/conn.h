/* SPDX-License-Identifier: BSD-3-Clause */
/* Addressing options (nvme-cli's) and the connection that a command works on. */
#ifndef NVOF_CLI_CONN_H
#define NVOF_CLI_CONN_H

#include <limits.h>

#include <nvof/nvof.h>
#include <nvof/target.h>

#include "cli/cli.h"
#include "cli/opts.h"
#include "cli/stop.h"
#include "cli/target_spec.h"
#include "proto/uri.h"

#define CONN_MAX_PATHS 15
#define CONN_NOT_GIVEN INT_MIN

struct conn_args {
	struct cli *cli;
	const char *transport, *traddr, *trsvcid, *host_traddr, *host_iface, *subsysnqn, *hostnqn, *hostid;
	uint32_t nr_io_queues; /* 0: not given */
	uint32_t queue_size;   /* 0: not given */
	int keep_alive_tmo_s;  /* -1: not given */
	uint64_t connect_tmo_ms, io_tmo_ms;
	uint64_t reconnect_delay_ms; /* 0: not given */
	uint64_t remove_timeout_ms;
	int ctrl_loss_tmo_s, fast_io_fail_tmo_s; /* CONN_NOT_GIVEN: the latter */
	bool reconnects;			 /* the command does so itself, without --ctrl-loss-tmo */
	uint32_t setup_concurrency, removal_concurrency;
	bool no_early_links;
	uint32_t queues_per_hctx; /* 0: default */
	enum nvof_policy policy;
	bool has_policy; /* it was given */
	uint32_t io_threads;
	const char *io_cpus;		   /* NULL: not given */
	const char *paths[CONN_MAX_PATHS]; /* further addresses: "tcp:192.0.2.7:4420" */
	uint32_t nr_paths;
	uint32_t nr_duplicates; /* ctrls at each address; 0: not given */
	enum nvof_iopolicy iopolicy;
	bool has_iopolicy; /* it was given */
	bool hdr_digest, data_digest, sqflow;
	int tos;
	uint32_t nsid; /* 0: not given */
	bool crowd;    /* of ctrls: what befalls one of them is counted and not said, unless with -v */
	bool has_uri;
	struct nvof_uri uri;	  /* holds the texts that came from it */
	struct target_spec embed; /* -t loop: the target in this process */
};

struct conn {
	struct cli *cli;
	struct nvof_ctx *ctx;
	struct nvof_ctrl *ctrl;	       /* the only one, or the first */
	struct nvof_subsystem *subsys; /* NULL: one ctrl, no choice of paths */
	struct nvof_ctrl **ctrls;      /* owned; all of subsys */
	size_t nr_ctrls;
	struct nvof_target *target;
	bool told_queues;     /* that fewer were granted than asked for: said once */
	nvof_event_cb *event; /* of ctrls that are connected from now on; NULL: none */
	void *event_arg;
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

enum conn_kind {
	CONN_ADMIN,  /* one ctrl, and one I/O queue is enough */
	CONN_IO_ONE, /* one I/O queue is enough; by any path */
	CONN_IO,
	CONN_DISCOVERY,
};

/* A ctx, and with -t loop the target.  EXIT_OK, or what cli_error() or cli_usage_error() returned; conn_close() in both cases. */
int conn_prepare(struct conn *c, const struct conn_args *args, enum conn_kind kind);
/* How a ctrl on what conn_prepare() made is connected to. */
void conn_fill_opts(struct nvof_connect_opts *opts, const struct conn *c, const struct conn_args *args, enum conn_kind kind);
/* Connects c->ctrl on what conn_prepare() made; after a failure it is there as well, with its timeline. */
int conn_connect(struct conn *c, const struct conn_args *args, enum conn_kind kind);
/* The same, but a signal ends it: EXIT_FAILED without a word. */
int conn_connect_until(struct conn *c, const struct conn_args *args, enum conn_kind kind, struct stop *stop);
/* conn_prepare(), and all ctrls that args name, where the kind of work allows for several. */
int conn_open(struct conn *c, const struct conn_args *args, enum conn_kind kind);
/* Disconnects in good order. */
void conn_disconnect(struct conn *c);
/* The same, but a signal cuts it short; then *times, which may be NULL, is all 0. */
void conn_disconnect_until(struct conn *c, struct stop *stop, struct nvof_disconnect_times *times);
void conn_close(struct conn *c);

/* ---- conn_paths.c ---- */

bool conn_has_paths(const struct conn_args *args); /* more than one ctrl is asked for */
/* EXIT_OK, or EXIT_USAGE with a sentence when they are. */
int conn_only_one(const struct conn_args *args);
int conn_connect_paths(struct conn *c, const struct conn_args *args, enum conn_kind kind);
void conn_disconnect_paths(struct conn *c);
/* Without a word to the other end: I/O under way ends from inside, or, when it waits for a path, in the next turns. */
void conn_forget(struct conn *c);
/* Of the ctrl, or of the subsystem where there are several. */
unsigned int conn_nr_hctx(const struct conn *c);
struct nvof_hctx *conn_hctx(const struct conn *c, unsigned int i);
unsigned int conn_nr_io_queues(const struct conn *c);
/* The i-th I/O thread of all its ctrls.  False: there are no more. */
bool conn_io_thread(const struct conn *c, unsigned int i, struct nvof_io_thread *info);
/* How ctrl's path leads to a subsystem's namespace; false: it does not, or no more. */
bool conn_path_there(const struct nvof_ns *ns, const struct nvof_ctrl *ctrl, struct nvof_path *path);
/* conn_open_ns() for a subsystem; nsid 0: the only one. */
int conn_open_shared_ns(struct conn *c, uint32_t nsid, struct nvof_ns **nsp);
/* Options: --path, --iopolicy. */
char *opt_path(void *base, const char *value);
char *opt_iopolicy(void *base, const char *value);

/* Adds "nr_io_queues", those granted, and "nr_io_queues_asked"; 0: no number was. */
void conn_queues_json(uint64_t asked, unsigned int granted, json_object *doc);
/* The nsid of the only namespace there is. */
int conn_only_nsid(struct conn *c, uint32_t *nsid);
/* Opens the namespace asked for; without --namespace-id the only one there is. */
int conn_open_ns(struct conn *c, const struct conn_args *args, struct nvof_ns **nsp);
/* A status of I/O on ctrl, in words that say what it means there: "the namespace is gone".  Returns buf. */
const char *conn_status_words(const struct nvof_ctrl *ctrl, int status, char *buf, size_t len);
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
