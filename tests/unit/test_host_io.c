/* SPDX-License-Identifier: BSD-3-Clause */
/* I/O: what goes out, how it is split, and that it completes exactly once. */
#include "host_fake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct io_end {
	int nr, status;
	uint64_t result;
};

static void io_cb(void *arg, const struct nvof_cpl *cpl)
{
	struct io_end *e = arg;

	e->nr++;
	e->status = cpl->status;
	e->result = cpl->result;
}

static struct nvof_ns *open_ns(struct fake *f)
{
	struct nvof_ns *ns = NULL;

	assert_int_equal(nvof_ns_open_sync(f->ctrl, 1, &ns), 0);
	assert_int_equal(nvof_ns_block_size(ns), 512);
	return ns;
}

static int wait_io(struct fake *f, struct io_end *e)
{
	while (!e->nr)
		nvof_ctx_poll(f->ctx, 1000000);
	fake_poll_ms(f, 2);
	assert_int_equal(e->nr, 1);
	return e->status;
}

static void fill(uint8_t *p, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++) {
		seed = seed * 1103515245 + 12345;
		p[i] = (uint8_t)(seed >> 16);
	}
}

static uint64_t sqe_slba(const struct host_req *req)
{
	return le32toh(req->sqe.cdw10) | (uint64_t)le32toh(req->sqe.cdw11) << 32;
}

static struct nvme_sqe last_sqe;

static enum fake_answer keep_sqe(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	if (fq->q.qid && req->sqe.opcode != NVMF_OPCODE)
		last_sqe = req->sqe;
	if (req->sqe.opcode == nvme_cmd_write_zeroes || req->sqe.opcode == nvme_cmd_verify)
		return FAKE_ANSWERED;
	return FAKE_DEFAULT;
}

static void a_command_carries_what_was_asked_for(void **state)
{
	struct fake *f = fake_new();
	struct nvof_hctx *h;
	struct nvof_ns *ns;
	struct io_end e = { 0 };
	uint8_t buf[1024];

	f->on_cmd = keep_sqe;
	assert_int_equal(fake_connect(f, 1), 0);
	h = nvof_ctrl_hctx(f->ctrl, 0);
	ns = open_ns(f);
	assert_int_equal(nvof_write(h, ns, 5, 2, buf, NVOF_IO_FUA | NVOF_IO_LR | NVOF_IO_DEALLOC, io_cb, &e), 0);
	assert_int_equal(e.nr, 0); /* never from inside the call */
	assert_int_equal(wait_io(f, &e), 0);
	assert_int_equal(last_sqe.opcode, nvme_cmd_write);
	assert_int_equal(last_sqe.flags, NVME_SQE_PSDT_SGL);
	assert_int_equal(le32toh(last_sqe.nsid), 1);
	assert_int_equal(le32toh(last_sqe.cdw10), 5);
	assert_int_equal(le32toh(last_sqe.cdw12), (1u << 30 | 1u << 31) + 1);
	memset(&e, 0, sizeof(e));
	assert_int_equal(nvof_write_zeroes(h, ns, 7, 3, NVOF_IO_DEALLOC, io_cb, &e), 0);
	wait_io(f, &e);
	assert_int_equal(last_sqe.opcode, nvme_cmd_write_zeroes);
	assert_int_equal(le32toh(last_sqe.cdw12), (1u << 25) + 2);
	memset(&e, 0, sizeof(e));
	assert_int_equal(nvof_flush(h, ns, io_cb, &e), 0);
	wait_io(f, &e);
	assert_int_equal(last_sqe.opcode, nvme_cmd_flush);
	fake_free(f);
}

/* C086, C101: ranges are checked here, whatever overflows. */
static void io_beyond_the_end_is_refused_at_once(void **state)
{
	struct fake *f = fake_new();
	uint8_t buf[512];
	struct nvof_hctx *h;
	struct nvof_ns *ns;
	uint64_t end;
	struct nvof_range r = { .slba = 0, .nlb = 1 };

	assert_int_equal(fake_connect(f, 2), 0);
	h = nvof_ctrl_hctx(f->ctrl, 0);
	ns = open_ns(f);
	end = nvof_ns_nr_blocks(ns);
	assert_int_equal(nvof_read(h, ns, end - 1, 2, buf, 0, io_cb, NULL), -ERANGE);
	assert_int_equal(nvof_read(h, ns, end, 1, buf, 0, io_cb, NULL), -ERANGE);
	assert_int_equal(nvof_read(h, ns, UINT64_MAX, 65536, buf, 0, io_cb, NULL), -ERANGE);
	assert_int_equal(nvof_write_zeroes(h, ns, UINT64_MAX - 1, UINT32_MAX, 0, io_cb, NULL), -ERANGE);
	assert_int_equal(nvof_read(h, ns, 0, 0, buf, 0, io_cb, NULL), -EINVAL);
	r.slba = end;
	assert_int_equal(nvof_discard(h, ns, &r, 1, io_cb, NULL), -ERANGE);
	assert_int_equal(nvof_discard(h, ns, &r, 0, io_cb, NULL), -EINVAL);
	assert_int_equal(nvof_discard(h, ns, &r, 257, io_cb, NULL), -EINVAL);
	assert_int_equal(f->nr_io_cmds, 0);
	fake_free(f);
}

/* C101: MDTS 128 KiB: 1 MiB is 8 commands, a block more 9. */
static void a_large_io_is_split_by_mdts_and_completes_once(void **state)
{
	static const uint32_t nlb[] = { 256, 257, 2048, 2049 }, cmds[] = { 1, 2, 8, 9 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(nlb); i++) {
		struct fake *f = fake_new();
		size_t len = nlb[i] * 512u;
		uint8_t *out = malloc(len), *in = malloc(len);
		struct io_end e = { 0 };
		struct nvof_ns *ns;
		struct nvof_hctx *h;

		assert_int_equal(fake_connect(f, 1), 0);
		h = nvof_ctrl_hctx(f->ctrl, 0);
		ns = open_ns(f);
		fill(out, len, nlb[i]);
		assert_int_equal(nvof_write(h, ns, 11, nlb[i], out, 0, io_cb, &e), 0);
		assert_int_equal(wait_io(f, &e), 0);
		assert_int_equal(f->nr_io_cmds, cmds[i]);
		assert_memory_equal(f->disk + 11 * 512, out, len);
		assert_int_equal(nvof_read_sync(h, ns, 11, nlb[i], in, 0), 0);
		assert_memory_equal(in, out, len);
		assert_int_equal(nvof_hctx_nr_free(h), 127);
		free(out);
		free(in);
		fake_free(f);
	}
}

/* C113 */
static void iovecs_of_any_shape_are_split_right(void **state)
{
	struct fake *f = fake_new();
	const size_t len = 1 << 20;
	uint8_t *out = malloc(len), *in = malloc(len);
	struct iovec iov[2000], riov[2000];
	unsigned int seed;
	struct nvof_hctx *h;
	struct nvof_ns *ns;

	assert_int_equal(fake_connect(f, 1), 0);
	h = nvof_ctrl_hctx(f->ctrl, 0);
	ns = open_ns(f);
	for (seed = 1; seed <= 20; seed++) {
		struct io_end e = { 0 }, r = { 0 };
		size_t at = 0;
		int n = 0;

		srand(seed);
		fill(out, len, seed);
		memset(in, 0, len);
		while (at < len) {
			size_t piece = n % 7 == 3 ? 0 : 1 + (size_t)rand() % (seed < 10 ? 3000 : 100000);

			if (piece > len - at || n == 1999)
				piece = len - at;
			iov[n] = (struct iovec){ .iov_base = piece ? out + at : NULL, .iov_len = piece };
			riov[n++] = (struct iovec){ .iov_base = piece ? in + at : NULL, .iov_len = piece };
			at += piece;
		}
		assert_int_equal(nvof_writev(h, ns, seed, 2048, iov, n, 0, io_cb, &e), 0);
		assert_int_equal(wait_io(f, &e), 0);
		assert_memory_equal(f->disk + seed * 512, out, len);
		assert_int_equal(nvof_readv(h, ns, seed, 2048, riov, n, 0, io_cb, &r), 0);
		assert_int_equal(wait_io(f, &r), 0);
		assert_memory_equal(in, out, len);
		assert_int_equal(nvof_readv(h, ns, seed, 2047, riov, n, 0, io_cb, &r), -EINVAL);
		assert_int_equal(nvof_readv(h, ns, seed, 2049, riov, n, 0, io_cb, &r), -EINVAL);
		assert_int_equal(nvof_readv(h, ns, seed, 1, riov, -1, 0, io_cb, &r), -EINVAL);
	}
	free(out);
	free(in);
	fake_free(f);
}

static uint32_t zero_lens[8], nr_zero_lens;

static enum fake_answer count_zeroes(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	if (!fq->q.qid || req->sqe.opcode != nvme_cmd_write_zeroes)
		return FAKE_DEFAULT;
	zero_lens[nr_zero_lens++ % 8] = (le32toh(req->sqe.cdw12) & 0xffff) + 1;
	assert_int_equal(req->data_len, 0);
	return FAKE_ANSWERED;
}

static void commands_without_data_are_split_at_65536_blocks(void **state)
{
	struct fake *f = fake_new();
	struct io_end e = { 0 };
	struct nvof_ns *ns;

	f->on_cmd = count_zeroes;
	f->id_ns.nsze = htole64(1u << 20);
	nr_zero_lens = 0;
	assert_int_equal(fake_connect(f, 1), 0);
	ns = open_ns(f);
	assert_int_equal(nvof_write_zeroes(nvof_ctrl_hctx(f->ctrl, 0), ns, 9, 2 * 65536 + 1, 0, io_cb, &e), 0);
	assert_int_equal(wait_io(f, &e), 0);
	assert_int_equal(nr_zero_lens, 3);
	assert_int_equal(zero_lens[0], 65536);
	assert_int_equal(zero_lens[2], 1);
	f->ctrl->init.id->oncs = 0;
	assert_int_equal(nvof_write_zeroes(nvof_ctrl_hctx(f->ctrl, 0), ns, 9, 1, 0, io_cb, &e), -ENOTSUP);
	assert_int_equal(nvof_verify(nvof_ctrl_hctx(f->ctrl, 0), ns, 9, 1, 0, io_cb, &e), -ENOTSUP);
	fake_free(f);
}

static uint64_t bad_slba;

static enum fake_answer fail_one_part(struct fake *f, struct fake_queue *fq, struct host_req *req, struct nvme_cqe *cqe)
{
	if (!fq->q.qid || req->sqe.opcode != nvme_cmd_read || sqe_slba(req) != bad_slba)
		return FAKE_DEFAULT;
	return fake_status(cqe, 0x281, 0);
}

static void the_first_error_of_a_split_wins_and_ends_it(void **state)
{
	struct fake *f = fake_new();
	uint8_t *buf = malloc(4 << 20);
	struct nvof_connect_opts o;
	struct io_end e = { 0 };
	struct nvof_ns *ns;

	f->on_cmd = fail_one_part;
	fake_opts(f, &o);
	o.queue_size = 3; /* two at a time */
	assert_int_equal(fake_connect_opts(f, &o), 0);
	ns = open_ns(f);
	bad_slba = 512;
	assert_int_equal(nvof_read(nvof_ctrl_hctx(f->ctrl, 0), ns, 0, 8192, buf, 0, io_cb, &e), 0);
	assert_int_equal(wait_io(f, &e), 0x281);
	assert_true(f->nr_io_cmds < 8); /* of 32 */
	assert_int_equal(nvof_hctx_nr_free(nvof_ctrl_hctx(f->ctrl, 0)), 2);
	free(buf);
	fake_free(f);
}

/* C039, C009 */
static void never_more_than_the_queue_holds_less_one_is_under_way(void **state)
{
	struct fake *f = fake_new();
	uint8_t buf[512], *big = malloc(4 << 20);
	struct nvof_connect_opts o;
	struct io_end e[64] = { 0 };
	struct nvof_hctx *h;
	struct nvof_ns *ns;
	int i, taken = 0;

	fake_opts(f, &o);
	o.queue_size = 4;
	assert_int_equal(fake_connect_opts(f, &o), 0);
	h = nvof_ctrl_hctx(f->ctrl, 0);
	ns = open_ns(f);
	assert_int_equal(nvof_hctx_nr_free(h), 3);
	for (i = 0; i < 64; i++)
		taken += nvof_read(h, ns, 0, 1, buf, 0, io_cb, &e[i]) == 0;
	assert_int_equal(taken, 3);
	assert_int_equal(nvof_read(h, ns, 0, 1, buf, 0, io_cb, &e[63]), -EAGAIN);
	assert_int_equal(nvof_read(h, ns, 0, 8192, big, 0, io_cb, &e[63]), -EAGAIN);
	fake_poll_ms(f, 5);
	for (i = 0; i < 64; i++)
		assert_int_equal(e[i].nr, i < 3);
	assert_int_equal(nvof_read(h, ns, 0, 8192, big, 0, io_cb, &e[10]), 0);
	assert_int_equal(wait_io(f, &e[10]), 0);
	assert_int_equal(f->max_out, 3);
	free(big);
	fake_free(f);
}

/* C009 */
static void io_before_live_is_refused(void **state)
{
	struct fake *f = fake_new();
	struct nvof_connect_opts o;
	struct nvof_cmd cmd = { .opcode = 2 };
	uint8_t buf[4096];

	fake_opts(f, &o);
	assert_int_equal(nvof_ctrl_connect(f->ctx, &o, fake_connect_cb, f, &f->ctrl), 0);
	assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_CONNECTING);
	assert_int_equal(nvof_identify(f->ctrl, 1, 0, 0, 0, buf, io_cb, NULL), -ENOTCONN);
	while (!nvof_ctrl_hctx(f->ctrl, 0))
		nvof_ctx_poll(f->ctx, 1000);
	assert_int_equal(nvof_ctrl_state(f->ctrl), NVOF_CTRL_CONNECTING);
	assert_int_equal(nvof_io_passthru(nvof_ctrl_hctx(f->ctrl, 0), &cmd, NVOF_DIR_FROM_CTRL, buf, 512, io_cb, NULL), -ENOTCONN);
	assert_int_equal(nvof_hctx_nr_free(nvof_ctrl_hctx(f->ctrl, 0)), 0);
	while (!f->nr_connect_cbs)
		nvof_ctx_poll(f->ctx, 1000);
	assert_int_equal(f->connect_status, 0);
	fake_free(f);
}

static void a_transport_without_room_is_asked_again(void **state)
{
	struct fake *f = fake_new();
	uint8_t *buf = malloc(4 << 20);
	struct io_end e = { 0 }, one = { 0 };
	struct nvof_hctx *h;
	struct nvof_connect_opts o;
	struct nvof_ns *ns;

	fake_opts(f, &o);
	o.queue_size = 4; /* three parts at a time, of 32 */
	assert_int_equal(fake_connect_opts(f, &o), 0);
	h = nvof_ctrl_hctx(f->ctrl, 0);
	ns = open_ns(f);
	f->no_room = true;
	assert_int_equal(nvof_read(h, ns, 0, 1, buf, 0, io_cb, &one), -EAGAIN);
	assert_int_equal(nvof_read(h, ns, 0, 8192, buf, 0, io_cb, &e), -EAGAIN);
	assert_int_equal(nvof_hctx_nr_free(h), 3);
	f->no_room = false;
	assert_int_equal(nvof_read(h, ns, 0, 8192, buf, 0, io_cb, &e), 0);
	f->no_room = true; /* what is under way ends; the rest must wait */
	fake_poll_ms(f, 5);
	assert_int_equal(e.nr, 0);
	assert_int_equal(f->nr_io_cmds, 3);
	f->no_room = false;
	assert_int_equal(wait_io(f, &e), 0);
	assert_int_equal(one.nr, 0);
	free(buf);
	fake_free(f);
}

static void stalled_splits_end_with_the_ctrl(void **state)
{
	struct fake *f = fake_new();
	uint8_t *buf = malloc(4 << 20);
	struct nvof_connect_opts o;
	struct io_end e = { 0 };
	struct nvof_ns *ns;

	fake_opts(f, &o);
	o.queue_size = 2;
	assert_int_equal(fake_connect_opts(f, &o), 0);
	ns = open_ns(f);
	assert_int_equal(nvof_read(nvof_ctrl_hctx(f->ctrl, 0), ns, 0, 8192, buf, 0, io_cb, &e), 0);
	f->no_room = true;
	fake_poll_ms(f, 5);
	assert_int_equal(e.nr, 0);
	assert_int_equal(nvof_ctrl_disconnect_sync(f->ctrl), 0);
	assert_int_equal(e.nr, 1);
	assert_int_equal(e.status, -ECANCELED);
	free(buf);
	fake_free(f);
}

struct chain {
	struct fake *f;
	struct nvof_ns *ns;
	uint8_t buf[512];
	int left, ended;
};

static void chain_cb(void *arg, const struct nvof_cpl *cpl)
{
	struct chain *c = arg;

	c->ended++;
	assert_int_equal(cpl->status, 0);
	if (c->left-- > 0)
		assert_int_equal(nvof_read(nvof_ctrl_hctx(c->f->ctrl, 0), c->ns, 1, 1, c->buf, 0, chain_cb, c), 0);
}

static void a_callback_may_submit_again(void **state)
{
	struct fake *f = fake_new();
	struct nvof_connect_opts o;
	struct chain c = { .f = f, .left = 500 };

	fake_opts(f, &o);
	o.queue_size = 2; /* its own slot must be free by then */
	assert_int_equal(fake_connect_opts(f, &o), 0);
	c.ns = open_ns(f);
	assert_int_equal(nvof_read(nvof_ctrl_hctx(f->ctrl, 0), c.ns, 1, 1, c.buf, 0, chain_cb, &c), 0);
	while (c.ended < 501)
		nvof_ctx_poll(f->ctx, 1000000);
	fake_free(f);
}

static void pass_through_is_never_split_or_fused(void **state)
{
	struct fake *f = fake_new();
	struct nvof_cmd cmd = { .opcode = nvme_cmd_read, .nsid = 1, .cdw12 = 255 };
	uint8_t *buf = malloc(256 * 1024);
	struct io_end e = { 0 };
	struct nvof_hctx *h;
	uint64_t result = 1;

	assert_int_equal(fake_connect(f, 1), 0);
	h = nvof_ctrl_hctx(f->ctrl, 0);
	assert_int_equal(nvof_io_passthru(h, &cmd, NVOF_DIR_FROM_CTRL, buf, 128 * 1024 + 512, io_cb, &e), -EMSGSIZE);
	assert_int_equal(nvof_io_passthru(h, &cmd, NVOF_DIR_NONE, buf, 512, io_cb, &e), -EINVAL);
	assert_int_equal(nvof_io_passthru(h, &cmd, NVOF_DIR_FROM_CTRL, buf, 128 * 1024, io_cb, &e), 0);
	assert_int_equal(wait_io(f, &e), 0);
	cmd.flags = 1;
	assert_int_equal(nvof_io_passthru(h, &cmd, NVOF_DIR_FROM_CTRL, buf, 512, io_cb, &e), -EINVAL);
	cmd = (struct nvof_cmd){ .opcode = nvme_admin_async_event };
	assert_int_equal(nvof_admin_passthru(f->ctrl, &cmd, NVOF_DIR_NONE, NULL, 0, io_cb, &e), -EINVAL);
	cmd.opcode = 0xc0;
	assert_int_equal(nvof_admin_passthru_sync(f->ctrl, &cmd, NVOF_DIR_NONE, NULL, 0, &result), 0x4001);
	assert_int_equal(result, 0);
	assert_contains(nvof_ctx_errmsg(f->ctx), "DNR");
	free(buf);
	fake_free(f);
}

static void more_admin_commands_than_slots_are_told_to_wait(void **state)
{
	struct fake *f = fake_new();
	uint8_t buf[4096];
	struct io_end e[64] = { 0 };
	int i, taken = 0;

	assert_int_equal(fake_connect(f, 1), 0);
	for (i = 0; i < 64; i++)
		taken += nvof_identify(f->ctrl, 1, 0, 0, 0, buf, io_cb, &e[i]) == 0;
	assert_true(taken >= 24 && taken < 31);
	fake_poll_ms(f, 5);
	for (i = 0; i < 64; i++)
		assert_int_equal(e[i].nr, i < taken);
	fake_free(f);
}

static void a_data_digest_error_is_counted_and_ends_one_command(void **state)
{
	struct fake *f = fake_new();
	uint8_t buf[512];
	struct io_end e = { 0 };
	struct nvof_ctrl_stats stats;
	struct nvof_ns *ns;
	struct host_req *req;

	assert_int_equal(fake_connect(f, 1), 0);
	ns = open_ns(f);
	assert_int_equal(nvof_read(nvof_ctrl_hctx(f->ctrl, 0), ns, 0, 1, buf, 0, io_cb, &e), 0);
	req = (struct host_req *)((char *)f->queues[1]->reqs.next - offsetof(struct host_req, priv));
	cds_list_del(f->queues[1]->reqs.next);
	f->queues[1]->nr_out--;
	f->busy++;
	host_req_fail(req, 0x22);
	f->busy--;
	assert_int_equal(wait_io(f, &e), 0x22);
	nvof_ctrl_stats(f->ctrl, &stats);
	assert_int_equal(stats.nr_data_digest_errors, 1);
	assert_int_equal(nvof_read_sync(nvof_ctrl_hctx(f->ctrl, 0), ns, 0, 1, buf, 0), 0);
	fake_free(f);
}

/* What can't be meant is refused at once, and not found out later. */
static void what_no_io_can_be_is_refused(void **state)
{
	static uint8_t buf[1024];
	struct iovec iov[2] = { { buf, 512 }, { NULL, 512 } };
	const unsigned int unknown[] = { ~0u, 1u << 3, 1u << 31 };
	struct fake *f = fake_new();
	struct nvof_hctx *hctx;
	struct nvof_ns *ns;
	size_t i;

	assert_int_equal(fake_connect(f, 1), 0);
	ns = open_ns(f);
	hctx = nvof_ctrl_hctx(f->ctrl, 0);
	for (i = 0; i < ARRAY_SIZE(unknown); i++) {
		assert_int_equal(nvof_read(hctx, ns, 0, 1, buf, unknown[i], io_cb, NULL), -EINVAL);
		assert_int_equal(nvof_write(hctx, ns, 0, 1, buf, unknown[i], io_cb, NULL), -EINVAL);
		assert_int_equal(nvof_compare(hctx, ns, 0, 1, buf, unknown[i], io_cb, NULL), -EINVAL);
		assert_int_equal(nvof_readv(hctx, ns, 0, 1, iov, 1, unknown[i], io_cb, NULL), -EINVAL);
		assert_int_equal(nvof_write_zeroes(hctx, ns, 0, 1, unknown[i], io_cb, NULL), -EINVAL);
		assert_int_equal(nvof_verify(hctx, ns, 0, 1, unknown[i], io_cb, NULL), -EINVAL);
	}
	assert_int_equal(nvof_read(hctx, ns, 0, 1, NULL, 0, io_cb, NULL), -EINVAL);
	assert_int_equal(nvof_write(hctx, ns, 0, 1, NULL, 0, io_cb, NULL), -EINVAL);
	assert_int_equal(nvof_readv(hctx, ns, 0, 1, NULL, 1, 0, io_cb, NULL), -EINVAL);
	assert_int_equal(nvof_writev(hctx, ns, 0, 2, iov, 2, 0, io_cb, NULL), -EINVAL);
	assert_int_equal(nvof_discard(hctx, ns, NULL, 1, io_cb, NULL), -EINVAL);
	assert_int_equal(nvof_identify(f->ctrl, 1, 0, 0, 0, NULL, io_cb, NULL), -EINVAL);
	assert_int_equal(nvof_ctx_new(NULL, NULL), -EINVAL);
	assert_int_equal(nvof_hctx_nr_free(hctx), 127);
	/* A flag with a name that is for another command is none of that. */
	assert_int_equal(nvof_read_sync(hctx, ns, 0, 1, buf, NVOF_IO_DEALLOC | NVOF_IO_LR | NVOF_IO_FUA), 0);
	nvof_ns_close(ns);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_carries_what_was_asked_for),
		cmocka_unit_test(io_beyond_the_end_is_refused_at_once),
		cmocka_unit_test(a_large_io_is_split_by_mdts_and_completes_once),
		cmocka_unit_test(iovecs_of_any_shape_are_split_right),
		cmocka_unit_test(commands_without_data_are_split_at_65536_blocks),
		cmocka_unit_test(the_first_error_of_a_split_wins_and_ends_it),
		cmocka_unit_test(never_more_than_the_queue_holds_less_one_is_under_way),
		cmocka_unit_test(io_before_live_is_refused),
		cmocka_unit_test(a_transport_without_room_is_asked_again),
		cmocka_unit_test(stalled_splits_end_with_the_ctrl),
		cmocka_unit_test(a_callback_may_submit_again),
		cmocka_unit_test(pass_through_is_never_split_or_fused),
		cmocka_unit_test(more_admin_commands_than_slots_are_told_to_wait),
		cmocka_unit_test(a_data_digest_error_is_counted_and_ends_one_command),
		cmocka_unit_test(what_no_io_can_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
