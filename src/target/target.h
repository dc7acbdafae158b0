/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The target core's own structures: what stands behind include/nvof/target.h.
 *
 * Who may touch what:
 *  - api_lock serialises the public calls.  A loop thread never takes it, so its holder may wait for loop threads (target_thread_call()).
 *  - lock guards the lists (ports, subsystems, hosts, ctrls, queues of a ctrl, referrals).  Loop threads take it for Connect, discovery,
 *    events and teardown, never for I/O.  Its holder waits for nobody.
 *  - A queue and its requests belong to the thread of their loop.  A ctrl's properties, features and asynchronous event requests belong to
 *    the thread of its admin queue.
 *  - The namespace table of a subsystem is read under RCU (rcu.h) and replaced by holders of api_lock.
 */
#ifndef NVOF_TARGET_TARGET_H
#define NVOF_TARGET_TARGET_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <urcu/list.h>

#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/util.h"
#include "nvof/target.h"
#include "proto/ana.h"
#include "proto/cmd.h"
#include "target/backend.h"
#include "target/bufs.h"
#include "target/fault.h"
#include "transport/target_ops.h"

#define TARGET_ADMIN_QSIZE    32      /* entries an admin queue may always have (ASQSZ) */
#define TARGET_AERL	      3	      /* 0's based: four asynchronous event requests may be outstanding */
#define TARGET_ACL	      3	      /* 0's based: abort command limit */
#define TARGET_KAS	      10      /* keep alive granularity, 100 ms units */
#define TARGET_VERSION	      0x10400 /* NVMe 1.4 */
#define TARGET_FIRMWARE	      "0.1.0" /* firmware revision in Identify: this library's version */
#define CSTS_RDY	      (1u << 0)
#define CSTS_CFS	      (1u << 1)
#define CSTS_SHST	      (3u << 2)
#define CSTS_SHST_DONE	      (2u << 2)
#define TARGET_CHANGED_NS_MAX 1024
#define TARGET_NSID_ALL	      0xffffffffu
#define TARGET_ANATT	      10 /* seconds a host waits for the end of the state "change" */
/* Statuses the host need not retry: ST(LBA_RANGE), ST_CMD(ABORT_LIMIT). */
#define ST(sc)		      (NVME_STATUS(NVME_SCT_GENERIC, NVME_SC_##sc) | NVME_STATUS_DNR)
#define ST_CMD(sc)	      (NVME_STATUS(NVME_SCT_CMD_SPECIFIC, NVME_SC_##sc) | NVME_STATUS_DNR)
#define ST_RETRY(sc)	      NVME_STATUS(NVME_SCT_GENERIC, NVME_SC_##sc)

/* ------------------------------------------------------------------------------------------------ target and threads */

struct target_thread {
	struct nvof_target *target;
	unsigned int index;
	pthread_t thread;
	bool started, stop; /* stop: atomic */
	struct loop *loop;
	int nr_placed;		      /* queues placed here; atomic */
	struct cds_list_head queues;  /* target_queue.link; the thread's own */
	unsigned int nr_busy;	      /* of them when drain.c asked: with commands in hand */
	struct bufs bufs;	      /* the thread's own */
	struct log_limit told;	      /* of what hosts do wrong; the thread's own */
	struct cds_list_head waiting; /* target_req.wait_link, first come first served; the thread's own */
	struct loop_defer feed;
	/* The thread's own: see still.c. */
	uint64_t seen_ns; /* when it was last seen running, on clock_boot_ns() */
	uint64_t tick_ns; /* it is seen at least so often */
	struct timer tick;
};

/* A call made on a loop's thread while the caller waits. */
struct target_call {
	struct loop_work work;
	void (*fn)(void *arg);
	void *arg;
	bool done;
	struct nvof_target *target;
};

struct target_referral {
	struct cds_list_head link;
	char transport[8], traddr[257], trsvcid[33];
	uint8_t trtype, adrfam;
	uint16_t portid;
};

struct nvof_target {
	struct nvof_target_opts opts;
	struct log log;
	pthread_mutex_t api_lock;
	char *errmsg; /* of the last failed public call; under api_lock */

	pthread_mutex_t lock;
	pthread_cond_t changed;		 /* with lock: a queue went, a call is done, a namespace's last user went */
	struct cds_list_head ports;	 /* target_port.link */
	struct cds_list_head dead_ports; /* unlistened: queues on their way may still point at them; freed with the target */
	struct cds_list_head subsyss;	 /* target_subsys.link, without the discovery subsystem */
	struct cds_list_head referrals;	 /* target_referral.link */
	struct target_subsys *disc;
	uint64_t genctr;     /* discovery log generation */
	uint64_t ana_chgcnt; /* atomic: of all ANA log pages */
	uint32_t nr_queues;  /* target_queue_init()ed and not freed */
	uint16_t next_portid;

	struct cds_list_head zombies; /* removed namespaces whose memory is still being sent; target_ns.link; under api_lock */
	struct fault_set faults;
	bool draining; /* atomic */
	unsigned int nr_threads;
	struct target_thread *threads;
};

/* ------------------------------------------------------------------------------------------------ ports */

struct target_port_opts {
	uint16_t portid;		/* 0: the next free one */
	bool all_subsys;		/* else only those of target_port_add_subsys() */
	uint8_t ana[ANA_GRPID_MAX + 1]; /* state by group; 0: as it is without a word */
	bool ana_kernel;		/* groups without a word but 1 are inaccessible, as in the kernel; else optimized */
};

struct target_port {
	struct cds_list_head link;
	struct nvof_target *target;
	const struct target_transport *ops;
	struct target_listener *listener; /* NULL: no longer listening */
	struct target_thread *thread;	  /* whose loop accepts */
	struct target_link_params params;
	uint16_t portid;
	bool all_subsys, wildcard;
	bool stopped;		       /* under lock */
	char *spec;		       /* as given */
	char traddr[257], trsvcid[33]; /* in use */
	uint8_t adrfam;
	struct cds_list_head subsyss;	 /* target_port_link.link */
	uint8_t ana[ANA_GRPID_MAX + 1];	 /* atomic, each: the state by group (enum nvme_ana_state) */
	bool ana_set[ANA_GRPID_MAX + 1]; /* somebody said so; under api_lock */
	bool ana_kernel;		 /* as in target_port_opts */
};

struct target_port_link {
	struct cds_list_head link;
	struct target_subsys *subsys;
};

/* ------------------------------------------------------------------------------------------------ subsystems and namespaces */

struct target_host {
	struct cds_list_head link;
	char hostnqn[NVMF_NQN_MAX + 1];
};

struct ns_slot {
	uint32_t nsid;
	struct target_ns *ns;
};

/* Sorted by nsid; never changed once published, except that an entry may be appended. */
struct ns_table {
	uint32_t nr; /* atomic: the appender stores it last */
	uint32_t room;
	struct ns_table *retired; /* next on the list of those that wait for a grace period */
	struct ns_slot slots[];
};

struct target_subsys {
	struct cds_list_head link;
	struct nvof_target *target;
	char nqn[NVMF_NQN_MAX + 1];
	char serial[21], model[41];
	bool discovery;
	bool allow_any_host; /* under lock */
	bool removed;	     /* under lock */
	uint16_t cntlid_min, cntlid_max, cntlid_next;
	uint32_t refs;		    /* under lock: its ctrls and the target */
	struct cds_list_head hosts; /* target_host.link; under lock */
	struct cds_list_head ctrls; /* target_ctrl.link; under lock */
	uint32_t nr_ctrls;
	struct ns_table *table;	  /* RCU; never NULL */
	struct ns_table *retired; /* under api_lock */
	uint32_t nr_retired;
	uint32_t nn;	      /* atomic; only grows: NN and MNAN of Identify Controller */
	uint32_t nr_volatile; /* atomic: namespaces with a volatile write cache */
};

/* One per namespace and thread, each on a cache line of its own: the I/O path touches no line that another thread writes. */
struct ns_use {
	uint64_t refs[2]; /* requests that hold the namespace, by epoch */
	uint64_t busy;	  /* of those, the ones in the backend */
	uint64_t nr_reads, nr_writes, bytes_read, bytes_written;
} __attribute__((aligned(64)));

struct target_ns {
	struct cds_list_head link; /* zombies */
	struct target_subsys *subsys;
	struct backend *backend;
	uint32_t nsid;
	uint8_t lba_shift;
	uint8_t anagrpid; /* 1 to ANA_GRPID_MAX */
	bool readonly;
	bool dying;    /* atomic: removed; new I/O ends with 0Bh */
	uint8_t epoch; /* atomic: 0 or 1, of new references (see target_resize_ns()) */
	uint64_t nsze; /* atomic; blocks */
	uint8_t uuid[16], nguid[16];
	char *spec; /* backend as given: "mem:64M" */
	uint32_t nr_uses;
	struct ns_use *uses; /* by thread index */
};

/* ------------------------------------------------------------------------------------------------ ctrls */

enum target_event { TARGET_EVENT_NS, TARGET_EVENT_ANA, TARGET_EVENT_DISC, TARGET_NR_EVENTS };

struct target_ctrl {
	struct cds_list_head link;    /* subsys->ctrls; under lock */
	struct target_subsys *subsys; /* a reference */
	struct target_port *port;
	uint16_t cntlid;
	char hostnqn[NVMF_NQN_MAX + 1];
	uint8_t hostid[16];

	/* under lock */
	uint32_t refs;	  /* queues that point here, posted works */
	bool dead;	  /* being torn down: takes no more queues */
	uint16_t max_qid; /* I/O queues granted */
	uint32_t nr_queues;
	struct target_queue **queues; /* by qid; opts.max_io_queues + 1 of them */
	bool work_posted;
	struct loop_work work; /* events from other threads */
	unsigned int raised;   /* 1 << target_event, not yet seen by the admin queue's thread */
	uint32_t *changed_ns;  /* sorted, nr_changed_ns of at most TARGET_CHANGED_NS_MAX; > max: overflow.  NULL: none */
	uint32_t nr_changed_ns;
	struct target_fence *fences; /* nr_fences of them; see fence.c */
	uint32_t nr_fences;

	/* any thread, atomic */
	uint32_t nr_others; /* fences that stand before a namespace that the host does not know */
	bool ready;	    /* CSTS.RDY: I/O commands are served */
	bool traffic;	    /* a command came since the keep-alive timer was last looked at */

	/* the admin queue's thread */
	struct target_queue *admin;
	uint32_t cc;
	uint32_t csts;	  /* atomic */
	uint32_t kato_ms; /* atomic */
	uint64_t kato_due;
	struct timer kato;
	unsigned int pending, masked; /* 1 << target_event */
	uint32_t aen_config;
	struct target_req *aers[TARGET_AERL + 1];
	uint32_t nr_aers;
	uint32_t features[0x20]; /* those that are only stored and read back, by feature id */
	struct nvme_feat_host_behavior host_behavior;
};

/* ------------------------------------------------------------------------------------------------ functions, by file */

/* target.c: entering and leaving a public call */
void target_api_enter(struct nvof_target *t);
int target_api_leave(struct nvof_target *t, int ret, struct error *err); /* keeps err's sentence when ret < 0; clears err; returns ret */
int target_api_need(const char *what, const void *p, struct error *err); /* 0, or p is NULL: -EINVAL and a sentence */

/* drain.c: stop listening, let I/O in flight end for at most tmo_ms, close all connections.  0 or -ETIMEDOUT */
int target_shut(struct nvof_target *t, unsigned int tmo_ms);

/* threads.c */
int target_threads_start(struct nvof_target *t, struct error *err);
void target_threads_stop(struct nvof_target *t);
void target_thread_call(struct target_thread *th, void (*fn)(void *arg), void *arg); /* waits; holder of api_lock only */
struct target_thread *target_thread_of(struct nvof_target *t, const struct loop *loop);

/* port.c; the target_* below are the public calls' insides: api_lock held, a sentence in err when they fail */
int target_listen(struct nvof_target *t, const char *spec, const struct target_port_opts *opts, struct target_port **pp, struct error *err);
int target_unlisten(struct nvof_target *t, const char *spec, struct error *err);
struct target_port *target_port_find(struct nvof_target *t, const char *spec); /* as given, or where it is, however spelled */
int target_port_add_subsys(struct target_port *port, const char *nqn, struct error *err);
bool target_port_offers(const struct target_port *port, const struct target_subsys *s); /* under lock */
void target_port_forget_subsys(struct nvof_target *t, const struct target_subsys *s);	/* under lock */
void target_port_stop(struct target_port *port);					/* stops listening; connections stay */
void target_port_free(struct target_port *port);
void target_port_spec(const struct target_port *port, char *buf, size_t len); /* "tcp:127.0.0.1:4420", with the port in use */

/* subsys.c, hosts.c */
int target_add_subsys(struct nvof_target *t, const char *nqn, const struct nvof_subsys_opts *opts, struct error *err);
int target_remove_subsys(struct nvof_target *t, const char *nqn, struct error *err);
struct target_subsys *target_subsys_find(struct nvof_target *t, const char *nqn); /* under api_lock or lock; discovery included */
struct target_subsys *target_subsys_get(struct nvof_target *t, const char *nqn, struct error *err); /* without discovery; err: -ENOENT */
struct target_subsys *target_subsys_new(struct nvof_target *t, const char *nqn, const struct nvof_subsys_opts *opts);
void target_subsys_put(struct target_subsys *s); /* under lock */
void target_subsys_free(struct target_subsys *s);
void target_subsyss_free(struct nvof_target *t); /* all, discovery included; no ctrl is left */
/* under lock; port and hostnqn NULL: any */
void target_subsys_close_ctrls(struct target_subsys *s, const struct target_port *port, const char *hostnqn, const char *why);
int target_allow_host(struct nvof_target *t, const char *nqn, const char *hostnqn, struct error *err);
int target_disallow_host(struct nvof_target *t, const char *nqn, const char *hostnqn, struct error *err);
int target_allow_any_host(struct nvof_target *t, const char *nqn, bool any, struct error *err);
bool target_host_allowed(const struct target_subsys *s, const char *hostnqn); /* under lock */

/* ns.c: the table and references */
struct ns_table *ns_table_new(uint32_t room);
int ns_table_insert(struct target_subsys *s, struct target_ns *ns);
int ns_table_remove(struct target_subsys *s, uint32_t nsid); /* returns after a grace period */
void ns_table_reap(struct target_subsys *s);		     /* frees retired tables after a grace period */
/* Publishes an empty table, waits for a grace period and returns the old one, nobody else's any more. */
struct ns_table *ns_table_take(struct target_subsys *s, struct ns_table *empty);
uint32_t ns_table_nr(const struct ns_table *table);
struct target_ns *ns_table_find(const struct ns_table *table, uint32_t nsid);
uint32_t ns_table_after(const struct ns_table *table, uint32_t nsid); /* index of the first id above nsid */
struct ns_table *target_ns_table(const struct target_subsys *s);      /* inside an RCU read section, or under api_lock */
/* The calling thread's reference for req (released by target_ns_put()); false: no such namespace. */
bool target_ns_get(struct target_req *req, struct target_subsys *s, uint32_t nsid);
void target_ns_put(struct target_req *req);
bool target_ns_busy(struct target_req *req); /* before the backend is asked; false: the namespace was removed meanwhile */
void target_ns_idle(struct target_req *req);
uint64_t target_ns_refs(const struct target_ns *ns, int epoch);
uint64_t target_ns_nr_busy(const struct target_ns *ns);
static inline uint64_t target_ns_nsze(const struct target_ns *ns)
{
	return __atomic_load_n(&ns->nsze, __ATOMIC_ACQUIRE);
}

/* fence.c: ids that another namespace has now.  The first three in this order around the change of the table, api_lock held. */
int target_fence_going(struct target_ns *ns);				      /* is dying, still in the table; 0 or -ENOMEM */
void target_fence_gone(struct target_ns *ns);				      /* nobody can find it any more */
void target_fence_coming(struct target_ns *ns);				      /* goes into the table next */
void target_fence_told(struct target_ctrl *c, const struct target_ns *ns);    /* the host gets its Identify Namespace data */
bool target_fence_refuses(struct target_ctrl *c, const struct target_ns *ns); /* only if c->nr_others; inside the read section */

/* ns_admin.c: add, remove, resize */
int target_add_ns(struct nvof_target *t, const char *nqn, const struct nvof_target_ns_opts *opts, uint32_t *nsidp, struct error *err);
int target_remove_ns(struct nvof_target *t, const char *nqn, uint32_t nsid, struct error *err);
int target_resize_ns(struct nvof_target *t, const char *nqn, uint32_t nsid, uint64_t bytes, struct error *err);
void target_remove_all_ns(struct target_subsys *s);
void target_reap_zombies(struct nvof_target *t, bool wait);

/* ids.c */
void target_ids_default(const char *subsysnqn, uint32_t nsid, const char *contents, uint8_t uuid[16], uint8_t nguid[16]);
void target_serial_default(const char *subsysnqn, char serial[21]);

/* queue.c: the doors for queues are in transport/target_ops.h */
void target_queue_close(struct target_queue *q);      /* on its thread */
void target_queue_close_post(struct target_queue *q); /* any thread, under lock */
void target_queue_maybe_free(struct target_queue *q); /* on its thread */
/* What its host did wrong, on its thread; not every line of many. */
void target_queue_warn(struct target_queue *q, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool target_queue_drained(struct target_queue *q); /* on its thread: nothing is left that it would have to answer */

/* req.c */
void target_req_respond(struct target_req *req, uint16_t status); /* status with DNR, without the phase bit */
/* A buffer of len bytes as req->iov.  False: no memory, and req was answered. */
bool target_req_buffer(struct target_req *req, uint32_t len);
/* len zeroed bytes to fill in for the host, of which it gets what it has room for.  NULL: no room or memory, and req was answered. */
void *target_req_page(struct target_req *req, uint32_t len);
/* Keeps req until somebody answers it (events, faults that ignore); target_queue_closed() answers what is left. */
void target_req_park(struct target_req *req);
void target_req_unpark(struct target_req *req);

/* buf_wait.c: I/O waits for a buffer when the thread's are all in use */
void target_buf_wait_init(struct target_thread *th);
bool target_buf_short(const struct target_req *req, uint32_t len); /* then: target_buf_wait(), and somebody else goes on with req */
void target_buf_wait(struct target_req *req);
void target_buf_put(struct target_thread *th, void *buf, size_t room); /* what bufs_get() gave comes back; feeds those who wait */

/* ctrl.c */
struct target_ctrl *target_ctrl_new(struct target_subsys *s, struct target_port *port, const char *hostnqn,
				    const uint8_t hostid[16]);				 /* under lock */
struct target_ctrl *target_ctrl_find(struct target_subsys *s, uint16_t cntlid);		 /* under lock */
void target_ctrl_add_queue(struct target_ctrl *c, struct target_queue *q, uint16_t qid); /* under lock */
void target_ctrl_remove_queue(struct target_queue *q);					 /* under lock */
void target_ctrl_put(struct target_ctrl *c);						 /* under lock */
void target_ctrl_close(struct target_ctrl *c, const char *why);				 /* any thread, under lock: all its queues */
void target_ctrl_close_io(struct target_ctrl *c);					 /* under lock: all but the admin queue */

void target_ctrl_raise(struct target_ctrl *c, enum target_event ev); /* under lock */

/* kato.c (admin thread) */
void target_kato_init(struct target_ctrl *c);
void target_kato_start(struct target_ctrl *c, uint32_t kato_ms);
void target_kato_stop(struct target_ctrl *c);
void target_kato_extend(struct target_ctrl *c, uint64_t ns); /* so much time does not count */

/* still.c: a thread that stood still; target_receives() is in transport/target_ops.h.  On the thread. */
void target_still_init(struct target_thread *th);
void target_still_exit(struct target_thread *th);
void target_still_watch(struct target_queue *q); /* it is connected, or its ctrl has another keep-alive time-out */
void target_still_look(struct target_thread *th);

/* fabrics.c, connect.c, property.c */
uint16_t target_fabrics_begin(struct target_req *req); /* the begins: sets dir and data_len; a status refuses */
void target_fabrics_execute(struct target_req *req);
void target_connect(struct target_req *req);
void target_property_get(struct target_req *req);
void target_property_set(struct target_req *req);
void target_ctrl_disable(struct target_ctrl *c); /* CC.EN 1 -> 0: admin thread */
uint64_t target_cap(const struct nvof_target *t);

/* admin.c, identify.c, log.c, features.c, abort.c */
uint16_t target_admin_begin(struct target_req *req);
void target_admin_execute(struct target_req *req);
void target_identify(struct target_req *req);
void target_text(char *field, size_t len, const char *text); /* a fixed field, padded with spaces */
void target_get_log(struct target_req *req);
void target_get_features(struct target_req *req);
void target_set_features(struct target_req *req);
uint32_t target_set_features_len(const struct target_req *req); /* bytes of data the command brings */
void target_features_reset(struct target_ctrl *c);
void target_abort(struct target_req *req);

/* events.c */
void target_aer(struct target_req *req);
void target_aer_forget(struct target_ctrl *c, const struct target_req *req);
void target_events_flush(struct target_ctrl *c, uint16_t status);    /* admin thread: answers all held requests */
void target_event_read(struct target_ctrl *c, enum target_event ev); /* admin thread: the log was read with RAE 0 */
void target_events_deliver(struct target_ctrl *c);		     /* admin thread */
void target_ns_changed(struct target_subsys *s, uint32_t nsid);	     /* takes lock */
void target_disc_changed(struct nvof_target *t);		     /* takes lock; also moves genctr on */
void target_changed_ns_read(struct target_ctrl *c, uint32_t list[TARGET_CHANGED_NS_MAX], bool clear);

/* ana.c */
bool target_ana_group_fine(uint32_t grpid);
void target_ana_init(struct target_port *port, const struct target_port_opts *opts);
uint8_t target_ana_state(const struct target_port *port, uint32_t grpid);
uint16_t target_ana_refusal(uint8_t state);				    /* how I/O ends in that state; 0: it is carried out */
bool target_ana_has_members(const struct target_subsys *s, uint32_t grpid); /* as target_ns_table() */
bool target_ana_listed(const struct target_port *port, uint32_t grpid);	    /* under api_lock: does status and file tell of it? */
int target_ana_preset(struct target_port_opts *opts, const struct nvof_ana_group *groups, size_t nr, struct error *err);
int target_set_ana(struct nvof_target *t, const char *spec, uint32_t grpid, unsigned int state, struct error *err);
/* Bytes [offset, offset + len) of the log page of this ctrl, what is beyond its end left alone; a status. */
uint16_t target_ana_log(const struct target_ctrl *c, bool groups_only, uint64_t offset, uint8_t *buf, size_t len);

/* io.c; what it shares with io_steps.c is in io.h */
uint16_t target_io_begin(struct target_req *req);
void target_io_execute(struct target_req *req);
/* A write's data goes straight to the backend's memory: the request is ready for it.  False: it needs a buffer. */
bool target_write_in_place(struct target_req *req);
static inline bool target_range_fine(const struct target_ns *ns, uint64_t slba, uint64_t nlb)
{
	uint64_t nsze = target_ns_nsze(ns);

	return nlb <= nsze && slba <= nsze - nlb; /* no sum that could overflow (C086) */
}
/* discovery.c */
int target_add_referral(struct nvof_target *t, const char *transport, const char *traddr, const char *trsvcid, struct error *err);
void target_referrals_free(struct nvof_target *t);
int target_remove_referral(struct nvof_target *t, const char *transport, const char *traddr, const char *trsvcid, struct error *err);
/* Bytes [offset, offset + len) of the log as this ctrl's host may see it, zeroes beyond its end; local: the address it came in by. */
void target_discovery_log(struct target_ctrl *c, const char *local, uint64_t offset, uint8_t *buf, size_t len);

/* config*.c has nvof_target_load_config(), nvof_target_save_config() and nvof_target_status_json() themselves, over the above. */

#endif
