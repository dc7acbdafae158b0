/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "limit.h"

#define BACKLOG	 512
#define HUGE_LEN (2u << 20)

void pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		DIE("pin to CPU %d", cpu);
}

void set_nodelay(int fd)
{
	int one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		DIE("TCP_NODELAY");
}

void set_nonblock(int fd)
{
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
		DIE("O_NONBLOCK");
}

static int tcp_socket(const char *congestion)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		DIE("socket");
	if (congestion && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion, (socklen_t)strlen(congestion)))
		DIE("congestion control %s", congestion);
	return fd;
}

static struct sockaddr_in loopback(int port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

int tcp_connect(int port, const char *congestion)
{
	struct sockaddr_in to = loopback(port);
	int fd = tcp_socket(congestion);

	set_nodelay(fd);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		DIE("connect to port %d", port);
	return fd;
}

/* Does not wait: EPOLLOUT tells when it is there. */
int tcp_connect_begin(int port)
{
	struct sockaddr_in to = loopback(port);
	int fd = tcp_socket(NULL);

	set_nodelay(fd);
	set_nonblock(fd);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) && errno != EINPROGRESS)
		DIE("connect to port %d", port);
	return fd;
}

int tcp_listen(int port, const char *congestion)
{
	struct sockaddr_in at = loopback(port);
	int fd = tcp_socket(congestion), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, BACKLOG))
		DIE("listen on port %d", port);
	return fd;
}

/* Memory in huge pages where there are some. */
void *huge_area(size_t len)
{
	void *p = mmap(NULL, len + HUGE_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		DIE("%zu bytes of memory", len);
	madvise(p, len + HUGE_LEN, MADV_HUGEPAGE);
	return p;
}
