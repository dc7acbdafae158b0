/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host that breaks rules, against a target over RDMA: rdma_peer ADDRESS PORT CASE.  Prints how the target took it, in one line: "refused
 * STS", "disconnected", "status XXXX".  Exit status 0 when there was such an end.  Needs a device, so the checks in a virtual machine run
 * it.
 *
 * rdma_peer ADDRESS PORT late-write NQN PID MS: stops the target, whose process is PID, for MS milliseconds, and meanwhile writes 4 KiB of
 * 5Ah to block 0 of its namespace 1; the keep-alive time-out is 2 s.  With late-write-and-leave it writes 512 bytes, which go in the
 * capsule, disconnects before the target goes on, and prints "left".
 */
#include <errno.h>
#include <poll.h>
#include <rdma/rdma_verbs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "proto/cmd.h"
#include "proto/rdma.h"

#define WAIT_MS	     20000
#define LONG_WAIT_MS 20000 /* more: until the target gives up a host that takes no answers */
#define NR_RECVS     32
#define FLOOD	     3000
#define MAX_CAPSULE  1024

struct peer {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct memory {
		uint8_t capsule[MAX_CAPSULE];
		uint8_t data[4096];
		struct nvme_cqe cqes[NR_RECVS];
	} * mem;
};

static void die(const char *what)
{
	fprintf(stderr, "rdma_peer: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The next event within the time; a refusal's status in *sts.  -1: none. */
static int event(struct peer *p, uint16_t *sts)
{
	struct pollfd pfd = { .fd = p->channel->fd, .events = POLLIN };
	struct rdma_cm_event *ev;
	int type;

	if (poll(&pfd, 1, WAIT_MS) <= 0)
		return -1;
	if (rdma_get_cm_event(p->channel, &ev))
		die("read an event");
	type = ev->event;
	*sts = 0;
	if (type == RDMA_CM_EVENT_REJECTED)
		nvme_rdma_cm_reject_parse(ev->param.conn.private_data, ev->param.conn.private_data_len, sts);
	rdma_ack_cm_event(ev);
	return type;
}

static void unexpected(int type, const char *what)
{
	fprintf(stderr, "rdma_peer: %s: %s\n", what, type < 0 ? "nothing happened" : rdma_event_str((enum rdma_cm_event_type)type));
	exit(1);
}

static void expect(struct peer *p, int type, const char *what)
{
	uint16_t sts;
	int got = event(p, &sts);

	if (got != type)
		unexpected(got, what);
}

static void peer_resolve(struct peer *p, const char *addr, const char *port)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *ai;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 64, .max_recv_wr = NR_RECVS, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	p->channel = rdma_create_event_channel();
	if (!p->channel || rdma_create_id(p->channel, &p->id, p, RDMA_PS_TCP))
		die("make an id");
	if (rdma_getaddrinfo(addr, port, &hints, &ai) || rdma_resolve_addr(p->id, NULL, ai->ai_dst_addr, 2000))
		die("resolve the address");
	rdma_freeaddrinfo(ai);
	expect(p, RDMA_CM_EVENT_ADDR_RESOLVED, "resolve the address");
	if (rdma_resolve_route(p->id, 2000))
		die("resolve the route");
	expect(p, RDMA_CM_EVENT_ROUTE_RESOLVED, "resolve the route");
	if (rdma_create_qp(p->id, NULL, &attr))
		die("make a queue pair");
	p->mem = calloc(1, sizeof(*p->mem));
	p->mr = ibv_reg_mr(p->id->pd, p->mem, sizeof(*p->mem), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	if (!p->mr)
		die("register memory");
	for (int i = 0; i < NR_RECVS; i++)
		rdma_post_recv(p->id, NULL, &p->mem->cqes[i], sizeof(p->mem->cqes[i]), p->mr);
}

/* Tells of a refusal, and ends. */
static void peer_connect(struct peer *p, const uint8_t *wire, uint8_t len, uint8_t reads)
{
	struct rdma_conn_param param = {
		.private_data = wire, .private_data_len = len, .responder_resources = reads, .retry_count = 7, .rnr_retry_count = 7
	};
	uint16_t sts;
	int type;

	if (rdma_connect(p->id, &param))
		die("connect");
	type = event(p, &sts);
	if (type == RDMA_CM_EVENT_REJECTED) {
		printf("refused %u\n", sts);
		exit(0);
	}
	if (type != RDMA_CM_EVENT_ESTABLISHED)
		unexpected(type, "connect");
}

static void peer_send(struct peer *p, uint32_t len)
{
	if (rdma_post_send(p->id, NULL, p->mem->capsule, len, p->mr, 0))
		die("send");
}

static void await_end(struct peer *p)
{
	expect(p, RDMA_CM_EVENT_DISCONNECTED, "the end of the connection");
	printf("disconnected\n");
	exit(0);
}

/* The status of response nr; ends with "disconnected" when there is none. */
static uint16_t await_status(struct peer *p, int nr)
{
	struct pollfd pfd = { .fd = p->channel->fd, .events = POLLIN };
	uint64_t end = clock_ns() + WAIT_MS * NSEC_PER_MSEC;
	struct ibv_wc wc;

	while (clock_ns() < end) {
		int n = ibv_poll_cq(p->id->recv_cq, 1, &wc);

		if (n == 1 && wc.status == IBV_WC_SUCCESS)
			return le16toh(p->mem->cqes[nr].status) >> 1;
		if (n || poll(&pfd, 1, 1) > 0)
			await_end(p);
	}
	errno = ETIMEDOUT;
	die("a response");
	return 0;
}

/* ---- commands ---- */

/* To the admin queue of a ctrl of the discovery subsystem; what is to be another one is changed after it. */
static struct nvmf_connect_cmd *connect_command(struct peer *p)
{
	struct nvmf_connect_cmd *cmd = (struct nvmf_connect_cmd *)p->mem->capsule;
	struct nvmf_connect_data *data = (struct nvmf_connect_data *)p->mem->data;

	*cmd = (struct nvmf_connect_cmd){
		.opcode = NVMF_OPCODE, .flags = NVME_SQE_PSDT_SGL, .fctype = NVMF_CONNECT, .sqsize = htole16(31)
	};
	memset(data, 0, sizeof(*data));
	data->hostid[0] = 1;
	data->cntlid = htole16(NVMF_CNTLID_DYNAMIC);
	strcpy(data->subsysnqn, NVMF_DISC_NQN);
	strcpy(data->hostnqn, "nqn.2014-08.org.nvmexpress:uuid:01000000-0000-0000-0000-000000000000");
	nvme_rdma_keyed_build(&cmd->sgl, (uintptr_t)data, sizeof(*data), p->mr->rkey, false);
	return cmd;
}

/* The Connect that was made is sent, and answered well. */
static void connect_to(struct peer *p)
{
	peer_send(p, sizeof(struct nvme_sqe));
	errno = EPROTO;
	if (await_status(p, 0))
		die("a good Connect was refused");
}

static void enable(struct peer *p)
{
	struct nvmf_property_cmd *set = (struct nvmf_property_cmd *)p->mem->capsule;

	*set = (struct nvmf_property_cmd){
		.opcode = NVMF_OPCODE,
		.flags = NVME_SQE_PSDT_SGL,
		.fctype = NVMF_PROPERTY_SET,
		.offset = htole32(NVME_REG_CC),
		.value = htole64(0x460001),
	};
	peer_send(p, sizeof(*set));
	if (await_status(p, 1))
		die("the ctrl can't be enabled");
}

static void identify(struct peer *p, uint32_t len, uint32_t key)
{
	struct nvme_sqe *sqe = (struct nvme_sqe *)p->mem->capsule;

	*sqe = (struct nvme_sqe){ .opcode = 0x06, .flags = NVME_SQE_PSDT_SGL, .cid = htole16(1), .cdw10 = htole32(NVME_IDENTIFY_CNS_CTRL) };
	nvme_rdma_keyed_build(&sqe->sgl, (uintptr_t)p->mem->data, len, key, false);
	peer_send(p, sizeof(*sqe));
}

static void tell_status(struct peer *p, int nr)
{
	printf("status %04x\n", await_status(p, nr));
	exit(0);
}

static void nonsense(struct peer *p)
{
	unsigned int seed = 1;

	for (int i = 0; i < NR_RECVS - 1; i++) {
		for (size_t j = 0; j < sizeof(p->mem->capsule); j++)
			p->mem->capsule[j] = (uint8_t)rand_r(&seed);
		peer_send(p, 64 + (uint32_t)(rand_r(&seed) % 192));
		usleep(5000);
	}
	rdma_disconnect(p->id);
}

/*
 * So many commands as fast as they go, though no answer after the first NR_RECVS finds a receive; then it waits.  An enabled ctrl has had
 * two.
 */
static void flood(struct peer *p, const struct nvme_sqe *sqe, int nr)
{
	struct pollfd pfd = { .fd = p->channel->fd, .events = POLLIN };
	int sent = 0, done = 0;
	struct ibv_wc wc;

	for (;;) {
		while (ibv_poll_cq(p->id->send_cq, 1, &wc) == 1)
			done++;
		if (poll(&pfd, 1, sent == nr ? WAIT_MS + LONG_WAIT_MS : sent - done >= 60) > 0 || sent == nr)
			await_end(p);
		if (sent - done >= 60)
			continue;
		memcpy(p->mem->capsule, sqe, sizeof(*sqe));
		((struct nvme_sqe *)p->mem->capsule)->cid = htole16((uint16_t)sent++);
		peer_send(p, sizeof(*sqe));
	}
}

/* What it sends too much of, or without room for the answers. */
static void too_many(struct peer *p, const char *name)
{
	struct nvme_sqe keep_alive = { .opcode = 0x18, .flags = NVME_SQE_PSDT_SGL };
	struct nvme_sqe bad_sgl = { .opcode = 0x06,
				    .flags = NVME_SQE_PSDT_SGL,
				    .sgl = { .type = NVME_SGL_TRANSPORT, .length = htole32(512) } };

	if (!strcmp(name, "flood"))
		flood(p, &keep_alive, FLOOD);
	else if (!strcmp(name, "bad-sgls"))
		flood(p, &bad_sgl, FLOOD);
	else if (!strcmp(name, "deaf"))
		flood(p, &keep_alive, NR_RECVS);
}

/* What is wrong with the first command. */
static void first_command(struct peer *p, const char *name)
{
	struct nvmf_connect_cmd *cmd = connect_command(p);

	if (!strcmp(name, "silent"))
		await_end(p);
	if (!strcmp(name, "short-capsule")) {
		peer_send(p, 63);
		await_end(p);
	}
	if (!strcmp(name, "nonsense")) {
		nonsense(p);
		await_end(p);
	}
	if (!strcmp(name, "wrong-key")) {
		nvme_rdma_keyed_build(&cmd->sgl, (uintptr_t)p->mem->data, 1024, p->mr->rkey ^ 0x5500, false);
		peer_send(p, sizeof(*cmd));
		await_end(p);
	}
	if (!strcmp(name, "long-data"))
		nvme_rdma_keyed_build(&cmd->sgl, (uintptr_t)p->mem->data, NVME_RDMA_KEYED_LEN_MAX, p->mr->rkey, false);
	else if (!strcmp(name, "other-sgl"))
		cmd->sgl.type = NVME_SGL_TRANSPORT;
	else if (!strcmp(name, "missing-data"))
		cmd->sgl = (struct nvme_sgl_desc){ .length = htole32(1024), .type = NVME_SGL_OFFSET };
	else
		return;
	peer_send(p, sizeof(*cmd));
	tell_status(p, 0);
}

static void link_queue(struct peer *p, uint16_t qid, uint16_t cntlid)
{
	struct nvme_rdma_cm_req req = { .qid = qid, .hrqsize = 32, .hsqsize = 31, .cntlid = cntlid };
	uint8_t wire[NVME_RDMA_CM_REQ_LEN];

	nvme_rdma_cm_req_build(&req, wire);
	peer_connect(p, wire, sizeof(wire), 4);
}

static void write_and_leave(struct peer *p, struct nvme_sqe *sqe)
{
	struct ibv_wc wc;

	sqe->cdw12 = 0;
	sqe->sgl = (struct nvme_sgl_desc){ .length = htole32(512), .type = NVME_SGL_OFFSET };
	memset(p->mem->capsule + sizeof(*sqe), 0x5a, 512);
	peer_send(p, sizeof(*sqe) + 512);
	usleep(100 * 1000);
	while (ibv_poll_cq(p->id->send_cq, 1, &wc) == 1) /* the capsule is there */
		if (wc.status != IBV_WC_SUCCESS)
			die("the write did not arrive");
	rdma_disconnect(p->id);
}

/* how: CASE NQN PID MS */
static void late_write(struct peer *admin, const char *addr, const char *port, char **how)
{
	struct nvmf_connect_data *data = (struct nvmf_connect_data *)admin->mem->data;
	bool leaves = !strcmp(how[0], "late-write-and-leave");
	pid_t target = (pid_t)atoi(how[2]);
	struct nvmf_connect_cmd *cmd;
	struct peer io = { 0 };
	struct nvme_sqe *sqe;

	link_queue(admin, 0, 0xffff);
	cmd = connect_command(admin);
	cmd->kato = htole32(5000);
	snprintf(data->subsysnqn, sizeof(data->subsysnqn), "%s", how[1]);
	connect_to(admin);
	data->cntlid = htole16((uint16_t)le32toh(admin->mem->cqes[0].dw0));
	enable(admin);

	peer_resolve(&io, addr, port);
	link_queue(&io, 1, le16toh(data->cntlid));
	cmd = connect_command(&io);
	cmd->qid = htole16(1);
	memcpy(io.mem->data, data, sizeof(*data));
	connect_to(&io);

	kill(target, SIGSTOP);
	usleep(100 * 1000);
	memset(io.mem->data, 0x5a, sizeof(io.mem->data));
	sqe = (struct nvme_sqe *)io.mem->capsule;
	*sqe = (struct nvme_sqe){ .opcode = 0x01, .flags = NVME_SQE_PSDT_SGL, .cid = htole16(1), .nsid = htole32(1), .cdw12 = htole32(7) };
	nvme_rdma_keyed_build(&sqe->sgl, (uintptr_t)io.mem->data, sizeof(io.mem->data), io.mr->rkey, false);
	if (leaves)
		write_and_leave(&io, sqe);
	else
		peer_send(&io, sizeof(*sqe));
	usleep((useconds_t)atoi(how[3]) * 1000);
	kill(target, SIGCONT);
	if (leaves) {
		usleep(500 * 1000);
		printf("left\n");
		exit(0);
	}
	tell_status(&io, 1);
}

static void run(struct peer *p, const char *name)
{
	struct nvme_rdma_cm_req req = { .hrqsize = 32, .hsqsize = 31, .cntlid = 0xffff };
	uint8_t wire[NVME_RDMA_CM_REQ_LEN], reads = 4;

	if (!strcmp(name, "huge-queue"))
		req.hsqsize = 0xffff;
	else if (!strcmp(name, "no-receives"))
		req.hrqsize = 0;
	else if (!strcmp(name, "no-reads"))
		reads = 0;
	nvme_rdma_cm_req_build(&req, wire);
	if (!strcmp(name, "other-format"))
		wire[0] = 1;
	peer_connect(p, wire, !strcmp(name, "short-data") ? 4 : sizeof(wire), reads);
	first_command(p, name);
	connect_to(p);
	enable(p);
	too_many(p, name);
	identify(p, 4096, !strcmp(name, "wrong-key-for-answer") ? p->mr->rkey ^ 0x5500 : p->mr->rkey);
	tell_status(p, 2);
}

int main(int argc, char **argv)
{
	struct peer p = { 0 };

	if (argc != 4 && argc != 7) {
		fprintf(stderr, "usage: rdma_peer ADDRESS PORT CASE [NQN PID MS]\n");
		return 2;
	}
	peer_resolve(&p, argv[1], argv[2]);
	if (argc == 7)
		late_write(&p, argv[1], argv[2], argv + 3);
	run(&p, argv[3]);
	return 1;
}
