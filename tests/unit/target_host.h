/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host for tests of the target core: a transport "fake" that builds target_reqs itself.  Commands are handed to the queue's own loop
 * thread; who waits does so on a condition, with a generous limit that only a bug reaches.
 */
#ifndef NVOF_TESTS_TARGET_HOST_H
#define NVOF_TESTS_TARGET_HOST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "target/target.h"

#define SUBNQN	"nqn.2024-01.org.example:disks"
#define HOSTNQN "nqn.2014-08.org.nvmexpress:uuid:5f0ab5ea-1f20-4a8e-9a3c-6c1f2b1d0e11"

/* One connection.  th_close() it; the memory goes when the core has freed its side, too. */
struct th_queue;

/* One command under way. */
struct th_cmd;

/* How a command ended. */
struct th_cpl {
	uint16_t status; /* without the phase bit */
	uint32_t dw0, dw1;
	uint16_t sqhd, sqid, cid;
	uint32_t len; /* bytes that came */
};

/* ---- target ---- */

struct nvof_target *th_target(unsigned int io_threads);				  /* with a port "fake" and no subsystem */
struct nvof_target *th_target_with(unsigned int io_threads, const char *backend); /* and with SUBNQN, whose namespace 1 this is */
struct nvof_target *th_target_opts(const struct nvof_target_opts *opts);
void th_add_subsys(struct nvof_target *t, const char *nqn);
uint32_t th_add_ns(struct nvof_target *t, const char *nqn, const char *backend); /* returns the nsid */
struct target_port *th_port(struct nvof_target *t, const char *spec);
/* Fails the test when the target's last sentence does not contain text. */
void th_assert_errmsg(struct nvof_target *t, const char *text);
struct target_ns *th_ns(struct nvof_target *t, const char *nqn, uint32_t nsid);

/* ---- connections ---- */

struct th_queue *th_open(struct nvof_target *t); /* by the first port */
struct th_queue *th_open_port(struct target_port *port);
void th_close(struct th_queue *q); /* the host closes; waits until the core knows */
void th_close_nowait(struct th_queue *q);
bool th_closed(struct th_queue *q);	 /* the link is gone */
void th_wait_closed(struct th_queue *q); /* the target closes it */
struct target_thread *th_thread(struct th_queue *q);
struct target_queue *th_core(struct th_queue *q); /* while it is open */
/* The address of ours that its host came in by, from now on. */
void th_set_local(struct th_queue *q, const char *local);

/* ---- commands ---- */

/* Sends and waits.  data, len: what the SGL describes (either way). */
struct th_cpl th_cmd(struct th_queue *q, struct nvme_sqe sqe, void *data, uint32_t len);
/* Sends only.  th_wait() or th_forget() it.  An SGL of type NVME_SGL_TRANSPORT is refused before it begins. */
struct th_cmd *th_send(struct th_queue *q, struct nvme_sqe sqe, void *data, uint32_t len);
/* As th_send(), but the answered request is not ended (the host does not read) until th_release(). */
struct th_cmd *th_send_hold(struct th_queue *q, struct nvme_sqe sqe, void *data, uint32_t len);
/* As th_send(), but the data is not brought until th_release(). */
struct th_cmd *th_send_slow(struct th_queue *q, struct nvme_sqe sqe, void *data, uint32_t len);
void th_release(struct th_cmd *cmd);
struct th_cpl th_wait(struct th_cmd *cmd);
bool th_done(struct th_cmd *cmd);
const struct target_req *th_req(const struct th_cmd *cmd); /* while it is held or slow */
/* After everything sent before on q was looked at: is cmd still unanswered? */
bool th_held(struct th_cmd *cmd);
void th_sync(struct th_queue *q);
/* The keep-alive time-out of an admin queue is over, for once: the target looks whether there was any traffic. */
void th_kato_passes(struct th_queue *admin);

struct nvme_sqe th_sqe(uint8_t opcode, uint32_t nsid, uint32_t cdw10, uint32_t cdw11, uint32_t cdw12);
struct nvme_sqe th_rw(uint8_t opcode, uint32_t nsid, uint64_t slba, uint32_t nlb);

/* Connect with everything settable. */
struct th_connect {
	uint16_t qid, sqsize, cntlid, recfmt;
	uint8_t cattr;
	uint32_t kato;
	const char *subnqn, *hostnqn;
	uint8_t hostid[16];
};
struct th_connect th_connect_admin(void);
struct th_connect th_connect_io(uint16_t qid, uint16_t cntlid);
struct nvme_sqe th_connect_sqe(const struct th_connect *c);
void th_connect_data(const struct th_connect *c, struct nvmf_connect_data *data);
struct th_cpl th_connect(struct th_queue *q, const struct th_connect *c);

struct nvme_sqe th_property_get_sqe(uint32_t offset, bool is64);
uint64_t th_property_get(struct th_queue *q, uint32_t offset, bool is64);
struct th_cpl th_property_set(struct th_queue *q, uint32_t offset, uint64_t value);

/* An enabled ctrl: its admin queue, and an I/O queue. */
#define TH_CC_EN 0x460001
struct th_queue *th_admin(struct nvof_target *t, uint16_t *cntlid); /* of SUBNQN */
struct th_queue *th_admin_to(struct nvof_target *t, const char *subnqn, uint16_t *cntlid);
struct th_queue *th_io(struct nvof_target *t, uint16_t qid, uint16_t cntlid);

struct th_cpl th_identify(struct th_queue *q, uint8_t cns, uint32_t nsid, void *page);
struct th_cpl th_get_log(struct th_queue *q, uint8_t lid, bool rae, uint64_t offset, void *buf, uint32_t len);
struct th_cpl th_set_feature(struct th_queue *q, uint8_t fid, uint32_t value);
struct th_cpl th_get_feature(struct th_queue *q, uint8_t fid);

#define assert_status(cpl, want) assert_int_equal((cpl).status, (want))

#endif
