/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * DOC: libnvof - an NVMe over Fabrics host in user space
 *
 * Objects: a ctx (a loop and what its ctrls share), a ctrl (one association with a subsystem: the admin queue and its I/O queues), a hctx
 * (one submitter's view of a ctrl: a queue and its request slots), an ns (a namespace as one ctrl shows it).  Where several ctrls lead to
 * one subsystem there is a subsystem, too: it has hctxs and namespaces of its own, which take the same calls, and choose a path for each
 * I/O.
 *
 * Threads: a ctx and everything made from it is used by one thread at a time; nothing runs behind its back, unless a ctrl was asked for I/O
 * threads (@io_threads): those send, receive and check data, and call nothing of the application's.  Different ctxs are independent: one
 * each for as many threads as you like.
 *
 * Progress happens only inside nvof_ctx_poll() and the blocking calls (nvof_*_sync).  To sleep in an event loop of your own wait for
 * nvof_ctx_fd() (see there).
 *
 * Callbacks run from inside those calls, never from inside the call that started the work.  They may call everything except
 * nvof_ctx_free(), nvof_ctx_poll() and the _sync calls; the last two return -EDEADLK then.
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
struct nvof_subsystem;
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
 * Return: 0; -ENOMEM; -EMFILE/-ENFILE (an epoll and an event descriptor are needed); -EINVAL (@opts->size, @ctxp NULL).
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
 * Return: the number of descriptors, timers and messages that were served, 0 when nothing happened; -EDEADLK: from a callback.
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
 * Return: true: go to sleep; false: there is work already, call nvof_ctx_poll(ctx, 0) first (always so from a callback).
 */
NVOF_PUBLIC bool nvof_ctx_prepare_wait(struct nvof_ctx *ctx);

/* ---------------------------------------------------------------------------------------------------------------- memory */

/**
 * nvof_buf_register() - promise to keep a piece of memory, so that devices may know it
 * @ctx:  whose ctrls may use it; on its thread
 * @addr: start; need not be aligned
 * @len:  bytes, at least 1
 *
 * I/O in registered memory is not copied on transports that could not use it otherwise (RDMA: the device reads and writes it itself; memory
 * that is not registered goes through bounce buffers).  It makes no difference to the others.  A list of several pieces counts as
 * registered when all of it lies in one region.  The memory is pinned at its first use by each ctrl: that counts against the limit of
 * locked memory, and when it fails a line is logged and the I/O is copied.
 *
 * Never blocks.  Allowed at any time; @addr must stay mapped until nvof_buf_unregister() or nvof_ctx_free().
 *
 * Return: 0; -EINVAL (@len is 0 or too long); -EEXIST (it overlaps a registered piece); -ENOMEM.
 */
NVOF_PUBLIC int nvof_buf_register(struct nvof_ctx *ctx, void *addr, size_t len);

/**
 * nvof_buf_unregister() - the end of that promise
 * @addr: as it was registered
 *
 * Return: 0: no device knows the memory any more; -ENOENT (no registered piece begins there); -EBUSY (I/O is under way in it: try again
 * when it has ended).
 */
NVOF_PUBLIC int nvof_buf_unregister(struct nvof_ctx *ctx, void *addr);

/* ---------------------------------------------------------------------------------------------------------------- host identity */

/**
 * nvof_hostnqn_default() - this machine's host NQN
 *
 * /etc/nvme/hostnqn when there (the file nvme-cli uses), else generated from the machine's identity: the same each time.
 *
 * Return: a text to free(), or NULL with errno: ENOENT (no source of identity), EMFILE, ENFILE, ENOMEM (there may be one, but it can't be
 * read now: rather none than another host's).
 */
NVOF_PUBLIC char *nvof_hostnqn_default(void);

/**
 * nvof_hostid_default() - the host identifier that goes with a host NQN
 * @hostnqn: NULL: nvof_hostnqn_default()
 *
 * /etc/nvme/hostid when there and @hostnqn is NULL or that of /etc/nvme/hostnqn; else the UUID inside a uuid-form NQN; else a UUID derived
 * from the NQN's text.
 *
 * Return: a UUID text to free(), or NULL with errno as above.
 */
NVOF_PUBLIC char *nvof_hostid_default(const char *hostnqn);

/* ---------------------------------------------------------------------------------------------------------------- ctrl */

/** enum nvof_event_type - what an event callback is told */
enum nvof_event_type {
	NVOF_EVENT_STATE,	 /* the ctrl's state changed: nvof_ctrl_state() */
	NVOF_EVENT_NS_CHANGED,	 /* namespaces were added, removed or resized (asynchronous event 02h/00h).  Once a namespace was opened or
				  * nvof_ns_scan() called, the library reads the log, and tells what it finds by the NVOF_EVENT_NS_* below;
				  * before that the log is yours to read */
	NVOF_EVENT_ANA_CHANGED,	 /* 02h/03h */
	NVOF_EVENT_DISC_CHANGED, /* the discovery log changed (02h/F0h) */
	NVOF_EVENT_OTHER,	 /* any other asynchronous event: see raw */
	NVOF_EVENT_ATTEMPT,	 /* an attempt to reconnect failed, the next one follows: nvof_ctrl_recovery(), nvof_ctrl_errmsg() */
	NVOF_EVENT_NS_ADDED,	 /* after nvof_ns_scan(): a namespace that was not known; by a scan in the order of their ids */
	NVOF_EVENT_NS_REMOVED,	 /* it is gone, or the ctrl is: no new I/O, and what is under way ends now.  ns: the one that went */
	NVOF_EVENT_NS_RESIZED,	 /* nvof_ns_nr_blocks() has changed */
	NVOF_EVENT_NS_REPLACED,	 /* another namespace has this id now: handles of the old one (old_ns) get -ESTALE and never reach it */
	NVOF_EVENT_PATHS,	 /* of a subsystem: ns has one path more or less, or one has another ANA state: nvof_ns_path() */
};

/**
 * struct nvof_event
 * @type:   what happened
 * @raw:    dword 0 of the asynchronous event's completion; 0 for NVOF_EVENT_STATE, NVOF_EVENT_ATTEMPT, NVOF_EVENT_NS_*
 *          that are not NS_CHANGED
 * @nsid:   NVOF_EVENT_NS_ADDED and below: which
 * @ns:     the namespace itself, good inside the callback; nvof_ns_ref() to keep it
 * @old_ns: NVOF_EVENT_NS_REPLACED: the one that was there before, likewise
 */
struct nvof_event {
	enum nvof_event_type type;
	uint32_t raw;
	uint32_t nsid;
	struct nvof_ns *ns, *old_ns;
};

typedef void nvof_event_cb(void *arg, struct nvof_ctrl *ctrl, const struct nvof_event *event);

/** enum nvof_policy - which queue of its hctx a request takes.  Both stay on one queue while few requests with few bytes are under way */
enum nvof_policy {
	NVOF_POLICY_LEAST_BYTES, /* the first one while it is fast enough for all, then the one with the fewest bytes under way */
	NVOF_POLICY_ROUND_ROBIN, /* one after the other */
};

/**
 * struct nvof_connect_opts - what to connect to, and how.  Texts are copied by nvof_ctrl_connect().
 * @size:		sizeof(struct nvof_connect_opts)
 * @transport:		"tcp", "rdma", "loop"; any case
 * @traddr:		name, IPv4 or IPv6 (link-local with %scope, or with @host_iface); NULL for loop.  A name is resolved anew by each
 *			connect and reconnect; where that fails or takes too long, the addresses of before serve.  Of several addresses the
 *			first that can be connected to is used, and one that is silent has its share of @connect_tmo_ms
 * @trsvcid:		port 1..65535 as decimal text; NULL: 4420, or 8009 when @subsysnqn is the discovery NQN
 * @host_traddr:	source address; NULL: the system chooses
 * @host_iface:		source interface; NULL: the system chooses.  Only for tcp: rdma has @host_traddr, and the device that leads there
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
 * @no_early_links:	do not link I/O queues while the admin queue is still initialising the ctrl.  By default that is done where the
 *transport can (tcp) and @setup_concurrency is not 1; what is too much is closed again, and a peer that objects gets the plain order
 * @queues_per_hctx:	queues that share a hctx, 1..16 (default 1): what one thread submits travels over so many connections, with one
 *set of request slots.  @nr_io_queues stays the number of connections: there are nr_io_queues / queues_per_hctx hctxs, at least 1, and what
 *does not divide goes to the first of them.  With @nr_io_queues 0 there is a hctx for each CPU
 * @policy:		which of them a request takes
 * @remove_timeout_ms:	when a namespace goes (at a disconnect, or by itself): how long its I/O under way is waited for, milliseconds
 *(default 2000); then it is aborted.  So long, too, I/O waits for a namespace that is not there when its ctrl has come back
 * @removal_concurrency: namespaces removed at once; 0: all (default); 1: one after the other
 * @io_threads:		threads of the library that serve the I/O queues of this ctrl, 0..256 (default 0: none, everything happens on the
 *ctx's thread).  Queues are spread over them, those of a hctx over different ones; no more threads are started than I/O queues were asked
 *for.  When they and the caller are as many as the CPUs that this process may use, or more, none of them spins (@spin_us).  Calls,
 *callbacks and what they promise are the same: see nvof_ctrl_io_thread()
 * @io_cpus:		CPUs that they run on, one each and round again: "2-5,8"; NULL: any of the NUMA node that nvof_ctrl_connect() was
 *called on
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
	bool no_early_links;
	unsigned int queues_per_hctx;
	enum nvof_policy policy;
	unsigned int remove_timeout_ms;
	unsigned int removal_concurrency;
	unsigned int io_threads;
	const char *io_cpus;
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
 * Return: 0.  Otherwise @cb will not run: -EINVAL (an argument: nvof_ctx_errmsg() names it), -ENOMEM, -EMFILE, -EAGAIN (I/O threads can't
 * be started: a limit of the system).
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
 * New I/O is refused from now on (-ENOTCONN; with @removal_concurrency: -ENODEV, when its namespace's turn comes).  All namespaces are
 * removed together (NVOF_EVENT_NS_REMOVED): I/O in flight is waited for, at most @remove_timeout_ms; what has not ended then, and
 * pass-through commands, end with -ECANCELED.  Where the ctrl supports the Disconnect command it gets it for all I/O queues together, and
 * at most 1 s to answer.  Shutdown is told to the ctrl (CC.SHN); all of it takes at most 5 s, or 2 s more than @remove_timeout_ms.  Allowed
 * in every state; a connect that is under way ends with -ECANCELED first.
 *
 * Return: 0; -EALREADY (being disconnected already: @cb will not run).
 */
NVOF_PUBLIC int nvof_ctrl_disconnect(struct nvof_ctrl *ctrl, nvof_connect_cb *cb, void *arg);
NVOF_PUBLIC int nvof_ctrl_disconnect_sync(struct nvof_ctrl *ctrl);

/** struct nvof_disconnect_times - how long the parts of a disconnect took, in microseconds (nvof_ctrl_disconnect_times) */
struct nvof_disconnect_times {
	double total_us;      /* from nvof_ctrl_disconnect() until all queues were closed */
	double namespaces_us; /* until the last namespace was gone */
	double queues_us;     /* from then until all queues were closed */
};
/** nvof_ctrl_disconnect_times() - all 0 unless the ctrl is DEAD by nvof_ctrl_disconnect(). */
NVOF_PUBLIC void nvof_ctrl_disconnect_times(const struct nvof_ctrl *ctrl, struct nvof_disconnect_times *times);

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
	int status;		  /* of what went wrong last: the loss, or an attempt that failed */
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

/** struct nvof_io_thread - one of a ctrl's I/O threads (nvof_ctrl_io_thread) */
struct nvof_io_thread {
	unsigned int nr_queues; /* I/O queues that it serves now */
	uint64_t cpu_ns;	/* CPU time that it has used, nanoseconds */
};
/**
 * nvof_ctrl_io_thread() - about I/O thread @i, 0 .. nvof_ctrl_nr_io_threads() - 1
 *
 * With @io_threads what is submitted goes to the thread of its queue: an idle queue's first request at once, what follows with the next
 * nvof_ctx_poll().  Callbacks run from nvof_ctx_poll() as always, and nvof_ctx_fd() tells of them; without a poll data moves all the same.
 * Buffers are read and written by those threads from submission to the callback.  Their names are "nvof-io-0" and so on; signals are
 * blocked in them.  They are started by nvof_ctrl_connect() and end with the ctrl.  Closing a queue (a disconnect, a loss,
 * nvof_ctrl_free()) waits for its thread to let go of it, about a turn of its loop.
 *
 * Return: true, *@info is filled in; false: there is no such thread.
 */
NVOF_PUBLIC bool nvof_ctrl_io_thread(const struct nvof_ctrl *ctrl, unsigned int i, struct nvof_io_thread *info);
/** nvof_ctrl_nr_io_threads() - how many the ctrl has, 0 without @io_threads */
NVOF_PUBLIC unsigned int nvof_ctrl_nr_io_threads(const struct nvof_ctrl *ctrl);

/** struct nvof_ctrl_stats - counters since the connect */
struct nvof_ctrl_stats {
	uint64_t nr_data_digest_errors; /* reads whose data did not match its digest: ended with 22h */
	uint64_t nr_keep_alives;	/* Keep Alive commands sent */
	uint64_t nr_events;		/* asynchronous events received */
	uint64_t nr_reconnects;		/* the ctrl was lost and is back, so many times */
	uint64_t nr_renewals;		/* I/O queues that were lost alone, and set up again while the others went on */
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
 * Return: 0.  Otherwise @cb will not run: -ENOTCONN (not LIVE: admin commands do not wait for a lost ctrl), -EAGAIN (no free slot of the
 * admin queue: poll, retry), -EINVAL (@len without @dir ...).
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
	uint8_t rdma_qptype, rdma_prtype, rdma_cms; /* of rdma records; else 0 */
	uint16_t rdma_pkey;
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

/* ---------------------------------------------------------------------------------------------------------------- connect to all */

/** enum nvof_outcome - what became of a record of a discovery log (nvof_outcome_name()) */
enum nvof_outcome {
	NVOF_OUTCOME_PENDING,	/* the wave is not over */
	NVOF_OUTCOME_CONNECTED, /* ctrl is LIVE (or was, before it was lost) */
	NVOF_OUTCOME_ALREADY,	/* ctrl was there before, LIVE or on its way */
	NVOF_OUTCOME_FOLLOWED,	/* a referral: the log of the service it leads to was read, and its records are results, too */
	NVOF_OUTCOME_SKIPPED,	/* not for this host: reason says why.  Not a failure */
	NVOF_OUTCOME_FAILED,	/* reason is the sentence, status its code */
	NVOF_NR_OUTCOMES,
};

/**
 * struct nvof_wave_result - one record and what became of it.  Texts and the struct are the wave's; a later version may append members,
 * and have several results for one record
 * @entry:    the record
 * @service:  address of the discovery service whose log it stands in: "192.0.2.7:8009"
 * @depth:    of that service: 0: the first one, 1: a referral of it ...
 * @outcome:  see there
 * @status:   FAILED: a negative errno or an NVMe status; else 0
 * @reason:   a sentence for SKIPPED and FAILED, else ""
 * @ctrl:     CONNECTED: a new ctrl, yours from when the wave's callback runs (it is not to be freed before); ALREADY: the one that is
 *            there; else NULL
 * @start_us: when it was begun with, microseconds since nvof_connect_all()
 * @end_us:   when its outcome was known
 */
struct nvof_wave_result {
	const struct nvof_disc_entry *entry;
	const char *service;
	unsigned int depth;
	enum nvof_outcome outcome;
	int status;
	const char *reason;
	struct nvof_ctrl *ctrl;
	double start_us, end_us;
};

/**
 * struct nvof_connect_all_opts - where to begin, and how to connect
 * @size:	   sizeof(struct nvof_connect_all_opts)
 * @connect:	   transport, traddr, trsvcid and subsysnqn lead to the first discovery service.  All else applies to every ctrl: also the
 *source address and the host's identity.  @setup_concurrency limits the wave: so many queues are set up at once in all ctrls together, and
 *so many ctrls are under way.  Keep alive, recovery and events are for the ctrls that stay, not for discovery
 * @max_depth:	   how deep referrals are followed; 0: not at all (default 8)
 * @any_transport: also records of other transports than @connect->transport, as far as this build has them (default
 *		   false: they are skipped)
 * @duplicate_connect: so many ctrls for each record, 1..64, those that are there counted (default 1): as many results for it
 */
struct nvof_connect_all_opts {
	size_t size;
	const struct nvof_connect_opts *connect;
	unsigned int max_depth;
	bool any_transport;
	unsigned int duplicate_connect;
};

/** nvof_connect_all_opts_init() - fill in the defaults named above; @connect is left NULL */
NVOF_PUBLIC void nvof_connect_all_opts_init(struct nvof_connect_all_opts *opts);

struct nvof_wave;
typedef void nvof_wave_cb(void *arg, struct nvof_wave *wave, int status);

/**
 * nvof_connect_all() - connect to everything that a discovery service knows, and those it refers to
 * @ctx:   where the ctrls shall live
 * @opts:  copied
 * @cb:    runs exactly once, from nvof_ctx_poll().  status 0: the first log was read and each record has its outcome, which may be a
 * failure; else that log could not be read: nvof_wave_errmsg()
 * @arg:   first argument of @cb
 * @wavep: the wave; nvof_wave_free() it
 *
 * Never blocks.  All ctrls with all their queues, and all referrals, are under way at once (see @setup_concurrency there); one that fails
 * stops no other.  Each discovery service is visited once, however often it is referred to.  A record whose transport, address, port,
 * subsystem, host identity and source are those of a ctrl of this ctx is "already connected"; with @duplicate_connect of as many as there
 * are.  At most 256 services and 4096 ctrls.
 *
 * Return: 0.  Otherwise @cb will not run: -EINVAL (an argument: nvof_ctx_errmsg() names it), -ENOMEM.
 *
 * Status of @cb: 0; what nvof_ctrl_connect() or nvof_discover() of the first service says; -ECANCELED (nvof_wave_free(), nvof_ctx_free()).
 */
NVOF_PUBLIC int nvof_connect_all(struct nvof_ctx *ctx, const struct nvof_connect_all_opts *opts, nvof_wave_cb *cb, void *arg,
				 struct nvof_wave **wavep);
/** nvof_connect_all_sync() - the same, blocking.  Return: what nvof_connect_all() or its @cb would say.  On failure *@wavep is NULL and
 * nvof_ctx_errmsg() has the sentence. */
NVOF_PUBLIC int nvof_connect_all_sync(struct nvof_ctx *ctx, const struct nvof_connect_all_opts *opts, struct nvof_wave **wavep);

/** nvof_wave_free() - forget the results (nvof_ctx_free() does, too).  The ctrls stay: they are yours.  Before @cb ran it is called with
 * -ECANCELED (from inside, or, from a callback, at the end of the turn), and the ctrls that were connected by then are freed, too.  NULL is
 * fine. */
NVOF_PUBLIC void nvof_wave_free(struct nvof_wave *wave);
/** nvof_wave_result() - result @i, 0 .. nvof_wave_nr_results() - 1, in the order the records were read; NULL beyond.  Each is valid until
 * nvof_wave_free(); while the wave is under way they become more. */
NVOF_PUBLIC const struct nvof_wave_result *nvof_wave_result(const struct nvof_wave *wave, size_t i);
NVOF_PUBLIC size_t nvof_wave_nr_results(const struct nvof_wave *wave);
NVOF_PUBLIC size_t nvof_wave_count(const struct nvof_wave *wave, enum nvof_outcome outcome); /* results with that outcome */
NVOF_PUBLIC const char *nvof_wave_errmsg(const struct nvof_wave *wave); /* why the first log could not be read; "" when it was */
NVOF_PUBLIC const char *nvof_outcome_name(enum nvof_outcome outcome);	/* "connected", "already connected" ... */

/* ---------------------------------------------------------------------------------------------------------------- namespaces */

typedef void nvof_ns_list_cb(void *arg, int status, const uint32_t *nsids, size_t nr_nsids);

/** nvof_ns_list() - the active namespace ids in ascending order, however many (Identify CNS 02h).  @nsids is valid inside @cb only.
 * -EPROTO: they don't ascend, or have no end (more than NN, or than 1,048,576): nvof_ctrl_errmsg(). */
NVOF_PUBLIC int nvof_ns_list(struct nvof_ctrl *ctrl, nvof_ns_list_cb *cb, void *arg);
/** nvof_ns_list_sync() - *@nsidsp to free() */
NVOF_PUBLIC int nvof_ns_list_sync(struct nvof_ctrl *ctrl, uint32_t **nsidsp, size_t *nrp);

typedef void nvof_ns_scan_cb(void *arg, int status);

/**
 * nvof_ns_scan() - look at all active namespaces, and follow their changes from now on
 * @ctrl: LIVE, or being reconnected: then it waits
 * @cb:   runs exactly once, when the ctrl's table is complete: status 0; what the ctrl said when it can't list them; -ECANCELED
 * (disconnect)
 *
 * Identify commands are on their way together, as many as the admin queue takes.  Whatever order the answers come in, namespaces are added
 * to the table and told (NVOF_EVENT_NS_ADDED) in the order of their ids.  Those in a format without I/O (-ENOTSUP of nvof_ns_open()) are
 * left out.  From then on the library looks again when the ctrl tells of changes and after each reconnect; nvof_ns_get() and
 * nvof_ns_next() show the result, and events tell it.  Again is fine: another look.
 *
 * A namespace is held to be the same as long as UUID, NGUID, EUI64 and block size are.  While it is looked at its new I/O waits, at most
 * 1 s for what is under way: so nothing is sent to another namespace that has got its id.
 *
 * Return: 0; -ENOTCONN; -ENOTSUP (a discovery ctrl); -ENOMEM.  Base 2.0 section 5.17.2.2 (list), 5.16.1.5 (changed namespace list).
 */
NVOF_PUBLIC int nvof_ns_scan(struct nvof_ctrl *ctrl, nvof_ns_scan_cb *cb, void *arg);
/** nvof_ns_scan_sync() - the same, blocking.  Return: status */
NVOF_PUBLIC int nvof_ns_scan_sync(struct nvof_ctrl *ctrl);

/**
 * nvof_ns_get() - a handle of a namespace in the ctrl's table
 *
 * Asks nobody, takes no lock, and may be called by any thread, as nvof_ns_next(), nvof_ns_ref(), nvof_ns_close() and the calls that tell
 * about a namespace (except nvof_ns_id(), which is for the ctrl's thread); the ctrl must not be freed meanwhile.
 *
 * Return: a handle to nvof_ns_close(); NULL: no namespace with this id is known.
 */
NVOF_PUBLIC struct nvof_ns *nvof_ns_get(struct nvof_ctrl *ctrl, uint32_t nsid);
/** nvof_ns_next() - the namespace with the lowest id above @nsid (0: the first one): a handle to nvof_ns_close(), or NULL after the last
 * one */
NVOF_PUBLIC struct nvof_ns *nvof_ns_next(struct nvof_ctrl *ctrl, uint32_t nsid);

typedef void nvof_ns_cb(void *arg, int status, struct nvof_ns *ns);

/**
 * nvof_ns_open() - identify a namespace (CNS 00h and 03h) and hand out a handle for I/O
 * @nsid: 1..0xfffffffe
 * @cb:   status -ENODEV: no such active namespace; -ENOTSUP: a format this library can't do I/O on (metadata): nvof_ctrl_errmsg() says
 * which; a positive status: the ctrl refused to say
 *
 * Handles of the same namespace are the same pointer, as often as it is opened.  One is good until nvof_ns_close() or nvof_ctrl_free().
 * One that is known already is looked at as by nvof_ns_scan(): its new I/O waits meanwhile.
 * When the namespace goes its I/O ends with -ENODEV, when another one gets its id with -ESTALE (nvof_ns_status()); open it again then.
 */
NVOF_PUBLIC int nvof_ns_open(struct nvof_ctrl *ctrl, uint32_t nsid, nvof_ns_cb *cb, void *arg);
NVOF_PUBLIC int nvof_ns_open_sync(struct nvof_ctrl *ctrl, uint32_t nsid, struct nvof_ns **nsp);
/** nvof_ns_ref() - one more handle of it, to nvof_ns_close() as well */
NVOF_PUBLIC void nvof_ns_ref(struct nvof_ns *ns);
/** nvof_ns_close() - no I/O of yours may be in flight on it.  NULL is fine. */
NVOF_PUBLIC void nvof_ns_close(struct nvof_ns *ns);
/** nvof_ns_status() - 0: the namespace is there; -ENODEV, -ESTALE: what its I/O gets, for good */
NVOF_PUBLIC int nvof_ns_status(const struct nvof_ns *ns);

typedef void nvof_ns_removed_cb(void *arg, int status);

/**
 * nvof_ns_remove() - let go of one namespace: its new I/O is refused with -ENODEV from now on
 * @ns: a handle, which you still close
 * @cb: runs exactly once, when what was under way has ended: status 0, or -ECANCELED (the ctrl was freed).  May be NULL
 *
 * I/O in flight is waited for, at most @remove_timeout_ms; then the ctrl is told to abort it (Abort).  If even that ends it not within a
 * second, its queue is given up as after a command that is not answered.  The next look at the ctrl's list (a change, nvof_ns_scan()) finds
 * the namespace again if it is there still.
 *
 * Return: 0; -ENODEV (gone already); -ENOTCONN (the ctrl is being disconnected, which does the same).
 */
NVOF_PUBLIC int nvof_ns_remove(struct nvof_ns *ns, nvof_ns_removed_cb *cb, void *arg);

NVOF_PUBLIC uint32_t nvof_ns_nsid(const struct nvof_ns *ns);	   /* as given to nvof_ns_open() */
NVOF_PUBLIC uint32_t nvof_ns_block_size(const struct nvof_ns *ns); /* bytes */
NVOF_PUBLIC uint64_t nvof_ns_nr_blocks(const struct nvof_ns *ns);  /* NSZE as identified last: it may change while the handle is
								    * open, when the namespace was resized */
NVOF_PUBLIC const struct nvme_id_ns *nvof_ns_id(const struct nvof_ns *ns);
/** Identifiers of CNS 03h (or of Identify Namespace); all zero when the namespace has none. */
NVOF_PUBLIC void nvof_ns_uuid(const struct nvof_ns *ns, uint8_t uuid[16]);
NVOF_PUBLIC void nvof_ns_nguid(const struct nvof_ns *ns, uint8_t nguid[16]);
NVOF_PUBLIC void nvof_ns_eui64(const struct nvof_ns *ns, uint8_t eui64[8]);

/* ---------------------------------------------------------------------------------------------------------------- subsystem */

/** enum nvof_iopolicy - which of the paths that are equally good an I/O takes (ANA: optimized ones first, then non-optimized ones) */
enum nvof_iopolicy {
	NVOF_IOPOLICY_NUMA,	   /* the one that was connected first, until it can't be used (default) */
	NVOF_IOPOLICY_ROUND_ROBIN, /* one after the other */
	NVOF_IOPOLICY_QUEUE_DEPTH, /* the one with the fewest I/Os under way */
};

/**
 * nvof_ctrl_subsystem() - the subsystem that a ctrl is a path of
 * @ctrl: LIVE, no discovery ctrl
 *
 * Ctrls of one ctx with the same subsystem NQN and host identity, which also say the same serial number and model, are paths of one
 * subsystem: all that are there, and those that come later, by whatever transport and address (the same one several times, too).  The first
 * call makes it, and begins to look at the namespaces of its ctrls (as nvof_ns_scan() does) and their ANA states.  Ctrls of which nobody
 * asks stay as they are.  On the ctx's thread, as all calls of this section; never blocks.
 *
 * A path goes with its ctrl: nvof_ctrl_disconnect() first, so that its I/O ends there, then nvof_ctrl_free().  Its disconnect also waits
 * for what did not end there, changes data and shall go by another path: until the ctrl can't carry it out any more, at most twice the keep
 * alive time-out.  Freed at once, such I/O ends with -ECANCELED.
 *
 * Return: the subsystem, good until nvof_subsystem_free() or nvof_ctx_free(); NULL: nvof_ctx_errmsg() says why (not LIVE, another subsystem
 * has this name, no memory).
 */
NVOF_PUBLIC struct nvof_subsystem *nvof_ctrl_subsystem(struct nvof_ctrl *ctrl);

/**
 * nvof_subsystem_free() - forget a subsystem without paths (nvof_ctx_free() does, too)
 *
 * Its hctxs and namespaces are gone with it.  Not from a callback.
 *
 * Return: 0, also for NULL; -EBUSY: it has paths, or I/O under way.
 */
NVOF_PUBLIC int nvof_subsystem_free(struct nvof_subsystem *subsys);

/** nvof_subsystem_nqn() - its name; valid as long as it is */
NVOF_PUBLIC const char *nvof_subsystem_nqn(const struct nvof_subsystem *subsys);
/** nvof_subsystem_errmsg() - why an I/O found no path: each path and how it is.  "" when that never happened. */
NVOF_PUBLIC const char *nvof_subsystem_errmsg(const struct nvof_subsystem *subsys);
/**
 * struct nvof_path - a path, and how it leads to a namespace
 * @ctrl:      whose
 * @ns:        the namespace as that ctrl shows it; good until the next nvof_ctx_poll().  NULL: no namespace is meant
 * @ana_state: NVME_ANA_STATE_*, as its log said last; optimized when the ctrl has no ANA; 0 without @ns
 * @usable:    I/O may take it now: the ctrl is LIVE and the state, if there is one, optimized or non-optimized, and not in doubt
 * @nr_active: I/Os of the subsystem under way on the ctrl
 * @nr_ios:    I/Os that were sent on it, all in all
 * @nr_failed: those of them that were then tried again, here or elsewhere
 */
struct nvof_path {
	struct nvof_ctrl *ctrl;
	struct nvof_ns *ns;
	uint8_t ana_state;
	bool usable;
	unsigned int nr_active;
	uint64_t nr_ios, nr_failed;
};
/** nvof_subsystem_path() - path @i, 0 .. in the order they came, whatever it leads to.  Return: false: no such path. */
NVOF_PUBLIC bool nvof_subsystem_path(const struct nvof_subsystem *subsys, unsigned int i, struct nvof_path *path);

/** nvof_subsystem_set_iopolicy() - for I/O from now on.  Return: 0; -EINVAL. */
NVOF_PUBLIC int nvof_subsystem_set_iopolicy(struct nvof_subsystem *subsys, enum nvof_iopolicy policy);
/** nvof_subsystem_iopolicy() - what was set last */
NVOF_PUBLIC enum nvof_iopolicy nvof_subsystem_iopolicy(const struct nvof_subsystem *subsys);

typedef void nvof_subsystem_event_cb(void *arg, struct nvof_subsystem *subsys, const struct nvof_event *event);
/**
 * nvof_subsystem_set_event() - who is told of the subsystem's namespaces; NULL: nobody
 *
 * NVOF_EVENT_NS_ADDED with the first path, NVOF_EVENT_NS_REMOVED once, when the last path is gone (its I/O ends with -ENODEV),
 * NVOF_EVENT_NS_RESIZED, and NVOF_EVENT_PATHS.  @event->ns is the subsystem's.  The ctrls' own events come as ever.
 */
NVOF_PUBLIC void nvof_subsystem_set_event(struct nvof_subsystem *subsys, nvof_subsystem_event_cb *event, void *arg);

typedef void nvof_subsystem_cb(void *arg, int status);
/**
 * nvof_subsystem_scan() - wait until the namespaces of all paths are known
 * @cb: runs exactly once: status 0: of at least one path; else what the last path's look ended with; -ECANCELED (nvof_ctx_free())
 *
 * Namespaces are one when they say that they are shared (NMIC) and have the same UUID, NGUID, EUI64 and block size, at least one identifier
 * among them; those without any have one path.
 *
 * Return: 0; -ENOTCONN: no path is there to ask; -ENOMEM.
 */
NVOF_PUBLIC int nvof_subsystem_scan(struct nvof_subsystem *subsys, nvof_subsystem_cb *cb, void *arg);
/** nvof_subsystem_scan_sync() - the same, blocking.  Return: status */
NVOF_PUBLIC int nvof_subsystem_scan_sync(struct nvof_subsystem *subsys);

/** nvof_subsystem_ns() - a handle of a namespace that is known, to nvof_ns_close(); of several with this id that of the earliest path;
 * NULL: none has it.  Calls that tell about a namespace take it; nvof_ns_remove() does not. */
NVOF_PUBLIC struct nvof_ns *nvof_subsystem_ns(struct nvof_subsystem *subsys, uint32_t nsid);
/** nvof_subsystem_ns_next() - the one with the lowest id above @nsid (0: the first one): a handle, or NULL after the last one */
NVOF_PUBLIC struct nvof_ns *nvof_subsystem_ns_next(struct nvof_subsystem *subsys, uint32_t nsid);

/** nvof_ns_path() - path @i of a subsystem's namespace, 0 .. in the order of nvof_subsystem_path().  Return: false: no such path. */
NVOF_PUBLIC bool nvof_ns_path(const struct nvof_ns *ns, unsigned int i, struct nvof_path *path);

/**
 * nvof_subsystem_hctx() - the subsystem's hctx @i, 0 .. nvof_subsystem_nr_hctx() - 1; NULL beyond, or without memory
 *
 * Good for nvof_read() and the other calls of the next section, except nvof_io_passthru(), with namespaces of the subsystem.  Each I/O
 * takes a path that can be used now, and there the ctrl's hctx of this number.
 *
 * What fails on the way is tried again, on any path that can be used then, at most 8 times: a path status (SCT 3), a lost connection, a
 * namespace that is gone there.  A command that changes data and was under way on a connection that was lost waits until that connection
 * can't deliver it any more: until the ctrl has closed its side, or for two keep-alive time-outs when it does not.  (A ctrl that stands
 * still for longer, and then carries out what it had received, is beyond that; nvof's own target looks first whether the host has left a
 * TCP connection.)  I/O without a path waits: for a ctrl that is being reconnected (@ctrl_loss_tmo_ms, @fast_io_fail_tmo_ms), and in the
 * ANA states "inaccessible" and "change" as long as the ctrl's ANATT says.  Then it ends with the path status, or the loss of its last
 * path, and nvof_subsystem_errmsg() says more; new I/O that finds no path is refused with -ENOTCONN.
 *
 * There are as many as the path with the most hctxs has.  Valid until the subsystem goes.
 */
NVOF_PUBLIC struct nvof_hctx *nvof_subsystem_hctx(struct nvof_subsystem *subsys, unsigned int i);
/** nvof_subsystem_nr_hctx() - see nvof_subsystem_hctx(); never fewer than before */
NVOF_PUBLIC unsigned int nvof_subsystem_nr_hctx(const struct nvof_subsystem *subsys);

/* ---------------------------------------------------------------------------------------------------------------- I/O */

/** nvof_ctrl_hctx() - the ctrl's hctx @i, 0 .. nvof_ctrl_nr_hctx() - 1; NULL beyond.  Valid until nvof_ctrl_free(): also while the ctrl is
 * lost and after it has come back with fewer queues (then some hctxs share one). */
NVOF_PUBLIC struct nvof_hctx *nvof_ctrl_hctx(struct nvof_ctrl *ctrl, unsigned int i);
/** nvof_ctrl_nr_hctx() - how many there are.  A reconnect that is granted more queues than ever before makes them more, never fewer: look
 * again at NVOF_EVENT_STATE when the ctrl is LIVE. */
NVOF_PUBLIC unsigned int nvof_ctrl_nr_hctx(const struct nvof_ctrl *ctrl);
/** nvof_hctx_nr_free() - how many commands can be submitted before -EAGAIN */
NVOF_PUBLIC unsigned int nvof_hctx_nr_free(const struct nvof_hctx *hctx);

#define NVOF_IO_FUA	(1u << 0) /* write, write zeroes: on stable media before completion (Force Unit Access) */
#define NVOF_IO_DEALLOC (1u << 1) /* write zeroes: the blocks may be deallocated */
#define NVOF_IO_LR	(1u << 2) /* limited retry */

/**
 * nvof_read() - queue a read
 * @hctx:  of the same ctrl, or subsystem, as @ns
 * @slba:  first logical block
 * @nlb:   logical blocks, 1's based; larger than one command may carry (MDTS): split, and completed once
 * @buf:   nlb * block size bytes, any alignment; the library's from return until @cb runs
 * @flags: NVOF_IO_*; one that is for another command changes nothing, bits that have no name are refused
 * @cb:    runs exactly once, from nvof_ctx_poll().  With a split the first error counts
 *
 * Never blocks.  An idle queue sends at once; else everything submitted leaves together at the next nvof_ctx_poll().
 *
 * Return: 0 when queued.  Otherwise @cb will not run: -EINVAL (@nlb 0, @buf NULL, unknown @flags, hctx and ns of different ctrls), -ERANGE
 * (beyond the namespace's end), -EAGAIN (no free slot: poll, retry), -ENOTCONN (not connected yet, being disconnected, or lost and not
 * waited for any longer: nvof_ctrl_state(), nvof_ctrl_errmsg(); while a lost ctrl is being reconnected I/O is taken, and waits), -ENOMEM.
 *
 * Status of @cb: a positive NVMe status from the ctrl; 0x0022 (Transient Transport Error) when a read's data digest was wrong;
 * -ECANCELED (disconnect), -ETIMEDOUT, -ECONNRESET and others (the ctrl was lost: nvof_ctrl_errmsg()); -ENODEV (the namespace is gone),
 * -ESTALE (its id is another namespace's now); the two come as return values as well.
 *
 * Command Interrupted, Namespace Not Ready and statuses with a Command Retry Delay, without DNR, are not seen here at first: the command is
 * sent again after the delay that the ctrl asks for, at most 5 times.
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
/** The same with a list of buffers: elements of any length and alignment, nlb * block size bytes in all, none at NULL (else -EINVAL).  The
 * iovec array is the library's until @cb as well. */
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
