/* SPDX-License-Identifier: BSD-3-Clause */
/* Nothing: reads give zeroes, writes are dropped.  What it measures is everything but the storage. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/util.h"
#include "target/backend/common.h"

struct null_backend {
	struct backend b;
	uint32_t block_size;
	uint64_t size; /* atomic */
};

/* Zeroes for all, for ever.  Not const: that would put two megabytes of them into the file instead of into .bss. */
#define NULL_AREA_LEN (2u << 20)
#define PAGE_LEN      4096
static uint8_t null_area[NULL_AREA_LEN] __attribute__((aligned(PAGE_LEN)));
static pthread_once_t null_area_once = PTHREAD_ONCE_INIT;

/* A page that was never written is the kernel's one page of zeroes: sending from that costs small reads a sixth of their rate. */
static void null_area_own_pages(void)
{
	volatile uint8_t *p = null_area;
	size_t i;

	for (i = 0; i < NULL_AREA_LEN; i += PAGE_LEN)
		p[i] = 0;
}

static struct null_backend *to_null(struct backend *b)
{
	return container_of(b, struct null_backend, b);
}

static int null_open(const char *arg, uint32_t block_size, bool readonly, struct backend **b, struct error *err)
{
	struct null_backend *nb;
	const char *why;
	uint64_t bytes;
	int ret;

	if (strchr(arg, ','))
		return error_set(err, -EINVAL, "null:%.100s: a null namespace has a size and no options", arg);
	ret = size_parse(arg, &bytes, &why);
	if (ret)
		return error_set(err, -EINVAL, "null:%.100s: %s", arg, why);
	nb = calloc(1, sizeof(*nb));
	if (!nb)
		return error_set(err, -ENOMEM, "null:%.100s: out of memory", arg);
	nb->b.ops = &null_backend_ops;
	nb->block_size = block_size;
	ret = backend_round_size(&nb->b, "null", bytes, block_size, &nb->size, err);
	if (ret) {
		free(nb);
		return ret;
	}
	pthread_once(&null_area_once, null_area_own_pages);
	*b = &nb->b;
	return 0;
}

static void null_close(struct backend *b)
{
	free(to_null(b));
}

static uint64_t null_size(struct backend *b)
{
	return __atomic_load_n(&to_null(b)->size, __ATOMIC_RELAXED);
}

static void null_submit(struct backend *b, struct backend_io *io)
{
	uint32_t i;

	if (io->op == BACKEND_READ)
		for (i = 0; i < io->iovcnt; i++)
			memset(io->iov[i].iov_base, 0, io->iov[i].iov_len);
	io->done(io, 0);
}

static bool null_map(struct backend *b, uint64_t offset, uint64_t len, struct iovec *iov, uint32_t *iovcnt)
{
	uint32_t n;

	if (len > (uint64_t)*iovcnt * NULL_AREA_LEN)
		return false;
	for (n = 0; len; n++) {
		iov[n].iov_base = null_area;
		iov[n].iov_len = min_size(len, NULL_AREA_LEN);
		len -= iov[n].iov_len;
	}
	*iovcnt = n;
	return true;
}

static int null_resize(struct backend *b, uint64_t size, struct error *err)
{
	struct null_backend *nb = to_null(b);
	int ret;

	if (!size)
		return 0;
	ret = backend_round_size(b, "null", size, nb->block_size, &size, err);
	if (!ret)
		__atomic_store_n(&nb->size, size, __ATOMIC_RELAXED);
	return ret;
}

const struct backend_ops null_backend_ops = {
	.name = "null",
	.open = null_open,
	.close = null_close,
	.size = null_size,
	.submit = null_submit,
	.map = null_map,
	.map_is_const = true,
	.resize = null_resize,
};
