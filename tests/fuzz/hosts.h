/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Up to four connections to a target, as hosts that speak NVMe/TCP well enough to know what the target owes them.
 *
 * What they hold against the target: it sends nothing but valid PDUs; it answers no command twice and none that was not sent; data and R2Ts
 * stay within what the command described; and in the end every command of a connection that is still good was answered, unless it is one
 * that waits by its nature.
 */
#ifndef NVOF_TESTS_FUZZ_HOSTS_H
#define NVOF_TESTS_FUZZ_HOSTS_H

#include "sim.h"
#include "unit/tcp_pdu.h"

#define HOSTS_NQN  "nqn.2014-08.org.nvmexpress:uuid:5f0ab5ea-1f20-4a8e-9a3c-6c1f2b1d0e11"
#define HOSTS_MAX  4
#define HOSTS_CMDS 64
#define HOSTS_XORS 4

/* A command that was sent whole. */
struct hosts_cmd {
	uint16_t cid;
	bool used, in_capsule, event, connect;
	uint16_t qid; /* of a Connect */
	uint32_t sgl_len, c2h_done;
	/* the R2T under way */
	bool r2t;
	uint16_t ttag;
	uint32_t off, left;
};

struct hosts_link {
	int fd;			     /* -1: none */
	bool closed;		     /* by the target */
	bool muddled;		     /* what was sent made no sense: only the target's own PDUs are checked from now on */
	bool deaf;		     /* does not read */
	struct nvme_tcp_rx from, to; /* what the target sends; what it is sent */
	struct stream out;
	uint16_t qid, next_cid;
	bool greeted, connected;
	struct hosts_cmd cmds[HOSTS_CMDS];
};

struct hosts {
	const char *subnqn;
	struct hosts_link links[HOSTS_MAX], *cur;
	uint16_t cntlid, next_qid;
	int sndbuf;
	uint8_t cpda;
	uint32_t max_data;
	bool faulty; /* the target was told to be slow or silent */
	bool few_buffers;
	uint32_t cut; /* bytes of one send; 0: all */
	struct {
		uint16_t pos;
		uint8_t val;
	} xors[HOSTS_XORS];
	uint8_t nr_xors;
	bool reseal;
	uint8_t buf[64 * 1024];
};

struct hosts *hosts_new(const char *subnqn);
void hosts_free(struct hosts *h);
void hosts_step(struct hosts *h, struct nvof_target *t, struct sim_input *in, uint8_t what, uint8_t how);
size_t hosts_read(struct hosts *h); /* returns how much came */
void hosts_check(struct hosts *h);

#endif
