/* SPDX-License-Identifier: BSD-3-Clause */
/* One namespace is identified: Identify Namespace (CNS 00h), its descriptors (CNS 03h), and once per ctrl the NVM limits (CNS 06h). */
#ifndef NVOF_HOST_NS_IDENTIFY_H
#define NVOF_HOST_NS_IDENTIFY_H

#include <stdbool.h>
#include <stdint.h>

struct nvof_ctrl;
struct nvof_ns;

/* asked: the number of the last command, see ns_found. */
typedef void ns_identified(void *arg, int status, struct nvof_ns *fresh, uint64_t asked);

/*
 * done runs once when 0 is returned, with a fresh namespace that is the callee's (status 0) or with NULL: -ENODEV (there is none under this
 * id), -ESTALE (not known, but another one has it), -ENOTSUP (a format without I/O here), what the ctrl said, or the errno that ended the
 * command.  Otherwise -ENOTCONN, -EAGAIN, -ENOMEM.  known: NULL, or the one that had the id and has I/O under way still: then its
 * identifiers are asked for first, since a ctrl may let I/O through to whom it told what is there (CNS 00h), as ours does.  A sentence is
 * left for nvof_ctrl_errmsg().
 */
int ns_identify(struct nvof_ctrl *ctrl, uint32_t nsid, const struct nvof_ns *known, ns_identified *done, void *arg);

/* A refusal that says nothing about the namespace: the ctrl may have another answer the next time. */
bool ns_status_passing(int status);

#endif
