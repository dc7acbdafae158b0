// SPDX-License-Identifier: BSD-3-Clause
/*
 * A namespace id that was given to another namespace.  A host learns of that by an event and by what it then identifies; what it sends
 * until then is meant for the namespace that was there before.  So that none of it reaches the new one, each ctrl remembers which
 * namespace it knew under an id that went, and its I/O gets Invalid Namespace or Format (0Bh) from one with other identifiers until it has
 * read Identify Namespace (CNS 00h) of that.  The specification has no word for this: a host could only ask before each I/O.
 *
 * The host must not send what it kept for the old namespace between that answer and its own conclusion.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "target/target.h"

/* Under lock.  What the host knows under an id whose namespace went. */
struct target_fence {
	uint32_t nsid;
	uint8_t uuid[16], nguid[16];
	bool other; /* another one is there, and the host was not told */
};

static struct target_fence *fence_find(const struct target_ctrl *c, uint32_t nsid)
{
	for (uint32_t i = 0; i < c->nr_fences; i++)
		if (c->fences[i].nsid == nsid)
			return &c->fences[i];
	return NULL;
}

static void fence_set(struct target_ctrl *c, struct target_fence *f, bool other)
{
	if (f->other != other)
		__atomic_add_fetch(&c->nr_others, other ? 1 : -1, __ATOMIC_RELEASE);
	f->other = other;
}

static void fence_drop(struct target_ctrl *c, struct target_fence *f)
{
	fence_set(c, f, false);
	*f = c->fences[--c->nr_fences];
}

static void fence_know(struct target_fence *f, const struct target_ns *ns)
{
	f->nsid = ns->nsid;
	memcpy(f->uuid, ns->uuid, sizeof(f->uuid));
	memcpy(f->nguid, ns->nguid, sizeof(f->nguid));
}

static bool fence_knows(const struct target_fence *f, const struct target_ns *ns)
{
	return !memcmp(f->uuid, ns->uuid, sizeof(f->uuid)) && !memcmp(f->nguid, ns->nguid, sizeof(f->nguid));
}

static int fence_ctrl(struct target_ctrl *c, const struct target_ns *ns)
{
	struct target_fence *more;

	if (fence_find(c, ns->nsid))
		return 0;
	more = realloc(c->fences, (c->nr_fences + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	c->fences = more;
	more[c->nr_fences] = (struct target_fence){ 0 };
	fence_know(&more[c->nr_fences++], ns);
	return 0;
}

int target_fence_going(struct target_ns *ns)
{
	struct nvof_target *t = ns->subsys->target;
	struct target_ctrl *c;
	int ret = 0;

	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry (c, &ns->subsys->ctrls, link)
		if (!ret)
			ret = fence_ctrl(c, ns);
	pthread_mutex_unlock(&t->lock);
	return ret;
}

static void each_fence(struct target_ns *ns, void (*fn)(struct target_ctrl *c, struct target_fence *f, const struct target_ns *ns))
{
	struct nvof_target *t = ns->subsys->target;
	struct target_fence *f;
	struct target_ctrl *c;

	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry (c, &ns->subsys->ctrls, link) {
		f = fence_find(c, ns->nsid);
		if (f)
			fn(c, f, ns);
	}
	pthread_mutex_unlock(&t->lock);
}

static void nothing_there(struct target_ctrl *c, struct target_fence *f, const struct target_ns *ns)
{
	fence_set(c, f, false);
}

void target_fence_gone(struct target_ns *ns)
{
	each_fence(ns, nothing_there);
}

/* The same one again is what the host expects. */
static void one_there(struct target_ctrl *c, struct target_fence *f, const struct target_ns *ns)
{
	if (fence_knows(f, ns))
		fence_drop(c, f);
	else
		fence_set(c, f, true);
}

void target_fence_coming(struct target_ns *ns)
{
	each_fence(ns, one_there);
}

void target_fence_told(struct target_ctrl *c, const struct target_ns *ns)
{
	struct nvof_target *t = c->subsys->target;
	struct target_fence *f;

	pthread_mutex_lock(&t->lock);
	f = fence_find(c, ns->nsid);
	/* One that is going stays what the host knows: the next one under its id may be there already. */
	if (f && __atomic_load_n(&ns->dying, __ATOMIC_RELAXED))
		fence_know(f, ns);
	else if (f)
		fence_drop(c, f);
	pthread_mutex_unlock(&t->lock);
}

bool target_fence_refuses(struct target_ctrl *c, const struct target_ns *ns)
{
	struct nvof_target *t = c->subsys->target;
	const struct target_fence *f;
	bool refuses;

	pthread_mutex_lock(&t->lock);
	f = fence_find(c, ns->nsid);
	refuses = f && f->other && !fence_knows(f, ns);
	pthread_mutex_unlock(&t->lock);
	return refuses;
}
