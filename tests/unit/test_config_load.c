/* SPDX-License-Identifier: BSD-3-Clause */
/* Configurations onto a living target and back, and its status while hosts come and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <errno.h>
#include <json-c/json.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "nvof/nvof.h"
#include "nvof/target.h"
#include "target/target.h"

#define NQN_A "nqn.2026-11.org.example:a"
#define NQN_B "nqn.2026-11.org.example:b"
#define HOST  "nqn.2026-11.org.example:host"

static struct nvof_target *t;
static char dir[] = "test_config_load.XXXXXX", file[64];

static int setup(void **state)
{
	struct nvof_target_opts opts;

	nvof_target_opts_init(&opts);
	opts.io_threads = 2;
	strcpy(dir, "test_config_load.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(file, sizeof(file), "%s/config.json", dir);
	return nvof_target_new(&opts, &t);
}

static int teardown(void **state)
{
	char command[128];

	nvof_target_free(t);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static char *get(const char *path)
{
	static char buf[16384];
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	n = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[n] = '\0';
	return strdup(buf);
}

static void ok(int ret)
{
	char msg[512];

	if (ret)
		fail_msg("%s", nvof_target_errmsg(t, msg, sizeof(msg)));
}

static void refused(int ret, int code, const char *says)
{
	char msg[512];

	assert_int_equal(ret, code);
	if (!strstr(nvof_target_errmsg(t, msg, sizeof(msg)), says))
		fail_msg("got \"%s\", wanted \"%s\"", msg, says);
}

static const char both[] =
	"{\"hosts\":[{\"nqn\":\"" HOST "\"}],\"subsystems\":["
	"{\"nqn\":\"" NQN_A
	"\",\"attr\":{\"allow_any_host\":\"0\",\"serial\":\"42\",\"model\":\"m\",\"cntlid_min\":\"5\",\"cntlid_max\":\"9\"},"
	"\"allowed_hosts\":[\"" HOST "\"],\"namespaces\":["
	"{\"nsid\":3,\"device\":{\"path\":\"mem:1M\",\"uuid\":\"b53d6ba2-3b84-4f07-8b1e-0f4f9a3b6d51\"},\"nvof\":{\"block_size\":4096,"
	"\"readonly\":1},\"ana\":{\"grpid\":\"4\"}},"
	"{\"nsid\":1,\"device\":{\"path\":\"null:1G\"}}]},"
	"{\"nqn\":\"" NQN_B "\",\"attr\":{\"allow_any_host\":\"1\"},\"namespaces\":[]}],"
	"\"ports\":[{\"portid\":7,\"ana_groups\":[{\"ana\":{\"state\":\"change\"},\"grpid\":9}],\"addr\":{\"trtype\":\"loop\"},"
	"\"subsystems\":[\"" NQN_A "\"],"
	"\"referrals\":[{\"addr\":{\"trtype\":\"tcp\",\"adrfam\":\"ipv4\",\"traddr\":\"127.0.0.1\",\"trsvcid\":\"8009\"}}]}]}";

/* Whatever the layout is. */
static void text_has(const char *text, const char *piece)
{
	const char *at, *p, *q;

	for (at = text; *at; at++) {
		for (p = at, q = piece; *p && *q;) {
			if (isspace((unsigned char)*p))
				p++;
			else if (isspace((unsigned char)*q))
				q++;
			else if (*p++ != *q++)
				break;
		}
		if (!*q && p[-1] == q[-1])
			return;
	}
	fail_msg("no %s", piece);
}

static void what_is_saved_loads_as_the_same(void **state)
{
	char *first, *second;
	struct stat st;

	put(file, both);
	ok(nvof_target_load_config(t, file));
	unlink(file);
	ok(nvof_target_save_config(t, file));
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	first = get(file);
	assert_non_null(strstr(first, "\"serial\": \"42\""));
	assert_non_null(strstr(first, "\"cntlid_max\": \"9\""));
	assert_non_null(strstr(first, "b53d6ba2-3b84-4f07-8b1e-0f4f9a3b6d51"));
	assert_non_null(strstr(first, "\"block_size\": 4096"));
	assert_non_null(strstr(first, "\"trsvcid\": \"8009\""));
	assert_non_null(strstr(first, "\"portid\": 7"));
	/* Group 4, which the list left out, is what it is in the kernel. */
	text_has(first, "\"state\": \"optimized\" }, \"grpid\": 1");
	text_has(first, "\"state\": \"inaccessible\" }, \"grpid\": 4");
	text_has(first, "\"state\": \"change\" }, \"grpid\": 9");
	text_has(first, "\"ana\": { \"grpid\": \"4\" }");
	nvof_target_free(t);
	t = NULL;
	assert_int_equal(nvof_target_new(NULL, &t), 0);
	ok(nvof_target_load_config(t, file));
	ok(nvof_target_save_config(t, file));
	second = get(file);
	assert_string_equal(second, first);
	free(first);
	free(second);
}

static void a_size_is_saved_as_it_is_now(void **state)
{
	char *text;

	put(file, both);
	ok(nvof_target_load_config(t, file));
	ok(nvof_target_resize_ns(t, NQN_A, 1, UINT64_C(3) << 30));
	ok(nvof_target_save_config(t, file));
	text = get(file);
	assert_non_null(strstr(text, "\"null:3G\""));
	free(text);
}

/* Every way to fail late: nothing of the file stays, and what was there before does. */
static void what_fails_midway_is_taken_back(void **state)
{
	static const struct {
		const char *text;
		int code;
		const char *says;
	} bad[] = {
		{ "{\"subsystems\":[{\"nqn\":\"" NQN_A "\",\"namespaces\":[{\"nsid\":1,\"device\":{\"path\":\"mem:1M\"}}]},"
		  "{\"nqn\":\"" NQN_B "\",\"namespaces\":[{\"nsid\":1,\"device\":{\"path\":\"mem:1M\"}},{\"nsid\":2,\"device\":{\"path\":"
		  "\"/nonexistent\"}}]}]}",
		  -ENOENT, "/nonexistent" },
		{ "{\"subsystems\":[{\"nqn\":\"" NQN_A "\",\"namespaces\":["
		  "{\"nsid\":1,\"device\":{\"path\":\"mem:1M\",\"uuid\":\"b53d6ba2-3b84-4f07-8b1e-0f4f9a3b6d51\"}},"
		  "{\"nsid\":2,\"device\":{\"path\":\"mem:1M\",\"uuid\":\"b53d6ba2-3b84-4f07-8b1e-0f4f9a3b6d51\"}}]}]}",
		  -EEXIST, "UUID" }, /* C167 */
		{ "{\"subsystems\":[{\"nqn\":\"" NQN_A "\"},{\"nqn\":\"nqn.2026-11.org.example:there\"}]}", -EEXIST, "there already" },
		{ "{\"subsystems\":[{\"nqn\":\"" NQN_A
		  "\"}],\"ports\":[{\"addr\":{\"trtype\":\"tcp\",\"traddr\":\"127.0.0.1\",\"trsvcid\":\"1\"},"
		  "\"referrals\":[{\"addr\":{\"trtype\":\"tcp\",\"traddr\":\"127.0.0.1\",\"trsvcid\":\"8009\"}}]},"
		  "{\"addr\":{\"trtype\":\"tcp\",\"traddr\":\"192.0.2.1\",\"trsvcid\":\"4420\"}}]}",
		  0, "" },
		{ "{\"subsystems\":[{\"nqn\":\"" NQN_A "\",\"namespaces\":[{\"nsid\":1,\"device\":{\"path\":\"mem:1Q\"}}]}]}", -EINVAL,
		  "1Q" },
	};
	char *before, *after;
	size_t i;

	ok(nvof_target_add_subsys(t, "nqn.2026-11.org.example:there", NULL));
	ok(nvof_target_listen(t, "loop", NULL, 0));
	before = nvof_target_status_json(t);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		put(file, bad[i].text);
		if (bad[i].code)
			refused(nvof_target_load_config(t, file), bad[i].code, bad[i].says);
		else /* may be EACCES, EADDRNOTAVAIL ... */
			assert_true(nvof_target_load_config(t, file) < 0);
		after = nvof_target_status_json(t);
		assert_string_equal(after, before);
		free(after);
	}
	free(before);
}

/* A file that lists groups makes those that it does not list inaccessible, as in the kernel: not so where they were not before. */
static void groups_that_nobody_named_are_after_a_restart_what_they_were(void **state)
{
	struct nvof_ana_group group = { .grpid = 2, .state = NVOF_ANA_CHANGE };
	struct target_port *port;
	int round;

	ok(nvof_target_listen_ana(t, "loop", &group, 1, NULL, 0));
	for (round = 0; round < 3; round++) {
		port = cds_list_first_entry(&t->ports, struct target_port, link);
		assert_int_equal(target_ana_state(port, 1), NVME_ANA_STATE_OPTIMIZED);
		assert_int_equal(target_ana_state(port, 2), NVME_ANA_STATE_CHANGE);
		assert_int_equal(target_ana_state(port, 7), NVME_ANA_STATE_OPTIMIZED);
		ok(nvof_target_save_config(t, file));
		nvof_target_free(t);
		assert_int_equal(nvof_target_new(NULL, &t), 0);
		ok(nvof_target_load_config(t, file));
	}
	nvof_target_free(t);
	assert_int_equal(nvof_target_new(NULL, &t), 0);
	put(file,
	    "{\"ports\":[{\"portid\":1,\"addr\":{\"trtype\":\"loop\"},\"ana_groups\":[{\"ana\":{\"state\":\"optimized\"},\"grpid\":1}]}]}");
	for (round = 0; round < 3; round++) {
		ok(nvof_target_load_config(t, file));
		port = cds_list_first_entry(&t->ports, struct target_port, link);
		assert_int_equal(target_ana_state(port, 7), NVME_ANA_STATE_INACCESSIBLE);
		ok(nvof_target_save_config(t, file));
		nvof_target_free(t);
		assert_int_equal(nvof_target_new(NULL, &t), 0);
	}
}

static void a_file_that_is_not_there_is_named(void **state)
{
	refused(nvof_target_load_config(t, "/nonexistent/c.json"), -ENOENT, "config /nonexistent/c.json: open: No such file");
	refused(nvof_target_load_config(t, dir), -EISDIR, "read: Is a directory");
	refused(nvof_target_save_config(t, "/nonexistent/c.json"), -ENOENT, "save config to /nonexistent/c.json: No such file");
}

static void a_link_and_the_mode_of_the_file_are_kept(void **state)
{
	char link_path[80];
	struct stat st;
	char *text;

	snprintf(link_path, sizeof(link_path), "%s/link", dir);
	put(file, "{}");
	assert_int_equal(chmod(file, 0640), 0);
	assert_int_equal(symlink("config.json", link_path), 0);
	ok(nvof_target_add_subsys(t, NQN_A, NULL));
	ok(nvof_target_save_config(t, link_path));
	assert_int_equal(lstat(link_path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	text = get(file);
	assert_non_null(strstr(text, NQN_A));
	free(text);
}

static void what_is_no_regular_file_is_not_replaced(void **state)
{
	char fifo[80], link_path[80];
	struct stat st;

	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	snprintf(link_path, sizeof(link_path), "%s/link-to-fifo", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(symlink("fifo", link_path), 0);
	refused(nvof_target_save_config(t, fifo), -EINVAL, "/fifo: it is a FIFO, no regular file");
	refused(nvof_target_save_config(t, link_path), -EINVAL, "/link-to-fifo: it is a FIFO, no regular file");
	assert_int_equal(lstat(fifo, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	refused(nvof_target_save_config(t, dir), -EISDIR, "it is a directory, no regular file");
	refused(nvof_target_save_config(t, "/dev/null"), -EINVAL, "save config to /dev/null: it is a device, no regular file");
	assert_int_equal(lstat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(unlink(link_path), 0);
	assert_int_equal(unlink(fifo), 0);
}

/* A save that can't be finished leaves the old file and nothing else. */
static void a_failed_save_leaves_the_old_file(void **state)
{
	char temp[96];
	char *text;

	put(file, "{}");
	/* what the writer wants to create is there as a directory */
	snprintf(temp, sizeof(temp), "%s/.config.json.new", dir);
	assert_int_equal(mkdir(temp, 0700), 0);
	refused(nvof_target_save_config(t, file), -EEXIST, "save config to");
	text = get(file);
	assert_string_equal(text, "{}");
	free(text);
}

struct guest {
	bool stop;
	int nr_connects, nr_failed;
};

static void *guest_thread(void *arg)
{
	struct guest *g = arg;
	uint8_t buf[4096] = { 0 };

	while (!__atomic_load_n(&g->stop, __ATOMIC_RELAXED)) {
		struct nvof_connect_opts opts;
		struct nvof_ctrl *ctrl = NULL;
		struct nvof_ns *ns = NULL;
		struct nvof_ctx *ctx;
		int ret;

		if (nvof_ctx_new(NULL, &ctx))
			return NULL;
		nvof_connect_opts_init(&opts);
		opts.transport = "loop";
		opts.loop_target = t;
		opts.subsysnqn = NQN_A;
		opts.hostnqn = HOST;
		opts.nr_io_queues = 2;
		ret = nvof_ctrl_connect_sync(ctx, &opts, &ctrl);
		if (!ret)
			ret = nvof_ns_open_sync(ctrl, 1, &ns);
		if (!ret)
			ret = nvof_read_sync(nvof_ctrl_hctx(ctrl, 0), ns, 0, 8, buf, 0);
		__atomic_fetch_add(ret ? &g->nr_failed : &g->nr_connects, 1, __ATOMIC_RELAXED);
		nvof_ns_close(ns);
		nvof_ctrl_free(ctrl);
		nvof_ctx_free(ctx);
	}
	return NULL;
}

static int nr_connects(const struct guest *g)
{
	return (int)__atomic_load_n(&g->nr_connects, __ATOMIC_RELAXED);
}

/* Run it under TSan. */
static void status_is_whole_while_hosts_come_and_go(void **state)
{
	struct guest g[2] = { 0 };
	uint64_t limit = clock_ns() + 30 * NSEC_PER_SEC;
	bool seen_ctrl = false;
	pthread_t th[2];
	int i, looks = 0;

	put(file, both);
	ok(nvof_target_load_config(t, file));
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&th[i], NULL, guest_thread, &g[i]), 0);
	while (clock_ns() < limit && (looks < 50 || !seen_ctrl || !nr_connects(&g[0]) || !nr_connects(&g[1]))) {
		char *text = nvof_target_status_json(t);
		json_object *root = json_tokener_parse(text), *subsys, *ctrls;

		looks++;
		assert_non_null(root);
		subsys = json_object_array_get_idx(json_object_object_get(root, "subsystems"), 0);
		ctrls = json_object_object_get(subsys, "ctrls");
		if (json_object_array_length(ctrls)) {
			json_object *ctrl = json_object_array_get_idx(ctrls, 0);

			seen_ctrl = true;
			assert_string_equal(json_object_get_string(json_object_object_get(ctrl, "hostnqn")), HOST);
			assert_in_range(json_object_get_int(json_object_object_get(ctrl, "cntlid")), 5, 9);
			assert_in_range(json_object_get_int(json_object_object_get(ctrl, "nr_io_queues")), 0, 2);
		}
		json_object_put(root);
		free(text);
	}
	for (i = 0; i < 2; i++) {
		__atomic_store_n(&g[i].stop, true, __ATOMIC_RELAXED);
		pthread_join(th[i], NULL);
		assert_int_equal(g[i].nr_failed, 0);
		assert_true(g[i].nr_connects > 0);
	}
	assert_true(seen_ctrl);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(what_is_saved_loads_as_the_same),
		TEST(a_size_is_saved_as_it_is_now),
		TEST(groups_that_nobody_named_are_after_a_restart_what_they_were),
		TEST(what_fails_midway_is_taken_back),
		TEST(a_file_that_is_not_there_is_named),
		TEST(a_link_and_the_mode_of_the_file_are_kept),
		TEST(what_is_no_regular_file_is_not_replaced),
		TEST(a_failed_save_leaves_the_old_file),
		TEST(status_is_whole_while_hosts_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
