/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The I/O threads of a ctrl: a loop each, which serves the sockets of the queues that were given to it (io_port.h).  All that is not a
 * connection (tags, hctxs, namespaces, recovery, the admin queue, callbacks) stays on the ctx's thread.
 *
 * They live as long as the ctrl: queues come and go with its connections.
 */
#ifndef NVOF_HOST_IO_THREAD_H
#define NVOF_HOST_IO_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cpu_list.h"
#include "base/error.h"
#include "base/loop.h"

#define IO_THREADS_MAX 256

struct nvof_ctx;

struct io_thread {
	struct loop *loop;
	pthread_t thread;
	bool started;
	uint32_t nr_ports; /* queues it has; the ctx's thread counts them */
	/* For queues that are taken back, never for I/O. */
	pthread_mutex_t lock;
	pthread_cond_t back;
};

struct io_threads {
	uint32_t nr;
	bool crowd; /* with the caller they take all CPUs there are, so nobody spins: that would keep another one of them from its work */
	struct io_thread *threads;
};

/*
 * cpus: thread i runs on CPU i of the list and goes round; an empty list: on the CPUs of the caller's NUMA node.  0, or a negative errno
 * with a sentence; then nothing is left.
 */
int io_threads_start(struct io_threads *ts, uint32_t nr, const struct cpu_list *cpus, uint64_t spin_ns, struct error *err);
/* The ctx's own loop spins, or does not, as they do: after the start, and before the stop. */
void io_threads_joined(struct nvof_ctx *ctx, const struct io_threads *ts);
void io_threads_leave(struct nvof_ctx *ctx, const struct io_threads *ts);
/* They have no queues any more.  A zeroed one is fine. */
void io_threads_stop(struct io_threads *ts);

#endif
