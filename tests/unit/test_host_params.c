/* SPDX-License-Identifier: BSD-3-Clause */
/* What may be asked for, who we are, and how a mistake is named. */
#include "host_fake.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>
#include <stdlib.h>
#include <string.h>

#include "host/identity.h"
#include "proto/nqn.h"

#define NQN_A "nqn.2014-08.org.nvmexpress:uuid:aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"
#define NQN_C "nqn.2014-08.org.nvmexpress:uuid:cccccccc-cccc-cccc-cccc-cccccccccccc"
#define ID_A  "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"
#define ID_B  "bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbbb"

static void refused(struct fake *f, const struct nvof_connect_opts *o, const char *words)
{
	struct nvof_ctrl *ctrl = (void *)1;

	assert_int_equal(nvof_ctrl_connect(f->ctx, o, fake_connect_cb, f, &ctrl), -EINVAL);
	assert_null(ctrl);
	assert_contains(nvof_ctx_errmsg(f->ctx), words);
	assert_int_equal(nvof_ctrl_connect_sync(f->ctx, o, &ctrl), -EINVAL);
	assert_int_equal(f->nr_connect_cbs, 0);
}

/* C158 */
static void transports_are_found_in_any_case_and_others_named(void **state)
{
	struct fake *f = fake_new();
	struct nvof_connect_opts o;

	fake_opts(f, &o);
	o.transport = "tpc";
	refused(f, &o, "unknown transport 'tpc' (known here: tcp, loop)");
	o.transport = "rdma";
	refused(f, &o, "transport 'rdma' is not in this build (it has: tcp, loop)");
	o.transport = "Tcp";
	assert_int_equal(fake_connect_opts(f, &o), 0);
	fake_free(f);
}

/* C164 */
static void ports_are_plain_numbers_from_1_to_65535(void **state)
{
	static const char *const bad[] = { "0", "-0", "65536", "abc", "", "04420", " 4420", "4420x", "+1" };
	struct fake *f = fake_new();
	struct nvof_connect_opts o;
	size_t i;

	fake_opts(f, &o);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		o.trsvcid = bad[i];
		refused(f, &o, "from 1 to 65535");
	}
	o.trsvcid = "65535";
	assert_int_equal(fake_connect_opts(f, &o), 0);
	fake_free(f);
}

/* C157 */
static void names_of_223_bytes_are_taken_and_of_224_refused(void **state)
{
	struct fake *f = fake_new();
	struct nvof_connect_opts o;
	char nqn[300], huge[10240];

	memset(nqn, 'x', sizeof(nqn));
	memcpy(nqn, "nqn.2014-08.org.example:", 24);
	nqn[224] = '\0';
	memset(huge, 'y', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	fake_opts(f, &o);
	o.subsysnqn = nqn;
	refused(f, &o, "subsysnqn 'nqn.2014-08.org.example:");
	o.subsysnqn = huge;
	refused(f, &o, "subsysnqn");
	o.subsysnqn = FAKE_SUBNQN;
	o.hostnqn = nqn;
	refused(f, &o, "hostnqn 'nqn.2014-08.org.example:");
	o.hostnqn = "blah";
	refused(f, &o, "hostnqn 'blah'");
	o.hostnqn = FAKE_HOSTNQN;
	nqn[223] = '\0';
	o.subsysnqn = nqn;
	assert_int_equal(fake_connect_opts(f, &o), 0);
	fake_free(f);
}

static void numbers_out_of_range_are_named(void **state)
{
	struct fake *f = fake_new();
	struct nvof_connect_opts o;

	fake_opts(f, &o);
	o.nr_io_queues = 65536;
	refused(f, &o, "nr_io_queues 65536");
	fake_opts(f, &o);
	o.queue_size = 1;
	refused(f, &o, "queue_size 1: 2 to 1024");
	o.queue_size = 1025;
	refused(f, &o, "queue_size 1025");
	fake_opts(f, &o);
	o.keep_alive_tmo_ms = -2;
	refused(f, &o, "keep_alive_tmo -2");
	fake_opts(f, &o);
	o.connect_tmo_ms = 0;
	refused(f, &o, "connect_tmo 0");
	fake_opts(f, &o);
	o.tos = 256;
	refused(f, &o, "tos 256");
	fake_opts(f, &o);
	o.hostid = "12345";
	refused(f, &o, "hostid '12345': not a UUID");
	o.hostid = "00000000-0000-0000-0000-000000000000";
	refused(f, &o, "all zero");
	fake_opts(f, &o);
	o.size = sizeof(o) + 8;
	refused(f, &o, "size");
	o.size = 3;
	refused(f, &o, "nvof_connect_opts: size 3 is not one that this library knows");
	fake_free(f);
}

static char last_warning[1024];
static void keep_warning(void *arg, enum nvof_log_level level, const char *msg)
{
	if (level == NVOF_LOG_WARN)
		snprintf(last_warning, sizeof(last_warning), "%s", msg);
}

/* C002 */
static void a_host_id_goes_out_as_given_with_a_warning(void **state)
{
	struct fake *f = fake_new();
	struct nvof_connect_opts o;

	fake_opts(f, &o);
	o.hostnqn = NQN_A;
	assert_int_equal(fake_connect_opts(f, &o), 0);
	assert_string_equal(nvof_ctrl_hostid(f->ctrl), ID_A); /* derived */
	fake_free(f);

	f = fake_new();
	o.loop_target = (struct nvof_target *)f;
	o.event_arg = f;
	o.hostid = ID_B;
	assert_int_equal(fake_connect_opts(f, &o), 0);
	assert_string_equal(nvof_ctrl_hostid(f->ctrl), ID_B);
	fake_free(f);
}

/* C002 */
static void the_warning_names_both_ids(void **state)
{
	struct nvof_ctx_opts co;
	struct nvof_ctx *ctx;
	struct fake *f = fake_new();
	struct nvof_connect_opts o;
	struct nvof_ctrl *ctrl;

	nvof_ctx_opts_init(&co);
	co.log = keep_warning;
	assert_int_equal(nvof_ctx_new(&co, &ctx), 0);
	ctx_set_transports(ctx, f->ctx->transports);
	fake_opts(f, &o);
	o.hostnqn = NQN_A;
	o.hostid = ID_B;
	assert_int_equal(nvof_ctrl_connect(ctx, &o, fake_connect_cb, f, &ctrl), 0);
	assert_contains(last_warning, ID_A);
	assert_contains(last_warning, ID_B);
	nvof_ctx_free(ctx);
	assert_int_equal(f->connect_status, -ECANCELED);
	fake_free(f);
}

/* C002, C061 */
static void a_pairing_that_contradicts_a_live_connection_is_refused(void **state)
{
	struct fake *f = fake_new(), *g = fake_new();
	struct nvof_connect_opts o;
	struct nvof_ctrl *second;

	fake_opts(f, &o);
	o.hostnqn = NQN_A;
	o.hostid = ID_A;
	assert_int_equal(fake_connect_opts(f, &o), 0);
	f->nr_connect_cbs = 0;
	o.hostid = ID_B;
	refused(f, &o, "contradicts a live connection's: hostnqn " NQN_A " with hostid " ID_A);
	assert_contains(nvof_ctx_errmsg(f->ctx), NQN_A " with hostid " ID_B);
	o.hostnqn = NQN_C;
	o.hostid = ID_A;
	refused(f, &o, NQN_C);
	o.hostid = NULL; /* another identity altogether is fine */
	o.loop_target = (struct nvof_target *)g;
	assert_int_equal(nvof_ctrl_connect_sync(f->ctx, &o, &second), 0);
	assert_string_equal(nvof_ctrl_hostnqn(second), NQN_C);
	nvof_ctrl_free(second);
	assert_int_equal(nvof_ctrl_disconnect_sync(f->ctrl), 0);
	nvof_ctrl_free(f->ctrl);
	f->ctrl = NULL;
	o.loop_target = (struct nvof_target *)f;
	o.hostnqn = NQN_A;
	o.hostid = ID_B; /* nothing is live any more */
	assert_int_equal(fake_connect_opts(f, &o), 0);
	fake_free(f);
	fake_free(g);
}

static void id_text(const char *nqn, const char *stored_nqn, const char *stored_id, char text[37])
{
	uint8_t id[16];

	identity_hostid(nqn, stored_nqn, stored_id, id);
	uuid_format(id, text);
}

/* C002 */
static void the_host_id_follows_the_rules(void **state)
{
	char a[37], b[37];

	id_text(NQN_A, NULL, NULL, a);
	assert_string_equal(a, ID_A); /* the UUID inside */
	id_text(NQN_A, NQN_A, ID_B, a);
	assert_string_equal(a, ID_B); /* the stored id of the stored NQN */
	id_text(NQN_C, NQN_A, ID_B, a);
	assert_string_equal(a, "cccccccc-cccc-cccc-cccc-cccccccccccc"); /* not somebody else's */
	id_text(NQN_A, NQN_A, "garbage", a);
	assert_string_equal(a, ID_A);
	id_text("nqn.2014-08.org.example:host", NULL, NULL, a);
	id_text("nqn.2014-08.org.example:host", NULL, NULL, b);
	assert_string_equal(a, b); /* made from the text: the same each time */
	id_text("nqn.2014-08.org.example:host2", NULL, NULL, b);
	assert_string_not_equal(a, b);
}

/* C003 */
static void a_made_up_host_nqn_is_valid_and_stable(void **state)
{
	char *a = identity_hostnqn_from("0123456789abcdef"), *b = identity_hostnqn_from("0123456789abcdef"),
	     *c = identity_hostnqn_from("other");

	assert_string_equal(a, b);
	assert_string_not_equal(a, c);
	assert_null(nqn_check(a));
	free(a);
	free(b);
	free(c);
	a = nvof_hostnqn_default();
	b = nvof_hostnqn_default();
	assert_non_null(a);
	assert_null(nqn_check(a));
	assert_string_equal(a, b);
	free(a);
	free(b);
	a = nvof_hostid_default(NULL);
	assert_int_equal(strlen(a), 36);
	free(a);
	a = nvof_hostid_default(NQN_C);
	assert_string_equal(a, NQN_C + strlen("nqn.2014-08.org.nvmexpress:uuid:"));
	free(a);
}

/* Rather no identity than another one: with a stored NQN that can't be read now we would be somebody else. */
static void without_descriptors_a_host_has_no_identity(void **state)
{
	struct nvof_connect_opts o;
	struct fake *f = fake_new();
	struct rlimit limit, few;
	struct nvof_ctrl *ctrl;
	int fd = dup(0);

	fake_opts(f, &o);
	o.hostnqn = NULL;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	close(fd);
	few = limit;
	few.rlim_cur = (rlim_t)fd;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	errno = 0;
	assert_null(nvof_hostnqn_default());
	assert_int_equal(errno, EMFILE);
	errno = 0;
	assert_null(nvof_hostid_default(FAKE_HOSTNQN));
	assert_int_equal(errno, EMFILE);
	assert_int_equal(nvof_ctrl_connect(f->ctx, &o, fake_connect_cb, f, &ctrl), -EMFILE);
	assert_contains(nvof_ctx_errmsg(f->ctx), "hostnqn: none was given, and this machine's can't be read: Too many open files");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(transports_are_found_in_any_case_and_others_named),
		cmocka_unit_test(ports_are_plain_numbers_from_1_to_65535),
		cmocka_unit_test(names_of_223_bytes_are_taken_and_of_224_refused),
		cmocka_unit_test(numbers_out_of_range_are_named),
		cmocka_unit_test(a_host_id_goes_out_as_given_with_a_warning),
		cmocka_unit_test(the_warning_names_both_ids),
		cmocka_unit_test(a_pairing_that_contradicts_a_live_connection_is_refused),
		cmocka_unit_test(the_host_id_follows_the_rules),
		cmocka_unit_test(a_made_up_host_nqn_is_valid_and_stable),
		cmocka_unit_test(without_descriptors_a_host_has_no_identity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
