/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * DOC: libnvof - an NVMe over Fabrics host in user space
 *
 * Objects: a ctx (a loop and what its ctrls share), a ctrl (one association with a subsystem: the admin queue and its I/O queues), a hctx
 * (one submitter's view of a ctrl: a queue and its request slots), an ns (a namespace as one ctrl shows it).
 *
 * Threads: a ctx and everything made from it is used by one thread at a time; nothing runs behind its back.  Different ctxs are
 * independent: one each for as many threads as you like.
 *
 * Progress happens only inside nvof_ctx_poll() and the blocking calls (nvof_*_sync).  To sleep in an event loop of your own wait for
 * nvof_ctx_fd() (see there).
 *
 * Callbacks run from inside those calls, never from inside the call that started the work.  They may call everything except
 * nvof_ctx_poll(), nvof_ctx_free() and the _sync calls (which return -EDEADLK then).
 *
 * Results ("status" below): 0 is success; a negative errno says what happened here; a positive value is an NVMe status as the ctrl sent it:
 * SCT << 8 | SC, plus 0x4000 (DNR) and 0x2000 (More).  nvof_status_str() puts it in words.  The sentence that belongs to a failed connect,
 * or to the loss of a ctrl, is in nvof_ctrl_errmsg().
 */
#ifndef NVOF_NVOF_H
#define NVOF_NVOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <nvme/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define NVOF_PUBLIC __attribute__((visibility("default")))
#else
#define NVOF_PUBLIC
#endif

struct nvof_ctx;
struct nvof_ctrl;
struct nvof_hctx;
struct nvof_ns;
struct nvof_target; /* see nvof/target.h */

/* ---------------------------------------------------------------------------------------------------------------- ctx */

enum nvof_log_level { NVOF_LOG_ERROR, NVOF_LOG_WARN, NVOF_LOG_INFO, NVOF_LOG_DEBUG };

/**
 * struct nvof_ctx_opts - how to make a ctx
 * @size:      sizeof(struct nvof_ctx_opts): lets the struct grow
 * @log:       called with each log line, without newline; NULL: silent
 * @log_arg:   first argument of @log
 * @log_level: lines up to this level
 * @spin_us:   how long a waiting nvof_ctx_poll() spins after the last work before it sleeps, in microseconds; 0: not at all.
 *             nvof_ctx_opts_init() sets 50 when more than one CPU is usable, else 0
 */
struct nvof_ctx_opts {
	size_t size;
	void (*log)(void *log_arg, enum nvof_log_level level, const char *msg);
	void *log_arg;
	enum nvof_log_level log_level;
	unsigned int spin_us;
};

/** nvof_ctx_opts_init() - fill in the defaults (silent, LOG_WARN) */
NVOF_PUBLIC void nvof_ctx_opts_init(struct nvof_ctx_opts *opts);

/**
 * nvof_ctx_new() - make a ctx
 * @opts: NULL for the defaults; copied
 * @ctxp: the new ctx; nvof_ctx_free() it
 *
 * Return: 0; -ENOMEM; -EMFILE/-ENFILE (an epoll and an event descriptor are needed); -EINVAL (@opts->size).
 */
NVOF_PUBLIC int nvof_ctx_new(const struct nvof_ctx_opts *opts, struct nvof_ctx **ctxp);

/**
 * nvof_ctx_free() - free a ctx and every ctrl that is left in it
 * @ctx: NULL is fine.  Not from a callback.
 *
 * Ctrls that still exist are closed at once, without a word to the peer: nvof_ctrl_disconnect() them first.  I/O in flight ends with
 * -ECANCELED from inside this call.
 */
NVOF_PUBLIC void nvof_ctx_free(struct nvof_ctx *ctx);

/**
 * nvof_ctx_poll() - make progress
 * @ctx:        not from a callback of the same ctx
 * @timeout_us: 0 only looks (a polled application calls this in a row); > 0 waits at most so many microseconds; -1 waits until something
 * happened
 *
 * Sends what was submitted, receives, runs callbacks, keep-alive and time-outs.
 *
 * Return: the number of descriptors, timers and messages that were served, 0 when nothing happened.
 */
NVOF_PUBLIC int nvof_ctx_poll(struct nvof_ctx *ctx, int64_t timeout_us);

/**
 * nvof_ctx_fd() - a descriptor for your own event loop
 *
 * It becomes readable when nvof_ctx_poll(ctx, 0) would find work.  Before each sleep on it call nvof_ctx_prepare_wait(): that sends what
 * was submitted and arms the timers.  The descriptor is the ctx's: only wait for it (EPOLLIN), do not read or close it.
 *
 * Return: the descriptor, valid until nvof_ctx_free().
 */
NVOF_PUBLIC int nvof_ctx_fd(const struct nvof_ctx *ctx);

/**
 * nvof_ctx_prepare_wait() - before sleeping on nvof_ctx_fd()
 *
 * Return: true: go to sleep; false: there is work already, call nvof_ctx_poll(ctx, 0) first.
 */
NVOF_PUBLIC bool nvof_ctx_prepare_wait(struct nvof_ctx *ctx);

/* ---------------------------------------------------------------------------------------------------------------- host identity */

/**
 * nvof_hostnqn_default() - this machine's host NQN
 *
 * /etc/nvme/hostnqn when there (the file nvme-cli uses), else generated from the machine's identity: the same each time.
 *
 * Return: a text to free(), or NULL (no memory, or no source of identity).
 */
NVOF_PUBLIC char *nvof_hostnqn_default(void);

/**
 * nvof_hostid_default() - the host identifier that goes with a host NQN
 * @hostnqn: NULL: nvof_hostnqn_default()
 *
 * /etc/nvme/hostid when there and @hostnqn is NULL or that of /etc/nvme/hostnqn; else the UUID inside a uuid-form NQN; else a UUID derived
 * from the NQN's text.
 *
 * Return: a UUID text to free(), or NULL.
 */
NVOF_PUBLIC char *nvof_hostid_default(const char *hostnqn);

/* ---------------------------------------------------------------------------------------------------------------- ctrl */

/** enum nvof_event_type - what an event callback is told */
enum nvof_event_type {
	NVOF_EVENT_STATE,	 /* the ctrl's state changed: nvof_ctrl_state() */
	NVOF_EVENT_NS_CHANGED,	 /* namespaces were added, removed or resized (asynchronous event 02h/00h); the log was not read yet */
	NVOF_EVENT_ANA_CHANGED,	 /* 02h/03h */
	NVOF_EVENT_DISC_CHANGED, /* the discovery log changed (02h/F0h) */
	NVOF_EVENT_OTHER,	 /* any other asynchronous event: see raw */
};

/**
 * struct nvof_event
 * @type: what happened
 * @raw:  dword 0 of the asynchronous event's completion (0 for NVOF_EVENT_STATE)
 */
struct nvof_event {
	enum nvof_event_type type;
	uint32_t raw;
};

typedef void nvof_event_cb(void *arg, struct nvof_ctrl *ctrl, const struct nvof_event *event);

/**
 * struct nvof_connect_opts - what to connect to, and how.  Texts are copied by nvof_ctrl_connect().
 * @size:		sizeof(struct nvof_connect_opts)
 * @transport:		"tcp", "rdma", "loop"; any case
 * @traddr:		name, IPv4 or IPv6 (link-local with %scope, or with @host_iface); NULL for loop
 * @trsvcid:		port 1..65535 as decimal text; NULL: 4420, or 8009 when @subsysnqn is the discovery NQN
 * @host_traddr:	source address; NULL: the system chooses
 * @host_iface:		source interface; NULL: the system chooses
 * @subsysnqn:		NULL: the discovery NQN
 * @hostnqn:		NULL: nvof_hostnqn_default()
 * @hostid:		UUID text; NULL: nvof_hostid_default(hostnqn).  Given, it is sent as given; a warning is logged when it differs from
 *the UUID in a uuid-form @hostnqn. A pairing that contradicts a live ctrl of the same ctx (same NQN, other id, or the reverse) is refused
 *with -EINVAL
 * @nr_io_queues:	I/O queues to ask for; 0: the number of CPUs this process may use.  Fewer may be granted: nvof_ctrl_nr_io_queues()
 * @queue_size:		entries of each I/O queue, 2..1024 (default 128); capped by the ctrl's MQES
 * @keep_alive_tmo_ms:	KATO, milliseconds; 0: off; -1: the default, 5000 (30000 for discovery)
 * @connect_tmo_ms:	limit for all of a connect, milliseconds (default 10000)
 * @io_tmo_ms:		limit for one command, milliseconds; 0: none (default 30000).  When it passes the ctrl is given up: see
 *nvof_ctrl_state()
 * @setup_concurrency:	I/O queues set up at once; 0: all (default); 1: one after the other
 * @hdr_digest:		ask for header digests; refused by the target: the connect fails
 * @data_digest:	ask for data digests; likewise
 * @disable_sqflow:	ask for SQ flow control to be disabled (default true; a target that can't goes on with it)
 * @tos:		IP type of service 0..255; -1: default
 * @loop_target:	loop transport: the target in this process; freed while the ctrl is connected, the ctrl is lost.  No ctrl may begin
 *to connect to a target that was freed
 * @ctrl_loss_tmo_ms:	how long a ctrl that was lost is tried to be connected to again, milliseconds; 0: not at all (default): the loss
 *ends it; -1: for ever
 * @reconnect_delay_ms:	between two attempts, milliseconds (default 2000); the first follows the loss at once, the last one comes when the
 *time is over.  A ctrl that is lost again within this time is still the same loss
 * @fast_io_fail_tmo_ms: how long I/O waits for the ctrl to come back, milliseconds; then it fails with -ECONNRESET, and new I/O is refused
 *until the ctrl is LIVE; -1: as long as it is tried (default)
 * @event:		asynchronous events and state changes; may be NULL
 * @event_arg:		first argument of @event
 */
struct nvof_connect_opts {
	size_t size;
	const char *transport;
	const char *traddr;
	const char *trsvcid;
	const char *host_traddr;
	const char *host_iface;
	const char *subsysnqn;
	const char *hostnqn;
	const char *hostid;
	unsigned int nr_io_queues;
	unsigned int queue_size;
	int keep_alive_tmo_ms;
	unsigned int connect_tmo_ms;
	unsigned int io_tmo_ms;
	unsigned int setup_concurrency;
	bool hdr_digest;
	bool data_digest;
	bool disable_sqflow;
	int tos;
	struct nvof_target *loop_target;
	nvof_event_cb *event;
	void *event_arg;
	int ctrl_loss_tmo_ms;
	unsigned int reconnect_delay_ms;
	int fast_io_fail_tmo_ms;
};

/** nvof_connect_opts_init() - fill in the defaults named above, transport "tcp" */
NVOF_PUBLIC void nvof_connect_opts_init(struct nvof_connect_opts *opts);

typedef void nvof_connect_cb(void *arg, struct nvof_ctrl *ctrl, int status);

/**
 * nvof_ctrl_connect() - begin to connect
 * @ctx:   where the ctrl shall live
 * @opts:  copied
 * @cb:    runs exactly once, from nvof_ctx_poll(): status 0: the ctrl is LIVE with nvof_ctrl_nr_io_queues() queues
 * @arg:   first argument of @cb
 * @ctrlp: the ctrl, in state CONNECTING; also after a failure, so that nvof_ctrl_errmsg() can be read: nvof_ctrl_free() it in any case
 *
 * Never blocks: a name is resolved by a thread of its own.  Base 2.0 section 3.5 (initialisation), Fabrics Connect.
 * A discovery NQN makes a discovery ctrl: no I/O queues.
 *
 * Return: 0.  Otherwise @cb will not run: -EINVAL (an argument: nvof_ctx_errmsg() names it), -ENOMEM, -EMFILE.
 *
 * Status of @cb: -ECONNREFUSED, -EHOSTUNREACH ... (the system's), -ENOENT (a name that does not resolve), -ETIMEDOUT (@connect_tmo_ms),
 * -EPROTO (the peer broke the protocol), -ENOTSUP (a digest or another feature asked for is not offered), -ECONNRESET (closed in the
 * middle), -ECANCELED (nvof_ctrl_free()), or the NVMe status of the command that was refused.
 */
NVOF_PUBLIC int nvof_ctrl_connect(struct nvof_ctx *ctx, const struct nvof_connect_opts *opts, nvof_connect_cb *cb, void *arg,
				  struct nvof_ctrl **ctrlp);

/** nvof_ctrl_connect_sync() - the same, blocking until LIVE or failed.  Return: what nvof_ctrl_connect() or its @cb would say.  On failure
 * *@ctrlp is NULL and nvof_ctx_errmsg() has the sentence. */
NVOF_PUBLIC int nvof_ctrl_connect_sync(struct nvof_ctx *ctx, const struct nvof_connect_opts *opts, struct nvof_ctrl **ctrlp);

/** nvof_ctx_errmsg() - the sentence of the last nvof_ call on this ctx that failed at once or blocking; "" before the first.  Valid until
 * the next. */
NVOF_PUBLIC const char *nvof_ctx_errmsg(const struct nvof_ctx *ctx);

/**
 * nvof_ctrl_disconnect() - end an association in good order
 * @cb: runs exactly once, when all queues are closed; may be NULL.  status is 0 or, when the peer did not answer the shutdown within 5 s,
 * -ETIMEDOUT: closed all the same
 *
 * New I/O is refused from now on (-ENOTCONN); I/O in flight ends with -ECANCELED.  Shutdown is told to the ctrl (CC.SHN) and awaited for at
 * most 5 s. Allowed in every state; a connect that is under way ends with -ECANCELED first.
 *
 * Return: 0; -EALREADY (being disconnected already: @cb will not run).
 */
NVOF_PUBLIC int nvof_ctrl_disconnect(struct nvof_ctrl *ctrl, nvof_connect_cb *cb, void *arg);
NVOF_PUBLIC int nvof_ctrl_disconnect_sync(struct nvof_ctrl *ctrl);

/** nvof_ctrl_free() - forget a ctrl; closes it at once if need be (pending callbacks get -ECANCELED from inside).  Its ns and hctx are
 * gone, too. NULL is fine.  From a callback: all of that happens at the end of the turn. */
NVOF_PUBLIC void nvof_ctrl_free(struct nvof_ctrl *ctrl);

/**
 * nvof_ctrl_reset() - close all queues and set the ctrl up again, as after a loss of the connection
 *
 * The number of I/O queues is negotiated anew.  I/O under way is held and sent again.  Allowed when LIVE, and only where a loss would be
 * recovered from (@ctrl_loss_tmo_ms).  Begins at the end of the turn; NVOF_EVENT_STATE tells how it goes on.
 *
 * Return: 0; -ENOTCONN (not LIVE); -ENOTSUP (@ctrl_loss_tmo_ms is 0).
 */
NVOF_PUBLIC int nvof_ctrl_reset(struct nvof_ctrl *ctrl);

/** struct nvof_recovery - how the attempts to reconnect stand (nvof_ctrl_recovery) */
struct nvof_recovery {
	unsigned int nr_attempts; /* begun so far */
	unsigned int next_ms;	  /* until the next one; 0: one is under way */
	int left_ms;		  /* until the ctrl is given up; -1: never */
};
/** nvof_ctrl_recovery() - Return: true: the ctrl was lost and is being reconnected, *@info says how that stands; false: it is not. */
NVOF_PUBLIC bool nvof_ctrl_recovery(const struct nvof_ctrl *ctrl, struct nvof_recovery *info);

enum nvof_ctrl_state {
	NVOF_CTRL_NEW,
	NVOF_CTRL_CONNECTING,
	NVOF_CTRL_LIVE,
	NVOF_CTRL_RESETTING,
	NVOF_CTRL_DELETING,
	NVOF_CTRL_DEAD, /* lost or closed: nvof_ctrl_errmsg() says why */
};
NVOF_PUBLIC enum nvof_ctrl_state nvof_ctrl_state(const struct nvof_ctrl *ctrl);
NVOF_PUBLIC const char *nvof_ctrl_state_name(enum nvof_ctrl_state state);
/** nvof_ctrl_errmsg() - why the connect failed or the ctrl was lost, or (while it is reconnected) the last attempt failed: what was tried,
 * on what, what came back.  "" when none of that happened. */
NVOF_PUBLIC const char *nvof_ctrl_errmsg(const struct nvof_ctrl *ctrl);

/** nvof_ctrl_id() - the Identify Controller data of a LIVE ctrl, valid until nvof_ctrl_free(); NULL before. */
NVOF_PUBLIC const struct nvme_id_ctrl *nvof_ctrl_id(const struct nvof_ctrl *ctrl);
NVOF_PUBLIC uint16_t nvof_ctrl_cntlid(const struct nvof_ctrl *ctrl);
NVOF_PUBLIC unsigned int nvof_ctrl_nr_io_queues(const struct nvof_ctrl *ctrl); /* granted and LIVE */
NVOF_PUBLIC unsigned int nvof_ctrl_queue_size(const struct nvof_ctrl *ctrl);   /* entries of an I/O queue; one less may be in flight */
NVOF_PUBLIC const char *nvof_ctrl_address(const struct nvof_ctrl *ctrl); /* "traddr=127.0.0.1,trsvcid=4420[,src_addr=..]"; a reconnect may
									  * replace it */
NVOF_PUBLIC const char *nvof_ctrl_hostnqn(const struct nvof_ctrl *ctrl);
NVOF_PUBLIC const char *nvof_ctrl_hostid(const struct nvof_ctrl *ctrl);
NVOF_PUBLIC const char *nvof_ctrl_subsysnqn(const struct nvof_ctrl *ctrl);
NVOF_PUBLIC unsigned int nvof_ctrl_kato_ms(const struct nvof_ctrl *ctrl);
NVOF_PUBLIC size_t nvof_ctrl_max_transfer(const struct nvof_ctrl *ctrl); /* bytes of one command (MDTS); SIZE_MAX: no limit */

/** struct nvof_span - one state of one queue's set-up; times in microseconds since nvof_ctrl_connect() */
struct nvof_span {
	uint16_t qid;	   /* 0: admin */
	const char *state; /* "resolve", "link", "icreq", "connect", and for qid 0 "init" (property, identify and feature commands) */
	double start_us, end_us;
};
/** nvof_ctrl_timeline() - the set-up's timeline, in order of qid and start.  Return: *@spans points to that many, valid until
 * nvof_ctrl_free(). */
NVOF_PUBLIC size_t nvof_ctrl_timeline(const struct nvof_ctrl *ctrl, const struct nvof_span **spans);
/** struct nvof_setup_times - how long the parts of a connect took, in microseconds (nvof_ctrl_setup_times) */
struct nvof_setup_times {
	double total_us;     /* from nvof_ctrl_connect() to LIVE */
	double admin_us;     /* until the admin queue had initialised the ctrl */
	double io_queues_us; /* until the last I/O queue was LIVE, from then */
};
NVOF_PUBLIC void nvof_ctrl_setup_times(const struct nvof_ctrl *ctrl, struct nvof_setup_times *times);

/** struct nvof_ctrl_stats - counters since the connect */
struct nvof_ctrl_stats {
	uint64_t nr_data_digest_errors; /* reads whose data did not match its digest: ended with 22h */
	uint64_t nr_keep_alives;	/* Keep Alive commands sent */
	uint64_t nr_events;		/* asynchronous events received */
	uint64_t nr_reconnects;		/* the ctrl was lost and is back, so many times */
	uint64_t nr_retries;		/* commands that a loss interrupted and that were kept to be sent again */
};
NVOF_PUBLIC void nvof_ctrl_stats(const struct nvof_ctrl *ctrl, struct nvof_ctrl_stats *stats);

/* ---------------------------------------------------------------------------------------------------------------- commands to the ctrl */

/** struct nvof_cpl - how a command ended */
struct nvof_cpl {
	int status;	 /* see the top of this file */
	uint64_t result; /* dwords 0 and 1 of the completion queue entry; 0 when none came */
};
typedef void nvof_cb(void *arg, const struct nvof_cpl *cpl);

enum nvof_dir { NVOF_DIR_NONE, NVOF_DIR_TO_CTRL, NVOF_DIR_FROM_CTRL };

/**
 * struct nvof_cmd - a command for pass-through; fields in CPU byte order, as in the specification's submission queue entry
 */
struct nvof_cmd {
	uint8_t opcode;
	uint8_t flags; /* FUSE must be 0 */
	uint32_t nsid;
	uint32_t cdw2, cdw3, cdw10, cdw11, cdw12, cdw13, cdw14, cdw15;
};

/**
 * nvof_admin_passthru() - send an admin command as it is
 * @ctrl: LIVE (or nvof_admin calls in the event callback of a LIVE one)
 * @cmd:  copied
 * @dir:  which way @buf goes
 * @buf:  the library's from return until @cb; NULL with @len 0
 * @len:  bytes
 * @cb:   runs exactly once
 *
 * Return: 0.  Otherwise @cb will not run: -ENOTCONN (not LIVE), -EAGAIN (no free slot of the admin queue: poll, retry), -EINVAL (@len
 * without @dir ...).
 */
NVOF_PUBLIC int nvof_admin_passthru(struct nvof_ctrl *ctrl, const struct nvof_cmd *cmd, enum nvof_dir dir, void *buf, size_t len,
				    nvof_cb *cb, void *arg);
/** nvof_admin_passthru_sync() - the same, blocking; @result may be NULL.  Return: status */
NVOF_PUBLIC int nvof_admin_passthru_sync(struct nvof_ctrl *ctrl, const struct nvof_cmd *cmd, enum nvof_dir dir, void *buf, size_t len,
					 uint64_t *result);

/** nvof_identify() - Identify (06h) into a 4096-byte @buf.  Errors as nvof_admin_passthru(). */
NVOF_PUBLIC int nvof_identify(struct nvof_ctrl *ctrl, uint8_t cns, uint32_t nsid, uint16_t cntid, uint8_t csi, void *buf, nvof_cb *cb,
			      void *arg);
NVOF_PUBLIC int nvof_identify_sync(struct nvof_ctrl *ctrl, uint8_t cns, uint32_t nsid, void *buf);

/**
 * nvof_get_log() - Get Log Page (02h), in as many commands as MDTS asks for
 * @lid: log id; @lsp: log specific field; @rae: retain the asynchronous event; @offset, @len: bytes, multiples of 4
 * Errors as nvof_admin_passthru().
 */
NVOF_PUBLIC int nvof_get_log(struct nvof_ctrl *ctrl, uint8_t lid, uint8_t lsp, bool rae, uint32_t nsid, uint64_t offset, void *buf,
			     size_t len, nvof_cb *cb, void *arg);
NVOF_PUBLIC int nvof_get_log_sync(struct nvof_ctrl *ctrl, uint8_t lid, uint8_t lsp, bool rae, uint32_t nsid, uint64_t offset, void *buf,
				  size_t len);

/** Get / Set Features (0Ah / 09h) and Property Get / Set; the value comes in cpl.result. */
NVOF_PUBLIC int nvof_get_features(struct nvof_ctrl *ctrl, uint8_t fid, uint32_t nsid, uint32_t cdw11, nvof_cb *cb, void *arg);
NVOF_PUBLIC int nvof_set_features(struct nvof_ctrl *ctrl, uint8_t fid, uint32_t nsid, uint32_t cdw11, nvof_cb *cb, void *arg);
NVOF_PUBLIC int nvof_property_get(struct nvof_ctrl *ctrl, uint32_t offset, bool is64, nvof_cb *cb, void *arg);
NVOF_PUBLIC int nvof_property_set(struct nvof_ctrl *ctrl, uint32_t offset, bool is64, uint64_t value, nvof_cb *cb, void *arg);

/* ---------------------------------------------------------------------------------------------------------------- discovery */

/** struct nvof_disc_entry - one record of the discovery log, texts trimmed and terminated */
struct nvof_disc_entry {
	uint8_t trtype, adrfam, subtype, treq, sectype; /* as on the wire; nvof_disc_*_name() */
	uint16_t portid, cntlid, asqsz, eflags;
	char trsvcid[33], subnqn[257], traddr[257];
	const char *skip; /* NULL, or why this record can't be used (over-long text ...) */
};
/** struct nvof_disc_log */
struct nvof_disc_log {
	uint64_t genctr;
	size_t nr_entries;
	struct nvof_disc_entry *entries;
};
typedef void nvof_disc_cb(void *arg, int status, struct nvof_disc_log *log);

/**
 * nvof_discover() - read the discovery log of a discovery ctrl, all of one generation
 * @cb: runs exactly once; with status 0 @log is the callback's to nvof_disc_log_free(), else NULL
 *
 * Reads again when the generation changed in between, at most 10 times, then -EAGAIN.  RAE is 0 on the last read, so that the next change
 * is told.
 *
 * Return: as nvof_admin_passthru().
 */
NVOF_PUBLIC int nvof_discover(struct nvof_ctrl *ctrl, nvof_disc_cb *cb, void *arg);
NVOF_PUBLIC int nvof_discover_sync(struct nvof_ctrl *ctrl, struct nvof_disc_log **logp);
NVOF_PUBLIC void nvof_disc_log_free(struct nvof_disc_log *log);
NVOF_PUBLIC const char *nvof_disc_trtype_name(uint8_t trtype);
NVOF_PUBLIC const char *nvof_disc_adrfam_name(uint8_t adrfam);
NVOF_PUBLIC const char *nvof_disc_subtype_name(uint8_t subtype);
NVOF_PUBLIC const char *nvof_disc_treq_name(uint8_t treq);

/* ---------------------------------------------------------------------------------------------------------------- namespaces */

typedef void nvof_ns_list_cb(void *arg, int status, const uint32_t *nsids, size_t nr_nsids);

/** nvof_ns_list() - the active namespace ids in ascending order, however many (Identify CNS 02h).  @nsids is valid inside @cb only. */
NVOF_PUBLIC int nvof_ns_list(struct nvof_ctrl *ctrl, nvof_ns_list_cb *cb, void *arg);
/** nvof_ns_list_sync() - *@nsidsp to free() */
NVOF_PUBLIC int nvof_ns_list_sync(struct nvof_ctrl *ctrl, uint32_t **nsidsp, size_t *nrp);

typedef void nvof_ns_cb(void *arg, int status, struct nvof_ns *ns);

/**
 * nvof_ns_open() - identify a namespace (CNS 00h and 03h) and hand out a handle for I/O
 * @nsid: 1..0xfffffffe
 * @cb:   status -ENODEV: no such active namespace; -ENOTSUP: a format this library can't do I/O on (metadata): nvof_ctrl_errmsg() says
 * which
 *
 * The handle is good until nvof_ns_close() or nvof_ctrl_free().
 */
NVOF_PUBLIC int nvof_ns_open(struct nvof_ctrl *ctrl, uint32_t nsid, nvof_ns_cb *cb, void *arg);
NVOF_PUBLIC int nvof_ns_open_sync(struct nvof_ctrl *ctrl, uint32_t nsid, struct nvof_ns **nsp);
/** nvof_ns_close() - no I/O of yours may be in flight on it.  NULL is fine. */
NVOF_PUBLIC void nvof_ns_close(struct nvof_ns *ns);

NVOF_PUBLIC uint32_t nvof_ns_nsid(const struct nvof_ns *ns);	   /* as given to nvof_ns_open() */
NVOF_PUBLIC uint32_t nvof_ns_block_size(const struct nvof_ns *ns); /* bytes */
NVOF_PUBLIC uint64_t nvof_ns_nr_blocks(const struct nvof_ns *ns);  /* NSZE */
NVOF_PUBLIC const struct nvme_id_ns *nvof_ns_id(const struct nvof_ns *ns);
/** Identifiers of CNS 03h (or of Identify Namespace); all zero when the namespace has none. */
NVOF_PUBLIC void nvof_ns_uuid(const struct nvof_ns *ns, uint8_t uuid[16]);
NVOF_PUBLIC void nvof_ns_nguid(const struct nvof_ns *ns, uint8_t nguid[16]);
NVOF_PUBLIC void nvof_ns_eui64(const struct nvof_ns *ns, uint8_t eui64[8]);

/* ---------------------------------------------------------------------------------------------------------------- I/O */

/** nvof_ctrl_hctx() - the ctrl's hctx @i, 0 .. nvof_ctrl_nr_hctx() - 1; NULL beyond.  Valid until nvof_ctrl_free(). */
NVOF_PUBLIC struct nvof_hctx *nvof_ctrl_hctx(struct nvof_ctrl *ctrl, unsigned int i);
NVOF_PUBLIC unsigned int nvof_ctrl_nr_hctx(const struct nvof_ctrl *ctrl);
/** nvof_hctx_nr_free() - how many commands can be submitted before -EAGAIN */
NVOF_PUBLIC unsigned int nvof_hctx_nr_free(const struct nvof_hctx *hctx);

#define NVOF_IO_FUA	(1u << 0) /* write, write zeroes: on stable media before completion (Force Unit Access) */
#define NVOF_IO_DEALLOC (1u << 1) /* write zeroes: the blocks may be deallocated */
#define NVOF_IO_LR	(1u << 2) /* limited retry */

/**
 * nvof_read() - queue a read
 * @hctx:  of the same ctrl as @ns
 * @slba:  first logical block
 * @nlb:   logical blocks, 1's based; larger than one command may carry (MDTS): split, and completed once
 * @buf:   nlb * block size bytes, any alignment; the library's from return until @cb runs
 * @flags: NVOF_IO_*
 * @cb:    runs exactly once, from nvof_ctx_poll().  With a split the first error counts
 *
 * Never blocks.  An idle queue sends at once; else everything submitted leaves together at the next nvof_ctx_poll().
 *
 * Return: 0 when queued.  Otherwise @cb will not run: -EINVAL (@nlb 0, hctx and ns of different ctrls), -ERANGE (beyond the namespace's
 * end), -EAGAIN (no free slot: poll, retry), -ENOTCONN (ctrl not LIVE: see nvof_ctrl_state()), -ENOMEM.
 *
 * Status of @cb: a positive NVMe status from the ctrl; 0x0022 (Transient Transport Error) when a read's data digest was wrong;
 * -ECANCELED (disconnect), -ETIMEDOUT, -ECONNRESET and others (the ctrl was lost: nvof_ctrl_errmsg()); -ENODEV (the namespace was another
 * one or gone when the ctrl came back).
 *
 * With @ctrl_loss_tmo_ms a loss of the connection is not seen here: reads, writes and the other calls of this section except
 * nvof_io_passthru() wait until the ctrl is back and are then sent (again), at most 5 times.
 *
 * NVM Command Set 1.0 section 3.2.4 (Read), 3.2.6 (Write), 3.2.1 (Compare).
 */
NVOF_PUBLIC int nvof_read(struct nvof_hctx *hctx, struct nvof_ns *ns, uint64_t slba, uint32_t nlb, void *buf, unsigned int flags,
			  nvof_cb *cb, void *arg);
NVOF_PUBLIC int nvof_write(struct nvof_hctx *hctx, struct nvof_ns *ns, uint64_t slba, uint32_t nlb, const void *buf, unsigned int flags,
			   nvof_cb *cb, void *arg);
NVOF_PUBLIC int nvof_compare(struct nvof_hctx *hctx, struct nvof_ns *ns, uint64_t slba, uint32_t nlb, const void *buf, unsigned int flags,
			     nvof_cb *cb, void *arg);
/** The same with a list of buffers: elements of any length and alignment, nlb * block size bytes in all (else -EINVAL).  The iovec array is
 * the library's until @cb as well. */
NVOF_PUBLIC int nvof_readv(struct nvof_hctx *hctx, struct nvof_ns *ns, uint64_t slba, uint32_t nlb, const struct iovec *iov, int iovcnt,
			   unsigned int flags, nvof_cb *cb, void *arg);
NVOF_PUBLIC int nvof_writev(struct nvof_hctx *hctx, struct nvof_ns *ns, uint64_t slba, uint32_t nlb, const struct iovec *iov, int iovcnt,
			    unsigned int flags, nvof_cb *cb, void *arg);
NVOF_PUBLIC int nvof_comparev(struct nvof_hctx *hctx, struct nvof_ns *ns, uint64_t slba, uint32_t nlb, const struct iovec *iov, int iovcnt,
			      unsigned int flags, nvof_cb *cb, void *arg);
/** nvof_flush() - everything written and completed before is on stable media when it completes */
NVOF_PUBLIC int nvof_flush(struct nvof_hctx *hctx, struct nvof_ns *ns, nvof_cb *cb, void *arg);
/** nvof_write_zeroes(), nvof_verify() - as nvof_write() without data; split at 65536 blocks (or the ctrl's own limits).  -ENOTSUP: the ctrl
 * lacks the command (ONCS). */
NVOF_PUBLIC int nvof_write_zeroes(struct nvof_hctx *hctx, struct nvof_ns *ns, uint64_t slba, uint32_t nlb, unsigned int flags, nvof_cb *cb,
				  void *arg);
NVOF_PUBLIC int nvof_verify(struct nvof_hctx *hctx, struct nvof_ns *ns, uint64_t slba, uint32_t nlb, unsigned int flags, nvof_cb *cb,
			    void *arg);

/** struct nvof_range - blocks for nvof_discard() */
struct nvof_range {
	uint64_t slba;
	uint32_t nlb;
};
/** nvof_discard() - Dataset Management with the deallocate attribute; 1..256 ranges, copied.  -ENOTSUP: not in ONCS. */
NVOF_PUBLIC int nvof_discard(struct nvof_hctx *hctx, struct nvof_ns *ns, const struct nvof_range *ranges, unsigned int nr_ranges,
			     nvof_cb *cb, void *arg);

/** nvof_io_passthru() - send an I/O command as it is, never split; larger than MDTS: -EMSGSIZE.  Otherwise as nvof_admin_passthru(). */
NVOF_PUBLIC int nvof_io_passthru(struct nvof_hctx *hctx, const struct nvof_cmd *cmd, enum nvof_dir dir, void *buf, size_t len, nvof_cb *cb,
				 void *arg);

/** Blocking forms; -EAGAIN does not happen (they wait for a slot).  Return: status. */
NVOF_PUBLIC int nvof_read_sync(struct nvof_hctx *hctx, struct nvof_ns *ns, uint64_t slba, uint32_t nlb, void *buf, unsigned int flags);
NVOF_PUBLIC int nvof_write_sync(struct nvof_hctx *hctx, struct nvof_ns *ns, uint64_t slba, uint32_t nlb, const void *buf,
				unsigned int flags);

/* ---------------------------------------------------------------------------------------------------------------- words */

/** nvof_status_str() - a status in words: "Connect Invalid Host (sct 1 sc 84h, DNR)", "Connection refused".  Return: @buf; 150 bytes are
 * enough */
NVOF_PUBLIC const char *nvof_status_str(int status, char *buf, size_t len);
NVOF_PUBLIC const char *nvof_version(void);

#ifdef __cplusplus
}
#endif
#endif
