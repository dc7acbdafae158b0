// SPDX-License-Identifier: BSD-3-Clause
/* Namespaces change their size while hosts use them. */
#include <errno.h>
#include <string.h>

#include "target/backend.h"
#include "target/ns_admin.h"
#include "target/rcu.h"
#include "target/target.h"

#define SHRINK_WAIT_NS (2 * NSEC_PER_SEC)

/* I/O that began before the size fell must have ended before the backend gives blocks up: they may be being sent from. */
static int ns_shrink(struct target_ns *ns, uint64_t bytes, struct error *err)
{
	uint64_t before = target_ns_nsze(ns);
	uint8_t epoch = ns->epoch;
	int ret;

	if (target_ns_refs(ns, epoch ^ 1))
		return error_set(err, -EBUSY, "I/O from before the last change of size is still under way");
	__atomic_store_n(&ns->nsze, bytes >> ns->lba_shift, __ATOMIC_RELEASE);
	__atomic_store_n(&ns->epoch, epoch ^ 1, __ATOMIC_RELEASE);
	rcu_wait(ns->subsys);
	if (target_ns_wait_refs(ns, epoch, SHRINK_WAIT_NS))
		ret = ns->backend->ops->resize(ns->backend, bytes, err);
	else
		ret = error_set(err, -EBUSY, "I/O beyond the new end did not finish in %u s",
				(unsigned int)(SHRINK_WAIT_NS / NSEC_PER_SEC));
	if (ret)
		__atomic_store_n(&ns->nsze, before, __ATOMIC_RELEASE);
	return ret;
}

/* The backend changed by itself (a file that grew or was cut): there is nothing to wait for. */
static int ns_refresh(struct target_ns *ns, struct error *err)
{
	int ret = ns->backend->ops->resize ? ns->backend->ops->resize(ns->backend, 0, err) : 0;
	uint64_t nsze;

	if (ret)
		return ret;
	nsze = ns->backend->ops->size(ns->backend) >> ns->lba_shift;
	if (!nsze)
		return error_set(err, -EINVAL, "the backend is smaller than one block now");
	__atomic_store_n(&ns->nsze, nsze, __ATOMIC_RELEASE);
	return 0;
}

static int ns_resize(struct target_ns *ns, uint64_t bytes, struct error *err)
{
	uint64_t nsze = bytes >> ns->lba_shift;
	int ret;

	if (!nsze)
		return error_set(err, -EINVAL, "%llu bytes are less than one block", (unsigned long long)bytes);
	if (!ns->backend->ops->resize)
		return error_set(err, -ENOTSUP, "backend %s can't change its size", ns->backend->ops->name);
	if (nsze < target_ns_nsze(ns))
		return ns_shrink(ns, bytes, err);
	ret = ns->backend->ops->resize(ns->backend, bytes, err);
	if (!ret)
		__atomic_store_n(&ns->nsze, nsze, __ATOMIC_RELEASE);
	return ret;
}

int target_resize_ns(struct nvof_target *t, const char *nqn, uint32_t nsid, uint64_t bytes, struct error *err)
{
	struct target_subsys *s = target_subsys_get(t, nqn, err);
	uint64_t before;
	struct target_ns *ns;
	int ret;

	if (!s) {
		error_prefix(err, "resize namespace %u", nsid);
		return err->code;
	}
	ns = ns_table_find(s->table, nsid);
	if (!ns)
		return error_set(err, -ENOENT, "resize namespace %u of %s: there is none", nsid, nqn);
	before = target_ns_nsze(ns);
	ret = bytes ? ns_resize(ns, bytes, err) : ns_refresh(ns, err);
	if (ret) {
		error_set(err, ret, "%s", strerror(-ret)); /* unless the backend had more to say */
		error_prefix(err, "resize namespace %u of %s", nsid, nqn);
		return ret;
	}
	target_ns_notice(ns);
	if (target_ns_nsze(ns) != before)
		target_ns_changed(s, nsid);
	return 0;
}
