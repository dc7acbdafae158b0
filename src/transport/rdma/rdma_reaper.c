/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/rdma/rdma_reaper.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <urcu/list.h>

#include "base/thread.h"
#include "base/util.h"

#define GOODBYE_NS (300 * NSEC_PER_MSEC)

struct reaped {
	struct cds_list_head link;
	struct rdma_cm_id *id;
};

/* Freed by its thread, if it has one. */
struct rdma_reaper {
	struct rdma_event_channel *channel;
	pthread_mutex_t lock;
	pthread_cond_t work, rest; /* there is something to do; there is nothing any more */
	struct cds_list_head ids;  /* reaped.link */
	bool started, busy;
	bool gone; /* nobody brings more */
};

static void reaper_destroy(struct rdma_reaper *r)
{
	rdma_destroy_event_channel(r->channel);
	pthread_cond_destroy(&r->work);
	pthread_cond_destroy(&r->rest);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

struct rdma_reaper *rdma_reaper_new(struct rdma_event_channel *channel)
{
	struct rdma_reaper *r = calloc(1, sizeof(*r));
	pthread_condattr_t monotonic;

	if (!r)
		return NULL;
	r->channel = channel;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->work, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&r->rest, &monotonic);
	pthread_condattr_destroy(&monotonic);
	CDS_INIT_LIST_HEAD(&r->ids);
	return r;
}

static void *reaper_main(void *arg)
{
	struct rdma_reaper *r = arg;
	struct reaped *one;

	pthread_mutex_lock(&r->lock);
	while (!r->gone || !cds_list_empty(&r->ids)) {
		if (cds_list_empty(&r->ids)) {
			pthread_cond_wait(&r->work, &r->lock);
			continue;
		}
		one = cds_list_first_entry(&r->ids, struct reaped, link);
		cds_list_del(&one->link);
		r->busy = true;
		pthread_mutex_unlock(&r->lock);
		rdma_destroy_id(one->id);
		free(one);
		pthread_mutex_lock(&r->lock);
		r->busy = false;
		pthread_cond_signal(&r->rest);
	}
	pthread_mutex_unlock(&r->lock);
	reaper_destroy(r);
	return NULL;
}

static bool reaper_start(struct rdma_reaper *r)
{
	if (!r->started)
		r->started = !thread_spawn_detached(reaper_main, r);
	return r->started;
}

void rdma_reaper_take(struct rdma_reaper *r, struct rdma_cm_id *id)
{
	struct reaped *one = malloc(sizeof(*one));

	id->context = NULL;
	if (!one || !reaper_start(r)) {
		free(one);
		rdma_destroy_id(id);
		return;
	}
	one->id = id;
	pthread_mutex_lock(&r->lock);
	cds_list_add_tail(&one->link, &r->ids);
	pthread_cond_signal(&r->work);
	pthread_mutex_unlock(&r->lock);
}

void rdma_reaper_free(struct rdma_reaper *r)
{
	uint64_t end = clock_ns() + GOODBYE_NS;
	struct timespec until = { .tv_sec = (time_t)(end / NSEC_PER_SEC), .tv_nsec = (long)(end % NSEC_PER_SEC) };

	if (!r->started) {
		reaper_destroy(r);
		return;
	}
	pthread_mutex_lock(&r->lock);
	while (r->busy || !cds_list_empty(&r->ids))
		if (pthread_cond_timedwait(&r->rest, &r->lock, &until))
			break;
	r->gone = true;
	pthread_cond_signal(&r->work);
	pthread_mutex_unlock(&r->lock);
}
