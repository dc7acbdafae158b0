/* SPDX-License-Identifier: BSD-3-Clause */
/* Accepts connections on one loop and hands each to the loop it shall live on. */
#include "transport/tcp/tcp_target_listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "transport/inet/inet_addr.h"
#include "transport/tcp/tcp_target.h"

#define BACKLOG		 4096 /* hundreds of hosts come back at once after a restart; the system caps it */
#define ACCEPTS_PER_TURN 64
#define RETRY_NS	 (100 * NSEC_PER_MSEC)
#define TELL_EVERY_NS	 (10 * NSEC_PER_SEC)

struct target_listener {
	struct target_port *port;
	struct loop *loop;
	struct loop_fd lf;
	struct timer retry; /* armed while there are no descriptors left for accept */
	struct log_limit told;
	char addr[128];
	int fd;
};

static void hand_over(struct loop_work *w)
{
	struct tt_conn *c = container_of(w, struct tt_conn, hand_over);

	conn_start(c, c->q.port, c->q.loop);
}

/* Which limit it is that keeps us from taking a connection. */
static void tell_why(struct target_listener *l, int err)
{
	struct rlimit limit = { 0 };
	char what[96] = "";

	if (err == EMFILE && !getrlimit(RLIMIT_NOFILE, &limit))
		snprintf(what, sizeof(what), " (the limit is %llu: ulimit -n)", (unsigned long long)limit.rlim_cur);
	else if (err == ENFILE)
		snprintf(what, sizeof(what), " (the system's limit: sysctl fs.file-max)");
	log_limited(target_port_log(l->port), LOG_WARN, &l->told, loop_now(l->loop), "listen on %s: accept: %s%s: hosts have to wait",
		    l->addr, strerror(err), what);
}

static void place(struct target_listener *l, int fd, const struct sockaddr_storage *peer, socklen_t peer_len)
{
	struct tt_conn *c = conn_new(fd, target_port_params(l->port), (const struct sockaddr *)peer, peer_len);

	if (!c) {
		tell_why(l, ENOMEM);
		close(fd);
		return;
	}
	c->q.port = l->port;
	c->q.loop = target_place(target_port_target(l->port));
	if (!c->q.loop) { /* the target is going down */
		conn_free(c);
		return;
	}
	loop_work_init(&c->hand_over, hand_over);
	loop_post(c->q.loop, &c->hand_over);
}

/* Out of descriptors or memory: the connection stays in the backlog, and asking at once again would only burn the CPU. */
static void pause_accepting(struct target_listener *l, int err)
{
	tell_why(l, err);
	loop_fd_mod(&l->lf, 0);
	timer_set(l->loop, &l->retry, loop_now(l->loop) + RETRY_NS);
}

static void resume_accepting(struct timer *t)
{
	struct target_listener *l = container_of(t, struct target_listener, retry);

	loop_fd_mod(&l->lf, EPOLLIN);
}

static bool accept_some(struct loop_fd *lf, uint32_t events)
{
	struct target_listener *l = container_of(lf, struct target_listener, lf);
	int i;

	for (i = 0; i < ACCEPTS_PER_TURN; i++) {
		struct sockaddr_storage peer;
		socklen_t len = sizeof(peer);
		int fd = accept4(l->fd, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			place(l, fd, &peer, len);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			pause_accepting(l, errno);
		else if (errno != EAGAIN)
			continue; /* that connection failed before it was accepted: the next may be fine */
		break;
	}
	return i > 0;
}

/* Connections take over what is set here. */
static int listen_socket(const struct sockaddr_storage *ss, socklen_t len, uint64_t pace, struct error *err)
{
	int fd = socket(ss->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1, ret;
	const char *doing = "socket";
	char text[128];

	if (fd < 0)
		goto failed;
	doing = "set socket options";
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		goto failed;
	if (pace && setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &pace, sizeof(pace)))
		goto failed;
	if (ss->ss_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)))
		goto failed;
	doing = "bind";
	if (bind(fd, (const struct sockaddr *)ss, len))
		goto failed;
	doing = "listen";
	if (listen(fd, BACKLOG))
		goto failed;
	return fd;

failed:
	ret = -errno;
	inet_addr_text((const struct sockaddr *)ss, len, text, sizeof(text));
	if (fd >= 0)
		close(fd);
	return error_set(err, ret, "listen on %s: %s: %s", text, doing, strerror(-ret));
}

int tcp_target_listen(struct target_port *port, struct loop *loop, const char *addr, const char *svc, struct target_listener **lp,
		      struct error *err)
{
	struct sockaddr_storage ss;
	struct target_listener *l;
	socklen_t len;
	int ret;

	ret = inet_addr_listen(addr, svc, &ss, &len, err);
	if (ret)
		return ret;
	l = calloc(1, sizeof(*l));
	if (!l)
		return error_set(err, -ENOMEM, "listen on %s: no memory", addr);
	l->fd = listen_socket(&ss, len, target_port_params(port)->pace, err);
	if (l->fd < 0) {
		ret = l->fd;
		goto out_free;
	}
	l->port = port;
	l->loop = loop;
	l->told = (struct log_limit){ .burst = 1, .window_ns = TELL_EVERY_NS };
	tcp_sock_local(l->fd, l->addr, sizeof(l->addr));
	timer_init(&l->retry, resume_accepting);
	ret = loop_fd_add(loop, &l->lf, l->fd, EPOLLIN, accept_some);
	if (ret) {
		error_set(err, ret, "listen on %s: watch the socket: %s", addr, strerror(-ret));
		goto out_close;
	}
	*lp = l;
	return 0;

out_close:
	close(l->fd);
out_free:
	free(l);
	return ret;
}

void tcp_target_listener_addr(const struct target_listener *l, char *addr, size_t addr_len, char *svc, size_t svc_len, uint8_t *adrfam)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof(ss);

	getsockname(l->fd, (struct sockaddr *)&ss, &len); /* all zeroes are told as unknown */
	inet_addr_split(&ss, addr, addr_len, svc, svc_len, adrfam);
}

void tcp_target_unlisten(struct target_listener *l)
{
	loop_fd_del(&l->lf);
	timer_cancel(l->loop, &l->retry);
	close(l->fd);
	free(l);
}
