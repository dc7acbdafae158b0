/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "target/target.h"
#include "transport/tcp/tcp_target.h"

#define SIM_THREADS   8
#define SIM_LINKS     16
#define SIM_START     (1000 * NSEC_PER_SEC)
#define SIM_MAX_TURNS 20000		    /* without an end of the work: an endless loop */
#define SIM_LOOK_NS   (250 * NSEC_PER_USEC) /* longer than a descriptor stays hot: the next turn asks epoll */

/* What stands for the threads, the clock and the network.  One of each, as in the world. */
static struct {
	bool active;
	uint64_t now;
	struct {
		void *(*fn)(void *arg);
		struct target_thread *th;
	} threads[SIM_THREADS];
	int far_ends[SIM_LINKS]; /* of connections nobody has accepted yet */
	int nr_far_ends;
	int lowest_fd;
} sim;

void sim_fail(const char *cond, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "not so: %s: ", cond);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	abort();
}

/* A run frees all it had, so what is freed need not be kept for long; fresh pages for each run would cost more than the run. */
const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
	return "quarantine_size_mb=8";
}

/* ---- time ---- */

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	if (!sim.active || (id != CLOCK_MONOTONIC && id != CLOCK_BOOTTIME))
		return __real_clock_gettime(id, ts);
	ts->tv_sec = (time_t)(sim.now / NSEC_PER_SEC);
	ts->tv_nsec = (long)(sim.now % NSEC_PER_SEC);
	return 0;
}

int __real_nanosleep(const struct timespec *ts, struct timespec *left);
int __wrap_nanosleep(const struct timespec *ts, struct timespec *left);
int __wrap_nanosleep(const struct timespec *ts, struct timespec *left)
{
	if (!sim.active)
		return __real_nanosleep(ts, left);
	sim_turn();
	sim_advance((uint64_t)ts->tv_sec * NSEC_PER_SEC + (uint64_t)ts->tv_nsec);
	return 0;
}

void sim_advance(uint64_t ns)
{
	sim.now += ns;
}

uint64_t sim_now(void)
{
	return sim.now;
}

/* ---- threads ---- */

int __real_pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	uint32_t i = 0;

	if (!sim.active)
		return __real_pthread_create(id, attr, fn, arg);
	while (sim.threads[i].fn)
		i++;
	SIM_CHECK(i < SIM_THREADS, "too many threads");
	sim.threads[i].fn = fn;
	sim.threads[i].th = arg;
	*id = (pthread_t)i + 1;
	return 0;
}

/* The thread was told to stop: it runs its few last steps. */
int __real_pthread_join(pthread_t id, void **ret);
int __wrap_pthread_join(pthread_t id, void **ret);
int __wrap_pthread_join(pthread_t id, void **ret)
{
	uint32_t i = (uint32_t)id - 1;

	if (!sim.active)
		return __real_pthread_join(id, ret);
	sim.threads[i].fn(sim.threads[i].th);
	sim.threads[i].fn = NULL;
	return 0;
}

int __real_pthread_setname_np(pthread_t id, const char *name);
int __wrap_pthread_setname_np(pthread_t id, const char *name);
int __wrap_pthread_setname_np(pthread_t id, const char *name)
{
	return sim.active ? 0 : __real_pthread_setname_np(id, name);
}

int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock)
{
	if (!sim.active)
		return __real_pthread_cond_wait(cond, lock);
	pthread_mutex_unlock(lock);
	if (!sim_turn())
		sim_advance(10 * NSEC_PER_MSEC);
	SIM_CHECK(sim.now < SIM_START + 100000 * NSEC_PER_SEC, "a wait has no end");
	pthread_mutex_lock(lock);
	return 0;
}

int __real_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *ts);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *ts);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *ts)
{
	if (!sim.active)
		return __real_pthread_cond_timedwait(cond, lock, ts);
	__wrap_pthread_cond_wait(cond, lock);
	return sim.now >= (uint64_t)ts->tv_sec * NSEC_PER_SEC + (uint64_t)ts->tv_nsec ? ETIMEDOUT : 0;
}

int sim_turn(void)
{
	int n = 0;

	for (uint32_t i = 0; i < SIM_THREADS; i++)
		if (sim.threads[i].fn)
			n += loop_turn(sim.threads[i].th->loop, 0);
	return n;
}

void sim_settle(void)
{
	int turns = 0;

	sim_turn();
	do {
		sim_advance(SIM_LOOK_NS);
		SIM_CHECK(++turns < SIM_MAX_TURNS, "the work has no end");
	} while (sim_turn());
}

/* ---- network ---- */

/* Whoever connects has one end of a pair from now on: no option of the socket matters here.  A listener is a real one that nobody finds. */
int __real_connect(int fd, const struct sockaddr *sa, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *sa, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	int fds[2];

	if (!sim.active)
		return __real_connect(fd, sa, len);
	SIM_CHECK(sim.nr_far_ends < SIM_LINKS, "too many connections");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds))
		return -1;
	SIM_CHECK(dup3(fds[0], fd, O_CLOEXEC) == fd, "no descriptor for a connection");
	close(fds[0]);
	sim.far_ends[sim.nr_far_ends++] = fds[1];
	return 0;
}

int __real_setsockopt(int fd, int level, int name, const void *val, socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *val, socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *val, socklen_t len)
{
	return sim.active && level == IPPROTO_TCP ? 0 : __real_setsockopt(fd, level, name, val, len);
}

/* Addresses as those of TCP. */
static int name_of(int ret, struct sockaddr *sa, socklen_t *len)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(1000), .sin_addr.s_addr = htonl(0xc0000201) };

	if (ret || !sim.active || sa->sa_family != AF_UNIX)
		return ret;
	memcpy(sa, &name, sizeof(name)); /* all who ask have room */
	*len = sizeof(name);
	return 0;
}

int __real_getsockname(int fd, struct sockaddr *sa, socklen_t *len);
int __wrap_getsockname(int fd, struct sockaddr *sa, socklen_t *len);
int __wrap_getsockname(int fd, struct sockaddr *sa, socklen_t *len)
{
	return name_of(__real_getsockname(fd, sa, len), sa, len);
}

int __real_getpeername(int fd, struct sockaddr *sa, socklen_t *len);
int __wrap_getpeername(int fd, struct sockaddr *sa, socklen_t *len);
int __wrap_getpeername(int fd, struct sockaddr *sa, socklen_t *len)
{
	return name_of(__real_getpeername(fd, sa, len), sa, len);
}

int sim_accept(void)
{
	int fd;

	if (!sim.nr_far_ends)
		return -1;
	fd = sim.far_ends[0];
	memmove(sim.far_ends, sim.far_ends + 1, (size_t)--sim.nr_far_ends * sizeof(fd));
	return fd;
}

/* What the listener's accept does, too. */
int sim_open(struct nvof_target *t, int sndbuf)
{
	struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons(1000), .sin_addr.s_addr = htonl(0xc0000201) };
	struct target_port *port;
	struct tt_conn *c;
	int fds[2];

	if (cds_list_empty(&t->ports))
		return -1;
	port = cds_list_first_entry(&t->ports, struct target_port, link);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds))
		abort();
	if (sndbuf)
		setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof(sndbuf));
	c = conn_new(fds[0], &port->params, (struct sockaddr *)&peer, sizeof(peer));
	conn_start(c, port, target_place(t));
	return fds[1];
}

/* ---- beginning and end ---- */

/* The next descriptor that would be given. */
static int next_fd(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

void sim_begin(void)
{
	memset(&sim, 0, sizeof(sim));
	sim.lowest_fd = next_fd();
	sim.now = SIM_START;
	sim.active = true;
}

void sim_end(void)
{
	while (sim.nr_far_ends)
		close(sim_accept());
	sim.active = false;
	SIM_CHECK(next_fd() == sim.lowest_fd, "a descriptor is left open");
}

/* ---- the input ---- */

uint8_t sim_u8(struct sim_input *in)
{
	if (!in->len)
		return 0;
	in->len--;
	return *in->p++;
}

uint16_t sim_u16(struct sim_input *in)
{
	uint16_t lo = sim_u8(in);

	return (uint16_t)(lo | sim_u8(in) << 8);
}

uint32_t sim_u32(struct sim_input *in)
{
	uint32_t lo = sim_u16(in);

	return lo | (uint32_t)sim_u16(in) << 16;
}

const uint8_t *sim_bytes(struct sim_input *in, size_t len, size_t *got)
{
	const uint8_t *p = in->p;

	*got = min_size(len, in->len);
	in->p += *got;
	in->len -= *got;
	return p;
}
