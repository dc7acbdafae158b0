/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A queue's way to its I/O thread and back.
 *
 * A queue is set up on the ctx's thread, as always.  When it is LIVE it is given away, by one door; before it is stopped it is taken back,
 * by the other:
 *
 * io_port_give(): off the ctx's loop, a message to the thread, which puts it on its own.  Nobody waits.
 *
 * Away: requests go to the thread by one ring, their ends come back by another; the transport's half of the queue (socket, bytes, what is
 * under way by cid) is the thread's alone.  Its failure comes back as a message.
 *
 * io_port_recall(): a message: come back.  Many queues are recalled together.
 *
 * io_port_take_back(): waits for the answer: the thread has taken the queue off its loop and touches neither it nor any request again.  A
 * thread never waits for anybody, so that is about one turn of its loop.
 *
 * The core's half (state, tags, counts, deadlines) stays on the ctx's thread all the time.  What the thread had not told when the queue was
 * taken back counts as not ended: the queue is going to be stopped, and its requests end or are sent again as those under way are.
 *
 * Wake-ups: one look per batch of either direction at whether the other side has been told already, and an eventfd only when it sleeps.
 */
#ifndef NVOF_HOST_IO_PORT_H
#define NVOF_HOST_IO_PORT_H

#include <stdarg.h>

#include "transport/host_ops.h"

struct io_port;

/* ---- on the ctx's thread ---- */

/* A LIVE queue with nothing under way.  0 or -ENOMEM: it is where it was. */
int io_port_give(struct host_queue *q);
/* Begins to take q back.  Again, or of a queue that is not away: nothing. */
void io_port_recall(struct host_queue *q);
/* It is the ctx's again when this returns, good only for being stopped.  Of a queue that is not away: nothing. */
void io_port_take_back(struct host_queue *q);
/* req will complete, or the queue fail. */
void io_port_submit(struct io_port *p, struct host_req *req);

/* On any thread: whether it is the one that has the queue. */
bool io_port_is_here(const struct io_port *p);

/* ---- on the queue's thread: what the transport's doors lead to ---- */

void io_port_ended(struct io_port *p, struct host_req *req, int status, const struct nvme_cqe *cqe); /* cqe: NULL unless one came */
void io_port_failed(struct io_port *p, int code, const char *fmt, va_list ap);

#endif
