/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <nvme/fabrics.h>
#include <stdio.h>

#include "cli/conn.h"
#include "cli/text.h"

static const struct usage usage = {
	"[-t TRANSPORT] -a ADDR [-s PORT] [OPTION]... | URI",
	"Asks a discovery ctrl which subsystems there are and prints its log.",
	"$ nvof discover -t tcp -a 127.0.0.1 -s 4420",
};

static void print_entry(size_t i, const struct nvof_disc_entry *e)
{
	printf("=====Discovery Log Entry %zu======\n", i);
	printf("trtype:  %s\n", nvof_disc_trtype_name(e->trtype));
	printf("adrfam:  %s\n", nvof_disc_adrfam_name(e->adrfam));
	printf("subtype: %s\n", nvof_disc_subtype_name(e->subtype));
	printf("treq:    %s\n", nvof_disc_treq_name(e->treq));
	printf("portid:  %u\n", e->portid);
	printf("trsvcid: %s\n", e->trsvcid);
	printf("subnqn:  %s\n", e->subnqn);
	printf("traddr:  %s\n", e->traddr);
	printf("eflags:  %s\n", nvmf_eflags_str(e->eflags));
	if (e->trtype == NVMF_TRTYPE_TCP)
		printf("sectype: %s\n", nvmf_sectype_str(e->sectype));
	if (e->trtype == NVMF_TRTYPE_RDMA) {
		printf("rdma_prtype: %s\n", nvmf_prtype_str(e->rdma_prtype));
		printf("rdma_qptype: %s\n", nvmf_qptype_str(e->rdma_qptype));
		printf("rdma_cms:    %s\n", nvmf_cms_str(e->rdma_cms));
		printf("rdma_pkey: 0x%04x\n", e->rdma_pkey);
	}
}

static void print_log(const struct nvof_disc_log *log)
{
	printf("\nDiscovery Log Number of Records %zu, Generation counter %" PRIu64 "\n", log->nr_entries, log->genctr);
	for (size_t i = 0; i < log->nr_entries; i++)
		if (!log->entries[i].skip)
			print_entry(i, &log->entries[i]);
}

static void add_text(json_object *to, const char *key, const char *text)
{
	json_object_object_add(to, key, json_object_new_string(text));
}

static void add_number(json_object *to, const char *key, unsigned int n)
{
	json_object_object_add(to, key, json_object_new_int64(n));
}

static json_object *entry_json(const struct nvof_disc_entry *e)
{
	json_object *o = json_object_new_object();

	add_text(o, "trtype", nvof_disc_trtype_name(e->trtype));
	add_text(o, "adrfam", nvof_disc_adrfam_name(e->adrfam));
	add_text(o, "subtype", nvof_disc_subtype_name(e->subtype));
	add_text(o, "treq", nvof_disc_treq_name(e->treq));
	add_number(o, "portid", e->portid);
	add_number(o, "cntlid", e->cntlid);
	add_number(o, "asqsz", e->asqsz);
	add_text(o, "trsvcid", e->trsvcid);
	add_text(o, "subnqn", e->subnqn);
	add_text(o, "traddr", e->traddr);
	add_text(o, "eflags", nvmf_eflags_str(e->eflags));
	if (e->trtype == NVMF_TRTYPE_TCP)
		add_text(o, "sectype", nvmf_sectype_str(e->sectype));
	if (e->trtype == NVMF_TRTYPE_RDMA) {
		add_text(o, "rdma_prtype", nvmf_prtype_str(e->rdma_prtype));
		add_text(o, "rdma_qptype", nvmf_qptype_str(e->rdma_qptype));
		add_text(o, "rdma_cms", nvmf_cms_str(e->rdma_cms));
		add_number(o, "rdma_pkey", e->rdma_pkey);
	}
	return o;
}

static int log_json(struct cli *cli, const struct nvof_disc_log *log)
{
	json_object *doc = cli_json_new(), *records = json_object_new_array(), *skipped = json_object_new_array();

	json_object_object_add(doc, "genctr", json_object_new_uint64(log->genctr));
	json_object_object_add(doc, "records", records);
	json_object_object_add(doc, "skipped", skipped);
	for (size_t i = 0; i < log->nr_entries; i++) {
		json_object *o;

		if (!log->entries[i].skip) {
			json_object_array_add(records, entry_json(&log->entries[i]));
			continue;
		}
		o = json_object_new_object();
		json_object_object_add(o, "record", json_object_new_int64((int64_t)i));
		add_text(o, "reason", log->entries[i].skip);
		json_object_array_add(skipped, o);
	}
	return cli_json(cli, doc);
}

/* What stands in a record is the peer's choice. */
static void clean_entry(struct nvof_disc_entry *e)
{
	text_clean(e->trsvcid);
	text_clean(e->subnqn);
	text_clean(e->traddr);
}

static int discover(struct cli *cli, const struct conn_args *args)
{
	struct nvof_disc_log *log;
	struct conn c;
	int ret = conn_open(&c, args, CONN_DISCOVERY), status;

	if (ret)
		goto out;
	status = nvof_discover_sync(c.ctrl, &log);
	if (status) {
		ret = conn_status(&c, status, "reading the discovery log");
		goto out;
	}
	conn_disconnect(&c);
	for (size_t i = 0; i < log->nr_entries; i++) {
		clean_entry(&log->entries[i]);
		if (log->entries[i].skip)
			cli_warn(cli, "record %zu is left out: %s", i, log->entries[i].skip);
	}
	if (cli->json)
		ret = log_json(cli, log);
	else
		print_log(log);
	nvof_disc_log_free(log);
out:
	conn_close(&c);
	return ret;
}

int cmd_discover(struct cli *cli, int argc, char **argv)
{
	struct conn_args args;
	int ret;

	conn_args_init(&args, cli);
	ret = conn_parse(&usage, NULL, &args, argc, argv);
	if (ret == OPTS_GO)
		ret = discover(cli, &args);
	conn_args_clear(&args);
	return ret;
}
