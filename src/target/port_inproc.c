// SPDX-License-Identifier: BSD-3-Clause
/* The way to a target for hosts in the same process. */
#include <errno.h>

#include "target/target.h"

int target_open_inproc(struct nvof_target *t, const struct target_transport *ops,
		       void (*open)(struct target_port *port, struct loop *loop, void *arg), void *arg)
{
	struct target_port *port;
	int ret = -ECONNREFUSED;

	/* A port that is found here has not been settled yet: what open() posts still arrives (see target_port_stop()). */
	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry (port, &t->ports, link) {
		if (port->ops == ops) {
			open(port, target_place(t), arg);
			ret = 0;
			break;
		}
	}
	pthread_mutex_unlock(&t->lock);
	return ret;
}
