/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/inet/inet_resolve.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/util.h"

struct inet_resolve {
	struct loop_fd lf;
	int efd;
	inet_resolve_cb *cb;
	void *arg;
	struct addrinfo hints, *list;
	int ret; /* of getaddrinfo() */
	int sys; /* errno, for EAI_SYSTEM */
	char *name, *svc;

	/* Between the loop's thread and the one that asks: whoever comes second frees. */
	pthread_mutex_t lock;
	bool answered, abandoned;
};

static void resolve_free(struct inet_resolve *r)
{
	if (r->efd >= 0)
		close(r->efd);
	pthread_mutex_destroy(&r->lock);
	free(r->name);
	free(r->svc);
	free(r);
}

/* A thread of its own: a silent name server holds up nobody.  (getaddrinfo_a() would do, but its threads are unknown to the thread
 * sanitizer.) */
static void *resolve_thread(void *arg)
{
	struct inet_resolve *r = arg;
	uint64_t one = 1;
	bool abandoned;

	r->ret = getaddrinfo(r->name, r->svc, &r->hints, &r->list);
	r->sys = errno;
	pthread_mutex_lock(&r->lock);
	r->answered = true;
	abandoned = r->abandoned;
	if (!abandoned)
		(void)!write(r->efd, &one, sizeof(one)); /* an eventfd at 0 always takes a 1 */
	pthread_mutex_unlock(&r->lock);
	if (abandoned) {
		if (!r->ret)
			freeaddrinfo(r->list);
		resolve_free(r);
	}
	return NULL;
}

static int resolve_error(const struct inet_resolve *r, const char **why)
{
	if (r->ret == EAI_SYSTEM) {
		*why = strerror(r->sys);
		return -r->sys;
	}
	*why = r->ret ? gai_strerror(r->ret) : "";
	return r->ret == EAI_MEMORY ? -ENOMEM : r->ret ? -ENOENT : 0;
}

static bool resolve_answered(struct loop_fd *lf, uint32_t events)
{
	struct inet_resolve *r = container_of(lf, struct inet_resolve, lf);
	struct addrinfo *list;
	const char *why;
	bool answered;
	int err;

	pthread_mutex_lock(&r->lock);
	answered = r->answered;
	pthread_mutex_unlock(&r->lock);
	if (!answered)
		return false;
	loop_fd_del(&r->lf);
	list = r->ret ? NULL : r->list;
	r->list = NULL;
	err = resolve_error(r, &why);
	r->cb(r->arg, err, why, list);
	return true;
}

int inet_resolve_start(struct loop *loop, const char *name, const char *svc, int family, inet_resolve_cb *cb, void *arg,
		       struct inet_resolve **rp)
{
	struct inet_resolve *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return -ENOMEM;
	pthread_mutex_init(&r->lock, NULL);
	r->cb = cb;
	r->arg = arg;
	r->name = strdup(name);
	r->svc = strdup(svc);
	r->efd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	ret = !r->name || !r->svc ? -ENOMEM : r->efd < 0 ? -errno : loop_fd_add(loop, &r->lf, r->efd, EPOLLIN, resolve_answered);
	if (ret) {
		resolve_free(r);
		return ret;
	}
	r->hints.ai_family = family;
	r->hints.ai_socktype = SOCK_STREAM;
	ret = thread_spawn_detached(resolve_thread, r);
	if (ret) {
		loop_fd_del(&r->lf);
		resolve_free(r);
		return ret;
	}
	*rp = r;
	return 0;
}

void inet_resolve_cancel(struct inet_resolve *r)
{
	bool answered;

	if (!r)
		return;
	loop_fd_del(&r->lf);
	pthread_mutex_lock(&r->lock);
	answered = r->answered;
	r->abandoned = true;
	pthread_mutex_unlock(&r->lock);
	if (!answered)
		return; /* its thread still works on it and frees it */
	if (!r->ret && r->list)
		freeaddrinfo(r->list);
	resolve_free(r);
}
