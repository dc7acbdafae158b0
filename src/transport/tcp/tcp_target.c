/* SPDX-License-Identifier: BSD-3-Clause */
/* The TCP transport's target half: its table. */
#include "transport/tcp/tcp_target.h"
#include "transport/tcp/tcp_target_listen.h"

const struct target_transport tcp_target_transport = {
	.name = "tcp",
	.trtype = NVMF_TRTYPE_TCP,
	.needs_addr = true,
	.sgls = NVME_CTRL_SGLS_OFFSET | NVME_CTRL_SGLS_TPORT,
	.msdbd = 1,
	.max_inline = 64 * 1024,
	.has_in_capsule_admin = true,
	.listen = tcp_target_listen,
	.listener_addr = tcp_target_listener_addr,
	.unlisten = tcp_target_unlisten,
	.queue_local = tcp_target_queue_local,
	.respond = tcp_target_respond,
	.bring = tcp_target_bring,
	.queue_resize = tcp_target_queue_resize,
	.queue_close = tcp_target_queue_close,
	.queue_free = tcp_target_queue_free,
};
