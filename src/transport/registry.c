/* SPDX-License-Identifier: BSD-3-Clause */
/* The transports of this build: one line each.  (Those of a type that is not built in are refused by name.) */
#include <stddef.h>

#include "transport/host_ops.h"
#include "transport/target_ops.h"

extern const struct host_transport tcp_host_transport, loop_host_transport;
extern const struct target_transport tcp_target_transport, loop_target_transport;

const struct host_transport *const host_transports[] = {
	&tcp_host_transport,
	&loop_host_transport,
	NULL,
};

const struct target_transport *const target_transports[] = {
	&tcp_target_transport,
	&loop_target_transport,
	NULL,
};
