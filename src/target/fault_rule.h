/* SPDX-License-Identifier: BSD-3-Clause */
/* One fault rule, between its parser and its matcher. */
#ifndef NVOF_TARGET_FAULT_RULE_H
#define NVOF_TARGET_FAULT_RULE_H

#include "target/fault.h"

enum fault_qid { FAULT_QID_ALL, FAULT_QID_IO, FAULT_QID_ONE };

struct fault_rule {
	struct fault_rule *next; /* atomic: set once, when the next rule is added */
	/* which events */
	enum fault_point point;
	enum fault_qid qid_kind;
	uint16_t qid;
	bool has_opcode, has_fctype;
	uint8_t opcode, fctype;
	bool has_nsid;
	uint32_t nsid;
	uint64_t after, count;		     /* count 0: without end */
	double prob;			     /* 0: always */
	uint64_t every_ns, for_ns, start_ns; /* every_ns 0: no window */
	/* what happens */
	struct fault_action action;
	bool stall; /* the delay is what remains of the window */
	/* atomic counters */
	uint64_t seen, acted;
	char spec[]; /* as it was given */
};

/* A rule to free(), or NULL and err set (-EINVAL, -ENOMEM). */
struct fault_rule *fault_rule_parse(const char *spec, struct error *err);

#endif
