/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that costs only what was written (with huge=on in pieces of 2 MiB): an anonymous mapping without reservation.
 *
 * Growing never moves what is mapped already (hosts may be sent data from it): it adds a segment, at least as large as all before it, so a
 * handful of segments is the most there can ever be.  Shrinking gives the pages back and keeps the address space for the next growth.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "base/size.h"
#include "base/util.h"
#include "target/backend/common.h"

#define MEM_SEGMENTS	  48
#define MEM_HUGE_LEN	  (2u << 20) /* a huge page, where pages are 4 KiB */
/* From here on giving pages back and faulting zeroes in again is cheaper than writing zeroes. */
#define MEM_ZERO_BY_PAGES (1u << 20)

struct mem_segment {
	uint64_t start, end; /* offsets in the backend */
	uint8_t *mem;
};

struct mem_backend {
	struct backend b;
	uint32_t block_size;
	bool huge;
	size_t page_size;
	uint64_t size;	  /* atomic */
	uint32_t nr_segs; /* atomic: grows only; segs[] below it never change */
	struct mem_segment segs[MEM_SEGMENTS];
};

static struct mem_backend *to_mem(struct backend *b)
{
	return container_of(b, struct mem_backend, b);
}

/* Backed address space, in whole pages. */
static uint64_t mem_capacity(const struct mem_backend *mb)
{
	return mb->nr_segs ? mb->segs[mb->nr_segs - 1].end : 0;
}

/* Address space for len bytes, a multiple of the page size.  Huge pages only begin at multiples of their length. */
static uint8_t *mem_reserve(const struct mem_backend *mb, size_t len)
{
	size_t spare = mb->huge ? MEM_HUGE_LEN : 0, head = 0;
	uint8_t *mem = mmap(NULL, len + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (mem == MAP_FAILED)
		return NULL;
	if (spare) {
		head = -(uintptr_t)mem % MEM_HUGE_LEN;
		if (head)
			munmap(mem, head);
		munmap(mem + head + len, spare - head);
		/* Where there are none, small ones do. */
		madvise(mem + head, len, MADV_HUGEPAGE);
	}
	/* A core dump of a target shall not carry its disks. */
	madvise(mem + head, len, MADV_DONTDUMP);
	return mem + head;
}

static bool mem_add_segment(struct mem_backend *mb, uint64_t len)
{
	struct mem_segment *seg = &mb->segs[mb->nr_segs];
	uint8_t *mem;

	if (mb->nr_segs == MEM_SEGMENTS || len > SIZE_MAX - mb->page_size - MEM_HUGE_LEN)
		return false;
	len = (len + mb->page_size - 1) & ~(uint64_t)(mb->page_size - 1);
	if (mem_capacity(mb) > UINT64_MAX - len)
		return false;
	mem = mem_reserve(mb, len);
	if (!mem)
		return false;
	seg->mem = mem;
	seg->start = mem_capacity(mb);
	seg->end = seg->start + len;
	__atomic_store_n(&mb->nr_segs, mb->nr_segs + 1, __ATOMIC_RELEASE);
	return true;
}

static void mem_close(struct backend *b)
{
	struct mem_backend *mb = to_mem(b);
	uint32_t i;

	for (i = 0; i < mb->nr_segs; i++)
		munmap(mb->segs[i].mem, mb->segs[i].end - mb->segs[i].start);
	free(mb);
}

/* No other memory is this one. */
static void contents_of_this_start(char contents[37])
{
	uuid_t id;

	uuid_generate(id);
	uuid_unparse_lower(id, contents);
}

/* SIZE[,huge=on|off] */
static int parse_arg(const char *arg, uint64_t *bytes, bool *huge, struct error *err)
{
	const char *comma = strchr(arg, ','), *why;
	size_t len = comma ? (size_t)(comma - arg) : strlen(arg);
	char size[64];
	int ret;

	if (comma && strcmp(comma, ",huge=on") && strcmp(comma, ",huge=off"))
		return error_set(err, -EINVAL, "mem:%.100s: \"%.50s\" is not huge=on or huge=off", arg, comma + 1);
	if (len >= sizeof(size))
		return error_set(err, -EINVAL, "mem:%.100s: the size is too long a number", arg);
	*huge = comma && !strcmp(comma, ",huge=on");
	memcpy(size, arg, len);
	size[len] = '\0';
	ret = size_parse(size, bytes, &why);
	return ret ? error_set(err, -EINVAL, "mem:%.100s: %s", arg, why) : 0;
}

static int mem_open(const char *arg, uint32_t block_size, bool readonly, struct backend **b, struct error *err)
{
	struct mem_backend *mb;
	uint64_t bytes;
	bool huge = false;
	int ret;

	ret = parse_arg(arg, &bytes, &huge, err);
	if (ret)
		return ret;
	mb = calloc(1, sizeof(*mb));
	if (!mb)
		return error_set(err, -ENOMEM, "mem:%.100s: out of memory", arg);
	mb->b.ops = &mem_backend_ops;
	contents_of_this_start(mb->b.contents);
	mb->block_size = block_size;
	mb->huge = huge;
	mb->page_size = (size_t)sysconf(_SC_PAGESIZE);
	ret = backend_round_size(&mb->b, "mem", bytes, block_size, &mb->size, err);
	if (!ret && !mem_add_segment(mb, mb->size))
		ret = error_set(err, -ENOMEM, "mem:%.100s: can't map that much: %s", arg, strerror(ENOMEM));
	if (ret) {
		mem_close(&mb->b);
		return ret;
	}
	*b = &mb->b;
	return 0;
}

static uint64_t mem_size(struct backend *b)
{
	return __atomic_load_n(&to_mem(b)->size, __ATOMIC_RELAXED);
}

/* The memory of offset, and how many bytes of len lie in one piece there; NULL beyond what is mapped. */
static uint8_t *mem_at(struct mem_backend *mb, uint64_t offset, uint64_t len, uint64_t *piece)
{
	uint32_t i, n = __atomic_load_n(&mb->nr_segs, __ATOMIC_ACQUIRE);

	for (i = 0; i < n; i++) {
		const struct mem_segment *seg = &mb->segs[i];

		if (offset >= seg->end)
			continue;
		*piece = min_u64(len, seg->end - offset);
		return seg->mem + (offset - seg->start);
	}
	return NULL;
}

static int mem_copy(struct mem_backend *mb, struct backend_io *io)
{
	uint64_t offset = io->offset, piece;
	uint32_t i;

	for (i = 0; i < io->iovcnt; i++) {
		uint8_t *buf = io->iov[i].iov_base;
		uint64_t left = io->iov[i].iov_len;

		for (; left; left -= piece, buf += piece, offset += piece) {
			uint8_t *mem = mem_at(mb, offset, left, &piece);

			if (!mem)
				return -EFAULT;
			if (io->op == BACKEND_READ)
				memcpy(buf, mem, piece);
			else
				memcpy(mem, buf, piece);
		}
	}
	return 0;
}

/* Zeroes mem[0..len); whole pages are given back when asked to, or when there are many. */
static void mem_clear(const struct mem_backend *mb, uint8_t *mem, uint64_t len, bool dealloc)
{
	uintptr_t mask = mb->page_size - 1;
	uint8_t *first = (uint8_t *)(((uintptr_t)mem + mask) & ~mask);
	uint8_t *last = (uint8_t *)(((uintptr_t)mem + len) & ~mask);

	if ((!dealloc && len < MEM_ZERO_BY_PAGES) || first >= last || madvise(first, (size_t)(last - first), MADV_DONTNEED)) {
		memset(mem, 0, len);
		return;
	}
	memset(mem, 0, (size_t)(first - mem));
	memset(last, 0, (size_t)(mem + len - last));
}

static int mem_clear_range(struct mem_backend *mb, uint64_t offset, uint64_t len, bool dealloc)
{
	uint64_t piece;

	for (; len; len -= piece, offset += piece) {
		uint8_t *mem = mem_at(mb, offset, len, &piece);

		if (!mem)
			return -EFAULT;
		mem_clear(mb, mem, piece, dealloc);
	}
	return 0;
}

static void mem_submit(struct backend *b, struct backend_io *io)
{
	struct mem_backend *mb = to_mem(b);
	int ret = 0;

	switch (io->op) {
	case BACKEND_READ:
	case BACKEND_WRITE:
		ret = mem_copy(mb, io);
		break;
	case BACKEND_FLUSH:
		break;
	case BACKEND_DISCARD:
		ret = mem_clear_range(mb, io->offset, io->len, true);
		break;
	case BACKEND_ZERO:
		ret = mem_clear_range(mb, io->offset, io->len, io->dealloc);
		break;
	}
	io->done(io, ret);
}

static bool mem_map(struct backend *b, uint64_t offset, uint64_t len, struct iovec *iov, uint32_t *iovcnt)
{
	struct mem_backend *mb = to_mem(b);
	uint64_t piece;
	uint32_t n;

	for (n = 0; len; n++, len -= piece, offset += piece) {
		uint8_t *mem = mem_at(mb, offset, len, &piece);

		if (!mem || n == *iovcnt)
			return false;
		iov[n].iov_base = mem;
		iov[n].iov_len = piece;
	}
	*iovcnt = n;
	return true;
}

static int mem_resize(struct backend *b, uint64_t size, struct error *err)
{
	struct mem_backend *mb = to_mem(b);
	uint64_t cap = mem_capacity(mb), more, bytes = size;
	int ret;

	if (!size)
		return 0;
	ret = backend_round_size(b, "mem", bytes, mb->block_size, &size, err);
	if (ret)
		return ret;
	if (size > cap) {
		more = size - cap;
		if (!(cap > more && mem_add_segment(mb, cap)) && !mem_add_segment(mb, more))
			return error_set(err, -ENOMEM, "mem: can't map %" PRIu64 " more bytes: %s", more, strerror(ENOMEM));
	}
	/* Gives the pages back, and makes sure that a growth shows zeroes whatever was in flight when it shrank. */
	if (size < mb->size)
		mem_clear_range(mb, size, mb->size - size, true);
	else if (mb->size < min_u64(size, cap))
		mem_clear_range(mb, mb->size, min_u64(size, cap) - mb->size, true);
	__atomic_store_n(&mb->size, size, __ATOMIC_RELAXED);
	return 0;
}

const struct backend_ops mem_backend_ops = {
	.name = "mem",
	.open = mem_open,
	.close = mem_close,
	.size = mem_size,
	.submit = mem_submit,
	.map = mem_map,
	.map_is_writable = true,
	.resize = mem_resize,
};
