/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/fields.h"
#include "cli/identify.h"
#include "proto/nqn.h"

static const struct usage usage = {
	"[-t TRANSPORT] -a ADDR [-s PORT] -n NQN [--namespace-id NSID] [OPTION]... | URI",
	"Prints what the ctrl says about a namespace (Identify Namespace, and its identifiers).",
	"$ nvof id-ns nvme+tcp://127.0.0.1:4420/nqn.2026-11.org.example:nvof/1",
};

#define F(member, kind) FIELD(struct nvme_id_ns, member, FIELD_##kind)

/* clang-format off */
static const struct field fields[] = {
	F(nsze, HEX),	F(ncap, HEX),	F(nuse, HEX),	  F(nsfeat, HEX),   F(nlbaf, DEC),  F(flbas, HEX),  F(mc, HEX),	  F(dpc, HEX),
	F(dps, HEX),	F(nmic, HEX),	F(rescap, HEX),	  F(fpi, HEX),	    F(dlfeat, DEC), F(nawun, DEC),  F(nawupf, DEC), F(nacwu, DEC),
	F(nabsn, DEC),	F(nabo, DEC),	F(nabspf, DEC),	  F(noiob, DEC),    F(nvmcap, DEC), F(npwg, DEC),   F(npwa, DEC),   F(npdg, DEC),
	F(npda, DEC),	F(nows, DEC),	F(mssrl, DEC),	  F(mcl, DEC),	    F(msrc, DEC),   F(nulbaf, DEC), F(anagrpid, DEC), F(nsattr, DEC),
	F(nvmsetid, DEC), F(endgid, DEC), F(nguid, ID),	  F(eui64, ID),	    { 0 },
};
/* clang-format on */

static unsigned int lbaf_in_use(const struct nvme_id_ns *id)
{
	return (id->flbas & 0xf) | (id->flbas >> 1 & 0x30);
}

/* Looks through the descriptors of CNS 03h, which are as long as each says. */
static bool find_uuid(const uint8_t list[4096], uint8_t uuid[16])
{
	for (size_t at = 0; at + 4 <= 4096 && list[at + 1];) {
		uint8_t nidt = list[at], nidl = list[at + 1]; /* no structure: a descriptor may begin anywhere */

		if (at + 4 + nidl > 4096)
			return false;
		if (nidt == NVME_NIDT_UUID && nidl == NVME_NIDT_UUID_LEN) {
			memcpy(uuid, list + at + 4, 16);
			return true;
		}
		at += 4u + nidl;
	}
	return false;
}

static int read_ids(struct conn *c, uint32_t nsid, struct nvme_id_ns *id, char uuid[37])
{
	static const struct nvme_id_ns zero;
	uint8_t list[4096], bytes[16];
	int ret;

	ret = conn_status(c, nvof_identify_sync(c->ctrl, NVME_IDENTIFY_CNS_NS, nsid, id), "Identify Namespace");
	if (ret)
		return ret;
	if (!memcmp(id, &zero, sizeof(zero)))
		return cli_argument_error(c->cli, "--namespace-id", -ENODEV, "--namespace-id: there is no active namespace %" PRIu32, nsid);
	/* Optional before NVMe 1.3: without it there is no UUID to show. */
	if (!nvof_identify_sync(c->ctrl, NVME_IDENTIFY_CNS_NS_DESC_LIST, nsid, list) && find_uuid(list, bytes))
		uuid_format(bytes, uuid);
	return EXIT_OK;
}

static void print_lbafs(const struct nvme_id_ns *id)
{
	for (unsigned int i = 0; i <= id->nlbaf && i < 64; i++)
		printf("lbaf %2u : ms:%-3u lbads:%-2u rp:%#x%s\n", i, le16toh(id->lbaf[i].ms), id->lbaf[i].ds, id->lbaf[i].rp & 3u,
		       i == lbaf_in_use(id) ? " (in use)" : "");
}

static json_object *lbafs_json(const struct nvme_id_ns *id)
{
	json_object *lbafs = json_object_new_array();

	for (unsigned int i = 0; i <= id->nlbaf && i < 64; i++) {
		json_object *o = json_object_new_object();

		json_object_object_add(o, "ms", json_object_new_int(le16toh(id->lbaf[i].ms)));
		json_object_object_add(o, "ds", json_object_new_int(id->lbaf[i].ds));
		json_object_object_add(o, "rp", json_object_new_int(id->lbaf[i].rp & 3));
		json_object_object_add(o, "in_use", json_object_new_int(i == lbaf_in_use(id)));
		json_object_array_add(lbafs, o);
	}
	return lbafs;
}

static int show(struct cli *cli, uint32_t nsid, const struct nvme_id_ns *id, const char *uuid)
{
	json_object *doc;

	if (!cli->json) {
		printf("NVME Identify Namespace %" PRIu32 ":\n", nsid);
		fields_print(fields, id);
		printf("%-10s: %s\n", "uuid", *uuid ? uuid : "none");
		print_lbafs(id);
		return EXIT_OK;
	}
	doc = cli_json_new();
	json_object_object_add(doc, "nsid", json_object_new_int64(nsid));
	fields_json(fields, id, doc);
	json_object_object_add(doc, "uuid", *uuid ? json_object_new_string(uuid) : NULL);
	json_object_object_add(doc, "lbafs", lbafs_json(id));
	return cli_json(cli, doc);
}

static int id_ns(struct cli *cli, const struct identify_args *args)
{
	uint32_t nsid = args->conn.nsid;
	struct nvme_id_ns id;
	char uuid[37] = "";
	struct conn c;
	int ret = conn_open(&c, &args->conn, CONN_ADMIN);

	if (!ret && !nsid)
		ret = conn_only_nsid(&c, &nsid);
	if (!ret)
		ret = read_ids(&c, nsid, &id, uuid);
	conn_close(&c);
	if (ret)
		return ret;
	if (args->raw) {
		fwrite(&id, sizeof(id), 1, stdout);
		return EXIT_OK;
	}
	return show(cli, nsid, &id, uuid);
}

int cmd_id_ns(struct cli *cli, int argc, char **argv)
{
	return identify_run(cli, &usage, argc, argv, id_ns);
}
