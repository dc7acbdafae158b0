/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Room for descriptors.  The kernel's table of a process grows by doubling, and while several threads share it each doubling waits for an
 * RCU grace period: some 10 ms, in the middle of an accept.  A program that will have many descriptors makes the room before it has
 * threads.
 */
#ifndef NVOF_BASE_FD_TABLE_H
#define NVOF_BASE_FD_TABLE_H

/* For nr descriptors, or as many as the limit allows.  It is only a matter of speed: whether it worked is not told. */
void fd_table_reserve(unsigned int nr);

#endif
