/* SPDX-License-Identifier: BSD-3-Clause */
/* What the coming (ns_admin.c), the going (ns_leave.c) and the resizing (ns_size.c) of namespaces have in common. */
#ifndef NVOF_TARGET_NS_ADMIN_H
#define NVOF_TARGET_NS_ADMIN_H

#include <stdbool.h>
#include <stdint.h>

struct target_ns;

/* In no table, and nobody has a reference. */
void target_ns_free(struct target_ns *ns);
/* What its backend has to tell its owner. */
void target_ns_notice(const struct target_ns *ns);
/* Blocks for limit_ns at most: false when I/O of this epoch is still under way then. */
bool target_ns_wait_refs(struct target_ns *ns, int epoch, uint64_t limit_ns);

#endif
