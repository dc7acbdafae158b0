/* SPDX-License-Identifier: BSD-3-Clause */
/* The active namespaces, however many: pages of 1,024, each asked for from the last id of the one before (C071). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/admin.h"

#define PAGE_NSIDS (NVME_IDENTIFY_DATA_SIZE / 4)

struct ns_list {
	struct nvof_ctrl *ctrl;
	nvof_ns_list_cb *cb;
	void *arg;
	uint32_t *nsids;
	size_t nr;
	uint32_t page[PAGE_NSIDS];
};

static void list_end(struct ns_list *op, int status)
{
	struct ns_list gone = *op;

	if (status)
		ctrl_op_failed(op->ctrl, status,
			       status == -EPROTO ? "the list of namespaces at %s is not in ascending order" : "list namespaces at %s",
			       op->ctrl->p.where);
	free(op);
	gone.cb(gone.arg, status, status ? NULL : gone.nsids, status ? 0 : gone.nr);
	free(gone.nsids);
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
			return -EPROTO;
		op->nsids[op->nr++] = last = nsid;
	}
	return (int)i;
}

static void list_page_read(void *arg, const struct nvof_cpl *cpl)
{
	struct ns_list *op = arg;
	int ret = cpl->status;

	if (!ret)
		ret = list_add(op);
	else if (ret > 0) {
		list_end(op, ret);
		return;
	}
	if (ret == PAGE_NSIDS && op->nsids[op->nr - 1] < 0xfffffffe) {
		ret = list_ask(op);
		if (!ret)
			return;
	}
	list_end(op, ret < 0 ? ret : 0);
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
	ret = list_ask(op);
	if (ret)
		free(op);
	return ret;
}
