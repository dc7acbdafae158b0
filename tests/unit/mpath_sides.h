/* SPDX-License-Identifier: BSD-3-Clause */
/* Two fake targets that are one subsystem, by one path each; what they do to I/O and to the ANA log a test says. */
#ifndef NVOF_TESTS_MPATH_SIDES_H
#define NVOF_TESTS_MPATH_SIDES_H

#include "host_fake.h"

#include "host/mpath.h"

#define NR_IOS	 256
#define ST(sc)	 (NVME_SCT_PATH << 8 | NVME_SC_ANA_##sc)
#define NR_PATHS 2

struct io_end {
	int nr, status;
};

/* One path and what its target does. */
struct side {
	struct fake *f;
	uint8_t state; /* ANA, of group 1 */
	uint8_t *page; /* the log as it is sent; NULL: one group, its state */
	size_t page_len;
	int log_status;
	bool hold_log, hold_io;
	int io_status; /* what I/O ends with */
	uint32_t nr_logs, nr_reads, nr_writes, nr_others;
	struct host_req *log_req;
};

extern struct side sides[NR_PATHS];
extern struct nvof_subsystem *subsys;
extern struct nvof_ns *ns;
extern struct nvof_hctx *hctx;
extern struct io_end ends[NR_IOS];
extern uint8_t bufs[NR_IOS][512];
extern int nr_told[NVOF_EVENT_PATHS + 1]; /* events of the subsystem */

/* Two targets on one disk, with a namespace that says that it is the same; not connected to. */
void prepare(void);
int side_connect(struct side *s, int loss_ms, void (*more)(struct nvof_connect_opts *o));
/* Both paths, and the one namespace they share. */
void connect_both(int loss_ms, enum nvof_iopolicy policy);
void begin(int loss_ms, enum nvof_iopolicy policy); /* all of the above */
void finish(void);

void io_cb(void *arg, const struct nvof_cpl *cpl);
void read_n(int from, int to);
void check_ended(int from, int to, int status);
/* Turns until an I/O has ended, or it has taken far too long. */
void wait_end(const struct io_end *e);
void poll_ms(unsigned int ms);

/* The log that hold_log kept. */
void answer_log(struct side *s);
void ana_event(struct side *s);
void set_state(struct side *s, uint8_t state); /* and tells it */
void break_off(struct side *s, uint16_t qid);
/* on_state of one that can't be connected to any more. */
int refuse_state(struct fake *f, uint16_t qid, enum queue_state state);

#endif
