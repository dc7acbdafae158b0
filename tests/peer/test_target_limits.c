/* SPDX-License-Identifier: BSD-3-Clause */
/* What a host costs a target, and a target that has no memory for one more.  The target is a process of its own, so that both can be seen.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "peer/host_peer.h"

#define NR_HOSTS  256
#define NR_IO	  4
#define QUEUE_MAX (300u << 10) /* bytes of an idle queue */

struct child {
	pid_t pid;
	uint16_t port;
	int end; /* closing it ends the child */
};

static uint64_t memory_of(pid_t pid, int field)
{
	unsigned long pages[2] = { 0 };
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu %lu", &pages[0], &pages[1]), 2);
	fclose(f);
	return (uint64_t)pages[field] * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* more: bytes of address space that it may take beyond what it has when it starts to listen; 0: any. */
static void target_main(int end, int tell, uint64_t more)
{
	struct hp_target ht;
	struct rlimit limit;
	char c;

	hp_target_start(&ht, NULL);
	if (more) {
		limit.rlim_cur = limit.rlim_max = memory_of(getpid(), 0) + more;
		if (setrlimit(RLIMIT_AS, &limit))
			_exit(2);
	}
	if (write(tell, &ht.port, sizeof(ht.port)) != sizeof(ht.port))
		_exit(3);
	while (read(end, &c, 1) < 0)
		;
	hp_target_stop(&ht);
	_exit(0);
}

static struct child child_start(uint64_t more)
{
	struct child c;
	int end[2], tell[2];

	assert_int_equal(pipe(end), 0);
	assert_int_equal(pipe(tell), 0);
	c.pid = fork();
	assert_true(c.pid >= 0);
	if (!c.pid) {
		close(end[1]);
		target_main(end[0], tell[1], more);
	}
	close(end[0]);
	close(tell[1]);
	assert_int_equal(read(tell[0], &c.port, sizeof(c.port)), sizeof(c.port));
	close(tell[0]);
	c.end = end[1];
	return c;
}

static void child_stop(struct child *c)
{
	int status;

	close(c->end);
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* C178 */
static void idle_queues_of_many_hosts_cost_little(void **state)
{
	struct hp *queues = calloc((size_t)NR_HOSTS * (NR_IO + 1), sizeof(*queues));
	struct child c = child_start(0);
	uint64_t before = memory_of(c.pid, 1), each;
	uint8_t buf[512];
	int h, q;

	for (h = 0; h < NR_HOSTS; h++) {
		struct hp *of = &queues[h * (NR_IO + 1)];

		hp_admin(&of[0], c.port, 0, 0);
		for (q = 1; q <= NR_IO; q++)
			hp_io_queue(&of[q], c.port, &of[0], (uint16_t)q, 0, 0);
	}
	each = (memory_of(c.pid, 1) - before) / ((uint64_t)NR_HOSTS * (NR_IO + 1));
	print_message("# %llu bytes for each queue\n", (unsigned long long)each);
	assert_true(each <= QUEUE_MAX);
	/* All of them are live. */
	for (h = 0; h < NR_HOSTS; h++)
		assert_int_equal(hp_read(&queues[h * (NR_IO + 1) + 1 + h % NR_IO], 1, 0, 1, buf), 0);
	for (h = 0; h < NR_HOSTS * (NR_IO + 1); h++)
		hp_close(&queues[h]);
	free(queues);
	child_stop(&c);
}

/* Whether a host that comes now is served: refused as busy, or closed, is an answer, too. */
static bool one_more_is_served(struct child *c, struct hp *h)
{
	struct hp_connect conn;
	struct hp_pdu in;
	uint16_t status;

	hp_open(h, c->port);
	hp_icreq(h, 0, 0, 0, 0);
	if (!hp_recv(h, &in))
		return false;
	assert_int_equal(in.pdu.hdr.type, NVME_TCP_ICRESP);
	h->maxh2cdata = le32toh(in.pdu.ic.maxval);
	hp_connect_init(&conn, 0, 0xffff);
	status = hp_connect(h, &conn, NULL);
	if (status)
		assert_int_equal(status, 0x181); /* Controller Busy: may be tried again */
	return !status;
}

/* C178 */
static void without_memory_only_the_newcomer_is_refused(void **state)
{
	struct hp first, queue, *more;
	struct child c;
	struct nvme_sqe ka = { .opcode = nvme_admin_keep_alive };
	uint8_t buf[512];
	int n = 0, i;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	print_message("# the shadow memory of a sanitizer leaves no room for a limit\n");
	skip();
#endif
	more = calloc(4096, sizeof(*more));
	c = child_start(24u << 20);
	hp_admin(&first, c.port, 0, 0);
	hp_io_queue(&queue, c.port, &first, 1, 0, 0);
	while (n < 4096 && one_more_is_served(&c, &more[n]))
		n++;
	print_message("# %d hosts were served\n", n);
	assert_true(n > 0 && n < 4096);
	for (i = 0; i < 20; i++) {
		struct hp late;

		assert_int_equal(hp_read(&queue, 1, 0, 1, buf), 0);
		one_more_is_served(&c, &late);
		hp_close(&late);
	}
	assert_int_equal(hp_status(&first, hp_cmd(&first, &ka, NULL, 0), NULL, 0, NULL), 0);
	/* With room again the next one is served. */
	for (i = 0; i <= n; i++)
		hp_close(&more[i]);
	for (i = 0; i < 400 && !one_more_is_served(&c, &more[0]); i++) {
		hp_close(&more[0]);
		usleep(50000);
	}
	assert_true(i < 400);
	hp_close(&more[0]);
	hp_close(&queue);
	hp_close(&first);
	free(more);
	child_stop(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_queues_of_many_hosts_cost_little),
		cmocka_unit_test(without_memory_only_the_newcomer_is_refused),
	};
	struct rlimit fds;

	if (!getrlimit(RLIMIT_NOFILE, &fds)) {
		fds.rlim_cur = fds.rlim_max;
		setrlimit(RLIMIT_NOFILE, &fds);
	}
	return cmocka_run_group_tests_name("target limits", tests, NULL, NULL);
}
