// SPDX-License-Identifier: BSD-3-Clause
/*
 * A target that stands still (a process that is stopped) while the network between it and its host is cut: the host has given up and
 * nothing tells the target so.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "peer/host_peer.h"

#define LEN (64u << 10) /* of the large write: received in place */

struct scene {
	pid_t target;
	int ends; /* closed: the target shall end */
	uint16_t port;
	struct hp admin, q;
	uint8_t before[LEN], late[LEN], got[LEN];
};

static void target_main(int port_fd, int ends)
{
	struct hp_target ht;
	char c;

	hp_target_start(&ht, NULL);
	if (write(port_fd, &ht.port, sizeof(ht.port)) == sizeof(ht.port) && read(ends, &c, 1) >= 0)
		hp_target_stop(&ht);
	_exit(0);
}

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	int port[2], ends[2];

	assert_int_equal(pipe(port) | pipe(ends), 0);
	s->target = fork();
	if (!s->target) {
		close(ends[1]);
		target_main(port[1], ends[0]);
	}
	close(port[1]);
	close(ends[0]);
	s->ends = ends[1];
	assert_int_equal(read(port[0], &s->port, sizeof(s->port)), sizeof(s->port));
	close(port[0]);
	memset(s->before, 0x11, LEN);
	memset(s->late, 0x22, LEN);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;
	int status;

	kill(s->target, SIGCONT); /* a test that failed leaves it stopped */
	close(s->ends);
	waitpid(s->target, &status, 0);
	free(s);
	return status;
}

static void opens(struct scene *s, uint32_t kato_ms)
{
	struct hp_connect c;

	hp_open(&s->admin, s->port);
	hp_ic(&s->admin, 0, 0);
	hp_connect_init(&c, 0, 0xffff);
	c.kato = kato_ms;
	assert_int_equal(hp_connect(&s->admin, &c, NULL), 0);
	assert_int_equal(hp_prop_set(&s->admin, 0x14, 0, 0x460001), 0);
	hp_io_queue(&s->q, s->port, &s->admin, 1, 0, 0);
}

static void closes(struct scene *s)
{
	hp_close(&s->q);
	hp_close(&s->admin);
}

static void stop(struct scene *s)
{
	int status;

	kill(s->target, SIGSTOP);
	assert_int_equal(waitpid(s->target, &status, WUNTRACED), s->target);
	assert_true(WIFSTOPPED(status));
}

static void go_on_after(struct scene *s, unsigned int ms)
{
	usleep(ms * 1000);
	kill(s->target, SIGCONT);
}

/* What another host finds there. */
static void holds(struct scene *s, const uint8_t *data, uint32_t len)
{
	opens(s, 0);
	assert_int_equal(hp_read(&s->q, 1, 0, len / 512, s->got), 0);
	assert_memory_equal(s->got, data, len);
	closes(s);
}

/* The connection stays open at this end: all that the target has to go by is the time. */
static void what_came_while_it_stood_still_is_not_carried_out(void **state)
{
	struct scene *s = *state;
	struct nvme_sqe sqe;

	opens(s, 1000);
	assert_int_equal(hp_write(&s->q, 1, 0, 8, s->before, true), 0);
	stop(s);
	hp_sqe_rw(&sqe, nvme_cmd_write, 1, 0, 8);
	hp_cmd(&s->q, &sqe, s->late, 4096);
	go_on_after(s, 1500);
	hp_expect_closed(&s->q, NULL);
	hp_expect_closed(&s->admin, NULL);
	closes(s);
	holds(s, s->before, 4096);
}

/* The command and the question for its data were there before: not a block of it goes to memory. */
static void data_that_came_while_it_stood_still_is_not_taken(void **state)
{
	struct nvme_tcp_data d = { .hdr = { .type = NVME_TCP_H2C_DATA, .flags = NVME_TCP_F_LAST }, .datal = htole32(LEN) };
	struct scene *s = *state;
	struct nvme_sqe sqe;
	struct hp_pdu in;

	opens(s, 1000);
	assert_int_equal(hp_write(&s->q, 1, 0, LEN / 512, s->before, false), 0);
	hp_sqe_rw(&sqe, nvme_cmd_write, 1, 0, LEN / 512);
	d.cccid = htole16(hp_cmd(&s->q, &sqe, NULL, LEN));
	assert_true(hp_recv(&s->q, &in));
	assert_int_equal(in.pdu.hdr.type, NVME_TCP_R2T);
	assert_int_equal(le32toh(in.pdu.r2t.r2tl), LEN);
	d.ttag = in.pdu.r2t.ttag;
	stop(s);
	hp_send_pdu(&s->q, &d, sizeof(d), s->late, LEN, false);
	go_on_after(s, 1500);
	hp_expect_closed(&s->q, NULL);
	hp_expect_closed(&s->admin, NULL);
	closes(s);
	holds(s, s->before, LEN);
}

static void a_shorter_stop_ends_nobody(void **state)
{
	struct nvme_sqe sqe, ka = { .opcode = nvme_admin_keep_alive };
	struct scene *s = *state;
	uint16_t cid;

	opens(s, 5000);
	for (int i = 0; i < 2; i++) {
		stop(s);
		hp_sqe_rw(&sqe, nvme_cmd_write, 1, 0, 8);
		cid = hp_cmd(&s->q, &sqe, s->late, 4096);
		go_on_after(s, 2600);
		assert_int_equal(hp_status(&s->q, cid, NULL, 0, NULL), 0);
	}
	assert_int_equal(hp_status(&s->admin, hp_cmd(&s->admin, &ka, NULL, 0), NULL, 0, NULL), 0);
	closes(s);
	holds(s, s->late, 4096);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_came_while_it_stood_still_is_not_carried_out),
		TEST(data_that_came_while_it_stood_still_is_not_taken),
		TEST(a_shorter_stop_ends_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
