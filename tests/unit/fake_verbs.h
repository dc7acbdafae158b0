/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An RDMA device without hardware or kernel, in the place of libibverbs and librdmacm as far as the host half uses them once a queue is
 * linked, and the target half until it has accepted.  Its peer carries out each command as it is posted, on the thread that posts: like
 * hardware it has no locks, so a sanitizer sees who else touches a queue.
 */
#ifndef NVOF_TESTS_FAKE_VERBS_H
#define NVOF_TESTS_FAKE_VERBS_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>

struct rdma_cm_id;

struct fake_verbs {
	struct ibv_context context;
	struct ibv_device device;
	/* what it does */
	atomic_bool silent;	/* answers nothing */
	atomic_bool broken;	/* every completion is an error */
	atomic_size_t mr_limit; /* bytes that may be registered; 0: any number */
	bool left;		/* who asked for a connection is there no more */
	int qp_err, accept_err; /* errno of making a queue pair and of accepting; 0: they work */
	/* what there is */
	atomic_uint nr_pds, nr_mrs, nr_cqs, nr_qps, nr_ids;
	atomic_size_t mr_bytes;
	atomic_uint nr_asked, nr_armed; /* for events of completion queues; completion queues, for events */
	atomic_uint nr_bad;		/* commands whose keys or data were not right */
	atomic_uint nr_srqs, nr_accepts, nr_rejects;
};

extern struct fake_verbs fake_verbs;

/* The byte that a command's data consist of: what is written, and what is read. */
static inline uint8_t fake_verbs_byte(uint16_t cid)
{
	return (uint8_t)(cid * 7 + 1);
}

/* A receive completes. */
void fake_verbs_complete(struct ibv_cq *cq);
/* An id that is connected by way of the device; it belongs to whom it is given to. */
struct rdma_cm_id *fake_verbs_id(void *context);

#endif
