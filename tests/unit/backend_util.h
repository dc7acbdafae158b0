/* SPDX-License-Identifier: BSD-3-Clause */
/* Backends in tests: one io at a time, waited for; every call that fails fails the test with its sentence. */
#ifndef NVOF_TESTS_BACKEND_UTIL_H
#define NVOF_TESTS_BACKEND_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/loop.h"
#include "base/util.h"
#include "target/backend.h"

struct test_io {
	struct backend_io io;
	int nr_done, status;
};

static inline void test_io_done(struct backend_io *io, int status)
{
	struct test_io *t = container_of(io, struct test_io, io);

	t->nr_done++;
	t->status = status;
}

static inline void test_io_start(struct loop *loop, struct backend *b, struct test_io *t)
{
	t->io.loop = loop;
	t->io.done = test_io_done;
	t->nr_done = 0;
	b->ops->submit(b, &t->io);
}

static inline int test_io_wait(struct loop *loop, struct test_io *t)
{
	uint64_t limit = clock_ns() + 20 * NSEC_PER_SEC;

	while (!t->nr_done) {
		if (clock_ns() > limit)
			fail_msg("an io did not complete");
		loop_turn(loop, 100 * (int64_t)NSEC_PER_MSEC);
	}
	assert_int_equal(t->nr_done, 1);
	return t->status;
}

static inline int test_iov(struct loop *loop, struct backend *b, enum backend_op op, uint64_t offset, const struct iovec *iov,
			   uint32_t iovcnt, bool fua)
{
	struct test_io t = { .io = { .op = op, .offset = offset, .iov = iov, .iovcnt = iovcnt, .fua = fua } };
	uint32_t i;

	for (i = 0; i < iovcnt; i++)
		t.io.len += iov[i].iov_len;
	test_io_start(loop, b, &t);
	return test_io_wait(loop, &t);
}

static inline int test_rw(struct loop *loop, struct backend *b, enum backend_op op, uint64_t offset, void *buf, size_t len)
{
	struct iovec iov = { buf, len };

	return test_iov(loop, b, op, offset, &iov, 1, false);
}

static inline int test_range(struct loop *loop, struct backend *b, enum backend_op op, uint64_t offset, uint64_t len, bool dealloc)
{
	struct test_io t = { .io = { .op = op, .offset = offset, .len = len, .dealloc = dealloc } };

	test_io_start(loop, b, &t);
	return test_io_wait(loop, &t);
}

static inline struct backend *test_backend(const char *spec, uint32_t block_size)
{
	struct error err = { 0 };
	struct backend *b;

	if (backend_open(spec, block_size, false, &b, &err))
		fail_msg("%s", error_msg(&err));
	return b;
}

static inline void test_refused(const char *spec, uint32_t block_size, int code, const char *says)
{
	struct error err = { 0 };
	struct backend *b = NULL;

	if (backend_open(spec, block_size, false, &b, &err) != code)
		fail_msg("%s: got %d \"%s\", wanted %d", spec, err.code, error_msg(&err), code);
	if (!strstr(error_msg(&err), says))
		fail_msg("%s: got \"%s\", wanted \"%s\"", spec, error_msg(&err), says);
	assert_null(b);
	error_clear(&err);
}

static inline void test_resize(struct backend *b, uint64_t size)
{
	struct error err = { 0 };

	if (b->ops->resize(b, size, &err))
		fail_msg("%s", error_msg(&err));
}

/* No byte of it is zero.  Eight at a time: the thread sanitizer makes each access dear. */
static inline void test_fill(uint8_t *buf, size_t len, unsigned int seed)
{
	uint64_t v = seed;
	size_t i;

	for (i = 0; i < len; i += sizeof(v)) {
		uint64_t odd;

		v = v * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		odd = v | UINT64_C(0x0101010101010101);
		memcpy(buf + i, &odd, min_size(sizeof(odd), len - i));
	}
}

static inline bool test_is_zero(const uint8_t *buf, size_t len)
{
	return !len || (!buf[0] && !memcmp(buf, buf + 1, len - 1));
}

#endif
