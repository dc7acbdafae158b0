/* SPDX-License-Identifier: BSD-3-Clause */
/* The transports of this build: one line each.  (Those of a type that is not built in are refused by name.) */
#include <stddef.h>

#include "transport/host_ops.h"
#include "transport/target_ops.h"

const struct host_transport *const host_transports[] = {
	NULL,
};

const struct target_transport *const target_transports[] = {
	NULL,
};
