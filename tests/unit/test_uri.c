/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/uri.h"

#define NQN	   "nqn.2026-01.org.example:x"
#define OR_NULL(s) ((s) ? (s) : "(null)")

static void addresses_are_taken_apart(void **state)
{
	static const struct {
		const char *text, *transport, *traddr, *trsvcid, *subsysnqn;
		uint32_t nsid;
	} cases[] = {
		{ "nvme+tcp://192.0.2.7:4420/" NQN "/3", "tcp", "192.0.2.7", "4420", NQN, 3 },
		{ "nvme+tcp://192.0.2.7/" NQN, "tcp", "192.0.2.7", NULL, NQN, 0 },
		{ "nvme+tcp://storage-1.example.org:8009", "tcp", "storage-1.example.org", "8009", NULL, 0 },
		{ "nvme+tcp://192.0.2.7/", "tcp", "192.0.2.7", NULL, NULL, 0 },
		{ "nvme+rdma://[2001:db8::1]:4420/" NQN, "rdma", "2001:db8::1", "4420", NQN, 0 },
		{ "nvme+tcp://[::1]", "tcp", "::1", NULL, NULL, 0 },
		{ "nvme+tcp://[fe80::1%25eth0]:4420", "tcp", "fe80::1%eth0", "4420", NULL, 0 }, /* C015 */
		{ "nvme+tcp://[fe80::1%eth0.7]", "tcp", "fe80::1%eth0.7", NULL, NULL, 0 },
		{ "nvme+loop:///" NQN "/4294967294", "loop", NULL, NULL, NQN, 4294967294 },
		{ "NVMe+TCP://h/a%2Fb%20c", "tcp", "h", NULL, "a/b c", 0 },
	};
	struct nvof_uri uri;
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(nvof_uri_parse(cases[i].text, &uri, &why), 0);
		assert_string_equal(uri.transport, cases[i].transport);
		assert_string_equal(OR_NULL(uri.traddr), OR_NULL(cases[i].traddr));
		assert_string_equal(OR_NULL(uri.trsvcid), OR_NULL(cases[i].trsvcid));
		assert_string_equal(OR_NULL(uri.subsysnqn), OR_NULL(cases[i].subsysnqn));
		assert_int_equal(uri.nsid, cases[i].nsid);
		assert_int_equal(uri.nr_options, 0);
		nvof_uri_clear(&uri);
	}
}

static void options_follow_a_question_mark(void **state)
{
	struct nvof_uri uri;
	const char *why;

	assert_int_equal(nvof_uri_parse("nvme+tcp://h/" NQN "?hdr-digest&nr-io-queues=4&&host-traddr=fe80%3a%3a1&x=a=b", &uri, &why),
			 -EINVAL);
	assert_int_equal(nvof_uri_parse("nvme+tcp://h/" NQN "?hdr-digest&nr-io-queues=4&host-traddr=fe80%3a%3a1&x=a=b&y=/?", &uri, &why),
			 0);
	assert_int_equal(uri.nr_options, 5);
	assert_string_equal(uri.keys[0], "hdr-digest");
	assert_string_equal(uri.values[0], "");
	assert_string_equal(uri.keys[1], "nr-io-queues");
	assert_string_equal(uri.values[1], "4");
	assert_string_equal(uri.values[2], "fe80::1");
	assert_string_equal(uri.values[3], "a=b");
	assert_string_equal(uri.values[4], "/?");
	assert_string_equal(uri.subsysnqn, NQN);
	nvof_uri_clear(&uri);
	assert_int_equal(nvof_uri_parse("nvme+tcp://h?a=1", &uri, &why), 0);
	assert_int_equal(uri.nr_options, 1);
	nvof_uri_clear(&uri);
	nvof_uri_clear(&uri);
}

static void a_bad_address_is_refused_with_the_reason(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "", "nvme+tcp" },
		{ "192.0.2.7", "nvme+tcp" },
		{ "http://h/", "nvme+tcp" },
		{ "nvme+tcp:/h", "nvme+tcp" },
		{ "nvme+fc://x", "nvme+tcp" },
		{ "nvme+tcp://", "host" },
		{ "nvme+tcp:///" NQN, "host" },
		{ "nvme+tcp://-x/", "host" },
		{ "nvme+tcp://a$b/", "host" },
		{ "nvme+tcp://:4420/", "host" },
		{ "nvme+tcp://me@h/", "user" },
		{ "nvme+tcp://fe80::1/" NQN, "bracket" },
		{ "nvme+tcp://::1:4420", "bracket" },
		{ "nvme+tcp://[::1/" NQN, "bracket" },
		{ "nvme+tcp://[::g]/" NQN, "IPv6" },
		{ "nvme+tcp://[192.0.2.7]", "IPv6" },
		{ "nvme+tcp://[]", "IPv6" },
		{ "nvme+tcp://[fe80::1%25]", "scope" },
		{ "nvme+tcp://[fe80::1%25a/b]", "bracket" },
		{ "nvme+tcp://[::1]4420", "PORT" },
		{ "nvme+loop://h/" NQN, "loop" },
		{ "nvme+tcp://h//1", "NQN" },
		{ "nvme+tcp://h/" NQN "/0", "NSID" },
		{ "nvme+tcp://h/" NQN "/", "NSID" },
		{ "nvme+tcp://h/" NQN "/1/2", "NSID" },
		{ "nvme+tcp://h/" NQN "/-1", "NSID" },
		{ "nvme+tcp://h/" NQN "/4294967295", "NSID" },
		{ "nvme+tcp://h/" NQN "/99999999999999999999", "NSID" },
		{ "nvme+tcp://h/a%2", "%" },
		{ "nvme+tcp://h/a%", "%" },
		{ "nvme+tcp://h/a%zz", "%" },
		{ "nvme+tcp://h/a%00b", "%" },
		{ "nvme+tcp://h/a%0Ab", "control" },
		{ "nvme+tcp://h/a b", "blank" },
		{ "nvme+tcp://h/" NQN "#f", "#" },
		{ "nvme+tcp://h/" NQN "?=4", "option" },
		{ "nvme+tcp://h/" NQN "?a=%g0", "%" },
	};
	struct nvof_uri uri;
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(nvof_uri_parse(bad[i].text, &uri, &why), -EINVAL);
		assert_non_null(strstr(why, bad[i].why));
		assert_null(uri.traddr);
		assert_null(uri.keys);
	}
}

/* C164 */
static void a_port_is_a_decimal_number_from_1_to_65535(void **state)
{
	static const char *const bad[] = { "0",	    "-0",    "-1",    "+1",    "65536", "abc", "",
					   "04420", "4420 ", " 4420", "4420x", "0x50",	"1e3", "99999999999" };
	struct nvof_uri uri;
	char text[100];
	const char *why;
	uint16_t port;
	size_t i;

	assert_int_equal(trsvcid_parse("1", &port), 0);
	assert_int_equal(port, 1);
	assert_int_equal(trsvcid_parse("65535", &port), 0);
	assert_int_equal(port, 65535);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(trsvcid_parse(bad[i], &port), -EINVAL);
		assert_int_equal(port, 65535);
		if (strchr(bad[i], ' '))
			continue;
		snprintf(text, sizeof(text), "nvme+tcp://192.0.2.7:%s/" NQN, bad[i]);
		assert_int_equal(nvof_uri_parse(text, &uri, &why), -EINVAL);
		assert_non_null(strstr(why, "1 to 65535"));
	}
}

/* C157 */
static void an_over_long_name_is_refused(void **state)
{
	char *text = malloc(20000);
	struct nvof_uri uri;
	const char *why;

	memset(text, 'n', 20000);
	memcpy(text, "nvme+tcp://h/", 13);
	text[13 + 223] = '\0';
	assert_int_equal(nvof_uri_parse(text, &uri, &why), 0);
	nvof_uri_clear(&uri);
	text[13 + 223] = 'n';
	text[13 + 224] = '\0';
	assert_int_equal(nvof_uri_parse(text, &uri, &why), -EINVAL);
	text[13 + 224] = 'n';
	text[19999] = '\0';
	assert_int_equal(nvof_uri_parse(text, &uri, &why), -EINVAL);
	assert_non_null(strstr(why, "223"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_taken_apart),
		cmocka_unit_test(options_follow_a_question_mark),
		cmocka_unit_test(a_bad_address_is_refused_with_the_reason),
		cmocka_unit_test(a_port_is_a_decimal_number_from_1_to_65535),
		cmocka_unit_test(an_over_long_name_is_refused),
	};

	return cmocka_run_group_tests_name("uri", tests, NULL, NULL);
}
