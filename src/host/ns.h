/* SPDX-License-Identifier: BSD-3-Clause */
/* A namespace as one ctrl shows it. */
#ifndef NVOF_HOST_NS_H
#define NVOF_HOST_NS_H

#include <nvof/nvof.h>
#include <urcu/list.h>

/* Data of one command when the ctrl names no limit of its own, and the most we send if it names a larger one. */
#define MAX_CMD_DATA (4u << 20)
#define MAX_CMD_NLB  65536u /* NLB is 16 bits, 0's based */

struct nvof_ns {
	struct nvof_ctrl *ctrl;
	uint64_t nr_blocks;
	uint32_t max_nlb; /* blocks of one read or write */
	uint32_t nsid_le;
	bool gone;     /* not there any more since a reconnect, or another one: nr_blocks is 0 */
	uint8_t shift; /* log2 of the block size */
	uint32_t max_zeroes_nlb, max_verify_nlb;
	uint32_t nsid;
	struct cds_list_head link; /* ctrl->namespaces */
	struct nvme_id_ns id;
	uint8_t uuid[16], nguid[16], eui64[8];
	uint8_t csi;
};

void ns_free_all(struct nvof_ctrl *ctrl);

/* ns_format.c: takes Identify Namespace over into ns.  0, or -ENOTSUP with a sentence for nvof_ctrl_errmsg(). */
int ns_set_format(struct nvof_ns *ns);
/* ns_format.c: the identifiers of an Identify CNS 03h list of len bytes; anything malformed ends the list. */
void ns_set_descriptors(struct nvof_ns *ns, const uint8_t *list, size_t len);

#endif
