/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "proto/cmd.h"
#include "proto/status.h"
#include "proto/tcp.h"

/* C150, C151: each refusal has its own words, and the flags are said in words. */
static void a_status_is_described_in_words(void **state)
{
	static const struct {
		uint16_t status;
		bool fabrics;
		const char *text;
	} cases[] = {
		{ 0x4184, true, "Connect Invalid Host (sct 1 sc 84h, DNR)" },
		{ 0x0180, true, "Connect Incompatible Format (sct 1 sc 80h)" },
		{ 0x0181, true, "Connect Controller Busy (sct 1 sc 81h)" },
		{ 0x4182, true, "Connect Invalid Parameters (sct 1 sc 82h, DNR)" },
		{ 0x0183, true, "Connect Restart Discovery (sct 1 sc 83h)" },
		{ 0x0185, true, "Invalid Queue Type (sct 1 sc 85h)" },
		{ 0x0190, true, "Discover Restart (sct 1 sc 90h)" },
		{ 0x0191, true, "Authentication Required (sct 1 sc 91h)" },
		{ 0x0182, false, "Attempted Write to Read Only Range (sct 1 sc 82h)" },
		{ 0x4002, false, "Invalid Field in Command (sct 0 sc 02h, DNR)" },
		{ 0x6002, true, "Invalid Field in Command (sct 0 sc 02h, DNR, More)" },
		{ 0x2013, false, "PRP Offset Invalid (sct 0 sc 13h, More)" },
		{ 0x0006, true, "Internal Error (sct 0 sc 06h)" },
		{ 0x0302, false, "Asymmetric Access Inaccessible (sct 3 sc 02h)" },
		{ 0x05aa, false, "unknown status (sct 5 sc aah)" },
		{ 0x00ff, true, "unknown status (sct 0 sc ffh)" },
	};
	char buf[150];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(nvme_status_describe(cases[i].status, cases[i].fabrics, buf, sizeof(buf)), cases[i].text);
}

static void every_status_has_a_name_and_fits(void **state)
{
	char buf[150];
	uint32_t status;
	int fabrics;

	for (status = 0; status < 0x8000; status++) {
		for (fabrics = 0; fabrics < 2; fabrics++) {
			assert_true(strlen(nvme_status_name((uint16_t)status, fabrics)) > 0);
			nvme_status_describe((uint16_t)status, fabrics, buf, sizeof(buf));
			assert_int_equal(buf[strlen(buf) - 1], ')');
			assert_true(strlen(buf) < sizeof(buf) - 1);
		}
	}
}

static void connect_names_the_field_at_fault(void **state)
{
	static const struct {
		uint32_t dw0;
		const char *text;
	} cases[] = {
		{ 40, "recfmt" },
		{ 42, "qid" },
		{ 44, "sqsize" },
		{ 45, "sqsize" },
		{ 46, "cattr" },
		{ 48, "kato" },
		{ 51, "kato" },
		{ 52, "byte 52 of the command" },
		{ 4, "fctype" },
		{ 24, "sgl" },
		{ 0xffff, "byte 65535 of the command" },
		{ 0x10000, "hostid" },
		{ 0x1000f, "hostid" },
		{ 0x10010, "cntlid" },
		{ 0x10012, "byte 18 of the data" },
		{ 0x10000 | 256, "subsysnqn" },
		{ 0x10000 | 511, "subsysnqn" },
		{ 0x10000 | 512, "hostnqn" },
		{ 0x10000 | 767, "hostnqn" },
		{ 0x10000 | 768, "byte 768 of the data" },
		{ 0x12340000 | 42, "qid" }, /* reserved bits are ignored */
	};
	char buf[64];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(nvmf_connect_field(cases[i].dw0, buf, sizeof(buf)), cases[i].text);
}

/* C110 */
static void reasons_of_termination_outside_the_table_are_unknown(void **state)
{
	static const char *const names[] = { "Invalid PDU Header Field",   "PDU Sequence Error",	   "Header Digest Error",
					     "Data Transfer Out of Range", "Data Transfer Limit Exceeded", "Unsupported Parameter" };
	uint32_t fes;

	for (fes = 0; fes <= UINT16_MAX; fes++)
		assert_string_equal(nvme_tcp_fes_name((uint16_t)fes), fes >= 1 && fes <= 6 ? names[fes - 1] : "unknown");
}

static void pdu_types_have_the_names_of_the_specification(void **state)
{
	uint32_t type;

	assert_string_equal(nvme_tcp_type_name(0x00), "ICReq");
	assert_string_equal(nvme_tcp_type_name(0x01), "ICResp");
	assert_string_equal(nvme_tcp_type_name(0x02), "H2CTermReq");
	assert_string_equal(nvme_tcp_type_name(0x03), "C2HTermReq");
	assert_string_equal(nvme_tcp_type_name(0x04), "CapsuleCmd");
	assert_string_equal(nvme_tcp_type_name(0x05), "CapsuleResp");
	assert_string_equal(nvme_tcp_type_name(0x06), "H2CData");
	assert_string_equal(nvme_tcp_type_name(0x07), "C2HData");
	assert_string_equal(nvme_tcp_type_name(0x09), "R2T");
	assert_string_equal(nvme_tcp_type_name(0x08), "unknown");
	for (type = 0x0a; type <= UINT8_MAX; type++)
		assert_string_equal(nvme_tcp_type_name((uint8_t)type), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_status_is_described_in_words),
		cmocka_unit_test(every_status_has_a_name_and_fits),
		cmocka_unit_test(connect_names_the_field_at_fault),
		cmocka_unit_test(reasons_of_termination_outside_the_table_are_unknown),
		cmocka_unit_test(pdu_types_have_the_names_of_the_specification),
	};

	return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
