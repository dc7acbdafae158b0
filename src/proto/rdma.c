/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/rdma.h"

#include <string.h>

#include "base/util.h"

struct cm_req {
	uint16_t recfmt, qid, hrqsize, hsqsize, cntlid;
	uint8_t rsvd10[22];
};
static_assert(sizeof(struct cm_req) == NVME_RDMA_CM_REQ_LEN, "RDMA_CM_REQUEST private data");

struct cm_accept {
	uint16_t recfmt, crqsize;
	uint8_t rsvd4[28];
};
static_assert(sizeof(struct cm_accept) == NVME_RDMA_CM_ACCEPT_LEN, "RDMA_CM_ACCEPT private data");

struct cm_reject {
	uint16_t recfmt, sts;
};
static_assert(sizeof(struct cm_reject) == NVME_RDMA_CM_REJECT_LEN, "RDMA_CM_REJECT private data");

#define SGL_SEGMENT_OFFSET	0x21 /* segment, and last segment, at an offset in the capsule */
#define SGL_LAST_SEGMENT_OFFSET 0x31

#define STATUS(sc) (NVME_STATUS(NVME_SCT_GENERIC, NVME_SC_##sc) | NVME_STATUS_DNR)

const char *nvme_rdma_cm_status_name(uint16_t sts)
{
	static const char *const names[] = {
		[NVME_RDMA_CM_INVALID_LEN] = "invalid private data length",
		[NVME_RDMA_CM_INVALID_RECFMT] = "invalid RECFMT",
		[NVME_RDMA_CM_INVALID_QID] = "invalid QID",
		[NVME_RDMA_CM_INVALID_HSQSIZE] = "invalid HSQSIZE",
		[NVME_RDMA_CM_INVALID_HRQSIZE] = "invalid HRQSIZE",
		[NVME_RDMA_CM_NO_RSC] = "no resources",
		[NVME_RDMA_CM_INVALID_IRD] = "invalid IRD",
		[NVME_RDMA_CM_INVALID_ORD] = "invalid ORD",
		[NVME_RDMA_CM_INVALID_CNTLID] = "invalid CNTLID",
	};

	return sts < ARRAY_SIZE(names) && names[sts] ? names[sts] : "unknown status";
}

/* ---- connection management ---- */

void nvme_rdma_cm_req_build(const struct nvme_rdma_cm_req *req, uint8_t wire[NVME_RDMA_CM_REQ_LEN])
{
	struct cm_req w = {
		.qid = htole16(req->qid),
		.hrqsize = htole16(req->hrqsize),
		.hsqsize = htole16(req->hsqsize),
		.cntlid = htole16(req->cntlid),
	};

	memcpy(wire, &w, sizeof(w));
}

uint16_t nvme_rdma_cm_req_parse(const void *wire, size_t len, struct nvme_rdma_cm_req *req)
{
	struct cm_req w;

	if (len < sizeof(w))
		return NVME_RDMA_CM_INVALID_LEN;
	memcpy(&w, wire, sizeof(w));
	if (w.recfmt)
		return NVME_RDMA_CM_INVALID_RECFMT;
	*req = (struct nvme_rdma_cm_req){ le16toh(w.qid), le16toh(w.hrqsize), le16toh(w.hsqsize), le16toh(w.cntlid) };
	/* A submission queue has two entries at least, and an answer needs a place to arrive. */
	if (!req->hsqsize)
		return NVME_RDMA_CM_INVALID_HSQSIZE;
	if (!req->hrqsize)
		return NVME_RDMA_CM_INVALID_HRQSIZE;
	return 0;
}

void nvme_rdma_cm_accept_build(uint16_t crqsize, uint8_t wire[NVME_RDMA_CM_ACCEPT_LEN])
{
	struct cm_accept w = { .crqsize = htole16(crqsize) };

	memcpy(wire, &w, sizeof(w));
}

const char *nvme_rdma_cm_accept_parse(const void *wire, size_t len, uint16_t *crqsize)
{
	struct cm_accept w;

	if (len < sizeof(w))
		return "its private data is too short";
	memcpy(&w, wire, sizeof(w));
	if (w.recfmt)
		return "its private data has an unknown format (RECFMT)";
	*crqsize = le16toh(w.crqsize);
	return *crqsize ? NULL : "its receive queue (CRQSIZE) has no entries";
}

void nvme_rdma_cm_reject_build(uint16_t sts, uint8_t wire[NVME_RDMA_CM_REJECT_LEN])
{
	struct cm_reject w = { .sts = htole16(sts) };

	memcpy(wire, &w, sizeof(w));
}

bool nvme_rdma_cm_reject_parse(const void *wire, size_t len, uint16_t *sts)
{
	struct cm_reject w;

	if (len < sizeof(w))
		return false;
	memcpy(&w, wire, sizeof(w));
	*sts = le16toh(w.sts);
	return !w.recfmt && *sts; /* a refusal without a word of ours is padded with zeroes */
}

/* ---- SGLs ---- */

void nvme_rdma_keyed_build(struct nvme_sgl_desc *sgl, uint64_t addr, uint32_t len, uint32_t key, bool invalidate)
{
	struct nvme_keyed_sgl_desc d = { .addr = htole64(addr), .type = invalidate ? NVME_SGL_KEYED_INVALIDATE : NVME_SGL_KEYED };
	uint32_t len_le = htole32(len), key_le = htole32(key);

	memcpy(d.length, &len_le, sizeof(d.length));
	memcpy(d.key, &key_le, sizeof(d.key));
	memcpy(sgl, &d, sizeof(d));
}

/* False: not a keyed data block. */
static bool keyed_add(struct nvme_rdma_sgl *sgl, const struct nvme_keyed_sgl_desc *d)
{
	uint32_t len = 0, key;

	if (d->type != NVME_SGL_KEYED && d->type != NVME_SGL_KEYED_INVALIDATE)
		return false;
	memcpy(&len, d->length, sizeof(d->length));
	memcpy(&key, d->key, sizeof(key));
	len = le32toh(len);
	key = le32toh(key);
	if (d->type == NVME_SGL_KEYED_INVALIDATE) {
		sgl->invalidate = true;
		sgl->inv_key = key;
	}
	if (len)
		sgl->seg[sgl->nr++] = (struct nvme_rdma_seg){ le64toh(d->addr), len, key };
	sgl->len += len; /* at most 16 times 24 bits */
	return true;
}

/* A list of keyed descriptors in the capsule. */
static uint16_t segment_parse(const struct nvme_sgl_desc *desc, const uint8_t *data, uint32_t data_len, uint32_t max_nr,
			      struct nvme_rdma_sgl *sgl)
{
	uint64_t off = le64toh(desc->addr);
	uint32_t len = le32toh(desc->length), i, nr = len / sizeof(struct nvme_keyed_sgl_desc);
	struct nvme_keyed_sgl_desc d;

	if (!len || len % sizeof(d))
		return STATUS(SGL_INVALID_LAST);
	if (nr > max_nr || nr > NVME_RDMA_SGL_MAX)
		return STATUS(SGL_INVALID_COUNT);
	if (off > data_len || len > data_len - off)
		return STATUS(SGL_INVALID_OFFSET);
	for (i = 0; i < nr; i++) {
		memcpy(&d, data + off + i * sizeof(d), sizeof(d));
		if (!keyed_add(sgl, &d))
			return STATUS(SGL_INVALID_TYPE);
	}
	return 0;
}

uint16_t nvme_rdma_sgl_parse(const struct nvme_sqe *sqe, const uint8_t *data, uint32_t data_len, uint32_t max_nr, struct nvme_rdma_sgl *sgl)
{
	const struct nvme_sgl_desc *desc = &sqe->sgl;

	sgl->len = sgl->nr = 0;
	sgl->in_capsule = sgl->invalidate = false;
	switch (desc->type) {
	case NVME_SGL_OFFSET:
		sgl->len = le32toh(desc->length);
		sgl->in_capsule = true;
		if (desc->addr) /* ICDOFF is 0 */
			return STATUS(SGL_INVALID_OFFSET);
		return sgl->len > data_len ? STATUS(SGL_INVALID_DATA) : 0;
	case SGL_LAST_SEGMENT_OFFSET:
		return segment_parse(desc, data, data_len, max_nr, sgl);
	case SGL_SEGMENT_OFFSET: /* a chain of segments: not offered */
		return STATUS(SGL_INVALID_LAST);
	case 0: /* of commands without data it is reserved */
		return desc->length ? STATUS(SGL_INVALID_TYPE) : 0;
	default:
		return keyed_add(sgl, (const struct nvme_keyed_sgl_desc *)desc) ? 0 : STATUS(SGL_INVALID_TYPE);
	}
}
