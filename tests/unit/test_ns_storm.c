/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Four hosts use the namespaces of a target that adds, removes, resizes and swaps them without a pause.  Nothing is ever read from or
 * written to another namespace than was meant: blocks carry the UUID of theirs, hosts look at what they read, and the test at all that is
 * in a namespace when it goes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ns_storm.h"

#define NR_HOSTS  4
#define NR_CYCLES 150
#define UNIT	  (64 << 10) /* sizes of namespaces are 1 to 4 of it */

/* An id at the target: what is there. */
struct place {
	uint32_t id; /* makes the file's name and the identifiers; 0: nothing is there */
	uint32_t block, units;
};

struct storm {
	struct nvof_target *t;
	char dir[64];
	struct place places[STORM_NSIDS + 1];
	uint32_t last_id;
	unsigned int seed;
	struct storm_host hosts[NR_HOSTS];
	pthread_barrier_t together;
	bool stop;
};

static unsigned int chance(struct storm *st, unsigned int n)
{
	return (unsigned int)rand_r(&st->seed) % n;
}

static void path_of(const struct storm *st, uint32_t id, char path[100])
{
	snprintf(path, 100, "%s/%u", st->dir, id);
}

static void uuid_of(uint32_t id, uint8_t uuid[16])
{
	memset(uuid, 0xab, 16);
	memcpy(uuid, &id, sizeof(id));
}

static void add(struct storm *st, uint32_t nsid)
{
	struct place *p = &st->places[nsid];
	struct nvof_target_ns_opts o;
	char path[100], backend[120];

	path_of(st, p->id, path);
	snprintf(backend, sizeof(backend), "file:%s,direct=off", path);
	nvof_target_ns_opts_init(&o);
	o.nsid = nsid;
	o.backend = backend;
	o.block_size = p->block;
	uuid_of(p->id, o.uuid);
	memcpy(o.nguid, o.uuid, 16);
	o.nguid[15] = 1;
	assert_int_equal(nvof_target_add_ns(st->t, STORM_NQN, &o, NULL), 0);
}

static void add_fresh(struct storm *st, uint32_t nsid)
{
	struct place *p = &st->places[nsid];
	char path[100];
	FILE *f;

	*p = (struct place){ .id = ++st->last_id, .block = chance(st, 4) ? 512 : 4096, .units = 1 + chance(st, 4) };
	path_of(st, p->id, path);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(ftruncate(fileno(f), (off_t)p->units * UNIT), 0);
	fclose(f);
	add(st, nsid);
}

/* Of one that is gone from the target. */
static void check_file(const struct storm *st, const struct place *p)
{
	static uint8_t buf[4 * UNIT];
	uint8_t uuid[16];
	char path[100];
	size_t len;
	FILE *f;

	path_of(st, p->id, path);
	f = fopen(path, "r");
	assert_non_null(f);
	len = fread(buf, 1, sizeof(buf), f);
	fclose(f);
	assert_int_equal(len, p->units * UNIT);
	uuid_of(p->id, uuid);
	for (size_t at = 0; at < len; at += p->block)
		if (!storm_check(buf + at, p->block, uuid, at / p->block))
			fail_msg("namespace %u (block %u) has a block that was meant for another one at %zu: UUID %02x%02x.., block %llu",
				 p->id, p->block, at, buf[at], buf[at + 1], (unsigned long long)*(uint64_t *)(buf + at + 16));
}

static void take_away(struct storm *st, uint32_t nsid, bool for_good)
{
	struct place *p = &st->places[nsid];
	char path[100];

	assert_int_equal(nvof_target_remove_ns(st->t, STORM_NQN, nsid), 0);
	check_file(st, p);
	if (!for_good)
		return;
	path_of(st, p->id, path);
	unlink(path);
	p->id = 0;
}

static void resize(struct storm *st, uint32_t nsid)
{
	struct place *p = &st->places[nsid];
	uint32_t units = 1 + chance(st, 4);
	int ret = nvof_target_resize_ns(st->t, STORM_NQN, nsid, (uint64_t)units * UNIT);

	/* I/O of before the last change may be under way still. */
	if (ret != -EBUSY)
		assert_int_equal(ret, 0);
	if (!ret)
		p->units = units;
}

static void one_change(struct storm *st)
{
	uint32_t nsid = 1 + chance(st, STORM_NSIDS);

	if (!st->places[nsid].id) {
		add_fresh(st, nsid);
		return;
	}
	switch (chance(st, 6)) {
	case 0:
		take_away(st, nsid, true);
		break;
	case 1:
	case 2:
		resize(st, nsid);
		break;
	case 3:
		take_away(st, nsid, false); /* and the same one is back */
		add(st, nsid);
		break;
	default:
		take_away(st, nsid, true);
		add_fresh(st, nsid);
		break;
	}
}

static uint64_t look(const uint64_t *n)
{
	return __atomic_load_n(n, __ATOMIC_RELAXED);
}

/* Everything that can happen has happened to each host. */
static bool all_seen(const struct storm *st)
{
	for (int i = 0; i < NR_HOSTS; i++) {
		const struct storm_host *h = &st->hosts[i];

		if (!look(&h->nr_reads) || !look(&h->nr_writes) || !look(&h->nr_refused) || !look(&h->nr_opens) || !look(&h->nr_looks))
			return false;
		for (int type = NVOF_EVENT_NS_ADDED; type <= NVOF_EVENT_NS_REPLACED; type++)
			if (!look(&h->nr_events[type]))
				return false;
	}
	return true;
}

/* What a host knows in the end is what is there. */
static void check_table(struct storm *st, struct storm_host *h)
{
	struct nvof_ns *ns;

	assert_int_equal(nvof_ns_scan_sync(h->ctrl), 0);
	for (uint32_t nsid = 1; nsid <= STORM_NSIDS; nsid++) {
		const struct place *p = &st->places[nsid];
		uint8_t uuid[16], want[16];

		ns = nvof_ns_get(h->ctrl, nsid);
		assert_true(!ns == !p->id);
		if (!ns)
			continue;
		nvof_ns_uuid(ns, uuid);
		uuid_of(p->id, want);
		assert_memory_equal(uuid, want, 16);
		assert_int_equal(nvof_ns_nr_blocks(ns), p->units * UNIT / p->block);
		nvof_ns_close(ns);
	}
}

static struct storm *storm_new(void)
{
	struct storm *st = calloc(1, sizeof(*st));
	struct nvof_target_opts o;
	struct nvof_subsys_opts so;
	char addr[128];

	assert_non_null(st);
	snprintf(st->dir, sizeof(st->dir), "%s/nvof-storm.XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	assert_non_null(mkdtemp(st->dir));
	st->seed = 1;
	nvof_target_opts_init(&o);
	o.io_threads = 2;
	assert_int_equal(nvof_target_new(&o, &st->t), 0);
	nvof_subsys_opts_init(&so);
	assert_int_equal(nvof_target_add_subsys(st->t, STORM_NQN, &so), 0);
	assert_int_equal(nvof_target_listen(st->t, "loop", NULL, 0), 0);
	assert_int_equal(nvof_target_listen(st->t, "tcp:127.0.0.1:0", addr, sizeof(addr)), 0);
	for (uint32_t nsid = 1; nsid <= STORM_NSIDS; nsid += 2)
		add_fresh(st, nsid);
	pthread_barrier_init(&st->together, NULL, NR_HOSTS + 1);
	for (unsigned int i = 0; i < NR_HOSTS; i++) {
		struct storm_host *h = &st->hosts[i];

		h->together = &st->together;
		h->transport = i % 2 ? "loop" : "tcp";
		snprintf(h->port, sizeof(h->port), "%s", strrchr(addr, ':') + 1);
		h->target = st->t;
		h->stop = &st->stop;
		h->other = &st->hosts[(i + 1) % NR_HOSTS];
		h->seed = i + 2;
		storm_start(h);
	}
	return st;
}

static void storm_free(struct storm *st)
{
	for (uint32_t nsid = 1; nsid <= STORM_NSIDS; nsid++)
		if (st->places[nsid].id)
			take_away(st, nsid, true);
	nvof_target_free(st->t);
	assert_int_equal(rmdir(st->dir), 0);
	pthread_barrier_destroy(&st->together);
	free(st);
}

/* C074, C167 */
static void io_never_reaches_another_namespace_whatever_changes(void **state)
{
	const char *more = getenv("NVOF_TEST_CYCLES");
	int nr_cycles = more ? atoi(more) : NR_CYCLES;
	struct storm *st = storm_new();
	uint64_t nr_reads = 0, nr_writes = 0, nr_refused = 0, nr_replaced = 0;

	(void)state;
	pthread_barrier_wait(&st->together);
	for (int i = 0; i < nr_cycles || (!all_seen(st) && i < 100 * nr_cycles); i++) {
		one_change(st);
		usleep(chance(st, 1000));
	}
	__atomic_store_n(&st->stop, true, __ATOMIC_RELEASE);
	pthread_barrier_wait(&st->together);
	for (int i = 0; i < NR_HOSTS; i++) {
		assert_string_equal(st->hosts[i].wrong, "");
		check_table(st, &st->hosts[i]);
	}
	assert_true(all_seen(st));
	pthread_barrier_wait(&st->together);
	for (int i = 0; i < NR_HOSTS; i++) {
		pthread_join(st->hosts[i].thread, NULL);
		assert_string_equal(st->hosts[i].wrong, "");
		nr_reads += st->hosts[i].nr_reads;
		nr_writes += st->hosts[i].nr_writes;
		nr_refused += st->hosts[i].nr_refused;
		nr_replaced += st->hosts[i].nr_events[NVOF_EVENT_NS_REPLACED];
	}
	if (more)
		print_message("%llu reads, %llu writes, %llu refused, %llu replaced\n", (unsigned long long)nr_reads,
			      (unsigned long long)nr_writes, (unsigned long long)nr_refused, (unsigned long long)nr_replaced);
	storm_free(st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(io_never_reaches_another_namespace_whatever_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
