/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who sits between a host and a target and changes what the target says: PDUs altered, lost, doubled, held back, cut, made up.  The input
 * tells which PDU (how many pass untouched before it) and what happens to it; behind its end all pass.
 *
 * What the host says is passed on as it is, and must be valid PDUs whatever lies it was told.
 */
#ifndef NVOF_TESTS_FUZZ_BETWEEN_H
#define NVOF_TESTS_FUZZ_BETWEEN_H

#include "sim.h"
#include "unit/tcp_pdu.h"

#define BETWEEN_LINKS 8

struct between_link {
	int host, target;      /* -1: none */
	struct nvme_tcp_rx to; /* what the host sends */
	bool unchecked;	       /* it was lied to about the rules, or said goodbye */
	bool target_closed;
	struct stream in;	 /* from the target: not yet a whole PDU */
	struct stream out, held; /* for the host */
	size_t pause;		 /* so much of out goes now, the rest in the next round */
	struct stream up;	 /* for the target */
};

struct between {
	struct nvof_target *t;
	struct sim_input *in;
	struct between_link links[BETWEEN_LINKS];
	uint8_t cpda;
	uint32_t max_data;
	uint32_t skip; /* PDUs until the next change */
	bool armed;    /* skip is set */
	bool changed;  /* anything at all */
	bool lied;     /* more than what digests find */
	int sndbuf;
	uint8_t buf[64 * 1024];
};

void between_init(struct between *b, struct nvof_target *t, struct sim_input *in);
/* Takes new connections and moves what there is.  Returns whether anything moved. */
bool between_run(struct between *b);
/* What was held back comes after all.  Returns whether there was any. */
bool between_release(struct between *b);
void between_exit(struct between *b);

#endif
