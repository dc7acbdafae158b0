// SPDX-License-Identifier: BSD-3-Clause
/* Get Log Page: NVM Express Base 2.0 section 5.16. */
#include <string.h>

#include "target/rcu.h"
#include "target/target.h"

#define LOG_PAGE_MAX 4096

struct log_args {
	uint8_t lid;
	uint8_t lsp;
	bool rae;
	uint64_t len, offset;
};

static struct log_args log_args(const struct target_req *req)
{
	uint32_t cdw10 = le32toh(req->sqe.cdw10), cdw11 = le32toh(req->sqe.cdw11);
	uint32_t numd = cdw10 >> 16 | (cdw11 & 0xffff) << 16; /* 0's based */

	return (struct log_args){
		.lid = cdw10 & 0xff,
		.lsp = cdw10 >> 8 & 0x7f,
		.rae = cdw10 >> 15 & 1,
		.len = ((uint64_t)numd + 1) * 4,
		.offset = le32toh(req->sqe.cdw12) | (uint64_t)le32toh(req->sqe.cdw13) << 32,
	};
}

static bool log_known(const struct target_ctrl *c, uint8_t lid)
{
	return c->subsys->discovery ? lid == NVME_LOG_LID_DISCOVER : lid <= NVME_LOG_LID_CMD_EFFECTS || lid == NVME_LOG_LID_ANA;
}

static size_t log_supported(void *page)
{
	struct nvme_supported_log_pages *log = page;

	for (uint8_t lid = 0; lid <= NVME_LOG_LID_CMD_EFFECTS; lid++)
		log->lid_support[lid] = htole32(1);
	log->lid_support[NVME_LOG_LID_ANA] = htole32(1);
	return sizeof(*log);
}

/* 16-byte counters, of which 8 are enough. */
static void put128(uint8_t field[16], uint64_t value)
{
	value = htole64(value);
	memcpy(field, &value, sizeof(value));
}

static uint64_t data_units(uint64_t bytes)
{
	return (bytes + 511999) / 512000;
} /* thousands of 512 bytes, rounded up */

static size_t log_smart(struct target_subsys *s, void *page)
{
	struct nvme_smart_log *log = page;
	uint64_t nr_reads = 0, nr_writes = 0, bytes_read = 0, bytes_written = 0;
	const struct ns_table *table;

	rcu_enter();
	table = target_ns_table(s);
	for (uint32_t i = 0, nr = ns_table_nr(table); i < nr; i++) {
		const struct target_ns *ns = table->slots[i].ns;

		for (uint32_t j = 0; j < ns->nr_uses; j++) {
			nr_reads += __atomic_load_n(&ns->uses[j].nr_reads, __ATOMIC_RELAXED);
			nr_writes += __atomic_load_n(&ns->uses[j].nr_writes, __ATOMIC_RELAXED);
			bytes_read += __atomic_load_n(&ns->uses[j].bytes_read, __ATOMIC_RELAXED);
			bytes_written += __atomic_load_n(&ns->uses[j].bytes_written, __ATOMIC_RELAXED);
		}
	}
	rcu_leave(s);
	log->avail_spare = 100;
	put128(log->host_reads, nr_reads);
	put128(log->host_writes, nr_writes);
	put128(log->data_units_read, data_units(bytes_read));
	put128(log->data_units_written, data_units(bytes_written));
	return sizeof(*log);
}

static size_t log_firmware(void *page)
{
	struct nvme_firmware_slot *log = page;

	log->afi = 1;
	target_text(log->frs[0], sizeof(log->frs[0]), TARGET_FIRMWARE);
	return sizeof(*log);
}

static size_t log_effects(void *page)
{
	static const uint8_t admin[] = { nvme_admin_get_log_page, nvme_admin_identify,	  nvme_admin_abort_cmd, nvme_admin_set_features,
					 nvme_admin_get_features, nvme_admin_async_event, nvme_admin_keep_alive };
	static const uint8_t io[] = { nvme_cmd_flush, nvme_cmd_read, nvme_cmd_compare, nvme_cmd_verify };
	static const uint8_t io_change[] = { nvme_cmd_write, nvme_cmd_write_zeroes, nvme_cmd_dsm };
	struct nvme_cmd_effects_log *log = page;

	for (size_t i = 0; i < ARRAY_SIZE(admin); i++)
		log->acs[admin[i]] = htole32(NVME_CMD_EFFECTS_CSUPP);
	for (size_t i = 0; i < ARRAY_SIZE(io); i++)
		log->iocs[io[i]] = htole32(NVME_CMD_EFFECTS_CSUPP);
	for (size_t i = 0; i < ARRAY_SIZE(io_change); i++)
		log->iocs[io_change[i]] = htole32(NVME_CMD_EFFECTS_CSUPP | NVME_CMD_EFFECTS_LBCC);
	return sizeof(*log);
}

static size_t log_changed_ns(struct target_ctrl *c, bool rae, void *page)
{
	target_changed_ns_read(c, page, !rae);
	return LOG_PAGE_MAX;
}

static size_t log_build(struct target_ctrl *c, const struct log_args *args, void *page)
{
	switch (args->lid) {
	case NVME_LOG_LID_SUPPORTED_LOG_PAGES:
		return log_supported(page);
	case NVME_LOG_LID_ERROR:
		return sizeof(struct nvme_error_log_page); /* ELPE 0: one entry, and no error in it */
	case NVME_LOG_LID_SMART:
		return log_smart(c->subsys, page);
	case NVME_LOG_LID_FW_SLOT:
		return log_firmware(page);
	case NVME_LOG_LID_CHANGED_NS:
		return log_changed_ns(c, args->rae, page);
	default:
		return log_effects(page);
	}
}

static uint16_t log_check(const struct target_req *req, const struct log_args *args)
{
	if (!log_known(req->queue->ctrl, args->lid))
		return ST_CMD(INVALID_LOG_PAGE);
	if (args->offset & 3 || args->len > req->queue->target->opts.mdts_len || le32toh(req->sqe.cdw14) & 1u << 23)
		return ST(INVALID_FIELD);
	if (args->len > req->sgl_len)
		return ST(SGL_INVALID_DATA);
	return 0;
}

static void log_answer_small(struct target_req *req, const struct log_args *args, uint8_t *out)
{
	struct target_ctrl *c = req->queue->ctrl;
	_Alignas(8) uint8_t page[LOG_PAGE_MAX] = { 0 };
	size_t size = log_build(c, args, page);

	if (args->offset > size) {
		target_req_respond(req, ST(INVALID_FIELD));
		return;
	}
	memcpy(out, page + args->offset, min_size(size - args->offset, args->len));
	target_req_respond(req, 0);
	if (args->lid == NVME_LOG_LID_CHANGED_NS && !args->rae)
		target_event_read(c, TARGET_EVENT_NS);
}

static void log_answer_ana(struct target_req *req, const struct log_args *args, uint8_t *out)
{
	struct target_ctrl *c = req->queue->ctrl;
	uint16_t status = target_ana_log(c, args->lsp & NVME_LOG_ANA_LSP_RGO_GROUPS_ONLY, args->offset, out, args->len);

	target_req_respond(req, status);
	if (!status && !args->rae)
		target_event_read(c, TARGET_EVENT_ANA);
}

void target_get_log(struct target_req *req)
{
	struct target_ctrl *c = req->queue->ctrl;
	struct log_args args = log_args(req);
	uint16_t status = log_check(req, &args);
	char local[128];
	void *out;

	if (status) {
		target_req_respond(req, status);
		return;
	}
	out = target_req_page(req, (uint32_t)args.len);
	if (!out)
		return;
	if (args.lid == NVME_LOG_LID_ANA) {
		log_answer_ana(req, &args, out);
		return;
	}
	if (args.lid != NVME_LOG_LID_DISCOVER) {
		log_answer_small(req, &args, out);
		return;
	}
	req->queue->ops->queue_local(req->queue, local, sizeof(local));
	target_discovery_log(c, local, args.offset, out, args.len);
	target_req_respond(req, 0);
	if (!args.rae)
		target_event_read(c, TARGET_EVENT_DISC);
}
