// SPDX-License-Identifier: BSD-3-Clause
/*
 * The memory of data buffers is bounded per thread (C180): I/O that finds too much of it in use waits in line.
 *
 * Who waits is parked on its queue as well, so that the end of the connection answers it.  A request larger than the bound gets its buffer
 * when nothing else is in use.
 */
#include "target/target.h"

static bool fits(const struct bufs *b, uint32_t len)
{
	return !b->in_use || b->in_use + len <= b->use_max;
}

bool target_buf_short(const struct target_req *req, uint32_t len)
{
	struct target_thread *th = req->queue->thread;

	return !req->waited && (!fits(&th->bufs, len) || !cds_list_empty(&th->waiting));
}

void target_buf_wait(struct target_req *req)
{
	req->waiting = req->waited = true;
	target_req_park(req);
	cds_list_add_tail(&req->wait_link, &req->queue->thread->waiting);
}

static void go_on(struct target_req *req)
{
	if (req->dir != DATA_TO_CTRL)
		target_io_execute(req);
	else if (target_req_buffer(req, req->data_len))
		req->queue->ops->bring(req);
}

static void feed(struct loop_defer *defer)
{
	struct target_thread *th = container_of(defer, struct target_thread, feed);

	while (!cds_list_empty(&th->waiting)) {
		struct target_req *req = cds_list_first_entry(&th->waiting, struct target_req, wait_link);

		if (!fits(&th->bufs, req->data_len))
			return;
		target_req_unpark(req);
		if (req->queue->closing)
			target_req_park(req); /* answered when the connection is gone */
		else
			go_on(req);
	}
}

void target_buf_wait_init(struct target_thread *th)
{
	CDS_INIT_LIST_HEAD(&th->waiting);
	loop_defer_init(&th->feed, feed);
}

/* Every buffer goes back by here: it may be the last one in use, and then nobody else would wake those who wait. */
void target_buf_put(struct target_thread *th, void *buf, size_t room)
{
	bufs_put(&th->bufs, buf, room);
	if (unlikely(!cds_list_empty(&th->waiting)))
		loop_defer(th->loop, &th->feed);
}
