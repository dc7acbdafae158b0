/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What raw sockets can do: the limit that the benchmark measures nvof against.  Programs that speak NVMe/TCP-shaped messages (72-byte
 * commands, 24-byte headers with data) over plain sockets and nothing else: no checks of the protocol, no recovery, no queues of the
 * specification.  A ceiling, not an example.
 */
#ifndef NVOF_BENCH_LIMIT_H
#define NVOF_BENCH_LIMIT_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_US 1000ull
#define NS_PER_S  1000000000ull

#define DIE(...)                                           \
	do {                                               \
		int err_ = errno;                          \
		fprintf(stderr, __VA_ARGS__);              \
		fprintf(stderr, ": %s\n", strerror(err_)); \
		exit(EXIT_FAILURE);                        \
	} while (0)

struct pdu_hdr {
	uint8_t type, flags, hlen, pdo;
	uint32_t plen;
};
/* Both ends run on one machine: no byte order here. */
struct capsule {
	struct pdu_hdr h;
	uint8_t opcode, flags;
	uint16_t cid;
	uint32_t nsid;
	uint64_t rsvd, mptr, addr;
	uint32_t len, key;
	uint64_t offset;
	uint32_t cdw[4];
};
struct answer {
	struct pdu_hdr h;
	uint16_t cid, ttag;
	uint32_t offset, len, digest; /* digest: CRC32C of the data, where it was asked for */
};
_Static_assert(sizeof(struct capsule) == 72, "a command capsule");
_Static_assert(sizeof(struct answer) == 24, "C2HData or a response");

enum { PDU_CMD = 4, PDU_RSP = 5, PDU_C2H_DATA = 7 };
enum { OP_WRITE = 1, OP_READ = 2 };

/* The data area of the server, MiB: 256 are cold in the cache; 2 stay hot, as the zeroes of a null backend do. */
#define AREA_MIB_DEFAULT 256

static inline uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* sock.c: all of them end the program when they can't. */
void pin(int cpu); /* -1: anywhere */
int tcp_connect(int port, const char *congestion);
int tcp_connect_begin(int port);
int tcp_listen(int port, const char *congestion);
void set_nodelay(int fd);
void set_nonblock(int fd);
void *huge_area(size_t len);

#endif
