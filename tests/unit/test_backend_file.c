/* SPDX-License-Identifier: BSD-3-Clause */
/* Every test runs once per way to reach a file: threads and io_uring, with and without O_DIRECT. */
#include "backend_util.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/backend/file.h"

#define MIB (UINT64_C(1) << 20)

static struct loop *loop;
static char path[64];

static int setup(void **state)
{
	int fd;

	snprintf(path, sizeof(path), "test_backend_file.XXXXXX");
	fd = mkstemp(path);
	if (fd < 0 || ftruncate(fd, MIB))
		return -1;
	close(fd);
	return loop_new(&loop);
}

static int teardown(void **state)
{
	loop_free(loop);
	return unlink(path);
}

static void skip_without_uring(void)
{
	if (!file_uring_probe())
		return;
	print_message("# there is no io_uring: the kernel or the container forbids it, or liburing was missing\n");
	skip();
}

static struct backend *open_way(void **state, uint32_t block_size)
{
	const char *way = *state;
	char spec[128];

	if (strstr(way, "uring"))
		skip_without_uring();
	snprintf(spec, sizeof(spec), "file:%s,%s", path, way);
	return test_backend(spec, block_size);
}

static struct file_backend *file_of(struct backend *b)
{
	return container_of(b, struct file_backend, b);
}

static uint64_t allocated(void)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

/* What is in the file, seen past the backend. */
static void peek(uint64_t offset, void *buf, size_t len)
{
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, buf, len, (off_t)offset), len);
	close(fd);
}

static void what_was_written_is_in_the_file_and_is_read(void **state)
{
	struct backend *b = open_way(state, 512);
	uint8_t *out = aligned_alloc(4096, 65536), *in = aligned_alloc(4096, 65536);

	assert_non_null(out);
	assert_non_null(in);
	assert_int_equal(b->ops->size(b), MIB);
	test_fill(out, 65536, 1);
	assert_int_equal(test_rw(loop, b, BACKEND_WRITE, 8192, out, 65536), 0);
	assert_int_equal(test_rw(loop, b, BACKEND_READ, 8192, in, 65536), 0);
	assert_memory_equal(in, out, 65536);
	memset(in, 0, 65536);
	peek(8192, in, 65536);
	assert_memory_equal(in, out, 65536);
	assert_int_equal(test_rw(loop, b, BACKEND_READ, 0, in, 8192), 0);
	assert_true(test_is_zero(in, 8192));
	free(in);
	free(out);
	backend_close(b);
}

static void buffers_of_any_length_and_alignment_do(void **state)
{
	struct backend *b = open_way(state, 512);
	uint8_t *out = malloc(9000), *in = malloc(9000);
	struct iovec wr[] = { { out + 1, 1 }, { out + 2, 0 }, { out + 2, 4094 }, { out + 4096, 1537 } };
	struct iovec rd[] = { { in + 3, 511 }, { in + 514, 5121 } };

	assert_non_null(out);
	assert_non_null(in);
	test_fill(out, 9000, 2);
	assert_int_equal(test_iov(loop, b, BACKEND_WRITE, 1536, wr, ARRAY_SIZE(wr), false), 0);
	assert_int_equal(test_iov(loop, b, BACKEND_READ, 1536, rd, ARRAY_SIZE(rd), false), 0);
	assert_memory_equal(in + 3, out + 1, 5632);
	free(in);
	free(out);
	backend_close(b);
}

static void more_buffers_than_one_system_call_takes_do(void **state)
{
	enum { NR = 2048, EACH = 512 };
	struct backend *b = open_way(state, 512);
	struct iovec *iov = calloc(NR, sizeof(*iov));
	uint8_t *out = malloc(NR * EACH), *in = malloc(NR * EACH);
	int i;

	assert_non_null(iov);
	assert_non_null(out);
	assert_non_null(in);
	test_fill(out, NR * EACH, 3);
	for (i = 0; i < NR; i++)
		iov[i] = (struct iovec){ out + i * EACH, EACH };
	assert_int_equal(test_iov(loop, b, BACKEND_WRITE, 0, iov, NR, false), 0);
	assert_int_equal(test_rw(loop, b, BACKEND_READ, 0, in, NR * EACH), 0);
	assert_memory_equal(in, out, NR * EACH);
	free(in);
	free(out);
	free(iov);
	backend_close(b);
}

static void many_ios_at_once_each_complete_once(void **state)
{
	enum { NR = 600, LEN = 1024 }; /* more than the ring has entries */
	struct backend *b = open_way(state, 512);
	struct test_io *ios = calloc(NR, sizeof(*ios));
	struct iovec *iov = calloc(NR, sizeof(*iov));
	uint8_t *out = aligned_alloc(4096, NR * LEN), *in = aligned_alloc(4096, NR * LEN);
	int i, pass;

	assert_non_null(ios);
	assert_non_null(iov);
	assert_non_null(out);
	assert_non_null(in);
	test_fill(out, NR * LEN, 4);
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < NR; i++) {
			iov[i] = (struct iovec){ (pass ? in : out) + i * LEN, LEN };
			ios[i].io = (struct backend_io){ .op = pass ? BACKEND_READ : BACKEND_WRITE,
							 .offset = (uint64_t)i * LEN,
							 .len = LEN,
							 .iov = &iov[i],
							 .iovcnt = 1 };
			test_io_start(loop, b, &ios[i]);
		}
		for (i = 0; i < NR; i++)
			assert_int_equal(test_io_wait(loop, &ios[i]), 0);
	}
	assert_memory_equal(in, out, NR * LEN);
	free(in);
	free(out);
	free(iov);
	free(ios);
	backend_close(b);
}

static void flush_syncs_and_a_plain_write_does_not(void **state)
{
	struct backend *b = open_way(state, 512);
	struct file_backend *fb = file_of(b);
	uint8_t buf[512] = { 1 };
	struct iovec iov = { buf, sizeof(buf) };

	assert_int_equal(test_iov(loop, b, BACKEND_WRITE, 0, &iov, 1, false), 0);
	assert_int_equal(fb->nr_syncs, 0);
	assert_int_equal(test_range(loop, b, BACKEND_FLUSH, 0, 0, false), 0);
	assert_int_equal(fb->nr_syncs, 1);
	assert_int_equal(test_iov(loop, b, BACKEND_WRITE, 0, &iov, 1, true), 0);
	assert_int_equal(fb->nr_syncs, 2);
	fb->no_dsync = true; /* as on a file system without RWF_DSYNC */
	assert_int_equal(file_op_run(fb, &(struct backend_io){ .op = BACKEND_WRITE, .len = 512, .iov = &iov, .iovcnt = 1, .fua = true }),
			 0);
	assert_int_equal(fb->nr_syncs, 3);
	backend_close(b);
}

static void discard_punches_a_hole_that_reads_as_zero(void **state)
{
	struct backend *b = open_way(state, 512);
	uint8_t *buf = malloc(MIB);
	uint64_t full;

	assert_non_null(buf);
	test_fill(buf, MIB, 5);
	assert_int_equal(test_rw(loop, b, BACKEND_WRITE, 0, buf, MIB), 0);
	assert_int_equal(test_range(loop, b, BACKEND_FLUSH, 0, 0, false), 0);
	full = allocated();
	assert_int_equal(test_range(loop, b, BACKEND_DISCARD, 65536, MIB - 65536, true), 0);
	assert_true(allocated() <= full - MIB / 2);
	assert_int_equal(test_rw(loop, b, BACKEND_READ, 65536, buf, MIB - 65536), 0);
	assert_true(test_is_zero(buf, MIB - 65536));
	assert_int_equal(b->ops->size(b), MIB);
	free(buf);
	backend_close(b);
}

static void write_zeroes_reads_as_zero(void **state)
{
	struct backend *b = open_way(state, 512);
	uint8_t *out = malloc(MIB), *in = malloc(MIB);
	int dealloc;

	assert_non_null(out);
	assert_non_null(in);
	for (dealloc = 0; dealloc < 2; dealloc++) {
		test_fill(out, MIB, 6);
		assert_int_equal(test_rw(loop, b, BACKEND_WRITE, 0, out, MIB), 0);
		assert_int_equal(test_range(loop, b, BACKEND_ZERO, 1536, 700 * 1024, dealloc), 0);
		memset(out + 1536, 0, 700 * 1024);
		assert_int_equal(test_rw(loop, b, BACKEND_READ, 0, in, MIB), 0);
		assert_memory_equal(in, out, MIB);
	}
	free(in);
	free(out);
	backend_close(b);
}

/* C077: a file that shrank behind our back */
static void a_read_beyond_the_end_of_the_file_is_out_of_range(void **state)
{
	struct backend *b = open_way(state, 512);
	uint8_t *buf = aligned_alloc(4096, 8192);

	assert_non_null(buf);
	assert_int_equal(truncate(path, 65536), 0);
	assert_int_equal(test_rw(loop, b, BACKEND_READ, 65536, buf, 4096), 0x4080);
	assert_int_equal(test_rw(loop, b, BACKEND_READ, 65536 - 4096, buf, 8192), 0x4080);
	assert_int_equal(test_rw(loop, b, BACKEND_READ, 65536 - 4096, buf, 4096), 0);
	assert_int_equal(b->ops->size(b), 65536);
	free(buf);
	backend_close(b);
}

/* C077: what was answered with success reads back */
static void zeroes_beyond_the_end_of_the_file_are_there_afterwards(void **state)
{
	struct backend *b = open_way(state, 512);
	uint8_t *buf = aligned_alloc(4096, MIB);
	int dealloc;

	assert_non_null(buf);
	for (dealloc = 0; dealloc < 2; dealloc++) {
		test_fill(buf, MIB, 7);
		assert_int_equal(test_rw(loop, b, BACKEND_WRITE, 0, buf, MIB), 0);
		assert_int_equal(truncate(path, 65536), 0);
		assert_int_equal(test_range(loop, b, BACKEND_ZERO, 4096, MIB / 2, dealloc), 0);
		assert_int_equal(b->ops->size(b), MIB / 2 + 4096);
		assert_int_equal(test_rw(loop, b, BACKEND_READ, 4096, buf, MIB / 2), 0);
		assert_true(test_is_zero(buf, MIB / 2));
		assert_int_equal(test_rw(loop, b, BACKEND_READ, MIB / 2, buf, 8192), 0x4080);
	}
	free(buf);
	backend_close(b);
}

static void a_discard_beyond_the_end_of_the_file_is_out_of_range(void **state)
{
	struct backend *b = open_way(state, 512);

	assert_int_equal(truncate(path, 65536), 0);
	assert_int_equal(test_range(loop, b, BACKEND_DISCARD, 65536, 512, true), 0x4080);
	assert_int_equal(test_range(loop, b, BACKEND_DISCARD, 65024, 1024, true), 0x4080);
	assert_int_equal(test_range(loop, b, BACKEND_DISCARD, 0, 65536, true), 0);
	assert_int_equal(b->ops->size(b), 65536);
	backend_close(b);
}

/* C077 */
static void the_size_follows_the_file_and_can_be_set(void **state)
{
	struct backend *b = open_way(state, 512);
	uint8_t buf[512] = { 7 };
	struct stat st;

	assert_int_equal(truncate(path, 2 * MIB), 0);
	test_resize(b, 0);
	assert_int_equal(b->ops->size(b), 2 * MIB);
	assert_int_equal(test_rw(loop, b, BACKEND_WRITE, 2 * MIB - 512, buf, sizeof(buf)), 0);
	test_resize(b, 4 * MIB);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 4 * MIB);
	test_resize(b, MIB / 2);
	assert_int_equal(b->ops->size(b), MIB / 2);
	backend_close(b);
}

/* C166 */
static void a_tail_that_is_no_block_is_cut_off_with_a_notice(void **state)
{
	struct backend *b;

	assert_int_equal(truncate(path, MIB + 4096 + 512), 0);
	b = open_way(state, 512);
	assert_int_equal(b->ops->size(b), MIB + 4608);
	assert_string_equal(b->notice, "");
	backend_close(b);
	b = open_way(state, 4096);
	assert_int_equal(b->ops->size(b), MIB + 4096);
	assert_non_null(strstr(b->notice, "512 bytes are not used"));
	backend_close(b);
}

static void *churn_thread(void *arg)
{
	bool *stop = arg;
	int i;

	for (i = 0; !__atomic_load_n(stop, __ATOMIC_RELAXED); i++)
		if (truncate(path, (off_t)(MIB + (uint64_t)(i % 5) * 65536)))
			return (void *)1;
	return NULL;
}

/* Run it under TSan. */
static void io_inside_both_sizes_goes_on_during_a_resize(void **state)
{
	struct backend *b = open_way(state, 512);
	uint8_t *out = aligned_alloc(4096, 4096), *in = aligned_alloc(4096, 4096);
	bool stop = false;
	pthread_t t;
	void *ret;
	int i;

	assert_non_null(out);
	assert_non_null(in);
	assert_int_equal(pthread_create(&t, NULL, churn_thread, &stop), 0);
	for (i = 0; i < 100; i++) {
		test_fill(out, 4096, (unsigned int)i);
		assert_int_equal(test_rw(loop, b, BACKEND_WRITE, (uint64_t)i * 4096, out, 4096), 0);
		assert_int_equal(test_rw(loop, b, BACKEND_READ, (uint64_t)i * 4096, in, 4096), 0);
		assert_memory_equal(in, out, 4096);
		test_resize(b, 0);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(t, &ret);
	assert_null(ret);
	free(in);
	free(out);
	backend_close(b);
}

static void a_read_only_file_can_be_read_and_not_resized(void **state)
{
	struct error err = { 0 };
	struct backend *b;
	uint8_t buf[512];
	char spec[128];

	assert_int_equal(chmod(path, 0400), 0);
	snprintf(spec, sizeof(spec), "file:%s,engine=pool", path);
	assert_int_equal(backend_open(spec, 512, true, &b, &err), 0);
	assert_int_equal(test_rw(loop, b, BACKEND_READ, 0, buf, sizeof(buf)), 0);
	assert_int_equal(test_rw(loop, b, BACKEND_WRITE, 0, buf, sizeof(buf)), -EBADF);
	assert_int_equal(b->ops->resize(b, 4096, &err), -EROFS);
	error_clear(&err);
	backend_close(b);
}

static void what_is_no_disk_is_refused_with_a_sentence(void **state)
{
	test_refused("file:", 512, -EINVAL, "needs a path");
	test_refused("file:/nonexistent/disk.img", 512, -ENOENT, "/nonexistent/disk.img: open for reading and writing: No such file");
	test_refused("file:/tmp", 512, -EINVAL, "neither a regular file nor a block device");
	test_refused("file:/dev/null", 512, -EINVAL, "neither a regular file nor a block device");
	test_refused("file:x,engine=warp", 512, -EINVAL, "must be engine=auto, uring or pool");
	test_refused("file:x,engine=pool,engine=pool", 512, -EINVAL, "engine= is given twice");
	test_refused("file:x,direct=on,engine=pool,direct=off", 512, -EINVAL, "direct= is given twice");
	assert_int_equal(truncate(path, 100), 0);
}

static void an_empty_file_is_no_namespace(void **state)
{
	char spec[128];

	assert_int_equal(truncate(path, 0), 0);
	snprintf(spec, sizeof(spec), "file:%s", path);
	test_refused(spec, 512, -EINVAL, "0 bytes are less than one block");
}

static void a_path_may_have_commas(void **state)
{
	struct backend *b;
	char other[80], spec[128];

	snprintf(other, sizeof(other), "%s,1", path);
	assert_int_equal(link(path, other), 0);
	snprintf(spec, sizeof(spec), "file:%s,direct=off,engine=pool", other);
	b = test_backend(spec, 512);
	assert_int_equal(file_of(b)->engine, FILE_ENGINE_POOL);
	assert_int_equal(file_of(b)->fd_direct, -1);
	assert_int_equal(b->ops->size(b), MIB);
	backend_close(b);
	unlink(other);
}

static void a_second_writer_is_told(void **state)
{
	struct backend *first = open_way(state, 512), *second, *reader;
	struct error err = { 0 };
	char spec[128];

	assert_false(first->shared);
	snprintf(spec, sizeof(spec), "file:%s", path);
	assert_int_equal(backend_open(spec, 512, true, &reader, &err), 0);
	assert_false(reader->shared);
	second = open_way(state, 512);
	assert_true(second->shared);
	backend_close(first);
	backend_close(second);
	/* Locks go with those who had them. */
	first = open_way(state, 512);
	assert_false(first->shared);
	backend_close(first);
	backend_close(reader);
}

/* In a child that may mount a file system of one megabyte: 0, or which step failed. */
static int fill_a_small_disk(const char *way)
{
	char dir[] = "test_backend_full.XXXXXX", spec[128];
	uint8_t *buf = aligned_alloc(4096, 65536);
	int i, ret = 0, failed = 0;
	struct error err = { 0 };
	struct backend *b;

	if (!mkdtemp(dir))
		return 77;
	if ((unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS)) || mount("none", dir, "tmpfs", 0, "size=1m")) {
		rmdir(dir);
		return 77;
	}
	snprintf(path, sizeof(path), "%s/disk", dir);
	snprintf(spec, sizeof(spec), "file:%s,%s", path, way);
	i = open(path, O_CREAT | O_RDWR, 0600);
	if (i < 0 || ftruncate(i, 16 * MIB) || close(i) || loop_new(&loop) || !buf)
		failed = 1;
	else if (backend_open(spec, 512, false, &b, &err))
		failed = 2;
	else {
		memset(buf, 1, 65536);
		for (i = 0; i < 256 && !ret; i++)
			ret = test_rw(loop, b, BACKEND_WRITE, (uint64_t)i * 65536, buf, 65536);
		failed = ret == -ENOSPC ? 0 : 3;
		backend_close(b);
		loop_free(loop);
	}
	free(buf);
	umount2(dir, MNT_DETACH);
	rmdir(dir);
	return failed;
}

static void a_full_disk_is_enospc(void **state)
{
	int status;
	pid_t pid;

	if (strstr(*state, "uring"))
		skip_without_uring();
	pid = fork();
	if (!pid)
		_exit(fill_a_small_disk(*state));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("# file systems may not be mounted here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* The limit of a process on file sizes sends a signal; here it is an error of the write. */
static void a_write_beyond_the_file_size_limit_is_efbig(void **state)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct rlimit limit = { 65536, 65536 };
		struct iovec iov;
		struct backend *b;
		uint8_t buf[4096] = { 0 };
		char spec[128];

		if (setrlimit(RLIMIT_FSIZE, &limit) || loop_new(&loop))
			_exit(1);
		snprintf(spec, sizeof(spec), "file:%s,engine=pool", path);
		b = test_backend(spec, 512);
		iov = (struct iovec){ buf, sizeof(buf) };
		if (test_iov(loop, b, BACKEND_WRITE, 131072, &iov, 1, false) != -EFBIG)
			_exit(2);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static char ways[][32] = { "engine=pool", "engine=pool,direct=off", "engine=uring", "engine=uring,direct=off" };

#define TEST(f, way)                                      \
	{                                                 \
#f " (" way ")", f, setup, teardown, NULL \
	}
#define EACH(f)                                                                                                   \
	{ #f " (pool)", f, setup, teardown, ways[0] }, { #f " (pool, page cache)", f, setup, teardown, ways[1] }, \
		{ #f " (io_uring)", f, setup, teardown, ways[2] },                                                \
	{                                                                                                         \
#f " (io_uring, page cache)", f, setup, teardown, ways[3]                                         \
	}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		EACH(what_was_written_is_in_the_file_and_is_read),
		EACH(buffers_of_any_length_and_alignment_do),
		EACH(more_buffers_than_one_system_call_takes_do),
		EACH(many_ios_at_once_each_complete_once),
		EACH(flush_syncs_and_a_plain_write_does_not),
		EACH(discard_punches_a_hole_that_reads_as_zero),
		EACH(write_zeroes_reads_as_zero),
		EACH(a_read_beyond_the_end_of_the_file_is_out_of_range),
		EACH(zeroes_beyond_the_end_of_the_file_are_there_afterwards),
		EACH(a_discard_beyond_the_end_of_the_file_is_out_of_range),
		EACH(the_size_follows_the_file_and_can_be_set),
		EACH(a_tail_that_is_no_block_is_cut_off_with_a_notice),
		EACH(io_inside_both_sizes_goes_on_during_a_resize),
		EACH(a_full_disk_is_enospc),
		TEST(a_read_only_file_can_be_read_and_not_resized, "pool"),
		TEST(what_is_no_disk_is_refused_with_a_sentence, "any"),
		TEST(an_empty_file_is_no_namespace, "any"),
		TEST(a_path_may_have_commas, "pool"),
		{ "a_second_writer_is_told", a_second_writer_is_told, setup, teardown, ways[0] },
		TEST(a_write_beyond_the_file_size_limit_is_efbig, "pool"),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
