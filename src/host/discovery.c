/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading the discovery log: header, records, header again; whole only when the generation did not change in between (C043).
 *
 * Nothing the ctrl says about sizes is believed: records are read in pieces, and memory grows with what has arrived (C047).  Only the last
 * header is read with RAE 0, so that the next change is told again (C046).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/admin.h"
#include "proto/discovery.h"

#define MAX_GENERATIONS 10 /* tries until "keeps changing" */
#define MAX_RETRIES	3  /* of one command that was refused with DNR 0 (C048) */
#define MAX_RECORDS	65536
#define RECORD_LEN	sizeof(struct nvmf_disc_log_entry)
#define CHUNK_RECORDS	16u
static_assert(RECORD_LEN == 1024 && sizeof(struct nvmf_discovery_log) == 1024, "discovery log");

enum disc_state { DISC_HEADER, DISC_RECORDS, DISC_CHECK };

struct disc {
	struct nvof_ctrl *ctrl;
	nvof_disc_cb *cb;
	void *arg;
	struct nvof_disc_log *log;
	enum disc_state state;
	uint64_t genctr, numrec;
	unsigned int nr_generations, nr_retries;
	uint32_t chunk; /* records of the command under way */
	size_t room;	/* entries that log->entries has place for */
	union {
		struct nvmf_discovery_log hdr;
		struct nvmf_disc_log_entry records[CHUNK_RECORDS];
		uint8_t raw[CHUNK_RECORDS * RECORD_LEN];
	};
};

static void disc_answered(void *arg, const struct nvof_cpl *cpl);

static void disc_end(struct disc *d, int status)
{
	struct nvof_disc_log *log = d->log;
	nvof_disc_cb *cb = d->cb;
	void *arg = d->arg;

	if (status) {
		nvof_disc_log_free(log);
		log = NULL;
	}
	free(d);
	cb(arg, status, log);
}

static void disc_fail(struct disc *d, int status)
{
	disc_end(d, ctrl_op_failed(d->ctrl, status, "read the discovery log of %s", d->ctrl->p.where));
}

/* Sends the command of the state. */
static int disc_send(struct disc *d)
{
	uint64_t offset = 0;
	uint32_t len = RECORD_LEN;
	struct nvme_sqe sqe;

	if (d->state == DISC_RECORDS) {
		uint32_t max = (uint32_t)min_size(d->ctrl->max_transfer / RECORD_LEN, CHUNK_RECORDS);

		d->chunk = (uint32_t)min_u64(d->numrec - d->log->nr_entries, max);
		offset = (d->log->nr_entries + 1) * RECORD_LEN;
		len = d->chunk * (uint32_t)RECORD_LEN;
	}
	memset(d->raw, 0, sizeof(d->raw));
	sqe = sqe_get_log(NVME_LOG_LID_DISCOVER, 0, d->state != DISC_CHECK, 0, offset, len);
	return admin_submit(d->ctrl, &sqe, DATA_FROM_CTRL, d->raw, len, disc_answered, d);
}

static int disc_add(struct disc *d, const struct nvmf_disc_log_entry *wire)
{
	struct nvof_disc_log *log = d->log;
	struct nvof_disc_entry *e;
	struct disc_entry parsed;

	if (log->nr_entries == d->room) {
		size_t room = d->room ? d->room * 2 : CHUNK_RECORDS;

		e = realloc(log->entries, room * sizeof(*e));
		if (!e)
			return -ENOMEM;
		log->entries = e;
		d->room = room;
	}
	e = &log->entries[log->nr_entries++];
	memset(e, 0, sizeof(*e));
	memset(&parsed, 0, sizeof(parsed));
	e->skip = disc_entry_parse(wire, &parsed);
	e->trtype = wire->trtype;
	e->adrfam = wire->adrfam;
	e->subtype = wire->subtype;
	e->treq = wire->treq;
	e->sectype = wire->trtype == NVMF_TRTYPE_TCP ? wire->tsas.tcp.sectype : 0;
	if (wire->trtype == NVMF_TRTYPE_RDMA) {
		e->rdma_qptype = wire->tsas.rdma.qptype;
		e->rdma_prtype = wire->tsas.rdma.prtype;
		e->rdma_cms = wire->tsas.rdma.cms;
		e->rdma_pkey = le16toh(wire->tsas.rdma.pkey);
	}
	e->portid = le16toh(wire->portid);
	e->cntlid = le16toh(wire->cntlid);
	e->asqsz = le16toh(wire->asqsz);
	e->eflags = le16toh(wire->eflags);
	memcpy(e->trsvcid, parsed.trsvcid, sizeof(e->trsvcid));
	memcpy(e->subnqn, parsed.subnqn, sizeof(e->subnqn));
	memcpy(e->traddr, parsed.traddr, sizeof(e->traddr));
	return 0;
}

/* A header came: the beginning of a generation.  0: go on; else the end. */
static int disc_begin(struct disc *d)
{
	if (le16toh(d->hdr.recfmt))
		return ctrl_op_failed(d->ctrl, -EPROTO, "the discovery log of %s has record format %u, which is unknown", d->ctrl->p.where,
				      le16toh(d->hdr.recfmt));
	d->genctr = le64toh(d->hdr.genctr);
	d->numrec = le64toh(d->hdr.numrec);
	if (d->numrec > MAX_RECORDS)
		return ctrl_op_failed(d->ctrl, -EPROTO, "the discovery log of %s claims %llu records, more than the %u that are read",
				      d->ctrl->p.where, (unsigned long long)d->numrec, MAX_RECORDS);
	d->log->genctr = d->genctr;
	d->log->nr_entries = 0;
	d->state = d->numrec ? DISC_RECORDS : DISC_CHECK;
	return 0;
}

static bool same_generation(const struct disc *d)
{
	return le64toh(d->hdr.genctr) == d->genctr && le64toh(d->hdr.numrec) == d->numrec;
}

/* 0: send the next command; > 0: done; < 0: failed, with its sentence. */
static int disc_step(struct disc *d)
{
	uint32_t i;

	switch (d->state) {
	case DISC_HEADER:
		return disc_begin(d);
	case DISC_RECORDS:
		for (i = 0; i < d->chunk; i++)
			if (disc_add(d, &d->records[i]))
				return ctrl_op_failed(d->ctrl, -ENOMEM, "read the discovery log of %s", d->ctrl->p.where);
		if (d->log->nr_entries == d->numrec)
			d->state = DISC_CHECK;
		return 0;
	default:
		if (same_generation(d))
			return 1;
		if (++d->nr_generations == MAX_GENERATIONS)
			return ctrl_op_failed(d->ctrl, -EAGAIN,
					      "the discovery log of %s keeps changing: it did each of the %u times it was read",
					      d->ctrl->p.where, MAX_GENERATIONS);
		return disc_begin(d);
	}
}

static void disc_answered(void *arg, const struct nvof_cpl *cpl)
{
	struct disc *d = arg;
	int ret = cpl->status;

	if (ret > 0 && !(ret & NVME_STATUS_DNR) && d->nr_retries < MAX_RETRIES) {
		d->nr_retries++;
		ret = 0;
	} else if (!ret) {
		d->nr_retries = 0;
		ret = disc_step(d);
		if (ret) {
			disc_end(d, ret < 0 ? ret : 0);
			return;
		}
	}
	if (!ret)
		ret = disc_send(d);
	if (ret)
		disc_fail(d, ret);
}

int nvof_discover(struct nvof_ctrl *ctrl, nvof_disc_cb *cb, void *arg)
{
	struct disc *d = calloc(1, sizeof(*d));
	int ret = -ENOMEM;

	if (!d)
		return -ENOMEM;
	d->ctrl = ctrl;
	d->cb = cb;
	d->arg = arg;
	d->log = calloc(1, sizeof(*d->log));
	if (d->log)
		ret = disc_send(d);
	if (ret) {
		free(d->log);
		free(d);
	}
	return ret;
}

void nvof_disc_log_free(struct nvof_disc_log *log)
{
	if (!log)
		return;
	free(log->entries);
	free(log);
}
