/* SPDX-License-Identifier: BSD-3-Clause */
/* The transports of this build. */
#include <stddef.h>

#include "transport/host_ops.h"
#include "transport/target_ops.h"

#ifdef NVOF_RDMA
#define IF_RDMA(x) x
#else
#define IF_RDMA(x) /* -t rdma is refused by name */
#endif

/* One line each: both halves are found by the name. */
#define TRANSPORTS(one) one(tcp) IF_RDMA(one(rdma)) one(loop)

#define DECLARE(name)                                             \
	extern const struct host_transport name##_host_transport; \
	extern const struct target_transport name##_target_transport;
TRANSPORTS(DECLARE)

#define HOST(name) &name##_host_transport,
const struct host_transport *const host_transports[] = { TRANSPORTS(HOST) NULL };

#define TARGET(name) &name##_target_transport,
const struct target_transport *const target_transports[] = { TRANSPORTS(TARGET) NULL };
