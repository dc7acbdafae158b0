/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The limit of setting up queues: -n connections x (TCP connect + 128 bytes there and back + 1096 there, 24 back), where the server
 * answers each exchange after -d microseconds; one by one (-m serial) or all by one loop (-m loop).  Prints the milliseconds as JSON.
 */
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "limit.h"

#define CONNS_MAX  1024
#define EVENTS_MAX 256
#define NR_STEPS   2

/* The exchanges of a connection: ICReq and ICResp, then Connect and its response. */
static const struct step {
	size_t ask, answer;
} steps[NR_STEPS] = { { 128, 128 }, { 1096, 24 } };

struct peer {
	int fd;
	unsigned int step;
	size_t got;
};

static void watch(int epoll_fd, int op, int fd, uint32_t events, void *ptr)
{
	struct epoll_event ev = { .events = events, .data.ptr = ptr };

	if (epoll_ctl(epoll_fd, op, fd, &ev))
		DIE("epoll_ctl");
}

static void send_all(int fd, size_t len)
{
	static const uint8_t zeroes[1096];

	if (send(fd, zeroes, len, MSG_NOSIGNAL) != (ssize_t)len)
		DIE("send");
}

/* Return: whether `want` bytes have come in all. */
static bool receive(struct peer *p, size_t want)
{
	uint8_t buf[1096];
	ssize_t n = recv(p->fd, buf, want - p->got, MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0)
		DIE("recv");
	p->got += (size_t)n;
	if (p->got < want)
		return false;
	p->got = 0;
	return true;
}

/* ---------------------------------------------------------------------------------------------------------------- server */

/* Every answer waits equally long, so they come due in the order of the questions. */
struct due {
	uint64_t at;
	struct peer *peer;
};

struct server {
	int listen_fd, epoll_fd;
	uint64_t delay_ns;
	struct peer peers[CONNS_MAX];
	unsigned int nr_peers;
	struct due due[NR_STEPS * CONNS_MAX];
	unsigned int head, tail;
};

static void accept_all(struct server *s)
{
	int fd;

	while ((fd = accept4(s->listen_fd, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
		struct peer *p = &s->peers[s->nr_peers++];

		set_nodelay(fd);
		p->fd = fd;
		watch(s->epoll_fd, EPOLL_CTL_ADD, fd, EPOLLIN, p);
	}
}

static void answer_due(struct server *s)
{
	while (s->head != s->tail && s->due[s->head].at <= clock_ns()) {
		struct peer *p = s->due[s->head++].peer;

		send_all(p->fd, steps[p->step++].answer);
	}
}

static int until_due(const struct server *s, struct timespec *t)
{
	uint64_t now = clock_ns(), at;

	if (s->head == s->tail)
		return -1;
	at = s->due[s->head].at;
	at = at > now ? at - now : 0;
	*t = (struct timespec){ .tv_sec = (time_t)(at / NS_PER_S), .tv_nsec = (long)(at % NS_PER_S) };
	return 0;
}

/* Until the process is killed. */
static void serve(struct server *s)
{
	struct epoll_event ev[EVENTS_MAX];

	s->epoll_fd = epoll_create1(0);
	watch(s->epoll_fd, EPOLL_CTL_ADD, s->listen_fd, EPOLLIN, NULL);
	for (;;) {
		struct timespec t;
		int n = epoll_pwait2(s->epoll_fd, ev, EVENTS_MAX, until_due(s, &t) ? NULL : &t, NULL);

		for (int i = 0; i < n; i++) {
			struct peer *p = ev[i].data.ptr;

			if (!p)
				accept_all(s);
			else if (p->step == NR_STEPS)
				watch(s->epoll_fd, EPOLL_CTL_DEL, p->fd, 0, NULL);
			else if (receive(p, steps[p->step].ask))
				s->due[s->tail++] = (struct due){ clock_ns() + s->delay_ns, p };
		}
		answer_due(s);
	}
}

/* ---------------------------------------------------------------------------------------------------------------- host */

static void set_up_serial(struct peer *peers, int n, int port)
{
	for (int i = 0; i < n; i++) {
		struct peer *p = &peers[i];

		p->fd = tcp_connect(port, NULL);
		for (p->step = 0; p->step < NR_STEPS; p->step++) {
			uint8_t buf[1096];

			send_all(p->fd, steps[p->step].ask);
			if (recv(p->fd, buf, steps[p->step].answer, MSG_WAITALL) != (ssize_t)steps[p->step].answer)
				DIE("recv");
		}
	}
}

static void set_up_loop(struct peer *peers, int n, int port)
{
	struct epoll_event ev[EVENTS_MAX];
	int epoll_fd = epoll_create1(0), left = n;

	for (int i = 0; i < n; i++) {
		peers[i] = (struct peer){ .fd = tcp_connect_begin(port) };
		watch(epoll_fd, EPOLL_CTL_ADD, peers[i].fd, EPOLLOUT, &peers[i]);
	}
	while (left) {
		int k = epoll_wait(epoll_fd, ev, EVENTS_MAX, -1);

		for (int i = 0; i < k; i++) {
			struct peer *p = ev[i].data.ptr;

			if (ev[i].events & EPOLLOUT) {
				send_all(p->fd, steps[0].ask);
				watch(epoll_fd, EPOLL_CTL_MOD, p->fd, EPOLLIN, p);
			} else if (receive(p, steps[p->step].answer) && ++p->step < NR_STEPS) {
				send_all(p->fd, steps[p->step].ask);
			} else if (p->step == NR_STEPS) {
				watch(epoll_fd, EPOLL_CTL_DEL, p->fd, 0, NULL);
				left--;
			}
		}
	}
	close(epoll_fd);
}

int main(int argc, char **argv)
{
	static struct server server;
	static struct peer peers[CONNS_MAX];
	int opt, n = 64, port = 5450, host_cpu = -1, target_cpu = -1;
	bool serial = false;
	uint64_t start, ns;
	pid_t child;

	while ((opt = getopt(argc, argv, "n:d:m:p:c:t:")) != -1)
		switch (opt) {
		case 'n':
			n = atoi(optarg);
			break;
		case 'd':
			server.delay_ns = (uint64_t)atoi(optarg) * NS_PER_US;
			break;
		case 'm':
			serial = !strcmp(optarg, "serial");
			break;
		case 'p':
			port = atoi(optarg);
			break;
		case 'c':
			host_cpu = atoi(optarg);
			break;
		case 't':
			target_cpu = atoi(optarg);
			break;
		default:
			return 2;
		}
	if (n < 1 || n > CONNS_MAX) {
		errno = EINVAL;
		DIE("-n %d", n);
	}
	server.listen_fd = tcp_listen(port, NULL);
	set_nonblock(server.listen_fd);
	child = fork();
	if (child < 0)
		DIE("fork");
	if (!child) {
		pin(target_cpu);
		serve(&server);
	}
	pin(host_cpu);
	usleep(20000); /* until the server sleeps in its loop */
	start = clock_ns();
	(serial ? set_up_serial : set_up_loop)(peers, n, port);
	ns = clock_ns() - start;
	kill(child, SIGTERM);
	waitpid(child, NULL, 0);
	printf("{\"connections\": %d, \"total_ms\": %.3f}\n", n, (double)ns / 1e6);
	return 0;
}
