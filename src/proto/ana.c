// SPDX-License-Identifier: BSD-3-Clause
/* NVM Express Base 2.0 sections 5.16.1.13 and 8.1. */
#include <endian.h>
#include <nvme/types.h>
#include <string.h>

#include "base/util.h"
#include "proto/ana.h"

static const struct {
	uint8_t state;
	const char *name;
} states[] = {
	{ NVME_ANA_STATE_OPTIMIZED, "optimized" },
	{ NVME_ANA_STATE_NONOPTIMIZED, "non-optimized" },
	{ NVME_ANA_STATE_INACCESSIBLE, "inaccessible" },
	{ NVME_ANA_STATE_PERSISTENT_LOSS, "persistent-loss" },
	{ NVME_ANA_STATE_CHANGE, "change" },
};

const char *ana_state_name(uint8_t state)
{
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		if (states[i].state == state)
			return states[i].name;
	return "unrecognized";
}

bool ana_state_parse(const char *name, uint8_t *state)
{
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		if (!strcmp(states[i].name, name)) {
			*state = states[i].state;
			return true;
		}
	return false;
}

bool ana_walk_begin(struct ana_walk *w, const uint8_t *log, size_t len, size_t *need)
{
	struct nvme_ana_log head;

	*need = sizeof(head);
	if (len < sizeof(head))
		return false;
	memcpy(&head, log, sizeof(head));
	*w = (struct ana_walk){ .log = log, .len = len, .pos = sizeof(head), .left = le16toh(head.ngrps) };
	return true;
}

bool ana_walk_next(struct ana_walk *w, struct ana_group *g, size_t *need)
{
	struct nvme_ana_group_desc desc;

	*need = w->pos + sizeof(desc);
	if (w->len - w->pos < sizeof(desc))
		return false;
	memcpy(&desc, w->log + w->pos, sizeof(desc));
	*g = (struct ana_group){ .grpid = le32toh(desc.grpid),
				 .nr_nsids = le32toh(desc.nnsids),
				 .chgcnt = le64toh(desc.chgcnt),
				 .state = desc.state & 0xf,
				 .nsids = w->log + w->pos + sizeof(desc) };
	*need += (size_t)g->nr_nsids * 4;
	if (w->len < *need)
		return false;
	w->pos = *need;
	w->left--;
	return true;
}
