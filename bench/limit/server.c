/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The target of the limit: answers reads from a preset area of memory, stores in-capsule writes in it.  One thread; the answers of a
 * connection go out with one sendmsg a turn.  -g: data that is read goes with its CRC32C.
 */
#include <getopt.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "limit.h"
#include "proto/crc32c.h"

#define RX_LEN	   (256u << 10)
#define QUEUE_LEN  4096u
#define IOV_LEN	   254
#define MAX_EVENTS 64

struct response {
	struct answer a;
	const uint8_t *data;
};

struct conn {
	int fd;
	bool want_out, dead;
	uint8_t *rx;
	uint32_t rx_len;
	/* Answers to send: queue[head..tail), head_sent bytes of the first are gone. */
	struct response *queue;
	uint32_t head, tail, head_sent;
	/* The write whose data is arriving. */
	uint32_t write_left;
	uint64_t write_offset;
	uint16_t write_cid;
};

struct server {
	uint8_t *area;
	uint64_t area_len;
	int listen_fd, epoll_fd, nr_conns;
	bool busy, digest;
	uint64_t spin_ns, last_work;
};

static void watch_out(struct server *s, struct conn *c, bool on)
{
	struct epoll_event ev = { .events = EPOLLIN | (on ? (uint32_t)EPOLLOUT : 0), .data.ptr = c };

	if (c->want_out == on)
		return;
	c->want_out = on;
	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_MOD, c->fd, &ev))
		DIE("epoll_ctl");
}

static int gather(struct conn *c, struct iovec *iov, size_t *total)
{
	int n = 0;

	*total = 0;
	for (uint32_t i = c->head; i != c->tail && n < IOV_LEN; i++) {
		struct response *r = &c->queue[i % QUEUE_LEN];
		uint32_t sent = i == c->head ? c->head_sent : 0, hdr = sizeof(r->a);

		if (sent < hdr) {
			iov[n++] = (struct iovec){ (uint8_t *)&r->a + sent, hdr - sent };
			*total += hdr - sent;
			sent = hdr;
		}
		if (r->a.len > sent - hdr) {
			iov[n++] = (struct iovec){ (void *)(r->data + (sent - hdr)), r->a.len - (sent - hdr) };
			*total += r->a.len - (sent - hdr);
		}
	}
	return n;
}

static void forget_sent(struct conn *c, size_t n)
{
	while (n) {
		uint32_t left = c->queue[c->head % QUEUE_LEN].a.h.plen - c->head_sent;

		if (n < left) {
			c->head_sent += (uint32_t)n;
			return;
		}
		n -= left;
		c->head++;
		c->head_sent = 0;
	}
}

static void flush(struct server *s, struct conn *c)
{
	struct iovec iov[IOV_LEN + 2];

	while (c->head != c->tail) {
		struct msghdr m = { .msg_iov = iov };
		size_t total;
		ssize_t n;

		m.msg_iovlen = (size_t)gather(c, iov, &total);
		n = sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN) {
			c->dead = true;
			return;
		}
		if (n > 0)
			forget_sent(c, (size_t)n);
		if (n < 0 || (size_t)n < total) {
			watch_out(s, c, true);
			return;
		}
	}
	watch_out(s, c, false);
}

static struct response *respond(struct conn *c, uint8_t type, uint16_t cid, const uint8_t *data, uint32_t len)
{
	struct response *r = &c->queue[c->tail++ % QUEUE_LEN];

	if (c->tail - c->head > QUEUE_LEN) {
		errno = ENOBUFS;
		DIE("more than %u answers", QUEUE_LEN);
	}
	memset(&r->a, 0, sizeof(r->a));
	r->a.h = (struct pdu_hdr){ .type = type, .flags = type == PDU_C2H_DATA ? 0x0c : 0, .hlen = 24, .pdo = 24, .plen = 24 + len };
	r->a.cid = cid;
	r->a.len = len;
	r->data = data;
	return r;
}

static void command(struct server *s, struct conn *c, const struct capsule *cmd)
{
	uint64_t offset = cmd->offset % s->area_len;
	struct response *r;

	if (cmd->h.type != PDU_CMD) {
		errno = EPROTO;
		DIE("a PDU of type %u", cmd->h.type);
	}
	if (cmd->opcode == OP_READ) {
		r = respond(c, PDU_C2H_DATA, cmd->cid, s->area + offset, cmd->len);
		if (s->digest)
			r->a.digest = crc32c(0, r->data, r->a.len);
		return;
	}
	c->write_left = cmd->len;
	c->write_offset = offset;
	c->write_cid = cmd->cid;
}

static void store(struct server *s, struct conn *c, const uint8_t *p, uint32_t n)
{
	memcpy(s->area + c->write_offset, p, n);
	c->write_offset += n;
	c->write_left -= n;
	if (!c->write_left)
		respond(c, PDU_RSP, c->write_cid, NULL, 0);
}

static void receive(struct server *s, struct conn *c)
{
	ssize_t n = recv(c->fd, c->rx + c->rx_len, RX_LEN - c->rx_len, MSG_DONTWAIT);
	uint32_t at = 0, have;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		c->dead = true;
		return;
	}
	c->rx_len += (uint32_t)n;
	while ((have = c->rx_len - at)) {
		if (c->write_left) {
			uint32_t take = have < c->write_left ? have : c->write_left;

			store(s, c, c->rx + at, take);
			at += take;
		} else if (have >= sizeof(struct capsule)) {
			command(s, c, (const struct capsule *)(c->rx + at));
			at += sizeof(struct capsule);
		} else {
			break;
		}
	}
	memmove(c->rx, c->rx + at, have);
	c->rx_len = have;
}

static void conn_new(struct server *s)
{
	int fd = accept4(s->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct conn *c;

	if (fd < 0)
		return;
	set_nodelay(fd);
	c = calloc(1, sizeof(*c));
	if (!c || !(c->rx = malloc(RX_LEN)) || !(c->queue = malloc(QUEUE_LEN * sizeof(*c->queue))))
		DIE("memory");
	c->fd = fd;
	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &(struct epoll_event){ .events = EPOLLIN, .data.ptr = c }))
		DIE("epoll_ctl");
	s->nr_conns++;
}

static void serve(struct server *s, struct conn *c, uint32_t events)
{
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		receive(s, c);
	if (!c->dead)
		flush(s, c);
	if (!c->dead)
		return;
	s->nr_conns--;
	close(c->fd);
	free(c->rx);
	free(c->queue);
	free(c);
}

/* How long epoll_wait may sleep: not at all while polling, and for a while after the last work while spinning. */
static int timeout_of(struct server *s)
{
	if (!s->nr_conns)
		return -1;
	return s->busy || (s->spin_ns && clock_ns() - s->last_work < s->spin_ns) ? 0 : -1;
}

static void loop(struct server *s)
{
	struct epoll_event ev[MAX_EVENTS];

	for (;;) {
		int n = epoll_wait(s->epoll_fd, ev, MAX_EVENTS, timeout_of(s));

		for (int i = 0; i < n; i++) {
			if (ev[i].data.ptr)
				serve(s, ev[i].data.ptr, ev[i].events);
			else
				conn_new(s);
		}
		if (n > 0 && s->spin_ns)
			s->last_work = clock_ns();
	}
}

int main(int argc, char **argv)
{
	struct server s = { .area_len = (uint64_t)AREA_MIB_DEFAULT << 20 };
	const char *congestion = NULL;
	int opt, port = 5400, cpu = -1;

	while ((opt = getopt(argc, argv, "p:c:C:bs:A:g")) != -1)
		switch (opt) {
		case 'p':
			port = atoi(optarg);
			break;
		case 'c':
			cpu = atoi(optarg);
			break;
		case 'C':
			congestion = optarg;
			break;
		case 'b':
			s.busy = true;
			break;
		case 'g':
			s.digest = true;
			break;
		case 's':
			s.spin_ns = (uint64_t)atoi(optarg) * NS_PER_US;
			break;
		case 'A':
			s.area_len = (uint64_t)atoi(optarg) << 20;
			break;
		default:
			return 2;
		}
	pin(cpu);
	s.area = huge_area(s.area_len);
	for (uint64_t i = 0; i < s.area_len; i += sizeof(i))
		memcpy(s.area + i, &i, sizeof(i));
	s.listen_fd = tcp_listen(port, congestion);
	s.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s.epoll_fd < 0 || epoll_ctl(s.epoll_fd, EPOLL_CTL_ADD, s.listen_fd, &(struct epoll_event){ .events = EPOLLIN }))
		DIE("epoll");
	printf("ready\n");
	fflush(stdout);
	loop(&s);
}
