/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the connections of one thread share on one device: protection domain, receive buffers of the I/O queues in a shared receive queue,
 * memory for data on its way.  It goes with the last connection, so that an idle target holds no device.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/rdma/rdma_target.h"

struct rt_loop {
	struct loop_ext ext;
	struct cds_list_head devs;
};

static const char rt_loop_key;

static void rt_loop_free(struct loop_ext *ext)
{
	free(container_of(ext, struct rt_loop, ext)); /* no connection is left, and so no device */
}

static struct rt_loop *rt_loop_get(struct loop *loop)
{
	struct loop_ext *ext = loop_ext_find(loop, &rt_loop_key);
	struct rt_loop *l = ext ? container_of(ext, struct rt_loop, ext) : NULL;

	if (l)
		return l;
	l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	CDS_INIT_LIST_HEAD(&l->devs);
	l->ext = (struct loop_ext){ .key = &rt_loop_key, .free = rt_loop_free };
	loop_ext_add(loop, &l->ext);
	return l;
}

static void dev_free(struct rt_dev *dev)
{
	loop_defer_cancel(&dev->feed);
	if (dev->recvs.srq)
		ibv_destroy_srq(dev->recvs.srq);
	rt_recvs_exit(&dev->recvs);
	rdma_pool_exit(&dev->pool);
	if (dev->pd)
		ibv_dealloc_pd(dev->pd);
	free(dev);
}

/* Everybody who waits tries again; who still finds nothing waits again. */
static void feed(struct loop_defer *d)
{
	struct rt_dev *dev = container_of(d, struct rt_dev, feed);
	CDS_LIST_HEAD(list);

	cds_list_splice(&dev->starved, &list);
	CDS_INIT_LIST_HEAD(&dev->starved);
	while (!cds_list_empty(&list)) {
		struct rt_conn *c = cds_list_first_entry(&list, struct rt_conn, starved);

		rt_dev_unstarve(c);
		rt_flush(c);
	}
}

static int dev_open(struct rt_dev *dev)
{
	struct ibv_srq_init_attr init = { .attr.max_sge = 1 };
	int ret = -ibv_query_device(dev->verbs, &dev->attr);

	if (ret)
		return ret;
	if (!dev->attr.max_srq)
		return -EOPNOTSUPP;
	dev->max_recvs = max_u32(min_u32(RT_SRQ_LEN / dev->recvs.len, RT_SRQ_MAX), RT_SRQ_MIN);
	dev->max_recvs = min_u32(dev->max_recvs, (uint32_t)dev->attr.max_srq_wr);
	init.attr.max_wr = dev->max_recvs;
	dev->pd = ibv_alloc_pd(dev->verbs);
	if (!dev->pd)
		return -errno;
	rdma_pool_init(&dev->pool, dev->pd, IBV_ACCESS_LOCAL_WRITE, RT_STAGING);
	dev->recvs.pd = dev->pd;
	dev->recvs.srq = ibv_create_srq(dev->pd, &init);
	return dev->recvs.srq ? 0 : -errno;
}

struct rt_dev *rt_dev_get(struct loop *loop, struct ibv_context *verbs, const struct target_link_params *params, const struct log *log,
			  struct error *err)
{
	struct rt_loop *l = rt_loop_get(loop);
	struct rt_dev *dev;
	uint32_t recv_len = (uint32_t)sizeof(struct nvme_sqe) + max_u32(params->inline_len, RT_MSDBD * sizeof(struct nvme_sgl_desc));
	int ret = -ENOMEM;

	if (!l)
		goto fail;
	cds_list_for_each_entry (dev, &l->devs, link) {
		/* Ports may offer different sizes of in-capsule data. */
		if (dev->verbs == verbs && dev->recvs.len == recv_len) {
			dev->nr_conns++;
			return dev;
		}
	}
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		goto fail;
	dev->verbs = verbs;
	dev->loop = loop;
	dev->log = log;
	dev->nr_conns = 1;
	CDS_INIT_LIST_HEAD(&dev->starved);
	rt_recvs_init(&dev->recvs, NULL, recv_len);
	loop_defer_init(&dev->feed, feed);
	ret = dev_open(dev);
	if (ret) {
		dev_free(dev);
		goto fail;
	}
	cds_list_add(&dev->link, &l->devs);
	return dev;

fail:
	error_set(err, ret, "open %s: %s%s", ibv_get_device_name(verbs->device), strerror(-ret),
		  ret == -EOPNOTSUPP ? " (it has no shared receive queues)" : "");
	return NULL;
}

void rt_dev_put(struct rt_dev *dev)
{
	if (--dev->nr_conns)
		return;
	cds_list_del(&dev->link);
	dev_free(dev);
}

/* ---- receive buffers ---- */

/*
 * As many as the queues of the connections hold together, and so no host waits for another one; but those that are idle need none, and
 * beyond the limit they share: a host that finds none tries again.
 */
int rt_dev_share(struct rt_dev *dev, uint32_t nr)
{
	uint32_t want = min_u32(dev->shares + nr, dev->max_recvs);
	int ret = want > dev->recvs.nr ? rt_recvs_add(&dev->recvs, want - dev->recvs.nr) : 0;

	if (ret == -ENOMEM && dev->recvs.nr >= nr) { /* no more memory may be locked: the same as the limit */
		log_debug(dev->log, "%u receive buffers are shared by %u commands", dev->recvs.nr, dev->shares + nr);
		ret = 0;
	}
	if (!ret)
		dev->shares += nr;
	return ret;
}

/* They stay, for queues to come: a buffer that the device has can't be taken back. */
void rt_dev_unshare(struct rt_dev *dev, uint32_t nr)
{
	dev->shares -= nr;
}

/* ---- data on its way ---- */

int rt_dev_staging(struct rt_conn *c, size_t len, struct rdma_buf **buf)
{
	int ret = rdma_pool_get(&c->dev->pool, len, buf);

	if (ret == -EAGAIN && !c->is_starved) {
		c->is_starved = true;
		cds_list_add_tail(&c->starved, &c->dev->starved);
	}
	return ret;
}

void rt_dev_staging_put(struct rt_dev *dev, struct rdma_buf *buf)
{
	rdma_pool_put(&dev->pool, buf);
	if (unlikely(!cds_list_empty(&dev->starved)))
		loop_defer(dev->loop, &dev->feed);
}

void rt_dev_unstarve(struct rt_conn *c)
{
	if (!c->is_starved)
		return;
	c->is_starved = false;
	cds_list_del(&c->starved);
}
