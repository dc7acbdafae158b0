// SPDX-License-Identifier: BSD-3-Clause
/* I/O commands, as the target does them: ranges, lengths, data. */
#include "target_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct nvof_target *t;
static struct th_queue *admin, *io;
static uint16_t cntlid;
static uint8_t *buf, *back;
static char file[64];

#define NSZE 2048 /* blocks of all namespaces here */
enum { MEM = 1, FILE_, NULL_, READONLY, MEM4K };

static void add(const char *backend, uint32_t block_size, bool readonly)
{
	struct nvof_target_ns_opts opts;

	nvof_target_ns_opts_init(&opts);
	opts.backend = backend;
	opts.block_size = block_size;
	opts.readonly = readonly;
	assert_int_equal(nvof_target_add_ns(t, SUBNQN, &opts, NULL), 0);
}

static int setup(void **state)
{
	char backend[80];
	int fd;

	buf = malloc(2 << 20);
	back = malloc(2 << 20);
	for (int i = 0; i < 2 << 20; i++)
		buf[i] = (uint8_t)(i * 7 + i / 512);
	snprintf(file, sizeof(file), "/tmp/nvof-test-XXXXXX");
	fd = mkstemp(file);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, NSZE * 512), 0);
	close(fd);
	snprintf(backend, sizeof(backend), "file:%s", file);
	t = th_target(2);
	th_add_subsys(t, SUBNQN);
	add("mem:1M", 512, false);
	add(backend, 512, false);
	add("null:1M", 512, false);
	add("mem:1M", 512, true);
	add("mem:8M", 4096, false);
	admin = th_admin(t, &cntlid);
	io = th_io(t, 1, cntlid);
	return 0;
}

/* The transport puts data straight into memory. */
static int setup_in_place(void **state)
{
	int ret = setup(state);

	th_core(io)->writes_in_place = true;
	return ret;
}

static int teardown(void **state)
{
	th_close(io);
	th_close(admin);
	nvof_target_free(t);
	unlink(file);
	free(buf);
	free(back);
	return 0;
}

static uint16_t rw(uint8_t opcode, uint32_t nsid, uint64_t slba, uint32_t nlb, void *data, uint32_t len)
{
	return th_cmd(io, th_rw(opcode, nsid, slba, nlb), data, len).status;
}

static void what_is_written_is_read(void **state)
{
	for (uint32_t nsid = MEM; nsid <= FILE_; nsid++) {
		assert_int_equal(rw(nvme_cmd_write, nsid, 3, 17, buf, 17 * 512), 0);
		memset(back, 0, 17 * 512);
		assert_int_equal(rw(nvme_cmd_read, nsid, 3, 17, back, 17 * 512), 0);
		assert_memory_equal(back, buf, 17 * 512);
		/* All of it in one command: MDTS. */
		assert_int_equal(rw(nvme_cmd_write, nsid, 0, NSZE, buf, NSZE * 512), 0);
		assert_int_equal(rw(nvme_cmd_read, nsid, 0, NSZE, back, NSZE * 512), 0);
		assert_memory_equal(back, buf, NSZE * 512);
		assert_int_equal(rw(nvme_cmd_flush, nsid, 0, 1, NULL, 0), 0);
	}
	assert_int_equal(rw(nvme_cmd_write, MEM4K, 5, 2, buf, 8192), 0);
	assert_int_equal(rw(nvme_cmd_read, MEM4K, 6, 1, back, 4096), 0);
	assert_memory_equal(back, buf + 4096, 4096);
}

/* C086 */
static bool went_in_place(uint32_t nsid, uint8_t opcode)
{
	struct th_cmd *cmd = th_send_slow(io, th_rw(opcode, nsid, 1, 8), buf, 8 * 512);
	bool in_place;

	th_sync(io);
	in_place = th_req(cmd)->in_place;
	th_release(cmd);
	th_wait(cmd);
	return in_place;
}

static void only_writes_to_memory_go_in_place(void **state)
{
	assert_true(went_in_place(MEM, nvme_cmd_write));
	assert_false(went_in_place(MEM, nvme_cmd_compare));
	assert_false(went_in_place(FILE_, nvme_cmd_write));
	assert_false(went_in_place(NULL_, nvme_cmd_write));
	assert_int_equal(nvof_target_add_fault(t, "on=connect,delay=1ms"), 0);
	assert_false(went_in_place(MEM, nvme_cmd_write));
	nvof_target_clear_faults(t);
	assert_true(went_in_place(MEM, nvme_cmd_write));
}

static void a_write_that_a_fault_fails_writes_nothing(void **state)
{
	assert_int_equal(nvof_target_add_fault(t, "on=io,opcode=1,status=0:4h"), 0);
	assert_int_not_equal(rw(nvme_cmd_write, MEM, 0, 8, buf, 8 * 512), 0);
	assert_int_equal(rw(nvme_cmd_read, MEM, 0, 8, back, 8 * 512), 0);
	memset(buf, 0, 8 * 512);
	assert_memory_equal(back, buf, 8 * 512);
}

static void a_write_in_place_to_a_removed_namespace_fails(void **state)
{
	struct th_cmd *cmd = th_send_slow(io, th_rw(nvme_cmd_write, MEM, 0, 8), buf, 8 * 512);

	th_sync(io);
	assert_int_equal(nvof_target_remove_ns(t, SUBNQN, MEM), 0);
	th_release(cmd);
	assert_status(th_wait(cmd), ST(INVALID_NS));
}

static void nothing_reaches_past_the_end(void **state)
{
	static const uint8_t opcodes[] = { nvme_cmd_read, nvme_cmd_write, nvme_cmd_compare, nvme_cmd_write_zeroes, nvme_cmd_verify };
	static const struct {
		uint64_t slba;
		uint32_t nlb;
	} ranges[] = { { NSZE - 1, 2 }, { NSZE, 1 }, { UINT64_MAX, 1 }, { UINT64_MAX, 65536 }, { UINT64_MAX - 100, 101 }, { 0, NSZE + 1 } };

	for (uint32_t nsid = MEM; nsid <= NULL_; nsid++)
		for (size_t o = 0; o < ARRAY_SIZE(opcodes); o++)
			for (size_t r = 0; r < ARRAY_SIZE(ranges); r++)
				assert_int_equal(rw(opcodes[o], nsid, ranges[r].slba, ranges[r].nlb, buf, 1024), ST(LBA_RANGE));
	assert_int_equal(rw(nvme_cmd_read, MEM, NSZE - 1, 1, back, 512), 0);
}

static uint16_t dsm(uint32_t nsid, const struct nvme_dsm_range *r, uint32_t nr, uint32_t attr)
{
	return th_cmd(io, th_sqe(nvme_cmd_dsm, nsid, nr - 1, attr, 0), (void *)r, nr * 16).status;
}

/* C086 */
static void deallocate_checks_all_ranges_before_any(void **state)
{
	struct nvme_dsm_range r[3] = {
		{ .slba = htole64(0), .nlb = htole32(8) },
		{ .slba = htole64(NSZE - 1), .nlb = htole32(2) },
		{ .slba = htole64(UINT64_MAX), .nlb = htole32(UINT32_MAX) },
	};

	for (uint32_t nsid = MEM; nsid <= FILE_; nsid++) {
		assert_int_equal(rw(nvme_cmd_write, nsid, 0, 8, buf, 4096), 0);
		assert_int_equal(dsm(nsid, r, 3, 4), ST(LBA_RANGE));
		assert_int_equal(dsm(nsid, r + 2, 1, 4), ST(LBA_RANGE));
		assert_int_equal(rw(nvme_cmd_read, nsid, 0, 8, back, 4096), 0);
		assert_memory_equal(back, buf, 4096);
	}
}

static void deallocated_blocks_read_as_zeroes(void **state)
{
	static const uint8_t zeroes[4096];
	struct nvme_dsm_range r[256] = { 0 };

	for (int i = 0; i < 256; i++) { /* every second range is empty */
		r[i].slba = htole64((uint64_t)i * 8);
		r[i].nlb = htole32(i % 2 ? 0 : 8);
	}
	for (uint32_t nsid = MEM; nsid <= FILE_; nsid++) {
		assert_int_equal(rw(nvme_cmd_write, nsid, 0, NSZE, buf, NSZE * 512), 0);
		assert_int_equal(dsm(nsid, r, 256, 3), 0); /* hints only: nothing happens */
		assert_int_equal(rw(nvme_cmd_read, nsid, 0, 8, back, 4096), 0);
		assert_memory_equal(back, buf, 4096);
		assert_int_equal(dsm(nsid, r, 256, 4), 0);
		assert_int_equal(rw(nvme_cmd_read, nsid, 0, NSZE, back, NSZE * 512), 0);
		for (int i = 0; i < 256; i++)
			assert_memory_equal(back + i * 4096, i % 2 ? buf + i * 4096 : zeroes, 4096);
	}
}

static void zeroes_are_written(void **state)
{
	static const uint8_t zeroes[4096];

	for (uint32_t nsid = MEM; nsid <= FILE_; nsid++)
		for (uint32_t deac = 0; deac < 2; deac++) {
			assert_int_equal(rw(nvme_cmd_write, nsid, 0, 24, buf, 24 * 512), 0);
			assert_status(th_cmd(io, th_sqe(nvme_cmd_write_zeroes, nsid, 8, 0, 7 | deac << 25), NULL, 0), 0);
			assert_int_equal(rw(nvme_cmd_read, nsid, 0, 24, back, 24 * 512), 0);
			assert_memory_equal(back, buf, 4096);
			assert_memory_equal(back + 4096, zeroes, 4096);
			assert_memory_equal(back + 8192, buf + 8192, 4096);
		}
}

static void compare_finds_one_different_bit(void **state)
{
	for (uint32_t nsid = MEM; nsid <= FILE_; nsid++) {
		assert_int_equal(rw(nvme_cmd_write, nsid, 0, 256, buf, 256 * 512), 0);
		assert_int_equal(rw(nvme_cmd_compare, nsid, 0, 256, buf, 256 * 512), 0);
		buf[256 * 512 - 1] ^= 1;
		assert_int_equal(rw(nvme_cmd_compare, nsid, 0, 256, buf, 256 * 512),
				 NVME_STATUS(NVME_SCT_MEDIA, NVME_SC_COMPARE_FAILED) | NVME_STATUS_DNR);
		buf[256 * 512 - 1] ^= 1;
	}
}

static void verify_reads_without_data(void **state)
{
	for (uint32_t nsid = MEM; nsid <= NULL_; nsid++)
		assert_int_equal(rw(nvme_cmd_verify, nsid, 1, NSZE - 1, NULL, 0), 0);
}

/* What Linux sends: room for 256 ranges, of which the command names a few. */
static void ranges_may_come_in_a_larger_buffer(void **state)
{
	static const uint8_t zeroes[4096];
	struct nvme_dsm_range r[257] = {
		{ .slba = htole64(8), .nlb = htole32(8) },
		{ .slba = htole64(16), .nlb = htole32(8) }, /* not named */
		{ .slba = htole64(UINT64_MAX), .nlb = htole32(1) },
	};

	for (uint32_t nsid = MEM; nsid <= FILE_; nsid++) {
		assert_int_equal(rw(nvme_cmd_write, nsid, 0, NSZE, buf, NSZE * 512), 0);
		assert_status(th_cmd(io, th_sqe(nvme_cmd_dsm, nsid, 0, 4, 0), r, 4096), 0);
		assert_int_equal(rw(nvme_cmd_read, nsid, 0, NSZE, back, NSZE * 512), 0);
		assert_memory_equal(back, buf, 4096);
		assert_memory_equal(back + 4096, zeroes, 4096);
		assert_memory_equal(back + 8192, buf + 8192, 4096);
		assert_status(th_cmd(io, th_sqe(nvme_cmd_dsm, nsid, 0, 4, 0), r, 4096 + 16), ST(SGL_INVALID_DATA));
	}
}

/* C100 */
static void an_sgl_of_another_length_is_refused(void **state)
{
	assert_int_equal(rw(nvme_cmd_write, MEM, 0, 1, buf, 4096), ST(SGL_INVALID_DATA));
	assert_int_equal(rw(nvme_cmd_write, MEM, 0, 8, buf, 512), ST(SGL_INVALID_DATA));
	assert_int_equal(rw(nvme_cmd_read, MEM, 0, 8, buf, 512), ST(SGL_INVALID_DATA));
	assert_int_equal(rw(nvme_cmd_read, MEM, 0, 1, buf, 4096), ST(SGL_INVALID_DATA));
	assert_int_equal(rw(nvme_cmd_read, MEM, 0, 1, NULL, 0), ST(SGL_INVALID_DATA));
	assert_status(th_cmd(io, th_sqe(nvme_cmd_dsm, MEM, 3, 4, 0), buf, 16), ST(SGL_INVALID_DATA));
}

/* C101 */
static void more_than_mdts_is_an_invalid_field(void **state)
{
	assert_int_equal(rw(nvme_cmd_read, MEM4K, 0, 257, back, 257 * 4096), ST(INVALID_FIELD));
	assert_int_equal(rw(nvme_cmd_read, MEM4K, 0, 256, back, 256 * 4096), 0);
}

static void a_readonly_namespace_is_only_read(void **state)
{
	struct nvme_dsm_range r = { .nlb = htole32(1) };

	assert_int_equal(rw(nvme_cmd_read, READONLY, 0, 1, back, 512), 0);
	assert_int_equal(rw(nvme_cmd_write, READONLY, 0, 1, buf, 512), ST(NS_WRITE_PROTECTED));
	assert_int_equal(rw(nvme_cmd_write_zeroes, READONLY, 0, 1, NULL, 0), ST(NS_WRITE_PROTECTED));
	assert_int_equal(dsm(READONLY, &r, 1, 4), ST(NS_WRITE_PROTECTED));
	assert_int_equal(rw(nvme_cmd_compare, READONLY, 0, 1, back, 512), 0);
	assert_int_equal(rw(nvme_cmd_flush, READONLY, 0, 1, NULL, 0), 0);
}

static void namespaces_and_opcodes_that_do_not_exist_are_refused(void **state)
{
	assert_int_equal(rw(nvme_cmd_read, 0, 0, 1, back, 512), ST(INVALID_NS));
	assert_int_equal(rw(nvme_cmd_read, 99, 0, 1, back, 512), ST(INVALID_NS));
	assert_int_equal(rw(nvme_cmd_read, TARGET_NSID_ALL, 0, 1, back, 512), ST(INVALID_NS));
	assert_int_equal(rw(nvme_cmd_flush, TARGET_NSID_ALL, 0, 1, NULL, 0), ST(INVALID_NS));
	assert_int_equal(rw(nvme_cmd_write_uncor, MEM, 0, 1, NULL, 0), ST(INVALID_OPCODE));
	assert_int_equal(rw(nvme_cmd_resv_register, MEM, 0, 1, buf, 16), ST(INVALID_OPCODE));
	/* C115: and the queue goes on. */
	assert_int_equal(rw(0x93, MEM, 0, 1, buf, 512), ST(INVALID_FIELD));
	assert_int_equal(rw(nvme_cmd_read, MEM, 0, 1, back, 512), 0);
}

static void every_answer_has_its_commands_id(void **state)
{
	struct th_cmd *cmd[64];

	for (int i = 0; i < 64; i++)
		cmd[i] = th_send(io, th_rw(i % 3 ? nvme_cmd_read : nvme_cmd_verify, i % 5 ? FILE_ : 99, (uint64_t)i, 1), back + i * 512,
				 512);
	for (int i = 0; i < 64; i++) {
		struct th_cpl cpl = th_wait(cmd[i]);

		assert_int_equal(cpl.cid, i + 1); /* Connect was 0 */
		assert_int_equal(cpl.sqid, 1);
		assert_status(cpl, i % 5 ? 0 : ST(INVALID_NS));
	}
}

static void a_write_that_was_not_brought_dies_with_its_connection(void **state)
{
	struct th_queue *other = th_io(t, 2, cntlid);
	struct th_cmd *write = th_send_slow(other, th_rw(nvme_cmd_write, MEM, 0, 8), buf, 4096);
	struct th_cmd *read = th_send_hold(other, th_rw(nvme_cmd_read, MEM, 0, 8), back, 4096);

	assert_true(th_held(write));
	th_sync(other);
	assert_int_equal(target_ns_refs(th_ns(t, SUBNQN, MEM), 0), 2);
	th_close(other);
	th_wait(write);
	th_wait(read);
	assert_int_equal(target_ns_refs(th_ns(t, SUBNQN, MEM), 0), 0);
}

static void reads_and_writes_are_counted(void **state)
{
	_Alignas(8) struct nvme_smart_log log;
	uint64_t n;

	for (int i = 0; i < 10; i++)
		assert_int_equal(rw(nvme_cmd_read, MEM, 0, 1000, back, 512000), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(rw(nvme_cmd_write, MEM, 0, 1000, buf, 512000), 0);
	assert_status(th_get_log(admin, NVME_LOG_LID_SMART, true, 0, &log, sizeof(log)), 0);
	memcpy(&n, log.host_reads, 8);
	assert_int_equal(le64toh(n), 10);
	memcpy(&n, log.data_units_read, 8);
	assert_int_equal(le64toh(n), 10);
	memcpy(&n, log.host_writes, 8);
	assert_int_equal(le64toh(n), 5);
}

static void a_volatile_cache_is_reported_with_the_namespace_that_has_it(void **state)
{
	_Alignas(8) struct nvme_id_ctrl id;

	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_CTRL, 0, &id), 0);
	assert_int_equal(id.vwc & 1, 1);
	assert_int_equal(th_get_feature(admin, NVME_FEAT_FID_VOLATILE_WC).dw0, 1);
	assert_status(th_set_feature(admin, NVME_FEAT_FID_VOLATILE_WC, 0), ST_CMD(FEATURE_NOT_CHANGEABLE));
	assert_int_equal(nvof_target_remove_ns(t, SUBNQN, FILE_), 0);
	assert_status(th_identify(admin, NVME_IDENTIFY_CNS_CTRL, 0, &id), 0);
	assert_int_equal(id.vwc & 1, 0);
}

#define TEST(f)	    cmocka_unit_test_setup_teardown(f, setup, teardown)
#define IN_PLACE(f) cmocka_unit_test_setup_teardown(f, setup_in_place, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_written_is_read),
		IN_PLACE(what_is_written_is_read),
		IN_PLACE(only_writes_to_memory_go_in_place),
		IN_PLACE(a_write_that_a_fault_fails_writes_nothing),
		IN_PLACE(a_write_in_place_to_a_removed_namespace_fails),
		TEST(nothing_reaches_past_the_end),
		TEST(deallocate_checks_all_ranges_before_any),
		TEST(deallocated_blocks_read_as_zeroes),
		TEST(ranges_may_come_in_a_larger_buffer),
		TEST(zeroes_are_written),
		TEST(compare_finds_one_different_bit),
		TEST(verify_reads_without_data),
		TEST(an_sgl_of_another_length_is_refused),
		TEST(more_than_mdts_is_an_invalid_field),
		TEST(a_readonly_namespace_is_only_read),
		TEST(namespaces_and_opcodes_that_do_not_exist_are_refused),
		TEST(every_answer_has_its_commands_id),
		TEST(a_write_that_was_not_brought_dies_with_its_connection),
		TEST(reads_and_writes_are_counted),
		TEST(a_volatile_cache_is_reported_with_the_namespace_that_has_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
