/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "proto/nqn.h"

static void names_in_use_are_accepted(void **state)
{
	static const char *const good[] = {
		"nqn.2014-08.org.nvmexpress.discovery",
		"nqn.2014-08.org.nvmexpress:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
		"nqn.2014-08.org.nvmexpress:uuid:F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6",
		"nqn.2014-08.org.nvmexpress:NVMf:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
		"nqn.2016-06.io.spdk:cnode1",
		"nqn.2026-12.com.example",
		"nqn.2026-01.com.example:a:b/c d",
		"nqn.2026-01.com.example:gr\xc3\xbc\xc3\x9f",
	};
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_null(nqn_check(good[i]));
}

static void what_is_wrong_is_said(void **state)
{
	static const struct {
		const char *nqn, *why;
	} bad[] = {
		{ "", "empty" },
		{ "x", "nqn." },
		{ "iqn.2014-08.org.nvmexpress:x", "nqn." },
		{ "NQN.2014-08.org.nvmexpress:x", "nqn." },
		{ "nqn.2014.08.org.nvmexpress:x", "date" },
		{ "nqn.2014-13.org.nvmexpress:x", "date" },
		{ "nqn.2014-00.org.nvmexpress:x", "date" },
		{ "nqn.2014-08", "date" },
		{ "nqn.2", "date" },
		{ "nqn.2014-08.", "domain" },
		{ "nqn.2014-08.:x", "domain" },
		{ "nqn.2014-08..org:x", "domain" },
		{ "nqn.2014-08.org.nvmexpress:", "colon" },
		{ "nqn.2014-08.org.nvmexpress:uuid:", "UUID" },
		{ "nqn.2014-08.org.nvmexpress:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf", "UUID" },
		{ "nqn.2014-08.org.nvmexpress:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6x", "UUID" },
		{ "nqn.2014-08.org.nvmexpress:uuid:f81d4fae7dec11d0a76500a0c91e6bf6", "UUID" },
		{ "nqn.2026-01.com.example:a\nb", "control" },
		{ "nqn.2026-01.com.example:\x7f", "control" },
		{ "nqn.2026-01.com.example:\xc2\x9b", "control" }, /* CSI */
		{ "nqn.2026-01.com.example:\xff", "UTF-8" },
		{ "nqn.2026-01.com.example:\xc3", "UTF-8" },		 /* ends in the middle */
		{ "nqn.2026-01.com.example:\xc0\xaf", "UTF-8" },	 /* over-long */
		{ "nqn.2026-01.com.example:\xed\xa0\x80", "UTF-8" },	 /* surrogate */
		{ "nqn.2026-01.com.example:\xf4\x90\x80\x80", "UTF-8" }, /* beyond Unicode */
		{ "nqn.2026-01.com.example:\xf8\x88\x80\x80\x80", "UTF-8" },
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *why = nqn_check(bad[i].nqn);

		assert_non_null(why);
		assert_non_null(strstr(why, bad[i].why));
	}
}

static void make_nqn(char *to, size_t len)
{
	memset(to, 'n', len);
	memcpy(to, "nqn.2026-01.org:", 16);
	to[len] = '\0';
}

/* C157 */
static void a_name_may_have_223_bytes_and_no_more(void **state)
{
	char nqn[300];

	make_nqn(nqn, 223);
	assert_null(nqn_check(nqn));
	make_nqn(nqn, 224);
	assert_non_null(strstr(nqn_check(nqn), "223"));
	make_nqn(nqn, 299);
	assert_non_null(strstr(nqn_check(nqn), "223"));
}

/* C001 */
static void a_wire_field_must_end_in_time(void **state)
{
	char field[256] = { 0 }, text[301];
	size_t len = 0;

	assert_non_null(nqn_check_wire(field, &len)); /* all zero */
	make_nqn(text, 223);
	memcpy(field, text, 224);
	assert_null(nqn_check_wire(field, &len));
	assert_int_equal(len, 223);
	make_nqn(text, 300);
	memcpy(field, text, 224);
	assert_non_null(strstr(nqn_check_wire(field, &len), "223"));
	memcpy(field, text, 256);
	assert_non_null(strstr(nqn_check_wire(field, &len), "terminated"));
	memset(field, 0, sizeof(field));
	strcpy(field, "example.org");
	assert_non_null(strstr(nqn_check_wire(field, &len), "nqn."));
}

static void the_text_alone_can_be_checked(void **state)
{
	assert_null(nqn_check_text("blktests-subsystem-1"));
	assert_non_null(nqn_check_text(""));
	assert_non_null(nqn_check_text("\x1b[2J"));
}

static void a_uuid_is_read_from_a_name(void **state)
{
	static const uint8_t want[16] = { 0xf8, 0x1d, 0x4f, 0xae, 0x7d, 0xec, 0x11, 0xd0, 0xa7, 0x65, 0, 0xa0, 0xc9, 0x1e, 0x6b, 0xf6 };
	uint8_t uuid[16];

	assert_true(nqn_uuid("nqn.2014-08.org.nvmexpress:uuid:F81d4fae-7dec-11d0-a765-00a0c91e6bf6", uuid));
	assert_memory_equal(uuid, want, 16);
	assert_false(nqn_uuid("nqn.2014-08.org.nvmexpress.discovery", uuid));
	assert_false(nqn_uuid("nqn.2014-08.org.nvmexpress:uuid:", uuid));
	assert_false(nqn_uuid("nqn", uuid));
}

static void uuids_are_read_with_and_without_dashes(void **state)
{
	static const char *const bad[] = {
		"",
		"f81d4fae",
		"f81d4fae-7dec-11d0-a765-00a0c91e6bf",
		"f81d4fae7dec-11d0-a765-00a0c91e6bf6",
		"f81d4fae-7dec-11d0-a765-00a0c91e6bfg",
		"f81d4fae7dec11d0a76500a0c91e6bf6f",
		"f81d4fae-7dec-11d0-a76500-a0c91e6bf6",
		"{f81d4fae-7dec-11d0-a765-00a0c91e6bf6}",
		" f81d4fae-7dec-11d0-a765-00a0c91e6bf",
	};
	uint8_t a[16], b[16];
	char text[37];
	size_t i;

	assert_true(uuid_parse_text("f81d4fae-7dec-11d0-a765-00a0c91e6bf6", a));
	assert_true(uuid_parse_text("F81D4FAE7DEC11D0A76500A0C91E6BF6", b));
	assert_memory_equal(a, b, 16);
	uuid_format(a, text);
	assert_string_equal(text, "f81d4fae-7dec-11d0-a765-00a0c91e6bf6");
	memset(a, 0x55, 16);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(uuid_parse_text(bad[i], a));
		assert_int_equal(a[0], 0x55);
	}
}

/* C054 */
static void wire_texts_lose_their_padding(void **state)
{
	char dst[9];

	assert_string_equal(wire_text(dst, "4420    ", 8), "4420");
	assert_string_equal(wire_text(dst, "4420\0\0\0x", 8), "4420");
	assert_string_equal(wire_text(dst, "4420 \0  ", 8), "4420");
	assert_string_equal(wire_text(dst, "12345678", 8), "12345678");
	assert_string_equal(wire_text(dst, "        ", 8), "");
	assert_string_equal(wire_text(dst, "a b     ", 8), "a b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_in_use_are_accepted),
		cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(a_name_may_have_223_bytes_and_no_more),
		cmocka_unit_test(a_wire_field_must_end_in_time),
		cmocka_unit_test(the_text_alone_can_be_checked),
		cmocka_unit_test(a_uuid_is_read_from_a_name),
		cmocka_unit_test(uuids_are_read_with_and_without_dashes),
		cmocka_unit_test(wire_texts_lose_their_padding),
	};

	return cmocka_run_group_tests_name("nqn", tests, NULL, NULL);
}
