/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/thread.h"

#include <signal.h>

int thread_spawn(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *arg), void *arg)
{
	sigset_t all, old;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* a thread begins with its maker's */
	ret = pthread_create(thread, attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -ret;
}

int thread_spawn_detached(void *(*run)(void *arg), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;
	int ret;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	ret = thread_spawn(&thread, &attr, run, arg);
	pthread_attr_destroy(&attr);
	return ret;
}
