/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line: what is taken, and how mistakes are told. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/conn.h"
#include "cli/nearest.h"
#include "cli/opts.h"

struct values {
	bool flag, cleared;
	int count, number;
	const char *text;
	uint32_t u32;
	uint64_t u64, size, ms;
};

/* clang-format off */
static const struct opt table[] = {
	{ 'f', "flag", OPT_FLAG, OFFSET(struct values, flag), NULL, "" },
	{ 0, "no-flag", OPT_NOFLAG, OFFSET(struct values, cleared), NULL, "" },
	{ 'c', "count", OPT_COUNT, OFFSET(struct values, count), NULL, "" },
	{ 'x', "number", OPT_INT, OFFSET(struct values, number), "N", "", .imin = -5, .imax = 5 },
	{ 't', "text", OPT_STR, OFFSET(struct values, text), "TEXT", "" },
	{ 'u', "u32", OPT_U32, OFFSET(struct values, u32), "N", "", .min = 1, .max = 65535 },
	{ 0, "u64", OPT_U64, OFFSET(struct values, u64), "N", "" },
	{ 'z', "size", OPT_SIZE, OFFSET(struct values, size), "SIZE", "" },
	{ 0, "ms", OPT_MS, OFFSET(struct values, ms), "TIME", "" },
	{ 0 }
};
/* clang-format on */

static const struct subcmd test_cmd = { "test", NULL, "" };
static const struct usage test_usage = { "", NULL, NULL };

/* Parses a command line of up to 8 words; ret is what opts_parse() said. */
static struct values parse_into(struct cli *cli, int *ret, const char *const *words)
{
	struct values v = { .cleared = true };
	struct opt_group groups[] = { { "Options", table, &v }, opt_group_common(cli), { 0 } };
	char *argv[10] = { "test" };
	int argc = 1;

	for (; words[argc - 1]; argc++)
		argv[argc] = (char *)words[argc - 1];
	cli->cmd = &test_cmd;
	*ret = opts_parse(cli, &test_usage, groups, argc, argv, NULL, NULL);
	return v;
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static struct values taken(const char *const *words)
{
	struct cli cli = { .json = false };
	struct values v;
	int ret;

	v = parse_into(&cli, &ret, words);
	assert_int_equal(ret, OPTS_GO);
	assert_null(cli.failure);
	return v;
}

static const char *member(json_object *failure, const char *key)
{
	json_object *err, *value;

	assert_true(json_object_object_get_ex(failure, "error", &err));
	return json_object_object_get_ex(err, key, &value) ? json_object_get_string(value) : "";
}

/* Refused, naming the argument, with this piece of the sentence. */
static void refused(const char *const *words, const char *argument, const char *piece)
{
	struct cli cli = { .json = false };
	int ret;

	parse_into(&cli, &ret, words);
	assert_int_equal(ret, EXIT_USAGE);
	assert_string_equal(member(cli.failure, "argument"), argument);
	if (!strstr(member(cli.failure, "message"), piece))
		fail_msg("no \"%s\" in \"%s\"", piece, member(cli.failure, "message"));
	if (!strstr(member(cli.failure, "message"), argument))
		fail_msg("the argument \"%s\" is not in \"%s\"", argument, member(cli.failure, "message"));
	json_object_put(cli.failure);
}

static void long_and_short_forms_are_the_same(void **state)
{
	assert_int_equal(taken(WORDS("--u32", "7")).u32, 7);
	assert_int_equal(taken(WORDS("--u32=7")).u32, 7);
	assert_int_equal(taken(WORDS("-u", "7")).u32, 7);
	assert_int_equal(taken(WORDS("-u7")).u32, 7);
	assert_int_equal(taken(WORDS("-u=7")).u32, 7);
	assert_string_equal(taken(WORDS("-t", "-x")).text, "-x");
}

static void letters_can_stand_together(void **state)
{
	struct values v = taken(WORDS("-ccfu9", "--no-flag"));

	assert_true(v.flag);
	assert_false(v.cleared);
	assert_int_equal(v.count, 2);
	assert_int_equal(v.u32, 9);
}

static void numbers_are_decimal_or_hexadecimal(void **state)
{
	assert_int_equal(taken(WORDS("--u64", "0x10")).u64, 16);
	assert_int_equal(taken(WORDS("--u64", "010")).u64, 10);
	assert_int_equal(taken(WORDS("--u64", "18446744073709551615")).u64, UINT64_MAX);
	assert_int_equal(taken(WORDS("--number", "-5")).number, -5);
}

static void sizes_and_times_have_units(void **state)
{
	assert_int_equal(taken(WORDS("--size", "64M")).size, 64 << 20);
	assert_int_equal(taken(WORDS("--ms", "2")).ms, 2000);
	assert_int_equal(taken(WORDS("--ms", "250ms")).ms, 250);
	assert_int_equal(taken(WORDS("--ms", "5s")).ms, 5000);
	assert_int_equal(taken(WORDS("--ms", "2m")).ms, 120000);
}

/* C157 */
static void mistakes_name_the_argument(void **state)
{
	refused(WORDS("--u32", "0"), "--u32", "out of range: 1 to 65535");
	refused(WORDS("-u", "65536"), "--u32", "out of range: 1 to 65535");
	refused(WORDS("-u", "-1"), "--u32", "not a number");
	refused(WORDS("-u", "4k"), "--u32", "not a number");
	refused(WORDS("-u", " 4"), "--u32", "not a number");
	refused(WORDS("-u", ""), "--u32", "not a number");
	refused(WORDS("--u64", "18446744073709551616"), "--u64", "out of range");
	refused(WORDS("--u64", "0x"), "--u64", "not a number");
	refused(WORDS("--number", "6"), "--number", "out of range: -5 to 5");
	refused(WORDS("--number", "1e3"), "--number", "not a number");
	refused(WORDS("--size", "64Q"), "--size", "64Q");
	refused(WORDS("--ms", "5 s"), "--ms", "5 s");
	refused(WORDS("--u32"), "--u32", "missing");
	refused(WORDS("-f", "-u"), "--u32", "missing");
	refused(WORDS("--flag=yes"), "--flag", "takes no value");
	refused(WORDS("stray"), "stray", "unexpected argument");
	refused(WORDS("--", "--flag"), "--flag", "unexpected argument");
	refused(WORDS("-y"), "-y", "unknown option");
	refused(WORDS("--txet", "a"), "--txet", "did you mean --text?");
	refused(WORDS("--output-format", "xml"), "--output-format", "not one of: normal, json");
}

static void a_very_long_argument_is_only_refused(void **state)
{
	char *text = calloc(1, 10241);
	const char *words[] = { text, NULL };
	struct cli cli = { .json = false };
	int ret;

	memset(text, 'n', 10240);
	parse_into(&cli, &ret, words);
	assert_int_equal(ret, EXIT_USAGE);
	json_object_put(cli.failure);
	cli.failure = NULL;
	memcpy(text, "--", 2);
	parse_into(&cli, &ret, words);
	assert_int_equal(ret, EXIT_USAGE);
	json_object_put(cli.failure);
	free(text);
}

/* C155 */
static void json_is_known_before_the_options_are_parsed(void **state)
{
	assert_true(opts_want_json(3, (char *[]){ "nvof", "-o", "json" }));
	assert_true(opts_want_json(2, (char *[]){ "nvof", "-ojson" }));
	assert_true(opts_want_json(2, (char *[]){ "nvof", "-o=json" }));
	assert_true(opts_want_json(4, (char *[]){ "nvof", "--bad", "--output-format", "json" }));
	assert_true(opts_want_json(2, (char *[]){ "nvof", "--output-format=json" }));
	assert_false(opts_want_json(2, (char *[]){ "nvof", "-o" }));
	assert_false(opts_want_json(3, (char *[]){ "nvof", "-o", "normal" }));
}

static void the_nearest_word_is_the_one_meant(void **state)
{
	static const char *const words[] = { "discover", "id-ctrl", "bench io" };

	assert_string_equal(nearest("dicsover", words, 3), "discover");
	assert_string_equal(nearest("id-ctl", words, 3), "id-ctrl");
	assert_string_equal(nearest("bench oi", words, 3), "bench io");
	assert_null(nearest("frobnicate", words, 3));
	assert_null(nearest("", words, 3));
}

/* ------------------------------------------------------------------------------------------------------------------ addresses */

#define NQN "nqn.2026-11.org.example:nvof"

static void uri_gives(const char *text, struct conn_args *args, struct cli *cli)
{
	char *why;

	conn_args_init(args, cli);
	why = conn_positional(args, text);
	if (why)
		fail_msg("%s", why);
}

static void uri_refused(const char *text, const char *piece)
{
	struct cli cli = { .json = false };
	struct conn_args args;
	char *why;

	conn_args_init(&args, &cli);
	why = conn_positional(&args, text);
	assert_non_null(why);
	if (!strstr(why, piece))
		fail_msg("no \"%s\" in \"%s\"", piece, why);
	free(why);
	conn_args_clear(&args);
}

static void a_uri_is_the_whole_address(void **state)
{
	struct cli cli = { .json = false };
	struct conn_args args;

	uri_gives("nvme+tcp://[::1]:4421/" NQN "/7?hdr-digest&nr-io-queues=4&host-traddr=::2", &args, &cli);
	assert_string_equal(args.transport, "tcp");
	assert_string_equal(args.traddr, "::1");
	assert_string_equal(args.trsvcid, "4421");
	assert_string_equal(args.subsysnqn, NQN);
	assert_string_equal(args.host_traddr, "::2");
	assert_int_equal(args.nsid, 7);
	assert_int_equal(args.nr_io_queues, 4);
	assert_true(args.hdr_digest);
	assert_false(args.data_digest);
	conn_args_clear(&args);
}

static void a_uri_that_is_wrong_tells_what(void **state)
{
	uri_refused("disconnect", "unexpected argument \"disconnect\"");
	uri_refused("http://127.0.0.1/x", "http");
	uri_refused("nvme+tcp://127.0.0.1:0/" NQN, "127.0.0.1:0");
	uri_refused("nvme+tcp://127.0.0.1/" NQN "?nr-io-queues=0", "nr-io-queues: 0 is out of range");
	uri_refused("nvme+tcp://127.0.0.1/" NQN "?hdr-digest=yes", "hdr-digest takes no value");
	uri_refused("nvme+tcp://127.0.0.1/" NQN "?uri=x", "not a key");
	uri_refused("nvme+tcp://127.0.0.1/" NQN "?frobnicate", "\"frobnicate\" is not a key");
}

static void a_second_uri_is_refused(void **state)
{
	struct cli cli = { .json = false };
	struct conn_args args;
	char *why;

	uri_gives("nvme+tcp://127.0.0.1/" NQN, &args, &cli);
	why = conn_positional(&args, "nvme+tcp://127.0.0.2/" NQN);
	assert_non_null(why);
	free(why);
	conn_args_clear(&args);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_and_short_forms_are_the_same),
		cmocka_unit_test(letters_can_stand_together),
		cmocka_unit_test(numbers_are_decimal_or_hexadecimal),
		cmocka_unit_test(sizes_and_times_have_units),
		cmocka_unit_test(mistakes_name_the_argument),
		cmocka_unit_test(a_very_long_argument_is_only_refused),
		cmocka_unit_test(json_is_known_before_the_options_are_parsed),
		cmocka_unit_test(the_nearest_word_is_the_one_meant),
		cmocka_unit_test(a_uri_is_the_whole_address),
		cmocka_unit_test(a_uri_that_is_wrong_tells_what),
		cmocka_unit_test(a_second_uri_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
