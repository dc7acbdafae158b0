/* SPDX-License-Identifier: BSD-3-Clause */
/* One io on a file, blocking, with every fallback.  The engines hand over what they can't finish themselves. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/util.h"
#include "proto/cmd.h"
#include "target/backend/file.h"

#define OP_IOV		    64 /* elements per system call */
#define OP_ZEROES_LEN	    65536
#define OP_DIRECT_ALIGN_MAX 4096
#define OP_BEYOND_END	    (NVME_STATUS(NVME_SCT_GENERIC, NVME_SC_LBA_RANGE) | NVME_STATUS_DNR)

static const uint8_t zeroes[OP_ZEROES_LEN] __attribute__((aligned(OP_DIRECT_ALIGN_MAX)));

int file_fd(struct file_backend *fb, const struct backend_io *io)
{
	uint64_t bits = io->offset | io->len;
	uint32_t i;

	if (fb->fd_direct < 0)
		return fb->fd;
	for (i = 0; i < io->iovcnt; i++)
		bits |= (uintptr_t)io->iov[i].iov_base | io->iov[i].iov_len;
	return bits & (__atomic_load_n(&fb->direct_align, __ATOMIC_RELAXED) - 1) ? fb->fd : fb->fd_direct;
}

static int sync_data(struct file_backend *fb)
{
	__atomic_fetch_add(&fb->nr_syncs, 1, __ATOMIC_RELAXED);
	return fdatasync(fb->fd) ? -errno : 0;
}

/* At most OP_IOV elements of io's data from byte `from` on. */
static int iov_slice(const struct backend_io *io, uint64_t from, struct iovec part[OP_IOV])
{
	uint32_t i;
	int n = 0;

	for (i = 0; i < io->iovcnt && n < OP_IOV; i++) {
		size_t len = io->iov[i].iov_len;

		if (from >= len) {
			from -= len;
			continue;
		}
		part[n].iov_base = (uint8_t *)io->iov[i].iov_base + from;
		part[n++].iov_len = len - from;
		from = 0;
	}
	return n;
}

static int read_write(const struct backend_io *io, int fd, int flags)
{
	struct iovec part[OP_IOV];
	uint64_t done = 0;
	ssize_t n;

	while (done < io->len) {
		int cnt = iov_slice(io, done, part);
		off_t at = (off_t)(io->offset + done);

		n = io->op == BACKEND_READ ? preadv2(fd, part, cnt, at, flags) : pwritev2(fd, part, cnt, at, flags);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		/* The file was made shorter behind our back: those blocks are gone. */
		if (!n)
			return io->op == BACKEND_READ ? OP_BEYOND_END : -EIO;
		done += (uint64_t)n;
	}
	return 0;
}

/* Read or write by whichever descriptor takes it. */
static int read_write_any(struct file_backend *fb, const struct backend_io *io, int flags)
{
	int fd = file_fd(fb, io), ret = read_write(io, fd, flags);

	if (ret != -EINVAL || fd != fb->fd_direct)
		return ret;
	/* The device wants more than 512 bytes of alignment, or a short transfer left us in the middle of a block. */
	if (__atomic_load_n(&fb->direct_align, __ATOMIC_RELAXED) < OP_DIRECT_ALIGN_MAX)
		__atomic_store_n(&fb->direct_align, OP_DIRECT_ALIGN_MAX, __ATOMIC_RELAXED);
	return read_write(io, fb->fd, flags);
}

static int op_write(struct file_backend *fb, const struct backend_io *io)
{
	int ret;

	if (!io->fua)
		return read_write_any(fb, io, 0);
	if (!__atomic_load_n(&fb->no_dsync, __ATOMIC_RELAXED)) {
		ret = read_write_any(fb, io, RWF_DSYNC);
		if (ret != -EOPNOTSUPP) {
			__atomic_fetch_add(&fb->nr_syncs, 1, __ATOMIC_RELAXED);
			return ret;
		}
		__atomic_store_n(&fb->no_dsync, true, __ATOMIC_RELAXED);
	}
	ret = read_write_any(fb, io, 0);
	return ret ? ret : sync_data(fb);
}

static bool unsupported(int ret)
{
	return ret == -EOPNOTSUPP || ret == -ENOTTY || ret == -EINVAL || ret == -ENOSYS || ret == -ENODEV;
}

static int allocate(struct file_backend *fb, int mode, const struct backend_io *io)
{
	int ret;

	do {
		ret = fallocate(fb->fd, mode, (off_t)io->offset, (off_t)io->len) ? -errno : 0;
	} while (ret == -EINTR);
	return ret;
}

/* 0, or the file was made shorter behind our back and not all of io's blocks are there: a hole can't be punched in them. */
static int check_end(struct file_backend *fb, const struct backend_io *io)
{
	uint64_t bytes;
	int ret = file_bytes(fb, &bytes);

	if (ret)
		return ret;
	return bytes < io->offset + io->len ? OP_BEYOND_END : 0;
}

/* What is left of a discard where nothing can be deallocated is nothing: the blocks stay allocated and keep their data. */
static int op_discard(struct file_backend *fb, const struct backend_io *io)
{
	/* On a block device this discards only where zeroes are what one reads afterwards; BLKDISCARD would promise nothing. */
	int ret = check_end(fb, io);

	if (!ret)
		ret = allocate(fb, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, io);
	return unsupported(ret) ? 0 : ret;
}

static int write_zeroes(struct file_backend *fb, const struct backend_io *io)
{
	struct iovec iov[16];
	struct backend_io part = { .op = BACKEND_WRITE, .iov = iov };
	uint64_t done;
	int ret;

	for (done = 0; done < io->len; done += part.len) {
		part.offset = io->offset + done;
		part.len = 0;
		for (part.iovcnt = 0; part.iovcnt < ARRAY_SIZE(iov) && done + part.len < io->len; part.iovcnt++) {
			iov[part.iovcnt].iov_base = (void *)(uintptr_t)zeroes;
			iov[part.iovcnt].iov_len = min_size(io->len - done - part.len, OP_ZEROES_LEN);
			part.len += iov[part.iovcnt].iov_len;
		}
		ret = read_write_any(fb, &part, 0);
		if (ret)
			return ret;
	}
	return 0;
}

/* Punching leaves the file's end where it is; zeroes beyond it are there when the last of them is, as after a write. */
static int punch_zeroes(struct file_backend *fb, const struct backend_io *io)
{
	struct backend_io last = { .offset = io->offset + io->len - fb->block_size, .len = fb->block_size };
	int ret = allocate(fb, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, io);

	if (!ret)
		ret = check_end(fb, io);
	return ret == OP_BEYOND_END ? write_zeroes(fb, &last) : ret;
}

static int op_zero(struct file_backend *fb, const struct backend_io *io)
{
	uint64_t range[2] = { io->offset, io->len };
	int ret = -EOPNOTSUPP;

	if (io->dealloc)
		ret = punch_zeroes(fb, io);
	if (unsupported(ret) && fb->block_dev)
		ret = ioctl(fb->fd, BLKZEROOUT, range) ? -errno : 0;
	else if (unsupported(ret))
		ret = allocate(fb, FALLOC_FL_ZERO_RANGE, io); /* the file grows with it */
	if (unsupported(ret))
		ret = write_zeroes(fb, io);
	return !ret && io->fua ? sync_data(fb) : ret;
}

int file_op_run(struct file_backend *fb, const struct backend_io *io)
{
	if (!io->len && io->op != BACKEND_FLUSH)
		return 0;
	switch (io->op) {
	case BACKEND_READ:
		return read_write_any(fb, io, 0);
	case BACKEND_WRITE:
		return op_write(fb, io);
	case BACKEND_FLUSH:
		return sync_data(fb);
	case BACKEND_DISCARD:
		return op_discard(fb, io);
	case BACKEND_ZERO:
		return op_zero(fb, io);
	}
	return -EINVAL;
}
