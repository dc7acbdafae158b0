/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that the caller registered, as a device knows it: registered at its first use.  All on the ctx's thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/rdma/rdma_host.h"

static void region_detach(struct mem_attach *a)
{
	struct rdma_host_region *r = container_of(a, struct rdma_host_region, attach);

	cds_list_del(&a->link);
	cds_list_del(&r->link);
	if (r->mr)
		ibv_dereg_mr(r->mr);
	free(r);
}

/* Registered, if the device takes it. */
static struct rdma_host_region *region_attach(struct rdma_host_dev *dev, struct mem_region *m)
{
	struct rdma_host_region *r = calloc(1, sizeof(*r));
	char hint[96];

	if (!r)
		return NULL;
	r->mr = ibv_reg_mr(dev->pd, (void *)m->start, m->len, RDMA_HOST_ACCESS); // NOLINT
	if (!r->mr) {
		int ret = -errno;

		rdma_memlock_hint(ret, hint, sizeof(hint));
		log_warn(dev->ep->p.log, "rdma: register %zu bytes with %s: %s%s: they are copied", m->len,
			 ibv_get_device_name(dev->verbs->device), strerror(-ret), hint);
	}
	r->attach.owner = dev;
	r->attach.detach = region_detach;
	cds_list_add(&r->attach.link, &m->attached);
	cds_list_add(&r->link, &dev->regions);
	return r;
}

const struct mem_attach *rdma_host_region_use(struct host_queue *q, struct mem_region *m)
{
	struct rdma_host_dev *dev = to_rdma_queue(q)->dev;
	struct mem_attach *a = mem_region_attached(m, dev);
	struct rdma_host_region *r = a ? container_of(a, struct rdma_host_region, attach) : region_attach(dev, m);

	return r && r->mr ? &r->attach : NULL;
}

void rdma_host_regions_free(struct rdma_host_dev *dev)
{
	struct rdma_host_region *r, *next;

	cds_list_for_each_entry_safe (r, next, &dev->regions, link)
		region_detach(&r->attach);
}
