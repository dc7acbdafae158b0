/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "proto/rdma.h"

#define ST(sc) (NVME_STATUS(NVME_SCT_GENERIC, NVME_SC_##sc) | NVME_STATUS_DNR)

/* ---- connection management ---- */

static void a_request_is_laid_out_as_the_specification_says(void **state)
{
	static const uint8_t want[NVME_RDMA_CM_REQ_LEN] = { 0, 0, 0x02, 0x01, 0x80, 0x00, 0x7f, 0x00, 0x34, 0x12 };
	struct nvme_rdma_cm_req req = { .qid = 0x102, .hrqsize = 128, .hsqsize = 127, .cntlid = 0x1234 }, back;
	uint8_t wire[NVME_RDMA_CM_REQ_LEN];

	nvme_rdma_cm_req_build(&req, wire);
	assert_memory_equal(wire, want, sizeof(want));
	assert_int_equal(nvme_rdma_cm_req_parse(wire, sizeof(wire), &back), 0);
	assert_memory_equal(&back, &req, sizeof(req));
}

static void what_a_request_has_wrong_is_told_by_status(void **state)
{
	struct nvme_rdma_cm_req req = { .hrqsize = 32, .hsqsize = 31 }, back;
	uint8_t wire[56] = { 0 };
	size_t len;

	nvme_rdma_cm_req_build(&req, wire);
	for (len = 0; len < NVME_RDMA_CM_REQ_LEN; len++)
		assert_int_equal(nvme_rdma_cm_req_parse(wire, len, &back), NVME_RDMA_CM_INVALID_LEN);
	assert_int_equal(nvme_rdma_cm_req_parse(wire, sizeof(wire), &back), 0); /* padded by the CM */
	wire[0] = 1;
	assert_int_equal(nvme_rdma_cm_req_parse(wire, sizeof(wire), &back), NVME_RDMA_CM_INVALID_RECFMT);
	wire[0] = 0;
	wire[6] = 0;
	assert_int_equal(nvme_rdma_cm_req_parse(wire, sizeof(wire), &back), NVME_RDMA_CM_INVALID_HSQSIZE);
	wire[6] = 31;
	wire[4] = 0;
	assert_int_equal(nvme_rdma_cm_req_parse(wire, sizeof(wire), &back), NVME_RDMA_CM_INVALID_HRQSIZE);
}

static void an_accept_is_checked(void **state)
{
	uint8_t wire[NVME_RDMA_CM_ACCEPT_LEN];
	uint16_t crqsize;

	nvme_rdma_cm_accept_build(128, wire);
	assert_null(nvme_rdma_cm_accept_parse(wire, sizeof(wire), &crqsize));
	assert_int_equal(crqsize, 128);
	assert_non_null(nvme_rdma_cm_accept_parse(wire, sizeof(wire) - 1, &crqsize));
	wire[1] = 1;
	assert_non_null(nvme_rdma_cm_accept_parse(wire, sizeof(wire), &crqsize));
	nvme_rdma_cm_accept_build(0, wire);
	assert_non_null(nvme_rdma_cm_accept_parse(wire, sizeof(wire), &crqsize));
}

static void a_refusal_has_a_name(void **state)
{
	uint8_t wire[148] = { 0 };
	uint16_t sts;

	assert_false(nvme_rdma_cm_reject_parse(wire, sizeof(wire), &sts)); /* the CM's own */
	nvme_rdma_cm_reject_build(NVME_RDMA_CM_INVALID_HSQSIZE, wire);
	assert_false(nvme_rdma_cm_reject_parse(wire, NVME_RDMA_CM_REJECT_LEN - 1, &sts));
	assert_true(nvme_rdma_cm_reject_parse(wire, sizeof(wire), &sts));
	assert_string_equal(nvme_rdma_cm_status_name(sts), "invalid HSQSIZE");
	assert_string_equal(nvme_rdma_cm_status_name(0), "unknown status");
	assert_string_equal(nvme_rdma_cm_status_name(10), "unknown status");
	assert_string_equal(nvme_rdma_cm_status_name(0xffff), "unknown status");
}

/* ---- SGLs ---- */

static void a_keyed_descriptor_comes_back_as_it_was(void **state)
{
	struct nvme_rdma_sgl sgl;
	struct nvme_sqe sqe = { 0 };

	nvme_rdma_keyed_build(&sqe.sgl, 0x1122334455667788, 0xfffffe, 0xdeadbeef, false);
	assert_int_equal(sqe.sgl.type, NVME_SGL_KEYED);
	assert_int_equal(nvme_rdma_sgl_parse(&sqe, NULL, 0, 1, &sgl), 0);
	assert_int_equal(sgl.nr, 1);
	assert_int_equal(sgl.len, 0xfffffe);
	assert_true(sgl.seg[0].addr == 0x1122334455667788 && sgl.seg[0].key == 0xdeadbeef);
	assert_false(sgl.in_capsule || sgl.invalidate);

	nvme_rdma_keyed_build(&sqe.sgl, 1, 2, 3, true);
	assert_int_equal(nvme_rdma_sgl_parse(&sqe, NULL, 0, 1, &sgl), 0);
	assert_true(sgl.invalidate && sgl.inv_key == 3);
}

static void no_data_is_no_descriptor(void **state)
{
	struct nvme_rdma_sgl sgl;
	struct nvme_sqe sqe = { 0 };

	assert_int_equal(nvme_rdma_sgl_parse(&sqe, NULL, 0, 1, &sgl), 0);
	assert_true(!sgl.nr && !sgl.len);
	nvme_rdma_keyed_build(&sqe.sgl, 0, 0, 0, false);
	assert_int_equal(nvme_rdma_sgl_parse(&sqe, NULL, 0, 1, &sgl), 0);
	assert_true(!sgl.nr && !sgl.len);
}

static void data_in_the_capsule_is_there_or_refused(void **state)
{
	struct nvme_sqe sqe = { .sgl = { .length = htole32(512), .type = NVME_SGL_OFFSET } };
	struct nvme_rdma_sgl sgl;
	uint8_t data[512] = { 0 };

	assert_int_equal(nvme_rdma_sgl_parse(&sqe, data, 512, 1, &sgl), 0);
	assert_true(sgl.in_capsule && sgl.len == 512 && !sgl.nr);
	assert_int_equal(nvme_rdma_sgl_parse(&sqe, data, 511, 1, &sgl), ST(SGL_INVALID_DATA));
	assert_int_equal(nvme_rdma_sgl_parse(&sqe, NULL, 0, 1, &sgl), ST(SGL_INVALID_DATA));
	sqe.sgl.length = htole32(UINT32_MAX);
	assert_int_equal(nvme_rdma_sgl_parse(&sqe, data, 512, 1, &sgl), ST(SGL_INVALID_DATA));
	sqe.sgl.length = htole32(16);
	sqe.sgl.addr = htole64(16);
	assert_int_equal(nvme_rdma_sgl_parse(&sqe, data, 512, 1, &sgl), ST(SGL_INVALID_OFFSET));
}

static void several_descriptors_come_in_the_capsule(void **state)
{
	struct nvme_sgl_desc list[NVME_RDMA_SGL_MAX + 1];
	struct nvme_sqe sqe = { .sgl = { .type = 0x31 } };
	struct nvme_rdma_sgl sgl;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(list); i++)
		nvme_rdma_keyed_build(&list[i], i, 4096, 100 + i, i == 1);
	sqe.sgl.length = htole32(3 * sizeof(list[0]));
	assert_int_equal(nvme_rdma_sgl_parse(&sqe, (uint8_t *)list, sizeof(list), 16, &sgl), 0);
	assert_true(sgl.nr == 3 && sgl.len == 3 * 4096 && sgl.seg[2].key == 102);
	assert_true(sgl.invalidate && sgl.inv_key == 101);

	/* more than offered, more than there is, parts of one, at a wrong place, of a wrong kind */
	assert_int_equal(nvme_rdma_sgl_parse(&sqe, (uint8_t *)list, sizeof(list), 2, &sgl), ST(SGL_INVALID_COUNT));
	assert_int_equal(nvme_rdma_sgl_parse(&sqe, (uint8_t *)list, 47, 16, &sgl), ST(SGL_INVALID_OFFSET));
	sqe.sgl.length = htole32(sizeof(list));
	assert_int_equal(nvme_rdma_sgl_parse(&sqe, (uint8_t *)list, sizeof(list), 1000, &sgl), ST(SGL_INVALID_COUNT));
	sqe.sgl.length = htole32(17);
	assert_int_equal(nvme_rdma_sgl_parse(&sqe, (uint8_t *)list, sizeof(list), 16, &sgl), ST(SGL_INVALID_LAST));
	sqe.sgl.length = 0;
	assert_int_equal(nvme_rdma_sgl_parse(&sqe, (uint8_t *)list, sizeof(list), 16, &sgl), ST(SGL_INVALID_LAST));
	sqe.sgl.length = htole32(16);
	sqe.sgl.addr = htole64(UINT64_MAX - 8);
	assert_int_equal(nvme_rdma_sgl_parse(&sqe, (uint8_t *)list, sizeof(list), 16, &sgl), ST(SGL_INVALID_OFFSET));
	sqe.sgl.addr = 0;
	list[0].type = NVME_SGL_OFFSET;
	assert_int_equal(nvme_rdma_sgl_parse(&sqe, (uint8_t *)list, sizeof(list), 16, &sgl), ST(SGL_INVALID_TYPE));
}

static void other_types_are_refused(void **state)
{
	struct nvme_rdma_sgl sgl;
	unsigned int type;

	for (type = 0; type < 256; type++) {
		struct nvme_sqe sqe = { .sgl = { .length = htole32(16), .type = (uint8_t)type } };
		uint8_t data[16] = { 0 };
		uint16_t status = nvme_rdma_sgl_parse(&sqe, data, sizeof(data), 16, &sgl);

		if (type == NVME_SGL_OFFSET || type == NVME_SGL_KEYED || type == NVME_SGL_KEYED_INVALIDATE)
			assert_int_equal(status, 0);
		else
			assert_int_not_equal(status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_laid_out_as_the_specification_says),
		cmocka_unit_test(what_a_request_has_wrong_is_told_by_status),
		cmocka_unit_test(an_accept_is_checked),
		cmocka_unit_test(a_refusal_has_a_name),
		cmocka_unit_test(a_keyed_descriptor_comes_back_as_it_was),
		cmocka_unit_test(no_data_is_no_descriptor),
		cmocka_unit_test(data_in_the_capsule_is_there_or_refused),
		cmocka_unit_test(several_descriptors_come_in_the_capsule),
		cmocka_unit_test(other_types_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
