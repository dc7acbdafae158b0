/* SPDX-License-Identifier: BSD-3-Clause */
/* A host transport without a network and a target behind it, both doing what a test says: the host core alone is on trial. */
#ifndef NVOF_TESTS_HOST_FAKE_H
#define NVOF_TESTS_HOST_FAKE_H

#include <nvof/nvof.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "host/ctrl.h"
#include "host/ctx.h"
#include "host/hctx.h"
#include "host/ns.h"
#include "transport/host_ops.h"

#define FAKE_MAX_QID 80
#define FAKE_SUBNQN  "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555"
#define FAKE_HOSTNQN "nqn.2014-08.org.nvmexpress:uuid:aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"

enum fake_answer {
	FAKE_DEFAULT,  /* the hook has nothing to say: the fake target answers */
	FAKE_ANSWERED, /* cqe is filled in: goes out */
	FAKE_HOLD,     /* never, or when the test says so: fake_complete() */
	FAKE_CLOSE,    /* the connection breaks */
};

struct fake;
struct fake_queue;

struct fake {
	struct nvof_ctx *ctx;
	struct nvof_ctrl *ctrl;
	/* what the test wants; 0: as a decent target does */
	int (*on_state)(struct fake *f, uint16_t qid, enum queue_state state); /* 0: go on; 1: be silent; < 0: fail with it */
	enum fake_answer (*on_cmd)(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe);
	bool no_room;	      /* submit says -EAGAIN */
	bool unsettled;	      /* a connection that was given up may still deliver something */
	bool queues_scripted; /* Set Features (Number of Queues) answers queues_result, not what was asked */
	uint32_t queues_result;
	uint64_t cap;
	uint32_t csts_polls; /* so many answers before RDY */
	struct nvme_id_ctrl id;
	uint32_t nr_ns; /* ids first_nsid, + ns_step ... */
	uint32_t ns_step;
	struct nvme_id_ns id_ns;
	uint8_t desc[64]; /* CNS 03h */
	uint64_t genctr;  /* discovery log */
	uint64_t numrec;
	struct nvmf_disc_log_entry *records;
	uint8_t *disk;
	size_t disk_len;
	/* what happened */
	bool enabled, shutdown;
	uint32_t nr_queues_alive, nr_endpoints;
	uint32_t nr_connects, nr_cmds, max_out;
	uint32_t nr_log_cmds, nr_log_rae0, nr_keep_alives, nr_io_cmds;
	uint32_t busy; /* inside a completion */
	struct host_req *aer;
	struct fake_queue *queues[FAKE_MAX_QID];
	/* connect callback */
	int nr_connect_cbs, connect_status;
	int nr_events, last_event;
};

struct fake_queue {
	struct host_queue q;
	struct fake *f;
	struct timer step, work;
	enum queue_state next;
	struct cds_list_head reqs;
	uint32_t nr_out;
	bool stopped;
};

struct fake *fake_new(void);
void fake_free(struct fake *f); /* checks that nothing is left */
/* Options that lead to f. */
void fake_opts(struct fake *f, struct nvof_connect_opts *o);
/* Starts and waits until the callback ran; f->ctrl is the ctrl.  Returns the status. */
int fake_connect_opts(struct fake *f, const struct nvof_connect_opts *o);
int fake_connect(struct fake *f, unsigned int nr_io_queues);
/* At least so long, and a good number of turns. */
void fake_poll_ms(struct fake *f, unsigned int ms);
/* Ends a request that the hook held. */
void fake_complete(struct host_req *req, int status, uint32_t dw0);
enum fake_answer fake_status(struct nvme_cqe *cqe, int status, uint32_t dw0);
/* Copies to or from the request's iovecs. */
void fake_put(struct host_req *req, const void *data, size_t len);
void fake_get(struct host_req *req, void *data, size_t len);
void fake_fail_queue(struct fake *f, uint16_t qid, int code, const char *text);
void fake_connect_cb(void *arg, struct nvof_ctrl *ctrl, int status);

static inline uint8_t fake_fctype(const struct host_req *req)
{
	return (uint8_t)le32toh(req->sqe.nsid);
}

#define assert_contains(text, part)                                         \
	do {                                                                \
		const char *_t = (text), *_p = (part);                      \
		if (!strstr(_t, _p))                                        \
			fail_msg("\"%s\" does not contain \"%s\"", _t, _p); \
	} while (0)

#endif
