/* SPDX-License-Identifier: BSD-3-Clause */
/* The RDMA transport's target half: its table. */
#include "transport/rdma/rdma_target.h"
#include "transport/rdma/rdma_target_listen.h"

const struct target_transport rdma_target_transport = {
	.name = "rdma",
	.trtype = NVMF_TRTYPE_RDMA,
	.needs_addr = true,
	.sgls = NVME_CTRL_SGLS_KEYED | NVME_CTRL_SGLS_OFFSET,
	.msdbd = RT_MSDBD,
	.tsas.rdma = { .qptype = NVMF_RDMA_QPTYPE_CONNECTED, .prtype = NVMF_RDMA_PRTYPE_NOT_SPECIFIED, .cms = NVMF_RDMA_CMS_RDMA_CM },
	.max_inline = 16 * 1024,
	.listen = rt_listen,
	.listener_addr = rt_listener_addr,
	.unlisten = rt_unlisten,
	.queue_local = rt_queue_local,
	.respond = rt_respond,
	.bring = rt_bring,
	.queue_resize = rt_queue_resize,
	.queue_close = rt_queue_close,
	.queue_free = rt_queue_free,
};
