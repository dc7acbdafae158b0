/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * DOC: an NVMe over Fabrics target inside your process
 *
 * Threads: a target has threads of its own (nvof_target_opts.io_threads).  All calls here may come from any thread; they are serialised
 * inside, may block for a short time (never on a host), and take effect while hosts are connected.
 *
 * Results: 0, or a negative errno; then nvof_target_errmsg() has a sentence: that of the target's last failed call.  A text or options that
 * are NULL where nothing says that they may be are -EINVAL.
 */
#ifndef NVOF_TARGET_H
#define NVOF_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nvof/nvof.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nvof_target;

/**
 * struct nvof_target_opts
 * @size:	     sizeof(struct nvof_target_opts)
 * @log, @log_arg, @log_level: as in nvof_ctx_opts; @log may be called from the target's threads
 * @io_threads:	     threads that serve connections (default 1)
 * @max_io_queues:   I/O queues granted to one ctrl (default 128)
 * @max_queue_size:  entries of an I/O queue (default 1024; CAP.MQES)
 * @mdts_len:	     largest data of one command, bytes; a power of two from 8192 to 64 MiB (default 1 MiB; MDTS cannot say 4096)
 * @inline_len:	     in-capsule data of I/O commands, bytes (default 16384; 0: none)
 * @pace:	     bytes per second of each connection; 0: no cap (SO_MAX_PACING_RATE); tcp only
 * @spin_us:	     as in nvof_ctx_opts
 * @poll:	     never sleep: a core burns for the lowest latency (default false)
 * @handshake_tmo_ms: a connection that has not sent Connect by then is closed (default 10000)
 */
struct nvof_target_opts {
	size_t size;
	void (*log)(void *log_arg, enum nvof_log_level level, const char *msg);
	void *log_arg;
	enum nvof_log_level log_level;
	unsigned int io_threads;
	unsigned int max_io_queues;
	unsigned int max_queue_size;
	uint32_t mdts_len;
	uint32_t inline_len;
	uint64_t pace;
	unsigned int spin_us;
	bool poll;
	unsigned int handshake_tmo_ms;
};
NVOF_PUBLIC void nvof_target_opts_init(struct nvof_target_opts *opts);

/** nvof_target_new() - a target with the discovery subsystem, no ports, running.  @opts NULL: defaults.  Return: 0, -ENOMEM, -EMFILE,
 * -EAGAIN (thread), -EINVAL */
NVOF_PUBLIC int nvof_target_new(const struct nvof_target_opts *opts, struct nvof_target **tp);
/** nvof_target_drain() - stop accepting, let I/O in flight end (at most @tmo_ms; 0: close at once), close every connection.  A host that
 * does not close its side has a moment to do so: it takes 0.1 s for its I/O queues and 0.1 s for its admin queue.  Return: 0; -ETIMEDOUT:
 * I/O was still in flight after @tmo_ms (closed all the same) */
NVOF_PUBLIC int nvof_target_drain(struct nvof_target *t, unsigned int tmo_ms);
/** nvof_target_free() - close everything at once and free.  NULL is fine. */
NVOF_PUBLIC void nvof_target_free(struct nvof_target *t);
/** nvof_target_errmsg() - the sentence of the last call on @t that failed, copied to @buf; returns @buf */
NVOF_PUBLIC const char *nvof_target_errmsg(struct nvof_target *t, char *buf, size_t len);

/** nvof_target_listen() - add a listener "tcp:ADDR:PORT" ("tcp:[::1]:4420"; PORT 0: any free one), or "loop" (nvof_connect_opts.loop_target
 * reaches it).  All subsystems are offered on it.  @addr, @addr_len: gets the text of the address in use; may be NULL.
 * Return: 0, -EADDRINUSE, -EADDRNOTAVAIL, -EINVAL, -EEXIST (already listening there) */
NVOF_PUBLIC int nvof_target_listen(struct nvof_target *t, const char *spec, char *addr, size_t addr_len);
/** nvof_target_unlisten() - stop listening; closes the ctrls that came by it, as the kernel's target does.  @spec: as given to
 * nvof_target_listen(), or the text that it returned.  Return: 0, -ENOENT */
NVOF_PUBLIC int nvof_target_unlisten(struct nvof_target *t, const char *spec);

/**
 * enum nvof_ana_state - how a port leads to the namespaces of an ANA group (asymmetric namespace access, Base 2.0 section 8.1); the values
 * are those of the log page.  In the last three I/O ends at once with a path status (SCT 3h: 02h, 01h, 03h, no DNR); admin commands go on.
 * Hosts give a group 10 s (ANATT) to leave NVOF_ANA_CHANGE; Linux resets the ctrl after twice that.
 */
enum nvof_ana_state {
	NVOF_ANA_OPTIMIZED = 0x1,
	NVOF_ANA_NON_OPTIMIZED = 0x2,
	NVOF_ANA_INACCESSIBLE = 0x3,
	NVOF_ANA_PERSISTENT_LOSS = 0x4,
	NVOF_ANA_CHANGE = 0xf,
};
/** struct nvof_ana_group - the state of one group.  @grpid: 1 to 128 */
struct nvof_ana_group {
	uint32_t grpid;
	enum nvof_ana_state state;
};
/** nvof_target_listen_ana() - as nvof_target_listen(), with states that hold from the first connection on.  @groups: borrowed for the call;
 * groups that are not named are optimized.  Return: as nvof_target_listen(); -EINVAL: a group or a state that there is none of */
NVOF_PUBLIC int nvof_target_listen_ana(struct nvof_target *t, const char *spec, const struct nvof_ana_group *groups, size_t nr_groups,
				       char *addr, size_t addr_len);
/** nvof_target_set_ana() - change a group's state on one listener.  What arrives after the call returned meets the new state; I/O in flight
 * ends as it would have.  Connected hosts that asked for the event are told.  @spec: as for nvof_target_unlisten(); @grpid: 1 to 128, of a
 * group that needs no members yet.  Return: 0 (also when it is the state already), -ENOENT (not listening there), -EINVAL */
NVOF_PUBLIC int nvof_target_set_ana(struct nvof_target *t, const char *spec, uint32_t grpid, enum nvof_ana_state state);

/** struct nvof_subsys_opts */
struct nvof_subsys_opts {
	size_t size;
	const char *serial;		 /* NULL: derived from the NQN */
	const char *model;		 /* NULL: "nvof" */
	bool allow_any_host;		 /* default true */
	uint16_t cntlid_min, cntlid_max; /* default 1..0xffef */
};
NVOF_PUBLIC void nvof_subsys_opts_init(struct nvof_subsys_opts *opts);
/** @opts NULL: defaults.  Return: 0, -EEXIST, -EINVAL (the NQN: the sentence says what is wrong with it), -ENOMEM */
NVOF_PUBLIC int nvof_target_add_subsys(struct nvof_target *t, const char *nqn, const struct nvof_subsys_opts *opts);
/** Closes its ctrls.  Return: 0, -ENOENT */
NVOF_PUBLIC int nvof_target_remove_subsys(struct nvof_target *t, const char *nqn);
/** With allow_any_host false only these connect.  Removing one closes its ctrls.  Return: 0, -ENOENT, -EEXIST, -EINVAL */
NVOF_PUBLIC int nvof_target_allow_host(struct nvof_target *t, const char *nqn, const char *hostnqn);
NVOF_PUBLIC int nvof_target_disallow_host(struct nvof_target *t, const char *nqn, const char *hostnqn);
NVOF_PUBLIC int nvof_target_allow_any_host(struct nvof_target *t, const char *nqn, bool any);

/** struct nvof_target_ns_opts - a namespace; also what hosts see of it.  Zero ids: derived from subsystem NQN and nsid, the same after each
 * start */
struct nvof_target_ns_opts {
	size_t size;
	uint32_t nsid;	     /* 0: the lowest free one */
	const char *backend; /* "mem:64M", "file:PATH", "null:1T" */
	uint32_t block_size; /* 512 (default) or 4096 */
	uint8_t uuid[16], nguid[16];
	bool readonly;
	uint32_t anagrpid; /* ANA group, 1 (default) to 128 */
};
NVOF_PUBLIC void nvof_target_ns_opts_init(struct nvof_target_ns_opts *opts);
/** @nsidp: gets the nsid; may be NULL.  Connected hosts are told.  Return: 0, -ENOENT (subsystem; file), -EEXIST (nsid; uuid or nguid in
 * use), -EINVAL, -ENOSPC, -errno of the file */
NVOF_PUBLIC int nvof_target_add_ns(struct nvof_target *t, const char *nqn, const struct nvof_target_ns_opts *opts, uint32_t *nsidp);
/** New I/O ends with Invalid Namespace (0Bh, DNR) at once; returns when I/O in flight has ended.  Return: 0, -ENOENT */
NVOF_PUBLIC int nvof_target_remove_ns(struct nvof_target *t, const char *nqn, uint32_t nsid);
/** @bytes 0: take the size the backend has now (a file that grew).  Return: 0, -ENOENT, -EINVAL, -ENOTSUP, -errno */
NVOF_PUBLIC int nvof_target_resize_ns(struct nvof_target *t, const char *nqn, uint32_t nsid, uint64_t bytes);

/** A referral in the discovery log.  Return: 0, -EEXIST, -ENOENT, -EINVAL */
NVOF_PUBLIC int nvof_target_add_referral(struct nvof_target *t, const char *transport, const char *traddr, const char *trsvcid);
NVOF_PUBLIC int nvof_target_remove_referral(struct nvof_target *t, const char *transport, const char *traddr, const char *trsvcid);

/** A fault as in nvof-target(1) --fault: "on=connect,qid=io,delay=5ms".  Return: 0, -EINVAL (the sentence names the key) */
NVOF_PUBLIC int nvof_target_add_fault(struct nvof_target *t, const char *spec);
NVOF_PUBLIC void nvof_target_clear_faults(struct nvof_target *t);

/** nvmetcli's JSON: loads ports, subsystems, hosts, namespaces from @path.  Nothing is changed unless all of it is fine.
 * Return: 0, -EINVAL and a sentence with the place in the file, -errno of the file or of what an entry asked for */
NVOF_PUBLIC int nvof_target_load_config(struct nvof_target *t, const char *path);
/** Writes the present configuration in the same form, by rename; a symbolic link is followed.  Return: 0; -EISDIR or -EINVAL: @path is
 * there and no regular file, which stays as it is; -errno */
NVOF_PUBLIC int nvof_target_save_config(struct nvof_target *t, const char *path);
/** The present state as a JSON text to free(): subsystems, namespaces, ctrls, queues per thread.  NULL: no memory */
NVOF_PUBLIC char *nvof_target_status_json(struct nvof_target *t);

#ifdef __cplusplus
}
#endif
#endif
