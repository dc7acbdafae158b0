/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host of the limit: one connection, a closed loop of -q requests of -S bytes.  Prints one JSON document with the keys of
 * "nvof bench io -o json".
 */
#include <getopt.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "conn.h"

#define RECVS_PER_WAKE 4
#define WAIT_MS	       100

enum mode { MODE_EPOLL, MODE_SPIN, MODE_BUSY };

struct run {
	struct conn c;
	enum mode mode;
	int epoll_fd;
	uint64_t spin_ns, idle_since;
	struct rusage usage;
};

/* Reads until the socket is dry (a few times), then sends what that gave. */
static void serve_ready(struct conn *c)
{
	bool filled = true;

	for (int i = 0; filled && i < RECVS_PER_WAKE; i++)
		if (!conn_recv(c, &filled))
			break;
	/* Large writes: the answers must be read for the socket to drain. */
	while (!conn_flush(c))
		conn_recv(c, &filled);
}

/* One look at the socket, and a sleep when the mode allows it.  Leaves a fresh c.now. */
static void turn(struct run *r)
{
	struct conn *c = &r->c;
	struct epoll_event ev;
	bool filled;

	if (r->mode != MODE_EPOLL) {
		bool any = conn_recv(c, &filled) > 0;

		conn_flush(c);
		if (!any)
			c->now = clock_ns();
		if (any || r->mode == MODE_BUSY) {
			r->idle_since = c->now;
			return;
		}
		if (c->now - r->idle_since < r->spin_ns)
			return;
	}
	if (epoll_wait(r->epoll_fd, &ev, 1, WAIT_MS) > 0)
		serve_ready(c);
	else
		c->now = clock_ns();
	r->idle_since = c->now;
}

static uint64_t run_for(struct run *r, double seconds)
{
	uint64_t start = clock_ns(), end = start + (uint64_t)(seconds * (double)NS_PER_S);

	r->idle_since = r->c.now = start;
	while (r->c.now < end)
		turn(r);
	return clock_ns() - start;
}

static double seconds_between(struct timeval a, struct timeval b)
{
	return (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_usec - a.tv_usec) / 1e6;
}

static void report(const struct run *r, uint64_t ns)
{
	const struct conn *c = &r->c;
	struct rusage usage;
	double seconds = (double)ns / (double)NS_PER_S, ios = (double)c->done;

	if (!c->done) {
		errno = ETIME;
		DIE("not one answer");
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("{\"iops\": %.1f, \"bytes_per_s\": %.0f, \"seconds\": %.3f, ", ios / seconds, ios * c->o.size / seconds, seconds);
	printf("\"lat_us\": {\"p50\": %.2f, \"p99\": %.2f}, ", (double)hist_quantile(&c->lat, 0.5) / 1e3,
	       (double)hist_quantile(&c->lat, 0.99) / 1e3);
	printf("\"cpu\": {\"user_s\": %.4f, \"sys_s\": %.4f}, ", seconds_between(r->usage.ru_utime, usage.ru_utime),
	       seconds_between(r->usage.ru_stime, usage.ru_stime));
	printf("\"sends_per_io\": %.4f, \"recvs_per_io\": %.4f, \"errors\": 0}\n", (double)c->nr_sends / ios, (double)c->nr_recvs / ios);
}

static enum mode mode_of(const char *name)
{
	static const char *const names[] = { "epoll", "spin", "busy" };

	for (int i = 0; i < 3; i++)
		if (!strcmp(name, names[i]))
			return (enum mode)i;
	errno = EINVAL;
	DIE("-m %s is not epoll, spin or busy", name);
}

int main(int argc, char **argv)
{
	struct conn_opts o = { .port = 5400, .qd = 1, .size = 4096, .area_len = (uint64_t)AREA_MIB_DEFAULT << 20, .tail = 64u << 10 };
	static struct run r = { .spin_ns = 50 * NS_PER_US };
	double seconds = 1, warmup = 0.2;
	int opt, cpu = -1;

	while ((opt = getopt(argc, argv, "m:c:p:C:q:S:wgA:s:d:W:h:t:")) != -1)
		switch (opt) {
		case 'm':
			r.mode = mode_of(optarg);
			break;
		case 'c':
			cpu = atoi(optarg);
			break;
		case 'p':
			o.port = atoi(optarg);
			break;
		case 'C':
			o.congestion = optarg;
			break;
		case 'q':
			o.qd = (unsigned int)atoi(optarg);
			break;
		case 'S':
			o.size = (uint32_t)atoi(optarg);
			break;
		case 'w':
			o.write = true;
			break;
		case 'g':
			o.digest = true;
			break;
		case 'A':
			o.area_len = (uint64_t)atoi(optarg) << 20;
			break;
		case 's':
			r.spin_ns = (uint64_t)atoi(optarg) * NS_PER_US;
			break;
		case 'd':
			seconds = atof(optarg);
			break;
		case 'W':
			warmup = atof(optarg);
			break;
		case 'h':
			o.min_direct = (uint32_t)atoi(optarg);
			break;
		case 't':
			o.tail = (uint32_t)atoi(optarg);
			break;
		default:
			return 2;
		}
	if (!o.qd || o.qd > UINT16_MAX || o.size < 8 || o.size > o.area_len || o.tail > 256u << 10) {
		errno = EINVAL;
		DIE("-q, -S, -A or -t");
	}
	pin(cpu);
	conn_init(&r.c, &o);
	r.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r.epoll_fd < 0 || epoll_ctl(r.epoll_fd, EPOLL_CTL_ADD, r.c.fd, &(struct epoll_event){ .events = EPOLLIN }))
		DIE("epoll");
	conn_start(&r.c);
	run_for(&r, warmup);
	conn_reset_stats(&r.c);
	getrusage(RUSAGE_SELF, &r.usage);
	report(&r, run_for(&r, seconds));
	return 0;
}
