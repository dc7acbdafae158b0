/* SPDX-License-Identifier: BSD-3-Clause */
#include "fake_target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

struct fake ft;

/* ---- the core's doors ---- */

static void note(const char *why)
{
	snprintf(ft.why, sizeof(ft.why), "%s", why);
}

struct loop *target_place(struct nvof_target *target)
{
	return ft.loop;
}
void target_unplace(struct nvof_target *target, struct loop *loop) {}
const struct log *target_port_log(const struct target_port *port)
{
	static const struct log none;

	return &none;
}

struct nvof_target *target_port_target(const struct target_port *port)
{
	return NULL;
}
const struct target_link_params *target_port_params(const struct target_port *port)
{
	return &ft.params;
}

int target_queue_init(struct target_queue *q, const struct target_transport *ops, struct target_port *port, struct loop *loop)
{
	q->ops = ops;
	q->port = port;
	q->loop = loop;
	q->log = &ft.log;
	q->sqsize = 31;
	ft.q = q;
	ft.nr_conns++;
	return 0;
}

void target_link_point(struct target_queue *q, enum target_link_point point, void (*go)(struct target_queue *q))
{
	if (point == TARGET_LINK_ACCEPT ? ft.hold_accept : ft.hold_icreq)
		q->go = go;
	else
		go(q);
}

static void answer(struct target_req *req, uint16_t status)
{
	req->cqe = (struct nvme_cqe){ .cid = req->sqe.cid, .status = htole16(status << 1) };
	if (req->sqe.opcode == FT_RESULT || req->sqe.opcode == FT_READ_RESULT)
		req->cqe.result = htole64(0x1234);
	ft.nr_responded++;
	req->queue->ops->respond(req);
}

static void buffer(struct target_req *req, uint32_t len, bool from)
{
	uint32_t piece = ft.piece ? ft.piece : len ? len : 1, n = (len + piece - 1) / piece, i;

	req->data_len = len;
	req->in_place = from || !ft.block || len % ft.block ? 0 : ft.block;
	req->buf = from ? NULL : malloc(req->in_place ? req->in_place : len + 1);
	req->iov = n > TARGET_REQ_IOV ? calloc(n, sizeof(*req->iov)) : req->iov_inline;
	req->iovcnt = n;
	for (i = 0; i < n; i++)
		req->iov[i] = (struct iovec){ (from || req->in_place ? ft.data : (uint8_t *)req->buf) + i * piece,
					      min_u32(piece, len - i * piece) };
}

static void finish(struct target_req *req)
{
	uint8_t op = req->sqe.opcode;

	if (op == FT_WRITE) {
		ft.written = req->data_len;
		if (!req->in_place)
			memcpy(ft.data, req->buf, req->data_len);
	}
	answer(req, op == FT_READ_ERR ? 0x281 : 0);
}

void target_req_execute(struct target_req *req)
{
	ft.nr_executed++;
	if (ft.hold && ft.nr_held < ARRAY_SIZE(ft.held))
		ft.held[ft.nr_held++] = req;
	else
		finish(req);
}

void ft_release(void)
{
	unsigned int i, n = ft.nr_held;

	ft.nr_held = 0;
	for (i = 0; i < n; i++)
		finish(ft.held[i]);
}

bool target_receives(struct target_queue *q, uint64_t now)
{
	return !q->closing;
}

bool target_req_begin(struct target_req *req)
{
	assert_false(req->active);
	req->active = true;
	req->queue->nr_active++;
	ft.nr_begun++;
	req->dir = DATA_NONE;
	req->data_len = 0;
	req->iov = req->iov_inline;
	req->buf = NULL;
	switch (req->sqe.opcode) {
	case FT_BAD:
		answer(req, 0x4002);
		return false;
	case FT_READ:
	case FT_READ_ERR:
	case FT_READ_RESULT:
		req->dir = DATA_FROM_CTRL;
		buffer(req, req->sgl_len, true);
		target_req_execute(req);
		return false;
	case FT_WRITE:
		req->dir = DATA_TO_CTRL;
		buffer(req, req->sgl_len, false);
		return true;
	default:
		target_req_execute(req);
		return false;
	}
}

void target_req_reject(struct target_req *req, uint16_t status)
{
	if (!req->active) {
		req->active = true;
		req->queue->nr_active++;
		ft.nr_begun++;
		req->dir = DATA_NONE;
		req->data_len = 0;
		req->iov = req->iov_inline;
		req->buf = NULL;
	}
	ft.nr_rejected++;
	ft.last_status = status;
	answer(req, status);
}

bool target_queue_overrun(struct target_queue *q)
{
	return false;
}

void target_req_end(struct target_req *req)
{
	assert_true(req->active);
	req->active = false;
	req->queue->nr_active--;
	ft.nr_ended++;
	free(req->buf);
	if (req->iov != req->iov_inline)
		free(req->iov);
}

void target_queue_fatal(struct target_queue *q, const char *why)
{
	ft.nr_fatal++;
	note(why);
	q->ops->queue_close(q);
}

void target_queue_closed(struct target_queue *q, const char *why)
{
	assert_false(q->closed);
	q->closed = true;
	ft.nr_closed++;
	note(why);
}

/* ---- running it ---- */

static void turn(int64_t timeout_ns)
{
	loop_turn(ft.loop, timeout_ns);
	if (ft.q && ft.q->closed && !ft.q->nr_active) {
		ft.q->ops->queue_free(ft.q);
		ft.q = NULL;
		ft.nr_freed++;
	}
}

void ft_turn(void)
{
	turn(NSEC_PER_MSEC);
}

int ft_setup(void **state)
{
	char addr[64], svc[16];
	struct error err = { 0 };
	uint8_t adrfam;
	uint32_t i;

	memset(&ft, 0, sizeof(ft));
	ft.params = (struct target_link_params){
		.hdr_digest_ok = true,
		.data_digest_ok = true,
		.maxh2cdata = 128 * 1024,
		.inline_len = 128 * 1024,
		.mdts_len = 1 << 20,
		.max_queue_size = 1024,
	};
	ft.data = malloc(FT_MAX_LEN);
	for (i = 0; i < FT_MAX_LEN; i++)
		ft.data[i] = (uint8_t)(i * 7 + (i >> 8) * 3 + (i >> 16));
	if (loop_new(&ft.loop))
		return -1;
	if (tcp_target_transport.listen(NULL, ft.loop, "127.0.0.1", "0", &ft.listener, &err)) {
		fprintf(stderr, "%s\n", error_msg(&err));
		return -1;
	}
	tcp_target_transport.listener_addr(ft.listener, addr, sizeof(addr), svc, sizeof(svc), &adrfam);
	assert_string_equal(addr, "127.0.0.1");
	assert_int_equal(adrfam, NVMF_ADDR_FAMILY_IP4);
	ft.port = (uint16_t)atoi(svc);
	return 0;
}

int ft_teardown(void **state)
{
	int i;

	ft_release();
	if (ft.q)
		ft.q->ops->queue_close(ft.q);
	for (i = 0; i < 2000 && ft.q; i++)
		ft_turn();
	assert_null(ft.q);
	assert_int_equal(ft.nr_begun, ft.nr_ended);
	assert_int_equal(ft.nr_conns, ft.nr_freed);
	tcp_target_transport.unlisten(ft.listener);
	loop_free(ft.loop);
	free(ft.data);
	return 0;
}
