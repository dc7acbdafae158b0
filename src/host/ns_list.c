/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The active namespaces, however many: pages of 1,024, each asked for from the last id of the one before (C071).
 *
 * A list that has no end would take all memory.  There can't be more namespaces than NN, the number of the last id.  (Ids above NN are no
 * reason to refuse: Linux's target has them, for its NN is a constant.)  NN grows when namespaces are added, so before a list is called too
 * long NN is asked for again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/admin.h"
#include "host/ns.h"

#define PAGE_NSIDS (int)(NVME_IDENTIFY_DATA_SIZE / 4)
#define LIST_MAX   (1u << 20) /* ids: more are read from no ctrl, whatever it claims */

struct ns_list {
	struct nvof_ctrl *ctrl;
	nvof_ns_list_cb *cb;
	void *arg;
	uint32_t *nsids;
	size_t nr;
	uint32_t nn;
	uint32_t page[PAGE_NSIDS];
};

static void list_end(struct ns_list *op, int status)
{
	struct ns_list gone = *op;

	free(op);
	gone.cb(gone.arg, status, status ? NULL : gone.nsids, status ? 0 : gone.nr);
	free(gone.nsids);
}

static void list_fail(struct ns_list *op, int status)
{
	list_end(op, ctrl_op_failed(op->ctrl, status, "list namespaces at %s", op->ctrl->p.where));
}

static void list_page_read(void *arg, const struct nvof_cpl *cpl);

static int list_ask(struct ns_list *op)
{
	uint32_t after = op->nr ? op->nsids[op->nr - 1] : 0;
	struct nvme_sqe sqe = sqe_identify(NVME_IDENTIFY_CNS_NS_ACTIVE_LIST, after, 0, 0);

	memset(op->page, 0, sizeof(op->page)); /* C072 */
	return admin_submit(op->ctrl, &sqe, DATA_FROM_CTRL, op->page, sizeof(op->page), list_page_read, op);
}

/* Adds the page's ids; how many, or a negative errno.  Ids that don't ascend would lead in circles. */
static int list_add(struct ns_list *op)
{
	uint32_t last = op->nr ? op->nsids[op->nr - 1] : 0;
	uint32_t *nsids = realloc(op->nsids, (op->nr + PAGE_NSIDS) * sizeof(*nsids));
	uint32_t i;

	if (!nsids)
		return -ENOMEM;
	op->nsids = nsids;
	for (i = 0; i < PAGE_NSIDS && op->page[i]; i++) {
		uint32_t nsid = le32toh(op->page[i]);

		if (nsid <= last)
			return ctrl_op_failed(op->ctrl, -EPROTO, "the list of namespaces at %s is not in ascending order: %u behind %u",
					      op->ctrl->p.where, nsid, last);
		op->nsids[op->nr++] = last = nsid;
	}
	return (int)i;
}

static void list_go_on(struct ns_list *op)
{
	int ret = list_ask(op);

	if (ret)
		list_fail(op, ret);
}

static uint32_t limit(const struct ns_list *op)
{
	return op->nn ? min_u32(op->nn, LIST_MAX) : LIST_MAX;
}

static void nn_read(void *arg, const struct nvof_cpl *cpl)
{
	struct ns_list *op = arg;

	if (cpl->status) {
		list_fail(op, cpl->status);
		return;
	}
	op->nn = le32toh(((const struct nvme_id_ctrl *)op->page)->nn);
	if (op->nr <= limit(op))
		list_go_on(op);
	else
		list_end(op,
			 ctrl_op_failed(
				 op->ctrl, -EPROTO,
				 "the list of namespaces at %s has no end: %zu so far, the last one %u, and NN is %u (%u at most are read)",
				 op->ctrl->p.where, op->nr, op->nsids[op->nr - 1], op->nn, LIST_MAX));
}

static void ask_nn(struct ns_list *op)
{
	struct nvme_sqe sqe = sqe_identify(NVME_IDENTIFY_CNS_CTRL, 0, 0, 0);
	int ret;

	memset(op->page, 0, sizeof(op->page));
	ret = admin_submit(op->ctrl, &sqe, DATA_FROM_CTRL, op->page, sizeof(op->page), nn_read, op);
	if (ret)
		list_fail(op, ret);
}

static void list_page_read(void *arg, const struct nvof_cpl *cpl)
{
	struct ns_list *op = arg;
	int ret;

	if (cpl->status) {
		list_fail(op, cpl->status);
		return;
	}
	ret = list_add(op);
	if (ret == -ENOMEM)
		list_fail(op, ret);
	else if (ret < PAGE_NSIDS || op->nsids[op->nr - 1] >= NSID_MAX)
		list_end(op, ret < 0 ? ret : 0);
	else if (op->nr > limit(op))
		ask_nn(op);
	else
		list_go_on(op);
}

int nvof_ns_list(struct nvof_ctrl *ctrl, nvof_ns_list_cb *cb, void *arg)
{
	struct ns_list *op = calloc(1, sizeof(*op));
	int ret;

	if (!op)
		return -ENOMEM;
	op->ctrl = ctrl;
	op->cb = cb;
	op->arg = arg;
	op->nn = le32toh(ctrl->init.id->nn);
	ret = list_ask(op);
	if (ret)
		free(op);
	return ret;
}
