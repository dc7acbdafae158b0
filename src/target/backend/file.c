/* SPDX-License-Identifier: BSD-3-Clause */
#include "target/backend/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/util.h"

#define FILE_DIRECT_ALIGN 512 /* to begin with */
#define FILE_LOCK_BYTE	  (INT64_MAX - 4096)

static struct file_backend *to_file(struct backend *b)
{
	return container_of(b, struct file_backend, b);
}

/* PATH[,engine=auto|uring|pool][,direct=on|off]: the options known here, taken off from the end, so that a path may have commas. */
static int take_options(struct file_backend *fb, bool *direct, struct error *err)
{
	static const struct {
		const char *text;
		int engine, direct;
	} options[] = {
		{ "engine=auto", FILE_ENGINE_AUTO, -1 },
		{ "engine=uring", FILE_ENGINE_URING, -1 },
		{ "engine=pool", FILE_ENGINE_POOL, -1 },
		{ "direct=on", -1, true },
		{ "direct=off", -1, false },
	};
	bool engine_given = false, direct_given = false;
	char *comma;
	size_t i;

	while ((comma = strrchr(fb->path, ','))) {
		for (i = 0; i < ARRAY_SIZE(options) && strcmp(comma + 1, options[i].text); i++)
			;
		if (i == ARRAY_SIZE(options)) {
			if (!strncmp(comma + 1, "engine=", 7) || !strncmp(comma + 1, "direct=", 7))
				return error_set(err, -EINVAL, "file:%.200s: must be engine=auto, uring or pool; direct=on or off",
						 fb->path);
			break;
		}
		if (options[i].engine >= 0 ? engine_given : direct_given)
			return error_set(err, -EINVAL, "file:%.200s: %s is given twice", fb->path,
					 options[i].engine >= 0 ? "engine=" : "direct=");
		*(options[i].engine >= 0 ? &engine_given : &direct_given) = true;
		*comma = '\0';
		if (options[i].engine >= 0)
			fb->engine = (enum file_engine)options[i].engine;
		else
			*direct = options[i].direct;
	}
	if (!*fb->path)
		return error_set(err, -EINVAL, "file: needs a path");
	return 0;
}

int file_bytes(const struct file_backend *fb, uint64_t *bytes)
{
	struct stat st;

	if (fb->block_dev)
		return ioctl(fb->fd, BLKGETSIZE64, bytes) ? -errno : 0;
	if (fstat(fb->fd, &st))
		return -errno;
	*bytes = (uint64_t)st.st_size;
	return 0;
}

/* Another file under the same name is another one: a file by its file system and inode, a device by its number. */
static void note_contents(struct file_backend *fb, const struct stat *st)
{
	struct statfs fs;
	uint64_t fsid = 0;

	if (S_ISBLK(st->st_mode)) {
		snprintf(fb->b.contents, sizeof(fb->b.contents), "device %ju", (uintmax_t)st->st_rdev);
		return;
	}
	if (!fstatfs(fb->fd, &fs))
		memcpy(&fsid, &fs.f_fsid, min_size(sizeof(fsid), sizeof(fs.f_fsid)));
	snprintf(fb->b.contents, sizeof(fb->b.contents), "file %" PRIx64 " %ju", fsid, (uintmax_t)st->st_ino);
}

static bool is_in_memory(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

static int check_kind(struct file_backend *fb, struct error *err)
{
	struct stat st;
	int sector;

	if (fstat(fb->fd, &st))
		return error_set(err, -errno, "file:%s: %s", fb->path, strerror(errno));
	fb->direct_align = FILE_DIRECT_ALIGN;
	note_contents(fb, &st);
	if (S_ISREG(st.st_mode)) {
		fb->in_memory = is_in_memory(fb->fd);
		return 0;
	}
	if (!S_ISBLK(st.st_mode))
		return error_set(err, -EINVAL, "file:%s: is neither a regular file nor a block device", fb->path);
	fb->block_dev = true;
	if (!ioctl(fb->fd, BLKSSZGET, &sector) && sector > 0)
		fb->direct_align = (uint32_t)sector;
	return 0;
}

/* A second descriptor of the same file with O_DIRECT.  Not every file system has it (EINVAL): the page cache does then. */
static void open_direct(struct file_backend *fb, int flags)
{
	struct stat a, b;

	fb->fd_direct = open(fb->path, flags | O_DIRECT);
	if (fb->fd_direct < 0 || (!fstat(fb->fd, &a) && !fstat(fb->fd_direct, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino))
		return;
	close(fb->fd_direct); /* the name meant another file by now */
	fb->fd_direct = -1;
}

static int open_fds(struct file_backend *fb, bool direct, struct error *err)
{
	int flags = (fb->readonly ? O_RDONLY : O_RDWR) | O_CLOEXEC;
	int ret;

	/* O_NONBLOCK: a FIFO without a peer must be refused, not waited for.  It goes again, because io_uring heeds it for files, too. */
	fb->fd = open(fb->path, flags | O_NONBLOCK);
	if (fb->fd < 0 && errno == EISDIR)
		return error_set(err, -EINVAL, "file:%s: is neither a regular file nor a block device", fb->path);
	if (fb->fd < 0)
		return error_set(err, -errno, "file:%s: open for %s: %s", fb->path, fb->readonly ? "reading" : "reading and writing",
				 strerror(errno));
	ret = check_kind(fb, err);
	if (ret)
		return ret;
	if (fcntl(fb->fd, F_SETFL, 0))
		return error_set(err, -errno, "file:%s: F_SETFL: %s", fb->path, strerror(errno));
	if (direct)
		open_direct(fb, flags);
	return 0;
}

/*
 * All who write to it share a lock of one byte, far behind what anybody else locks, so that a second one can be told.  Two are fine when
 * they are paths to one namespace.  Where there are no locks nothing is told.
 */
static void note_shared(struct file_backend *fb)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = FILE_LOCK_BYTE, .l_len = 1 };

	if (fb->readonly)
		return;
	fb->b.shared = !fcntl(fb->fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
	lock = (struct flock){ .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = FILE_LOCK_BYTE, .l_len = 1 };
	fcntl(fb->fd, F_OFD_SETLK, &lock);
}

static void file_close(struct backend *b)
{
	struct file_backend *fb = to_file(b);

	if (fb->fd_direct >= 0)
		close(fb->fd_direct);
	if (fb->fd >= 0)
		close(fb->fd);
	free(fb->path);
	free(fb);
}

static int file_setup(struct file_backend *fb, struct error *err)
{
	bool direct = true;
	uint64_t bytes, size;
	int ret;

	ret = take_options(fb, &direct, err);
	if (ret)
		return ret;
	ret = open_fds(fb, direct, err);
	if (ret)
		return ret;
	ret = file_bytes(fb, &bytes);
	if (ret)
		return error_set(err, ret, "file:%s: size: %s", fb->path, strerror(-ret));
	ret = fb->engine == FILE_ENGINE_URING ? file_uring_probe() : 0;
	if (ret)
		return error_set(err, ret, "file:%s: engine=uring: io_uring is not to be had here: %s", fb->path, strerror(-ret));
	ret = backend_round_size(&fb->b, fb->path, bytes, fb->block_size, &size, err);
	if (!ret)
		note_shared(fb);
	return ret;
}

static int file_open(const char *arg, uint32_t block_size, bool readonly, struct backend **b, struct error *err)
{
	struct file_backend *fb = calloc(1, sizeof(*fb));
	int ret;

	if (!fb)
		return error_set(err, -ENOMEM, "file:%.200s: out of memory", arg);
	fb->b.ops = &file_backend_ops;
	fb->fd = fb->fd_direct = -1;
	fb->block_size = block_size;
	fb->readonly = readonly;
	fb->path = strdup(arg);
	ret = fb->path ? file_setup(fb, err) : error_set(err, -ENOMEM, "file:%.200s: out of memory", arg);
	if (ret) {
		file_close(&fb->b);
		return ret;
	}
	*b = &fb->b;
	return 0;
}

static uint64_t file_size(struct backend *b)
{
	struct file_backend *fb = to_file(b);
	uint64_t bytes;

	return file_bytes(fb, &bytes) ? 0 : bytes - bytes % fb->block_size;
}

static void file_submit(struct backend *b, struct backend_io *io)
{
	struct file_backend *fb = to_file(b);

	io->backend = b;
	/* io_uring would hand it to a worker thread: tmpfs has no reads that can say "not now". */
	if (fb->engine == FILE_ENGINE_AUTO && fb->in_memory && io->op <= BACKEND_FLUSH) {
		io->done(io, file_op_run(fb, io));
		return;
	}
	if (fb->engine != FILE_ENGINE_POOL && file_uring_submit(fb, io))
		return;
	file_pool_submit(fb, io);
}

static int file_resize(struct backend *b, uint64_t size, struct error *err)
{
	struct file_backend *fb = to_file(b);
	uint64_t bytes;
	int ret;

	ret = file_bytes(fb, &bytes);
	if (ret)
		return error_set(err, ret, "file:%s: size: %s", fb->path, strerror(-ret));
	if (size && size != bytes) {
		if (fb->block_dev)
			return error_set(err, -ENOTSUP, "file:%s: a block device has the size it has: %" PRIu64 " bytes", fb->path, bytes);
		if (fb->readonly)
			return error_set(err, -EROFS, "file:%s: is opened for reading only", fb->path);
		if (size > INT64_MAX)
			return error_set(err, -EFBIG, "file:%s: resize to %" PRIu64 " bytes: %s", fb->path, size, strerror(EFBIG));
		ret = backend_round_size(b, fb->path, size, fb->block_size, &bytes, err);
		if (ret)
			return ret;
		if (ftruncate(fb->fd, (off_t)size))
			return error_set(err, -errno, "file:%s: resize to %" PRIu64 " bytes: %s", fb->path, size, strerror(errno));
		return 0;
	}
	return backend_round_size(b, fb->path, bytes, fb->block_size, &size, err);
}

const struct backend_ops file_backend_ops = {
	.name = "file",
	.open = file_open,
	.close = file_close,
	.size = file_size,
	.submit = file_submit,
	.resize = file_resize,
	.volatile_cache = true,
};
