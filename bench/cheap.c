/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target that costs little, so that the host's own cost shows on a machine that both share: cheap -p PORT -t PORT -S BYTES
 *
 * Reads of exactly BYTES are answered by sendfile() from memory, with a data digest that was computed once; what is written is asked for
 * and thrown away in the kernel: nothing is copied or summed up.  The admin queue is that of a real target on port -t, passed through.  No
 * header digests; anything unexpected ends the connection.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nvme/types.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/cmd.h"
#include "proto/crc32c.h"
#include "proto/tcp.h"

#define MAX_LEN	 (16u << 20)
#define NR_CONNS 32 /* at once, a thread each */

static void die(const char *what)
{
	perror(what);
	exit(EXIT_FAILURE);
}

struct cheap {
	uint16_t target_port;
	uint32_t len;
	int listener;
	int data; /* len zeroes and their digest */
};

struct conn {
	const struct cheap *c;
	int fd;
	bool data_digest;
};

static bool recv_all(int fd, void *buf, size_t len)
{
	return recv(fd, buf, len, MSG_WAITALL) == (ssize_t)len;
}

static bool send_all(int fd, const void *buf, size_t len, int flags)
{
	return send(fd, buf, len, MSG_NOSIGNAL | flags) == (ssize_t)len;
}

static struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

/* ---- the admin queue ---- */

static bool pass(int from, int to)
{
	char buf[16384];
	ssize_t n = recv(from, buf, sizeof(buf), 0);

	return n > 0 && send_all(to, buf, (size_t)n, 0);
}

static void pass_through(struct conn *conn, const struct nvme_tcp_ic *ic, const void *first, size_t first_len)
{
	struct sockaddr_in to = loopback(conn->c->target_port);
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pollfd fds[2] = { { conn->fd, POLLIN, 0 }, { fd, POLLIN, 0 } };
	struct nvme_tcp_ic answer;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) || !send_all(fd, ic, sizeof(*ic), 0) ||
	    !recv_all(fd, &answer, sizeof(answer)) || !send_all(fd, first, first_len, 0))
		die("the target behind");
	while (poll(fds, 2, -1) > 0) {
		if (fds[0].revents && !pass(conn->fd, fd))
			break;
		if (fds[1].revents && !pass(fd, conn->fd))
			break;
	}
	close(fd);
}

/* ---- I/O queues ---- */

static bool answer_status(struct conn *conn, uint16_t cid, uint16_t status)
{
	struct nvme_tcp_rsp rsp = {
		.hdr = { .type = NVME_TCP_RSP, .hlen = sizeof(rsp), .plen = htole32(sizeof(rsp)) },
		.cqe.sqhd = 0xffff,
		.cqe.cid = cid,
		.cqe.status = htole16((uint16_t)(status << 1)),
	};

	return send_all(conn->fd, &rsp, sizeof(rsp), 0);
}

static bool answer_read(struct conn *conn, uint16_t cid)
{
	uint32_t len = conn->c->len, dgst = conn->data_digest ? NVME_TCP_DIGEST_LEN : 0;
	struct nvme_tcp_data data = {
		.hdr = { NVME_TCP_C2H_DATA, NVME_TCP_F_LAST | NVME_TCP_F_SUCCESS, sizeof(data), sizeof(data),
			 htole32(sizeof(data) + len + dgst) },
		.cccid = cid,
		.datal = htole32(len),
	};
	off_t off = 0;

	if (dgst)
		data.hdr.flags |= NVME_TCP_F_DDGST;
	if (!send_all(conn->fd, &data, sizeof(data), MSG_MORE))
		return false;
	while (off < (off_t)(len + dgst))
		if (sendfile(conn->fd, conn->c->data, &off, len + dgst - (size_t)off) <= 0)
			return false;
	return true;
}

static bool ask_for_data(struct conn *conn, uint16_t cid)
{
	struct nvme_tcp_r2t r2t = {
		.hdr = { .type = NVME_TCP_R2T, .hlen = sizeof(r2t), .plen = htole32(sizeof(r2t)) },
		.cccid = cid,
		.r2tl = htole32(conn->c->len),
	};

	return send_all(conn->fd, &r2t, sizeof(r2t), 0);
}

static bool answer(struct conn *conn, const struct nvme_tcp_cmd *cmd)
{
	bool data = cmd->sqe.opcode == nvme_cmd_read || cmd->sqe.opcode == nvme_cmd_write;

	if (le32toh(cmd->hdr.plen) != sizeof(*cmd))
		return false;
	if (data && le32toh(cmd->sqe.sgl.length) != conn->c->len)
		return answer_status(conn, cmd->sqe.cid, NVME_SC_INVALID_FIELD);
	if (cmd->sqe.opcode == nvme_cmd_read)
		return answer_read(conn, cmd->sqe.cid);
	return data ? ask_for_data(conn, cmd->sqe.cid) : answer_status(conn, cmd->sqe.cid, 0);
}

/* The kernel throws it away: nothing is copied. */
static bool drop(int fd, size_t len)
{
	ssize_t n;

	for (; len; len -= (size_t)n) {
		n = recv(fd, NULL, len, MSG_TRUNC | MSG_WAITALL);
		if (n <= 0)
			return false;
	}
	return true;
}

static bool take_data(struct conn *conn, const struct nvme_tcp_data *data)
{
	size_t left = le32toh(data->hdr.plen) - sizeof(*data);

	if (!drop(conn->fd, left))
		return false;
	return !(data->hdr.flags & NVME_TCP_F_LAST) || answer_status(conn, data->cccid, 0);
}

static void serve(struct conn *conn)
{
	union nvme_tcp_pdu pdu;
	bool go_on = true;

	while (go_on && recv_all(conn->fd, &pdu.data, sizeof(pdu.data))) {
		if (pdu.hdr.type == NVME_TCP_H2C_DATA)
			go_on = take_data(conn, &pdu.data);
		else if (pdu.hdr.type == NVME_TCP_CMD)
			go_on = recv_all(conn->fd, pdu.raw + sizeof(pdu.data), sizeof(pdu.cmd) - sizeof(pdu.data)) &&
				answer(conn, &pdu.cmd);
		else
			go_on = false;
	}
}

/* ---- a connection ---- */

static void greet(struct conn *conn)
{
	struct nvme_tcp_ic ic, icresp = { .hdr = { .type = NVME_TCP_ICRESP, .hlen = sizeof(icresp), .plen = htole32(sizeof(icresp)) },
					  .maxval = htole32(1 << 20) };
	union {
		struct nvme_tcp_cmd cmd;
		char raw[4096];
	} first;
	const struct nvmf_connect_cmd *connect = (void *)&first.cmd.sqe;
	uint32_t plen;

	if (!recv_all(conn->fd, &ic, sizeof(ic)))
		return;
	conn->data_digest = ic.dgst & 2;
	icresp.dgst = ic.dgst & 2;
	if (!send_all(conn->fd, &icresp, sizeof(icresp), 0) || !recv_all(conn->fd, &first, sizeof(first.cmd)))
		return;
	plen = le32toh(first.cmd.hdr.plen);
	if (plen < sizeof(first.cmd) || plen > sizeof(first) ||
	    !recv_all(conn->fd, first.raw + sizeof(first.cmd), plen - sizeof(first.cmd)))
		return;
	if (!connect->qid)
		pass_through(conn, &ic, &first, plen);
	else if (answer_status(conn, first.cmd.sqe.cid, 0))
		serve(conn);
}

/* Threads stay: what one has used is in /proc as long as it lives. */
static void *serve_connections(void *arg)
{
	const struct cheap *c = arg;
	int one = 1;

	for (;;) {
		struct conn conn = { .c = c, .fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC) };

		if (conn.fd < 0)
			die("accept");
		setsockopt(conn.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		greet(&conn);
		close(conn.fd);
	}
	return NULL;
}

static void data_new(struct cheap *c)
{
	char *p;

	c->data = memfd_create("data", MFD_CLOEXEC);
	if (c->data < 0 || ftruncate(c->data, c->len + NVME_TCP_DIGEST_LEN))
		die("memory for the data");
	p = mmap(NULL, c->len + NVME_TCP_DIGEST_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, c->data, 0);
	if (p == MAP_FAILED)
		die("memory for the data");
	memset(p, 0x5a, c->len);
	*(uint32_t *)(void *)(p + c->len) = htole32(crc32c(0, p, c->len));
}

int main(int argc, char **argv)
{
	struct cheap c = { .len = 128 << 10 };
	struct sockaddr_in at = loopback(0);
	int opt, i, one = 1;
	pthread_t t;

	while ((opt = getopt(argc, argv, "p:t:S:")) != -1) {
		if (opt == 'p')
			at.sin_port = htons((uint16_t)atoi(optarg));
		else if (opt == 't')
			c.target_port = (uint16_t)atoi(optarg);
		else if (opt == 'S')
			c.len = (uint32_t)strtoul(optarg, NULL, 10);
		else
			return EXIT_FAILURE;
	}
	if (!c.len || c.len > MAX_LEN || c.len % 4 || !at.sin_port || !c.target_port) {
		fprintf(stderr, "cheap -p PORT -t PORT -S BYTES\n");
		return EXIT_FAILURE;
	}
	data_new(&c);
	signal(SIGPIPE, SIG_IGN);
	c.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(c.listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (c.listener < 0 || bind(c.listener, (struct sockaddr *)&at, sizeof(at)) || listen(c.listener, 128))
		die("listen");
	for (i = 0; i < NR_CONNS; i++)
		if (pthread_create(&t, NULL, serve_connections, &c))
			die("a thread");
	puts("ready");
	fflush(stdout);
	pause();
	return EXIT_SUCCESS;
}
