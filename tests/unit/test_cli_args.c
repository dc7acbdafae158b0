/* SPDX-License-Identifier: BSD-3-Clause */
/* Namespace specifications, block ranges and the benchmark's pattern. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/bench_pattern.h"
#include "cli/io_args.h"
#include "cli/target_spec.h"
#include "cli/text.h"

/* ------------------------------------------------------------------------------------------------------------------ --ns */

static struct spec_ns ns_of(const char *text)
{
	struct spec_ns ns;
	char *why = spec_ns_parse(text, &ns);

	if (why)
		fail_msg("%s: %s", text, why);
	return ns;
}

static void ns_refused(const char *text, const char *piece)
{
	struct spec_ns ns;
	char *why = spec_ns_parse(text, &ns);

	assert_non_null(why);
	if (!strstr(why, piece))
		fail_msg("no \"%s\" in \"%s\"", piece, why);
	free(why);
}

static void an_ns_has_defaults(void **state)
{
	struct spec_ns ns = ns_of("mem:64M");

	assert_string_equal(ns.backend, "mem:64M");
	assert_int_equal(ns.nsid, 0);
	assert_int_equal(ns.block_size, 512);
	assert_int_equal(ns.count, 1);
	assert_false(ns.readonly);
	free(ns.backend);
}

static void keys_of_an_ns_come_in_any_order(void **state)
{
	struct spec_ns ns = ns_of("null:1T,ro,nsid=7,count=64,block=4k");

	assert_string_equal(ns.backend, "null:1T");
	assert_int_equal(ns.nsid, 7);
	assert_int_equal(ns.block_size, 4096);
	assert_int_equal(ns.count, 64);
	assert_true(ns.readonly);
	free(ns.backend);
	ns = ns_of("mem:1M,uuid=00112233-4455-6677-8899-aabbccddeeff,nguid=ffeeddccbbaa99887766554433221100");
	assert_int_equal(ns.uuid[15], 0xff);
	assert_int_equal(ns.nguid[0], 0xff);
	free(ns.backend);
}

static void a_path_may_have_commas_and_equals_signs(void **state)
{
	struct spec_ns ns = ns_of("file:/a,b/size=1,c,block=4096");

	assert_string_equal(ns.backend, "file:/a,b/size=1,c");
	assert_int_equal(ns.block_size, 4096);
	free(ns.backend);
}

static void mistakes_in_an_ns_name_the_key(void **state)
{
	ns_refused("mem:64M,block=1024", "block=: \"1024\" is not one of: 512, 4096");
	ns_refused("mem:64M,count=0", "count=: 0 is out of range");
	ns_refused("mem:64M,nsid=4294967295", "nsid=: 4294967295 is out of range");
	ns_refused("mem:64M,blok=512", "\"blok=512\" is not one of the keys");
	ns_refused("mem:64M,huge", "\"huge\" is not one of the keys: huge=on|off, nsid=");
	ns_refused("mem:64M,engine=pool", "\"engine=pool\" is not one of the keys: huge=on|off, nsid=");
	ns_refused("mem:64M,nsid=3,huge=on", "\"huge=on\" goes right behind the size: mem:SIZE,huge=on,...");
	ns_refused("null:64M,huge=on", "\"huge=on\" is not one of the keys: nsid=");
	ns_refused("mem:64M,uuid=123", "uuid=: \"123\"");
	ns_refused("64M", "is not BACKEND:ARGUMENT");
	ns_refused("", "is not BACKEND:ARGUMENT");
	ns_refused("file:/x,count=2", "share one file");
	ns_refused("mem:64M,block=512,block=4096", "block= is given twice");
	ns_refused("mem:64M,nsid=1,count=2,nsid=1", "nsid= is given twice");
	ns_refused("null:1T,ro,ro", "ro is given twice");
}

/* C167 */
static void ids_are_never_zero_or_shared(void **state)
{
	ns_refused("mem:64M,uuid=00000000-0000-0000-0000-000000000000", "all zero");
	ns_refused("mem:64M,count=2,uuid=00112233-4455-6677-8899-aabbccddeeff", "can't share");
	ns_refused("mem:64M,count=2,nguid=00112233445566778899aabbccddeeff", "can't share");
}

/* ------------------------------------------------------------------------------------------------------------------ ranges */

static const struct subcmd cmd = { "read", NULL, "" };

/* Of a namespace with 1000 blocks of 512 bytes. */
static int blocks_of(uint64_t start, uint64_t count, uint64_t size, uint64_t file_len, uint64_t *nr)
{
	const struct io_args args = { .start_block = start, .block_count = count, .data_size = size };
	struct cli cli = { .cmd = &cmd };
	int ret = io_args_blocks(&cli, &args, 512, 1000, file_len, nr);

	json_object_put(cli.failure);
	return ret;
}

static void the_size_comes_from_what_was_given(void **state)
{
	uint64_t nr;

	assert_int_equal(blocks_of(0, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, &nr), EXIT_OK);
	assert_int_equal(nr, 1);
	assert_int_equal(blocks_of(0, 7, NOT_GIVEN, NOT_GIVEN, &nr), EXIT_OK);
	assert_int_equal(nr, 8);
	assert_int_equal(blocks_of(0, NOT_GIVEN, 4096, 100, &nr), EXIT_OK);
	assert_int_equal(nr, 8);
	assert_int_equal(blocks_of(0, 7, 4096, NOT_GIVEN, &nr), EXIT_OK);
	assert_int_equal(nr, 8);
	assert_int_equal(blocks_of(0, NOT_GIVEN, NOT_GIVEN, 5120, &nr), EXIT_OK);
	assert_int_equal(nr, 10);
	assert_int_equal(blocks_of(999, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, &nr), EXIT_OK);
}

static void sizes_that_do_not_agree_are_refused(void **state)
{
	uint64_t nr;

	assert_int_equal(blocks_of(0, NOT_GIVEN, 1000, NOT_GIVEN, &nr), EXIT_USAGE);
	assert_int_equal(blocks_of(0, 8, 4096, NOT_GIVEN, &nr), EXIT_USAGE);
	assert_int_equal(blocks_of(0, NOT_GIVEN, NOT_GIVEN, 0, &nr), EXIT_USAGE);
	assert_int_equal(blocks_of(0, NOT_GIVEN, NOT_GIVEN, 513, &nr), EXIT_USAGE);
}

static void a_range_beyond_the_end_is_refused(void **state)
{
	uint64_t nr;

	assert_int_equal(blocks_of(1000, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, &nr), EXIT_USAGE);
	assert_int_equal(blocks_of(999, 1, NOT_GIVEN, NOT_GIVEN, &nr), EXIT_USAGE);
	assert_int_equal(blocks_of(1, NOT_GIVEN - 1, NOT_GIVEN, NOT_GIVEN, &nr), EXIT_USAGE);
	assert_int_equal(blocks_of(UINT64_MAX, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, &nr), EXIT_USAGE);
}

/* ------------------------------------------------------------------------------------------------------------------ the pattern */

#define LEN 4096u
#define NR  4u

static void what_was_filled_passes_the_check(void **state)
{
	uint8_t *buf = malloc(NR * LEN);
	char why[160];

	pattern_fill(buf, 77, NR, LEN, 5);
	assert_true(pattern_check(buf, 77, NR, LEN, 5, why, sizeof(why)));
	pattern_fill(buf, 77, NR * LEN / 512, 512, 5);
	assert_true(pattern_check(buf, 77, NR * LEN / 512, 512, 5, why, sizeof(why)));
	free(buf);
}

static void expect_wrong(uint8_t *buf, const char *piece)
{
	char why[160];

	assert_false(pattern_check(buf, 77, NR, LEN, 5, why, sizeof(why)));
	if (!strstr(why, piece))
		fail_msg("no \"%s\" in \"%s\"", piece, why);
}

static void what_is_wrong_with_a_block_is_told(void **state)
{
	uint8_t *buf = malloc(NR * LEN);

	pattern_fill(buf, 77, NR, LEN, 5);
	buf[2 * LEN + 4095] ^= 1;
	expect_wrong(buf, "block 79 differs at byte 4095");
	pattern_fill(buf, 78, NR, LEN, 5);
	expect_wrong(buf, "block 77 holds the data of block 78");
	pattern_fill(buf, 77, NR, LEN, 6);
	expect_wrong(buf, "seed 6, not 5");
	memset(buf, 0, NR * LEN);
	expect_wrong(buf, "no pattern at all");
	free(buf);
}

/* ------------------------------------------------------------------------------------------------------------------ texts */

static void cleaned(const char *text, const char *wanted)
{
	char *copy = strdup(text);

	assert_string_equal(text_clean(copy), wanted);
	free(copy);
}

static void texts_of_others_can_be_shown(void **state)
{
	cleaned("plain", "plain");
	cleaned("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\xa7", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\xa7");
	cleaned("a\x1b[2Jb\nc\x7f", "a?[2Jb?c?");
	cleaned("\xff\xfe\x80", "???");
	cleaned("\xc0\xaf", "??");	/* over-long */
	cleaned("\xed\xa0\x80", "???"); /* a surrogate */
	cleaned("\xc2\x9b"
		"31m",
		"??31m"); /* a C1 control character */
	cleaned("cut \xe2\x82", "cut ??");
}

static void statuses_of_io_are_told_as_what_they_mean(void **state)
{
	char words[200];

	assert_string_equal(conn_status_words(NULL, -ENODEV, words, sizeof(words)), "the namespace is gone (No such device)");
	assert_non_null(strstr(conn_status_words(NULL, -ERANGE, words, sizeof(words)), "beyond the end of the namespace"));
	assert_string_equal(conn_status_words(NULL, -ETIMEDOUT, words, sizeof(words)), "Connection timed out");
	assert_non_null(strstr(conn_status_words(NULL, 0x4281, words, sizeof(words)), "sct 2 sc 81h"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ns_has_defaults),
		cmocka_unit_test(keys_of_an_ns_come_in_any_order),
		cmocka_unit_test(a_path_may_have_commas_and_equals_signs),
		cmocka_unit_test(mistakes_in_an_ns_name_the_key),
		cmocka_unit_test(ids_are_never_zero_or_shared),
		cmocka_unit_test(the_size_comes_from_what_was_given),
		cmocka_unit_test(sizes_that_do_not_agree_are_refused),
		cmocka_unit_test(a_range_beyond_the_end_is_refused),
		cmocka_unit_test(what_was_filled_passes_the_check),
		cmocka_unit_test(what_is_wrong_with_a_block_is_told),
		cmocka_unit_test(texts_of_others_can_be_shown),
		cmocka_unit_test(statuses_of_io_are_told_as_what_they_mean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
