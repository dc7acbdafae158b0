/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients of the control socket: lines in, lines out, one request at a time. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/control_internal.h"

#define CLIENTS_MAX 64
#define IDLE_NS	    (60 * NSEC_PER_SEC) /* a client that says nothing for so long is closed */
#define SEND_S	    5			/* one that does not read its answer for so long as well */

struct client {
	int fd;
	size_t used;
	uint64_t heard_ns;
	char *line; /* CONTROL_LINE_MAX bytes */
};

struct server {
	struct nvof_target *target;
	const char *config_path;
	int listenfd, stopfd;
	struct client clients[CLIENTS_MAX];
	unsigned int nr;
};

/* The socket's mode keeps others out; root may open it all the same, and that is fine. */
static bool is_friend(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) && (cred.uid == geteuid() || !cred.uid);
}

static void accept_client(struct server *s)
{
	struct timeval limit = { .tv_sec = SEND_S };
	struct client *c = &s->clients[s->nr];
	int fd = accept4(s->listenfd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	*c = (struct client){ .fd = fd, .heard_ns = clock_ns(), .line = malloc(CONTROL_LINE_MAX) };
	if (!c->line || !is_friend(fd)) {
		free(c->line);
		close(fd);
		return;
	}
	s->nr++;
}

static void drop_client(struct server *s, unsigned int i)
{
	close(s->clients[i].fd);
	free(s->clients[i].line);
	s->clients[i] = s->clients[--s->nr];
}

static bool send_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		text += n;
		len -= (size_t)n;
	}
	return true;
}

static bool answer(const struct server *s, const struct client *c, size_t len)
{
	char *text = control_run(s->target, s->config_path, c->line, len);
	bool sent = text && send_all(c->fd, text, strlen(text));

	free(text);
	return sent;
}

/* False: the client is to go. */
static bool hear_client(const struct server *s, struct client *c)
{
	static const char too_long[] = "{\"ok\":false,\"code\":-90,\"error\":\"the request is longer than 64 KiB\"}\n"; /* EMSGSIZE */
	ssize_t n = recv(c->fd, c->line + c->used, CONTROL_LINE_MAX - c->used, MSG_DONTWAIT);
	char *end;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (!n)
		return false;
	c->used += (size_t)n;
	c->heard_ns = clock_ns();
	while ((end = memchr(c->line, '\n', c->used))) {
		size_t len = (size_t)(end - c->line);

		if (!answer(s, c, len))
			return false;
		c->used -= len + 1;
		memmove(c->line, end + 1, c->used);
	}
	if (c->used < CONTROL_LINE_MAX)
		return true;
	send_all(c->fd, too_long, sizeof(too_long) - 1);
	return false;
}

static void hear_all(struct server *s, const struct pollfd *fds)
{
	uint64_t now = clock_ns();
	unsigned int i;

	/* Backwards: drop_client() puts the last one, which was looked at already, in the place of one that goes. */
	for (i = s->nr; i--;) {
		struct client *c = &s->clients[i];

		if (fds[i].revents ? !hear_client(s, c) : now - c->heard_ns > IDLE_NS)
			drop_client(s, i);
	}
}

static bool serve_once(struct server *s)
{
	struct pollfd fds[CLIENTS_MAX + 2];
	unsigned int i, nr = s->nr;

	for (i = 0; i < nr; i++)
		fds[i] = (struct pollfd){ .fd = s->clients[i].fd, .events = POLLIN };
	fds[nr] = (struct pollfd){ .fd = s->stopfd, .events = POLLIN };
	/* While all places are taken newcomers wait in the backlog. */
	fds[nr + 1] = (struct pollfd){ .fd = nr < CLIENTS_MAX ? s->listenfd : -1, .events = POLLIN };
	if (poll(fds, nr + 2, nr ? 1000 : -1) < 0)
		return errno == EINTR;
	hear_all(s, fds);
	if (fds[nr].revents)
		return false;
	if (fds[nr + 1].revents && s->nr < CLIENTS_MAX)
		accept_client(s);
	return true;
}

void control_serve(struct nvof_target *target, const char *config_path, int listenfd, int stopfd)
{
	struct server s = { .target = target, .config_path = config_path, .listenfd = listenfd, .stopfd = stopfd };

	while (serve_once(&s))
		;
	while (s.nr)
		drop_client(&s, s.nr - 1);
}
