/* SPDX-License-Identifier: BSD-3-Clause */
/* The namespaces of a fake target, which a test adds, removes and changes as it likes; and what the host tells about them. */
#ifndef NVOF_TESTS_NS_MODEL_H
#define NVOF_TESTS_NS_MODEL_H

#include "host_fake.h"

#define MODEL_MAX  3000
#define MODEL_TOLD 8000

struct model_ns {
	uint32_t nsid;
	uint64_t nr_blocks; /* 0: not there, but listed */
	uint8_t uuid;
	int status; /* of Identify; 0: it is told */
};

struct model_told {
	enum nvof_event_type type;
	uint32_t nsid;
};

struct model {
	struct fake *f;
	struct model_ns ns[MODEL_MAX]; /* sorted by nsid */
	size_t nr;
	uint32_t changed[1024]; /* the log */
	bool storm;		/* each request for an event is answered at once: namespaces have changed */
	uint32_t nr_logs, nr_lists, nr_identifies;
	/* Identify commands are held back, and answered in random order, when hold is set */
	bool hold;
	struct host_req *held[256];
	size_t nr_held, max_held;
	unsigned int seed;
	/* NVOF_EVENT_NS_* that the host told */
	struct model_told told[MODEL_TOLD];
	size_t nr_told;
};

/* A LIVE ctrl with nr namespaces 1, 2 ...; opts may be changed by `more` (NULL: not). */
struct model *model_new(uint32_t nr, void (*more)(struct nvof_connect_opts *o));
void model_free(struct model *m);
void model_add(struct model *m, uint32_t nsid);
struct model_ns *model_find(struct model *m, uint32_t nsid);
void model_remove(struct model *m, uint32_t nsid);
/* An event, when the host asked for one; the log is what changed has. */
bool model_event(struct model *m);
/* Answers one of those held back. */
void model_answer(struct model *m);
/* How often this was told. */
size_t model_times(const struct model *m, enum nvof_event_type type, uint32_t nsid);

#endif
