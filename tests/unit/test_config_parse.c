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

#include "base/util.h"
#include "target/config.h"

static char logged[4096];

static void keep(void *arg, int level, const char *msg)
{
	size_t used = strlen(logged);

	snprintf(logged + used, sizeof(logged) - used, "%d %s\n", level, msg);
}

static const struct log logger = { .fn = keep, .level = LOG_INFO };

static struct config parsed(const char *text)
{
	struct error err = { 0 };
	struct config c;

	logged[0] = '\0';
	if (config_parse(text, strlen(text), &c, &logger, &err))
		fail_msg("%s", error_msg(&err));
	return c;
}

/* What "nvmetcli save" writes on a machine with one device and one file. */
static const char nvmetcli_saved[] =
	"{\n"
	"  \"hosts\": [\n"
	"    {\n"
	"      \"nqn\": \"nqn.2014-08.org.nvmexpress:uuid:2cd2c43b-a90a-45c1-a8cd-86b33ab273b5\"\n"
	"    }\n"
	"  ],\n"
	"  \"ports\": [\n"
	"    {\n"
	"      \"addr\": {\n"
	"        \"adrfam\": \"ipv4\",\n"
	"        \"traddr\": \"127.0.0.1\",\n"
	"        \"treq\": \"not specified\",\n"
	"        \"trsvcid\": \"4420\",\n"
	"        \"trtype\": \"tcp\"\n"
	"      },\n"
	"      \"ana_groups\": [ { \"ana\": { \"state\": \"optimized\" }, \"grpid\": 1 } ],\n"
	"      \"param\": { \"inline_data_size\": \"16384\", \"pi_enable\": \"0\" },\n"
	"      \"portid\": 2,\n"
	"      \"referrals\": [\n"
	"        { \"addr\": { \"adrfam\": \"ipv4\", \"portid\": \"3\", \"traddr\": \"127.0.0.1\", \"treq\": \"not specified\",\n"
	"                    \"trsvcid\": \"4430\", \"trtype\": \"tcp\" }, \"enable\": 1, \"name\": \"other\" }\n"
	"      ],\n"
	"      \"subsystems\": [ \"nqn.2026-11.org.example:a\" ]\n"
	"    }\n"
	"  ],\n"
	"  \"subsystems\": [\n"
	"    {\n"
	"      \"allowed_hosts\": [ \"nqn.2014-08.org.nvmexpress:uuid:2cd2c43b-a90a-45c1-a8cd-86b33ab273b5\" ],\n"
	"      \"attr\": { \"allow_any_host\": \"0\", \"cntlid_max\": \"65519\", \"cntlid_min\": \"1\", \"model\": \"Linux\", \"serial\": "
	"\"2c1d6b2e0f5b1a4b\", \"version\": \"1.3\" },\n"
	"      \"namespaces\": [\n"
	"        { \"ana\": { \"grpid\": \"1\" }, \"device\": { \"nguid\": \"00000000-0000-0000-0000-000000000000\", \"path\": "
	"\"/dev/nvme0n1\",\n"
	"          \"uuid\": \"b53d6ba2-3b84-4f07-8b1e-0f4f9a3b6d51\" }, \"enable\": 1, \"nsid\": 7 },\n"
	"        { \"device\": { \"nguid\": \"ef90689c-6c46-d44c-89c1-4067801309a8\", \"path\": \"/var/lib/disk.img\" }, \"enable\": 1, "
	"\"nsid\": 1 },\n"
	"        { \"device\": { \"path\": \"/var/lib/off.img\" }, \"enable\": 0, \"nsid\": 9 }\n"
	"      ],\n"
	"      \"nqn\": \"nqn.2026-11.org.example:a\"\n"
	"    }\n"
	"  ]\n"
	"}\n";

static void what_nvmetcli_saves_is_read(void **state)
{
	struct config c = parsed(nvmetcli_saved);
	const struct config_subsys *s = &c.subsys[0];
	static const uint8_t zero[16];

	assert_int_equal(c.nr_subsys, 1);
	assert_int_equal(c.nr_ports, 1);
	assert_string_equal(s->nqn, "nqn.2026-11.org.example:a");
	assert_string_equal(s->serial, "2c1d6b2e0f5b1a4b");
	assert_string_equal(s->model, "Linux");
	assert_false(s->allow_any_host);
	assert_int_equal(s->nr_hosts, 1);
	assert_int_equal(s->cntlid_max, 65519);
	assert_int_equal(s->nr_ns, 2); /* the disabled one is left out */
	assert_int_equal(s->ns[0].nsid, 1);
	assert_string_equal(s->ns[0].backend, "file:/var/lib/disk.img");
	assert_int_equal(s->ns[0].nguid[0], 0xef);
	assert_int_equal(s->ns[1].nsid, 7);
	assert_int_equal(s->ns[1].uuid[0], 0xb5);
	assert_memory_equal(s->ns[1].nguid, zero, 16); /* C167: none, not zeroes */
	assert_int_equal(s->ns[1].block_size, 512);
	assert_string_equal(c.ports[0].spec, "tcp:127.0.0.1:4420");
	assert_int_equal(c.ports[0].portid, 2);
	assert_int_equal(c.ports[0].nr_subsys, 1);
	assert_int_equal(c.ports[0].nr_referrals, 1);
	assert_string_equal(c.ports[0].referrals[0].trsvcid, "4430");
	/* nothing of it is unknown, and what is left out is said */
	assert_null(strstr(logged, "unknown"));
	assert_non_null(strstr(logged, "1 config: subsystems[0].namespaces[2].enable: is 0: namespace 9 is left out"));
	assert_non_null(strstr(logged, "2 config: ports[0].param: not used"));
	config_clear(&c);
}

static void our_own_backends_and_additions_are_read(void **state)
{
	struct config c = parsed("{\"subsystems\":[{\"nqn\":\"nqn.2026-11.org.example:a\",\"attr\":{\"allow_any_host\":1},\"namespaces\":["
				 "{\"nsid\":1,\"device\":{\"path\":\"mem:64M\"},\"nvof\":{\"block_size\":4096,\"readonly\":1}},"
				 "{\"nsid\":2,\"device\":{\"path\":\"null:1T\"}},"
				 "{\"nsid\":3,\"device\":{\"path\":\"file:x,engine=pool\"}},"
				 "{\"nsid\":4,\"device\":{\"path\":\"memory:of.img\"}}]}],"
				 "\"ports\":[{\"addr\":{\"trtype\":\"loop\"},\"nvof\":{\"all_subsystems\":true}},"
				 "{\"addr\":{\"trtype\":\"tcp\",\"traddr\":\"::1\",\"adrfam\":\"ipv6\",\"trsvcid\":4421}}]}");
	const struct config_ns *ns = c.subsys[0].ns;

	assert_true(c.subsys[0].allow_any_host);
	assert_string_equal(ns[0].backend, "mem:64M");
	assert_int_equal(ns[0].block_size, 4096);
	assert_true(ns[0].readonly);
	assert_string_equal(ns[1].backend, "null:1T");
	assert_string_equal(ns[2].backend, "file:x,engine=pool");
	assert_string_equal(ns[3].backend, "file:memory:of.img");
	assert_string_equal(c.ports[0].spec, "loop");
	assert_true(c.ports[0].all_subsys);
	assert_string_equal(c.ports[1].spec, "tcp:[::1]:4421");
	assert_string_equal(logged, "");
	config_clear(&c);
}

static void unknown_keys_are_warned_about_and_ignored(void **state)
{
	struct config c = parsed("{\"colour\":1,\"subsystems\":[{\"nqn\":\"nqn.2026-11.org.example:a\",\"attr\":{\"shape\":\"round\"}}]}");

	assert_int_equal(c.nr_subsys, 1);
	assert_non_null(strstr(logged, "1 config: colour: unknown, ignored"));
	assert_non_null(strstr(logged, "1 config: subsystems[0].attr.shape: unknown, ignored"));
	config_clear(&c);
}

static void an_empty_configuration_is_one(void **state)
{
	struct config c = parsed(" {} \n");

	assert_int_equal(c.nr_subsys + c.nr_ports, 0);
	config_clear(&c);
}

#define SUBSYS(rest) "{\"subsystems\":[{\"nqn\":\"nqn.2026-11.org.example:a\"" rest "}]}"
#define NS(rest)     SUBSYS(",\"namespaces\":[" rest "]")
#define PORT(rest)   "{\"subsystems\":[{\"nqn\":\"nqn.2026-11.org.example:a\"}],\"ports\":[" rest "]}"
#define ADDR(rest)   PORT("{\"addr\":{" rest "}}")

static void what_is_wrong_is_said_with_its_place(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "", "line 1, column 1: the file ends in the middle" },
		{ "{\n  \"hosts\": [\n", "line 3, column 1: the file ends in the middle" },
		{ "{\n  \"hosts\": [ x ]\n}", "line 2, column 14: " },
		{ "{\"hosts\":[],}", "line 1, column 13: " },
		{ "{} {}", "line 1, column 4: there is something behind the end" },
		{ "[]", "must be an object" },
		{ "{\"a\":\"\xff\xfe\"}", "line 1, column" },
		{ "{\"subsystems\":{}}", "subsystems: must be an array, is object" },
		{ "{\"subsystems\":[3]}", "subsystems[0]: must be an object, is int" },
		{ "{\"subsystems\":[{}]}", "subsystems[0].nqn: is missing" },
		{ "{\"subsystems\":[{\"nqn\":\"x\"}]}", "subsystems[0].nqn: \"x\": " },
		{ "{\"subsystems\":[{\"nqn\":\"nqn.2014-08.org.nvmexpress.discovery\"}]}", "is there by itself" },
		{ "{\"subsystems\":[{\"nqn\":\"nqn.2026-11.org.example:a\"},{\"nqn\":\"nqn.2026-11.org.example:a\"}]}",
		  "subsystems[1].nqn: \"nqn.2026-11.org.example:a\" is there already, in [0]" },
		{ SUBSYS(",\"attr\":{\"allow_any_host\":\"yes\"}"),
		  "subsystems[0].attr.allow_any_host: must be a number from 0 to 1, is \"yes\"" },
		{ SUBSYS(",\"attr\":{\"serial\":\"123456789012345678901\"}"), "longer than 20" },
		{ SUBSYS(",\"attr\":{\"serial\":[]}"), "subsystems[0].attr.serial: must be a string, is array" },
		{ SUBSYS(",\"attr\":{\"serial\":\"a\\u0000b\"}"), "subsystems[0].attr.serial: has a NUL" },
		{ SUBSYS(",\"attr\":{\"cntlid_min\":5,\"cntlid_max\":4}"), "cntlid_min: 5 is above cntlid_max, 4" },
		{ SUBSYS(",\"attr\":{\"cntlid_max\":65520}"), "cntlid_max: must be a number from 1 to 65519" },
		{ SUBSYS(",\"allowed_hosts\":[\"nqn.2026-11.org.example:h\",\"nqn.2026-11.org.example:h\"]"), "allowed_hosts[1]: " },
		{ SUBSYS(",\"allowed_hosts\":[\"\"]"), "subsystems[0].allowed_hosts[0]: must not be empty" },
		{ NS("{}"), "subsystems[0].namespaces[0].nsid: is missing" },
		{ NS("{\"nsid\":0,\"device\":{\"path\":\"/x\"}}"), "nsid: must be a number from 1 to 4294967294, is \"0\"" },
		{ NS("{\"nsid\":-1}"), "is \"-1\"" },
		{ NS("{\"nsid\":\"1x\"}"), "is \"1x\"" },
		{ NS("{\"nsid\":1}"), "namespaces[0].device: is missing" },
		{ NS("{\"nsid\":1,\"device\":{\"path\":\"mem:1M\"},\"ana\":{\"grpid\":\"129\"}}"), "namespaces[0].ana.grpid: " },
		{ NS("{\"nsid\":1,\"device\":{}}"), "namespaces[0].device.path: is missing" },
		{ NS("{\"nsid\":1,\"device\":{\"path\":\"/x\",\"uuid\":\"123\"}}"), "device.uuid: must be 32 hexadecimal digits" },
		{ NS("{\"nsid\":1,\"device\":{\"path\":\"/x\"},\"nvof\":{\"block_size\":1024}}"),
		  "nvof.block_size: must be 512 or 4096, is 1024" },
		{ NS("{\"nsid\":3,\"device\":{\"path\":\"/x\"}},{\"nsid\":1,\"device\":{\"path\":\"/"
		     "y\"}},{\"nsid\":3,\"device\":{\"path\":\"/z\"}}"),
		  "subsystems[0].namespaces[2].nsid: 3 is there already, in [0]" },
		{ PORT("{}"), "ports[0].addr: is missing" },
		{ PORT("{\"addr\":{\"trtype\":\"loop\"},\"ana_groups\":[{}]}"), "ports[0].ana_groups[0].grpid: is missing" },
		{ PORT("{\"addr\":{\"trtype\":\"loop\"},\"ana_groups\":[{\"grpid\":129}]}"), "ports[0].ana_groups[0].grpid: " },
		{ PORT("{\"addr\":{\"trtype\":\"loop\"},\"ana_groups\":[{\"grpid\":2}]}"), "ports[0].ana_groups[0].ana.state: is missing" },
		{ PORT("{\"addr\":{\"trtype\":\"loop\"},\"ana_groups\":[{\"grpid\":2,\"ana\":{\"state\":\"fine\"}}]}"),
		  "ports[0].ana_groups[0].ana.state: must be one of optimized" },
		{ ADDR("\"trtype\":\"fc\""), "ports[0].addr.trtype: must be tcp, rdma or loop, is \"fc\"" },
		{ ADDR("\"trtype\":\"tcp\",\"trsvcid\":\"4420\""), "ports[0].addr.traddr: is missing" },
		/* C164 */
		{ ADDR("\"trtype\":\"tcp\",\"traddr\":\"127.0.0.1\",\"trsvcid\":\"0\""),
		  "trsvcid: must be a port from 1 to 65535, is \"0\"" },
		{ ADDR("\"trtype\":\"tcp\",\"traddr\":\"127.0.0.1\",\"trsvcid\":\"65536\""), "is \"65536\"" },
		{ ADDR("\"trtype\":\"tcp\",\"traddr\":\"127.0.0.1\",\"trsvcid\":\"\""), "trsvcid: must be a port" },
		{ ADDR("\"trtype\":\"tcp\",\"traddr\":\"localhost\",\"trsvcid\":\"4420\""), "traddr: must be an IPv4 or IPv6 address" },
		{ ADDR("\"trtype\":\"tcp\",\"adrfam\":\"ipv6\",\"traddr\":\"127.0.0.1\",\"trsvcid\":\"4420\""), "adrfam: is \"ipv6\"" },
		/* never in clear text what was asked to be encrypted or authenticated */
		{ ADDR("\"trtype\":\"tcp\",\"traddr\":\"127.0.0.1\",\"trsvcid\":\"4420\",\"treq\":\"required\""),
		  "treq: TLS is not supported" },
		{ ADDR("\"trtype\":\"tcp\",\"traddr\":\"127.0.0.1\",\"trsvcid\":\"4420\",\"tsas\":\"tls1.3\""),
		  "tsas: TLS is not supported" },
		{ "{\"hosts\":[{\"nqn\":\"nqn.2026-11.org.example:h\",\"dhchap_key\":\"DHHC-1:00:x:\"}]}", "hosts[0].dhchap_key: in-band" },
		{ "{\"hosts\":[{}]}", "hosts[0].nqn: is missing" },
		{ PORT("{\"addr\":{\"trtype\":\"loop\"},\"subsystems\":[\"nqn.2026-11.org.example:b\"]}"),
		  "ports[0].subsystems[0]: there is no subsystem" },
		{ PORT("{\"portid\":1,\"addr\":{\"trtype\":\"loop\"}},{\"portid\":1,\"addr\":{\"trtype\":\"tcp\",\"traddr\":\"127.0.0.1\","
		       "\"trsvcid\":1}}"),
		  "ports[1].portid: 1 is there already, in [0]" },
		{ PORT("{\"portid\":1,\"addr\":{\"trtype\":\"loop\"}},{\"portid\":2,\"addr\":{\"trtype\":\"loop\"}}"),
		  "ports[1].addr: loop is there already" },
		{ PORT("{\"portid\":65536,\"addr\":{\"trtype\":\"loop\"}}"), "ports[0].portid: must be a number from 0 to 65535" },
		{ PORT("{\"addr\":{\"trtype\":\"loop\"},\"referrals\":[{}]}"), "ports[0].referrals[0].addr: is missing" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = { 0 };
		struct config c;

		assert_int_equal(config_parse(bad[i].text, strlen(bad[i].text), &c, &logger, &err), -EINVAL);
		if (!strstr(error_msg(&err), bad[i].says))
			fail_msg("%s:\n got \"%s\"\n wanted \"%s\"", bad[i].text, error_msg(&err), bad[i].says);
		assert_null(c.root);
		error_clear(&err);
	}
}

/* Cut anywhere and with any byte changed it is refused or read, and nothing leaks (run it with ASan). */
static void a_damaged_file_is_refused_or_read(void **state)
{
	size_t len = strlen(nvmetcli_saved), i;
	char *text = strdup(nvmetcli_saved);

	assert_non_null(text);
	for (i = 0; i < len; i++) {
		struct error err = { 0 };
		struct config c;

		if (i < len - 2) /* the last bytes are the closing brace and a newline */
			assert_int_equal(config_parse(text, i, &c, NULL, &err), -EINVAL);
		error_clear(&err);
		text[i] ^= 1;
		if (!config_parse(text, len, &c, NULL, &err))
			config_clear(&c);
		error_clear(&err);
		text[i] ^= 1;
	}
	free(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_nvmetcli_saves_is_read),
		cmocka_unit_test(our_own_backends_and_additions_are_read),
		cmocka_unit_test(unknown_keys_are_warned_about_and_ignored),
		cmocka_unit_test(an_empty_configuration_is_one),
		cmocka_unit_test(what_is_wrong_is_said_with_its_place),
		cmocka_unit_test(a_damaged_file_is_refused_or_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
