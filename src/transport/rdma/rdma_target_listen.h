/* SPDX-License-Identifier: BSD-3-Clause */
/* The listener of the RDMA transport's target half. */
#ifndef NVOF_TRANSPORT_RDMA_TARGET_LISTEN_H
#define NVOF_TRANSPORT_RDMA_TARGET_LISTEN_H

#include "transport/target_ops.h"

int rt_listen(struct target_port *port, struct loop *loop, const char *addr, const char *svc, struct target_listener **lp,
	      struct error *err);
void rt_listener_addr(const struct target_listener *l, char *addr, size_t addr_len, char *svc, size_t svc_len, uint8_t *adrfam);
void rt_unlisten(struct target_listener *l);

#endif
