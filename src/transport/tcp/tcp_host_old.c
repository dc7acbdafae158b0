/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection that was given up (transport/inet/inet_old.h): our side is shut down, and the ctrl has agreed when it has closed its side,
 * too: then it has read all there was.  What we could not send until we stop waiting is thrown away.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/tcp/tcp_host.h"

struct tcp_old {
	struct inet_old old;
	struct loop_fd lf;
	int fd;
};

/* With a reset: nothing that waits in the socket leaves any more. */
static void close_hard(int fd)
{
	struct linger none = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	close(fd);
}

static void old_close(struct inet_old *o, bool in_vain)
{
	struct tcp_old *old = container_of(o, struct tcp_old, old);

	loop_fd_del(&old->lf);
	if (in_vain)
		close_hard(old->fd);
	else
		close(old->fd);
	free(old);
}

static bool old_event(struct loop_fd *lf, uint32_t events)
{
	struct tcp_old *old = container_of(lf, struct tcp_old, lf);
	char drop[16 * 1024];
	ssize_t n;

	/* Answers that nobody waits for: one piece a turn. */
	n = recv(old->fd, drop, sizeof(drop), 0);
	if (n > 0)
		return true;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	inet_old_settled(&old->old);
	return true;
}

void tcp_host_old_keep(struct tcp_endpoint *ep, int fd)
{
	struct tcp_old *old = calloc(1, sizeof(*old));

	if (!old || loop_fd_add(ep->olds.loop, &old->lf, fd, EPOLLIN, old_event)) {
		free(old);
		close_hard(fd);
		return;
	}
	old->fd = fd;
	inet_old_add(&ep->olds, &old->old, old_close);
	shutdown(fd, SHUT_WR);
}

bool tcp_host_settled(struct host_endpoint *hep)
{
	return inet_olds_settled(&to_tcp_endpoint(hep)->olds);
}
