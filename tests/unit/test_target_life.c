// SPDX-License-Identifier: BSD-3-Clause
/* Ports, subsystems and hosts as they are configured; placing, faults, drain and the end. */
#include "target_host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct nvof_target *t;

static int setup(void **state)
{
	t = th_target_with(4, "mem:1M");
	return 0;
}

static int teardown(void **state)
{
	nvof_target_free(t);
	return 0;
}

/* C164, C135 */
static void listen_specs_are_checked(void **state)
{
	static const struct {
		const char *spec;
		int ret;
		const char *says;
	} specs[] = {
		{ "tpc:127.0.0.1:4420", -EINVAL, "known: fake, fakenet" },
		{ "", -EINVAL, "unknown transport" },
		{ "fakenet", -EINVAL, "port is missing" },
		{ "fakenet:127.0.0.1", -EINVAL, "port is missing" },
		{ "fakenet:127.0.0.1:", -EINVAL, "1 to 65535" },
		{ "fakenet:127.0.0.1:-0", -EINVAL, "1 to 65535" },
		{ "fakenet:127.0.0.1:65536", -EINVAL, "1 to 65535" },
		{ "fakenet:127.0.0.1:abc", -EINVAL, "1 to 65535" },
		{ "fakenet:127.0.0.1:04420", -EINVAL, "1 to 65535" },
		{ "fakenet::4420", -EINVAL, "address is missing" },
		{ "fakenet:::1:4420", -EINVAL, "brackets" },
		{ "fakenet:[::1]4420", -EINVAL, "[IPV6]:PORT" },
		{ "fakenet:[::1:4420", -EINVAL, "[IPV6]:PORT" },
		{ "fake:1", -EINVAL, "no address" },
		{ "fake", -EEXIST, "already" },
		{ "fakenet:in.use:4420", -EADDRINUSE, "address in use" },
		{ "FakeNet:127.0.0.1:4420", 0, NULL },
		{ "fakenet:127.0.0.1:4420", -EEXIST, "already" },
		{ "fakenet:[::1]:4420", 0, NULL },
		{ "fakenet:[0:0:0:0:0:0:0:1]:4420", -EEXIST, "already" }, /* C062 */
		{ "fakenet:[::ffff:127.0.0.1]:4420", -EEXIST, "already" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		assert_int_equal(nvof_target_listen(t, specs[i].spec, NULL, 0), specs[i].ret);
		if (specs[i].says)
			th_assert_errmsg(t, specs[i].says);
	}
	assert_int_equal(nvof_target_unlisten(t, "fakenet:[::1]:4420"), 0);
	assert_int_equal(nvof_target_unlisten(t, "fakenet:[::1]:4420"), -ENOENT);
	/* C135 in part: what was refused is accepted once the first one has gone. */
	assert_int_equal(nvof_target_listen(t, "fakenet:[::1]:4420", NULL, 0), 0);
	assert_int_equal(nvof_target_unlisten(t, "FAKENET:[0:0::1]:4420"), 0);
	assert_int_equal(nvof_target_listen(t, "fakenet:[0:0:0:0:0:0:0:1]:4420", NULL, 0), 0);
}

static void subsystems_and_hosts_are_checked(void **state)
{
	struct nvof_subsys_opts opts;
	char long_nqn[300] = "nqn.2024-01.org.example:";

	assert_int_equal(nvof_target_add_subsys(t, SUBNQN, NULL), -EEXIST);
	assert_int_equal(nvof_target_add_subsys(t, "disks", NULL), -EINVAL);
	assert_int_equal(nvof_target_add_subsys(t, NVMF_DISC_NQN, NULL), -EINVAL);
	memset(long_nqn + strlen(long_nqn), 'x', 223 - strlen(long_nqn));
	assert_int_equal(nvof_target_add_subsys(t, long_nqn, NULL), 0);
	strcat(long_nqn, "x");
	assert_int_equal(nvof_target_add_subsys(t, long_nqn, NULL), -EINVAL);
	nvof_subsys_opts_init(&opts);
	opts.serial = "a serial number that is too long";
	assert_int_equal(nvof_target_add_subsys(t, SUBNQN "2", &opts), -EINVAL);
	th_assert_errmsg(t, "serial");
	nvof_subsys_opts_init(&opts);
	opts.cntlid_min = 10;
	opts.cntlid_max = 9;
	assert_int_equal(nvof_target_add_subsys(t, SUBNQN "2", &opts), -EINVAL);
	assert_int_equal(nvof_target_allow_host(t, SUBNQN, "host"), -EINVAL);
	assert_int_equal(nvof_target_allow_host(t, SUBNQN, HOSTNQN), 0);
	assert_int_equal(nvof_target_allow_host(t, SUBNQN, HOSTNQN), -EEXIST);
	assert_int_equal(nvof_target_disallow_host(t, SUBNQN, HOSTNQN), 0);
	assert_int_equal(nvof_target_disallow_host(t, SUBNQN, HOSTNQN), -ENOENT);
	assert_int_equal(nvof_target_allow_host(t, SUBNQN "2", HOSTNQN), -ENOENT);
}

static void impossible_options_are_refused(void **state)
{
	struct nvof_target_opts opts;
	struct nvof_target *other;

	nvof_target_opts_init(&opts);
	opts.mdts_len = 5000;
	assert_int_equal(nvof_target_new(&opts, &other), -EINVAL);
	/* MDTS 0 is no limit, so that 4096 cannot be told to hosts. */
	opts.mdts_len = 4096;
	assert_int_equal(nvof_target_new(&opts, &other), -EINVAL);
	nvof_target_opts_init(&opts);
	opts.io_threads = 0;
	assert_int_equal(nvof_target_new(&opts, &other), -EINVAL);
	nvof_target_opts_init(&opts);
	opts.max_queue_size = 1;
	assert_int_equal(nvof_target_new(&opts, &other), -EINVAL);
	assert_int_equal(nvof_target_new(NULL, &other), 0);
	nvof_target_free(other);
	nvof_target_free(NULL);
}

/* C042 */
static void what_is_left_out_is_refused(void **state)
{
	struct nvof_target_ns_opts o;
	char msg[128];

	nvof_target_ns_opts_init(&o);
	assert_int_equal(nvof_target_listen(t, NULL, NULL, 0), -EINVAL);
	assert_string_equal(nvof_target_errmsg(t, msg, sizeof(msg)), "spec is NULL");
	assert_int_equal(nvof_target_listen_ana(t, NULL, NULL, 0, NULL, 0), -EINVAL);
	assert_int_equal(nvof_target_listen_ana(t, "fake", NULL, 1, NULL, 0), -EINVAL);
	assert_int_equal(nvof_target_set_ana(t, NULL, 1, NVOF_ANA_OPTIMIZED), -EINVAL);
	assert_int_equal(nvof_target_unlisten(t, NULL), -EINVAL);
	assert_int_equal(nvof_target_add_subsys(t, NULL, NULL), -EINVAL);
	assert_int_equal(nvof_target_remove_subsys(t, NULL), -EINVAL);
	assert_int_equal(nvof_target_allow_host(t, SUBNQN, NULL), -EINVAL);
	assert_int_equal(nvof_target_allow_host(t, NULL, SUBNQN), -EINVAL);
	assert_int_equal(nvof_target_disallow_host(t, SUBNQN, NULL), -EINVAL);
	assert_int_equal(nvof_target_allow_any_host(t, NULL, true), -EINVAL);
	assert_int_equal(nvof_target_add_ns(t, SUBNQN, NULL, NULL), -EINVAL);
	assert_int_equal(nvof_target_add_ns(t, NULL, &o, NULL), -EINVAL);
	assert_int_equal(nvof_target_add_ns(t, SUBNQN, &o, NULL), -EINVAL); /* no backend */
	assert_int_equal(nvof_target_remove_ns(t, NULL, 1), -EINVAL);
	assert_int_equal(nvof_target_resize_ns(t, NULL, 1, 0), -EINVAL);
	assert_int_equal(nvof_target_add_referral(t, NULL, NULL, NULL), -EINVAL);
	assert_int_equal(nvof_target_add_fault(t, NULL), -EINVAL);
	assert_int_equal(nvof_target_load_config(t, NULL), -EINVAL);
	assert_int_equal(nvof_target_save_config(t, NULL), -EINVAL);
	assert_string_equal(nvof_target_errmsg(t, msg, sizeof(msg)), "path is NULL");
}

static void connections_spread_evenly(void **state)
{
	struct th_queue *q[64];
	int nr[4] = { 0 };

	for (int i = 0; i < 64; i++) {
		q[i] = th_open(t);
		nr[th_thread(q[i])->index]++;
	}
	for (int i = 0; i < 4; i++)
		assert_int_equal(nr[i], 16);
	/* Threads whose connections ended get the next ones. */
	for (int i = 0; i < 64; i++)
		if (th_thread(q[i])->index == 2) {
			th_close(q[i]);
			q[i] = NULL;
		}
	for (int i = 0; i < 64; i++)
		if (!q[i]) {
			q[i] = th_open(t);
			assert_int_equal(th_thread(q[i])->index, 2);
		}
	for (int i = 0; i < 64; i++)
		th_close(q[i]);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(t->threads[i].nr_placed, 0);
}

static void a_connection_that_never_connects_is_closed(void **state)
{
	struct th_connect c = th_connect_admin();
	struct nvmf_connect_data data;
	struct nvof_target_opts opts;
	struct nvof_target *other;
	struct th_queue *q;
	struct th_cmd *cmd;

	nvof_target_opts_init(&opts);
	opts.handshake_tmo_ms = 20;
	other = th_target_opts(&opts);
	q = th_open(other);
	th_wait_closed(q);
	th_close(q);
	/* A Connect without its data is none. */
	q = th_open(other);
	th_connect_data(&c, &data);
	cmd = th_send_slow(q, th_connect_sqe(&c), &data, sizeof(data));
	th_wait_closed(q);
	th_wait(cmd);
	th_close(q);
	nvof_target_free(other);
}

static void removing_a_port_closes_what_came_by_it(void **state)
{
	struct th_queue *a, *b;
	struct th_connect c = th_connect_admin();

	assert_int_equal(nvof_target_listen(t, "fakenet:192.0.2.7:4420", NULL, 0), 0);
	a = th_open_port(th_port(t, "fakenet:192.0.2.7:4420"));
	assert_status(th_connect(a, &c), 0);
	b = th_admin(t, NULL);
	assert_int_equal(nvof_target_unlisten(t, "fakenet:192.0.2.7:4420"), 0);
	th_wait_closed(a);
	th_close(a);
	assert_false(th_closed(b));
	th_close(b);
}

/* ---- faults ---- */

static void faults_refuse_delay_and_drop_connects(void **state)
{
	struct th_connect c = th_connect_admin();
	struct th_queue *q = th_open(t);
	struct nvmf_connect_data data;
	struct th_cmd *cmd;

	assert_int_equal(nvof_target_add_fault(t, "on=connect,qid=0,status=1:81h,count=1"), 0);
	assert_status(th_connect(q, &c), NVME_STATUS(1, 0x81));
	assert_int_equal(nvof_target_add_fault(t, "on=connect,delay=1ms,count=1"), 0);
	assert_status(th_connect(q, &c), 0);
	th_close(q);
	assert_int_equal(nvof_target_add_fault(t, "on=connect,drop,count=1"), 0);
	q = th_open(t);
	th_connect_data(&c, &data);
	cmd = th_send(q, th_connect_sqe(&c), &data, sizeof(data));
	th_wait_closed(q);
	assert_status(th_wait(cmd), 0xffff);
	th_close(q);
	assert_int_equal(nvof_target_add_fault(t, "on=everything"), -EINVAL);
	th_assert_errmsg(t, "everything");
}

static void faults_hold_fail_and_ignore_commands(void **state)
{
	uint16_t cntlid;
	struct th_queue *admin = th_admin(t, &cntlid), *io = th_io(t, 1, cntlid);
	struct th_cmd *ignored, *delayed;
	uint8_t data[512];

	assert_int_equal(nvof_target_add_fault(t, "on=io,opcode=read,nsid=1,ignore,count=1"), 0);
	ignored = th_send(io, th_rw(nvme_cmd_read, 1, 0, 1), data, 512);
	assert_true(th_held(ignored));
	assert_status(th_cmd(io, th_rw(nvme_cmd_read, 1, 0, 1), data, 512), 0);
	/* An ignored command holds no namespace: it can be removed. */
	assert_int_equal(target_ns_refs(th_ns(t, SUBNQN, 1), 0), 0);
	assert_int_equal(nvof_target_add_fault(t, "on=io,status=2:81h:dnr,count=2"), 0);
	assert_status(th_cmd(io, th_rw(nvme_cmd_write, 1, 0, 1), data, 512), NVME_STATUS(2, 0x81) | NVME_STATUS_DNR);
	assert_status(th_cmd(io, th_rw(nvme_cmd_flush, 1, 0, 1), NULL, 0), NVME_STATUS(2, 0x81) | NVME_STATUS_DNR);
	assert_status(th_cmd(io, th_rw(nvme_cmd_flush, 1, 0, 1), NULL, 0), 0);
	assert_int_equal(nvof_target_add_fault(t, "on=admin,opcode=keep-alive,status=0:6,count=1"), 0);
	assert_status(th_cmd(admin, th_sqe(nvme_admin_keep_alive, 0, 0, 0, 0), NULL, 0), NVME_STATUS(0, 6));
	assert_int_equal(nvof_target_add_fault(t, "on=io,delay=20ms,count=1"), 0);
	delayed = th_send(io, th_rw(nvme_cmd_read, 1, 0, 1), data, 512);
	assert_status(th_wait(delayed), 0);
	assert_int_equal(nvof_target_add_fault(t, "on=io,delay=3600s,count=1"), 0);
	delayed = th_send(io, th_rw(nvme_cmd_read, 1, 0, 1), data, 512);
	assert_true(th_held(delayed));
	th_close(io);
	assert_status(th_wait(ignored), 0xffff);
	assert_status(th_wait(delayed), 0xffff);
	th_close(admin);
}

static int calls;

static void go(struct target_queue *q)
{
	__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
}

struct point {
	struct loop_work work;
	struct target_queue *q;
	enum target_link_point point;
};

static void at_point(struct loop_work *work)
{
	struct point *p = container_of(work, struct point, work);

	target_link_point(p->q, p->point, go);
}

/* The link points a transport passes: at once, later, never, or the end. */
static void faults_act_at_link_points(void **state)
{
	static const struct {
		const char *fault;
		enum target_link_point point;
		int nr;
		bool closed;
	} cases[] = {
		{ "on=accept,ignore", TARGET_LINK_ICREQ, 1, false },	   { "on=icreq,ignore", TARGET_LINK_ICREQ, 0, false },
		{ "on=accept,drop", TARGET_LINK_ACCEPT, 0, true },	   { "on=icreq,delay=1ms", TARGET_LINK_ICREQ, 1, false },
		{ "on=icreq,delay=1ms,drop", TARGET_LINK_ICREQ, 0, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct th_queue *q = th_open(t);
		struct point p = { .q = th_core(q), .point = cases[i].point };

		calls = 0;
		assert_int_equal(nvof_target_add_fault(t, cases[i].fault), 0);
		loop_work_init(&p.work, at_point);
		loop_post(th_core(q)->loop, &p.work);
		if (cases[i].closed)
			th_wait_closed(q);
		while (__atomic_load_n(&calls, __ATOMIC_RELAXED) < cases[i].nr)
			th_sync(q);
		th_sync(q);
		assert_int_equal(__atomic_load_n(&calls, __ATOMIC_RELAXED), cases[i].nr);
		nvof_target_clear_faults(t);
		th_close(q);
	}
}

/* ---- drain ---- */

struct drain {
	pthread_t thread;
	unsigned int tmo_ms;
	int ret;
};

static void *drain_main(void *arg)
{
	struct drain *d = arg;

	d->ret = nvof_target_drain(t, d->tmo_ms);
	return NULL;
}

/* A command that comes after the drain has begun: kept, not answered. */
static struct th_cmd *late_cmd(struct th_queue *q, struct nvme_sqe sqe)
{
	struct th_cmd *cmd;

	while (!th_held(cmd = th_send(q, sqe, NULL, 0)))
		th_wait(cmd);
	return cmd;
}

static void drain_lets_io_in_flight_end_and_answers_no_more(void **state)
{
	struct drain d = { .tmo_ms = 60000 };
	uint16_t cntlid;
	struct th_queue *admin = th_admin(t, &cntlid), *io = th_io(t, 1, cntlid);
	struct th_cmd *write, *aer, *late, *late_admin;
	uint8_t data[512] = { 1 };

	aer = th_send(admin, th_sqe(nvme_admin_async_event, 0, 0, 0, 0), NULL, 0);
	write = th_send_slow(io, th_rw(nvme_cmd_write, 1, 0, 1), data, 512);
	th_sync(io);
	pthread_create(&d.thread, NULL, drain_main, &d);
	late = late_cmd(io, th_rw(nvme_cmd_flush, 1, 0, 1));
	late_admin = late_cmd(admin, th_sqe(nvme_admin_keep_alive, 0, 0, 0, 0));
	assert_false(th_closed(admin)); /* its end would be that of the I/O queue */
	th_release(write);
	assert_status(th_wait(write), 0);
	assert_status(th_wait(late), 0xffff);
	assert_status(th_wait(late_admin), 0xffff);
	assert_status(th_wait(aer), 0xffff);
	th_wait_closed(io);
	th_wait_closed(admin);
	pthread_join(d.thread, NULL);
	assert_int_equal(d.ret, 0);
	th_close(io);
	th_close(admin);
	/* Nobody gets in any more. */
	assert_int_equal(nvof_target_listen(t, "fake", NULL, 0), -ESHUTDOWN);
}

static void drain_gives_up_on_io_that_does_not_end(void **state)
{
	struct drain d = { .tmo_ms = 20 };
	uint16_t cntlid;
	struct th_queue *admin = th_admin(t, &cntlid), *io = th_io(t, 1, cntlid);
	struct th_cmd *write, *read;
	uint8_t data[512] = { 1 };

	read = th_send_hold(io, th_rw(nvme_cmd_read, 1, 0, 1), data, 512);
	write = th_send_slow(admin, th_sqe(nvme_admin_set_features, 0, NVME_FEAT_FID_HOST_BEHAVIOR, 0, 0), data, 512);
	th_sync(io);
	th_sync(admin);
	pthread_create(&d.thread, NULL, drain_main, &d);
	pthread_join(d.thread, NULL);
	assert_int_equal(d.ret, -ETIMEDOUT);
	assert_true(th_closed(io));
	assert_true(th_closed(admin));
	assert_status(th_wait(write), 0xffff);
	assert_status(th_wait(read), 0);
	th_close(io);
	th_close(admin);
}

static void free_ends_everything_at_once(void **state)
{
	struct nvof_target *other = th_target_with(2, "mem:1M");
	struct th_queue *admin, *io, *raw;
	struct th_cmd *aer, *write;
	uint16_t cntlid;
	uint8_t data[512];

	admin = th_admin(other, &cntlid);
	io = th_io(other, 1, cntlid);
	raw = th_open(other);
	aer = th_send(admin, th_sqe(nvme_admin_async_event, 0, 0, 0, 0), NULL, 0);
	write = th_send_slow(io, th_rw(nvme_cmd_write, 1, 0, 1), data, 512);
	th_sync(admin);
	th_sync(io);
	nvof_target_free(other);
	assert_status(th_wait(aer), 0xffff);
	assert_status(th_wait(write), 0xffff);
	th_close(admin);
	th_close(io);
	th_close(raw);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(listen_specs_are_checked),
		TEST(subsystems_and_hosts_are_checked),
		TEST(impossible_options_are_refused),
		TEST(what_is_left_out_is_refused),
		TEST(connections_spread_evenly),
		TEST(a_connection_that_never_connects_is_closed),
		TEST(removing_a_port_closes_what_came_by_it),
		TEST(faults_refuse_delay_and_drop_connects),
		TEST(faults_hold_fail_and_ignore_commands),
		TEST(faults_act_at_link_points),
		TEST(drain_lets_io_in_flight_end_and_answers_no_more),
		TEST(drain_gives_up_on_io_that_does_not_end),
		TEST(free_ends_everything_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
