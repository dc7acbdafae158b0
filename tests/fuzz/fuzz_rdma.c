/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first byte says what the rest is: private data of a connection request, an acceptance or a refusal, or a capsule.  What was taken
 * keeps what the header promises and survives the way to the wire and back; of a capsule no descriptor leads past what it brought.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "proto/rdma.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void request(const uint8_t *data, size_t size)
{
	struct nvme_rdma_cm_req req, back;
	uint8_t wire[NVME_RDMA_CM_REQ_LEN];
	uint16_t sts = nvme_rdma_cm_req_parse(data, size, &req);

	if (sts) {
		if (!strcmp(nvme_rdma_cm_status_name(sts), "unknown status"))
			abort();
		return;
	}
	if (!req.hsqsize || !req.hrqsize)
		abort();
	nvme_rdma_cm_req_build(&req, wire);
	if (nvme_rdma_cm_req_parse(wire, sizeof(wire), &back) || memcmp(&req, &back, sizeof(req)))
		abort();
}

static void accepted(const uint8_t *data, size_t size)
{
	uint8_t wire[NVME_RDMA_CM_ACCEPT_LEN];
	uint16_t crqsize, back;
	const char *why = nvme_rdma_cm_accept_parse(data, size, &crqsize);

	if (why) {
		if (!*why)
			abort();
		return;
	}
	nvme_rdma_cm_accept_build(crqsize, wire);
	if (!crqsize || nvme_rdma_cm_accept_parse(wire, sizeof(wire), &back) || crqsize != back)
		abort();
}

static void refused(const uint8_t *data, size_t size)
{
	uint8_t wire[NVME_RDMA_CM_REJECT_LEN];
	uint16_t sts, back;

	if (!nvme_rdma_cm_reject_parse(data, size, &sts))
		return;
	nvme_rdma_cm_reject_build(sts, wire);
	if (!*nvme_rdma_cm_status_name(sts) || !nvme_rdma_cm_reject_parse(wire, sizeof(wire), &back) || sts != back)
		abort();
}

static void sgl_check(const struct nvme_rdma_sgl *sgl, uint32_t data_len, uint32_t max_nr)
{
	uint64_t len = 0;
	uint32_t i;

	if (sgl->in_capsule) {
		if (sgl->len > data_len)
			abort();
		return;
	}
	if (sgl->nr > NVME_RDMA_SGL_MAX || sgl->nr > (max_nr ? max_nr : 1))
		abort();
	for (i = 0; i < sgl->nr; i++) {
		if (!sgl->seg[i].len || sgl->seg[i].len > NVME_RDMA_KEYED_LEN_MAX)
			abort();
		len += sgl->seg[i].len;
	}
	if (len != sgl->len)
		abort();
}

static void capsule(const uint8_t *data, size_t size)
{
	struct nvme_rdma_sgl sgl;
	struct nvme_sqe sqe;
	uint32_t max_nr, data_len;

	if (size < sizeof(sqe))
		return;
	memcpy(&sqe, data, sizeof(sqe));
	data_len = (uint32_t)(size - sizeof(sqe));
	max_nr = sqe.cid % (NVME_RDMA_SGL_MAX + 1);
	if (!nvme_rdma_sgl_parse(&sqe, data + sizeof(sqe), data_len, max_nr, &sgl))
		sgl_check(&sgl, data_len, max_nr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const kinds[])(const uint8_t *data, size_t size) = { request, accepted, refused, capsule };
	uint8_t *exact;

	if (!size)
		return 0;
	/* On the heap and as large as it is, so that AddressSanitizer sees a read past its end. */
	exact = malloc(size - 1);
	memcpy(exact, data + 1, size - 1);
	kinds[data[0] % ARRAY_SIZE(kinds)](exact, size - 1);
	free(exact);
	return 0;
}
