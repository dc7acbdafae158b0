/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections that were given up with commands under way which will be sent again.
 *
 * Such a command may still be on its way to the ctrl, or be carried out there.  Done late, after its repetition and after what the
 * application wrote next, it would bring old data back.  So our side is shut down, and the connection counts as settled only when the
 * peer has closed it, too: then it has read all there was.  A peer that does not is waited for as long as it may take to notice
 * (settle_ms); what we could not send by then is thrown away.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/tcp/tcp_host.h"

struct tcp_old {
	struct tcp_endpoint *ep;
	struct cds_list_head link; /* ep->old */
	struct loop_fd lf;
	struct timer timeout;
	int fd;
};

static void old_end(struct tcp_old *old)
{
	cds_list_del(&old->link);
	loop_fd_del(&old->lf);
	timer_cancel(old->ep->loop, &old->timeout);
	close(old->fd);
	free(old);
}

/* Closes with a reset: nothing that waits in the socket leaves any more. */
static void old_abort(int fd)
{
	struct linger none = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
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
	old_end(old);
	return true;
}

static void old_timeout(struct timer *t)
{
	struct tcp_old *old = container_of(t, struct tcp_old, timeout);

	log_warn(old->ep->p.log, "tcp: the ctrl did not close a connection that was given up within %u ms", old->ep->p.settle_ms);
	old_abort(old->fd);
	old_end(old);
}

void tcp_host_old_keep(struct tcp_endpoint *ep, int fd)
{
	struct tcp_old *old = calloc(1, sizeof(*old));

	if (!old || loop_fd_add(ep->loop, &old->lf, fd, EPOLLIN, old_event)) {
		free(old);
		old_abort(fd);
		close(fd);
		return;
	}
	old->ep = ep;
	old->fd = fd;
	cds_list_add_tail(&old->link, &ep->old);
	timer_init(&old->timeout, old_timeout);
	timer_set(ep->loop, &old->timeout, clock_ns() + ep->p.settle_ms * NSEC_PER_MSEC);
	shutdown(fd, SHUT_WR);
}

bool tcp_host_settled(struct host_endpoint *hep)
{
	return cds_list_empty(&to_tcp_endpoint(hep)->old);
}

void tcp_host_old_free(struct tcp_endpoint *ep)
{
	while (!cds_list_empty(&ep->old))
		old_end(cds_list_first_entry(&ep->old, struct tcp_old, link));
}
