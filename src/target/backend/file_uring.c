/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * io_uring for reads, writes and flushes of files: one ring per loop.  What a loop turn queues goes to the kernel in one system call at its
 * end; completions show on the ring's descriptor.  Whatever does not end plainly (short, unaligned, not supported) is run again by the
 * pool, which knows all the cases: reads and writes of blocks may be repeated.
 */
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/util.h"
#include "target/backend/file.h"

#define RING_ENTRIES	256
#define RING_CQ_ENTRIES 4096
#define RING_BATCH	64 /* completions per call, then others have their turn */
#define RING_SUBMIT_AT	8  /* so many go to the kernel at once: the device begins with the first while the next are still being read */

struct file_uring {
	struct loop_ext ext;
	struct loop *loop;
	bool usable; /* false: the kernel refused; asked once per loop */
	struct io_uring ring;
	struct loop_fd lf;
	struct loop_defer submit;
	unsigned int in_flight;
};

static const char file_uring_key;

static int ring_init(struct io_uring *ring, unsigned int entries, unsigned int cq_entries)
{
	struct io_uring_params params = { .flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP, .cq_entries = cq_entries };
	int ret = io_uring_queue_init_params(entries, ring, &params);

	if (ret)
		return ret;
	/* Without it a full completion queue drops entries (kernels before 5.5). */
	if (params.features & IORING_FEAT_NODROP)
		return 0;
	io_uring_queue_exit(ring);
	return -ENOSYS;
}

int file_uring_probe(void)
{
	struct io_uring ring;
	int ret = ring_init(&ring, 2, 4);

	if (!ret)
		io_uring_queue_exit(&ring);
	return ret;
}

static void uring_flush(struct loop_defer *d)
{
	struct file_uring *u = container_of(d, struct file_uring, submit);
	int ret = io_uring_submit(&u->ring);

	/* No memory, or the completion queue is full: what the kernel did not take stays queued for the next turn. */
	if (ret < 0 || io_uring_sq_ready(&u->ring))
		loop_defer(u->loop, &u->submit);
}

static void uring_complete(struct backend_io *io, int res)
{
	struct file_backend *fb = container_of(io->backend, struct file_backend, b);
	uint64_t want = io->op == BACKEND_FLUSH ? 0 : io->len;

	if (res >= 0 && (uint64_t)res == want) {
		if (io->fua)
			__atomic_fetch_add(&fb->nr_syncs, 1, __ATOMIC_RELAXED);
		io->done(io, 0);
	} else if (res >= 0 || res == -EINVAL || res == -EAGAIN || res == -EOPNOTSUPP || res == -EINTR) {
		file_pool_submit(fb, io);
	} else {
		io->done(io, res);
	}
}

static bool uring_reap(struct loop_fd *lf, uint32_t events)
{
	struct file_uring *u = container_of(lf, struct file_uring, lf);
	struct io_uring_cqe *cqe;
	unsigned int n;

	for (n = 0; n < RING_BATCH && !io_uring_peek_cqe(&u->ring, &cqe); n++) {
		struct backend_io *io = io_uring_cqe_get_data(cqe);
		int res = cqe->res;

		io_uring_cqe_seen(&u->ring, cqe);
		u->in_flight--;
		uring_complete(io, res);
	}
	return n;
}

static void uring_free(struct loop_ext *ext)
{
	struct file_uring *u = container_of(ext, struct file_uring, ext);

	if (u->usable) {
		loop_defer_cancel(&u->submit);
		loop_fd_del(&u->lf);
		io_uring_queue_exit(&u->ring);
	}
	free(u);
}

static struct file_uring *uring_of(struct loop *loop)
{
	struct loop_ext *ext = loop_ext_find(loop, &file_uring_key);
	struct file_uring *u;

	if (ext) {
		u = container_of(ext, struct file_uring, ext);
		return u->usable ? u : NULL;
	}
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->ext.key = &file_uring_key;
	u->ext.free = uring_free;
	u->loop = loop;
	loop_defer_init(&u->submit, uring_flush);
	if (!ring_init(&u->ring, RING_ENTRIES, RING_CQ_ENTRIES)) {
		u->usable = !loop_fd_add(loop, &u->lf, u->ring.ring_fd, EPOLLIN, uring_reap);
		if (!u->usable)
			io_uring_queue_exit(&u->ring);
	}
	loop_ext_add(loop, &u->ext);
	return u->usable ? u : NULL;
}

static void uring_prepare(struct file_backend *fb, struct backend_io *io, struct io_uring_sqe *sqe)
{
	switch (io->op) {
	case BACKEND_READ:
		io_uring_prep_readv(sqe, file_fd(fb, io), io->iov, io->iovcnt, io->offset);
		break;
	case BACKEND_WRITE:
		io_uring_prep_writev2(sqe, file_fd(fb, io), io->iov, io->iovcnt, io->offset, io->fua ? RWF_DSYNC : 0);
		break;
	default:
		__atomic_fetch_add(&fb->nr_syncs, 1, __ATOMIC_RELAXED);
		io_uring_prep_fsync(sqe, fb->fd, IORING_FSYNC_DATASYNC);
		break;
	}
	io_uring_sqe_set_data(sqe, io);
}

bool file_uring_submit(struct file_backend *fb, struct backend_io *io)
{
	struct file_uring *u;
	struct io_uring_sqe *sqe;

	if (io->op > BACKEND_FLUSH || io->len > INT32_MAX || io->iovcnt > 1024)
		return false;
	u = uring_of(io->loop);
	/* So the completion queue never overflows. */
	if (!u || u->in_flight == RING_CQ_ENTRIES)
		return false;
	sqe = io_uring_get_sqe(&u->ring);
	if (!sqe) {
		io_uring_submit(&u->ring);
		sqe = io_uring_get_sqe(&u->ring);
		if (!sqe)
			return false;
	}
	uring_prepare(fb, io, sqe);
	u->in_flight++;
	loop_fd_heat(&u->lf);
	if (io_uring_sq_ready(&u->ring) >= RING_SUBMIT_AT)
		io_uring_submit(&u->ring); /* what it does not take the turn's end tries again */
	loop_defer(u->loop, &u->submit);
	return true;
}
