/* SPDX-License-Identifier: BSD-3-Clause */
/* The RDMA transport's host half: the endpoint its queues share, the devices, and the life of a queue. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/rdma/rdma_host.h"

#define SPARE_RECVS RDMA_CQ_BATCH /* those of a batch are posted again when all of it was looked at */

/* ---- endpoint ---- */

static int rdma_addr_check(const struct host_link_params *p, struct error *err)
{
	if (p->hdr_digest || p->data_digest)
		return error_set(err, -EINVAL, "transport rdma has no digests: the device checks what it carries");
	if (p->host_iface)
		return error_set(err, -EINVAL, "transport rdma takes no host-iface (%s): give a host-traddr, an address of that interface",
				 p->host_iface);
	return inet_peer_check(p, "rdma", err);
}

static void dev_free(struct rdma_host_dev *dev)
{
	cds_list_del(&dev->link);
	rdma_host_regions_free(dev);
	rdma_host_pools_free(dev);
	pthread_mutex_destroy(&dev->lock);
	ibv_dealloc_pd(dev->pd);
	free(dev);
}

static void rdma_endpoint_free(struct host_endpoint *hep)
{
	struct rdma_endpoint *ep = to_rdma_endpoint(hep);
	struct rdma_host_dev *dev, *next;

	if (!ep)
		return;
	cds_list_for_each_entry_safe (dev, next, &ep->devs, link)
		dev_free(dev);
	inet_olds_exit(&ep->olds);
	inet_peer_exit(&ep->peer);
	free(ep);
}

static int rdma_endpoint_new(const struct host_link_params *p, struct loop *loop, struct host_endpoint **hep, struct error *err)
{
	struct rdma_endpoint *ep = calloc(1, sizeof(*ep));
	struct rdma_event_channel *channel;
	int ret;

	if (!ep)
		return error_set(err, -ENOMEM, "no memory");
	ep->p = *p;
	CDS_INIT_LIST_HEAD(&ep->devs);
	inet_olds_init(&ep->olds, &ep->p, loop);
	ret = inet_peer_init(&ep->peer, &ep->p, "rdma", loop, err);
	if (!ret)
		ret = rdma_cm_channel(loop, &channel, err);
	if (ret) {
		rdma_endpoint_free((struct host_endpoint *)ep);
		return ret;
	}
	*hep = (struct host_endpoint *)ep;
	return 0;
}

/* ---- devices ---- */

struct rdma_host_dev *rdma_host_dev_get(struct rdma_endpoint *ep, struct ibv_context *verbs, struct error *err)
{
	struct ibv_device_attr attr;
	struct rdma_host_dev *dev;
	int ret;

	cds_list_for_each_entry (dev, &ep->devs, link)
		if (dev->verbs == verbs)
			return dev;
	dev = calloc(1, sizeof(*dev));
	if (!dev) {
		error_set(err, -ENOMEM, "no memory");
		return NULL;
	}
	ret = -ibv_query_device(verbs, &attr);
	if (!ret) {
		dev->pd = ibv_alloc_pd(verbs);
		ret = dev->pd ? 0 : -errno;
	}
	if (ret) {
		error_set(err, ret, "open %s: %s", ibv_get_device_name(verbs->device), strerror(-ret));
		free(dev);
		return NULL;
	}
	dev->ep = ep;
	dev->verbs = verbs;
	dev->max_sge = (uint32_t)attr.max_sge;
	dev->max_reads = (uint8_t)min_u32((uint32_t)attr.max_qp_rd_atom, RDMA_MAX_RESP_RES);
	CDS_INIT_LIST_HEAD(&dev->regions);
	CDS_INIT_LIST_HEAD(&dev->pools);
	pthread_mutex_init(&dev->lock, NULL);
	rdma_pool_init(&dev->pool, dev->pd, RDMA_HOST_ACCESS, RDMA_HOST_BOUNCE);
	cds_list_add(&dev->link, &ep->devs);
	return dev;
}

/* ---- queue pair ---- */

static int queue_memory(struct rdma_queue *rq)
{
	uint32_t i;

	rq->nr_recvs = rq->nr_slots + SPARE_RECVS;
	rq->slots = calloc(rq->nr_slots, sizeof(*rq->slots));
	rq->sends = calloc(rq->nr_slots, sizeof(struct rdma_slot *));
	rq->recv_wrs = calloc(rq->nr_recvs, sizeof(*rq->recv_wrs));
	rq->recv_sges = calloc(rq->nr_recvs, sizeof(*rq->recv_sges));
	if (!rq->slots || !rq->sends || !rq->recv_wrs || !rq->recv_sges)
		return -ENOMEM;
	for (i = rq->nr_slots; i-- > 0;) {
		rq->slots[i].next = rq->free_slots;
		rq->free_slots = &rq->slots[i];
	}
	return rdma_pool_get_kept(&rq->dev->pool, rq->nr_slots * sizeof(struct nvme_sqe) + rq->nr_recvs * sizeof(struct nvme_cqe),
				  &rq->capsules);
}

int rdma_host_qp_new(struct rdma_queue *rq, struct error *err)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };
	char hint[96];
	int ret;

	rq->dev = rdma_host_dev_get(rq->ep, rq->id->verbs, err);
	if (!rq->dev)
		return err->code;
	rq->dev->nr_queues++;
	rq->pool = &rq->dev->pool;
	ret = queue_memory(rq);
	if (!ret)
		ret = rdma_cq_open(&rq->cq, rq->q.loop, rq->dev->verbs, rq->nr_slots + rq->nr_recvs, rdma_host_completions);
	if (!ret) {
		attr.send_cq = attr.recv_cq = rq->cq.cq;
		attr.cap = (struct ibv_qp_cap){
			.max_send_wr = rq->nr_slots,
			.max_recv_wr = rq->nr_recvs,
			.max_send_sge = min_u32(RDMA_HOST_MAX_SGE, rq->dev->max_sge),
			.max_recv_sge = 1,
		};
		ret = rdma_create_qp(rq->id, rq->dev->pd, &attr) ? -errno : 0;
	}
	if (!ret)
		ret = rdma_host_post_recvs(rq);
	if (ret) {
		rdma_memlock_hint(ret, hint, sizeof(hint));
		error_set(err, ret, "make a queue pair of %u entries on %s: %s%s", rq->nr_slots, rdma_cm_device(rq->id), strerror(-ret),
			  hint);
	}
	return ret;
}

/* The device writes nowhere for this queue any more when this returns.  What was an I/O thread's block goes back to it. */
void rdma_host_qp_free(struct rdma_queue *rq)
{
	uint32_t i;

	if (rq->id && rq->id->qp)
		rdma_destroy_qp(rq->id);
	rdma_cq_close(&rq->cq);
	for (i = 0; rq->slots && i < rq->nr_slots; i++)
		if (rq->slots[i].req && rq->slots[i].place.bounce)
			rdma_pool_return(rq->pool, rq->slots[i].place.bounce);
	if (rq->capsules)
		rdma_pool_put(&rq->dev->pool, rq->capsules);
	if (rq->dev && !--rq->dev->nr_queues && rq->dev->gone)
		dev_free(rq->dev); /* while an id keeps it open */
	rq->dev = NULL;
	free(rq->slots);
	free(rq->sends);
	free(rq->recv_wrs);
	free(rq->recv_sges);
	rq->capsules = NULL;
	rq->slots = rq->free_slots = rq->tx_first = rq->tx_last = NULL;
	rq->sends = NULL;
	rq->recv_wrs = rq->recv_first = rq->recv_last = NULL;
	rq->recv_sges = NULL;
	rq->send_head = rq->send_tail = rq->nr_out = 0;
}

/* ---- queue ---- */

static struct host_queue *rdma_queue_alloc(struct host_endpoint *hep)
{
	struct rdma_queue *rq = calloc(1, sizeof(*rq));

	if (!rq)
		return NULL;
	rq->ep = to_rdma_endpoint(hep);
	rq->owner.event = rdma_host_cm_event;
	loop_defer_init(&rq->flush, rdma_host_flush);
	return &rq->q;
}

static int rdma_queue_start(struct host_queue *q)
{
	to_rdma_queue(q)->nr_slots = q->queue_size;
	rdma_host_link_start(to_rdma_queue(q));
	return 0;
}

static void rdma_queue_detach(struct host_queue *q)
{
	struct rdma_queue *rq = to_rdma_queue(q);

	loop_defer_cancel(&rq->flush);
	rdma_cq_detach(&rq->cq);
}

static int rdma_queue_attach(struct host_queue *q)
{
	struct rdma_queue *rq = to_rdma_queue(q);
	struct rdma_pool *pool = rdma_host_thread_pool(rq->dev, q->loop);

	if (!pool)
		return -ENOMEM;
	rq->pool = pool;
	return rdma_cq_attach(&rq->cq, q->loop);
}

static void rdma_queue_stop(struct host_queue *q)
{
	struct rdma_queue *rq = to_rdma_queue(q);

	rq->dead = true;
	loop_defer_cancel(&rq->flush);
	inet_waiter_cancel(&rq->wait);
	if (rq->established && !rq->closed)
		rdma_disconnect(rq->id);
	rdma_host_qp_free(rq);
	if (rq->established && !rq->closed && q->resend && q->nr_inflight)
		rdma_host_old_keep(rq->ep, rq->id);
	else if (rq->id)
		rdma_cm_id_free(q->loop, rq->id);
	rq->id = NULL;
	rq->established = false;
}

static void rdma_queue_free(struct host_queue *q)
{
	free(to_rdma_queue(q));
}

const struct host_transport rdma_host_transport = {
	.name = "rdma",
	.trtype = NVMF_TRTYPE_RDMA,
	.req_size = sizeof(struct rdma_req),
	.max_data_len = RDMA_POOL_MAX_LEN,
	.default_trsvcid = "4420",
	.addr_check = rdma_addr_check,
	.endpoint_new = rdma_endpoint_new,
	.endpoint_free = rdma_endpoint_free,
	.queue_alloc = rdma_queue_alloc,
	.queue_start = rdma_queue_start,
	.submit = rdma_host_submit,
	.region_use = rdma_host_region_use,
	.queue_detach = rdma_queue_detach,
	.queue_attach = rdma_queue_attach,
	.queue_stop = rdma_queue_stop,
	.queue_free = rdma_queue_free,
	.settled = rdma_host_settled,
};
