/* SPDX-License-Identifier: BSD-3-Clause */
/* The ctrl's states: one table, one door. */
#include "host/ctrl.h"
#include "host/subsystem.h"

#define TO(s) (1u << NVOF_CTRL_##s)

static const struct {
	const char *name;
	unsigned int next;
} ctrl_states[] = {
	[NVOF_CTRL_NEW] = { "new", TO(CONNECTING) | TO(DELETING) },
	[NVOF_CTRL_CONNECTING] = { "connecting", TO(LIVE) | TO(DELETING) },
	[NVOF_CTRL_LIVE] = { "live", TO(RESETTING) | TO(DELETING) },
	[NVOF_CTRL_RESETTING] = { "resetting", TO(CONNECTING) | TO(DELETING) },
	[NVOF_CTRL_DELETING] = { "deleting", TO(DEAD) },
	[NVOF_CTRL_DEAD] = { "dead", 0 },
};

const char *nvof_ctrl_state_name(enum nvof_ctrl_state state)
{
	return (unsigned int)state < ARRAY_SIZE(ctrl_states) ? ctrl_states[state].name : "unknown";
}

bool ctrl_set_state(struct nvof_ctrl *ctrl, enum nvof_ctrl_state to, const char *why)
{
	if (!(ctrl_states[ctrl->state].next & (1u << to)))
		return false;
	log_info(&ctrl->ctx->log, "%s at %s: %s -> %s: %s", ctrl->p.subsysnqn, ctrl->p.where, ctrl_states[ctrl->state].name,
		 ctrl_states[to].name, why);
	ctrl->state = to;
	return true;
}

void ctrl_tell(struct nvof_ctrl *ctrl, const struct nvof_event *event)
{
	if (ctrl->path)
		path_event(ctrl->path, event);
	if (ctrl->p.event && !ctrl->freeing)
		ctrl->p.event(ctrl->p.event_arg, ctrl, event);
}

void ctrl_tell_event(struct nvof_ctrl *ctrl, enum nvof_event_type type, uint32_t raw)
{
	struct nvof_event event = { .type = type, .raw = raw };

	ctrl_tell(ctrl, &event);
}

void ctrl_tell_state(struct nvof_ctrl *ctrl)
{
	ctrl_tell_event(ctrl, NVOF_EVENT_STATE, 0);
}

enum nvof_ctrl_state nvof_ctrl_state(const struct nvof_ctrl *ctrl)
{
	return ctrl->state;
}
