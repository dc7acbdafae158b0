/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "proto/discovery.h"

static struct nvmf_disc_log_entry wire;
static struct disc_entry e;

static int good_entry(void **state)
{
	e = (struct disc_entry){
		.trtype = NVMF_TRTYPE_TCP,
		.adrfam = NVMF_ADDR_FAMILY_IP4,
		.subtype = NVME_NQN_NVME,
		.treq = NVMF_TREQ_NOT_REQUIRED | NVMF_TREQ_DISABLE_SQFLOW,
		.portid = 0x1234,
		.cntlid = 0xffff,
		.asqsz = 32,
		.eflags = NVMF_DISC_EFLAGS_DUPRETINFO,
		.trsvcid = "4420",
		.subnqn = "nqn.2026-01.org.example:x",
		.traddr = "192.0.2.7",
	};
	e.tsas[0] = 1;
	disc_entry_build(&e, &wire);
	return 0;
}

static void an_entry_survives_the_wire(void **state)
{
	struct disc_entry back;

	assert_int_equal(wire.portid, htole16(0x1234));
	assert_null(disc_entry_parse(&wire, &back));
	assert_memory_equal(&back, &e, sizeof(e));
}

static void set(char *field, size_t len, const char *text, char pad)
{
	memset(field, pad, len);
	memcpy(field, text, strlen(text));
}
#define SET(field, text, pad) set(wire.field, sizeof(wire.field), text, pad)

/* C054 */
static void padding_of_either_kind_is_trimmed(void **state)
{
	SET(trsvcid, "8009", ' ');
	SET(subnqn, "nqn.2026-01.org.example:y", ' ');
	SET(traddr, "192.0.2.8", ' ');
	assert_null(disc_entry_parse(&wire, &e));
	assert_string_equal(e.trsvcid, "8009");
	assert_string_equal(e.subnqn, "nqn.2026-01.org.example:y");
	assert_string_equal(e.traddr, "192.0.2.8");
}

static void refused_for(const char *word)
{
	const char *why = disc_entry_parse(&wire, &e);

	assert_non_null(why);
	assert_non_null(strstr(why, word));
}

/* C054 */
static void over_long_texts_are_refused(void **state)
{
	SET(traddr, "", 'A');
	refused_for("TRADDR");
	assert_int_equal(strlen(e.traddr), 256);
	good_entry(state);
	SET(trsvcid, "", '9');
	refused_for("TRSVCID");
	good_entry(state);
	SET(subnqn, "nqn.2026-01.org.example:", 'n');
	refused_for("NQN");
	assert_int_equal(strlen(e.subnqn), 256);
}

static void texts_that_would_spoil_a_terminal_are_refused(void **state)
{
	SET(traddr, "\x1b[2J", 0);
	refused_for("TRADDR");
	good_entry(state);
	SET(trsvcid, "44\n20", 0);
	refused_for("TRSVCID");
	good_entry(state);
	SET(subnqn, "nqn.2026-01.org.example:\x07", 0);
	refused_for("control");
	good_entry(state);
	SET(traddr, "h\xc3\xbc", 0);
	refused_for("TRADDR");
}

static void an_ip_entry_needs_an_address_and_a_port(void **state)
{
	SET(traddr, "", 0);
	refused_for("TRADDR");
	good_entry(state);
	SET(trsvcid, "0", 0);
	refused_for("TRSVCID");
	SET(trsvcid, "none", 0);
	refused_for("TRSVCID");
	SET(trsvcid, "", 0); /* the transport's default */
	assert_null(disc_entry_parse(&wire, &e));
	SET(subnqn, "", 0);
	refused_for("empty");
}

static void other_transports_have_addresses_of_their_own(void **state)
{
	wire.trtype = NVMF_TRTYPE_FC;
	wire.adrfam = NVMF_ADDR_FAMILY_FC;
	SET(traddr, "nn-0x1000000000000001:pn-0x2000000000000001", 0);
	SET(trsvcid, "none", 0);
	assert_null(disc_entry_parse(&wire, &e));
	wire.trtype = NVMF_TRTYPE_LOOP;
	SET(traddr, "", 0);
	assert_null(disc_entry_parse(&wire, &e));
}

static void names_are_those_nvme_cli_prints(void **state)
{
	uint8_t trtype = 0;

	assert_string_equal(trtype_name(NVMF_TRTYPE_TCP), "tcp");
	assert_string_equal(trtype_name(NVMF_TRTYPE_RDMA), "rdma");
	assert_string_equal(trtype_name(NVMF_TRTYPE_LOOP), "loop");
	assert_string_equal(trtype_name(99), "unrecognized");
	assert_string_equal(adrfam_name(NVMF_ADDR_FAMILY_IP4), "ipv4");
	assert_string_equal(adrfam_name(NVMF_ADDR_FAMILY_IP6), "ipv6");
	assert_string_equal(subtype_name(NVME_NQN_NVME), "nvme subsystem");
	assert_string_equal(subtype_name(NVME_NQN_CURR), "current discovery subsystem");
	assert_string_equal(treq_name(NVMF_TREQ_NOT_SPECIFIED), "not specified");
	assert_string_equal(treq_name(NVMF_TREQ_NOT_SPECIFIED | NVMF_TREQ_DISABLE_SQFLOW),
			    "not specified, sq flow control disable supported");
	assert_int_equal(trtype_parse("TCP", &trtype), 0);
	assert_int_equal(trtype, NVMF_TRTYPE_TCP);
	assert_int_equal(trtype_parse("loop", &trtype), 0);
	assert_int_equal(trtype, NVMF_TRTYPE_LOOP);
	assert_int_equal(trtype_parse("tcpx", &trtype), -EINVAL);
	assert_int_equal(trtype_parse("", &trtype), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_entry_survives_the_wire, good_entry),
		cmocka_unit_test_setup(padding_of_either_kind_is_trimmed, good_entry),
		cmocka_unit_test_setup(over_long_texts_are_refused, good_entry),
		cmocka_unit_test_setup(texts_that_would_spoil_a_terminal_are_refused, good_entry),
		cmocka_unit_test_setup(an_ip_entry_needs_an_address_and_a_port, good_entry),
		cmocka_unit_test_setup(other_transports_have_addresses_of_their_own, good_entry),
		cmocka_unit_test(names_are_those_nvme_cli_prints),
	};

	return cmocka_run_group_tests_name("discovery", tests, NULL, NULL);
}
