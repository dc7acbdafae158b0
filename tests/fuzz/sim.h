/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A world for fuzzers of whole state machines: one thread, a clock that goes on when it is told to, no network.
 *
 * The linker turns the system calls that would bring in threads, time or TCP into those of sim.c (--wrap; the list is in meson.build).
 * A target's I/O threads are never started: whoever would wait for them makes their loops' turns himself.  A TCP connection is a pair of
 * local sockets.  So a run depends on nothing but its input, and nothing in it sleeps.
 */
#ifndef NVOF_TESTS_FUZZ_SIM_H
#define NVOF_TESTS_FUZZ_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nvof/target.h>

/* Fails the run: the input is kept. */
#define SIM_CHECK(cond, ...)                          \
	do {                                          \
		if (!(cond))                          \
			sim_fail(#cond, __VA_ARGS__); \
	} while (0)
void sim_fail(const char *cond, const char *fmt, ...) __attribute__((noreturn, format(printf, 2, 3)));

void sim_begin(void);
void sim_end(void); /* checks that no descriptor is left open */

void sim_advance(uint64_t ns);
uint64_t sim_now(void);
/* One turn of each loop of the targets.  Returns how much was done. */
int sim_turn(void);
/* Turns until nothing is left to do now. */
void sim_settle(void);

/* A connection to the target's first port, whose other end is the caller's; sndbuf 0: the system's.  -1: the target takes none. */
int sim_open(struct nvof_target *t, int sndbuf);
/* The next connection that a host of this process made: the far end, the caller's now.  -1: none. */
int sim_accept(void);

/* ---- the input ---- */

struct sim_input {
	const uint8_t *p;
	size_t len;
};

/* The next byte; 0 behind the end. */
uint8_t sim_u8(struct sim_input *in);
uint16_t sim_u16(struct sim_input *in);
uint32_t sim_u32(struct sim_input *in);
/* At most len bytes; *got of them are there. */
const uint8_t *sim_bytes(struct sim_input *in, size_t len, size_t *got);

#endif
