/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/util.h"
#include "proto/traddr.h"

/* C062 */
static void one_address_in_other_spelling_is_the_same(void **state)
{
	static const char *const same[][2] = {
		{ "::1", "0:0:0:0:0:0:0:1" },	      { "::1", "0000:0000:0000:0000:0000:0000:0000:0001" },
		{ "2001:DB8::a", "2001:db8::A" },     { "::ffff:127.0.0.1", "127.0.0.1" },
		{ "::FFFF:7f00:1", "127.0.0.1" },     { "[::1]", "::1" },
		{ "fe80::1%eth0", "fe80:0::1%eth0" }, { "[fe80::1%eth0]", "fe80::1%eth0" },
		{ "Host.Example", "host.example" },
	};
	static const char *const other[][2] = {
		{ "::1", "::2" },
		{ "127.0.0.1", "127.0.0.2" },
		{ "::127.0.0.1", "127.0.0.1" },
		{ "fe80::1%eth0", "fe80::1%eth1" },
		{ "fe80::1%eth0", "fe80::1" },
		{ "fe80::1%eth0", "fe80::1%eth01" },
		{ "host.example", "host.example.org" },
		{ "127.0.0.1", "127.0.0.1%lo" },
		{ "", "::" },
		{ "[]", "::" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(same); i++)
		if (!traddr_equal(same[i][0], same[i][1]) || !traddr_equal(same[i][1], same[i][0]))
			fail_msg("%s is %s", same[i][0], same[i][1]);
	for (i = 0; i < ARRAY_SIZE(other); i++)
		if (traddr_equal(other[i][0], other[i][1]) || traddr_equal(other[i][1], other[i][0]))
			fail_msg("%s is not %s", other[i][0], other[i][1]);
}

static void ipv6_addresses_are_known_by_their_form(void **state)
{
	static const char *const yes[] = { "::1", "[::1]", "fe80::1%eth0", "[fe80::1%eth0]", "::ffff:127.0.0.1", "2001:DB8:0:0::7" };
	static const char *const no[] = { "127.0.0.1", "127.0.0.1:4420", "[::1]:4420", "[::1", "host:4420", "host", "", ":", "1:2:3" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(yes); i++)
		if (!traddr_is_ip6(yes[i]))
			fail_msg("%s is one", yes[i]);
	for (i = 0; i < ARRAY_SIZE(no); i++)
		if (traddr_is_ip6(no[i]))
			fail_msg("%s is none", no[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_address_in_other_spelling_is_the_same),
		cmocka_unit_test(ipv6_addresses_are_known_by_their_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
