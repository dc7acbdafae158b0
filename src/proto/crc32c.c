/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/crc32c.h"

#include <isa-l/crc.h>
#include <stdbool.h>
#include <string.h>

#include "base/util.h"

#define CRC_CHUNK  4096	 /* copied and summed while it is in the L1 cache */
#define CRC_AHEAD  8192	 /* what is fetched while a chunk is summed */
#define CRC_MAX	   65536 /* what isa-l gets at once where nothing is fetched */
#define CACHE_LINE 64

#if defined(__x86_64__)
__attribute__((target("avx"))) static void zero_upper(void)
{
	__builtin_ia32_vzeroupper();
}
#endif

/* isa-l's AVX-512 code (2.30) leaves the upper halves of the vector registers in use, and all SSE code after it is several times slower. */
static void isal_done(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx"))
		zero_upper();
#endif
}

/*
 * What was just received lies in the outer caches as a rule, and Intel's CPUs sum 128 KiB of it in little more than half the time when it
 * is fetched ahead.  AMD's (Zen 5) fetch as well by themselves: there the small chunks and their prefetches only cost, a sixth in a near
 * cache.
 */
static bool fetch_pays(void)
{
#if defined(__x86_64__)
	return !__builtin_cpu_is("amd");
#else
	return true;
#endif
}

static void fetch(const unsigned char *p)
{
	size_t i;

	for (i = 0; i < CRC_CHUNK; i += CACHE_LINE)
		__builtin_prefetch(p + i);
}

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
	/* isa-l does not write to the buffer; its prototype lacks the const. */
	unsigned char *p = (unsigned char *)(uintptr_t)data;
	bool ahead = len >= CRC_AHEAD + CRC_CHUNK && fetch_pays();

	while (len) {
		size_t n = min_size(len, ahead ? CRC_CHUNK : CRC_MAX);

		if (ahead && len >= CRC_AHEAD + CRC_CHUNK)
			fetch(p + CRC_AHEAD);
		crc = ~crc32_iscsi(p, (int)n, ~crc);
		p += n;
		len -= n;
	}
	isal_done();
	return crc;
}

uint32_t crc32c_copy(uint32_t crc, void *restrict dst, const void *restrict src, size_t len)
{
	const unsigned char *from = src;
	unsigned char *to = dst;

	while (len) {
		size_t n = min_size(len, CRC_CHUNK);

		/* A compiler that knows how small n is copies by rep movs, at a third of the speed of libc's memcpy(). */
		__asm__("" : "+r"(n));
		memcpy(to, from, n);
		crc = ~crc32_iscsi(to, (int)n, ~crc);
		isal_done();
		to += n;
		from += n;
		len -= n;
	}
	return crc;
}
