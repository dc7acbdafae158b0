/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of ours: they get none of the application's signals, which are for its own threads. */
#ifndef NVOF_BASE_THREAD_H
#define NVOF_BASE_THREAD_H

#include <pthread.h>

/* As pthread_create(), but 0 or -errno. */
int thread_spawn(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *arg), void *arg);
/* One that nobody waits for. */
int thread_spawn_detached(void *(*run)(void *arg), void *arg);

#endif
