/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/tcp/tcp_resolve.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/util.h"

struct tcp_resolve {
	struct loop_fd lf;
	int efd;
	tcp_resolve_cb *cb;
	void *arg;
	struct gaicb gai;
	struct addrinfo hints;
	char *name, *svc;

	/* Between the loop's thread and libc's: whoever comes second frees. */
	pthread_mutex_t lock;
	bool answered, abandoned;
};

static void resolve_free(struct tcp_resolve *r)
{
	if (r->efd >= 0)
		close(r->efd);
	pthread_mutex_destroy(&r->lock);
	free(r->name);
	free(r->svc);
	free(r);
}

/* libc's thread. */
static void resolve_notify(union sigval val)
{
	struct tcp_resolve *r = val.sival_ptr;
	uint64_t one = 1;
	bool abandoned;

	pthread_mutex_lock(&r->lock);
	r->answered = true;
	abandoned = r->abandoned;
	if (!abandoned)
		(void)!write(r->efd, &one, sizeof(one)); /* an eventfd at 0 always takes a 1 */
	pthread_mutex_unlock(&r->lock);
	if (abandoned) {
		if (r->gai.ar_result)
			freeaddrinfo(r->gai.ar_result);
		resolve_free(r);
	}
}

static bool resolve_answered(struct loop_fd *lf, uint32_t events)
{
	struct tcp_resolve *r = container_of(lf, struct tcp_resolve, lf);
	struct addrinfo *list = r->gai.ar_result;
	int ret = gai_error(&r->gai);

	if (ret == EAI_INPROGRESS)
		return false;
	loop_fd_del(&r->lf);
	r->gai.ar_result = NULL;
	r->cb(r->arg, list ? 0 : (ret ? ret : EAI_NONAME), list);
	return true;
}

int tcp_resolve_start(struct loop *loop, const char *name, const char *svc, int family, tcp_resolve_cb *cb, void *arg,
		      struct tcp_resolve **rp)
{
	struct tcp_resolve *r = calloc(1, sizeof(*r));
	struct sigevent sev = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = resolve_notify };
	struct gaicb *list[1];
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
	r->gai.ar_name = r->name;
	r->gai.ar_service = r->svc;
	r->gai.ar_request = &r->hints;
	sev.sigev_value.sival_ptr = r;
	list[0] = &r->gai;
	ret = getaddrinfo_a(GAI_NOWAIT, list, 1, &sev);
	if (ret) {
		loop_fd_del(&r->lf);
		resolve_free(r);
		return ret == EAI_MEMORY ? -ENOMEM : -EAGAIN;
	}
	*rp = r;
	return 0;
}

void tcp_resolve_cancel(struct tcp_resolve *r)
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
		return; /* libc's thread still works on it and frees it */
	if (r->gai.ar_result)
		freeaddrinfo(r->gai.ar_result);
	resolve_free(r);
}
