/* SPDX-License-Identifier: BSD-3-Clause */
/* The ctrl: one association with a subsystem.  Each group of fields belongs to the file named beside it. */
#ifndef NVOF_HOST_CTRL_H
#define NVOF_HOST_CTRL_H

#include <nvof/nvof.h>
#include <urcu/list.h>

#include "base/error.h"
#include "base/loop.h"
#include "host/ctx.h"
#include "host/held.h"
#include "host/io_thread.h"
#include "host/ns_set.h"
#include "host/params.h"
#include "host/queue_delete.h"
#include "host/recovery.h"
#include "host/retry.h"
#include "host/timeline.h"
#include "transport/host_ops.h"

struct async_limit;
struct path;
struct queue_batch;

/* The reserved slots of the admin queue's tag set, for commands of the core of which at most one is under way. */
enum admin_slot {
	ADMIN_SLOT_CTL,	 /* Connect, initialisation, shutdown: one after the other */
	ADMIN_SLOT_INIT, /* of two steps of the initialisation, the second */
	ADMIN_SLOT_KEEP_ALIVE,
	ADMIN_SLOT_AER,
	ADMIN_NR_SLOTS,
};

/* ctrl_init.c */
struct ctrl_init {
	bool running;
	bool granted;		 /* the I/O queues may be set up */
	int queues_status;	 /* how they were refused; 0: they were not */
	unsigned int next;	 /* step */
	unsigned int again;	 /* the step that is repeated */
	uint32_t waiting;	 /* steps that were sent and not answered, a bit each */
	struct timer retry;	 /* CSTS.RDY is asked again */
	uint64_t ready_deadline; /* ns */
	uint64_t retry_ns;
	uint64_t cap;
	uint32_t cc;
	struct nvme_id_ctrl *id; /* owned */
	uint32_t span;
};

/* keepalive.c */
struct keep_alive {
	struct timer timer;
	uint64_t due;  /* ns, what the timer was set to */
	uint64_t sent; /* ns */
	bool running, inflight, off;
	bool traffic_based;
};

/* timeouts.c */
struct cmd_timer {
	struct timer timer;
	bool ticking; /* armed, or never needed */
	uint64_t tick;
	uint64_t tick_ns;
	uint64_t deadline; /* the tick at which a command submitted now is late; 0: never */
};

/* aer.c */
struct ctrl_events {
	struct timer pause; /* after a burst of events: the next one is asked for */
	uint64_t calm;
};

/* shutdown.c */
struct ctrl_shutdown {
	bool running;
	struct timer retry; /* CSTS.SHST is asked again */
	struct timer timeout;
	uint64_t retry_ns;
};

struct nvof_ctrl {
	struct nvof_ctx *ctx;
	struct loop *loop;
	struct cds_list_head link; /* ctx->ctrls */
	struct ctrl_params p;

	/* what a command looks at */
	enum nvof_ctrl_state state; /* changed by ctrl_set_state() alone */
	struct held held;
	struct retries retries;
	bool traffic; /* some command was answered since the keep alive's timer looked */
	struct cmd_timer cmd_timer;

	struct error err;    /* why the connect failed or the ctrl was lost */
	struct error op_err; /* of the last composite command that failed (namespace open, discovery) */
	char *address;	     /* owned */

	/* queues; hctxs stay until the ctrl goes, queues only while it is connected */
	struct host_endpoint *ep;
	struct host_tags admin_tags;
	struct host_queue *admin;
	struct nvof_hctx **hctxs;
	uint32_t nr_hctx, nr_own_hctx; /* own: those that have queues of their own now, the first ones */
	uint32_t nr_live_queues;
	struct io_threads io; /* none: queues are served by the ctx's own loop */

	/* what the ctrl told us */
	uint16_t cntlid;
	uint32_t vs;
	uint32_t queue_size; /* of I/O queues */
	uint32_t nr_granted;
	uint32_t inline_len;			 /* of I/O queues */
	size_t max_transfer;			 /* bytes; SIZE_MAX: no limit */
	bool gives_descriptors;			 /* it has answered CNS 03h for some namespace */
	bool has_nvm_limits;			 /* ns_identify() asked for wzsl and vsl */
	uint32_t max_zeroes_len, max_verify_len; /* bytes; UINT32_MAX: no limit */

	/* ctrl_connect.c */
	nvof_connect_cb *connect_cb;
	void *connect_arg;
	bool connecting;		 /* connect_cb is still to be called */
	struct async_limit *setup_limit; /* of queues set up at once, shared with other ctrls that are connecting; NULL: none */
	struct queue_batch *batch;	 /* under way: the admin queue, or the I/O queues */
	bool plain_order;		 /* no early links: the peer objected to them */
	bool told_objection;		 /* that was said */
	struct ctrl_init init;
	struct timer connect_timer;
	uint32_t connect_tmo_ms; /* what it was set to */
	struct timeline timeline;
	double init_done_us, live_us;

	struct path *path; /* subsystem.c; NULL: of no subsystem */
	struct recovery recovery;
	struct loop_defer reset_work;
	struct cds_list_head renewals; /* renew.c */

	/* disconnect.c */
	nvof_connect_cb *disconnect_cb;
	void *disconnect_arg;
	bool disconnecting; /* disconnect_cb is still to be called */
	int disconnect_status;
	bool disconnect_silent; /* nobody is there to say good-bye to */
	struct loop_defer disconnect_work;
	struct queue_delete queue_delete;
	uint64_t disconnect_start, namespaces_gone, disconnect_end; /* ns; 0: not yet */
	struct ctrl_shutdown shutdown;

	/* ctrl.c */
	bool freeing; /* nvof_ctrl_free() was called */
	struct loop_defer free_work;

	struct keep_alive ka;
	struct ctrl_events aer;
	struct nvof_ctrl_stats stats;
	struct ns_set nss;
};

/* ctrl_state.c: the one door.  False: the table does not allow it (losing a race with delete is normal). */
bool ctrl_set_state(struct nvof_ctrl *ctrl, enum nvof_ctrl_state to, const char *why);
/* Tells the event callback that the state changed.  From the loop only. */
void ctrl_tell_state(struct nvof_ctrl *ctrl);
void ctrl_tell_event(struct nvof_ctrl *ctrl, enum nvof_event_type type, uint32_t raw);
void ctrl_tell(struct nvof_ctrl *ctrl, const struct nvof_event *event);

/* Each prepares its part of a new ctrl. */
void ctrl_init_setup(struct nvof_ctrl *ctrl);
void ctrl_disconnect_setup(struct nvof_ctrl *ctrl);
void ctrl_shutdown_setup(struct nvof_ctrl *ctrl);
void keep_alive_setup(struct nvof_ctrl *ctrl);
void aer_setup(struct nvof_ctrl *ctrl);
void cmd_timer_setup(struct nvof_ctrl *ctrl);

/* ctrl.c: closes and frees at once; not while callbacks run (ctx->busy). */
void ctrl_destroy(struct nvof_ctrl *ctrl);

/* ctrl_connect.c */
/* nvof_ctrl_connect() of one among several: limit (may be NULL) is theirs together, and is not touched any more once cb ran. */
int ctrl_connect(struct nvof_ctx *ctx, const struct nvof_connect_opts *opts, struct async_limit *limit, nvof_connect_cb *cb, void *arg,
		 struct nvof_ctrl **ctrlp);
void ctrl_connect_failed(struct nvof_ctrl *ctrl, struct error *err); /* takes err's contents */
void ctrl_connect_end(struct nvof_ctrl *ctrl, int status);
/* The first step of a connect and of each attempt to reconnect: the admin queue.  0 or -ENOMEM with a sentence. */
int ctrl_connect_begin(struct nvof_ctrl *ctrl, uint32_t tmo_ms, struct error *err);

/* ctrl_init.c: Property Get CAP ... Set Features, on a LIVE admin queue; done when all is known, else the admin queue fails. */
void ctrl_init_start(struct nvof_ctrl *ctrl);
void ctrl_init_stop(struct nvof_ctrl *ctrl);
void ctrl_init_timeout(struct nvof_ctrl *ctrl, uint32_t tmo_ms);
/* ctrl_connect.c's: how many I/O queues there may be is known, these can begin; and nothing of the initialisation is left */
void ctrl_init_granted(struct nvof_ctrl *ctrl);
void ctrl_init_done(struct nvof_ctrl *ctrl);
/* init_check.c: 0, or the admin queue has failed with a sentence that names the field. */
int ctrl_check_identify(struct nvof_ctrl *ctrl);

/* recovery.c: I/O that meets a lost connection waits for the next one. */
bool ctrl_recovers(const struct nvof_ctrl *ctrl);

/* teardown.c */
void ctrl_refuse_io(struct nvof_ctrl *ctrl);
void ctrl_accept_io(struct nvof_ctrl *ctrl);
/* New I/O is refused, and all that is under way or held ends with status (negative).  The queues are stopped. */
void ctrl_end_io(struct nvof_ctrl *ctrl, int status);
/* Stops all I/O queues together, ends their commands with status (negative), frees them. */
void ctrl_stop_io(struct nvof_ctrl *ctrl, int status);
/* The same for every queue, the admin queue last; and what runs beside them (keep alive, time-outs, initialisation). */
void ctrl_stop(struct nvof_ctrl *ctrl, int status);
/* The same, but I/O that may be sent again is held, and new I/O with it; the rest ends with status. */
void ctrl_suspend(struct nvof_ctrl *ctrl, int status);

/* disconnect.c */
void ctrl_disconnect_end(struct nvof_ctrl *ctrl); /* of a DEAD ctrl */
void ctrl_disconnect_queue_lost(struct nvof_ctrl *ctrl, struct host_queue *q);
void ctrl_namespaces_gone(struct nvof_ctrl *ctrl); /* ns_remove.c: what ns_remove_all() began is over */

/* shutdown.c: tells the ctrl (CC.SHN) and waits for CSTS.SHST; then calls ctrl_shutdown_done(): 0 or -ETIMEDOUT. */
void ctrl_shutdown_start(struct nvof_ctrl *ctrl);
void ctrl_shutdown_stop(struct nvof_ctrl *ctrl);
void ctrl_shutdown_done(struct nvof_ctrl *ctrl, int status);

/* keepalive.c */
void keep_alive_start(struct nvof_ctrl *ctrl);
void keep_alive_stop(struct nvof_ctrl *ctrl);

/* aer.c */
void aer_start(struct nvof_ctrl *ctrl);
void aer_stop(struct nvof_ctrl *ctrl);
/* The events of Identify's OAES that we ask for. */
uint32_t aer_supported(const struct nvof_ctrl *ctrl);

/* timeouts.c */
void cmd_timer_init(struct nvof_ctrl *ctrl); /* also after cmd_timer_stop(): time-outs count again */
void cmd_timer_arm(struct nvof_ctrl *ctrl);
void cmd_timer_stop(struct nvof_ctrl *ctrl);
/* A command that is submitted now: when it is late.  No clock is read. */
static inline uint64_t cmd_deadline(struct nvof_ctrl *ctrl)
{
	if (unlikely(!ctrl->cmd_timer.ticking))
		cmd_timer_arm(ctrl);
	return ctrl->cmd_timer.deadline;
}

#endif
